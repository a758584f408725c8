//! How the values of a column are written.

use super::{
    ResultCharset,
    column::{self, column_type},
};
use muster_engine::ColumnInfo;
use muster_types::{
    SqlType,
    charset::{self, Charset},
    sql_type::bit_bytes,
};
use mysql_common::constants::ColumnType;

#[derive(Debug, Clone, Copy)]
pub struct Format {
    /// Digits of fractional seconds.
    pub fsp: u8,
    /// Digits behind the point of a floating-point number; `None`: as many as it takes.
    pub decimals: Option<u8>,
    /// Of texts.
    pub charset: Charset,
    pub column_type: ColumnType,
    pub ty: SqlType,
}

impl Format {
    pub fn of(column: &ColumnInfo, charset: ResultCharset) -> Format {
        let told = column.shape.ty.filter(SqlType::is_integer).unwrap_or(column.ty);
        Format {
            fsp: column.ty.fsp(),
            decimals: column.decimals,
            charset: column::charset(column, charset),
            column_type: column_type(&told),
            ty: column.ty,
        }
    }

    /// The string that a number of an ENUM, SET or BIT column is sent as; `None` for other columns.
    pub fn string_of(&self, number: u64) -> Option<Vec<u8>> {
        let text = |text: &str| charset::encode(self.charset, text).into_owned();
        match self.ty {
            SqlType::Enum(members) => Some(text(members.enum_text(number))),
            SqlType::Set(members) => Some(text(&members.set_text(number))),
            SqlType::Bit { width } => Some(bit_bytes(number, width)),
            _ => None,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::reply::{binary, text};
    use muster_types::{Collation, IntWidth, MemberList, NumberKind, UnsignedNumber, ValueRef};

    fn format(ty: SqlType) -> Format {
        Format { fsp: 0, decimals: None, charset: Charset::Utf8mb4, column_type: column_type(&ty), ty }
    }

    #[test]
    fn numbers_of_columns_as_they_are_sent() {
        let members = MemberList::new(vec!["b".into(), "é".into()], Collation::DEFAULT);
        let padded = UnsignedNumber { kind: NumberKind::Int(IntWidth::Int), zerofill: Some(5) };
        for (ty, number, as_text, as_binary) in [
            (SqlType::Enum(members), 2, &b"\x02\xC3\xA9"[..], &b"\x02\xC3\xA9"[..]),
            (SqlType::Enum(members), 0, b"\0", b"\0"),
            (SqlType::Set(members), 3, b"\x04b,\xC3\xA9", b"\x04b,\xC3\xA9"),
            (SqlType::Year, 0, b"\x040000", b"\0\0"),
            (SqlType::Bit { width: 10 }, 0x141, b"\x02\x01A", b"\x02\x01A"),
            (SqlType::Unsigned(padded), 7, b"\x0500007", b"\x07\0\0\0"),
        ] {
            let (mut text, mut row, format) = (Vec::new(), Vec::new(), format(ty));
            text::put(ValueRef::UInt(number), &format, &mut text);
            binary::put(ValueRef::UInt(number), 0, 0, &format, &mut row);
            assert_eq!((&text[..], &row[..]), (as_text, as_binary), "{ty}");
        }
    }
}
