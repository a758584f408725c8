//! Rows on disk, for operators that may not keep them in memory.
//!
//! ```text
//!   file.rs         batches one behind the other
//!   partitions.rs   rows spread over files by a hash of their keys
//! ```

mod file;
mod partitions;

pub use file::{SpillFile, SpillReader, SpillWriter};
pub use partitions::{LEVELS, PARTITIONS, PartitionWriter, hashes};

use muster_storage::Counters;
use std::{path::PathBuf, sync::Arc};

/// Where operators put what does not fit, and in which portions.
#[derive(Debug, Clone)]
pub struct SpillSpace {
    pub temp_dir: PathBuf,
    /// Target size of a batch on disk.
    pub block_bytes: usize,
    /// Of the session: files and tables on disk, passes of sorts.
    pub counters: Arc<Counters>,
}
