//! Filling a new file from its beginning to its end, past the buffer pool, in large writes.

use crate::{
    Counters, Result, StorageError,
    counters::Counter,
    file::{FileHeader, PageFile, ROOT_PAGE},
    io::{AlignedBuf, WriteOp},
    page::{self, NO_PAGE, PageHeaderMut},
};
use std::{
    io,
    sync::{
        Arc,
        mpsc::{Receiver, SyncSender, sync_channel},
    },
    thread::{self, JoinHandle},
};

/// Bytes of one write.
const WRITE_BYTES: usize = 1 << 20;
/// Full buffers that wait for the disk or are being written, beside the one that is being filled.
const BUFFERS: usize = 2;

/// A buffer on its way to or from the thread that writes.
struct Chunk {
    buffer: AlignedBuf,
    /// Bytes in use.
    used: usize,
    offset: u64,
}

/// Writes behind the builder's back: chunks go there full and come back empty.
struct Writer {
    full: SyncSender<Chunk>,
    empty: Receiver<Chunk>,
    thread: JoinHandle<Result<()>>,
}

/// Fills a new file. Page numbers go up by one from 1, so that a builder knows them before it has the pages. Holds
/// three buffers of 1 MiB; while one is filled the others are written.
pub struct SequentialWriter {
    file: Arc<PageFile>,
    chunk: Chunk,
    /// Page number of the first page in the chunk.
    first: u32,
    /// Started with the first full buffer: small files do without.
    writer: Option<Writer>,
    counters: Arc<Counters>,
}

impl SequentialWriter {
    /// `file` is fresh from [`PageFile::create`].
    pub fn new(file: Arc<PageFile>, counters: Arc<Counters>) -> SequentialWriter {
        let first = file.page_count();
        let chunk = Chunk::new(&file);
        SequentialWriter { file, chunk, first, writer: None, counters }
    }

    pub fn file(&self) -> &Arc<PageFile> {
        &self.file
    }

    /// Begins behind page 1, which [`SequentialWriter::finish`] writes.
    pub fn leave_room_for_root(&mut self) {
        debug_assert_eq!((self.first, self.chunk.used), (ROOT_PAGE, 0));
        self.first = ROOT_PAGE + 1;
    }

    /// The number that the next page gets.
    pub fn next_page_no(&self) -> u32 {
        self.first + (self.chunk.used / self.file.page_size()) as u32
    }

    /// Appends a page: takes a copy, gives it its number and index id, seals it. The rest of the header is the
    /// caller's. Returns the page number. An error may come from a page that was appended before.
    pub fn append(&mut self, page: &[u8]) -> Result<u32> {
        assert_eq!(page.len(), self.file.page_size(), "a page has the size that the file was made with");
        if self.chunk.used == self.chunk.buffer.len() {
            self.next_chunk()?;
        }
        let page_no = self.next_page_no();
        if page_no == u32::MAX {
            return Err(self.file.error(io::Error::other("the file has as many pages as it can have")));
        }
        let used = self.chunk.used;
        let copy = &mut self.chunk.buffer[used..used + page.len()];
        copy.copy_from_slice(page);
        PageHeaderMut(copy).set_identity(page_no, self.file.index_id());
        page::seal(copy);
        self.chunk.used += page.len();
        Ok(page_no)
    }

    /// Sends the full chunk to be written and takes an empty one.
    fn next_chunk(&mut self) -> Result<()> {
        let first = self.next_page_no();
        self.chunk.offset = self.file.offset(self.first);
        if self.writer.is_none() {
            self.writer = Writer::start(&self.file, &self.counters);
        }
        let Some(writer) = &self.writer else {
            // No thread can be had.
            self.chunk.write(&self.file, &self.counters)?;
            (self.chunk.used, self.first) = (0, first);
            return Ok(());
        };
        let Ok(empty) = writer.empty.recv() else { return self.stop_writer() };
        let full = std::mem::replace(&mut self.chunk, empty);
        if writer.full.send(full).is_err() {
            return self.stop_writer();
        }
        self.first = first;
        Ok(())
    }

    /// Waits until all chunks are written. After an error the writer is of no use.
    fn stop_writer(&mut self) -> Result<()> {
        match self.writer.take() {
            Some(Writer { full, empty, thread }) => {
                drop((full, empty));
                thread.join().unwrap_or_else(|_| Err(self.file.error(io::Error::other("writing failed"))))
            }
            None => Ok(()),
        }
    }

    /// Writes what is left, the root, and the header, whose fields the caller sets in `change` (not those of pages),
    /// and syncs the file and its directory. The root goes to page 1, for which room was left; its number, index id and
    /// checksum are added.
    pub fn finish(mut self, root: Option<&[u8]>, change: impl FnOnce(&mut FileHeader)) -> Result<Arc<PageFile>> {
        self.stop_writer()?;
        let pages = self.next_page_no();
        self.chunk.offset = self.file.offset(self.first);
        self.chunk.write(&self.file, &self.counters)?;
        self.file.write_new_header(root, |h| {
            change(h);
            h.root = if root.is_some() { ROOT_PAGE } else { NO_PAGE };
            h.page_count = pages;
        })?;
        self.file.sync()?;
        self.file.sync_directory()?;
        Ok(Arc::clone(&self.file))
    }
}

impl Drop for SequentialWriter {
    fn drop(&mut self) {
        // An abandoned load: its file goes, so that nobody wants to know whether it was written.
        let _ = self.stop_writer();
    }
}

impl Chunk {
    fn new(file: &PageFile) -> Chunk {
        Chunk { buffer: AlignedBuf::zeroed(WRITE_BYTES.max(file.page_size())), used: 0, offset: 0 }
    }

    fn write(&self, file: &PageFile, counters: &Counters) -> Result<(), StorageError> {
        if self.used == 0 {
            return Ok(());
        }
        file.check_room()?;
        file.take_room(((self.offset + self.used as u64) / file.page_size() as u64) as u32);
        let mut ops = [WriteOp::new(file.io_file(), self.offset, vec![&self.buffer[..self.used]])];
        file.io().write(&mut ops);
        let [op] = ops;
        op.result.map_err(|e| file.error(e))?;
        counters.add(Counter::pages_written, (self.used / file.page_size()) as u64);
        counters.add(Counter::pages_created, (self.used / file.page_size()) as u64);
        Ok(())
    }
}

impl Writer {
    fn start(file: &Arc<PageFile>, counters: &Arc<Counters>) -> Option<Writer> {
        let (full, take_full) = sync_channel::<Chunk>(BUFFERS);
        let (give_empty, empty) = sync_channel(BUFFERS);
        for _ in 0..BUFFERS {
            give_empty.send(Chunk::new(file)).ok()?;
        }
        let (file, counters) = (Arc::clone(file), Arc::clone(counters));
        let work = move || {
            for mut chunk in take_full {
                chunk.write(&file, &counters)?;
                chunk.used = 0;
                // The builder may have gone.
                let _ = give_empty.send(chunk);
            }
            Ok(())
        };
        let thread = thread::Builder::new().name("page-writer".into()).spawn(work).ok()?;
        Some(Writer { full, empty, thread })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{
        FileId,
        io::{
            Disk, ReadOp,
            simulated::{DiskFault, FaultKind, Operation, SimulatedDisk},
            trace::{AccessKind, TraceIo},
        },
        page::{PAGE_HEADER, PageType, verify},
    };
    use std::path::Path;

    const SIZE: usize = 16384;

    fn writer(io: Arc<dyn Disk>) -> (SequentialWriter, Arc<Counters>) {
        let file = PageFile::create(io, Path::new("/d"), FileId(1), 9, SIZE, true).unwrap();
        let counters: Arc<Counters> = Arc::default();
        (SequentialWriter::new(file, Arc::clone(&counters)), counters)
    }

    fn page(n: u32) -> Vec<u8> {
        let mut page = vec![0; SIZE];
        PageHeaderMut(&mut page).init(PageType::Leaf, 0, 0);
        page[PAGE_HEADER..PAGE_HEADER + 4].copy_from_slice(&n.to_le_bytes());
        page
    }

    #[test]
    fn pages_arrive_in_large_writes_and_are_durable() {
        let disk = Arc::new(SimulatedDisk::new());
        let trace = Arc::new(TraceIo::new(Arc::clone(&disk) as _));
        for pages in [0, 1, 64, 65, 1000u32] {
            let (mut w, counters) = writer(Arc::clone(&trace) as _);
            trace.start();
            for n in 1..=pages {
                assert_eq!(w.next_page_no(), n);
                assert_eq!(w.append(&page(n)).unwrap(), n);
            }
            let file = w.finish(None, |h| h.row_count = 77).unwrap();
            assert_eq!(counters.pages_written(), u64::from(pages));
            let writes = trace.stop().accesses.into_iter().filter(|a| a.kind == AccessKind::Write).count();
            assert_eq!(writes, pages.div_ceil(64) as usize + 1, "1 MiB each, and the header");

            let after_crash: Arc<dyn Disk> = Arc::new(disk.only_synced());
            let opened = PageFile::open(Arc::clone(&after_crash), Path::new("/d"), FileId(1), true).unwrap();
            let h = opened.header();
            assert_eq!((h.page_count, h.root, h.row_count, h.index_id), (pages + 1, 0, 77, 9));
            for n in 1..=pages {
                let mut bytes = AlignedBuf::zeroed(SIZE);
                let mut ops = [ReadOp::new(opened.io_file(), opened.offset(n), vec![&mut bytes])];
                after_crash.read(&mut ops);
                verify(&bytes, opened.path(), n, 9).unwrap();
                assert_eq!(bytes[PAGE_HEADER..PAGE_HEADER + 4], n.to_le_bytes());
            }
            file.delete().unwrap();
        }
    }

    #[test]
    fn a_full_disk_is_told() {
        for after in [0, 1, 4] {
            let io = Arc::new(SimulatedDisk::new());
            let (mut w, _) = writer(Arc::clone(&io) as _);
            io.inject(DiskFault { on: Operation::Write, after, kind: FaultKind::Error(libc::ENOSPC), forever: true });
            let appended = (1..=300u32).try_for_each(|n| w.append(&page(n)).map(drop));
            let result = appended.and_then(|()| w.finish(None, |_| ()).map(drop));
            assert!(matches!(result, Err(StorageError::DiskFull { .. })), "{result:?}");
        }
    }

    #[test]
    fn an_abandoned_writer_ends() {
        let (mut w, _) = writer(Arc::new(SimulatedDisk::new()));
        (1..=300).for_each(|n| assert_eq!(w.append(&page(n)).unwrap(), n));
        let file = Arc::clone(w.file());
        drop(w);
        assert_eq!(Arc::strong_count(&file), 1, "no thread holds it");
    }
}
