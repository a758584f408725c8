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
        Format {
            fsp: column.ty.fsp(),
            decimals: column.decimals,
            charset: column::charset(column, charset),
            column_type: column_type(&column.ty),
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
