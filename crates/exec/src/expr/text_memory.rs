//! The memory that the texts made by functions may take: each no more than `max_allowed_packet`, all together what the
//! memory of queries has left.

use crate::error::to_sql;
use datafusion_execution::memory_pool::{MemoryConsumer, MemoryPool, MemoryReservation};
use muster_types::Result;
use std::sync::Arc;

/// Texts are accounted for in steps of so many bytes; less is not asked for.
pub const STEP_BYTES: usize = 1 << 16;

/// The memory that texts made by functions take in one statement.
#[derive(Debug)]
pub struct TextMemory {
    pub pool: Arc<dyn MemoryPool>,
    /// `--memory-limit`, for messages.
    pub limit_bytes: usize,
    /// `max_allowed_packet`.
    pub text_bytes_max: usize,
    /// A text that may have more characters than this is long: a batch of such texts would take more than a batch may.
    pub long: u32,
}

impl TextMemory {
    /// A reservation for one expression that makes texts. It is given back when it is dropped.
    pub fn reservation(&self) -> MemoryReservation {
        MemoryConsumer::new("text").register(&self.pool)
    }

    /// Takes memory for a text that is about to be made. Error: 1041.
    pub fn reserve(&self, memory: &MemoryReservation, bytes: usize) -> Result<()> {
        if bytes < STEP_BYTES {
            return Ok(());
        }
        memory.try_grow(bytes).map_err(|e| to_sql(&e, self.limit_bytes))
    }
}
