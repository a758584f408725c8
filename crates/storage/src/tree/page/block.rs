//! Rows of a tree in memory, column by column: what leaves are made from and what a changed leaf is taken apart into.

use super::layout::{ColumnSource, Physical, StoredColumn, TreeLayout};
use crate::{
    Result, StorageError,
    key::{KeyRow, cut_bytes, cut_text, int_of},
};
use arrow_array::{Array, ArrayRef, BinaryViewArray, LargeBinaryArray, cast::AsArray, types::*};
use arrow_buffer::i256;
use arrow_schema::{DataType, TimeUnit};
use muster_types::{Decimal, SqlType, Value};
use std::ops::Range;

/// Bytes of an overflow pointer in a leaf.
pub const OVERFLOW_POINTER: usize = 8;

/// Values of one column. NULLs have a place in `values`: 0 or empty.
#[derive(Debug, Clone)]
pub struct ColumnBlock {
    pub values: BlockValues,
    /// Per row whether it has a value; empty while none is NULL.
    pub valid: Vec<bool>,
    /// Per row whether its bytes are an overflow pointer; empty while none is.
    pub overflow: Vec<bool>,
}

#[derive(Debug, Clone)]
pub enum BlockValues {
    Int(Vec<i64>),
    Wide(Vec<i128>),
    Wide256(Vec<i256>),
    /// `ends[i]`: where value i ends in the heap.
    Bytes {
        ends: Vec<u32>,
        heap: Vec<u8>,
    },
}

/// A value as it lies in a page.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Cell<'v> {
    Null,
    Int(i64),
    Wide(i128),
    Wide256(i256),
    Bytes(&'v [u8]),
}

/// A value of a column's type as it lies in a page. Error: `WrongType`.
pub fn cell<'v>(column: &StoredColumn, value: &'v Value) -> Result<Cell<'v>> {
    let wrong = || StorageError::WrongType { value: value.to_string() };
    Ok(match (column.physical, &column.ty, value) {
        (_, _, Value::Null) => Cell::Null,
        (_, SqlType::Decimal { precision, scale }, Value::Decimal(d)) => {
            let d = d.rescale(*scale).filter(|r| r == d && r.fits(*precision)).ok_or_else(wrong)?;
            match column.physical {
                Physical::Wide256 => Cell::Wide256(d.unscaled()),
                Physical::Wide => Cell::Wide(d.narrow().ok_or_else(wrong)?),
                _ => Cell::Int(d.narrow().ok_or_else(wrong)? as i64),
            }
        }
        (_, SqlType::Float, Value::Float(x)) => Cell::Int(x.to_bits() as i64),
        (_, SqlType::Double, Value::Double(x)) => Cell::Int(x.to_bits() as i64),
        (Physical::Int { width, signed }, _, _) => Cell::Int(int_of(value, width, signed).ok_or_else(wrong)?),
        (Physical::Bytes { text: true }, _, Value::Text(s)) => Cell::Bytes(s.as_bytes()),
        (Physical::Bytes { text: false }, SqlType::Json, Value::Json(document)) => Cell::Bytes(document),
        (Physical::Bytes { text: false }, SqlType::Bytes { .. }, Value::Bytes(b)) => Cell::Bytes(b),
        _ => return Err(wrong()),
    })
}

/// A pointer to a value in overflow pages.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct OverflowPointer {
    pub page: u32,
    /// Bytes of the value.
    pub len: u32,
}

impl OverflowPointer {
    pub fn to_bytes(self) -> [u8; OVERFLOW_POINTER] {
        (u64::from(self.page) | u64::from(self.len) << 32).to_le_bytes()
    }

    /// `None` if it is not as long as a pointer.
    pub fn from_bytes(bytes: &[u8]) -> Option<OverflowPointer> {
        let all = u64::from_le_bytes(bytes.try_into().ok()?);
        Some(OverflowPointer { page: all as u32, len: (all >> 32) as u32 })
    }
}

impl ColumnBlock {
    pub fn new(physical: Physical) -> ColumnBlock {
        let values = match physical {
            Physical::Int { .. } => BlockValues::Int(Vec::new()),
            Physical::Wide => BlockValues::Wide(Vec::new()),
            Physical::Wide256 => BlockValues::Wide256(Vec::new()),
            Physical::Bytes { .. } => BlockValues::Bytes { ends: Vec::new(), heap: Vec::new() },
        };
        ColumnBlock { values, valid: Vec::new(), overflow: Vec::new() }
    }

    pub fn len(&self) -> usize {
        match &self.values {
            BlockValues::Int(v) => v.len(),
            BlockValues::Wide(v) => v.len(),
            BlockValues::Wide256(v) => v.len(),
            BlockValues::Bytes { ends, .. } => ends.len(),
        }
    }

    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    #[inline]
    pub fn is_null(&self, row: usize) -> bool {
        !self.valid.is_empty() && !self.valid[row]
    }

    #[inline]
    pub fn is_overflow(&self, row: usize) -> bool {
        !self.overflow.is_empty() && self.overflow[row]
    }

    /// 0 for columns of another class.
    #[inline]
    pub fn int(&self, row: usize) -> i64 {
        match &self.values {
            BlockValues::Int(v) => v[row],
            _ => 0,
        }
    }

    #[inline]
    pub fn wide(&self, row: usize) -> i128 {
        match &self.values {
            BlockValues::Wide(v) => v[row],
            _ => 0,
        }
    }

    #[inline]
    pub fn wide256(&self, row: usize) -> i256 {
        match &self.values {
            BlockValues::Wide256(v) => v[row],
            _ => i256::ZERO,
        }
    }

    #[inline]
    pub fn bytes(&self, row: usize) -> &[u8] {
        match &self.values {
            BlockValues::Bytes { ends, heap } => {
                let start = if row == 0 { 0 } else { ends[row - 1] as usize };
                &heap[start..ends[row] as usize]
            }
            _ => &[],
        }
    }

    pub fn push_int(&mut self, value: i64) {
        if let BlockValues::Int(v) = &mut self.values {
            v.push(value);
            self.note_flags(true, false);
        }
    }

    pub fn push_wide(&mut self, value: i128) {
        if let BlockValues::Wide(v) = &mut self.values {
            v.push(value);
            self.note_flags(true, false);
        }
    }

    pub fn push_wide256(&mut self, value: i256) {
        if let BlockValues::Wide256(v) = &mut self.values {
            v.push(value);
            self.note_flags(true, false);
        }
    }

    pub fn push_bytes(&mut self, value: &[u8], overflow: bool) {
        if let BlockValues::Bytes { ends, heap } = &mut self.values {
            heap.extend_from_slice(value);
            ends.push(heap.len() as u32);
            self.note_flags(true, overflow);
        }
    }

    pub fn push_null(&mut self) {
        match &mut self.values {
            BlockValues::Int(v) => v.push(0),
            BlockValues::Wide(v) => v.push(0),
            BlockValues::Wide256(v) => v.push(i256::ZERO),
            BlockValues::Bytes { ends, heap } => ends.push(heap.len() as u32),
        }
        self.note_flags(false, false);
    }

    /// Keeps the flags in step with a value that was just added.
    fn note_flags(&mut self, valid: bool, overflow: bool) {
        let len = self.len();
        if !valid && self.valid.is_empty() {
            self.valid = vec![true; len - 1];
        }
        if !valid || !self.valid.is_empty() {
            self.valid.push(valid);
        }
        if overflow && self.overflow.is_empty() {
            self.overflow = vec![false; len - 1];
        }
        if overflow || !self.overflow.is_empty() {
            self.overflow.push(overflow);
        }
    }

    /// Appends a row of another block of the same class.
    pub fn push_from(&mut self, from: &ColumnBlock, row: usize) {
        if from.is_null(row) {
            self.push_null();
            return;
        }
        match &from.values {
            BlockValues::Int(v) => self.push_int(v[row]),
            BlockValues::Wide(v) => self.push_wide(v[row]),
            BlockValues::Wide256(v) => self.push_wide256(v[row]),
            BlockValues::Bytes { .. } => self.push_bytes(from.bytes(row), from.is_overflow(row)),
        }
    }

    /// Appends a value of the column's type.
    fn push_value(&mut self, column: &StoredColumn, value: &Value) -> Result<()> {
        match cell(column, value)? {
            Cell::Null => self.push_null(),
            Cell::Int(x) => self.push_int(x),
            Cell::Wide(x) => self.push_wide(x),
            Cell::Wide256(x) => self.push_wide256(x),
            Cell::Bytes(bytes) => self.push_bytes(bytes, false),
        }
        Ok(())
    }

    /// Appends rows of an Arrow array, whose type must be the one of the column.
    pub(in crate::tree) fn append_array(
        &mut self,
        array: &dyn Array,
        rows: Range<usize>,
        prefix: Option<u32>,
    ) -> Result<()> {
        let before = self.len();
        let (start, count) = (rows.start, rows.len());
        macro_rules! ints {
            ($type:ty, $map:expr) => {
                match &mut self.values {
                    BlockValues::Int(v) => v.extend(array.as_primitive::<$type>().values()[rows].iter().map($map)),
                    _ => return Err(wrong_array(array)),
                }
            };
        }
        match array.data_type() {
            DataType::Int8 => ints!(Int8Type, |x| *x as i64),
            DataType::Int16 => ints!(Int16Type, |x| *x as i64),
            DataType::Int32 => ints!(Int32Type, |x| *x as i64),
            DataType::Int64 => ints!(Int64Type, |x| *x),
            DataType::UInt8 => ints!(UInt8Type, |x| *x as i64),
            DataType::UInt16 => ints!(UInt16Type, |x| *x as i64),
            DataType::UInt32 => ints!(UInt32Type, |x| *x as i64),
            DataType::UInt64 => ints!(UInt64Type, |x| *x as i64),
            DataType::Float32 => ints!(Float32Type, |x| x.to_bits() as i64),
            DataType::Float64 => ints!(Float64Type, |x| x.to_bits() as i64),
            DataType::Date32 => ints!(Date32Type, |x| *x as i64),
            DataType::Timestamp(TimeUnit::Microsecond, _) => ints!(TimestampMicrosecondType, |x| *x),
            DataType::Duration(TimeUnit::Microsecond) => ints!(DurationMicrosecondType, |x| *x),
            DataType::Decimal64(..) => ints!(Decimal64Type, |x| *x),
            DataType::Decimal128(..) | DataType::Decimal256(..) => self.append_decimals(array, rows)?,
            DataType::Boolean => match &mut self.values {
                BlockValues::Int(v) => v.extend(rows.map(|i| array.as_boolean().value(i) as i64)),
                _ => return Err(wrong_array(array)),
            },
            DataType::Utf8View => {
                let from = array.as_string_view();
                self.append_bytes(
                    rows.map(|i| if from.is_null(i) { &[] } else { cut_text(from.value(i), prefix).as_bytes() }),
                );
            }
            DataType::BinaryView => self.append_byte_strings(array.as_binary_view(), rows, prefix),
            DataType::LargeBinary => self.append_documents(array.as_binary(), rows),
            _ => return Err(wrong_array(array)),
        }
        if self.len() != before + count {
            return Err(wrong_array(array));
        }
        if !self.overflow.is_empty() {
            self.overflow.resize(before + count, false);
        }
        match array.nulls().filter(|n| n.null_count() > 0) {
            Some(nulls) => {
                if self.valid.is_empty() {
                    self.valid = vec![true; before];
                }
                self.valid.extend((start..start + count).map(|i| nulls.is_valid(i)));
                self.blank_nulls(before);
            }
            None if !self.valid.is_empty() => self.valid.resize(before + count, true),
            None => {}
        }
        Ok(())
    }

    /// Appends decimals beyond 18 digits.
    fn append_decimals(&mut self, array: &dyn Array, rows: Range<usize>) -> Result<()> {
        match (&mut self.values, array.data_type()) {
            (BlockValues::Wide(v), DataType::Decimal128(..)) => {
                v.extend_from_slice(&array.as_primitive::<Decimal128Type>().values()[rows]);
            }
            (BlockValues::Wide256(v), DataType::Decimal256(..)) => {
                v.extend_from_slice(&array.as_primitive::<Decimal256Type>().values()[rows]);
            }
            _ => return Err(wrong_array(array)),
        }
        Ok(())
    }

    fn append_byte_strings(&mut self, array: &BinaryViewArray, rows: Range<usize>, prefix: Option<u32>) {
        let value = |i| if array.is_null(i) { &[][..] } else { cut_bytes(array.value(i), prefix) };
        self.append_bytes(rows.map(value));
    }

    fn append_documents(&mut self, array: &LargeBinaryArray, rows: Range<usize>) {
        self.append_bytes(rows.map(|i| if array.is_null(i) { &[][..] } else { array.value(i) }));
    }

    fn append_bytes<'a>(&mut self, values: impl Iterator<Item = &'a [u8]>) {
        if let BlockValues::Bytes { ends, heap } = &mut self.values {
            for value in values {
                heap.extend_from_slice(value);
                ends.push(heap.len() as u32);
            }
        }
    }

    /// Arrow leaves anything in the place of a NULL; pages have 0.
    fn blank_nulls(&mut self, from: usize) {
        for row in from..self.len() {
            if !self.valid[row] {
                match &mut self.values {
                    BlockValues::Int(v) => v[row] = 0,
                    BlockValues::Wide(v) => v[row] = 0,
                    BlockValues::Wide256(v) => v[row] = i256::ZERO,
                    BlockValues::Bytes { .. } => {}
                }
            }
        }
    }

    /// Appends rows of another block of the same class.
    pub fn append_block(&mut self, from: &ColumnBlock, rows: Range<usize>) {
        let before = self.len();
        match (&mut self.values, &from.values) {
            (BlockValues::Int(to), BlockValues::Int(v)) => to.extend_from_slice(&v[rows.clone()]),
            (BlockValues::Wide(to), BlockValues::Wide(v)) => to.extend_from_slice(&v[rows.clone()]),
            (BlockValues::Wide256(to), BlockValues::Wide256(v)) => to.extend_from_slice(&v[rows.clone()]),
            (BlockValues::Bytes { ends, heap }, BlockValues::Bytes { ends: from_ends, heap: from_heap }) => {
                if !rows.is_empty() {
                    let start = if rows.start == 0 { 0 } else { from_ends[rows.start - 1] };
                    let shift = heap.len() as u32;
                    ends.extend(from_ends[rows.clone()].iter().map(|e| e - start + shift));
                    heap.extend_from_slice(&from_heap[start as usize..from_ends[rows.end - 1] as usize]);
                }
            }
            _ => debug_assert!(false, "blocks of different classes"),
        }
        let len = self.len();
        if !from.valid.is_empty() {
            if self.valid.is_empty() {
                self.valid = vec![true; before];
            }
            self.valid.extend_from_slice(&from.valid[rows.clone()]);
        } else if !self.valid.is_empty() {
            self.valid.resize(len, true);
        }
        if !from.overflow.is_empty() {
            if self.overflow.is_empty() {
                self.overflow = vec![false; before];
            }
            self.overflow.extend_from_slice(&from.overflow[rows]);
        } else if !self.overflow.is_empty() {
            self.overflow.resize(len, false);
        }
    }

    /// Drops the first `count` rows.
    fn drain(&mut self, count: usize) {
        match &mut self.values {
            BlockValues::Int(v) => drop(v.drain(..count)),
            BlockValues::Wide(v) => drop(v.drain(..count)),
            BlockValues::Wide256(v) => drop(v.drain(..count)),
            BlockValues::Bytes { ends, heap } => {
                if count > 0 {
                    let cut = ends[count - 1];
                    ends.drain(..count);
                    ends.iter_mut().for_each(|e| *e -= cut);
                    heap.drain(..cut as usize);
                }
            }
        }
        for flags in [&mut self.valid, &mut self.overflow] {
            flags.drain(..count.min(flags.len()));
        }
    }

    /// The value of a row as the column's type has it; bytes of overflow values are given by the caller.
    pub fn value(&self, row: usize, ty: &SqlType, overflow: Option<Vec<u8>>) -> Value {
        if self.is_null(row) {
            return Value::Null;
        }
        if let SqlType::Unsigned(number) = ty {
            return self.value(row, &number.plain(), overflow);
        }
        let bytes = || overflow.unwrap_or_else(|| self.bytes(row).to_vec());
        match *ty {
            SqlType::Null | SqlType::Unsigned(_) => Value::Null,
            SqlType::Bool => Value::Bool(self.int(row) != 0),
            SqlType::Int { unsigned: false, .. } => Value::Int(self.int(row)),
            SqlType::Int { unsigned: true, .. }
            | SqlType::Enum(_)
            | SqlType::Set(_)
            | SqlType::Year
            | SqlType::Bit { .. } => Value::UInt(self.int(row) as u64),
            SqlType::Decimal { scale, .. } => match &self.values {
                BlockValues::Wide(v) => Value::Decimal(Decimal::new(v[row], scale)),
                BlockValues::Wide256(v) => Value::Decimal(Decimal::wide(v[row], scale)),
                _ => Value::Decimal(Decimal::new(self.int(row) as i128, scale)),
            },
            SqlType::Float => Value::Float(f32::from_bits(self.int(row) as u32)),
            SqlType::Double => Value::Double(f64::from_bits(self.int(row) as u64)),
            SqlType::Date => Value::Date(self.int(row) as i32),
            SqlType::DateTime { .. } | SqlType::Timestamp { .. } => Value::DateTime(self.int(row)),
            SqlType::Time { .. } => Value::Time(self.int(row)),
            SqlType::Text { .. } => Value::Text(String::from_utf8_lossy(&bytes()).into_owned()),
            SqlType::Bytes { .. } => Value::Bytes(bytes()),
            SqlType::Json => Value::Json(bytes()),
        }
    }
}

fn wrong_array(array: &dyn Array) -> StorageError {
    StorageError::WrongType { value: format!("an array of {}", array.data_type()) }
}

/// Rows of one tree: its stored columns.
#[derive(Debug, Clone)]
pub struct RowBlock {
    pub columns: Vec<ColumnBlock>,
}

impl RowBlock {
    pub fn new(layout: &TreeLayout) -> RowBlock {
        RowBlock { columns: layout.columns.iter().map(|c| ColumnBlock::new(c.physical)).collect() }
    }

    pub fn rows(&self) -> usize {
        self.columns.last().map_or(0, ColumnBlock::len)
    }

    /// Appends rows from Arrow arrays of the stored columns. Values are cut to the prefix of
    /// prefix columns.
    pub fn append_arrays(&mut self, layout: &TreeLayout, arrays: &[ArrayRef], rows: Range<usize>) -> Result<()> {
        let stored = self.columns.len();
        if arrays.len() != stored {
            let value = format!("{} arrays for {stored} columns", arrays.len());
            return Err(StorageError::WrongType { value });
        }
        for ((column, array), spec) in self.columns.iter_mut().zip(arrays).zip(&layout.columns) {
            let prefix = match spec.source {
                ColumnSource::Table { prefix, .. } => prefix,
                ColumnSource::RowNumber => None,
            };
            column.append_array(array.as_ref(), rows.clone(), prefix)?;
        }
        Ok(())
    }

    /// Appends a row of the stored columns' values.
    pub fn push_values(&mut self, layout: &TreeLayout, values: &[Value]) -> Result<()> {
        for (i, (column, value)) in layout.columns.iter().zip(values).enumerate() {
            self.columns[i].push_value(column, value)?;
        }
        Ok(())
    }

    pub fn append_block(&mut self, from: &RowBlock, rows: Range<usize>) {
        for (to, from) in self.columns.iter_mut().zip(&from.columns) {
            to.append_block(from, rows.clone());
        }
    }

    /// Drops the first `count` rows.
    pub fn drain(&mut self, count: usize) {
        self.columns.iter_mut().for_each(|c| c.drain(count));
    }

    /// Returns the rows of the block with those in `replaced` taken out and `with`'s put in their place.
    pub fn splice(&self, layout: &TreeLayout, replaced: Range<usize>, with: &RowBlock) -> RowBlock {
        let mut spliced = RowBlock::new(layout);
        spliced.append_block(self, 0..replaced.start);
        spliced.append_block(with, 0..with.rows());
        spliced.append_block(self, replaced.end..self.rows());
        spliced
    }

    pub fn row(&self, row: usize) -> BlockRow<'_> {
        BlockRow { block: self, row }
    }
}

/// A row of a block, for making its key.
#[derive(Clone, Copy)]
pub struct BlockRow<'a> {
    block: &'a RowBlock,
    row: usize,
}

impl KeyRow for BlockRow<'_> {
    fn is_null(&self, column: usize) -> bool {
        self.block.columns[column].is_null(self.row)
    }
    fn int(&self, column: usize) -> i64 {
        self.block.columns[column].int(self.row)
    }
    fn wide(&self, column: usize) -> i128 {
        self.block.columns[column].wide(self.row)
    }
    fn wide256(&self, column: usize) -> i256 {
        self.block.columns[column].wide256(self.row)
    }
    fn bytes(&self, column: usize) -> &[u8] {
        self.block.columns[column].bytes(self.row)
    }
}

/// A table row's value as a stored column with this prefix holds it.
pub fn cut_value(value: &Value, prefix: Option<u32>) -> Value {
    match value {
        Value::Text(s) => Value::Text(cut_text(s, prefix).to_string()),
        Value::Bytes(b) => Value::Bytes(cut_bytes(b, prefix).to_vec()),
        other => other.clone(),
    }
}
