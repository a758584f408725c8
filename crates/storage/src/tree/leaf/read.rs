//! Reading leaves: minipages, single values, keys and search. Nothing here trusts the page: whatever its bytes are, the
//! outcome is values or [`BadPage`].

use super::{
    BadPage, ENTRY, Encoding, FLAG_ALL_NULL, FLAG_NULLS, FLAG_OVERFLOW, Fences, bitmap_bytes, decode::le_int, max_rows,
    visible::Rows,
};
use crate::{
    key::{KeyCodec, KeyRow},
    page::{PAGE_HEADER, PageHeader, PageType},
    processor::load_ahead,
    tree::{
        block::{ColumnBlock, RowBlock},
        layout::{Physical, TreeLayout},
    },
};

/// A leaf page. Its directory is checked when a column is looked at.
#[derive(Debug, Clone, Copy)]
pub struct Leaf<'a> {
    page: &'a [u8],
    rows: usize,
    columns: usize,
}

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

/// The rows that a column is looked at for.
#[derive(Debug, Clone, Copy)]
enum Wanted<'a> {
    All,
    /// So few rows that only these are checked.
    Few(&'a Rows),
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
    fn new(data: &'a [u8], count: usize, wanted: Wanted<'_>) -> Result<Strings<'a>, BadPage> {
        let (offsets, heap) = data.split_at_checked(2 * (count + 1)).ok_or(BadPage("strings without offsets"))?;
        let strings = Strings { offsets, heap };
        if matches!(wanted, Wanted::EachChecked) {
            return Ok(strings);
        }
        if let Wanted::Few(rows) = wanted {
            return match rows.iter().all(|row| {
                let (start, end) = (strings.offset(row), strings.offset(row + 1));
                start <= end && end <= heap.len()
            }) {
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

impl<'a> Leaf<'a> {
    /// The bytes that tell where the columns of a page are.
    pub fn directory<'b>(page: &'b [u8], layout: &TreeLayout) -> &'b [u8] {
        let end = PAGE_HEADER + layout.columns.len() * ENTRY;
        &page[..end.min(page.len())]
    }

    pub fn new(page: &'a [u8], columns: usize) -> Result<Leaf<'a>, BadPage> {
        let header = PageHeader(page);
        if header.page_type() != Some(PageType::Leaf) || header.level() != 0 {
            return Err(BadPage("not a leaf"));
        }
        let rows = header.row_count() as usize;
        if rows == 0 {
            // A new table's only leaf has no directory either.
            return Ok(Leaf { page, rows, columns });
        }
        if header.column_count() as usize != columns || PAGE_HEADER + columns * ENTRY > page.len() {
            return Err(BadPage("wrong number of columns"));
        }
        if rows > max_rows(page.len()) {
            return Err(BadPage("too many rows"));
        }
        Ok(Leaf { page, rows, columns })
    }

    pub fn of(page: &'a [u8], layout: &TreeLayout) -> Result<Leaf<'a>, BadPage> {
        Leaf::new(page, layout.columns.len())
    }

    pub fn rows(&self) -> usize {
        self.rows
    }

    /// The bounds of the page's keys.
    pub fn fences(&self) -> Result<Fences<'a>, BadPage> {
        Fences::of(self.page)
    }

    /// The next leaf in key order; [`crate::page::NO_PAGE`] if this is the last one.
    pub fn right(&self) -> u32 {
        PageHeader(self.page).next()
    }

    pub fn max_trx_id(&self) -> u64 {
        PageHeader(self.page).max_trx_id()
    }

    /// Has the processor load a column of which so many rows will be read soon. Few rows lie in few places of a
    /// column, so that most of it would be loaded for nothing.
    pub fn load_ahead(&self, index: usize, wanted: usize) {
        if wanted > 0 && !are_few(wanted, self.rows) {
            load_ahead(self.minipage(index));
        }
    }

    /// The bytes of a column's minipage, as the directory says; nothing of them is checked.
    fn minipage(&self, index: usize) -> &'a [u8] {
        let entry = PAGE_HEADER + index.min(self.columns) * ENTRY;
        let Some(entry) = self.page.get(entry..entry + ENTRY) else { return &[] };
        let (start, len) = (le_int::<2>(&entry[4..]) as usize, le_int::<2>(&entry[6..]) as usize);
        self.page.get(start..start + len).unwrap_or(&[])
    }

    /// Column `index`, which has this class.
    pub fn column(&self, index: usize, physical: Physical) -> Result<Column<'a>, BadPage> {
        self.column_for(index, physical, Wanted::All)
    }

    /// Returns a column that will be asked for these rows only.
    pub fn column_of(&self, index: usize, physical: Physical, rows: &Rows) -> Result<Column<'a>, BadPage> {
        let few = are_few(rows.len(), self.rows);
        self.column_for(index, physical, if few { Wanted::Few(rows) } else { Wanted::All })
    }

    /// The same, to be asked for single rows: strings are read by [`Column::checked_bytes`] only.
    pub fn column_by_row(&self, index: usize, physical: Physical) -> Result<Column<'a>, BadPage> {
        self.column_for(index, physical, Wanted::EachChecked)
    }

    fn column_for(&self, index: usize, physical: Physical, wanted: Wanted<'_>) -> Result<Column<'a>, BadPage> {
        if index >= self.columns {
            return Err(BadPage("no such column"));
        }
        let empty = || match physical {
            Physical::Int { .. } => Data::IntConstant(0),
            Physical::Wide => Data::WideConstant(0),
            Physical::Bytes { .. } => Data::BytesConstant(&[]),
        };
        if self.rows == 0 {
            return Ok(Column { nulls: Nulls::None, overflow: None, data: empty() });
        }
        let entry = &self.page[PAGE_HEADER + index * ENTRY..][..ENTRY];
        let u16_at = |at: usize| u16::from_le_bytes([entry[at], entry[at + 1]]) as usize;
        let (encoding, flags, width, start, len) = (entry[0], entry[1], u16_at(2), u16_at(4), u16_at(6));
        let base = le_int::<8>(&entry[8..]) as i64;
        if flags & FLAG_ALL_NULL != 0 {
            return Ok(Column { nulls: Nulls::All, overflow: None, data: empty() });
        }
        let mut rest = self.page.get(start..start + len).ok_or(BadPage("minipage outside of the page"))?;
        let mut take = |bytes: usize| {
            let (taken, left) = rest.split_at_checked(bytes).ok_or(BadPage("minipage too short"))?;
            rest = left;
            Ok::<_, BadPage>(taken)
        };
        let nulls = match flags & FLAG_NULLS {
            0 => Nulls::None,
            _ => Nulls::Bitmap(take(bitmap_bytes(self.rows))?),
        };
        let overflow = match (flags & FLAG_OVERFLOW, physical) {
            (0, _) => None,
            (_, Physical::Bytes { .. }) => Some(take(bitmap_bytes(self.rows))?),
            _ => return Err(BadPage("overflow values in a column of numbers")),
        };
        let rows = self.rows;
        let data = match (physical, encoding) {
            (Physical::Int { .. }, e) if e == Encoding::Constant as u8 => Data::IntConstant(base),
            (Physical::Int { .. }, e) if e == Encoding::Delta as u8 && matches!(width, 1 | 2 | 4) => {
                Data::IntDelta { base, width, data: take(rows * width)? }
            }
            (Physical::Int { width: own, signed }, e) if e == Encoding::Plain as u8 && own == width => {
                Data::IntPlain { width, signed, data: take(rows * width)? }
            }
            (Physical::Wide, e) if e == Encoding::Constant as u8 => {
                Data::WideConstant(i128::from_le_bytes(take(16)?.try_into().map_err(|_| BadPage("short constant"))?))
            }
            (Physical::Wide, e) if e == Encoding::Plain as u8 => Data::Wide(take(rows * 16)?),
            (Physical::Bytes { .. }, e) if e == Encoding::Constant as u8 && overflow.is_none() => {
                Data::BytesConstant(rest)
            }
            (Physical::Bytes { .. }, e) if e == Encoding::Fixed as u8 => {
                Data::BytesFixed { width, data: take(rows * width)? }
            }
            (Physical::Bytes { .. }, e) if e == Encoding::Plain as u8 => Data::Bytes(Strings::new(rest, rows, wanted)?),
            (Physical::Bytes { .. }, e) if e == Encoding::Dictionary as u8 => {
                let codes = take(rows)?;
                let count = usize::try_from(base).ok().filter(|n| *n <= 256).unwrap_or(0);
                let each_checked = matches!(wanted, Wanted::EachChecked);
                let entries = Strings::new(rest, count, if each_checked { wanted } else { Wanted::All })?;
                if !each_checked && codes.iter().any(|code| *code as usize >= entries.len()) {
                    return Err(BadPage("code without an entry"));
                }
                Data::Dictionary { codes, entries }
            }
            _ => return Err(BadPage("unknown encoding")),
        };
        Ok(Column { nulls, overflow, data })
    }

    /// All rows, taken apart.
    pub fn to_block(&self, layout: &TreeLayout) -> Result<RowBlock, BadPage> {
        self.to_block_of(layout, &Rows::Range(0..self.rows))
    }

    /// Some rows, taken apart.
    pub fn to_block_of(&self, layout: &TreeLayout, rows: &Rows) -> Result<RowBlock, BadPage> {
        let mut block = RowBlock::new(layout);
        for (i, (to, stored)) in block.columns.iter_mut().zip(&layout.columns).enumerate() {
            let column = self.column(i, stored.physical)?;
            for row in rows.iter() {
                column.push_to(row, stored.physical, to);
            }
        }
        Ok(block)
    }

    /// Columns that a key is made from, ready for one row after the other.
    pub fn key_rows(&self, layout: &TreeLayout, codec: &KeyCodec) -> Result<KeyRows<'a>, BadPage> {
        // Keys mostly begin a row, so this is short.
        let count = codec.parts.iter().map(|part| part.column + 1).max().unwrap_or(0);
        let mut columns = vec![None; count];
        for part in &codec.parts {
            if columns[part.column].is_none() {
                let column = self.column(part.column, layout.columns[part.column].physical)?;
                if column.overflow.is_some() {
                    return Err(BadPage("overflow values in a key"));
                }
                columns[part.column] = Some(column);
            }
        }
        Ok(KeyRows { columns, rows: self.rows })
    }

    /// The first row whose key is not less than `key`; the number of rows if there is none.
    pub fn lower_bound(&self, layout: &TreeLayout, key: &[u8]) -> Result<usize, BadPage> {
        if key.is_empty() {
            return Ok(0);
        }
        let rows = self.key_rows(layout, &layout.key)?;
        Ok(rows.lower_bound(&layout.key, key, 0, &mut Vec::new()))
    }

    /// The key of a row.
    pub fn key(&self, layout: &TreeLayout, row: usize) -> Result<Vec<u8>, BadPage> {
        let mut key = Vec::new();
        if row >= self.rows {
            return Err(BadPage("no such row"));
        }
        layout.key.append_row(&self.key_rows(layout, &layout.key)?.row(row), &mut key);
        Ok(key)
    }
}

impl<'a> Column<'a> {
    /// 0 for columns of another class.
    #[inline]
    pub fn int(&self, row: usize) -> i64 {
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
    pub fn bytes(&self, row: usize) -> &'a [u8] {
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
        match self.data {
            Data::Bytes(strings) => strings.checked(row),
            Data::Dictionary { codes, entries } => entries.checked(codes[row] as usize),
            _ => Ok(self.bytes(row)),
        }
    }

    pub fn is_overflow(&self, row: usize) -> bool {
        self.overflow.is_some_and(|bits| bits[row / 8] >> (row % 8) & 1 == 1)
    }

    fn push_to(&self, row: usize, physical: Physical, to: &mut ColumnBlock) {
        if self.nulls.is_null(row) {
            return to.push_null();
        }
        match physical {
            Physical::Int { .. } => to.push_int(self.int(row)),
            Physical::Wide => to.push_wide(self.wide(row)),
            Physical::Bytes { .. } => to.push_bytes(self.bytes(row), self.is_overflow(row)),
        }
    }
}

/// The columns of a leaf that keys are made from.
#[derive(Debug)]
pub struct KeyRows<'a> {
    columns: Vec<Option<Column<'a>>>,
    rows: usize,
}

impl KeyRows<'_> {
    pub fn row(&self, row: usize) -> LeafRow<'_> {
        LeafRow { columns: &self.columns, row }
    }

    /// The first row from `from` on whose key is not less than `key`.
    pub fn lower_bound(&self, codec: &KeyCodec, key: &[u8], from: usize, scratch: &mut Vec<u8>) -> usize {
        let (mut low, mut high) = (from, self.rows);
        while low < high {
            let middle = low.midpoint(high);
            scratch.clear();
            codec.append_row(&self.row(middle), scratch);
            if scratch.as_slice() < key { low = middle + 1 } else { high = middle }
        }
        low
    }
}

/// A row of a leaf, for making its key.
#[derive(Debug, Clone, Copy)]
pub struct LeafRow<'a> {
    columns: &'a [Option<Column<'a>>],
    row: usize,
}

impl KeyRow for LeafRow<'_> {
    #[inline]
    fn is_null(&self, column: usize) -> bool {
        self.columns[column].is_some_and(|c| c.nulls.is_null(self.row))
    }
    #[inline]
    fn int(&self, column: usize) -> i64 {
        self.columns[column].map_or(0, |c| c.int(self.row))
    }
    #[inline]
    fn wide(&self, column: usize) -> i128 {
        self.columns[column].map_or(0, |c| c.wide(self.row))
    }
    #[inline]
    fn bytes(&self, column: usize) -> &[u8] {
        self.columns[column].map_or(&[], |c| c.bytes(self.row))
    }
}
