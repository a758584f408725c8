//! Opening a log: its end is found, its groups can be read, then a new epoch begins.

use super::{
    Lsn,
    append::Log,
    checkpoint::{Checkpoint, CheckpointFile},
    end::{Damage, End, find_end},
    file_records::FileChanges,
    flusher::Flusher,
    geometry::{Geometry, SEGMENT_HEADER},
    group::Identity,
    options::LogOptions,
    planted::PlantedFault,
    reader::{Groups, Window},
    ring::Ring,
    segment_header::SegmentFormat,
    segments::{LogFiles, Segments},
    shared::{Hot, Shared},
    supply::take_stock,
    thread,
};
use crate::{Result, StorageError, essential_thread, io::ALIGN, mutex::Mutex};
use std::sync::{Arc, atomic::AtomicU64};

/// Makes an empty log in a directory that has none, durably. What an attempt before left is replaced.
pub(crate) fn create(files: &LogFiles, format: SegmentFormat) -> Result<()> {
    let segments = Segments::new(files.clone(), format);
    for number in segments.list()? {
        segments.remove(number)?;
    }
    segments.make(0)?;
    let start = SEGMENT_HEADER;
    CheckpointFile::create(
        files,
        Checkpoint {
            number: 1,
            redo: start,
            synced: start,
            oldest: start,
            epoch: 0,
            geometry: format.geometry,
            identity: format.identity,
            next_transaction: 1,
        },
    )?;
    Ok(())
}

/// A log whose end is known and which nobody appends to yet.
#[derive(Debug)]
pub(crate) struct Recovery {
    segments: Segments,
    checkpoint: CheckpointFile,
    end: End,
    file_changes: FileChanges,
}

impl Recovery {
    /// Reads the checkpoint, and the log from the start of redo to its end. `identity` is that of the directory.
    /// Errors: `DamagedLog` names file and position, I/O.
    pub fn open(files: LogFiles, identity: u64, page_size: u32, damage: Damage) -> Result<Recovery> {
        let checkpoint = CheckpointFile::open(&files)?;
        let last = checkpoint.last();
        if last.identity != identity {
            let reason = "the checkpoint belongs to another data directory".to_string();
            return Err(StorageError::DamagedLog { path: checkpoint.path().to_path_buf(), offset: 0, reason });
        }
        let format = SegmentFormat { geometry: last.geometry, page_size, identity };
        let segments = Segments::new(files, format);
        let mut file_changes = FileChanges::default();
        let end = find_end(&segments, &last, &mut file_changes, damage)?;
        Ok(Recovery { segments, checkpoint, end, file_changes })
    }

    /// The last checkpoint, which has the start of redo.
    pub fn checkpoint(&self) -> Checkpoint {
        self.checkpoint.last()
    }

    /// The end of the log. Redo reads up to here, and new groups follow.
    pub fn end(&self) -> End {
        self.end
    }

    /// The groups from a position on, where one begins: the start of redo, or the oldest position that is kept.
    pub fn groups(&self, from: Lsn) -> Groups<'_> {
        let last = self.checkpoint();
        Groups::new(&self.segments, from, (last.synced, last.epoch))
    }

    /// An error that names a position of the log.
    pub fn damaged(&self, at: Lsn, reason: &str) -> StorageError {
        self.segments.damaged(at, reason)
    }

    /// Takes the changes of whole files that the log has.
    pub fn take_file_changes(&mut self) -> FileChanges {
        std::mem::take(&mut self.file_changes)
    }

    /// Begins a new epoch at the end of the log, and the log thread.
    pub fn start(self, options: LogOptions) -> Result<Log> {
        let shared = self.prepare(options)?;
        let of_thread = Arc::clone(&shared);
        let thread = essential_thread::spawn("log", &shared.options.files.disk, move || thread::run(&of_thread));
        let thread = thread.map_err(|e| StorageError::io(&shared.options.files.directory, e))?;
        Ok(Log { shared, thread: Some(thread) })
    }

    /// Makes what was found of the log durable: a process that was killed left bytes that are in the operating system's
    /// cache only.
    pub fn sync(&self) -> Result<()> {
        let (last, geometry) = (self.checkpoint(), self.checkpoint().geometry);
        for number in geometry.segment_of(last.redo)..=geometry.segment_of(self.end.lsn) {
            if let Some(file) = self.segments.file(number)? {
                self.segments.files.sync_file(&file)?;
            }
        }
        Ok(())
    }

    /// Makes what was found durable, and the new epoch with it.
    pub(super) fn prepare(mut self, options: LogOptions) -> Result<Arc<Shared>> {
        let last = self.checkpoint();
        let geometry = last.geometry;
        let end = self.end.lsn;
        if !options.planted.has(PlantedFault::SkipSyncOfRecovery) {
            self.sync()?;
        }
        let raised = if options.planted.has(PlantedFault::SameEpoch) { 0 } else { 1 };
        let epoch =
            self.end.epoch.checked_add(raised).ok_or_else(|| self.segments.damaged(end, "all epochs are used up"))?;
        self.checkpoint.write(Checkpoint { synced: end, epoch, ..last })?;
        let supply = take_stock(&self.segments, last.oldest, end)?;
        let block = self.block_before(end, geometry)?;
        let ring = Ring::new(options.buffer_bytes);
        let window = ring.bytes() / 2;
        Ok(Arc::new(Shared {
            identity: Identity::new(last.identity),
            epoch,
            reserved: Hot(AtomicU64::new(end)),
            promised: Hot::default(),
            limit: AtomicU64::new(end + window),
            history: AtomicU64::new(end),
            written: AtomicU64::new(end),
            flushed: AtomicU64::new(end),
            write_early: AtomicU64::new(end + window / 2),
            made: AtomicU64::new(geometry.start_of(supply.next)),
            redo: AtomicU64::new(last.redo),
            oldest: AtomicU64::new(last.oldest),
            capacity: AtomicU64::new(options.capacity),
            supply: Mutex::new(supply),
            moved: Default::default(),
            pressure: Default::default(),
            pressed: Default::default(),
            checkpoint: Mutex::new(self.checkpoint),
            flusher: Mutex::new(Flusher::new(end, &block)),
            waiters: Default::default(),
            work: Default::default(),
            ring_lock: Default::default(),
            ring_room: Default::default(),
            failure: Default::default(),
            counters: Default::default(),
            segments: self.segments,
            ring,
            options,
        }))
    }

    /// The block in which the log ends; empty if it ends with one.
    fn block_before(&self, end: Lsn, geometry: Geometry) -> Result<Vec<u8>> {
        let inside = (end % ALIGN as u64) as usize;
        if inside == 0 || geometry.offset(end) == 0 {
            return Ok(Vec::new());
        }
        let mut window = Window::small(&self.segments);
        let block = window.bytes(end - inside as u64, inside)?.map(<[u8]>::to_vec);
        block.ok_or_else(|| self.segments.damaged(end, "the segment is missing"))
    }
}
