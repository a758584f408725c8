//! Hash aggregation of one partition within the memory it is granted.
//!
//! Groups that are only collected for another operator to put together are handed on when memory is refused; and
//! rows are handed on as they are, when they turn out to be groups of their own.

use super::table::{Accumulators, Contents, Layout, Table};
use crate::counters::OperatorCounter;
use crate::ops::reschedule::reschedule;
use crate::ops::spill::{LEVELS, PartitionWriter, SpillFile, SpillSpace, hashes};
use arrow_array::RecordBatch;
use datafusion_common::Result;
use datafusion_execution::{SendableRecordBatchStream, memory_pool::MemoryReservation};
use datafusion_physical_plan::{
    metrics::{BaselineMetrics, Count, RecordOutput},
    stream::RecordBatchStreamAdapter,
};
use futures::StreamExt;
use std::sync::Arc;

/// Number of rows after which it is decided whether partial aggregation is worth its time, as in DataFusion.
const TRIAL_ROWS: usize = 100_000;
/// Percentage of the rows from which on they make too many groups for partial aggregation to be worth its time.
const TRIAL_GROUPS_PERCENT: usize = 80;
/// A partition that has rows always holds memory for so many blocks.
const FLOOR_BLOCKS: usize = 4;

/// Rows to be aggregated by themselves.
enum KeySource {
    Input(SendableRecordBatchStream),
    /// Groups of the input, spread so many times.
    File(SpillFile, usize),
}

/// See the module.
pub struct Hashed {
    layout: Arc<Layout>,
    space: SpillSpace,
    memory: MemoryReservation,
    batch_rows: usize,
    /// The last comes first.
    sources: Vec<KeySource>,
    /// Results, and how many of them have been delivered.
    results: Option<(RecordBatch, usize)>,
    spills: Count,
    /// True if it is known if collecting groups is worth its time.
    tried: bool,
    /// The accumulators that hand on rows as groups of their own.
    passing: Option<Accumulators>,
}

impl Hashed {
    /// `memory`: an empty reservation of a consumer that can spill; `batch_rows`: of results; `spills`: counts how
    /// often groups went to disk.
    pub fn new(
        layout: Arc<Layout>,
        input: SendableRecordBatchStream,
        space: SpillSpace,
        memory: MemoryReservation,
        batch_rows: usize,
        spills: Count,
    ) -> Hashed {
        let sources = vec![KeySource::Input(input)];
        Hashed { layout, space, memory, batch_rows, sources, results: None, spills, tried: false, passing: None }
    }

    /// The next results. Errors: those of the input and of the file system; a single group does not fit in memory.
    pub async fn next(&mut self, metrics: &BaselineMetrics) -> Result<Option<RecordBatch>> {
        loop {
            if let Some((batch, at)) = &mut self.results
                && *at < batch.num_rows()
            {
                let rows = self.batch_rows.min(batch.num_rows() - *at);
                let next = batch.slice(*at, rows);
                *at += rows;
                return Ok(Some(next.record_output(metrics)));
            }
            self.results = None;
            self.memory.free();
            let Some(source) = self.sources.pop() else {
                metrics.done();
                return Ok(None);
            };
            self.aggregate(source, metrics).await?;
        }
    }

    /// Makes results of a source, or sources of it that are smaller.
    async fn aggregate(&mut self, source: KeySource, metrics: &BaselineMetrics) -> Result<()> {
        let (mut rows, contents, level) = match source {
            KeySource::Input(input) => (input, self.layout.input, 0),
            KeySource::File(file, level) => {
                let batches = futures::stream::iter(file.open()?);
                let stream = RecordBatchStreamAdapter::new(self.layout.states.clone(), batches);
                (Box::pin(stream) as SendableRecordBatchStream, Contents::States, level)
            }
        };
        if self.passing.is_some() {
            return self.pass(rows, metrics).await;
        }
        let mut table = Table::new(self.layout.clone())?;
        let mut rows_seen = 0;
        let mut spilled: Option<PartitionWriter> = None;
        while let Some(batch) = rows.next().await.transpose()? {
            if batch.num_rows() == 0 {
                continue;
            }
            let timer = metrics.elapsed_compute().timer();
            table.update(&batch, contents)?;
            let full = self.grant(table.bytes());
            timer.done();
            if self.layout.output == Contents::States {
                rows_seen += batch.num_rows();
                self.try_passing(&table, rows_seen)?;
                if full.is_err() || self.passing.is_some() {
                    self.results = table.into_output()?.map(|batch| (batch, 0));
                    self.sources.push(KeySource::Input(rows));
                    return Ok(());
                }
            } else if let Err(refused) = full {
                if level == LEVELS || level > 0 && table.len() == 1 {
                    return Err(refused);
                }
                if level == 0 && spilled.is_none() {
                    self.space.counters.add(OperatorCounter::spilled_groups, 1);
                }
                let to = spilled.get_or_insert_with(|| PartitionWriter::new(&self.space, &self.layout.states, level));
                self.spill(&mut table, to)?;
                // Whoever waits for the query may have gone.
                reschedule().await;
            }
        }
        let timer = metrics.elapsed_compute().timer();
        match spilled {
            None => self.results = table.into_output()?.map(|batch| (batch, 0)),
            Some(mut to) => {
                self.spill(&mut table, &mut to)?;
                let files = to.finish()?.into_iter().flatten();
                self.sources.extend(files.map(|file| KeySource::File(file, level + 1)));
            }
        }
        timer.done();
        Ok(())
    }

    /// Hands on the next rows as they are.
    async fn pass(&mut self, mut rows: SendableRecordBatchStream, metrics: &BaselineMetrics) -> Result<()> {
        while let Some(batch) = rows.next().await.transpose()? {
            if let (Some(accumulators), true) = (&self.passing, batch.num_rows() > 0) {
                let _timer = metrics.elapsed_compute().timer();
                self.results = Some((accumulators.pass(&self.layout, &batch)?, 0));
                self.sources.push(KeySource::Input(rows));
                return Ok(());
            }
        }
        Ok(())
    }

    /// Decides after the trial whether rows are handed on ungrouped from now on. `rows`: the number that the table has
    /// seen.
    fn try_passing(&mut self, table: &Table, rows: usize) -> Result<()> {
        if !self.tried && rows >= TRIAL_ROWS {
            self.tried = true;
            if table.len() * 100 > rows * TRIAL_GROUPS_PERCENT {
                self.passing = Some(self.layout.accumulators()?);
            }
        }
        Ok(())
    }

    /// Memory for so many bytes in all.
    fn grant(&self, bytes: usize) -> Result<()> {
        let bytes = bytes.max(FLOOR_BLOCKS * self.space.block_bytes);
        if bytes > self.memory.size() { self.memory.try_grow(bytes - self.memory.size()) } else { Ok(()) }
    }

    fn spill(&self, table: &mut Table, to: &mut PartitionWriter) -> Result<()> {
        if table.len() == 0 {
            return Ok(());
        }
        let (states, keys) = table.take_states()?;
        to.write(&states, &hashes(&keys)?)?;
        self.spills.add(1);
        self.memory.resize(self.memory.size().min(FLOOR_BLOCKS * self.space.block_bytes));
        Ok(())
    }
}
