//! What a page has become, told by what it still has of the page before. A leaf that is encoded anew or split keeps
//! nearly all of its bytes, though in other places; so do inner pages. The log has this instead of an image. Drawn in
//! `docs/format.md`, "Changes of pages", kind 6.
//!
//! Bytes in common are looked for in blocks, as rsync does: A. Tridgell, "Efficient Algorithms for Sorting and
//! Synchronization", 1999, chapter 3. Blocks here are short and compared at once, so no checksum is rolled.

use crate::page::{PAGE_HEADER, u16_at};

/// Bytes of a block of the page before.
const BLOCK: usize = 16;
/// Buckets of the table of blocks, as a power of two.
const BUCKET_BITS: u32 = 12;
/// Bytes of the numbers of a piece.
const PIECE: usize = 6;
/// A place within the header, of which nothing is copied, stands for zeros.
const ZEROS: u16 = 0;

/// Tells `after` by its pieces: bytes of its own, then bytes of the page before, or zeros. `None` if that takes more
/// than `limit` bytes. The header of the page before does not count.
pub(in crate::tree) fn difference(before: &[u8], after: &[u8], limit: usize) -> Option<Vec<u8>> {
    let blocks = Blocks::of(before);
    let mut pieces = Pieces { after, told: 0, bytes: Vec::with_capacity(limit.min(1024)), limit };
    let mut at = PAGE_HEADER;
    while let Some(wanted) = block_at(after, at) {
        let found = match wanted {
            [0, 0] => Some((at, after[at..].iter().take_while(|byte| **byte == 0).count(), ZEROS)),
            wanted => blocks.find(before, wanted).map(|from| common(before, after, from, at, pieces.told)),
        };
        at = match found {
            Some((start, length, from)) => pieces.push(start, length, from)?,
            None if at - pieces.told > limit => return None,
            None => at + 1,
        };
    }
    pieces.push(after.len(), 0, ZEROS)?;
    Some(pieces.bytes)
}

/// The page that [`difference`] has told. Errors: the pieces do not make a page.
pub(in crate::tree) fn patched(before: &[u8], mut pieces: &[u8]) -> Result<Vec<u8>, String> {
    let wrong = || format!("pieces that do not make a page of {} bytes", before.len());
    let mut page = Vec::with_capacity(before.len());
    while !pieces.is_empty() {
        let (numbers, rest) = pieces.split_first_chunk::<PIECE>().ok_or_else(wrong)?;
        let [own, length, from] = [0, 2, 4].map(|at| usize::from(u16_at(numbers, at)));
        let (own, rest) = rest.split_at_checked(own).ok_or_else(wrong)?;
        page.extend_from_slice(own);
        match from {
            0 => page.resize(page.len() + length, 0),
            from => page.extend_from_slice(before.get(from..from + length).ok_or_else(wrong)?),
        }
        if page.len() > before.len() {
            return Err(wrong());
        }
        pieces = rest;
    }
    if page.len() == before.len() { Ok(page) } else { Err(wrong()) }
}

/// Two words of a block; `None` behind the last.
fn block_at(page: &[u8], at: usize) -> Option<[u64; 2]> {
    let block = page.get(at..at + BLOCK)?;
    let (low, high) = block.split_first_chunk::<8>()?;
    Some([u64::from_le_bytes(*low), u64::from_le_bytes(*high.first_chunk()?)])
}

/// The bytes that two pages have in common around two places: where they begin in `after`, how many they are, and where
/// they begin in `before`. They do not begin before `told`.
fn common(before: &[u8], after: &[u8], from: usize, at: usize, told: usize) -> (usize, usize, u16) {
    let back = (from - PAGE_HEADER).min(at - told);
    let earlier = before[from - back..from].iter().rev().zip(after[at - back..at].iter().rev());
    let back = earlier.take_while(|(a, b)| a == b).count();
    let (old, new) = (&before[from..], &after[at..]);
    let words = old.as_chunks::<8>().0.iter().zip(new.as_chunks::<8>().0).take_while(|(a, b)| a == b).count();
    let rest = old[8 * words..].iter().zip(&new[8 * words..]).take_while(|(a, b)| a == b).count();
    (at - back, back + 8 * words + rest, (from - back) as u16)
}

/// Where the blocks of a page lie, by what they have.
struct Blocks(Box<[u16; 1 << BUCKET_BITS]>);

impl Blocks {
    fn of(page: &[u8]) -> Blocks {
        let mut places = Box::new([0; 1 << BUCKET_BITS]);
        for at in (PAGE_HEADER..page.len()).step_by(BLOCK) {
            if let Some(block) = block_at(page, at) {
                places[Self::bucket(block)] = at as u16;
            }
        }
        Blocks(places)
    }

    fn bucket([low, high]: [u64; 2]) -> usize {
        let mixed = low.wrapping_mul(0x9E37_79B9_7F4A_7C15) ^ high.wrapping_mul(0xC2B2_AE3D_27D4_EB4F);
        (mixed.wrapping_mul(0x9E37_79B9_7F4A_7C15) >> (64 - BUCKET_BITS)) as usize
    }

    fn find(&self, page: &[u8], wanted: [u64; 2]) -> Option<usize> {
        let at = usize::from(self.0[Self::bucket(wanted)]);
        (at >= PAGE_HEADER && block_at(page, at) == Some(wanted)).then_some(at)
    }
}

/// Pieces that are being told.
struct Pieces<'a> {
    after: &'a [u8],
    /// Bytes of the page that are told.
    told: usize,
    bytes: Vec<u8>,
    limit: usize,
}

impl Pieces<'_> {
    /// Tells the bytes up to `start` as they are, and then some of the page before. Returns where they end; `None` if
    /// that is too much.
    fn push(&mut self, start: usize, length: usize, from: u16) -> Option<usize> {
        // Numbers have 16 bits, and a page may have a byte more.
        let length = length.min(usize::from(u16::MAX));
        let own = &self.after[self.told..start];
        if self.bytes.len() + PIECE + own.len() > self.limit.min(usize::from(u16::MAX)) {
            return None;
        }
        for number in [own.len() as u16, length as u16, from] {
            self.bytes.extend_from_slice(&number.to_le_bytes());
        }
        self.bytes.extend_from_slice(own);
        self.told = start + length;
        Some(self.told)
    }
}

#[cfg(test)]
#[path = "page_difference_tests.rs"]
mod tests;
