//! Records that change one page, as bytes, and what redo does with them.
//!
//! A record is applied to its page if the page's LSN is below the end of the record's group; then the page has that LSN. So
//! redo may begin again at any time.

use super::{Lsn, group::Record};
use crate::page::{PageHeader, PageHeaderMut, PageType, u32_at};

/// The whole page, without the longest run of zeros in it.
pub(crate) const PAGE_IMAGE: u8 = 1;
/// Some runs of bytes of the page.
pub(crate) const BYTES: u8 = 2;
/// The page is in the free list now.
pub(crate) const PAGE_FREED: u8 = 7;

/// The payload of a page image, in pieces for [`super::group::Group::push_parts`]: how many bytes there are before and
/// behind the zeros, and these.
pub(crate) fn page_image(page: &[u8]) -> ([u8; 8], &[u8], &[u8]) {
    let (mut best, mut run) = (page.len()..page.len(), 0);
    for (i, byte) in page.iter().enumerate() {
        run = if *byte == 0 { run + 1 } else { 0 };
        if run > best.len() {
            best = i + 1 - run..i + 1;
        }
    }
    let (head, tail) = (&page[..best.start], &page[best.end..]);
    let mut sizes = [0; 8];
    sizes[..4].copy_from_slice(&(head.len() as u32).to_le_bytes());
    sizes[4..].copy_from_slice(&(tail.len() as u32).to_le_bytes());
    (sizes, head, tail)
}

/// Adds a run of bytes to the payload of a record of kind [`BYTES`].
pub(crate) fn push_bytes(payload: &mut Vec<u8>, offset: u16, bytes: &[u8]) {
    let length =
        u16::try_from(bytes.len()).expect("a page has at most 64 KiB, and its header does not change as a whole");
    payload.extend_from_slice(&offset.to_le_bytes());
    payload.extend_from_slice(&length.to_le_bytes());
    payload.extend_from_slice(bytes);
}

/// Applies a record of a group that ends at `end` to its page, unless the page has it. Returns true if the page changed.
/// Errors: the record cannot be applied; the page is as it was.
pub(crate) fn apply(record: &Record<'_>, end: Lsn, page: &mut [u8]) -> Result<bool, String> {
    if PageHeader(page).lsn() >= end {
        return Ok(false);
    }
    match record.kind {
        PAGE_IMAGE => apply_image(record.payload, page)?,
        BYTES => apply_bytes(record.payload, page)?,
        PAGE_FREED => apply_freed(record, page)?,
        kind => return Err(format!("no record of kind {kind} changes a page")),
    }
    PageHeaderMut(page).set_lsn(end);
    Ok(true)
}

fn apply_image(payload: &[u8], page: &mut [u8]) -> Result<(), String> {
    let wrong = || format!("a page image of {} bytes does not fit a page of {}", payload.len(), page.len());
    let (sizes, runs) = payload.split_at_checked(8).ok_or_else(wrong)?;
    let (head, tail) = (u32_at(sizes, 0) as usize, u32_at(sizes, 4) as usize);
    let size = page.len();
    if head.checked_add(tail) != Some(runs.len()) || runs.len() > size {
        return Err(wrong());
    }
    page[..head].copy_from_slice(&runs[..head]);
    page[head..size - tail].fill(0);
    page[size - tail..].copy_from_slice(&runs[head..]);
    Ok(())
}

/// The first run of a payload, and what follows it.
fn first_run(payload: &[u8]) -> Option<(usize, &[u8], &[u8])> {
    let (&[o0, o1, l0, l1], rest) = payload.split_first_chunk()?;
    let (bytes, rest) = rest.split_at_checked(u16::from_le_bytes([l0, l1]).into())?;
    Some((u16::from_le_bytes([o0, o1]).into(), bytes, rest))
}

fn apply_bytes(payload: &[u8], page: &mut [u8]) -> Result<(), String> {
    // Nothing is changed before everything has been checked.
    let mut rest = payload;
    while !rest.is_empty() {
        let (offset, bytes, next) = first_run(rest).ok_or("a run of bytes is cut short")?;
        if offset + bytes.len() > page.len() {
            return Err(format!("{} bytes at {offset} reach beyond a page of {}", bytes.len(), page.len()));
        }
        rest = next;
    }
    rest = payload;
    while let Some((offset, bytes, next)) = first_run(rest) {
        page[offset..offset + bytes.len()].copy_from_slice(bytes);
        rest = next;
    }
    Ok(())
}

fn apply_freed(record: &Record<'_>, page: &mut [u8]) -> Result<(), String> {
    let next = record.payload.first_chunk().ok_or("a freed page does not say which one follows it")?;
    let index_id = PageHeader(page).index_id();
    let mut header = PageHeaderMut(page);
    header.init(PageType::Free, record.page, index_id);
    header.set_next(u32::from_le_bytes(*next));
    Ok(())
}

#[cfg(test)]
#[path = "redo_tests.rs"]
mod tests;
