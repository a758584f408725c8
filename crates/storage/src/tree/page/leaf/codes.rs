//! Texts and byte strings of a column as codes: each distinct value is kept once, and rows have its number. Most are
//! found by the codes that a page has already, or by their only byte.

use super::{
    BadPage,
    column::{Column, Data},
    decode::{DecodeError, OverflowReader},
    rows::RowSelection,
};
use crate::tree::page::block::OverflowPointer;
use std::collections::HashMap;

/// No code is known.
const UNKNOWN: u32 = u32::MAX;

/// The values of a column so far, and the codes of its rows. A row without a value has code 0.
pub(super) struct Codes {
    pub rows: Vec<u32>,
    /// The distinct values, by code.
    pub values: Vec<Box<[u8]>>,
    by_value: HashMap<Box<[u8]>, u32>,
    /// Codes of the values of one byte.
    by_byte: [u32; 256],
    /// True if values must be UTF-8.
    text: bool,
}

impl Codes {
    pub fn new(text: bool, rows: usize) -> Codes {
        let rows = Vec::with_capacity(rows);
        Codes { rows, values: Vec::new(), by_value: HashMap::new(), by_byte: [UNKNOWN; 256], text }
    }

    /// Appends the codes of rows of a leaf's base.
    pub fn append(
        &mut self,
        column: &Column<'_>,
        rows: &RowSelection,
        overflow: &dyn OverflowReader,
    ) -> Result<(), DecodeError> {
        match (column.data, rows) {
            (Data::BytesConstant(value), _) => {
                let code = self.code(value)?;
                self.rows.resize(self.rows.len() + rows.len(), code);
            }
            (Data::BytesFixed { width: 1, data }, _) if column.overflow.is_none() => {
                let (start, by_byte) = (self.rows.len(), &self.by_byte);
                let code = |byte: &u8| by_byte[usize::from(*byte)];
                match rows.decoded() {
                    RowSelection::Range(range) => self.rows.extend(data[range.clone()].iter().map(code)),
                    rows => self.rows.extend(rows.iter().map(|row| code(&data[row]))),
                }
                if self.rows[start..].contains(&UNKNOWN) {
                    self.rows.truncate(start);
                    for row in rows.iter() {
                        let code = self.code(&data[row..=row])?;
                        self.rows.push(code);
                    }
                }
            }
            (Data::Dictionary { codes, entries }, _) if entries.len() <= rows.len() => {
                // As many as a code can say, so that no code has to be checked.
                let mut known = [0; 256];
                for (i, code) in known.iter_mut().enumerate().take(entries.len()) {
                    *code = self.code(entries.get(i))?;
                }
                let code = |code: &u8| known[usize::from(*code)];
                match rows.decoded() {
                    RowSelection::Range(range) => self.rows.extend(codes[range.clone()].iter().map(code)),
                    rows => self.rows.extend(rows.iter().map(|row| code(&codes[row]))),
                }
            }
            _ => {
                for row in rows.iter() {
                    let code = self.code_of_row(column, row, overflow)?;
                    self.rows.push(code);
                }
            }
        }
        Ok(())
    }

    /// The code of one row's value.
    pub fn code_of_row(
        &mut self,
        column: &Column<'_>,
        row: usize,
        overflow: &dyn OverflowReader,
    ) -> Result<u32, DecodeError> {
        if column.is_null(row) {
            return Ok(0);
        }
        if !column.is_overflow(row) {
            return Ok(self.code(column.bytes(row))?);
        }
        let pointer = OverflowPointer::from_bytes(column.bytes(row));
        let value = overflow.read(pointer.ok_or(BadPage("overflow pointer of wrong length"))?)?;
        Ok(self.code(&value)?)
    }

    fn code(&mut self, value: &[u8]) -> Result<u32, BadPage> {
        if let [byte] = value
            && self.by_byte[usize::from(*byte)] != UNKNOWN
        {
            return Ok(self.by_byte[usize::from(*byte)]);
        }
        if let Some(code) = self.by_value.get(value) {
            return Ok(*code);
        }
        if self.text && std::str::from_utf8(value).is_err() {
            return Err(BadPage("text that is not UTF-8"));
        }
        let code = self.values.len() as u32;
        self.values.push(value.into());
        self.by_value.insert(value.into(), code);
        if let [byte] = value {
            self.by_byte[usize::from(*byte)] = code;
        }
        Ok(code)
    }
}
