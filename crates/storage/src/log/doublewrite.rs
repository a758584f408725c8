//! The doublewrite file: pages are written here and synced before they are written to their places, so a page that was
//! torn at its place by a power cut is whole here.

use super::{
    planted::{Fault, Planted},
    segments::LogFiles,
};
use crate::{
    FileId, Result, StorageError,
    file::file_path,
    io::{AlignedBuf, IoFile, OpenMode, WriteOp},
    page::{PAGE_MAGIC, u32_at},
};
use std::{collections::BTreeMap, io::ErrorKind};

const NAME: &str = "DOUBLEWRITE";
const MAGIC: [u8; 8] = *b"MUSTDBLW";
const VERSION: u32 = 2;
const HEADER: usize = 4096;
/// Where the entries begin in the header, and their size.
const ENTRIES: usize = 24;
const ENTRY: usize = 12;
/// The most pages of a batch.
const BATCH_MAX: usize = 128;

/// A page on its way to the disk, sealed. Its bytes do not change meanwhile.
#[derive(Debug, Clone, Copy)]
pub(crate) struct PageCopy<'a> {
    pub file: &'a IoFile,
    pub id: FileId,
    pub page_no: u32,
    pub bytes: &'a [u8],
}

/// The open doublewrite file of a data directory.
#[derive(Debug)]
pub(crate) struct Doublewrite {
    files: LogFiles,
    file: IoFile,
    page_size: usize,
    planted: Planted,
    pages_written: u64,
    batches: u64,
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
        let mut zeros = AlignedBuf::zeroed(page_size);
        let mut at = HEADER as u64;
        let len = files.disk.file_len(&file).map_err(|e| StorageError::io(&path, e))?;
        let end = at + (BATCH_MAX * page_size) as u64;
        while len < end && at < end {
            files.write(&file, at, &zeros)?;
            at += page_size as u64;
        }
        zeros.fill(0);
        files.write(&file, 0, &zeros[..HEADER])?;
        files.sync_file(&file)?;
        files.sync_directory()?;
        Ok(Doublewrite { files: files.clone(), file, page_size, planted, pages_written: 0, batches: 0 })
    }

    /// Writes pages to their places, durably, each by way of this file. On an error some may be at their places.
    pub fn write(&mut self, pages: &[PageCopy<'_>]) -> Result<()> {
        pages.chunks(BATCH_MAX).try_for_each(|batch| self.write_batch(batch))
    }

    fn write_batch(&mut self, batch: &[PageCopy<'_>]) -> Result<()> {
        let header = self.header(batch);
        let mut buffers: Vec<&[u8]> = vec![&header];
        buffers.extend(batch.iter().map(|page| page.bytes));
        let mut ops = [WriteOp::new(&self.file, 0, buffers)];
        self.files.disk.write(&mut ops);
        let [op] = ops;
        op.result.map_err(|e| StorageError::io(self.file.path(), e))?;
        if !self.planted.has(Fault::SkipDoublewriteSync) {
            self.files.sync_file(&self.file)?;
        }
        self.write_in_place(batch)?;
        self.pages_written += batch.len() as u64;
        self.batches += 1;
        Ok(())
    }

    fn header(&self, batch: &[PageCopy<'_>]) -> AlignedBuf {
        let mut header = AlignedBuf::zeroed(HEADER);
        header[..8].copy_from_slice(&MAGIC);
        for (i, field) in [VERSION, self.page_size as u32, batch.len() as u32].into_iter().enumerate() {
            header[12 + 4 * i..][..4].copy_from_slice(&field.to_le_bytes());
        }
        for (entry, page) in header[ENTRIES..].as_chunks_mut::<ENTRY>().0.iter_mut().zip(batch) {
            debug_assert!(page.bytes.len() == self.page_size && is_intact(page.bytes), "pages are sealed");
            entry[..4].copy_from_slice(&page.id.0.to_le_bytes());
            entry[4..8].copy_from_slice(&page.page_no.to_le_bytes());
            entry[8..].copy_from_slice(&page.bytes[4..8]);
        }
        let crc = crc32c::crc32c(&header[12..]);
        header[8..12].copy_from_slice(&crc.to_le_bytes());
        header
    }

    fn write_in_place(&self, batch: &[PageCopy<'_>]) -> Result<()> {
        let place = |page: &PageCopy<'_>| u64::from(page.page_no) * self.page_size as u64;
        let mut ops: Vec<_> = batch.iter().map(|p| WriteOp::new(p.file, place(p), vec![p.bytes])).collect();
        self.files.disk.write(&mut ops);
        let files: BTreeMap<FileId, &IoFile> = batch.iter().map(|page| (page.id, page.file)).collect();
        for op in ops {
            op.result.map_err(|e| StorageError::io(op.file.path(), e))?;
        }
        files.into_values().try_for_each(|file| self.files.sync_file(file))
    }

    /// `Innodb_dblwr_pages_written` and `Innodb_dblwr_writes`.
    pub fn counters(&self) -> (u64, u64) {
        (self.pages_written, self.batches)
    }
}

/// Puts pages that are torn at their places back, from the last batch, durably; to be called before anything else is read
/// after a crash. Returns the pages that it has put back. Errors: I/O.
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

struct Entry {
    file: FileId,
    page_no: u32,
    crc: u32,
}

/// What the header lists; nothing if it is not valid: then its batch had not come to its places.
fn entries(header: &[u8], page_size: usize) -> Vec<Entry> {
    let count = u32_at(header, 20) as usize;
    let valid = header[..8] == MAGIC
        && u32_at(header, 8) == crc32c::crc32c(&header[12..])
        && (u32_at(header, 12), u32_at(header, 16)) == (VERSION, page_size as u32)
        && count <= BATCH_MAX;
    let entry = |bytes: &[u8; ENTRY]| Entry {
        file: FileId(u32_at(bytes, 0)),
        page_no: u32_at(bytes, 4),
        crc: u32_at(bytes, 8),
    };
    let entries = header[ENTRIES..].as_chunks::<ENTRY>().0.iter().map(entry);
    entries.take(if valid { count } else { 0 }).collect()
}

/// Writes the copy to the page's place if the page there is damaged. Returns true if it was.
fn put_back(files: &LogFiles, entry: &Entry, copy: &[u8]) -> Result<bool> {
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
