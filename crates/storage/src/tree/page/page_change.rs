//! The change of one page: made by writers, told to the log, and made again from there. Drawn in `docs/format.md`,
//! "Records".
//!
//! Writers and redo call the same function, [`PageChange::apply`], on the same bytes. So a page that redo has changed
//! is the page that the writer had.

use super::{
    leaf::{
        SLOT,
        changes::{SlotChange, apply, raise_max_trx_id},
        slot::{PENDING, Slot},
    },
    page_difference::{difference, patched},
};
use crate::{
    FileId,
    log::{GROUP_HEADER, Group, Record},
    page::{PAGE_HEADER, PageHeader, PageHeaderMut, PageType, u16_at, u32_at, u64_at},
};
use std::borrow::Cow;

/// The kinds of records that change a page.
mod kind {
    pub const PAGE_IMAGE: u8 = 1;
    pub const BYTES: u8 = 2;
    pub const SLOT_ADDED: u8 = 3;
    pub const SLOT_CHANGED: u8 = 4;
    pub const SLOT_DROPPED: u8 = 5;
    pub const PAGE_DIFFERENCE: u8 = 6;
    pub const PAGE_FREED: u8 = 7;
}

/// The change that a group makes in one page.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum PageChange<'a> {
    /// The whole page, without its identity.
    Image(Cow<'a, [u8]>),
    /// The whole page, told by what it has in common with the page before, whose bytes behind the header have this
    /// checksum.
    Difference { checksum: u32, pieces: &'a [u8] },
    /// A slot of a leaf, for which there is room.
    Slot(SlotChange<'a>),
    /// Some bytes.
    Bytes { offset: u16, bytes: Cow<'a, [u8]> },
    /// It becomes the first page of the free list, before this one.
    Freed { next: u32 },
}

impl PageChange<'_> {
    /// Changes a page of an index. The page gets `trx_id` as its largest transaction id if it has a smaller one; a page
    /// that was free, or was none, begins with those of its new content. Errors: what cannot be, with which a log is
    /// damaged; for a change that was made for this page there are none.
    pub fn apply(&self, page: &mut [u8], page_no: u32, index_id: u32, trx_id: u64) -> Result<(), String> {
        let before = match PageHeader(page).page_type() {
            Some(PageType::Leaf | PageType::Inner) => PageHeader(page).max_trx_id(),
            _ => 0,
        };
        match self {
            PageChange::Image(image) if image.len() == page.len() => page.copy_from_slice(image),
            PageChange::Image(image) => {
                return Err(format!("a page image of {} bytes for a page of {}", image.len(), page.len()));
            }
            PageChange::Difference { checksum, pieces } => {
                if page.len() < PAGE_HEADER || crc32c::crc32c(&page[PAGE_HEADER..]) != *checksum {
                    return Err("the page is not the one that has changed".into());
                }
                let after = patched(page, pieces)?;
                page.copy_from_slice(&after);
            }
            PageChange::Slot(change) => apply(page, change).map_err(|e| e.0.to_string())?,
            PageChange::Bytes { offset, bytes } => {
                let offset = usize::from(*offset);
                let size = page.len();
                let place = page.get_mut(offset..offset + bytes.len());
                let wrong = || format!("{} bytes at {offset} reach beyond a page of {size}", bytes.len());
                place.ok_or_else(wrong)?.copy_from_slice(bytes);
            }
            PageChange::Freed { next } => {
                PageHeaderMut(page).init(PageType::Free, page_no, index_id);
                PageHeaderMut(page).set_next(*next);
            }
        }
        PageHeaderMut(page).set_identity(page_no, index_id);
        raise_max_trx_id(page, before.max(trx_id));
        Ok(())
    }

    /// Adds the change to a group of the log. `page` is the page after it; an image is taken from there, or told by the
    /// difference from the page `before` if that is known.
    pub(crate) fn push_to(
        &self,
        group: &mut Group,
        file: FileId,
        page_no: u32,
        before: Option<&[u8]>,
        page: &[u8],
        trx_id: u64,
    ) {
        let trx = trx_id.to_le_bytes();
        match self {
            PageChange::Image(_) => {
                match before.and_then(|before| Some((before, difference(before, page, page.len() / 2)?))) {
                    Some((before, pieces)) => {
                        let checksum = crc32c::crc32c(&before[PAGE_HEADER..]).to_le_bytes();
                        group.push_parts(kind::PAGE_DIFFERENCE, file, page_no, &[&checksum, &pieces]);
                    }
                    None => push_image(group, file, page_no, page),
                }
            }
            PageChange::Difference { checksum, pieces } => {
                group.push_parts(kind::PAGE_DIFFERENCE, file, page_no, &[&checksum.to_le_bytes(), pieces]);
            }
            PageChange::Bytes { offset, bytes } => {
                group.push_parts(kind::BYTES, file, page_no, &[&trx, &offset.to_le_bytes(), bytes]);
            }
            PageChange::Freed { next } => {
                group.push_parts(kind::PAGE_FREED, file, page_no, &[&trx, &next.to_le_bytes()]);
            }
            PageChange::Slot(change) => {
                let at = (change.at() as u16).to_le_bytes();
                let slot = change.slot().map(|slot| slot.to_bytes());
                let slot: &[u8] = slot.as_ref().map_or(&[], |slot| slot);
                let (kind, record): (u8, &[u8]) = match change {
                    SlotChange::Add { record, .. } => (kind::SLOT_ADDED, record),
                    SlotChange::Change { record, .. } => (kind::SLOT_CHANGED, record),
                    SlotChange::Drop { .. } => (kind::SLOT_DROPPED, &[]),
                };
                group.push_parts(kind, file, page_no, &[&trx, &at, slot, record]);
            }
        }
    }

    /// The change that a record of the log is, for pages of this size, and the transaction id that the page gets at
    /// least. `None` for records that change no page. Errors: the record is damaged.
    pub(crate) fn of_record<'a>(
        record: &Record<'a>,
        page_size: usize,
    ) -> Result<Option<(PageChange<'a>, u64)>, String> {
        let (payload, record_group) = (record.payload, record.group);
        if record.kind == kind::PAGE_IMAGE {
            return image_of(payload, page_size).map(|image| Some((PageChange::Image(Cow::Owned(image)), 0)));
        }
        if !matches!(record.kind, kind::BYTES..=kind::PAGE_FREED) {
            return Ok(None);
        }
        let cut = || format!("a record of kind {} is cut short: {} bytes", record.kind, payload.len());
        if record.kind == kind::PAGE_DIFFERENCE {
            let (checksum, pieces) = payload.split_first_chunk::<4>().ok_or_else(cut)?;
            return Ok(Some((PageChange::Difference { checksum: u32::from_le_bytes(*checksum), pieces }, 0)));
        }
        let (trx_id, rest) = payload.split_at_checked(8).ok_or_else(cut)?;
        let trx_id = u64_at(trx_id, 0);
        let needed = if record.kind == kind::PAGE_FREED { 4 } else { 2 };
        let (number, rest) = rest.split_at_checked(needed).ok_or_else(cut)?;
        let change = match record.kind {
            kind::PAGE_FREED => PageChange::Freed { next: u32_at(number, 0) },
            kind::BYTES => PageChange::Bytes { offset: u16_at(number, 0), bytes: Cow::Borrowed(rest) },
            kind::SLOT_DROPPED => PageChange::Slot(SlotChange::Drop { at: u16_at(number, 0).into() }),
            slot => {
                let (bytes, rest) = rest.split_first_chunk::<SLOT>().ok_or_else(cut)?;
                let (at, record) = (u16_at(number, 0).into(), Cow::Borrowed(rest));
                let is_new = slot == kind::SLOT_ADDED;
                let mut slot = Slot::from_bytes(bytes).map_err(|e| e.0.to_string())?;
                if slot.version.roll_pointer == PENDING {
                    slot.version.roll_pointer = record_group + GROUP_HEADER as u64;
                }
                PageChange::Slot(match is_new {
                    true => SlotChange::Add { at, slot, record },
                    false => SlotChange::Change { at, slot, record },
                })
            }
        };
        Ok(Some((change, trx_id)))
    }

    /// Bytes of the change, a record's header and other numbers not counted.
    pub fn bytes(&self, page_size: usize) -> usize {
        match self {
            PageChange::Image(_) => page_size,
            PageChange::Difference { pieces, .. } => pieces.len(),
            PageChange::Bytes { bytes, .. } => bytes.len(),
            PageChange::Slot(SlotChange::Add { record, .. } | SlotChange::Change { record, .. }) => record.len(),
            PageChange::Slot(SlotChange::Drop { .. }) | PageChange::Freed { .. } => 0,
        }
    }

    /// Returns true if the change needs nothing of what is in the page.
    pub fn is_whole(&self) -> bool {
        matches!(self, PageChange::Image(_))
    }
}

/// Adds a whole page to a group, without the longest run of zeros in it, as far as eight bytes at a time tell.
pub(crate) fn push_image(group: &mut Group, file: FileId, page_no: u32, page: &[u8]) {
    let (mut best, mut run) = (page.len()..page.len(), 0);
    for (i, word) in page.as_chunks::<8>().0.iter().enumerate() {
        run = if *word == [0; 8] { run + 8 } else { 0 };
        if run > best.len() {
            best = 8 * (i + 1) - run..8 * (i + 1);
        }
    }
    let (head, tail) = (&page[..best.start], &page[best.end..]);
    let sizes = [head, tail].map(|part| (part.len() as u32).to_le_bytes());
    group.push_parts(kind::PAGE_IMAGE, file, page_no, &[&sizes[0], &sizes[1], head, tail]);
}

fn image_of(payload: &[u8], page_size: usize) -> Result<Vec<u8>, String> {
    let wrong = || format!("a page image of {} bytes does not fit a page of {page_size}", payload.len());
    let (sizes, runs) = payload.split_at_checked(8).ok_or_else(wrong)?;
    let (head, tail) = (u32_at(sizes, 0) as usize, u32_at(sizes, 4) as usize);
    if head.checked_add(tail) != Some(runs.len()) || runs.len() > page_size {
        return Err(wrong());
    }
    let mut page = vec![0; page_size];
    page[..head].copy_from_slice(&runs[..head]);
    page[page_size - tail..].copy_from_slice(&runs[head..]);
    Ok(page)
}

#[cfg(test)]
#[path = "page_change_tests.rs"]
mod tests;
