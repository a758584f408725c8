//! Index conditions that speak of the outer rows too: an entry whose outer rows all fail is not worth fetching a row
//! for.

use super::{JoinBuffer, ScanFilter, pairs::passing};
use crate::runtime::BATCH_ROWS;
use arrow_array::{BooleanArray, RecordBatch, UInt32Array, builder::BooleanBufferBuilder};
use datafusion_common::{Result, internal_datafusion_err};
use datafusion_physical_plan::joins::utils::JoinFilter;
use muster_storage::{BatchFilter, ColumnRange, StorageError};
use parking_lot::RwLock;
use std::sync::Arc;

/// An entry with more outer rows than this passes untested: its pairs are checked in any case.
const OUTER_ROWS_MAX: usize = 64;

/// An index condition of a lookup join: what is to be true of an entry by itself, and together with one outer row at
/// least.
#[derive(Clone)]
pub struct EntryCondition {
    pub own: Option<ScanFilter>,
    /// Left is the outer row; the right side's indices are places in `columns`.
    pub joined: Option<JoinFilter>,
    /// Table columns that `joined` sees.
    pub columns: Vec<usize>,
}

/// The condition as storage evaluates it, over the columns of both parts.
pub struct EntryFilter {
    condition: EntryCondition,
    /// The columns of the condition; those of `own` come first.
    columns: Vec<usize>,
    /// The join buffer whose keys are being looked up, and its group for the first of them.
    looked_up: RwLock<Option<(Arc<JoinBuffer>, usize)>>,
}

impl EntryFilter {
    /// `None` if nothing is to be checked.
    pub fn new(condition: EntryCondition) -> Option<EntryFilter> {
        let own = condition.own.as_ref().map_or(&[][..], |own| own.columns());
        let columns: Vec<usize> = own.iter().chain(&condition.columns).copied().collect();
        let any = condition.own.is_some() || condition.joined.is_some();
        any.then_some(EntryFilter { condition, columns, looked_up: RwLock::default() })
    }

    /// The keys that are looked up from now on are those of the groups from `first`.
    pub fn begin(&self, buffer: &Arc<JoinBuffer>, first: usize) {
        *self.looked_up.write() = Some((Arc::clone(buffer), first));
    }

    /// Among entries that pass so far, those that have an outer row with which `joined` is TRUE.
    fn with_outer_rows(
        &self,
        joined: &JoinFilter,
        batch: &RecordBatch,
        keys: &[u32],
        passed: &BooleanArray,
    ) -> Result<BooleanArray> {
        let looked_up = self.looked_up.read();
        let (buffer, first) = looked_up.as_ref().ok_or_else(|| internal_datafusion_err!("no keys are looked up"))?;
        let mut found = BooleanBufferBuilder::new(batch.num_rows());
        found.append_n(batch.num_rows(), false);
        let (mut outer, mut inner): (Vec<u32>, Vec<u32>) = Default::default();
        let entries = passed.iter().zip(keys).enumerate().filter(|(_, (passed, _))| *passed == Some(true));
        for (entry, (_, key)) in entries {
            let partners = buffer.rows_of(first + *key as usize);
            if partners.len() > OUTER_ROWS_MAX {
                found.set_bit(entry, true);
                continue;
            }
            outer.extend_from_slice(partners);
            inner.resize(outer.len(), entry as u32);
            if outer.len() >= BATCH_ROWS {
                self.test_pairs(joined, buffer, batch, (&mut outer, &mut inner), &mut found)?;
            }
        }
        self.test_pairs(joined, buffer, batch, (&mut outer, &mut inner), &mut found)?;
        Ok(BooleanArray::new(found.finish(), None))
    }

    /// Takes pairs of outer rows and entries, and marks the entries of those that pass.
    fn test_pairs(
        &self,
        joined: &JoinFilter,
        buffer: &JoinBuffer,
        batch: &RecordBatch,
        (outer, inner): (&mut Vec<u32>, &mut Vec<u32>),
        found: &mut BooleanBufferBuilder,
    ) -> Result<()> {
        let (outer, inner) = (UInt32Array::from(std::mem::take(outer)), UInt32Array::from(std::mem::take(inner)));
        let own = self.columns.len() - self.condition.columns.len();
        let passed = passing(joined, (&buffer.outer, &outer), (&batch.columns()[own..], &inner))?;
        for (entry, passed) in inner.values().iter().zip(passed.iter()) {
            if passed == Some(true) {
                found.set_bit(*entry as usize, true);
            }
        }
        Ok(())
    }
}

impl BatchFilter for EntryFilter {
    fn columns(&self) -> &[usize] {
        &self.columns
    }

    fn ranges(&self) -> &[ColumnRange] {
        self.condition.own.as_ref().map_or(&[], |own| own.ranges())
    }

    fn evaluate(&self, batch: &RecordBatch) -> muster_storage::Result<BooleanArray> {
        match &self.condition.own {
            None => Ok(BooleanArray::from(vec![true; batch.num_rows()])),
            Some(own) => {
                let columns: Vec<usize> = (0..own.columns().len()).collect();
                let batch = batch.project(&columns).map_err(|e| failed(&e.into()))?;
                own.evaluate(&batch)
            }
        }
    }

    fn evaluate_found(&self, batch: &RecordBatch, keys: &[u32]) -> muster_storage::Result<BooleanArray> {
        let passed = self.evaluate(batch)?;
        match &self.condition.joined {
            None => Ok(passed),
            Some(joined) => self.with_outer_rows(joined, batch, keys, &passed).map_err(|e| failed(&e)),
        }
    }
}

fn failed(error: &datafusion_common::DataFusionError) -> StorageError {
    StorageError::Filter(crate::error::to_sql(error, 0))
}
