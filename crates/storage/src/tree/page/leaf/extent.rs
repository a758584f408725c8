//! The size of rows before they are written: per column what the encoders need to know, taken in row by row.

use super::{ENTRY, Encoding, bitmap_bytes, decode::le_int};
use crate::tree::page::block::{BlockValues, ColumnBlock, RowBlock};
use std::ops::Range;

/// Most entries of a dictionary: codes are one byte.
const DICTIONARY_MAX: usize = 256;
const SLOTS: usize = 512;
const EMPTY: u32 = u32::MAX;

/// Distinct values of a column, by the row that had each first. An open-addressing table of fixed size.
#[derive(Debug, Clone)]
pub(super) struct Distinct {
    slots: Box<[u32; SLOTS]>,
    /// Rows with new values, in order of appearance.
    pub rows: Vec<u32>,
    /// The entry of each row.
    pub codes: Vec<u8>,
    /// Bytes of all entries.
    pub bytes: usize,
}

impl Distinct {
    fn new() -> Distinct {
        Distinct { slots: Box::new([EMPTY; SLOTS]), rows: Vec::new(), codes: Vec::new(), bytes: 0 }
    }

    /// Takes in the value of the next row. Returns false if there are too many values.
    pub fn add(&mut self, column: &ColumnBlock, row: usize) -> bool {
        let value = column.bytes(row);
        let mut slot = hash(value) % SLOTS;
        loop {
            let code = self.slots[slot];
            if code == EMPTY {
                if self.rows.len() == DICTIONARY_MAX {
                    return false;
                }
                self.slots[slot] = self.rows.len() as u32;
                self.codes.push(self.rows.len() as u8);
                self.rows.push(row as u32);
                self.bytes += value.len();
                return true;
            }
            if column.bytes(self.rows[code as usize] as usize) == value {
                self.codes.push(code as u8);
                return true;
            }
            slot = (slot + 1) % SLOTS;
        }
    }
}

/// Mixes eight bytes at a time; only spreads values over the table above. What is left at the end is taken with bytes
/// before it, or in overlapping pieces, so that no bytes are copied one by one.
fn hash(value: &[u8]) -> usize {
    const FACTOR: u64 = 0x9e37_79b9_7f4a_7c15;
    let n = value.len();
    let mix = |h: u64, word: u64| (h ^ word).wrapping_mul(FACTOR).rotate_left(29);
    let last = match n {
        8.. => le_int::<8>(&value[n - 8..]),
        4.. => le_int::<4>(value) | le_int::<4>(&value[n - 4..]) << 32,
        1.. => u64::from(value[0]) | u64::from(value[n / 2]) << 8 | u64::from(value[n - 1]) << 16,
        0 => 0,
    };
    let words = value[..n.saturating_sub(1)].as_chunks::<8>().0;
    let h = words.iter().fold(n as u64, |h, word| mix(h, u64::from_le_bytes(*word)));
    (mix(h, last).wrapping_mul(FACTOR) >> 32) as usize
}

/// One column of some rows.
#[derive(Debug, Clone)]
pub(super) struct Extent {
    pub rows: usize,
    pub nulls: usize,
    pub overflow: usize,
    /// Smallest and largest int.
    pub min: i64,
    pub max: i64,
    /// First row with a value.
    pub first: Option<usize>,
    /// All values so far are the same (wide, bytes).
    pub same: bool,
    /// All values so far, NULLs counted as empty, have this length.
    pub fixed: Option<usize>,
    pub heap: usize,
    pub distinct: Option<Distinct>,
    seen_any: bool,
    /// True if a dictionary is given up only when it has too many entries.
    exact: bool,
}

impl Extent {
    fn new(column: &ColumnBlock) -> Extent {
        let bytes = matches!(column.values, BlockValues::Bytes { .. });
        Extent {
            rows: 0,
            nulls: 0,
            overflow: 0,
            min: i64::MAX,
            max: i64::MIN,
            first: None,
            same: true,
            fixed: None,
            heap: 0,
            distinct: bytes.then(Distinct::new),
            seen_any: false,
            exact: false,
        }
    }

    fn extend(&mut self, column: &ColumnBlock, rows: Range<usize>) {
        self.rows += rows.len();
        if !column.valid.is_empty() {
            self.nulls += column.valid[rows.clone()].iter().filter(|v| !**v).count();
        }
        if !column.overflow.is_empty() {
            self.overflow += column.overflow[rows.clone()].iter().filter(|v| **v).count();
        }
        if self.first.is_none() {
            self.first = rows.clone().find(|row| !column.is_null(*row));
        }
        match &column.values {
            BlockValues::Int(v) if column.valid.is_empty() => {
                for x in &v[rows] {
                    self.min = self.min.min(*x);
                    self.max = self.max.max(*x);
                }
            }
            BlockValues::Int(v) => {
                for row in rows.filter(|row| column.valid[*row]) {
                    self.min = self.min.min(v[row]);
                    self.max = self.max.max(v[row]);
                }
            }
            BlockValues::Wide(v) => {
                if let Some(first) = self.first {
                    self.same &= rows.clone().all(|row| column.is_null(row) || v[row] == v[first]);
                }
            }
            BlockValues::Wide256(v) => {
                if let Some(first) = self.first {
                    self.same &= rows.clone().all(|row| column.is_null(row) || v[row] == v[first]);
                }
            }
            BlockValues::Bytes { .. } => self.extend_bytes(column, rows),
        }
    }

    fn extend_bytes(&mut self, column: &ColumnBlock, rows: Range<usize>) {
        for row in rows {
            let value = column.bytes(row);
            self.heap += value.len();
            if !self.seen_any {
                self.seen_any = true;
                self.fixed = Some(value.len());
            } else if self.fixed != Some(value.len()) {
                self.fixed = None;
            }
            if self.same && !column.is_null(row) && self.first.is_some_and(|first| column.bytes(first) != value) {
                self.same = false;
            }
            if let Some(distinct) = &mut self.distinct {
                let kept = distinct.add(column, row);
                // A column of ever new values gets no dictionary: stop looking early.
                let count = distinct.rows.len();
                if !kept || !self.exact && count > 32 && 2 * count > self.rows {
                    self.distinct = None;
                }
            }
        }
    }

    /// The smallest encoding, the width of its values, and the bytes of its data without bitmaps.
    pub fn choose(&self, column: &ColumnBlock, width: usize) -> (Encoding, usize, usize) {
        let n = self.rows;
        match &column.values {
            BlockValues::Int(_) => {
                if self.first.is_none() || self.min == self.max {
                    return (Encoding::Constant, 0, 0);
                }
                let span = self.max.wrapping_sub(self.min) as u64;
                let delta = match span {
                    0..=0xFF => 1,
                    0x100..=0xFFFF => 2,
                    0x1_0000..=0xFFFF_FFFF => 4,
                    _ => 8,
                };
                if delta < width { (Encoding::Delta, delta, n * delta) } else { (Encoding::Plain, width, n * width) }
            }
            BlockValues::Wide(_) if self.same => (Encoding::Constant, 16, 16),
            BlockValues::Wide(_) => (Encoding::Plain, 16, n * 16),
            BlockValues::Wide256(_) if self.same => (Encoding::Constant, 32, 32),
            BlockValues::Wide256(_) => (Encoding::Plain, 32, n * 32),
            BlockValues::Bytes { .. } => {
                if self.same && self.overflow == 0 {
                    let len = self.first.map_or(0, |first| column.bytes(first).len());
                    return (Encoding::Constant, 0, len);
                }
                let mut best = (Encoding::Plain, 0, 2 * (n + 1) + self.heap);
                if let Some(len) = self.fixed
                    && n * len < best.2
                {
                    best = (Encoding::Fixed, len, n * len);
                }
                if let Some(distinct) = &self.distinct {
                    let bytes = n + 2 * (distinct.rows.len() + 1) + distinct.bytes;
                    if self.overflow == 0 && bytes < best.2 {
                        best = (Encoding::Dictionary, 1, bytes);
                    }
                }
                best
            }
        }
    }

    pub fn all_null(&self) -> bool {
        self.nulls == self.rows && self.rows > 0
    }

    /// Bytes of the minipage.
    fn bytes(&self, column: &ColumnBlock, width: usize) -> usize {
        if self.all_null() {
            return 0;
        }
        let bitmaps = (self.nulls > 0) as usize + (self.overflow > 0) as usize;
        self.choose(column, width).2 + bitmaps * bitmap_bytes(self.rows)
    }
}

/// Rows of a block from one row on, and what they take in a leaf.
#[derive(Debug, Clone)]
pub struct RowExtents {
    pub(super) columns: Vec<Extent>,
    rows: Range<usize>,
}

impl RowExtents {
    pub fn new(block: &RowBlock, start: usize) -> RowExtents {
        RowExtents { columns: block.columns.iter().map(Extent::new).collect(), rows: start..start }
    }

    /// The extents of these rows.
    pub fn of(block: &RowBlock, rows: Range<usize>) -> RowExtents {
        let mut extents = RowExtents::new(block, rows.start);
        extents.extend(block, rows.len());
        extents
    }

    /// The same, so that fewer rows never take more bytes: a dictionary is looked for to the end.
    pub fn exact(block: &RowBlock, rows: Range<usize>) -> RowExtents {
        let mut extents = RowExtents::new(block, rows.start);
        extents.columns.iter_mut().for_each(|extent| extent.exact = true);
        extents.extend(block, rows.len());
        extents
    }

    pub fn rows(&self) -> Range<usize> {
        self.rows.clone()
    }

    /// Takes in the next `count` rows.
    pub fn extend(&mut self, block: &RowBlock, count: usize) {
        let next = self.rows.end..self.rows.end + count;
        for (extent, column) in self.columns.iter_mut().zip(&block.columns) {
            extent.extend(column, next.clone());
        }
        self.rows.end = next.end;
    }

    /// Bytes in a leaf, the directory included, the fences not. `widths`: bytes of each column's plain ints.
    pub fn bytes(&self, block: &RowBlock, widths: &[usize]) -> usize {
        if self.rows.is_empty() {
            return 0;
        }
        let minipages: usize = self
            .columns
            .iter()
            .zip(&block.columns)
            .zip(widths)
            .map(|((extent, column), width)| extent.bytes(column, *width))
            .sum();
        self.columns.len() * ENTRY + minipages
    }
}

/// Cuts rows into leaves.
#[derive(Debug, Clone)]
pub struct Fit {
    /// Bytes that rows and fences may take in a leaf, the directory included.
    pub bytes: usize,
    pub max_rows: usize,
    /// Bytes of each column's plain ints.
    pub widths: Vec<usize>,
    /// The number of the row layout.
    pub row_layout: u32,
}

impl Fit {
    /// Takes as many rows from `start` on as fit beside `fences` bytes of fences, at least one. `guess`: the number of
    /// rows that probably do.
    pub fn take(&self, block: &RowBlock, start: usize, guess: usize, fences: usize) -> RowExtents {
        let room = self.bytes.saturating_sub(fences);
        let available = (block.rows() - start).min(self.max_rows);
        let mut taken = RowExtents::new(block, start);
        taken.extend(block, 1.min(available));
        let mut step = guess.saturating_sub(1);
        loop {
            let count = taken.rows.len();
            step = step.min(available - count);
            if step == 0 {
                return taken;
            }
            let mut more = taken.clone();
            more.extend(block, step);
            let bytes = more.bytes(block, &self.widths);
            if bytes <= room {
                let per_row = (bytes / more.rows.len()).max(1);
                step = ((room - bytes) / per_row).max(1);
                taken = more;
            } else {
                step /= 2;
            }
        }
    }
}
