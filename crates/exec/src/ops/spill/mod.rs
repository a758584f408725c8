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

use crate::QueryCounters;
use std::{path::PathBuf, sync::Arc};

/// The files that operators spill to, and the size of the portions in which they do.
#[derive(Debug, Clone)]
pub struct SpillSpace {
    pub temp_dir: PathBuf,
    /// Target size of a batch on disk.
    pub block_bytes: usize,
    /// The session's counters of files and tables on disk and of sort passes.
    pub counters: Arc<QueryCounters>,
}
