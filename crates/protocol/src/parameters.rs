//! Prepared statements: what the protocol keeps of them, and the values bound to an execution.

use crate::Fields;
use muster_types::{
    Decimal, ErrorCode, Result, SqlError, Value,
    charset::{self, Charset},
    temporal::{MICROS_PER_DAY, MICROS_PER_SECOND, ZERO_DATE, date_code, datetime_of, datetime_parts},
};
use mysql_common::constants::ColumnType;
use std::collections::HashMap;

const UNSIGNED: u8 = 0x80;

/// A parameter's type as the client announced it: protocol type and flags.
type ParameterType = (u8, u8);

/// The protocol's side of a prepared statement.
#[derive(Debug, Default)]
pub struct Statement {
    pub parameters: usize,
    /// Announced with the first execution, kept for later ones.
    types: Vec<ParameterType>,
    /// Values that came in pieces (COM_STMT_SEND_LONG_DATA).
    long_data: HashMap<usize, Vec<u8>>,
}

/// The head of COM_STMT_EXECUTE and COM_STMT_SEND_LONG_DATA.
pub fn statement_id(fields: &mut Fields<'_>) -> Result<u32> {
    fields.u32().ok_or_else(malformed)
}

fn malformed() -> SqlError {
    SqlError::new(ErrorCode::HandshakeError, "Malformed communication packet")
}

impl Statement {
    pub fn new(parameters: usize) -> Statement {
        Statement { parameters, ..Statement::default() }
    }

    /// Adds a piece of a parameter; `max` bounds all pieces together.
    pub fn add_long_data(&mut self, mut fields: Fields<'_>, max: usize) -> Result<()> {
        let parameter = fields.u16().ok_or_else(malformed)? as usize;
        let held: usize = self.long_data.values().map(Vec::len).sum();
        let piece = fields.rest();
        if parameter >= self.parameters || held + piece.len() > max {
            return Err(SqlError::new(ErrorCode::NetPacketTooLarge, "Parameter data is too large"));
        }
        self.long_data.entry(parameter).or_default().extend_from_slice(piece);
        Ok(())
    }

    pub fn reset(&mut self) {
        self.long_data.clear();
    }

    /// The values of an execution: what follows the statement id in the packet. `charset`: of texts.
    pub fn bind(&mut self, mut fields: Fields<'_>, charset: Charset) -> Result<Vec<Value>> {
        let values = self.read(&mut fields, charset).ok_or_else(malformed)?;
        self.long_data.clear();
        Ok(values)
    }

    fn read(&mut self, fields: &mut Fields<'_>, charset: Charset) -> Option<Vec<Value>> {
        let (_cursor, _iterations) = (fields.u8()?, fields.u32()?);
        if self.parameters == 0 {
            return Some(Vec::new());
        }
        let nulls = fields.bytes(self.parameters.div_ceil(8))?;
        if fields.u8()? == 1 {
            self.types = (0..self.parameters).map(|_| Some((fields.u8()?, fields.u8()?))).collect::<Option<_>>()?;
        }
        if self.types.len() != self.parameters {
            return None;
        }
        let types = self.types.clone();
        (types.into_iter().enumerate())
            .map(|(i, ty)| match self.long_data.get(&i) {
                Some(data) => Some(text_or_bytes(data, charset)),
                None if nulls[i / 8] >> (i % 8) & 1 == 1 => Some(Value::Null),
                None => value(ty, fields, charset),
            })
            .collect()
    }
}

/// One bound value. `None` when the packet ends within it or the type is not known.
fn value((column_type, flags): ParameterType, fields: &mut Fields<'_>, charset: Charset) -> Option<Value> {
    use ColumnType::*;
    let unsigned = flags & UNSIGNED != 0;
    Some(match ColumnType::try_from(column_type).ok()? {
        MYSQL_TYPE_NULL => Value::Null,
        MYSQL_TYPE_TINY if unsigned => Value::UInt(fields.u8()? as u64),
        MYSQL_TYPE_TINY => Value::Int(fields.u8()? as i8 as i64),
        MYSQL_TYPE_SHORT | MYSQL_TYPE_YEAR if unsigned => Value::UInt(fields.u16()? as u64),
        MYSQL_TYPE_SHORT | MYSQL_TYPE_YEAR => Value::Int(fields.u16()? as i16 as i64),
        MYSQL_TYPE_LONG | MYSQL_TYPE_INT24 if unsigned => Value::UInt(fields.u32()? as u64),
        MYSQL_TYPE_LONG | MYSQL_TYPE_INT24 => Value::Int(fields.u32()? as i32 as i64),
        MYSQL_TYPE_LONGLONG if unsigned => Value::UInt(fields.u64()?),
        MYSQL_TYPE_LONGLONG => Value::Int(fields.u64()? as i64),
        MYSQL_TYPE_FLOAT => Value::Float(f32::from_bits(fields.u32()?)),
        MYSQL_TYPE_DOUBLE => Value::Double(f64::from_bits(fields.u64()?)),
        MYSQL_TYPE_DATE => match datetime(fields)? {
            Value::DateTime(t) => Value::Date(datetime_parts(t).0),
            other => other,
        },
        MYSQL_TYPE_DATETIME | MYSQL_TYPE_TIMESTAMP => datetime(fields)?,
        MYSQL_TYPE_TIME => time(fields)?,
        MYSQL_TYPE_NEWDECIMAL | MYSQL_TYPE_DECIMAL => {
            let text = String::from_utf8_lossy(fields.length_bytes()?).into_owned();
            Decimal::parse(&text).map_or(Value::Text(text), Value::Decimal)
        }
        MYSQL_TYPE_TINY_BLOB | MYSQL_TYPE_MEDIUM_BLOB | MYSQL_TYPE_LONG_BLOB | MYSQL_TYPE_BLOB => {
            Value::Bytes(fields.length_bytes()?.to_vec())
        }
        MYSQL_TYPE_VARCHAR
        | MYSQL_TYPE_VAR_STRING
        | MYSQL_TYPE_STRING
        | MYSQL_TYPE_ENUM
        | MYSQL_TYPE_SET
        | MYSQL_TYPE_JSON => text_or_bytes(fields.length_bytes()?, charset),
        _ => return None,
    })
}

/// Decodes bytes as text of the character set. Bytes that are not such a text stay bytes.
fn text_or_bytes(bytes: &[u8], charset: Charset) -> Value {
    match charset::decode(charset, bytes) {
        Some(text) => Value::Text(text.into_owned()),
        None => Value::Bytes(bytes.to_vec()),
    }
}

/// 0, 4, 7 or 11 bytes; none for the zero date. What the calendar does not have is sent, too.
fn datetime(fields: &mut Fields<'_>) -> Option<Value> {
    let length = fields.u8()?;
    if length == 0 {
        return Some(Value::DateTime(datetime_of(ZERO_DATE, 0)));
    }
    let (year, month, day) = (fields.u16()? as i32, fields.u8()? as u32, fields.u8()? as u32);
    if year > 9999 || month > 12 || day > 31 {
        return None;
    }
    let mut micros = 0;
    if length > 4 {
        micros += clock(fields)?;
    }
    if length > 7 {
        micros += fields.u32()? as i64;
    }
    (micros < MICROS_PER_DAY).then(|| Value::DateTime(datetime_of(date_code(year, month, day), micros)))
}

/// 0, 8 or 12 bytes.
fn time(fields: &mut Fields<'_>) -> Option<Value> {
    let length = fields.u8()?;
    if length == 0 {
        return Some(Value::Time(0));
    }
    let (negative, days) = (fields.u8()? != 0, fields.u32()? as i64);
    let mut micros = days.checked_mul(MICROS_PER_DAY)?.checked_add(clock(fields)?)?;
    if length > 8 {
        micros += fields.u32()? as i64;
    }
    Some(Value::Time(if negative { -micros } else { micros }))
}

fn clock(fields: &mut Fields<'_>) -> Option<i64> {
    let (h, m, s) = (fields.u8()? as i64, fields.u8()? as i64, fields.u8()? as i64);
    Some(((h * 60 + m) * 60 + s) * MICROS_PER_SECOND)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn packet(nulls: u8, types: &[(u8, u8)], values: &[u8]) -> Vec<u8> {
        let mut p = vec![0, 1, 0, 0, 0, nulls, 1];
        types.iter().for_each(|(t, f)| p.extend([*t, *f]));
        p.extend_from_slice(values);
        p
    }

    #[test]
    fn types_are_kept_for_later_executions() {
        let mut statement = Statement::new(2);
        let first = packet(0b10, &[(8, 0), (8, UNSIGNED)], &(-5i64).to_le_bytes());
        assert_eq!(statement.bind(Fields::new(&first), Charset::Utf8mb4).unwrap(), [Value::Int(-5), Value::Null]);
        let mut second = vec![0, 1, 0, 0, 0, 0b01, 0];
        second.extend(u64::MAX.to_le_bytes());
        assert_eq!(
            statement.bind(Fields::new(&second), Charset::Utf8mb4).unwrap(),
            [Value::Null, Value::UInt(u64::MAX)]
        );
    }

    #[test]
    fn long_data_takes_the_place_of_a_value() {
        let mut statement = Statement::new(1);
        for piece in [&b"\0\0ab"[..], b"\0\0c"] {
            statement.add_long_data(Fields::new(piece), 10).unwrap();
        }
        assert!(statement.add_long_data(Fields::new(b"\0\0abcdefgh"), 10).is_err());
        let execute = packet(0, &[(252, 0)], &[]);
        assert_eq!(statement.bind(Fields::new(&execute), Charset::Utf8mb4).unwrap(), [Value::Text("abc".into())]);
    }

    #[test]
    fn texts_come_in_the_clients_character_set() {
        let execute = packet(0, &[(254, 0)], b"\x02\xE9\xFF");
        let bind = |charset| Statement::new(1).bind(Fields::new(&execute), charset).unwrap();
        assert_eq!(bind(Charset::Latin1), [Value::Text("éÿ".into())]);
        assert_eq!(bind(Charset::Utf8mb4), [Value::Bytes(b"\xE9\xFF".to_vec())]);
    }

    #[test]
    fn dates_that_the_calendar_does_not_have_are_values() {
        const DATE: u8 = ColumnType::MYSQL_TYPE_DATE as u8;
        const DATETIME: u8 = ColumnType::MYSQL_TYPE_DATETIME as u8;
        let bind = |ty: u8, value: &[u8]| {
            let execute = packet(0, &[(ty, 0)], value);
            Statement::new(1).bind(Fields::new(&execute), Charset::Utf8mb4).ok()
        };
        assert_eq!(bind(DATE, &[0]), Some(vec![Value::Date(ZERO_DATE)]));
        assert_eq!(bind(DATETIME, &[0]), Some(vec![Value::DateTime(0)]));
        assert_eq!(bind(DATE, &[4, 0xD1, 7, 0, 10]), Some(vec![Value::Date(date_code(2001, 0, 10))]));
        let datetime = datetime_of(date_code(2001, 2, 31), 3600 * MICROS_PER_SECOND);
        assert_eq!(bind(DATETIME, &[7, 0xD1, 7, 2, 31, 1, 0, 0]), Some(vec![Value::DateTime(datetime)]));
        for wrong in
            [&[4, 0xD1, 7, 13, 1][..], &[4, 0xD1, 7, 1, 32], &[4, 0x10, 0x27, 1, 1], &[7, 0xD1, 7, 1, 1, 24, 0, 0]]
        {
            assert_eq!(bind(DATETIME, wrong), None, "{wrong:?}");
        }
    }
}
