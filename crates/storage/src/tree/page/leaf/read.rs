//! Reading leaves: minipages, slots, rows. Nothing here trusts the page: whatever its bytes are, the outcome is values
//! or [`BadPage`].

use super::{
    BadPage, ENTRY, Encoding, FLAG_ALL_NULL, FLAG_NULLS, FLAG_OVERFLOW, Fences, MINIPAGES_END, SLOT_COUNT,
    bitmap_bytes,
    changes::Areas,
    column::{Column, Data, Nulls, Records, Strings, Wanted, are_few},
    decode::le_int,
    max_rows,
    record::RecordLayout,
    rows::RowSelection,
    slot::{RowPlace, Slots},
    visible::rows_at,
};
use crate::{
    page::{PAGE_HEADER, PageHeader, PageType, u16_at, u32_at},
    processor::load_ahead,
    tree::page::{
        block::RowBlock,
        former_layout::{FormerColumn, FormerLayout},
        layout::{Physical, TreeLayout},
    },
};
use arrow_buffer::i256;

/// A leaf page. Its directory is checked when a column is looked at, its slots when rows are.
#[derive(Debug, Clone, Copy)]
pub struct Leaf<'a> {
    page: &'a [u8],
    /// Rows of the base.
    base_rows: usize,
    columns: usize,
    slots: Slots<'a>,
    record: &'a RecordLayout,
    /// The layout of the page, if it is not the newest one.
    former: Option<&'a FormerLayout>,
}

/// The data of a column of 16-byte or 32-byte integers.
fn wide_data<'a>(
    physical: Physical,
    encoding: u8,
    rows: usize,
    take: &mut impl FnMut(usize) -> Result<&'a [u8], BadPage>,
) -> Result<Data<'a>, BadPage> {
    const SHORT: BadPage = BadPage("short constant");
    let is = |wanted: Encoding| encoding == wanted as u8;
    Ok(match physical {
        Physical::Wide256 if is(Encoding::Constant) => {
            Data::Wide256Constant(i256::from_le_bytes(take(32)?.try_into().map_err(|_| SHORT)?))
        }
        Physical::Wide256 if is(Encoding::Plain) => Data::Wide256(take(rows * 32)?),
        Physical::Wide if is(Encoding::Constant) => {
            Data::WideConstant(i128::from_le_bytes(take(16)?.try_into().map_err(|_| SHORT)?))
        }
        Physical::Wide if is(Encoding::Plain) => Data::Wide(take(rows * 16)?),
        _ => return Err(BadPage("unknown encoding")),
    })
}

impl<'a> Leaf<'a> {
    /// The bytes that tell where the columns of a page are, if it is of the newest layout.
    pub fn directory<'b>(page: &'b [u8], layout: &TreeLayout) -> &'b [u8] {
        let end = PAGE_HEADER + layout.columns.len() * ENTRY;
        &page[..end.min(page.len())]
    }

    /// Errors: the page is no leaf of the tree, or of a layout that is not known ([`LATER_LAYOUT`]).
    ///
    /// [`LATER_LAYOUT`]: crate::tree::page::former_layout::LATER_LAYOUT
    pub fn of(page: &'a [u8], layout: &'a TreeLayout) -> Result<Leaf<'a>, BadPage> {
        let header = PageHeader(page);
        if header.page_type() != Some(PageType::Leaf) || header.level() != 0 {
            return Err(BadPage("not a leaf"));
        }
        let former = match header.row_layout() {
            number if number == layout.number => None,
            number => Some(layout.former(number)?),
        };
        let own = former.map_or(layout, |former| &former.layout);
        let (base_rows, columns) = (header.row_count() as usize, own.columns.len());
        // A base without rows has no directory either.
        if base_rows > 0 && (header.column_count() as usize != columns || PAGE_HEADER + columns * ENTRY > page.len()) {
            return Err(BadPage("wrong number of columns"));
        }
        if base_rows > max_rows(page.len()) {
            return Err(BadPage("too many rows"));
        }
        let slots = match u16_at(page, SLOT_COUNT) {
            0 => Slots::of(&[]),
            _ => {
                let areas = Areas::of(page)?;
                Slots::of(&page[areas.slots..areas.slots_end()])
            }
        };
        Ok(Leaf { page, base_rows, columns, slots, record: &own.record, former })
    }

    /// Rows of the leaf, marked ones too: positions are less than that.
    pub fn rows(&self) -> usize {
        if self.slots.is_empty() {
            return self.base_rows;
        }
        self.base_rows.saturating_add_signed(self.slots.shift().into())
    }

    /// Rows of the base.
    pub fn base_rows(&self) -> usize {
        self.base_rows
    }

    /// The layout of the leaf's records.
    pub(super) fn record_layout(&self) -> &'a RecordLayout {
        self.record
    }

    /// The layout of the leaf, if it is not the newest one.
    pub fn former(&self) -> Option<&'a FormerLayout> {
        self.former
    }

    pub fn slots(&self) -> Slots<'a> {
        self.slots
    }

    /// The bytes of the page.
    pub fn page(&self) -> &'a [u8] {
        self.page
    }

    /// The row at a position.
    pub fn row_at(&self, position: usize) -> Result<RowPlace, BadPage> {
        if self.slots.is_empty() && position < self.base_rows {
            return Ok(RowPlace { row: position, slot: None });
        }
        self.slots.row_at(position, self.base_rows)
    }

    /// All rows in the order of their keys, marked ones too.
    pub fn all_rows(&self) -> Result<RowSelection, BadPage> {
        rows_at(self, 0..self.rows(), |_| true)
    }

    /// The bounds of the page's keys.
    pub fn fences(&self) -> Result<Fences<'a>, BadPage> {
        Fences::of(self.page)
    }

    /// The next leaf in key order; [`crate::page::NO_PAGE`] if this is the last one.
    pub fn right(&self) -> u32 {
        PageHeader(self.page).next()
    }

    /// The number of the page.
    pub fn page_no(&self) -> u32 {
        PageHeader(self.page).page_no()
    }

    pub fn max_trx_id(&self) -> u64 {
        PageHeader(self.page).max_trx_id()
    }

    /// Has the processor load a column of which so many rows will be read soon. Few rows lie in few places of a
    /// column, so that most of it would be loaded for nothing.
    pub fn load_ahead(&self, index: usize, wanted: usize) {
        if wanted > 0 && !are_few(wanted, self.base_rows) {
            match self.former.map(|former| former.columns.get(index)) {
                None => load_ahead(self.minipage(index)),
                Some(Some(FormerColumn::Stored(index))) => load_ahead(self.minipage(*index)),
                Some(_) => {}
            }
        }
    }

    /// Bytes of the base.
    pub fn minipage_bytes(&self) -> usize {
        (u32_at(self.page, MINIPAGES_END) as usize).saturating_sub(PAGE_HEADER)
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
    pub fn column_of(&self, index: usize, physical: Physical, rows: &RowSelection) -> Result<Column<'a>, BadPage> {
        let few = are_few(rows.decoded().len(), self.base_rows);
        self.column_for(index, physical, if few { Wanted::Few(rows) } else { Wanted::All })
    }

    /// The same, to be asked for single rows: strings are read by [`Column::checked_bytes`] only.
    pub fn column_by_row(&self, index: usize, physical: Physical) -> Result<Column<'a>, BadPage> {
        self.column_for(index, physical, Wanted::EachChecked)
    }

    fn column_for(&self, index: usize, physical: Physical, wanted: Wanted<'_>) -> Result<Column<'a>, BadPage> {
        match self.former.map(|former| former.columns.get(index)) {
            None => self.stored_column(index, physical, wanted),
            Some(Some(FormerColumn::Stored(index))) => self.stored_column(*index, physical, wanted),
            Some(Some(FormerColumn::Initial(value))) => Ok(Column::initial(physical, value)),
            Some(None) => Err(BadPage("no such column")),
        }
    }

    /// The column at this position of the leaf's own layout.
    fn stored_column(&self, index: usize, physical: Physical, wanted: Wanted<'_>) -> Result<Column<'a>, BadPage> {
        if index >= self.columns {
            return Err(BadPage("no such column"));
        }
        let empty = || Data::none(physical);
        let records = match self.slots.is_empty() {
            true => None,
            false => {
                let place = self.record.column(index).ok_or(BadPage("no such column"))?;
                let (page, slots, layout, base_rows) = (self.page, self.slots, self.record, self.base_rows);
                let records = Records { page, slots, place, layout, base_rows };
                records.check(wanted)?;
                Some(records)
            }
        };
        let base_rows = self.base_rows;
        if base_rows == 0 {
            return Ok(Column { nulls: Nulls::None, overflow: None, data: empty(), base_rows, records });
        }
        let entry = &self.page[PAGE_HEADER + index * ENTRY..][..ENTRY];
        let u16_at = |at: usize| u16::from_le_bytes([entry[at], entry[at + 1]]) as usize;
        let (encoding, flags, width, start, len) = (entry[0], entry[1], u16_at(2), u16_at(4), u16_at(6));
        let base = le_int::<8>(&entry[8..]) as i64;
        if flags & FLAG_ALL_NULL != 0 {
            return Ok(Column { nulls: Nulls::All, overflow: None, data: empty(), base_rows, records });
        }
        let mut rest = self.page.get(start..start + len).ok_or(BadPage("minipage outside of the page"))?;
        let mut take = |bytes: usize| {
            let (taken, left) = rest.split_at_checked(bytes).ok_or(BadPage("minipage too short"))?;
            rest = left;
            Ok::<_, BadPage>(taken)
        };
        let nulls = match flags & FLAG_NULLS {
            0 => Nulls::None,
            _ => Nulls::Bitmap(take(bitmap_bytes(base_rows))?),
        };
        let overflow = match (flags & FLAG_OVERFLOW, physical) {
            (0, _) => None,
            (_, Physical::Bytes { .. }) => Some(take(bitmap_bytes(base_rows))?),
            _ => return Err(BadPage("overflow values in a column of numbers")),
        };
        let rows = base_rows;
        let data = match (physical, encoding) {
            (Physical::Int { .. }, e) if e == Encoding::Constant as u8 => Data::IntConstant(base),
            (Physical::Int { .. }, e) if e == Encoding::Delta as u8 && matches!(width, 1 | 2 | 4) => {
                Data::IntDelta { base, width, data: take(rows * width)? }
            }
            (Physical::Int { width: own, signed }, e) if e == Encoding::Plain as u8 && own == width => {
                Data::IntPlain { width, signed, data: take(rows * width)? }
            }
            (Physical::Wide | Physical::Wide256, e) => wide_data(physical, e, rows, &mut take)?,
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
        Ok(Column { nulls, overflow, data, base_rows, records })
    }

    /// All rows in the order of their keys, taken apart.
    pub fn to_block(&self, layout: &TreeLayout) -> Result<RowBlock, BadPage> {
        self.to_block_of(layout, &self.all_rows()?)
    }

    /// The row with this number, taken apart.
    pub fn to_block_of_row(&self, layout: &TreeLayout, row: usize) -> Result<RowBlock, BadPage> {
        self.to_block_of(layout, &RowSelection::of(vec![row as u16], self.base_rows))
    }

    /// Some rows, taken apart.
    pub fn to_block_of(&self, layout: &TreeLayout, rows: &RowSelection) -> Result<RowBlock, BadPage> {
        let mut block = RowBlock::new(layout);
        for (i, (to, stored)) in block.columns.iter_mut().zip(&layout.columns).enumerate() {
            let column = self.column_of(i, stored.physical, rows)?;
            column.append_to(rows, stored.physical, to);
        }
        Ok(block)
    }
}
