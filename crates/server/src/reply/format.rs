//! How the values of a column are written.

use super::{
    ResultCharset,
    column::{self, column_type},
};
use muster_engine::ColumnInfo;
use muster_types::charset::Charset;
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
}

impl Format {
    pub fn of(column: &ColumnInfo, charset: ResultCharset) -> Format {
        Format {
            fsp: column.ty.fsp(),
            decimals: column.decimals,
            charset: column::charset(column, charset),
            column_type: column_type(&column.ty),
        }
    }
}
