//! A log on a simulated disk, for tests.

use super::{
    Damage, Log, LogOptions, Lsn, Recovery,
    geometry::{Geometry, SEGMENT_MIN},
    group::Group,
    options::OnFailure,
    planted::{Planted, PlantedFault},
    recovery,
    segment_header::SegmentFormat,
    segments::LogFiles,
    shared::Shared,
};
use crate::{FileId, Result, io::Disk};
use std::{
    ops::Range,
    path::PathBuf,
    sync::{
        Arc,
        atomic::{AtomicU64, Ordering},
    },
    time::Duration,
};

pub const IDENTITY: u64 = 0x00C0_FFEE;
pub const PAGE_SIZE: u32 = 4096;

/// A directory with a small log: segments of 64 KiB, capacity for six of them.
pub struct Fixture {
    pub files: LogFiles,
    pub planted: Planted,
    /// How often the process would have ended.
    pub failures: Arc<AtomicU64>,
}

impl Fixture {
    pub fn new(disk: Arc<dyn Disk>) -> Fixture {
        let failures = Arc::new(AtomicU64::new(0));
        let counted = Arc::clone(&failures);
        let on_failure = OnFailure(Arc::new(move |_| {
            counted.fetch_add(1, Ordering::Relaxed);
        }));
        let files = LogFiles { disk, directory: PathBuf::from("/d"), sync: true, buffered: false, on_failure };
        Fixture { files, planted: Planted::default(), failures }
    }

    pub fn with_fault(mut self, fault: Option<PlantedFault>) -> Fixture {
        self.planted.fault = fault;
        self
    }

    pub fn format() -> SegmentFormat {
        let geometry = Geometry::new(SEGMENT_MIN).unwrap();
        SegmentFormat { geometry, page_size: PAGE_SIZE, identity: IDENTITY }
    }

    pub fn options(&self) -> LogOptions {
        LogOptions {
            buffer_bytes: 128 << 10,
            capacity: 6 * SEGMENT_MIN,
            throttle: Duration::ZERO,
            planted: self.planted,
            ..LogOptions::new(self.files.clone())
        }
    }

    pub fn create(&self) -> Result<()> {
        self.files.disk.create_directory(&self.files.directory).unwrap();
        recovery::create(&self.files, Fixture::format())
    }

    pub fn recovery(&self) -> Result<Recovery> {
        Recovery::open(self.files.clone(), IDENTITY, PAGE_SIZE, Damage::IsRefused)
    }

    /// A log with its thread.
    pub fn log(&self) -> Log {
        self.recovery().unwrap().start(self.options()).unwrap()
    }

    /// A log whose thread's work the test does.
    pub fn stepped(&self) -> Result<Stepped> {
        Ok(Stepped { shared: self.recovery()?.prepare(self.options())? })
    }
}

pub struct Stepped {
    pub shared: Arc<Shared>,
}

impl Stepped {
    /// Appends a group of one record.
    pub fn append(&self, payload: &[u8]) -> Result<Range<Lsn>> {
        let mut group = group_of(payload);
        let mut room = self.shared.reserve(group.bytes(), true)?;
        Ok(self.shared.append(&mut group, &mut room))
    }

    /// Writes what was appended; it is not synced.
    pub fn write(&self) -> Result<bool> {
        self.shared.flusher.lock().write(&self.shared)
    }

    /// Writes and syncs. Returns how far the log is durable.
    pub fn sync(&self) -> Result<Lsn> {
        self.write()?;
        self.shared.flusher.lock().sync(&self.shared)?;
        Ok(self.taken())
    }

    /// The end of what was written.
    pub fn taken(&self) -> Lsn {
        self.shared.flusher.lock().taken()
    }
}

pub fn group_of(payload: &[u8]) -> Group {
    let mut group = Group::default();
    group.push(2, FileId(1), 1, payload);
    group
}

/// The payloads of the groups that are found, each with where it begins and ends.
pub fn groups_of(recovery: &Recovery) -> Vec<(Range<Lsn>, Vec<u8>)> {
    let mut groups = recovery.groups(recovery.checkpoint().redo);
    let mut found = Vec::new();
    while let super::reader::Next::Group(group) = groups.next().unwrap() {
        let payload = group.records().flat_map(|record| record.payload.to_vec()).collect();
        found.push((group.header.stamp.lsn..group.header.end(), payload));
    }
    assert_eq!(groups.position(), recovery.end().lsn);
    found
}
