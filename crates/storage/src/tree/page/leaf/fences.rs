//! The bounds of a leaf's keys, at the end of its page.

use super::{BadPage, HIGH_FENCE, LOW_FENCE, RECORDS_START};
use crate::page::{PAGE_HEADER, u16_at};

/// This stands in the place of a high fence's length if there is no high fence.
const NO_HIGH_FENCE: u16 = u16::MAX;

/// Most fences are no longer than this together.
const EXPECTED: usize = 64;

/// Keys of a page are not below the low fence and, if there is a high fence, below that.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Fences<'a> {
    /// Empty on the first page of a level.
    pub low: &'a [u8],
    /// `None` on the last page of a level.
    pub high: Option<&'a [u8]>,
}

impl<'a> Fences<'a> {
    /// The fences of a page that is the only one of its level.
    pub const NONE: Fences<'static> = Fences { low: &[], high: None };

    /// Bytes that the fences take in a page.
    pub fn bytes(&self) -> usize {
        self.low.len() + self.high.map_or(0, <[u8]>::len)
    }

    /// Reads the fences of a leaf page.
    pub fn of(page: &'a [u8]) -> Result<Fences<'a>, BadPage> {
        let (low, high) = (usize::from(u16_at(page, LOW_FENCE)), u16_at(page, HIGH_FENCE));
        let high = (high != NO_HIGH_FENCE).then_some(usize::from(high));
        let bytes = low + high.unwrap_or(0);
        let start = page.len().checked_sub(bytes).filter(|start| *start >= PAGE_HEADER);
        let (low, rest) = page[start.ok_or(BadPage("fences outside of the page"))?..].split_at(low);
        Ok(Fences { low, high: high.map(|_| rest) })
    }

    /// The bytes where the fences of a leaf page mostly are, for having the processor load them.
    pub fn expected(page: &[u8]) -> &[u8] {
        &page[page.len() - EXPECTED.min(page.len())..]
    }

    /// Writes the fences of a leaf page that has no records.
    pub(super) fn write(&self, page: &mut [u8]) {
        let start = page.len() - self.bytes();
        page[RECORDS_START..RECORDS_START + 4].copy_from_slice(&(start as u32).to_le_bytes());
        page[LOW_FENCE..LOW_FENCE + 2].copy_from_slice(&(self.low.len() as u16).to_le_bytes());
        let high = self.high.map_or(NO_HIGH_FENCE, |high| high.len() as u16);
        page[HIGH_FENCE..HIGH_FENCE + 2].copy_from_slice(&high.to_le_bytes());
        let (low, rest) = page[start..].split_at_mut(self.low.len());
        low.copy_from_slice(self.low);
        rest.copy_from_slice(self.high.unwrap_or(&[]));
    }
}
