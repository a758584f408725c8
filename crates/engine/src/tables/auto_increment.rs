//! The next value of a table's AUTO_INCREMENT column, in a small file of its own beside the clustered tree's.
//!
//! The value never goes back: it is on the disk before anybody hears of it, and a file that is lost or damaged is made
//! anew from the largest value in the table.

use super::Companions;
use crate::persist::{self, ChangeError};
use muster_storage::{
    Counters, Fetch, FileId, ReadView, Scan, ScanRequest, Steering, Table, TableStatistics, file::Companion, value_at,
};
use muster_types::{KeyRange, Result, SqlError, Value};
use parking_lot::Mutex;
use std::sync::Arc;

const KIND: persist::Kind = persist::Kind { magic: *b"MUSTAUTO", version: 1 };

/// The counter of one table. It is named after the file of the clustered tree: other files are other rows, which begin
/// with a counter of their own.
pub struct AutoIncrement {
    companions: Companions,
    file: FileId,
    next: Mutex<u64>,
}

impl AutoIncrement {
    /// Reads the counter of a table. A table that never had a value has no file. `least`: the least value that may come
    /// next with the rows that there are, asked when there is no counter.
    pub fn open(companions: &Companions, file: FileId, least: impl FnOnce() -> u64) -> AutoIncrement {
        let next = match companions.read::<u64>(file, Companion::Counter, KIND) {
            Ok(Some(next)) => next,
            Ok(None) => least(),
            Err(e) => {
                let next = least();
                tracing::warn!("the next AUTO_INCREMENT value is taken to be {next}: {}", e.message);
                next
            }
        };
        AutoIncrement { companions: companions.clone(), file, next: Mutex::new(next) }
    }

    /// Writes the first value for rows in new files, before the catalog names them.
    pub fn write(companions: &Companions, file: FileId, next: u64) -> Result<(), ChangeError> {
        if next > 1 { companions.write(file, Companion::Counter, KIND, &next) } else { Ok(()) }
    }

    /// The next value.
    pub fn next(&self) -> u64 {
        *self.next.lock()
    }

    /// Makes the next value at least `next`, durably.
    pub fn raise(&self, next: u64) -> Result<()> {
        let mut current = self.next.lock();
        if next <= *current {
            return Ok(());
        }
        let written = AutoIncrement::write(&self.companions, self.file, next);
        if !matches!(written, Err(ChangeError::NotMade(_))) {
            *current = next;
        }
        written.map_err(SqlError::from)
    }
}

/// The least value that may come next, by the statistics of the rows that there are.
pub fn least_auto_increment(statistics: &TableStatistics, column: usize) -> u64 {
    following(statistics.columns.get(column).and_then(|c| c.max.as_ref()))
}

/// The AUTO_INCREMENT value after this one; 1 if it is not positive.
pub fn following(value: Option<&Value>) -> u64 {
    match value {
        Some(Value::Int(i)) => u64::try_from(*i).map_or(1, |u| u.saturating_add(1)),
        Some(Value::UInt(u)) => u.saturating_add(1),
        _ => 1,
    }
}

/// The largest value of a column that begins an index, as an AUTO_INCREMENT column must.
pub fn largest_value(table: Arc<Table>, column: usize) -> Result<Option<Value>> {
    let first = |index: &muster_storage::IndexSchema| index.parts.first().map(|p| (p.column, p.descending));
    let indexes = table.schema().indexes.iter().map(first);
    let Some((index, descending)) = indexes.enumerate().find_map(|(i, part)| match part? {
        (first, descending) if first == column => Some((i, descending)),
        _ => None,
    }) else {
        return Ok(None);
    };
    let request = ScanRequest {
        view: ReadView::latest(),
        index,
        ranges: vec![KeyRange::all()],
        columns: vec![column],
        coded: Vec::new(),
        steering: Steering::default(),
        distinct_prefix: None,
        index_filter: None,
        filter: None,
        fetch: Fetch::EntryOrder,
        ordered: true,
        reverse: !descending,
        limit: Some(1),
        batch_rows: 1,
        counters: Arc::new(Counters::default()),
    };
    let batch = Scan::new(table, request)?.cursor().next_batch()?;
    batch.map(|batch| value_at(batch.column(0), 0)).transpose()
}
