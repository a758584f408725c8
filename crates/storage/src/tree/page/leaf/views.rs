//! Views of texts and byte strings, as Arrow has them.

use super::{
    BadPage,
    column::{Column, Data, Strings, are_few},
    decode::{DecodeError, OverflowReader, fixed, le_int},
    rows::RowSelection,
};
use crate::tree::page::block::OverflowPointer;
use arrow_array::{Array, ArrayRef, BinaryViewArray, StringViewArray, builder::LargeBinaryBuilder, cast::AsArray};
use arrow_buffer::{Buffer, NullBuffer, ScalarBuffer};
use std::{ops::Range, sync::Arc};

/// Most bytes of one block of strings, so that views' offsets stay small; a longer value gets a block of its own.
const BLOCK_BYTES: usize = 1 << 26;
/// Longest string that a view holds itself.
const INLINE: usize = 12;

/// Views of strings, and the blocks that the long ones point into.
#[derive(Default)]
pub(super) struct Views {
    pub views: Vec<u128>,
    blocks: Vec<Buffer>,
    current: Vec<u8>,
}

/// Appends views of strings of one length, which views hold themselves.
fn append_short(data: &[u8], width: usize, rows: &RowSelection, views: &mut Vec<u128>) {
    match width {
        // CHAR(1) is what reports group by.
        1 => fixed::<1, _>(data, rows, views, |byte| 1 | (byte as u128) << 32),
        _ => views.extend(rows.iter().map(|row| inline_view(&data[row * width..][..width]))),
    }
}

/// Checks that a text is UTF-8.
fn check_value(value: &[u8], text: bool) -> Result<(), BadPage> {
    match !text || std::str::from_utf8(value).is_ok() {
        true => Ok(()),
        false => Err(BadPage("text that is not UTF-8")),
    }
}

/// Checks that strings in a heap are UTF-8.
fn check_text(strings: &Strings<'_>) -> Result<(), BadPage> {
    if strings.heap.is_ascii() {
        return Ok(());
    }
    // Texts of a heap that is UTF-8 are so if each begins with a character; that is faster than looking at each alone.
    let begins = |text: &[u8]| text.first().is_none_or(|byte| byte & 0xC0 != 0x80);
    if std::str::from_utf8(strings.heap).is_ok() && (0..strings.len()).all(|i| begins(strings.get(i))) {
        return Ok(());
    }
    for i in 0..strings.len() {
        std::str::from_utf8(strings.get(i)).map_err(|_| BadPage("text that is not UTF-8"))?;
    }
    Ok(())
}

impl Views {
    pub fn with_capacity(rows: usize) -> Views {
        Views { views: Vec::with_capacity(rows), ..Views::default() }
    }

    /// The array of all values, which were checked to be UTF-8 if they are texts.
    pub fn finish(mut self, text: bool, nulls: Option<NullBuffer>) -> ArrayRef {
        self.close_block();
        let views = ScalarBuffer::from(self.views);
        match text {
            // SAFETY: every view is made here, from bytes that were checked to be UTF-8 and that were copied into the
            // view or into the block that the view names, within the block's length.
            true => Arc::new(unsafe { StringViewArray::new_unchecked(views, self.blocks, nulls) }),
            // SAFETY: as above; bytes need not be UTF-8.
            false => Arc::new(unsafe { BinaryViewArray::new_unchecked(views, self.blocks, nulls) }),
        }
    }

    /// The array of all values as documents.
    pub fn finish_documents(self, nulls: Option<NullBuffer>) -> ArrayRef {
        let values = self.finish(false, nulls);
        let views = values.as_binary_view();
        let bytes = views.iter().flatten().map(<[u8]>::len).sum();
        let mut documents = LargeBinaryBuilder::with_capacity(views.len(), bytes);
        views.iter().for_each(|document| documents.append_option(document));
        Arc::new(documents.finish())
    }

    fn close_block(&mut self) {
        if !self.current.is_empty() {
            self.blocks.push(Buffer::from(std::mem::take(&mut self.current)));
        }
    }

    /// Makes room in the current block for that many bytes. Returns block number and offset of what comes next.
    fn place(&mut self, bytes: usize) -> (u32, u32) {
        if self.current.len() + bytes > BLOCK_BYTES {
            self.close_block();
        }
        (self.blocks.len() as u32, self.current.len() as u32)
    }

    /// Copies a value. Returns its view.
    #[inline]
    pub fn copy(&mut self, value: &[u8]) -> u128 {
        if value.len() <= INLINE {
            return inline_view(value);
        }
        let (block, offset) = self.place(value.len());
        self.current.extend_from_slice(value);
        long_view(value, block, offset)
    }

    /// The view of one row's value.
    pub fn of_row(
        &mut self,
        column: &Column<'_>,
        row: usize,
        text: bool,
        overflow: &dyn OverflowReader,
    ) -> Result<u128, DecodeError> {
        if column.is_null(row) {
            return Ok(0);
        }
        if column.is_overflow(row) {
            let pointer = OverflowPointer::from_bytes(column.bytes(row));
            let value = overflow.read(pointer.ok_or(BadPage("overflow pointer of wrong length"))?)?;
            check_value(&value, text)?;
            return Ok(self.copy(&value));
        }
        check_value(column.bytes(row), text)?;
        Ok(self.copy(column.bytes(row)))
    }

    /// Appends the views of rows of the base.
    pub fn append(
        &mut self,
        column: &Column<'_>,
        rows: &RowSelection,
        text: bool,
        overflow: &dyn OverflowReader,
    ) -> Result<(), DecodeError> {
        let check = |value: &[u8]| check_value(value, text);
        if column.overflow.is_some() {
            for row in rows.iter() {
                let view = self.of_row(column, row, text, overflow)?;
                self.views.push(view);
            }
            return Ok(());
        }
        match column.data {
            Data::BytesConstant(value) => {
                check(value)?;
                let view = self.copy(value);
                self.views.resize(self.views.len() + rows.len(), view);
            }
            Data::BytesFixed { width, data } => {
                if text && are_few(rows.len() * width, data.len()) {
                    rows.iter().try_for_each(|row| check(&data[row * width..][..width]))?;
                } else if text && !data.is_ascii() {
                    data.chunks_exact(width.max(1)).try_for_each(check)?;
                }
                if let RowSelection::Range(range) = rows
                    && width > INLINE
                {
                    self.append_copied(&data[range.start * width..range.end * width], range.len(), |i| i * width);
                } else if width <= INLINE {
                    append_short(data, width, rows, &mut self.views);
                } else {
                    for row in rows.iter() {
                        let view = self.copy(&data[row * width..][..width]);
                        self.views.push(view);
                    }
                }
            }
            Data::Bytes(strings) if are_few(rows.len(), strings.len()) => {
                for row in rows.iter() {
                    check(strings.get(row))?;
                }
                self.append_each(&strings, rows.iter());
            }
            Data::Bytes(strings) => {
                if text {
                    check_text(&strings)?;
                }
                self.append_strings(&strings, rows);
            }
            Data::Dictionary { codes, entries } if rows.len() < entries.len() => {
                for row in rows.iter() {
                    let value = entries.get(codes[row] as usize);
                    check(value)?;
                    let view = self.copy(value);
                    self.views.push(view);
                }
            }
            Data::Dictionary { codes, entries } => {
                if text {
                    check_text(&entries)?;
                }
                // As many as a code can say, so that no code has to be checked.
                let mut views = [0u128; 256];
                for (i, view) in views.iter_mut().enumerate().take(entries.len()) {
                    *view = self.copy(entries.get(i));
                }
                match rows {
                    RowSelection::Range(range) => {
                        self.views.extend(codes[range.clone()].iter().map(|code| views[*code as usize]));
                    }
                    rows => self.views.extend(rows.iter().map(|row| views[codes[row] as usize])),
                }
            }
            _ => self.views.resize(self.views.len() + rows.len(), 0),
        }
        Ok(())
    }

    fn append_strings(&mut self, strings: &Strings<'_>, rows: &RowSelection) {
        match rows {
            RowSelection::Range(range) if !range.is_empty() => {
                let start = strings.offset(range.start);
                let bytes = &strings.heap[start..strings.offset(range.end)];
                if bytes.len() > range.len() * INLINE / 2 {
                    let offsets = &strings.offsets()[2 * range.start..];
                    self.append_copied(bytes, range.len(), |i| {
                        le_int::<2>(&offsets[2 * i..2 * i + 2]) as usize - start
                    });
                } else {
                    self.append_each(strings, range.clone());
                }
            }
            _ => self.append_each(strings, rows.iter()),
        }
    }

    fn append_each(&mut self, strings: &Strings<'_>, rows: impl Iterator<Item = usize>) {
        for row in rows {
            let view = self.copy(strings.get(row));
            self.views.push(view);
        }
    }

    /// Copies neighbouring values at once: `count` of them, `offset(i)` says where value i begins in `bytes`, and
    /// `offset(count)` where the last ends.
    fn append_copied(&mut self, bytes: &[u8], count: usize, offset: impl Fn(usize) -> usize) {
        let (block, at) = self.place(bytes.len());
        self.current.extend_from_slice(bytes);
        self.views.reserve(count);
        let mut start = offset(0);
        self.views.extend((0..count).map(|i| {
            let end = offset(i + 1);
            let view = view_at(bytes, start..end, block, at);
            start = end;
            view
        }));
    }
}

/// The view of a value within bytes that were copied to `at` in a block.
#[inline]
fn view_at(bytes: &[u8], range: Range<usize>, block: u32, at: u32) -> u128 {
    let value = &bytes[range.start..range.end];
    if value.len() > INLINE {
        return long_view(value, block, at + range.start as u32);
    }
    // Reading a whole word and masking it beats copying a few bytes.
    match bytes.get(range.start..range.start + 16) {
        Some(word) => {
            let word = le_int::<8>(word) as u128 | (le_int::<8>(&word[8..]) as u128) << 64;
            let mask = (1u128 << (8 * value.len())) - 1;
            value.len() as u128 | (word & mask) << 32
        }
        None => inline_view(value),
    }
}

/// The view of a string of at most 12 bytes, from words that overlap: bytes written one by one and read back as a word
/// would wait for each other.
#[inline]
fn inline_view(value: &[u8]) -> u128 {
    let n = value.len();
    let word = match n {
        8.. => le_int::<8>(value) as u128 | (le_int::<8>(&value[n - 8..]) as u128) << (8 * (n - 8)),
        4.. => le_int::<4>(value) as u128 | (le_int::<4>(&value[n - 4..]) as u128) << (8 * (n - 4)),
        1.. => value[0] as u128 | (value[n / 2] as u128) << (8 * (n / 2)) | (value[n - 1] as u128) << (8 * (n - 1)),
        0 => 0,
    };
    n as u128 | word << 32
}

/// The view of a longer string: length, first four bytes, block, offset.
#[inline]
fn long_view(value: &[u8], block: u32, offset: u32) -> u128 {
    value.len() as u128 | (le_int::<4>(value) as u128) << 32 | (block as u128) << 64 | (offset as u128) << 96
}
