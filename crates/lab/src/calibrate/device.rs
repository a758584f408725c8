//! Times of reads of pages from a file, past the operating system's cache: in a long run, many at once at random, and
//! one after the other at random, as scans, lookups together and lookups one by one read.

use super::Bounds;
use crate::random::next;
use muster_engine::io::{self as disk_io, ALIGN, AlignedBuf, Disk, IoBackend, IoFile, OpenMode, ReadOp, WriteOp};
use std::{
    io,
    path::Path,
    time::{Duration, Instant},
};

/// Pages of one operation of a long run, and operations that are under way together in it.
const RUN_PAGES: usize = 16;
const RUN_OPERATIONS: usize = 8;
/// Reads at random that are under way together.
const QUEUED: usize = 32;
/// Bytes that are written at a time.
const WRITE_BYTES: usize = 1 << 20;

/// Milliseconds of a page: medians. `None`: not measured.
#[derive(Debug, Clone, PartialEq)]
pub struct DeviceTimes {
    pub sequential_ms: Option<f64>,
    pub queued_ms: Option<f64>,
    pub single_ms: Option<f64>,
    /// True if the reads went past the operating system's cache.
    pub is_direct: bool,
}

/// Makes the file, reads it and removes it. Errors: those of the file, such as a full disk.
pub fn measure(path: &Path, page_bytes: usize, bounds: &Bounds) -> io::Result<DeviceTimes> {
    let disk = disk_io::open_backend(IoBackend::Auto)?;
    let measured = disk.open(path, OpenMode::Replace).and_then(|file| {
        let pages = write(&*disk, &file, page_bytes, bounds.device_bytes)?;
        read(&*disk, &file, page_bytes, pages, bounds.device_seconds)
    });
    let removed = disk.remove(path);
    let measured = measured?;
    removed?;
    Ok(measured)
}

/// Fills the file with bytes that no device leaves out or compresses. Returns its pages.
fn write(disk: &dyn Disk, file: &IoFile, page_bytes: usize, bytes: u64) -> io::Result<u64> {
    let chunk = WRITE_BYTES.next_multiple_of(page_bytes);
    let chunks = (bytes / chunk as u64).max(1);
    disk.allocate(file, chunks * chunk as u64)?;
    let mut buffer = AlignedBuf::zeroed(chunk);
    let mut state = 7;
    for at in 0..chunks {
        for word in buffer.chunks_exact_mut(8) {
            state = next(state);
            word.copy_from_slice(&state.to_le_bytes());
        }
        let mut operations = [WriteOp::new(file, at * chunk as u64, vec![&buffer])];
        disk.write(&mut operations);
        let [operation] = operations;
        operation.result?;
    }
    disk.sync(file)?;
    Ok(chunks * chunk as u64 / page_bytes as u64)
}

fn read(disk: &dyn Disk, file: &IoFile, page_bytes: usize, pages: u64, seconds: f64) -> io::Result<DeviceTimes> {
    let share = Duration::from_secs_f64(seconds / 3.0);
    let reader = Reader { disk, file, page_bytes };
    let mut state = 1;
    let mut random_page = || {
        state = next(state);
        state % pages
    };
    let single_ms = median(share, || reader.read(&[random_page()], 1))?;
    let queued_ms = median(share, || {
        let places: Vec<u64> = (0..QUEUED).map(|_| random_page()).collect();
        reader.read(&places, 1)
    })?;
    let (run, mut from) = ((RUN_PAGES * RUN_OPERATIONS) as u64, 0);
    let sequential_ms = median(share, || {
        from = if from + 2 * run > pages { 0 } else { from + run };
        let places: Vec<u64> = (0..RUN_OPERATIONS as u64).map(|i| (from + i * RUN_PAGES as u64) % pages).collect();
        reader.read(&places, RUN_PAGES.min(pages as usize))
    })?;
    Ok(DeviceTimes { sequential_ms, queued_ms, single_ms, is_direct: file.is_direct() })
}

struct Reader<'a> {
    disk: &'a dyn Disk,
    file: &'a IoFile,
    page_bytes: usize,
}

impl Reader<'_> {
    /// Reads so many pages from each place, all places at once. Returns the milliseconds of one page.
    fn read(&self, places: &[u64], pages: usize) -> io::Result<f64> {
        let bytes = (pages * self.page_bytes).next_multiple_of(ALIGN);
        let mut buffers: Vec<AlignedBuf> = places.iter().map(|_| AlignedBuf::zeroed(bytes)).collect();
        let operation = |(place, buffer)| {
            let place: &u64 = place;
            let buffer: &mut AlignedBuf = buffer;
            ReadOp::new(self.file, place * self.page_bytes as u64, vec![&mut buffer[..]])
        };
        let mut operations: Vec<ReadOp<'_>> = places.iter().zip(&mut buffers).map(operation).collect();
        let begun = Instant::now();
        self.disk.read(&mut operations);
        let elapsed_ms = begun.elapsed().as_secs_f64() * 1e3;
        operations.into_iter().try_for_each(|operation| operation.result)?;
        Ok(elapsed_ms / (places.len() * pages) as f64)
    }
}

/// The median of what a measurement gives within a time.
fn median(share: Duration, mut measure: impl FnMut() -> io::Result<f64>) -> io::Result<Option<f64>> {
    let begun = Instant::now();
    let mut found = Vec::new();
    while found.is_empty() || begun.elapsed() < share {
        found.push(measure()?);
    }
    found.sort_by(f64::total_cmp);
    Ok(found.get(found.len() / 2).copied())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_file_is_read_in_three_ways_and_removed() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("file");
        let bounds = Bounds { device_bytes: 4 << 20, device_seconds: 0.1, ..Bounds::default() };
        let times = measure(&path, 16 << 10, &bounds).unwrap();
        for ms in [times.sequential_ms, times.queued_ms, times.single_ms] {
            assert!(ms.is_some_and(|ms| ms > 0.0 && ms < 10_000.0), "{times:?}");
        }
        assert!(!path.exists());
        assert!(measure(&directory.path().join("no/file"), 16 << 10, &bounds).is_err());
    }
}
