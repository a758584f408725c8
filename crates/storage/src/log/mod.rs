//! The redo log: changes of pages, in groups that are wholly there after a crash or not at all.
//!
//! ```text
//!   append                many threads: a place in the log, a copy into the ring        append.rs, ring.rs
//!     Room                what a group may take, promised before pages are latched      room.rs, supply.rs
//!   log thread            takes groups out in order, writes whole blocks, syncs         thread.rs, flusher.rs
//!     wait_durable        who waits for a sync: threads and futures                     waiters.rs
//!   checkpoint            where redo begins; segments before it are used again          checkpoint.rs, supply.rs
//!   read                  one record by its LSN, from memory or from a file             read.rs
//!   Recovery              the end of the log, its groups, a new epoch                   recovery.rs, end.rs, reader.rs
//!   PageLog               the log as the buffer pool sees it                           page_log.rs
//!   SmallFiles            definitions and accounts, changed by a record                small_files.rs, file_records.rs
//!   Doublewrite           pages on their way to their places                            doublewrite.rs
//! ```
//!
//! Bytes: `group.rs`, `segment_header.rs`, `geometry.rs`, `checkpoint.rs`, and `docs/format.md`.

mod append;
mod atomic;
mod checkpoint;
mod doublewrite;
mod end;
mod file_records;
mod flusher;
mod geometry;
mod group;
mod options;
mod page_log;
mod planted;
mod read;
mod reader;
mod recovery;
mod ring;
mod room;
mod segment_header;
mod segments;
mod settings;
mod shared;
mod small_files;
mod status;
mod supply;
mod thread;
mod waiters;

pub(crate) use append::Log;
pub(crate) use checkpoint::NAME as CHECKPOINT;
pub(crate) use doublewrite::{Doublewrite, repair};
pub(crate) use end::Damage;
pub(crate) use file_records::FileChanges;
pub(crate) use geometry::{Geometry, SEGMENT_MAX, SEGMENT_MIN};
pub(crate) use group::{GROUP_HEADER, Group, GroupView, Record};
pub use options::FlushAtCommit;
pub(crate) use options::{LogOptions, OnFailure};
pub(crate) use page_log::RepeatedLog;
pub(crate) use planted::Planted;
#[cfg(test)]
pub(crate) use planted::PlantedFault;
pub(crate) use read::NearbyRecords;
pub(crate) use reader::Next;
pub(crate) use recovery::{Recovery, create};
pub(crate) use room::Room;
pub(crate) use segment_header::SegmentFormat;
pub(crate) use segments::{LogFiles, is_log_file};
pub use settings::LogSettings;
pub use small_files::RoomUse;
pub(crate) use small_files::SmallFiles;
pub use status::LogStatus;

/// Access for tests of records.
#[cfg(test)]
pub(crate) mod test {
    pub(crate) use super::{
        geometry::Geometry,
        group::{GroupHeader, GroupView, Identity, Stamp},
    };
}

/// A position in the log, in bytes from its beginning.
pub(crate) type Lsn = u64;

#[cfg(test)]
mod fixtures;
#[cfg(test)]
mod log_bench;
#[cfg(test)]
mod power_cut_tests;
#[cfg(test)]
mod ring_tests;
