//! The doublewrite file: pages are written here and synced before they are written to their places, so a page that was
//! torn at its place by a power cut is whole here.

use super::{
    planted::{Planted, PlantedFault},
    segments::LogFiles,
};
use crate::{
    FileId, Result, StorageError,
    buffer_pool::{self, BATCH_PAGES, PageCopy},
    file::file_path,
    io::{AlignedBuf, IoFile, OpenMode, WriteOp},
    mutex::Mutex,
    page::{PAGE_MAGIC, u32_at},
};
use std::io::ErrorKind;

const NAME: &str = "DOUBLEWRITE";
const MAGIC: [u8; 8] = *b"MUSTDBLW";
const VERSION: u32 = 2;
const HEADER: usize = 4096;
/// The offset of the first entry in the header, and the size of an entry, in bytes.
const ENTRIES: usize = 24;
const ENTRY: usize = 12;
/// The most pages in the file: a batch, and those of earlier batches that did not get to their places.
const ENTRIES_MAX: usize = 2 * BATCH_PAGES;

/// A page of which it is not known what is at its place.
#[derive(Debug)]
struct Kept {
    id: FileId,
    page_no: u32,
    bytes: AlignedBuf,
}

/// The open doublewrite file of a data directory.
#[derive(Debug)]
pub(crate) struct Doublewrite {
    files: LogFiles,
    file: IoFile,
    page_size: usize,
    planted: Planted,
    /// Pages whose writing failed: they may be torn at their places, so they are saved with each batch.
    kept: Mutex<Vec<Kept>>,
}

impl Doublewrite {
    /// Opens the file, or makes it, with room for a batch. What it held must have been repaired before. Errors:
    /// `DiskFull`, I/O.
    pub fn open(files: &LogFiles, page_size: usize, planted: Planted) -> Result<Doublewrite> {
        let path = files.directory.join(NAME);
        let open = |mode| files.disk.open(&path, mode);
        let made = match open(OpenMode::CreateNew) {
            Err(e) if e.kind() == ErrorKind::AlreadyExists => open(OpenMode::Existing),
            made => made,
        };
        let file = made.map_err(|e| StorageError::io(&path, e))?;
        let end = (HEADER + BATCH_PAGES * page_size) as u64;
        let len = files.disk.file_len(&file).map_err(|e| StorageError::io(&path, e))?;
        if len < end {
            // Written zeros, not only allocated ones: else each sync of a batch would wait for the file system's
            // journal.
            let zeros = AlignedBuf::zeroed(BATCH_PAGES * page_size);
            files.write(&file, HEADER as u64, &zeros)?;
        }
        files.write(&file, 0, &AlignedBuf::zeroed(HEADER))?;
        files.sync_file(&file)?;
        files.sync_directory()?;
        Ok(Doublewrite { files: files.clone(), file, page_size, planted, kept: Mutex::default() })
    }

    fn header(&self, batch: &[(FileId, u32, &[u8])]) -> AlignedBuf {
        let mut header = AlignedBuf::zeroed(HEADER);
        header[..8].copy_from_slice(&MAGIC);
        for (i, field) in [VERSION, self.page_size as u32, batch.len() as u32].into_iter().enumerate() {
            header[12 + 4 * i..][..4].copy_from_slice(&field.to_le_bytes());
        }
        for (entry, (id, page_no, bytes)) in header[ENTRIES..].as_chunks_mut::<ENTRY>().0.iter_mut().zip(batch) {
            debug_assert!(bytes.len() == self.page_size && is_intact(bytes), "pages are sealed");
            entry[..4].copy_from_slice(&id.0.to_le_bytes());
            entry[4..8].copy_from_slice(&page_no.to_le_bytes());
            entry[8..].copy_from_slice(&bytes[4..8]);
        }
        let crc = crc32c::crc32c(&header[12..]);
        header[8..12].copy_from_slice(&crc.to_le_bytes());
        header
    }
}

impl buffer_pool::Doublewrite for Doublewrite {
    fn save(&self, pages: &[PageCopy<'_>]) -> Result<()> {
        let kept = self.kept.lock();
        let is_new = |kept: &&Kept| !pages.iter().any(|page| (page.id, page.page_no) == (kept.id, kept.page_no));
        let entries = pages.iter().map(|page| (page.id, page.page_no, page.bytes));
        let kept = kept.iter().filter(is_new).map(|kept| (kept.id, kept.page_no, &kept.bytes[..]));
        let batch: Vec<(FileId, u32, &[u8])> = entries.chain(kept).collect();
        if batch.len() > ENTRIES_MAX {
            let e = std::io::Error::other("too many pages could not be written to their places");
            return Err(StorageError::io(self.file.path(), e));
        }
        let header = self.header(&batch);
        let mut buffers: Vec<&[u8]> = vec![&header];
        buffers.extend(batch.iter().map(|(_, _, bytes)| *bytes));
        let mut ops = [WriteOp::new(&self.file, 0, buffers)];
        self.files.disk.write(&mut ops);
        let [op] = ops;
        op.result.map_err(|e| StorageError::io(self.file.path(), e))?;
        if self.planted.has(PlantedFault::SkipDoublewriteSync) { Ok(()) } else { self.files.sync_file(&self.file) }
    }

    fn written(&self, pages: &[PageCopy<'_>], durable: &[bool]) {
        let mut kept = self.kept.lock();
        if kept.is_empty() && durable.iter().all(|durable| *durable) {
            return;
        }
        for (page, durable) in pages.iter().zip(durable) {
            kept.retain(|kept| (kept.id, kept.page_no) != (page.id, page.page_no));
            if !durable {
                let mut bytes = AlignedBuf::zeroed(page.bytes.len());
                bytes.copy_from_slice(page.bytes);
                kept.push(Kept { id: page.id, page_no: page.page_no, bytes });
            }
        }
    }

    fn forget(&self, file: FileId) {
        self.kept.lock().retain(|kept| kept.id != file);
    }
}

/// Puts pages that are torn at their places back, from the last batch, durably; to be called before anything else is
/// read after a crash. Returns the pages that it has put back. Errors: I/O.
pub(crate) fn repair(files: &LogFiles, page_size: usize) -> Result<Vec<(FileId, u32)>> {
    let path = files.directory.join(NAME);
    let file = match files.disk.open(&path, OpenMode::Existing) {
        Err(e) if e.kind() == ErrorKind::NotFound => return Ok(Vec::new()),
        opened => opened.map_err(|e| StorageError::io(&path, e))?,
    };
    let len = files.disk.file_len(&file).map_err(|e| StorageError::io(&path, e))?;
    let mut header = AlignedBuf::zeroed(HEADER);
    if len < HEADER as u64 {
        return Ok(Vec::new());
    }
    files.read(&file, 0, &mut header)?;
    let mut copy = AlignedBuf::zeroed(page_size);
    let mut repaired = Vec::new();
    for (i, entry) in entries(&header, page_size).into_iter().enumerate() {
        let at = (HEADER + i * page_size) as u64;
        if at + page_size as u64 > len {
            break;
        }
        files.read(&file, at, &mut copy)?;
        // A copy that is not whole is of a batch that had not come to its places.
        if is_intact(&copy) && u32_at(&copy, 4) == entry.crc && put_back(files, &entry, &copy)? {
            repaired.push((entry.file, entry.page_no));
        }
    }
    Ok(repaired)
}

struct CopyEntry {
    file: FileId,
    page_no: u32,
    crc: u32,
}

/// Returns the entries of the header; none if it is not valid: then its batch had not come to its places.
fn entries(header: &[u8], page_size: usize) -> Vec<CopyEntry> {
    let count = u32_at(header, 20) as usize;
    let valid = header[..8] == MAGIC
        && u32_at(header, 8) == crc32c::crc32c(&header[12..])
        && (u32_at(header, 12), u32_at(header, 16)) == (VERSION, page_size as u32)
        && count <= ENTRIES_MAX;
    let entry = |bytes: &[u8; ENTRY]| CopyEntry {
        file: FileId(u32_at(bytes, 0)),
        page_no: u32_at(bytes, 4),
        crc: u32_at(bytes, 8),
    };
    let entries = header[ENTRIES..].as_chunks::<ENTRY>().0.iter().map(entry);
    entries.take(if valid { count } else { 0 }).collect()
}

/// Writes the copy to the page's place if the page there is damaged. Returns true if it was.
fn put_back(files: &LogFiles, entry: &CopyEntry, copy: &[u8]) -> Result<bool> {
    let path = file_path(&files.directory, entry.file);
    let file = match files.disk.open(&path, OpenMode::Existing) {
        // The file was dropped.
        Err(e) if e.kind() == ErrorKind::NotFound => return Ok(false),
        opened => opened.map_err(|e| StorageError::io(&path, e))?,
    };
    let offset = u64::from(entry.page_no) * copy.len() as u64;
    let len = files.disk.file_len(&file).map_err(|e| StorageError::io(&path, e))?;
    if offset + copy.len() as u64 <= len {
        let mut there = AlignedBuf::zeroed(copy.len());
        files.read(&file, offset, &mut there)?;
        if is_intact(&there) {
            return Ok(false);
        }
    }
    files.write(&file, offset, copy)?;
    files.sync_file(&file)?;
    Ok(true)
}

/// Returns true if a page has its magic and the right checksum.
fn is_intact(page: &[u8]) -> bool {
    page[..4] == PAGE_MAGIC && u32_at(page, 4) == crc32c::crc32c(&page[8..])
}

#[cfg(test)]
#[path = "doublewrite_tests.rs"]
mod tests;
