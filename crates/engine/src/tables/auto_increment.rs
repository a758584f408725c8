//! The next value of a table's AUTO_INCREMENT column, in a small file of its own beside the clustered tree's.
//!
//! The value never goes back. Values are taken from the disk in blocks: the file has a value that is above all that
//! anybody has heard of, and is written again when that is reached, and when the table is closed. So a restart leaves
//! no gap, and one after a crash leaves at most a block. A file that is lost or damaged is made anew from the largest
//! value in the table.

use super::Companions;
use crate::persist::{self, ChangeError};
use muster_storage::{
    FileId, ReadView, Scan, ScanRequest, Table, TableStatistics, file::Companion, mutex::Mutex, value_at,
};
use muster_types::{Result, SqlError, Value};
use std::sync::Arc;

const KIND: persist::Kind = persist::Kind { magic: *b"MUSTAUTO", version: 1 };

/// The counter of one table. It is named after the file of the clustered tree: other files are other rows, which begin
/// with a counter of their own.
pub struct AutoIncrement {
    companions: Companions,
    file: FileId,
    counter: Mutex<Counter>,
}

struct Counter {
    next: u64,
    /// The value in the file: what is below it may be given away.
    durable: u64,
    /// Values of the last block; the next one is twice as large.
    block: u64,
}

/// Values of the first block, and of the largest one.
const BLOCK_MIN: u64 = 16;
const BLOCK_MAX: u64 = 1 << 16;

/// A change of the next value.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Advance {
    pub before: u64,
    pub behind: u64,
}

/// `auto_increment_increment` and `auto_increment_offset`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Steps {
    pub increment: u64,
    pub offset: u64,
}

impl Steps {
    /// The first value from `least` on that is the offset or so many increments behind it. As MySQL does, an offset
    /// that is greater than the increment is not regarded.
    pub fn at_least(self, least: u64) -> u64 {
        let Steps { increment, offset } = self;
        let offset = if offset > increment { 0 } else { offset };
        let least = least.max(1);
        match (increment, least.checked_sub(offset)) {
            (0 | 1, _) => least,
            (_, None) => offset,
            (_, Some(above)) => above.div_ceil(increment).saturating_mul(increment).saturating_add(offset),
        }
    }
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
        let counter = Counter { next, durable: next, block: BLOCK_MIN / 2 };
        AutoIncrement { companions: companions.clone(), file, counter: Mutex::new(counter) }
    }

    /// Writes the first value for rows in new files, before the catalog names them.
    pub fn write(companions: &Companions, file: FileId, next: u64) -> Result<(), ChangeError> {
        if next > 1 { companions.write(file, Companion::Counter, KIND, &next) } else { Ok(()) }
    }

    /// Writes a value, also one that has a file of a larger one.
    fn write_any(companions: &Companions, file: FileId, next: u64) -> Result<(), ChangeError> {
        companions.write(file, Companion::Counter, KIND, &next)
    }

    /// The next value.
    pub fn next(&self) -> u64 {
        self.counter.lock().next
    }

    /// Makes the next value at least `next`. Returns the change, if there was one.
    pub fn raise(&self, next: u64) -> Result<Option<Advance>> {
        let mut counter = self.counter.lock();
        let before = counter.next;
        if next <= before {
            return Ok(None);
        }
        self.promise(&mut counter, next)?;
        Ok(Some(Advance { before, behind: next }))
    }

    /// Makes the next value `next`, or the least that the rows which are there allow.
    pub fn reset(&self, next: u64, least: u64) -> Result<()> {
        let mut counter = self.counter.lock();
        let next = next.max(least);
        if next > counter.next {
            return self.promise(&mut counter, next);
        }
        AutoIncrement::write_any(&self.companions, self.file, next).map_err(SqlError::from)?;
        (counter.next, counter.durable) = (next, next);
        Ok(())
    }

    /// Takes `count` values, each a step behind the one before. Returns the first, and how the next value has changed.
    pub fn take(&self, count: u64, steps: Steps) -> Result<(u64, Advance)> {
        let mut counter = self.counter.lock();
        let before = counter.next;
        let first = steps.at_least(before);
        let behind = first.saturating_add(steps.increment.max(1).saturating_mul(count.max(1) - 1)).saturating_add(1);
        self.promise(&mut counter, behind)?;
        Ok((first, Advance { before, behind }))
    }

    /// Takes values back that nobody has, unless others were taken since.
    pub fn give_back(&self, all: Advance) {
        let mut counter = self.counter.lock();
        if counter.next == all.behind {
            counter.next = all.before;
        }
    }

    /// Makes `next` the next value, once the file has one that is not below it.
    fn promise(&self, counter: &mut Counter, next: u64) -> Result<()> {
        if next > counter.durable {
            let block = (counter.block * 2).min(BLOCK_MAX);
            let durable = next.saturating_add(block);
            let written = AutoIncrement::write(&self.companions, self.file, durable);
            if !matches!(written, Err(ChangeError::NotMade(_))) {
                (counter.durable, counter.block) = (durable, block);
            }
            written.map_err(SqlError::from)?;
        }
        counter.next = next;
        Ok(())
    }

    /// Writes the very next value, before the table is closed.
    pub fn settle(&self) {
        let mut counter = self.counter.lock();
        let Counter { next, durable, .. } = *counter;
        if next == durable {
            return;
        }
        match AutoIncrement::write(&self.companions, self.file, next) {
            Ok(()) => counter.durable = next,
            Err(e) => tracing::debug!("a gap of AUTO_INCREMENT values is left: {}", SqlError::from(e)),
        }
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
    let all = ScanRequest::all(ReadView::latest(), index, vec![column], Arc::default());
    let request = ScanRequest { ordered: true, reverse: !descending, limit: Some(1), batch_rows: 1, ..all };
    let batch = Scan::new(table, request)?.cursor().next_batch()?;
    batch.map(|batch| value_at(batch.column(0), 0)).transpose()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn steps_from_the_offset_on() {
        let steps = |increment, offset| Steps { increment, offset };
        assert_eq!([0, 1, 7].map(|n| steps(1, 1).at_least(n)), [1, 1, 7]);
        assert_eq!([1, 2, 5, 6, 15, 16].map(|n| steps(10, 5).at_least(n)), [5, 5, 5, 15, 15, 25]);
        assert_eq!([1, 10, 11].map(|n| steps(10, 20).at_least(n)), [10, 10, 20]);
        assert_eq!(steps(10, 5).at_least(u64::MAX), u64::MAX);
    }
}
