//! Aggregation of rows that come in the order of their groups: a group ends where the next begins. Nothing is hashed,
//! and no more than the groups of a few batches is in memory.

use super::table::{Accumulators, Layout};
use arrow::compute::{SortOptions, concat};
use arrow_array::{Array, ArrayRef, RecordBatch, UInt32Array};
use arrow_buffer::BooleanBuffer;
use arrow_ord::{cmp::distinct, ord::make_comparator};
use arrow_select::take::take;
use datafusion_common::Result;
use datafusion_execution::{SendableRecordBatchStream, memory_pool::MemoryReservation};
use datafusion_expr::EmitTo;
use datafusion_physical_plan::metrics::{BaselineMetrics, RecordOutput};
use futures::StreamExt;
use std::sync::Arc;

/// See the module.
pub struct Ordered {
    layout: Arc<Layout>,
    /// Until it has ended.
    input: Option<SendableRecordBatchStream>,
    accumulators: Accumulators,
    /// Keys of the groups that are accumulated, in parts.
    keys: Vec<Vec<ArrayRef>>,
    /// Number of these groups. The last may go on.
    groups: usize,
    /// Group of each row of a batch.
    places: Vec<usize>,
    memory: MemoryReservation,
    batch_rows: usize,
}

impl Ordered {
    /// `memory`: an empty reservation; `batch_rows`: of results.
    pub fn new(
        layout: Arc<Layout>,
        input: SendableRecordBatchStream,
        memory: MemoryReservation,
        batch_rows: usize,
    ) -> Result<Ordered> {
        Ok(Ordered {
            accumulators: layout.accumulators()?,
            layout,
            input: Some(input),
            keys: Vec::new(),
            groups: 0,
            places: Vec::new(),
            memory,
            batch_rows,
        })
    }

    /// The next results. Errors: those of the input; a single group does not fit in memory.
    pub async fn next(&mut self, metrics: &BaselineMetrics) -> Result<Option<RecordBatch>> {
        while let Some(input) = &mut self.input {
            let Some(batch) = input.next().await.transpose()? else {
                self.input = None;
                break;
            };
            let timer = metrics.elapsed_compute().timer();
            if batch.num_rows() > 0 {
                self.add(&batch)?;
            }
            let granted = self.memory.try_resize(self.accumulators.bytes());
            let ended = self.groups.saturating_sub(1);
            if ended >= self.batch_rows || granted.is_err() && ended > 0 {
                let results = self.results(ended)?;
                timer.done();
                return Ok(Some(results.record_output(metrics)));
            }
            granted?;
        }
        let last = if self.groups > 0 { Some(self.results(self.groups)?.record_output(metrics)) } else { None };
        metrics.done();
        Ok(last)
    }

    fn add(&mut self, batch: &RecordBatch) -> Result<()> {
        let batch = &self.layout.with_subexpressions(batch, self.layout.input)?;
        let keys = self.layout.keys(batch)?;
        let begins = self.begins(&keys)?;
        let mut firsts: Vec<u32> = Vec::new();
        self.places.clear();
        for row in 0..batch.num_rows() {
            if begins.value(row) {
                firsts.push(row as u32);
                self.groups += 1;
            }
            self.places.push(self.groups - 1);
        }
        if !firsts.is_empty() {
            let firsts = UInt32Array::from(firsts);
            let first_keys = keys.iter().map(|k| take(k, &firsts, None)).collect::<Result<_, _>>()?;
            self.keys.push(first_keys);
        }
        self.accumulators.update(&self.layout, batch, self.layout.input, &self.places, self.groups)
    }

    /// One bit for each row: true if the row is the first of its group.
    fn begins(&self, keys: &[ArrayRef]) -> Result<BooleanBuffer> {
        let rows = keys.first().map_or(0, |k| k.len());
        let mut first_begins = self.groups == 0;
        if let Some(last) = self.keys.last() {
            for (last, key) in last.iter().zip(keys) {
                let same = make_comparator(last, key, SortOptions::default())?(last.len() - 1, 0).is_eq();
                first_begins |= !same;
            }
        }
        let mut others = BooleanBuffer::new_unset(rows - 1);
        for key in keys {
            let differs = distinct(&key.slice(0, rows - 1), &key.slice(1, rows - 1))?;
            others = &others | differs.values();
        }
        Ok(BooleanBuffer::collect_bool(rows, |row| if row == 0 { first_begins } else { others.value(row - 1) }))
    }

    /// The results of the first groups, which are forgotten.
    fn results(&mut self, of: usize) -> Result<RecordBatch> {
        let parts = std::mem::take(&mut self.keys);
        let mut columns = Vec::with_capacity(self.layout.results.fields().len());
        let mut rest = Vec::new();
        for key in 0..parts.first().map_or(0, Vec::len) {
            let parts: Vec<&dyn Array> = parts.iter().map(|part| part[key].as_ref()).collect();
            let all = concat(&parts)?;
            rest.push(all.slice(of, all.len() - of));
            columns.push(all.slice(0, of));
        }
        let all = of == self.groups;
        columns.extend(self.accumulators.results(if all { EmitTo::All } else { EmitTo::First(of) })?);
        self.groups -= of;
        if !all {
            self.keys.push(rest);
        }
        Ok(RecordBatch::try_new(self.layout.results.clone(), columns)?)
    }
}
