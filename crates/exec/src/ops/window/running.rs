//! ROW_NUMBER, RANK and DENSE_RANK alone: no row needs those behind it, so that rows pass as they come, and a partition
//! may be larger than memory. With a limit the first rows of each partition pass only.

use super::{
    Layout, WindowResult,
    blocks::{begins, evaluated},
};
use arrow_array::{ArrayRef, BooleanArray, RecordBatch, UInt64Array};
use arrow_buffer::BooleanBuffer;
use arrow_select::filter::filter_record_batch;
use datafusion_common::Result;
use std::sync::Arc;

/// Numbers rows, batch by batch.
pub struct Running {
    layout: Arc<Layout>,
    /// The place of the last row.
    place: Place,
    /// The keys of the last row, each in an array of one.
    partition: Vec<ArrayRef>,
    peers: Vec<ArrayRef>,
}

/// The place of a row in its partition; all zero before the first row.
#[derive(Clone, Copy, Default)]
struct Place {
    row_number: u64,
    rank: u64,
    dense_rank: u64,
}

impl Layout {
    /// Returns true if no row needs those behind it.
    pub fn is_running(&self) -> bool {
        let is_running = |result: &WindowResult| {
            matches!(result, WindowResult::RowNumber | WindowResult::Rank | WindowResult::DenseRank)
        };
        self.results.iter().all(is_running)
    }
}

impl Place {
    /// The place of the next row.
    fn next(self, begins_partition: bool, begins_peers: bool) -> Place {
        if self.row_number == 0 || begins_partition {
            return Place { row_number: 1, rank: 1, dense_rank: 1 };
        }
        let row_number = self.row_number + 1;
        match begins_peers {
            true => Place { row_number, rank: row_number, dense_rank: self.dense_rank + 1 },
            false => Place { row_number, ..self },
        }
    }

    fn of(self, result: &WindowResult) -> u64 {
        match result {
            WindowResult::Rank => self.rank,
            WindowResult::DenseRank => self.dense_rank,
            _ => self.row_number,
        }
    }
}

impl Running {
    /// For rows that come in the order of the layout, which [`Layout::is_running`].
    pub fn new(layout: Arc<Layout>) -> Running {
        Running { layout, place: Place::default(), partition: Vec::new(), peers: Vec::new() }
    }

    /// The next rows with the results.
    pub fn numbered(&mut self, batch: &RecordBatch) -> Result<RecordBatch> {
        let rows = batch.num_rows();
        let Some(last) = rows.checked_sub(1) else {
            return Ok(RecordBatch::new_empty(self.layout.schema.clone()));
        };
        let partition = evaluated(&self.layout.partition, batch)?;
        let peers = evaluated(&self.layout.peers, batch)?;
        let (of_partition, of_peers) = (begins(&partition, &self.partition)?, begins(&peers, &self.peers)?);
        let is_set = |bits: &BooleanBuffer, row: usize| !bits.is_empty() && bits.value(row);
        let mut places = Vec::with_capacity(rows);
        for row in 0..rows {
            self.place = self.place.next(is_set(&of_partition, row), is_set(&of_peers, row));
            places.push(self.place);
        }
        let only_last = |keys: &[ArrayRef]| keys.iter().map(|key| key.slice(last, 1)).collect();
        (self.partition, self.peers) = (only_last(&partition), only_last(&peers));
        let mut columns = batch.columns().to_vec();
        for result in &self.layout.results {
            columns.push(Arc::new(UInt64Array::from_iter_values(places.iter().map(|place| place.of(result)))));
        }
        let numbered = RecordBatch::try_new(self.layout.schema.clone(), columns)?;
        let Some((result, most)) = self.layout.limit else { return Ok(numbered) };
        let result = &self.layout.results[result];
        let is_wanted: BooleanArray = places.iter().map(|place| Some(place.of(result) <= most)).collect();
        Ok(filter_record_batch(&numbered, &is_wanted)?)
    }
}
