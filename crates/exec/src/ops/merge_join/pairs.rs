//! Pairs of a left and a right row whose keys are equal, and the rows of the result that they make.

use super::MergeJoinSpec;
use crate::expr::kernel::evaluate_predicate;
use arrow_array::{Array, ArrayRef, RecordBatch, RecordBatchOptions, UInt32Array};
use arrow_schema::SchemaRef;
use arrow_select::take::take;
use datafusion_common::{JoinSide, Result};
use muster_algebra::JoinKind;
use std::{ops::Range, sync::Arc};

/// Pairs of one left batch with one right batch at a time.
pub struct Pairs {
    spec: Arc<MergeJoinSpec>,
    schema: SchemaRef,
    left: Vec<u32>,
    right: Vec<u32>,
    /// True if each left row of its batch has a partner; empty for inner joins.
    matched: Vec<bool>,
    /// Left rows before this one have been told of.
    told: usize,
}

impl Pairs {
    pub fn new(spec: Arc<MergeJoinSpec>, schema: SchemaRef) -> Pairs {
        Pairs { spec, schema, left: Vec::new(), right: Vec::new(), matched: Vec::new(), told: 0 }
    }

    /// The marks of left rows whose key has a right row. `None` if it is not enough to know that.
    pub fn marks(&mut self) -> Option<&mut [bool]> {
        let key_decides = self.spec.residual.is_none() && matches!(self.spec.kind, JoinKind::Semi | JoinKind::Anti);
        key_decides.then_some(&mut self.matched)
    }

    /// A new left batch of so many rows.
    pub fn begin(&mut self, rows: usize) {
        self.matched.clear();
        if self.spec.kind != JoinKind::Inner {
            self.matched.resize(rows, false);
        }
        self.told = 0;
    }

    pub fn len(&self) -> usize {
        self.left.len()
    }

    /// A left row with neighbouring right rows, of which there are some.
    pub fn add(&mut self, left: usize, right: Range<usize>) {
        if !self.matched.is_empty() && self.spec.residual.is_none() {
            self.matched[left] = true;
        }
        self.left.resize(self.left.len() + right.len(), left as u32);
        self.right.extend(right.start as u32..right.end as u32);
    }

    /// The result rows that the pairs make, in the order of the left rows. Those before `closed` have all their pairs.
    /// `right`: there are no pairs without.
    pub fn take(
        &mut self,
        left: &RecordBatch,
        right: Option<&RecordBatch>,
        closed: usize,
    ) -> Result<Option<RecordBatch>> {
        let (mut l, mut r) = (std::mem::take(&mut self.left), std::mem::take(&mut self.right));
        if let (Some(residual), Some(right), false) = (&self.spec.residual, right, l.is_empty()) {
            let (at_left, at_right) = (UInt32Array::from(l.clone()), UInt32Array::from(r.clone()));
            let columns = residual.column_indices().iter().map(|c| match c.side {
                JoinSide::Left => take(left.column(c.index), &at_left, None),
                _ => take(right.column(c.index), &at_right, None),
            });
            let columns = columns.collect::<Result<Vec<_>, _>>()?;
            let options = RecordBatchOptions::new().with_row_count(Some(l.len()));
            let batch = RecordBatch::try_new_with_options(residual.schema().clone(), columns, &options)?;
            let passed = evaluate_predicate(residual.expression().as_ref(), &batch)?;
            let passes = |i: usize| passed.is_valid(i) && passed.value(i);
            let mut i = 0;
            l.retain(|_| (passes(i), i += 1).0);
            i = 0;
            r.retain(|_| (passes(i), i += 1).0);
            if !self.matched.is_empty() {
                l.iter().for_each(|row| self.matched[*row as usize] = true);
            }
        }
        let told = std::mem::replace(&mut self.told, closed);
        match self.spec.kind {
            JoinKind::Inner => self.rows(left, right, UInt32Array::from(l), UInt32Array::from(r)),
            JoinKind::Left => {
                let (l, r) = self.with_unmatched(l, r, told..closed);
                self.rows(left, right, l, r)
            }
            kind => {
                let wanted = kind == JoinKind::Semi;
                let rows = (told..closed).filter(|row| self.matched[*row] == wanted).map(|row| row as u32);
                self.rows(left, None, UInt32Array::from_iter_values(rows), UInt32Array::from(Vec::<u32>::new()))
            }
        }
    }

    /// The pairs, and left rows without a partner with NULL in its place.
    fn with_unmatched(&self, left: Vec<u32>, right: Vec<u32>, closed: Range<usize>) -> (UInt32Array, UInt32Array) {
        let none = self.matched[closed.clone()].iter().filter(|m| !**m).count();
        if none == 0 {
            return (UInt32Array::from(left), UInt32Array::from(right));
        }
        let mut l = Vec::with_capacity(left.len() + none);
        let mut r = Vec::with_capacity(left.len() + none);
        let mut pair = 0;
        for row in closed {
            while pair < left.len() && left[pair] as usize <= row {
                l.push(left[pair]);
                r.push(Some(right[pair]));
                pair += 1;
            }
            if !self.matched[row] {
                l.push(row as u32);
                r.push(None);
            }
        }
        l.extend_from_slice(&left[pair..]);
        r.extend(right[pair..].iter().copied().map(Some));
        (UInt32Array::from(l), UInt32Array::from(r))
    }

    fn rows(
        &self,
        left: &RecordBatch,
        right: Option<&RecordBatch>,
        at_left: UInt32Array,
        at_right: UInt32Array,
    ) -> Result<Option<RecordBatch>> {
        let rows = at_left.len();
        if rows == 0 {
            return Ok(None);
        }
        let (left_run, right_run) = (neighbours(&at_left), neighbours(&at_right));
        let columns = self.spec.output.iter().zip(self.schema.fields()).map(|(c, field)| -> Result<ArrayRef> {
            let (batch, at, run) = match (c.side, right) {
                (JoinSide::Left, _) => (left, &at_left, &left_run),
                (_, Some(right)) => (right, &at_right, &right_run),
                (_, None) => return Ok(arrow_array::new_null_array(field.data_type(), rows)),
            };
            let column = batch.column(c.index);
            Ok(match run {
                Some(run) => column.slice(run.start, run.len()),
                None => take(column, at, None)?,
            })
        });
        let columns = columns.collect::<Result<Vec<_>>>()?;
        let options = RecordBatchOptions::new().with_row_count(Some(rows));
        Ok(Some(RecordBatch::try_new_with_options(self.schema.clone(), columns, &options)?))
    }
}

/// The rows, if each is the one behind the one before.
fn neighbours(rows: &UInt32Array) -> Option<Range<usize>> {
    let first = *rows.values().first()?;
    let run = rows.null_count() == 0 && rows.values().iter().zip(first..).all(|(row, next)| *row == next);
    run.then_some(first as usize..first as usize + rows.len())
}
