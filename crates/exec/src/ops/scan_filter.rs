//! Conditions that run inside storage, on the columns they need: those of the plan, and those that operators publish
//! while the query runs.

use super::column_ranges::{column_range, intersect};
use crate::expr::{Physical, kernel::evaluate_predicate};
use arrow_array::{BooleanArray, RecordBatch, RecordBatchOptions};
use arrow_buffer::BooleanBuffer;
use arrow_schema::{FieldRef, Schema, SchemaRef};
use datafusion_common::{
    Result,
    tree_node::{Transformed, TreeNode},
};
use datafusion_physical_expr::expressions::Column;
use datafusion_physical_plan::metrics::Count;
use muster_storage::{BatchFilter, ColumnRange, StorageError};
use std::sync::{
    Arc,
    atomic::{AtomicUsize, Ordering::Relaxed},
};

/// Rows after which a published filter that drops too few is no longer evaluated.
const TRIAL_ROWS: usize = 65_536;
/// A filter is worth its time if it drops at least one row in this many.
const WORTH_ONE_IN: usize = 10;

/// Taking out the rows that are left, and putting the results back, costs less than testing all rows if no more than
/// one in this many is left.
const SELECTED_ONE_IN: usize = 16;

/// A filter that is filled in while the query runs; TRUE for all rows until then.
struct DynamicFilter {
    predicate: Physical,
    seen: AtomicUsize,
    kept: AtomicUsize,
    dropped: Count,
}

impl DynamicFilter {
    fn is_worth_it(&self) -> bool {
        let seen = self.seen.load(Relaxed);
        seen < TRIAL_ROWS || (seen - self.kept.load(Relaxed).min(seen)) * WORTH_ONE_IN >= seen
    }
}

/// The conditions that storage tests while it reads. All must be TRUE.
#[derive(Clone)]
pub struct ScanFilter {
    /// All conditions of the plan, for EXPLAIN.
    shown: Vec<Physical>,
    /// Those that storage tests on stored values.
    ranges: Vec<ColumnRange>,
    /// Table columns that the other conditions see, in order, and their fields.
    columns: Vec<usize>,
    schema: SchemaRef,
    predicates: Vec<Physical>,
    dynamic: Vec<Arc<DynamicFilter>>,
}

impl ScanFilter {
    /// Without conditions.
    pub fn empty() -> ScanFilter {
        ScanFilter {
            shown: Vec::new(),
            ranges: Vec::new(),
            columns: Vec::new(),
            schema: Arc::new(Schema::empty()),
            predicates: Vec::new(),
            dynamic: Vec::new(),
        }
    }

    /// `predicates` are over batches of `columns`, whose fields `schema` has.
    pub fn new(columns: &[usize], schema: &SchemaRef, predicates: Vec<Physical>) -> Result<ScanFilter> {
        let mut filter = ScanFilter::empty();
        for predicate in &predicates {
            match column_range(predicate, columns, schema) {
                Some(range) => intersect(&mut filter.ranges, range),
                None => {
                    let moved = filter.moved(predicate, |i| (columns[i], schema.fields()[i].clone()))?;
                    filter.predicates.push(moved);
                }
            }
        }
        filter.shown = predicates;
        Ok(filter)
    }

    /// An expression over other columns, as one over the columns of the filter, to which its own are added. `column_of`
    /// gives the table column and the field of each.
    fn moved(&mut self, expr: &Physical, column_of: impl Fn(usize) -> (usize, FieldRef)) -> Result<Physical> {
        let mut fields: Vec<FieldRef> = self.schema.fields().iter().cloned().collect();
        let columns = &mut self.columns;
        let moved = expr.clone().transform_down(|e| {
            let Some(column) = e.downcast_ref::<Column>() else { return Ok(Transformed::no(e)) };
            let (table_column, field) = column_of(column.index());
            let position = columns.iter().position(|c| *c == table_column).unwrap_or_else(|| {
                columns.push(table_column);
                fields.push(field);
                columns.len() - 1
            });
            let moved: Physical = Arc::new(Column::new(fields[position].name(), position));
            Ok(Transformed::yes(moved))
        })?;
        self.schema = Arc::new(Schema::new(fields));
        Ok(moved.data)
    }

    /// Adds a filter that is filled in while the query runs. It is over other columns: `column_of` gives the table
    /// column and the field of each. `dropped` counts the rows for which it is not TRUE.
    pub fn add_dynamic(
        &mut self,
        filter: &Physical,
        column_of: impl Fn(usize) -> (usize, FieldRef),
        dropped: Count,
    ) -> Result<()> {
        let predicate = self.moved(filter, column_of)?;
        let (seen, kept) = (AtomicUsize::new(0), AtomicUsize::new(0));
        self.dynamic.push(Arc::new(DynamicFilter { predicate, seen, kept, dropped }));
        Ok(())
    }

    /// The conditions, for EXPLAIN.
    pub fn shown(&self) -> &[Physical] {
        &self.shown
    }

    fn test(&self, batch: &RecordBatch) -> Result<BooleanArray> {
        let rows = batch.num_rows();
        let options = RecordBatchOptions::new().with_row_count(Some(rows));
        let batch = RecordBatch::try_new_with_options(self.schema.clone(), batch.columns().to_vec(), &options)?;
        let mut kept: Option<BooleanArray> = None;
        for predicate in &self.predicates {
            let passed = evaluate_predicate(predicate.as_ref(), &batch)?;
            kept = Some(both(kept, passed)?);
            if kept.as_ref().is_some_and(|k| k.true_count() == 0) {
                break;
            }
        }
        for filter in &self.dynamic {
            let before = kept.as_ref().map_or(rows, BooleanArray::true_count);
            if before == 0 || !filter.is_worth_it() {
                continue;
            }
            // Few rows left: test only those.
            let passed = match &kept {
                Some(k) if before * SELECTED_ONE_IN < rows => {
                    filter.predicate.evaluate_selection(&batch, &k.clone())?.into_array(rows)?
                }
                _ => filter.predicate.evaluate(&batch)?.into_array(rows)?,
            };
            let passed = arrow_array::cast::AsArray::as_boolean(passed.as_ref()).clone();
            let now = both(kept, passed)?;
            filter.seen.fetch_add(before, Relaxed);
            filter.kept.fetch_add(now.true_count(), Relaxed);
            filter.dropped.add(before - now.true_count());
            kept = Some(now);
        }
        Ok(kept.unwrap_or_else(|| BooleanArray::new(BooleanBuffer::new_set(rows), None)))
    }
}

fn both(kept: Option<BooleanArray>, passed: BooleanArray) -> Result<BooleanArray> {
    Ok(match kept {
        None => passed,
        Some(kept) => arrow::compute::and_kleene(&kept, &passed)?,
    })
}

impl BatchFilter for ScanFilter {
    fn columns(&self) -> &[usize] {
        &self.columns
    }

    fn ranges(&self) -> &[ColumnRange] {
        &self.ranges
    }

    fn evaluate(&self, batch: &RecordBatch) -> muster_storage::Result<BooleanArray> {
        self.test(batch).map_err(|e| StorageError::Filter(crate::error::to_sql(&e, 0)))
    }
}
