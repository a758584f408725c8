//! One column of a leaf: its minipage, and its values in records.

use super::{
    BadPage,
    decode::le_int,
    patch::{self, PatchedValue},
    record::{RecordColumn, RecordLayout, record_at},
    rows::RowSelection,
    slot::Slots,
};
use crate::tree::page::{
    block::{BlockValues, ColumnBlock},
    former_layout::InitialValue,
    layout::Physical,
};
use arrow_buffer::i256;

/// NULLs of a minipage.
#[derive(Debug, Clone, Copy)]
pub enum Nulls<'a> {
    None,
    All,
    /// Bit set: the row has a value.
    Bitmap(&'a [u8]),
}

impl Nulls<'_> {
    #[inline]
    pub fn is_null(&self, row: usize) -> bool {
        match self {
            Nulls::None => false,
            Nulls::All => true,
            Nulls::Bitmap(bits) => bits[row / 8] >> (row % 8) & 1 == 0,
        }
    }
}

/// A column of a leaf. All slices have the length that the number of rows asks for.
#[derive(Debug, Clone, Copy)]
pub struct Column<'a> {
    pub nulls: Nulls<'a>,
    /// Bit set: the row's bytes are an overflow pointer.
    pub overflow: Option<&'a [u8]>,
    pub data: Data<'a>,
    /// Rows of the base.
    pub(super) base_rows: usize,
    /// The values of rows behind those of the base; `None` if the leaf has no slots.
    pub(super) records: Option<Records<'a>>,
}

/// The records of a leaf, for one column.
#[derive(Debug, Clone, Copy)]
pub(super) struct Records<'a> {
    pub page: &'a [u8],
    pub slots: Slots<'a>,
    pub place: RecordColumn,
    pub layout: &'a RecordLayout,
    /// Rows of the base.
    pub base_rows: usize,
}

/// The value of a row that has a number behind those of the base.
#[derive(Debug, Clone, Copy)]
enum Outside<'a> {
    Record(RecordColumn, &'a [u8]),
    Patch(PatchedValue<'a>),
    /// It is that of this row of the base.
    Base(usize),
}

impl<'a> Records<'a> {
    /// The record of a slot; empty if it lies outside of the page.
    #[inline]
    fn get(&self, slot: usize) -> &'a [u8] {
        record_at(self.page, self.slots.record(slot)).unwrap_or(&[])
    }

    /// The value of a slot's row. What is no record, or no patch of a row of the base, is taken for an empty record.
    #[inline]
    fn value(&self, slot: usize) -> Outside<'a> {
        let Some(row) = self.slots.patched(slot) else { return Outside::Record(self.place, self.get(slot)) };
        match patch::value(self.layout, self.get(slot), self.place) {
            Ok(Some(value)) => Outside::Patch(value),
            Ok(None) if row < self.base_rows => Outside::Base(row),
            _ => Outside::Record(self.place, &[]),
        }
    }

    /// Checks the record or patch of a slot.
    fn check_row(&self, slot: usize) -> Result<(), BadPage> {
        let record = record_at(self.page, self.slots.record(slot))?;
        match self.slots.patched(slot) {
            None => self.place.check(record),
            Some(row) if row < self.base_rows => patch::value(self.layout, record, self.place).map(drop),
            Some(_) => Err(BadPage("patch of no row")),
        }
    }

    /// Checks the records of all rows, or of those that are wanted.
    pub fn check(&self, wanted: Wanted<'_>) -> Result<(), BadPage> {
        let check = |slot: usize| self.check_row(slot);
        match wanted {
            Wanted::EachChecked => Ok(()),
            Wanted::Few(rows) => rows.iter().filter_map(|row| row.checked_sub(self.base_rows)).try_for_each(check),
            Wanted::All => self.slots.with_records().try_for_each(check),
        }
    }
}

#[derive(Debug, Clone, Copy)]
pub enum Data<'a> {
    /// All rows are the same int.
    IntConstant(i64),
    /// `base` plus an unsigned number of `width` bytes.
    IntDelta {
        base: i64,
        width: usize,
        data: &'a [u8],
    },
    IntPlain {
        width: usize,
        signed: bool,
        data: &'a [u8],
    },
    WideConstant(i128),
    Wide(&'a [u8]),
    Wide256Constant(i256),
    Wide256(&'a [u8]),
    BytesConstant(&'a [u8]),
    /// All rows have `width` bytes.
    BytesFixed {
        width: usize,
        data: &'a [u8],
    },
    Bytes(Strings<'a>),
    /// One code per row, below the number of entries.
    Dictionary {
        codes: &'a [u8],
        entries: Strings<'a>,
    },
}

impl Data<'_> {
    /// The data of a column without a value.
    pub(super) fn none(physical: Physical) -> Self {
        match physical {
            Physical::Int { .. } => Data::IntConstant(0),
            Physical::Wide => Data::WideConstant(0),
            Physical::Wide256 => Data::Wide256Constant(i256::ZERO),
            Physical::Bytes { .. } => Data::BytesConstant(&[]),
        }
    }
}

/// The rows that a column is looked at for.
#[derive(Debug, Clone, Copy)]
pub(super) enum Wanted<'a> {
    All,
    /// So few rows that only these are checked.
    Few(&'a RowSelection),
    /// Each access is checked by itself: [`Column::checked_bytes`].
    EachChecked,
}

/// A column is checked for the rows wanted only, if they are no more than one in so many.
const FEW_ONE_IN: usize = 8;

/// Returns true if so few of a leaf's rows are wanted that it is better to look at each than at all.
pub fn are_few(wanted: usize, rows: usize) -> bool {
    wanted * FEW_ONE_IN <= rows
}

/// Strings behind each other: offsets (u16, ascending, within the heap), and the heap.
#[derive(Debug, Clone, Copy)]
pub struct Strings<'a> {
    offsets: &'a [u8],
    pub heap: &'a [u8],
}

impl<'a> Strings<'a> {
    /// `data` begins with `count + 1` offsets.
    pub(super) fn new(data: &'a [u8], count: usize, wanted: Wanted<'_>) -> Result<Strings<'a>, BadPage> {
        let (offsets, heap) = data.split_at_checked(2 * (count + 1)).ok_or(BadPage("strings without offsets"))?;
        let strings = Strings { offsets, heap };
        if matches!(wanted, Wanted::EachChecked) {
            return Ok(strings);
        }
        if let Wanted::Few(rows) = wanted {
            let right = |row: usize| {
                let (start, end) = (strings.offset(row), strings.offset(row + 1));
                start <= end && end <= heap.len()
            };
            return match rows.decoded().iter().all(right) {
                true => Ok(strings),
                false => Err(BadPage("offsets of strings out of order")),
            };
        }
        let mut last = 0;
        let mut ascending = true;
        for i in 0..=count {
            let offset = strings.offset(i);
            ascending &= last <= offset;
            last = offset;
        }
        if !ascending || last > heap.len() || strings.offset(0) != 0 {
            return Err(BadPage("offsets of strings out of order"));
        }
        Ok(strings)
    }

    pub fn len(&self) -> usize {
        self.offsets.len() / 2 - 1
    }

    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    #[inline]
    pub fn offset(&self, i: usize) -> usize {
        u16::from_le_bytes([self.offsets[2 * i], self.offsets[2 * i + 1]]) as usize
    }

    #[inline]
    pub fn get(&self, i: usize) -> &'a [u8] {
        &self.heap[self.offset(i)..self.offset(i + 1)]
    }

    /// The same, of strings whose offsets have not been checked.
    fn checked(&self, i: usize) -> Result<&'a [u8], BadPage> {
        if i >= self.len() {
            return Err(BadPage("code without an entry"));
        }
        self.heap.get(self.offset(i)..self.offset(i + 1)).ok_or(BadPage("offsets of strings out of order"))
    }

    /// Offsets as pairs of bytes.
    pub fn offsets(&self) -> &'a [u8] {
        self.offsets
    }
}

impl<'a> Column<'a> {
    /// A column that all rows of the leaf, those in records too, have the same value of, for the leaf is of a layout
    /// without it.
    pub(super) fn initial(physical: Physical, value: &'a InitialValue) -> Column<'a> {
        let (mut nulls, mut data) = (Nulls::None, Data::none(physical));
        match value {
            InitialValue::Null => nulls = Nulls::All,
            InitialValue::Int(x) => data = Data::IntConstant(*x),
            InitialValue::Wide(x) => data = Data::WideConstant(*x),
            InitialValue::Wide256(x) => data = Data::Wide256Constant(*x),
            InitialValue::Bytes(bytes) => data = Data::BytesConstant(bytes),
        }
        Column { nulls, overflow: None, data, base_rows: usize::MAX, records: None }
    }

    /// Where the value of a row lies.
    #[inline]
    fn place(&self, row: usize) -> Outside<'a> {
        match self.records {
            Some(records) if row >= self.base_rows => records.value(row - self.base_rows),
            _ => Outside::Base(row),
        }
    }

    /// Returns true if a row that has a number behind those of the base has the value of the row of the base that it
    /// stands for.
    pub(super) fn is_of_base(&self, row: usize) -> bool {
        matches!(self.place(row), Outside::Base(_))
    }

    /// Checks the record that a row lies in, if it does, of a column from [`super::Leaf::column_by_row`].
    #[inline]
    pub fn check_row(&self, row: usize) -> Result<(), BadPage> {
        match self.records {
            Some(records) if row >= self.base_rows => records.check_row(row - self.base_rows),
            _ => Ok(()),
        }
    }

    #[inline]
    pub fn is_null(&self, row: usize) -> bool {
        match self.place(row) {
            Outside::Base(row) => self.nulls.is_null(row),
            Outside::Record(place, record) => place.is_null(record),
            Outside::Patch(value) => value.is_null,
        }
    }

    /// 0 for columns of another class.
    #[inline]
    pub fn int(&self, row: usize) -> i64 {
        let row = match self.place(row) {
            Outside::Base(row) => row,
            Outside::Record(place, record) => return place.int(record),
            Outside::Patch(value) => return value.int(),
        };
        match self.data {
            Data::IntConstant(x) => x,
            Data::IntDelta { base, width, data } => base.wrapping_add(match width {
                1 => data[row] as i64,
                2 => le_int::<2>(&data[2 * row..]) as i64,
                _ => le_int::<4>(&data[4 * row..]) as i64,
            }),
            Data::IntPlain { width, signed, data } => match (width, signed) {
                (1, true) => data[row] as i8 as i64,
                (1, false) => data[row] as i64,
                (2, true) => le_int::<2>(&data[2 * row..]) as i16 as i64,
                (2, false) => le_int::<2>(&data[2 * row..]) as i64,
                (4, true) => le_int::<4>(&data[4 * row..]) as i32 as i64,
                (4, false) => le_int::<4>(&data[4 * row..]) as i64,
                _ => le_int::<8>(&data[8 * row..]) as i64,
            },
            _ => 0,
        }
    }

    #[inline]
    pub fn wide(&self, row: usize) -> i128 {
        let row = match self.place(row) {
            Outside::Base(row) => row,
            Outside::Record(place, record) => return place.wide(record),
            Outside::Patch(value) => return value.wide(),
        };
        match self.data {
            Data::WideConstant(x) => x,
            Data::Wide(data) => {
                let low = le_int::<8>(&data[16 * row..]) as u128;
                let high = le_int::<8>(&data[16 * row + 8..]) as u128;
                (low | high << 64) as i128
            }
            _ => 0,
        }
    }

    #[inline]
    pub fn wide256(&self, row: usize) -> i256 {
        let row = match self.place(row) {
            Outside::Base(row) => row,
            Outside::Record(place, record) => return place.wide256(record),
            Outside::Patch(value) => return value.wide256(),
        };
        match self.data {
            Data::Wide256Constant(x) => x,
            Data::Wide256(data) => {
                data[32 * row..].first_chunk().map_or(i256::ZERO, |bytes| i256::from_le_bytes(*bytes))
            }
            _ => i256::ZERO,
        }
    }

    #[inline]
    pub fn bytes(&self, row: usize) -> &'a [u8] {
        if row >= self.base_rows {
            // A row of the base that a patch leads to may not have been checked.
            return self.checked_bytes(row).unwrap_or(&[]);
        }
        match self.data {
            Data::BytesConstant(value) => value,
            Data::BytesFixed { width, data } => &data[row * width..][..width],
            Data::Bytes(strings) => strings.get(row),
            Data::Dictionary { codes, entries } => entries.get(codes[row] as usize),
            _ => &[],
        }
    }

    /// As [`Column::bytes`], of a column from [`Leaf::column_by_row`].
    #[inline]
    pub fn checked_bytes(&self, row: usize) -> Result<&'a [u8], BadPage> {
        let row = match self.place(row) {
            Outside::Base(row) => row,
            Outside::Record(place, record) => return place.checked_bytes(record),
            Outside::Patch(value) => return Ok(value.bytes),
        };
        match self.data {
            Data::Bytes(strings) => strings.checked(row),
            Data::Dictionary { codes, entries } => entries.checked(codes[row] as usize),
            _ if row >= self.base_rows => Err(BadPage("no such row")),
            _ => Ok(self.bytes(row)),
        }
    }

    pub fn is_overflow(&self, row: usize) -> bool {
        match self.place(row) {
            Outside::Base(row) => self.overflow.is_some_and(|bits| bits[row / 8] >> (row % 8) & 1 == 1),
            Outside::Record(place, record) => place.is_overflow(record),
            Outside::Patch(value) => value.is_overflow,
        }
    }

    /// Appends the values of rows to a block's column.
    pub(super) fn append_to(&self, rows: &RowSelection, physical: Physical, to: &mut ColumnBlock) {
        let none_is_null = !rows.iter().any(|row| self.is_null(row));
        let mut in_records = rows.iter().filter(|row| *row >= self.base_rows);
        let none_is_long = self.overflow.is_none() && !in_records.any(|row| self.is_overflow(row));
        match (&mut to.values, physical) {
            (BlockValues::Int(values), Physical::Int { .. }) if none_is_null && to.valid.is_empty() => {
                values.extend(rows.iter().map(|row| self.int(row)));
            }
            (BlockValues::Bytes { ends, heap }, Physical::Bytes { .. })
                if none_is_null && none_is_long && to.valid.is_empty() && to.overflow.is_empty() =>
            {
                for row in rows.iter() {
                    heap.extend_from_slice(self.bytes(row));
                    ends.push(heap.len() as u32);
                }
            }
            _ => rows.iter().for_each(|row| self.push_to(row, physical, to)),
        }
    }

    fn push_to(&self, row: usize, physical: Physical, to: &mut ColumnBlock) {
        if self.is_null(row) {
            return to.push_null();
        }
        match physical {
            Physical::Int { .. } => to.push_int(self.int(row)),
            Physical::Wide => to.push_wide(self.wide(row)),
            Physical::Wide256 => to.push_wide256(self.wide256(row)),
            Physical::Bytes { .. } => to.push_bytes(self.bytes(row), self.is_overflow(row)),
        }
    }
}
