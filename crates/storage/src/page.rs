//! The 64 bytes that every page begins with, and the check of a page before a write and after a read.
//!
//! `docs/format.md` draws them.

use crate::{Result, StorageError};
use std::{cmp::Ordering, path::Path};

/// Version of everything on disk. A build reads this version and no other.
pub const FORMAT_VERSION: u16 = 3;
/// Bytes of the header; what the page's type adds begins here.
pub const PAGE_HEADER: usize = 64;
/// "No page": page 0 is a file's header and never a neighbour, child or overflow page.
pub const NO_PAGE: u32 = 0;
pub const MIN_PAGE_SIZE: usize = 4 * 1024;
pub const MAX_PAGE_SIZE: usize = 64 * 1024;

pub(crate) const PAGE_MAGIC: [u8; 4] = *b"MUPG";
/// The offset of the header fields that belong to the page type: `TYPE_FIELDS..PAGE_HEADER`.
pub const TYPE_FIELDS: usize = 48;

/// The fields of a leaf's header that belong to its type, by their offsets. The records grow downwards from the end of
/// the page.
pub(crate) mod leaf_fields {
    use super::TYPE_FIELDS;

    /// The end of the last minipage (4 bytes).
    pub const MINIPAGES_END: usize = TYPE_FIELDS;
    /// The number of slots (2 bytes).
    pub const SLOT_COUNT: usize = 52;
    /// Bytes of records that no slot leads to (2 bytes).
    pub const RECORDS_DEAD: usize = 54;
    /// The start of the records; where the low fence begins if there are none (4 bytes).
    pub const RECORDS_START: usize = 56;
    /// Bytes of the low fence (2 bytes).
    pub const LOW_FENCE: usize = 60;
    /// Bytes of the high fence (2 bytes).
    pub const HIGH_FENCE: usize = 62;
    /// Bytes of a slot.
    pub const SLOT: usize = 24;
}

const CRC: usize = 4;
const VERSION: usize = 8;
const TYPE: usize = 10;
const LEVEL: usize = 11;
const PAGE_NO: usize = 12;
const INDEX_ID: usize = 16;
const ROWS: usize = 20;
const COLUMNS: usize = 22;
const LSN: usize = 24;
const MAX_TRX: usize = 32;
const ROW_LAYOUT: usize = 40;
const NEXT: usize = 44;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[repr(u8)]
pub enum PageType {
    FileHeader = 1,
    Leaf = 2,
    Inner = 3,
    Overflow = 4,
    Free = 5,
}

impl PageType {
    pub fn from_byte(byte: u8) -> Option<PageType> {
        Some(match byte {
            1 => PageType::FileHeader,
            2 => PageType::Leaf,
            3 => PageType::Inner,
            4 => PageType::Overflow,
            5 => PageType::Free,
            _ => return None,
        })
    }
}

pub(crate) fn u16_at(page: &[u8], at: usize) -> u16 {
    u16::from_le_bytes([page[at], page[at + 1]])
}

pub(crate) fn u32_at(page: &[u8], at: usize) -> u32 {
    u32::from_le_bytes([page[at], page[at + 1], page[at + 2], page[at + 3]])
}

pub(crate) fn u64_at(page: &[u8], at: usize) -> u64 {
    u64::from(u32_at(page, at)) | u64::from(u32_at(page, at + 4)) << 32
}

/// Reads the header fields of a page. `page` has at least [`PAGE_HEADER`] bytes.
#[derive(Debug, Clone, Copy)]
pub struct PageHeader<'a>(pub &'a [u8]);

impl PageHeader<'_> {
    pub fn checksum(&self) -> u32 {
        u32_at(self.0, CRC)
    }
    pub fn version(&self) -> u16 {
        u16_at(self.0, VERSION)
    }
    /// `None` for a type this build does not know.
    pub fn page_type(&self) -> Option<PageType> {
        PageType::from_byte(self.0[TYPE])
    }
    /// 0 for a leaf.
    pub fn level(&self) -> u8 {
        self.0[LEVEL]
    }
    pub fn page_no(&self) -> u32 {
        u32_at(self.0, PAGE_NO)
    }
    pub fn index_id(&self) -> u32 {
        u32_at(self.0, INDEX_ID)
    }
    pub fn row_count(&self) -> u16 {
        u16_at(self.0, ROWS)
    }
    pub fn column_count(&self) -> u16 {
        u16_at(self.0, COLUMNS)
    }
    pub fn lsn(&self) -> u64 {
        u64_at(self.0, LSN)
    }
    /// Bytes behind the header that are in use.
    pub fn content_bytes(&self) -> usize {
        let own = u32_at(self.0, TYPE_FIELDS) as usize;
        let bytes = match self.page_type() {
            Some(PageType::Leaf) => leaf_content_bytes(self.0),
            // A count and a page number for each child, an end for each key.
            Some(PageType::Inner) => own + 14 * usize::from(self.row_count()) + 2,
            Some(PageType::Overflow) => own,
            Some(PageType::FileHeader | PageType::Free) | None => 0,
        };
        bytes.min(self.0.len() - PAGE_HEADER)
    }
    /// The largest transaction number that changed the page.
    pub fn max_trx_id(&self) -> u64 {
        u64_at(self.0, MAX_TRX)
    }
    /// The number of the row layout of a leaf of a clustered tree; 0 for other pages.
    pub fn row_layout(&self) -> u32 {
        u32_at(self.0, ROW_LAYOUT)
    }
    /// The next page on this level, in the overflow chain or in the free list; [`NO_PAGE`] at the end.
    pub fn next(&self) -> u32 {
        u32_at(self.0, NEXT)
    }
}

/// Bytes of a leaf page behind its header that are in use, whatever the page holds.
fn leaf_content_bytes(page: &[u8]) -> usize {
    use leaf_fields::{MINIPAGES_END, RECORDS_START, SLOT, SLOT_COUNT};
    let minipages = (u32_at(page, MINIPAGES_END) as usize).saturating_sub(PAGE_HEADER);
    let slots = usize::from(u16_at(page, SLOT_COUNT)) * SLOT;
    minipages + slots + page.len().saturating_sub(u32_at(page, RECORDS_START) as usize)
}

/// Writes the header fields of a page. `page` has at least [`PAGE_HEADER`] bytes.
#[derive(Debug)]
pub struct PageHeaderMut<'a>(pub &'a mut [u8]);

impl PageHeaderMut<'_> {
    fn put(&mut self, at: usize, bytes: &[u8]) {
        self.0[at..at + bytes.len()].copy_from_slice(bytes);
    }

    /// Zeroes the whole page and gives it its identity.
    pub fn init(&mut self, page_type: PageType, page_no: u32, index_id: u32) {
        self.0.fill(0);
        self.put(0, &PAGE_MAGIC);
        self.put(VERSION, &FORMAT_VERSION.to_le_bytes());
        self.set_page_type(page_type);
        self.set_identity(page_no, index_id);
    }
    pub fn set_identity(&mut self, page_no: u32, index_id: u32) {
        self.put(0, &PAGE_MAGIC);
        self.put(VERSION, &FORMAT_VERSION.to_le_bytes());
        self.put(PAGE_NO, &page_no.to_le_bytes());
        self.put(INDEX_ID, &index_id.to_le_bytes());
    }
    pub fn set_page_type(&mut self, page_type: PageType) {
        self.0[TYPE] = page_type as u8;
    }
    pub fn set_level(&mut self, level: u8) {
        self.0[LEVEL] = level;
    }
    pub fn set_row_count(&mut self, rows: u16) {
        self.put(ROWS, &rows.to_le_bytes());
    }
    pub fn set_column_count(&mut self, columns: u16) {
        self.put(COLUMNS, &columns.to_le_bytes());
    }
    pub fn set_lsn(&mut self, lsn: u64) {
        self.put(LSN, &lsn.to_le_bytes());
    }
    pub fn set_max_trx_id(&mut self, trx: u64) {
        self.put(MAX_TRX, &trx.to_le_bytes());
    }
    pub fn set_row_layout(&mut self, number: u32) {
        self.put(ROW_LAYOUT, &number.to_le_bytes());
    }
    pub fn set_next(&mut self, page_no: u32) {
        self.put(NEXT, &page_no.to_le_bytes());
    }
}

/// Errors: `NewerFormat` and `OlderFormat`, for what another version has written.
pub(crate) fn check_version(path: &Path, found: u32) -> Result<()> {
    let (path, supported) = (path.to_path_buf(), u32::from(FORMAT_VERSION));
    match found.cmp(&supported) {
        Ordering::Less => Err(StorageError::OlderFormat { path, found, supported }),
        Ordering::Equal => Ok(()),
        Ordering::Greater => Err(StorageError::NewerFormat { path, found, supported }),
    }
}

fn checksum(page: &[u8]) -> u32 {
    crc32c::crc32c(&page[VERSION..])
}

/// Writes the checksum; the last thing before a page is written.
pub fn seal(page: &mut [u8]) {
    debug_assert_eq!(page[..4], PAGE_MAGIC, "a page is initialised before it is written");
    let crc = checksum(page);
    page[CRC..CRC + 4].copy_from_slice(&crc.to_le_bytes());
}

/// Checks a page right after it was read: magic, checksum, version, and that it is the page that was asked for.
pub fn verify(page: &[u8], path: &Path, page_no: u32, index_id: u32) -> Result<()> {
    let corrupt = |reason: String| Err(StorageError::Corrupt { path: path.to_path_buf(), page: page_no, reason });
    let header = PageHeader(page);
    if page[..4] != PAGE_MAGIC {
        return if page.iter().all(|&b| b == 0) {
            corrupt("the page was never written".into())
        } else {
            corrupt("not a page (wrong magic)".into())
        };
    }
    let found = checksum(page);
    if found != header.checksum() {
        return corrupt(format!("wrong checksum ({found:08x}, the page says {:08x})", header.checksum()));
    }
    check_version(path, header.version().into())?;
    if header.page_no() != page_no {
        return corrupt(format!("it says it is page {}", header.page_no()));
    }
    if header.index_id() != index_id {
        return corrupt(format!("it belongs to index {}, not {index_id}", header.index_id()));
    }
    if header.page_type().is_none() {
        return corrupt(format!("unknown page type {}", page[TYPE]));
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn sample() -> Vec<u8> {
        let mut page = vec![0xAB; MIN_PAGE_SIZE];
        let mut h = PageHeaderMut(&mut page);
        h.init(PageType::Leaf, 7, 42);
        h.set_row_count(513);
        h.set_column_count(17);
        h.set_level(3);
        h.set_lsn(u64::MAX - 1);
        h.set_max_trx_id(1 << 40);
        h.set_next(8);
        page[100] = 9;
        seal(&mut page);
        page
    }

    fn check(page: &[u8], page_no: u32, index_id: u32) -> Result<()> {
        verify(page, Path::new("7.mus"), page_no, index_id)
    }

    #[test]
    fn fields_round_trip() {
        let page = sample();
        check(&page, 7, 42).unwrap();
        let h = PageHeader(&page);
        assert_eq!((h.page_type(), h.level(), h.page_no(), h.index_id()), (Some(PageType::Leaf), 3, 7, 42));
        assert_eq!((h.row_count(), h.column_count(), h.next()), (513, 17, 8));
        assert_eq!((h.lsn(), h.max_trx_id()), (u64::MAX - 1, 1 << 40));
        assert!(page[TYPE_FIELDS..PAGE_HEADER].iter().all(|&b| b == 0));
    }

    #[test]
    fn wrong_identity_is_corrupt() {
        let page = sample();
        let reason = |r: Result<()>| match r {
            Err(StorageError::Corrupt { page, reason, path }) => format!("{} {page} {reason}", path.display()),
            other => panic!("{other:?}"),
        };
        assert_eq!(reason(check(&page, 8, 42)), "7.mus 8 it says it is page 7");
        assert_eq!(reason(check(&page, 7, 41)), "7.mus 7 it belongs to index 42, not 41");
        assert_eq!(reason(check(&[0; 4096], 7, 41)), "7.mus 7 the page was never written");
        assert_eq!(reason(check(&[1; 4096], 7, 41)), "7.mus 7 not a page (wrong magic)");
    }

    #[test]
    fn other_versions_say_so() {
        let mut page = sample();
        page[VERSION] = 200;
        seal(&mut page);
        assert!(matches!(check(&page, 7, 42), Err(StorageError::NewerFormat { found: 200, .. })));
        page[VERSION] = 1;
        seal(&mut page);
        let e = check(&page, 7, 42).unwrap_err();
        assert!(matches!(e, StorageError::OlderFormat { found: 1, .. }));
        assert!(e.to_string().contains("load the data again"), "{e}");
    }

    proptest! {
        #[test]
        fn any_changed_bit_is_found(bit in 0..MIN_PAGE_SIZE * 8) {
            let mut page = sample();
            page[bit / 8] ^= 1 << (bit % 8);
            prop_assert!(check(&page, 7, 42).is_err());
        }
    }
}
