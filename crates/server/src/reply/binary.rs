//! Rows by type, for prepared statements: a bitmap of NULLs, then the values that are there.

use super::{ResultCharset, cells::Cells, format::Format};
use arrow_array::RecordBatch;
use muster_engine::ColumnInfo;
use muster_protocol::put_length_bytes;
use muster_types::{
    SqlType, ValueRef, charset,
    json::{self, JsonView},
    temporal::{MICROS_PER_SECOND, ZERO_DATE, code_parts, datetime_of, datetime_parts},
};
use mysql_common::constants::ColumnType;

/// Bits that the NULL bitmap of a row leaves free at its start.
const NULL_BITMAP_OFFSET: usize = 2;

/// Writes the values of one column of a batch.
pub struct Writer<'a> {
    cells: Cells<'a>,
    format: Format,
}

/// One writer per column.
pub fn writers<'a>(columns: &[ColumnInfo], batch: &'a RecordBatch, charset: ResultCharset) -> Vec<Writer<'a>> {
    (columns.iter().zip(batch.columns()))
        .map(|(column, array)| Writer { cells: Cells::new(array), format: Format::of(column, charset) })
        .collect()
}

pub fn write_row(writers: &[Writer<'_>], row: usize, out: &mut Vec<u8>) {
    let bitmap = begin_row(writers.len(), out);
    for (i, writer) in writers.iter().enumerate() {
        put(writer.cells.value(row), i, bitmap, &writer.format, out);
    }
}

/// Begins a row of so many columns. Returns where its bitmap is.
pub fn begin_row(columns: usize, out: &mut Vec<u8>) -> usize {
    out.push(0);
    let bitmap = out.len();
    out.resize(bitmap + (columns + NULL_BITMAP_OFFSET).div_ceil(8), 0);
    bitmap
}

/// Appends the value of column `i` of a row, whose bitmap begins at `bitmap`.
pub fn put(value: ValueRef<'_>, i: usize, bitmap: usize, format: &Format, out: &mut Vec<u8>) {
    match value {
        ValueRef::Null => {
            let bit = i + NULL_BITMAP_OFFSET;
            out[bitmap + bit / 8] |= 1 << (bit % 8);
        }
        ValueRef::Bool(b) => put_integer(b as u64, format, out),
        ValueRef::Int(i) => put_integer(i as u64, format, out),
        ValueRef::UInt(u) => match format.string_of(u) {
            Some(string) => put_length_bytes(&string, out),
            None => put_integer(u, format, out),
        },
        ValueRef::Decimal(d) => match format.ty {
            SqlType::Unsigned(number) => put_length_bytes(number.filled(d.to_string()).as_bytes(), out),
            _ => put_length_bytes(d.to_string().as_bytes(), out),
        },
        ValueRef::Float(x) => out.extend_from_slice(&x.to_le_bytes()),
        ValueRef::Double(x) => out.extend_from_slice(&x.to_le_bytes()),
        ValueRef::Date(d) => put_datetime(datetime_of(d, 0), out),
        ValueRef::DateTime(t) => put_datetime(t, out),
        ValueRef::Time(t) => put_time(t, out),
        ValueRef::Text(text) => put_length_bytes(&charset::encode(format.charset, text), out),
        ValueRef::Bytes(bytes) => put_length_bytes(bytes, out),
        ValueRef::Json(document) => put_length_bytes(json::to_text(JsonView::new(document)).as_bytes(), out),
    }
}

/// Writes as many bytes as the announced type has, in two's complement, so that signed and unsigned integers are alike.
fn put_integer(n: u64, format: &Format, out: &mut Vec<u8>) {
    let bytes = n.to_le_bytes();
    let width = match format.column_type {
        ColumnType::MYSQL_TYPE_TINY => 1,
        ColumnType::MYSQL_TYPE_SHORT | ColumnType::MYSQL_TYPE_YEAR => 2,
        ColumnType::MYSQL_TYPE_LONG | ColumnType::MYSQL_TYPE_INT24 => 4,
        _ => 8,
    };
    out.extend_from_slice(&bytes[..width]);
}

/// The shortest of the protocol's forms that holds the value: none for the zero date, else 4, 7 or 11 bytes.
fn put_datetime(datetime: i64, out: &mut Vec<u8>) {
    let (date, clock) = datetime_parts(datetime);
    let (year, month, day) = code_parts(date);
    let (seconds, fraction) = (clock / MICROS_PER_SECOND, clock % MICROS_PER_SECOND);
    let length = if fraction > 0 {
        11
    } else if seconds > 0 {
        7
    } else if date != ZERO_DATE {
        4
    } else {
        0
    };
    out.push(length);
    if length == 0 {
        return;
    }
    out.extend_from_slice(&(year as u16).to_le_bytes());
    out.extend_from_slice(&[month as u8, day as u8]);
    if length > 4 {
        out.extend_from_slice(&[(seconds / 3600) as u8, (seconds / 60 % 60) as u8, (seconds % 60) as u8]);
    }
    if length > 7 {
        out.extend_from_slice(&(fraction as u32).to_le_bytes());
    }
}

fn put_time(micros: i64, out: &mut Vec<u8>) {
    let t = micros.unsigned_abs();
    let (seconds, fraction) = (t / MICROS_PER_SECOND as u64, t % MICROS_PER_SECOND as u64);
    let length = if fraction > 0 {
        12
    } else if seconds > 0 {
        8
    } else {
        0
    };
    out.push(length);
    if length > 0 {
        out.push((micros < 0) as u8);
        out.extend_from_slice(&((seconds / 86_400) as u32).to_le_bytes());
        out.extend_from_slice(&[(seconds / 3600 % 24) as u8, (seconds / 60 % 60) as u8, (seconds % 60) as u8]);
    }
    if length > 8 {
        out.extend_from_slice(&(fraction as u32).to_le_bytes());
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use muster_types::temporal::date_code;

    #[test]
    fn datetimes_take_the_shortest_form() {
        let sent = |date: (i32, u32, u32), clock: i64| {
            let mut out = Vec::new();
            put_datetime(datetime_of(date_code(date.0, date.1, date.2), clock), &mut out);
            out
        };
        assert_eq!(sent((0, 0, 0), 0), [0]);
        assert_eq!(sent((2001, 0, 10), 0), [4, 0xD1, 7, 0, 10]);
        assert_eq!(sent((0, 0, 0), 3_661_000_000), [7, 0, 0, 0, 0, 1, 1, 1]);
        assert_eq!(sent((2001, 2, 31), 1), [11, 0xD1, 7, 2, 31, 0, 0, 0, 1, 0, 0, 0]);
    }
}
