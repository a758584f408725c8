//! SQL_CALC_FOUND_ROWS: a result is computed to its end and counted, and only the rows within LIMIT are delivered.

use crate::{RowStream, processes::SessionShared};
use futures::StreamExt;
use std::sync::{Arc, atomic::Ordering::Relaxed};

/// The rows of a result that are delivered.
#[derive(Debug, Clone, Copy)]
pub struct CountedRows {
    /// Rows that are left out in front of them.
    pub offset: u64,
    /// `None`: all that follow.
    pub count: Option<u64>,
}

impl CountedRows {
    /// The rows that are delivered. At their end the session knows how many there are in all.
    pub fn of(self, rows: RowStream, process: Arc<SessionShared>) -> RowStream {
        let end = self.offset.saturating_add(self.count.unwrap_or(u64::MAX));
        let mut seen = 0u64;
        let rows = rows.map(move |batch| {
            let batch = batch?;
            let (first, size) = (seen, batch.num_rows() as u64);
            seen = seen.saturating_add(size);
            process.counted_rows.store(i64::try_from(seen).unwrap_or(i64::MAX), Relaxed);
            let from = self.offset.saturating_sub(first).min(size);
            let to = end.saturating_sub(first).clamp(from, size);
            Ok(batch.slice(from as usize, (to - from) as usize))
        });
        let has_rows = |batch: &muster_types::Result<arrow_array::RecordBatch>| {
            futures::future::ready(batch.as_ref().map_or(true, |batch| batch.num_rows() > 0))
        };
        rows.filter(has_rows).boxed()
    }
}
