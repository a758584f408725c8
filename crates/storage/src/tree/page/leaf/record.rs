//! Records: rows that lie in a leaf as rows, each on its own. Drawn in `docs/format.md`, "Record". A tree's records
//! have one layout, which is computed once.

use super::{BadPage, bitmap_bytes, decode::le_int};
use crate::{
    key::KeyRow,
    page::u16_at,
    tree::page::{
        block::{Cell, ColumnBlock, RowBlock},
        layout::{Physical, StoredColumn},
    },
};
use arrow_buffer::i256;

/// Bytes of a record's length.
const LENGTH: usize = 2;

/// The layout of the columns of a tree's rows in records.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct RecordLayout {
    columns: Vec<RecordColumn>,
    /// The offset of the bits of overflow.
    overflow_at: usize,
    /// The offset of the ends of byte strings.
    ends_at: usize,
    /// Columns of byte strings.
    strings: usize,
}

/// The place of one column in a record.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct RecordColumn {
    physical: Physical,
    /// The position among the stored columns.
    column: usize,
    /// The offset of a number; the position of a byte string among its kind.
    at: usize,
    overflow_at: usize,
    ends_at: usize,
    strings: usize,
}

impl RecordLayout {
    pub fn new(columns: &[StoredColumn]) -> RecordLayout {
        let strings = columns.iter().filter(|c| matches!(c.physical, Physical::Bytes { .. })).count();
        let overflow_at = LENGTH + bitmap_bytes(columns.len());
        let (mut number, mut string) = (overflow_at + bitmap_bytes(strings), 0);
        let mut places = Vec::with_capacity(columns.len());
        for (column, stored) in columns.iter().enumerate() {
            let (next, width) = match stored.physical {
                Physical::Int { width, .. } => (&mut number, width),
                Physical::Wide => (&mut number, 16),
                Physical::Wide256 => (&mut number, 32),
                Physical::Bytes { .. } => (&mut string, 1),
            };
            let physical = stored.physical;
            places.push(RecordColumn { physical, column, at: *next, overflow_at, ends_at: 0, strings });
            *next += width;
        }
        places.iter_mut().for_each(|place| place.ends_at = number);
        RecordLayout { columns: places, overflow_at, ends_at: number, strings }
    }

    /// The places of all columns.
    pub(super) fn columns(&self) -> &[RecordColumn] {
        &self.columns
    }

    /// Columns of byte strings.
    pub(super) fn strings(&self) -> usize {
        self.strings
    }

    /// Returns the place of a column; `None` if there is no such column.
    pub fn column(&self, column: usize) -> Option<RecordColumn> {
        self.columns.get(column).copied()
    }

    /// Bytes of a record without its byte strings.
    pub fn fixed_bytes(&self) -> usize {
        self.ends_at + 2 * self.strings
    }

    /// Begins the record of a row, which will have about so many bytes.
    pub fn begin(&self, bytes: usize) -> Vec<u8> {
        let mut record = Vec::with_capacity(bytes);
        record.resize(self.fixed_bytes(), 0);
        record
    }

    /// Puts a value into a record that was begun; values come in the order of the columns.
    pub fn put(&self, record: &mut Vec<u8>, column: usize, value: Cell<'_>) {
        let place = &self.columns[column];
        if value != Cell::Null {
            record[LENGTH + column / 8] |= 1 << (column % 8);
        }
        match (place.physical, value) {
            (Physical::Int { width, .. }, Cell::Int(x)) => {
                record[place.at..place.at + width].copy_from_slice(&x.to_le_bytes()[..width]);
            }
            (Physical::Wide, Cell::Wide(x)) => record[place.at..place.at + 16].copy_from_slice(&x.to_le_bytes()),
            (Physical::Wide256, Cell::Wide256(x)) => record[place.at..place.at + 32].copy_from_slice(&x.to_le_bytes()),
            (Physical::Bytes { .. }, value) => {
                if let Cell::Bytes(bytes) = value {
                    record.extend_from_slice(bytes);
                }
                let end = (record.len() - self.fixed_bytes()) as u16;
                record[self.ends_at + 2 * place.at..][..2].copy_from_slice(&end.to_le_bytes());
            }
            _ => {}
        }
    }

    /// Says that the bytes that were put for a column are an overflow pointer.
    pub(super) fn set_overflow(&self, record: &mut [u8], column: usize) {
        if let Some(string) = self.columns[column].string() {
            record[self.overflow_at + string / 8] |= 1 << (string % 8);
        }
    }

    /// Ends a record that has all its values. It fits a page, so its bytes are a 16-bit number.
    pub fn end(&self, record: &mut [u8]) {
        let length = record.len() as u16;
        record[..LENGTH].copy_from_slice(&length.to_le_bytes());
    }

    /// The record of a row of a block. The row fits a page, so its bytes are a 16-bit number.
    pub fn record_of(&self, block: &RowBlock, row: usize) -> Vec<u8> {
        let mut record = self.begin(self.fixed_bytes());
        for (number, place) in self.columns.iter().enumerate() {
            let column = &block.columns[number];
            let value = match place.physical {
                _ if column.is_null(row) => Cell::Null,
                Physical::Int { .. } => Cell::Int(column.int(row)),
                Physical::Wide => Cell::Wide(column.wide(row)),
                Physical::Wide256 => Cell::Wide256(column.wide256(row)),
                Physical::Bytes { .. } => Cell::Bytes(column.bytes(row)),
            };
            self.put(&mut record, number, value);
            if column.is_overflow(row) {
                self.set_overflow(&mut record, number);
            }
        }
        self.end(&mut record);
        record
    }

    /// Puts the value of a column of a record into a record of another layout, as its column `number`.
    pub fn copy_value(
        &self,
        record: &[u8],
        column: usize,
        into: &RecordLayout,
        converted: &mut Vec<u8>,
        number: usize,
    ) -> Result<(), BadPage> {
        let place = self.columns.get(column).ok_or(BadPage("no such column"))?;
        place.check(record)?;
        let value = match place.physical {
            _ if place.is_null(record) => Cell::Null,
            Physical::Int { .. } => Cell::Int(place.int(record)),
            Physical::Wide => Cell::Wide(place.wide(record)),
            Physical::Wide256 => Cell::Wide256(place.wide256(record)),
            Physical::Bytes { .. } => Cell::Bytes(place.checked_bytes(record)?),
        };
        into.put(converted, number, value);
        if place.is_overflow(record) {
            into.set_overflow(converted, number);
        }
        Ok(())
    }

    /// Appends the row of a record to a block.
    pub fn append_to(&self, record: &[u8], block: &mut RowBlock) -> Result<(), BadPage> {
        block.columns.iter_mut().enumerate().try_for_each(|(i, column)| self.append_column(record, i, column))
    }

    /// Appends the value of one column in a record.
    pub fn append_column(&self, record: &[u8], number: usize, column: &mut ColumnBlock) -> Result<(), BadPage> {
        let place = self.columns.get(number).ok_or(BadPage("no such column"))?;
        place.check(record)?;
        match place.physical {
            _ if place.is_null(record) => column.push_null(),
            Physical::Int { .. } => column.push_int(place.int(record)),
            Physical::Wide => column.push_wide(place.wide(record)),
            Physical::Wide256 => column.push_wide256(place.wide256(record)),
            Physical::Bytes { .. } => column.push_bytes(place.checked_bytes(record)?, place.is_overflow(record)),
        }
        Ok(())
    }
}

/// The record that begins at an offset of a page.
pub fn record_at(page: &[u8], at: usize) -> Result<&[u8], BadPage> {
    let length = page.get(at..at + LENGTH).map_or(0, |length| usize::from(u16_at(length, 0)));
    page.get(at..at + length).filter(|record| record.len() >= LENGTH).ok_or(BadPage("record outside of the page"))
}

/// A row in a record that was made here, for making its key.
#[derive(Debug, Clone, Copy)]
pub struct RecordRow<'a> {
    pub layout: &'a RecordLayout,
    pub record: &'a [u8],
}

impl KeyRow for RecordRow<'_> {
    fn is_null(&self, column: usize) -> bool {
        self.layout.columns[column].is_null(self.record)
    }
    fn int(&self, column: usize) -> i64 {
        self.layout.columns[column].int(self.record)
    }
    fn wide(&self, column: usize) -> i128 {
        self.layout.columns[column].wide(self.record)
    }
    fn wide256(&self, column: usize) -> i256 {
        self.layout.columns[column].wide256(self.record)
    }
    fn bytes(&self, column: usize) -> &[u8] {
        self.layout.columns[column].checked_bytes(self.record).unwrap_or(&[])
    }
}

/// A number of `width` bytes, of which there are as many.
#[inline]
pub(super) fn int_of(bytes: &[u8], width: usize, signed: bool) -> i64 {
    match (width, signed) {
        (1, true) => bytes[0] as i8 as i64,
        (1, false) => bytes[0] as i64,
        (2, true) => le_int::<2>(bytes) as i16 as i64,
        (2, false) => le_int::<2>(bytes) as i64,
        (4, true) => le_int::<4>(bytes) as i32 as i64,
        (4, false) => le_int::<4>(bytes) as i64,
        _ => le_int::<8>(bytes) as i64,
    }
}

impl RecordColumn {
    /// The position among the stored columns.
    pub(super) fn number(&self) -> usize {
        self.column
    }

    pub(super) fn physical(&self) -> Physical {
        self.physical
    }

    /// The position among the columns of byte strings, if it is one.
    pub(super) fn string(&self) -> Option<usize> {
        matches!(self.physical, Physical::Bytes { .. }).then_some(self.at)
    }

    /// The bytes of the column's value in a record that was checked.
    pub(super) fn stored<'a>(&self, record: &'a [u8]) -> &'a [u8] {
        let width = match self.physical {
            Physical::Int { width, .. } => width,
            Physical::Wide => 16,
            Physical::Wide256 => 32,
            Physical::Bytes { .. } => return self.checked_bytes(record).unwrap_or(&[]),
        };
        record.get(self.at..self.at + width).unwrap_or(&[])
    }

    /// Checks that a record holds the column.
    #[inline]
    pub fn check(&self, record: &[u8]) -> Result<(), BadPage> {
        match record.len() >= self.ends_at + 2 * self.strings {
            true => self.checked_bytes(record).map(drop),
            false => Err(BadPage("record too short")),
        }
    }

    /// True for what is no record.
    #[inline]
    pub fn is_null(&self, record: &[u8]) -> bool {
        record.get(LENGTH + self.column / 8).is_none_or(|bits| bits >> (self.column % 8) & 1 == 0)
    }

    #[inline]
    pub fn is_overflow(&self, record: &[u8]) -> bool {
        matches!(self.physical, Physical::Bytes { .. })
            && record.get(self.overflow_at + self.at / 8).is_some_and(|bits| bits >> (self.at % 8) & 1 == 1)
    }

    /// 0 for columns of another class, and for what is no record.
    #[inline]
    pub fn int(&self, record: &[u8]) -> i64 {
        let Physical::Int { width, signed } = self.physical else { return 0 };
        let Some(bytes) = record.get(self.at..self.at + width) else { return 0 };
        int_of(bytes, width, signed)
    }

    #[inline]
    pub fn wide(&self, record: &[u8]) -> i128 {
        if !matches!(self.physical, Physical::Wide) {
            return 0;
        }
        match record.get(self.at..self.at + 16) {
            Some(bytes) => (le_int::<8>(bytes) as u128 | (le_int::<8>(&bytes[8..]) as u128) << 64) as i128,
            None => 0,
        }
    }

    #[inline]
    pub fn wide256(&self, record: &[u8]) -> i256 {
        if !matches!(self.physical, Physical::Wide256) {
            return i256::ZERO;
        }
        let bytes = record.get(self.at..).and_then(|bytes| bytes.first_chunk());
        bytes.map_or(i256::ZERO, |bytes| i256::from_le_bytes(*bytes))
    }

    /// Empty for columns of another class.
    #[inline]
    pub fn checked_bytes<'a>(&self, record: &'a [u8]) -> Result<&'a [u8], BadPage> {
        if !matches!(self.physical, Physical::Bytes { .. }) {
            return Ok(&[]);
        }
        let strings = self.ends_at + 2 * self.strings;
        let Some(ends) = record.get(self.ends_at..strings) else { return Err(BadPage("record too short")) };
        let start = if self.at == 0 { 0 } else { usize::from(u16_at(ends, 2 * self.at - 2)) };
        let end = usize::from(u16_at(ends, 2 * self.at));
        record.get(strings + start..strings + end).ok_or(BadPage("ends of a record's strings out of order"))
    }
}
