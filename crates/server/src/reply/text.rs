//! Rows as text: every value a length-encoded string, NULL the byte 0xFB.

use super::{ResultCharset, cells::Cells, format::Format};
use arrow_array::RecordBatch;
use muster_engine::ColumnInfo;
use muster_protocol::put_length_bytes;
use muster_types::{
    SqlType, ValueRef, charset,
    json::{self, JsonView},
    value::{format_double, format_fixed, format_float},
};
use std::io::Write;

const NULL: u8 = 0xFB;

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

impl Writer<'_> {
    pub fn write(&self, row: usize, out: &mut Vec<u8>) {
        put(self.cells.value(row), &self.format, out);
    }
}

/// Appends a value.
pub fn put(value: ValueRef<'_>, format: &Format, out: &mut Vec<u8>) {
    if let SqlType::Unsigned(number) = format.ty
        && let Some(text) = value.to_value().to_text_with(format.fsp, format.decimals)
    {
        return put_length_bytes(number.filled(text).as_bytes(), out);
    }
    match value {
        ValueRef::Null => out.push(NULL),
        ValueRef::Text(text) => put_length_bytes(&charset::encode(format.charset, text), out),
        ValueRef::Bytes(bytes) => put_length_bytes(bytes, out),
        ValueRef::Json(document) => put_length_bytes(json::to_text(JsonView::new(document)).as_bytes(), out),
        ValueRef::Bool(b) => put_short(out, |o| write!(o, "{}", b as u8)),
        ValueRef::Int(i) => put_short(out, |o| write!(o, "{i}")),
        ValueRef::UInt(u) => match format.string_of(u) {
            Some(string) => put_length_bytes(&string, out),
            None if format.ty == SqlType::Year => put_short(out, |o| write!(o, "{u:04}")),
            None => put_short(out, |o| write!(o, "{u}")),
        },
        ValueRef::Decimal(d) => put_short(out, |o| write!(o, "{d}")),
        ValueRef::Float(x) => match format.decimals {
            Some(decimals) => put_length_bytes(format_fixed(x as f64, decimals).as_bytes(), out),
            None => put_short(out, |o| o.write_all(format_float(x).as_bytes())),
        },
        ValueRef::Double(x) => match format.decimals {
            Some(decimals) => put_length_bytes(format_fixed(x, decimals).as_bytes(), out),
            None => put_short(out, |o| o.write_all(format_double(x).as_bytes())),
        },
        ValueRef::Date(_) | ValueRef::DateTime(_) | ValueRef::Time(_) => {
            put_short(out, |o| o.write_all(value.to_value().to_text(format.fsp).unwrap_or_default().as_bytes()))
        }
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
