//! Rows as text: every value a length-encoded string, NULL the byte 0xFB.

use super::{ResultCharset, binary::Cells, column};
use arrow_array::RecordBatch;
use muster_engine::ColumnInfo;
use muster_protocol::put_length_bytes;
use muster_types::{
    Decimal, Value,
    charset::{self, Charset},
    value::{format_double, format_fixed, format_float},
};
use std::io::Write;

const NULL: u8 = 0xFB;

/// Writes the values of one column.
pub struct Writer<'a> {
    cells: Cells<'a>,
    fsp: u8,
    decimals: Option<u8>,
    charset: Charset,
}

/// One writer per column.
pub fn writers<'a>(columns: &[ColumnInfo], batch: &'a RecordBatch, charset: ResultCharset) -> Vec<Writer<'a>> {
    (columns.iter().zip(batch.columns()))
        .map(|(column, array)| Writer {
            cells: Cells::new(array),
            fsp: column.ty.fsp(),
            decimals: column.decimals,
            charset: column::charset(column, charset),
        })
        .collect()
}

impl Writer<'_> {
    pub fn write(&self, row: usize, out: &mut Vec<u8>) {
        if self.cells.is_null(row) {
            return out.push(NULL);
        }
        match &self.cells {
            Cells::Text(a) => put_length_bytes(&charset::encode(self.charset, a.value(row)), out),
            Cells::Bytes(a) => put_length_bytes(a.value(row), out),
            Cells::Null => out.push(NULL),
            Cells::Bool(a) => put_short(out, |b| write!(b, "{}", a.value(row) as u8)),
            Cells::Int(a) => put_short(out, |b| write!(b, "{}", a.value(row))),
            Cells::UInt(a) => put_short(out, |b| write!(b, "{}", a.value(row))),
            Cells::Decimal64(a, scale) => {
                put_short(out, |b| write!(b, "{}", Decimal::new(a.value(row).into(), *scale)))
            }
            Cells::Decimal128(a, scale) => put_short(out, |b| write!(b, "{}", Decimal::new(a.value(row), *scale))),
            Cells::Float(a) => match self.decimals {
                Some(decimals) => put_length_bytes(format_fixed(a.value(row) as f64, decimals).as_bytes(), out),
                None => put_short(out, |b| b.write_all(format_float(a.value(row)).as_bytes())),
            },
            Cells::Double(a) => match self.decimals {
                Some(decimals) => put_length_bytes(format_fixed(a.value(row), decimals).as_bytes(), out),
                None => put_short(out, |b| b.write_all(format_double(a.value(row)).as_bytes())),
            },
            Cells::Date(a) => self.put_value(Value::Date(a.value(row)), out),
            Cells::DateTime(a) => self.put_value(Value::DateTime(a.value(row)), out),
            Cells::Time(a) => self.put_value(Value::Time(a.value(row)), out),
        }
    }

    fn put_value(&self, value: Value, out: &mut Vec<u8>) {
        put_short(out, |b| b.write_all(value.to_text(self.fsp).unwrap_or_default().as_bytes()));
    }
}

/// Appends a text of at most 250 bytes, written in place, and its length before it.
fn put_short(out: &mut Vec<u8>, write: impl FnOnce(&mut Vec<u8>) -> std::io::Result<()>) {
    let at = out.len();
    out.push(0);
    // Writing to a Vec cannot fail.
    let _ = write(out);
    out[at] = (out.len() - at - 1) as u8;
}
