//! Rows that a statement keeps before it works on the first of them: in memory up to a part of the limit, then on disk.

use crate::{
    QueryCounters, Runtime,
    error::to_sql,
    first_rows::{FirstRows, KeyBatches, KeySearch},
    ops::{
        compact::{compact, held_bytes},
        spill::{SpillFile, SpillReader, SpillSpace, SpillWriter},
    },
};
use arrow_array::RecordBatch;
use datafusion_common::{DataFusionError, Result};
use datafusion_execution::memory_pool::{MemoryConsumer, MemoryPool, MemoryReservation};
use muster_types::SqlError;
use std::sync::Arc;

/// One statement keeps at most this part of the memory limit: what its values compute needs memory, too.
const MEMORY_SHARE: usize = 4;

/// Collects rows.
pub struct RowKeeper {
    memory: MemoryReservation,
    pool: Arc<dyn MemoryPool>,
    /// What rows may take in memory, in bytes.
    memory_bytes_max: usize,
    /// The limit of all queries, in bytes, for error messages.
    limit_bytes: usize,
    space: SpillSpace,
    /// Rows in memory. None once there is a file, which has them then.
    batches: Vec<RecordBatch>,
    file: Option<SpillWriter>,
}

/// Rows that have been kept, in the order in which they came. They can be read more than once.
pub struct KeptRows {
    /// The memory of the batches.
    _memory: MemoryReservation,
    pool: Arc<dyn MemoryPool>,
    memory_bytes_max: usize,
    limit_bytes: usize,
    space: SpillSpace,
    batches: Vec<RecordBatch>,
    file: Option<SpillFile>,
}

impl Runtime {
    /// Keeps rows of a statement with so many threads. `counters` counts what is spilled.
    pub fn keep_rows(&self, threads: usize, counters: &Arc<QueryCounters>) -> RowKeeper {
        RowKeeper {
            memory: MemoryConsumer::new("rows found").with_can_spill(true).register(self.memory_pool()),
            pool: self.memory_pool().clone(),
            memory_bytes_max: self.memory_bytes() / MEMORY_SHARE,
            limit_bytes: self.memory_bytes(),
            space: self.spill_space(threads, counters),
            batches: Vec::new(),
            file: None,
        }
    }
}

impl RowKeeper {
    /// Keeps rows. Errors of the file system (1021 for a full disk).
    pub fn push(&mut self, batch: &RecordBatch) -> Result<(), SqlError> {
        self.try_push(batch).map_err(|e| to_sql(&e, self.limit_bytes))
    }

    fn try_push(&mut self, batch: &RecordBatch) -> Result<()> {
        if let Some(file) = &mut self.file {
            return write(file, batch, &self.space);
        }
        let batch = compact(batch)?;
        let bytes = held_bytes(&batch);
        let fits = self.memory.size() + bytes <= self.memory_bytes_max;
        if fits && self.memory.try_grow(bytes).is_ok() {
            self.batches.push(batch);
            return Ok(());
        }
        let file = self.file.insert(SpillWriter::create(&self.space, &batch.schema())?);
        for kept in std::mem::take(&mut self.batches) {
            write(file, &kept, &self.space)?;
        }
        self.memory.free();
        write(file, &batch, &self.space)
    }

    /// Errors of the file system (1021 for a full disk).
    pub fn finish(self) -> Result<KeptRows, SqlError> {
        let RowKeeper { memory, pool, memory_bytes_max, limit_bytes, space, batches, file } = self;
        let file = file.map(SpillWriter::finish).transpose().map_err(|e| to_sql(&e, limit_bytes))?;
        Ok(KeptRows { _memory: memory, pool, memory_bytes_max, limit_bytes, space, batches, file })
    }
}

/// Writes rows in blocks of about the size that is set, so that reading them takes little memory.
fn write(file: &mut SpillWriter, batch: &RecordBatch, space: &SpillSpace) -> Result<()> {
    let blocks = held_bytes(batch).div_ceil(space.block_bytes).clamp(1, batch.num_rows().max(1));
    let most = batch.num_rows().div_ceil(blocks).max(1);
    (0..batch.num_rows()).step_by(most).try_for_each(|at| file.write(&batch.slice(at, most.min(batch.num_rows() - at))))
}

impl KeptRows {
    /// The rows. Errors of the file system.
    pub fn batches(&self) -> Result<impl Iterator<Item = Result<RecordBatch, SqlError>>, SqlError> {
        let file = self.file.as_ref().map(SpillFile::open).transpose().map_err(|e| self.to_sql(&e))?;
        Ok(self.raw_batches(file).map(|batch| batch.map_err(|e| self.to_sql(&e))))
    }

    /// The rows that are the first ones with their values in some columns. Errors of the file system, and 1041.
    pub fn first_rows(&self, columns: &[usize]) -> Result<FirstRows, SqlError> {
        let open = || -> Result<KeyBatches<'_>> {
            let file = self.file.as_ref().map(SpillFile::open).transpose()?;
            let mut first = 0;
            Ok(Box::new(self.raw_batches(file).map(move |batch| {
                let batch = batch?.project(columns)?;
                first += batch.num_rows() as u64;
                Ok((batch.columns().to_vec(), first - batch.num_rows() as u64))
            })))
        };
        KeySearch { pool: &self.pool, memory_bytes_max: self.memory_bytes_max, space: &self.space }
            .first_rows(&open)
            .map_err(|e| self.to_sql(&e))
    }

    fn raw_batches(&self, file: Option<SpillReader>) -> impl Iterator<Item = Result<RecordBatch>> {
        self.batches.iter().cloned().map(Ok).chain(file.into_iter().flatten())
    }

    /// Bytes on disk, about; 0 if all rows are in memory.
    pub fn spilled_bytes(&self) -> usize {
        self.file.as_ref().map_or(0, |file| file.bytes)
    }

    fn to_sql(&self, e: &DataFusionError) -> SqlError {
        to_sql(e, self.limit_bytes)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use arrow_array::{ArrayRef, Int64Array, StringViewArray, cast::AsArray, types::Int64Type};

    const LIMIT: usize = 4 << 20;

    fn batch(first: i64) -> RecordBatch {
        let numbers: ArrayRef = Arc::new(Int64Array::from_iter_values(first..first + 1000));
        let texts: ArrayRef =
            Arc::new((first..first + 1000).map(|i| Some(format!("{i:0>100}"))).collect::<StringViewArray>());
        RecordBatch::try_from_iter([("n", numbers), ("t", texts)]).unwrap()
    }

    /// Keeps so many batches. Returns the rows, and the most memory that was taken meanwhile.
    fn kept(runtime: &Runtime, counters: &Arc<QueryCounters>, batches: i64) -> (KeptRows, usize) {
        let (mut keeper, mut peak) = (runtime.keep_rows(2, counters), 0);
        for at in 0..batches {
            keeper.push(&batch(at * 1000)).unwrap();
            peak = peak.max(runtime.memory_used_bytes());
        }
        (keeper.finish().unwrap(), peak)
    }

    fn numbers(rows: &KeptRows) -> Vec<i64> {
        let column = |batch: RecordBatch| batch.column(0).as_primitive::<Int64Type>().values().to_vec();
        rows.batches().unwrap().flat_map(|batch| column(batch.unwrap())).collect()
    }

    #[test]
    fn rows_are_kept_in_order_in_memory_and_on_disk() {
        let temp = tempfile::tempdir().unwrap();
        let (runtime, counters) = (Runtime::new(LIMIT, temp.path().into()).unwrap(), Arc::default());
        let (few, peak) = kept(&runtime, &counters, 3);
        assert!(few.spilled_bytes() == 0 && peak > 300_000 && runtime.memory_used_bytes() == peak);
        let (many, peak) = kept(&runtime, &counters, 100);
        assert!(many.spilled_bytes() > 2 * LIMIT && counters.operators().spill_files() == 1);
        assert!(peak < LIMIT / 2, "{peak}");
        for _ in 0..2 {
            assert!(numbers(&few).into_iter().eq(0..3000) && numbers(&many).into_iter().eq(0..100_000));
        }
        drop((few, many));
        assert_eq!(runtime.memory_used_bytes(), 0);
        assert_eq!(std::fs::read_dir(temp.path()).unwrap().filter(|e| e.as_ref().unwrap().path().is_file()).count(), 0);
    }

    #[test]
    fn rows_go_to_disk_when_others_have_the_memory() {
        let temp = tempfile::tempdir().unwrap();
        let (runtime, counters) = (Runtime::new(LIMIT, temp.path().into()).unwrap(), Arc::default());
        let _others = runtime.reserve("others", LIMIT - 1000).unwrap();
        let (rows, _) = kept(&runtime, &counters, 3);
        assert!(rows.spilled_bytes() > 0 && numbers(&rows).into_iter().eq(0..3000));
    }

    #[test]
    fn a_folder_that_is_gone_is_an_error() {
        let temp = tempfile::tempdir().unwrap();
        let runtime = Runtime::new(LIMIT, temp.path().join("x")).unwrap();
        std::fs::remove_dir_all(temp.path().join("x")).unwrap();
        let mut keeper = runtime.keep_rows(2, &Arc::default());
        let failed = (0..100).find_map(|at| keeper.push(&batch(at)).err());
        assert!(failed.is_some());
    }

    #[test]
    fn the_first_rows_of_keys_are_found_in_memory_and_by_files() {
        let temp = tempfile::tempdir().unwrap();
        let (runtime, counters) = (Runtime::new(LIMIT, temp.path().into()).unwrap(), Arc::default());
        for (batches, files) in [(4, false), (60, true)] {
            let mut keeper = runtime.keep_rows(2, &counters);
            // Each batch has 100 rows of the one before; all but the first have nothing else than those and new ones.
            (0..batches).for_each(|at| keeper.push(&batch(at * 900)).unwrap());
            let rows = keeper.finish().unwrap();
            let before = counters.operators().spill_files();
            let first = rows.first_rows(&[1, 0]).unwrap();
            assert_eq!(counters.operators().spill_files() > before, files);
            for (at, n) in numbers(&rows).into_iter().enumerate() {
                let is_first = at < 1000 || n >= (at as i64 / 1000 - 1) * 900 + 1000;
                assert_eq!(first.contains(at), is_first, "{at}: {n}");
            }
            drop((rows, first));
            assert_eq!(runtime.memory_used_bytes(), 0);
        }
    }

    #[test]
    fn many_rows_of_one_key_need_no_memory() {
        let temp = tempfile::tempdir().unwrap();
        let (runtime, counters) = (Runtime::new(LIMIT, temp.path().into()).unwrap(), Arc::default());
        let mut keeper = runtime.keep_rows(2, &counters);
        (0..60).for_each(|_| keeper.push(&batch(7)).unwrap());
        let rows = keeper.finish().unwrap();
        let before = counters.operators().spill_files();
        let first = rows.first_rows(&[0]).unwrap();
        assert!((0..60_000).all(|at| first.contains(at) == (at < 1000)));
        assert_eq!(counters.operators().spill_files(), before);
    }
}
