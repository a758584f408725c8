//! Pairs of an outer row and a row that was found for it.

use super::{LookupJoinSpec, Origin, buffer::JoinBuffer, links};
use crate::expr::kernel::evaluate_predicate;
use arrow_array::{
    ArrayRef, BooleanArray, RecordBatch, RecordBatchOptions, UInt32Array, builder::BooleanBufferBuilder,
};
use arrow_schema::SchemaRef;
use arrow_select::take::take;
use datafusion_common::{JoinSide, Result};
use datafusion_physical_plan::joins::utils::JoinFilter;
use muster_algebra::JoinKind;
use std::sync::Arc;

/// Makes joined rows from what lookups find.
pub struct Pairs {
    spec: Arc<LookupJoinSpec>,
    schema: SchemaRef,
    outer: Option<RecordBatch>,
    /// Outer rows that have found a partner; kept unless every pair is a row of the result.
    matched: Option<BooleanBufferBuilder>,
    found: Option<FoundEntries>,
}

/// Rows found, and how far they have been joined.
struct FoundEntries {
    rows: RecordBatch,
    /// Group of each row.
    groups: Vec<usize>,
    /// The next row, and the next outer row of its group.
    next: (usize, usize),
}

impl Pairs {
    pub fn new(spec: Arc<LookupJoinSpec>, schema: SchemaRef) -> Pairs {
        Pairs { spec, schema, outer: None, matched: None, found: None }
    }

    pub fn begin(&mut self, outer: RecordBatch) {
        self.matched = (self.spec.kind != JoinKind::Inner).then(|| {
            let mut none = BooleanBufferBuilder::new(outer.num_rows());
            none.append_n(outer.num_rows(), false);
            none
        });
        self.outer = Some(outer);
        self.found = None;
    }

    /// Takes rows in; `keys` are the ordinals of their keys among those that were begun last: all groups of the buffer
    /// when batched, else the one before `begun`.
    pub fn add(&mut self, rows: RecordBatch, keys: Vec<u32>, begun: usize) {
        let first = if self.spec.batched { 0 } else { begun - 1 };
        let groups = keys.into_iter().map(|k| first + k as usize).collect();
        self.found = Some(FoundEntries { rows, groups, next: (0, 0) });
    }

    /// The next rows of the result that pairs make; `None` when more have to be found.
    pub fn next_joined(&mut self, buffer: &JoinBuffer) -> Result<Option<RecordBatch>> {
        let limit = self.spec.batch_rows.max(1);
        loop {
            let Some(found) = &mut self.found else { return Ok(None) };
            let (mut outer, mut inner): (Vec<u32>, Vec<u32>) = (Vec::with_capacity(limit), Vec::with_capacity(limit));
            let (mut row, mut partner) = found.next;
            while row < found.groups.len() && outer.len() < limit {
                let partners = &buffer.rows_of(found.groups[row])[partner..];
                let taken = &partners[..partners.len().min(limit - outer.len())];
                outer.extend_from_slice(taken);
                inner.resize(outer.len(), row as u32);
                if taken.len() < partners.len() {
                    partner += taken.len();
                } else {
                    (row, partner) = (row + 1, 0);
                }
            }
            found.next = (row, partner);
            let rows = found.rows.clone();
            if row == found.groups.len() {
                self.found = None;
            }
            if let Some(batch) = self.join(&rows, outer, inner)? {
                return Ok(Some(batch));
            }
        }
    }

    /// Checks pairs; the rows they make, if pairs are rows.
    fn join(&mut self, rows: &RecordBatch, outer: Vec<u32>, inner: Vec<u32>) -> Result<Option<RecordBatch>> {
        let Some(outer_rows) = &self.outer else { return Ok(None) };
        let (mut outer, mut inner) = (UInt32Array::from(outer), UInt32Array::from(inner));
        if let Some(residual) = &self.spec.residual {
            let passed = passing(residual, (outer_rows, &outer), (rows.columns(), &inner))?;
            let pick = |places: &UInt32Array| -> Result<UInt32Array> {
                let picked = arrow_select::filter::filter(places, &passed)?;
                Ok(arrow_array::cast::AsArray::as_primitive(picked.as_ref()).clone())
            };
            (outer, inner) = (pick(&outer)?, pick(&inner)?);
        }
        if let Some(matched) = &mut self.matched {
            outer.values().iter().for_each(|i| matched.set_bit(*i as usize, true));
        }
        if outer.is_empty() || !matches!(self.spec.kind, JoinKind::Inner | JoinKind::Left) {
            return Ok(None);
        }
        let columns = self.spec.output.iter().map(|origin| match origin {
            Origin::Outer(i) => self.outer_column(outer_rows, *i, &outer),
            Origin::Inner(i) => Ok(take(rows.column(*i), &inner, None)?),
        });
        let columns = columns.collect::<Result<Vec<_>>>()?;
        self.batch(columns, outer.len()).map(Some)
    }

    /// A column of some outer rows, as it is delivered.
    fn outer_column(&self, outer: &RecordBatch, column: usize, rows: &UInt32Array) -> Result<ArrayRef> {
        match self.spec.linked {
            true => links::link(outer.column(column), rows),
            false => links::gather(outer.column(column), rows),
        }
    }

    fn batch(&self, columns: Vec<ArrayRef>, rows: usize) -> Result<RecordBatch> {
        let options = RecordBatchOptions::new().with_row_count(Some(rows));
        Ok(RecordBatch::try_new_with_options(self.schema.clone(), columns, &options)?)
    }

    /// The rows of the result that are known when all of a buffer has been looked up.
    pub fn finish(&mut self) -> Result<Option<RecordBatch>> {
        let (Some(outer), Some(mut matched)) = (self.outer.take(), self.matched.take()) else { return Ok(None) };
        let matched = matched.finish();
        let wanted = match self.spec.kind {
            JoinKind::Inner => return Ok(None),
            JoinKind::Semi => matched,
            JoinKind::Left | JoinKind::Anti | JoinKind::NullAwareAnti => !&matched,
        };
        let wanted: UInt32Array = wanted.set_indices().map(|row| row as u32).collect();
        if wanted.is_empty() {
            return Ok(None);
        }
        let columns = self.spec.output.iter().zip(self.schema.fields()).map(|(origin, field)| match origin {
            Origin::Outer(i) => self.outer_column(&outer, *i, &wanted),
            Origin::Inner(_) => Ok(arrow_array::new_null_array(field.data_type(), wanted.len())),
        });
        let columns = columns.collect::<Result<Vec<_>>>()?;
        self.batch(columns, wanted.len()).map(Some)
    }
}

/// Which pairs a condition is TRUE for. `outer` and `inner`: rows, and the place of each pair's row among them; the
/// condition's left side is the outer row, which may be linked to, its right side has the `inner` columns.
pub fn passing(
    condition: &JoinFilter,
    (outer, outer_rows): (&RecordBatch, &UInt32Array),
    (inner, inner_rows): (&[ArrayRef], &UInt32Array),
) -> Result<BooleanArray> {
    let columns = condition.column_indices().iter().map(|c| match c.side {
        JoinSide::Left => links::gather(outer.column(c.index), outer_rows),
        _ => Ok(take(&inner[c.index], inner_rows, None)?),
    });
    let columns = columns.collect::<Result<Vec<_>>>()?;
    let options = RecordBatchOptions::new().with_row_count(Some(outer_rows.len()));
    let pairs = RecordBatch::try_new_with_options(condition.schema().clone(), columns, &options)?;
    evaluate_predicate(condition.expression().as_ref(), &pairs)
}
