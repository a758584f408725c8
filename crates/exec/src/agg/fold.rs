//! Aggregates whose state is a value like their result: what partitions have is put together as rows are.

use arrow_array::{Array, ArrayRef, BooleanArray};
use datafusion_common::Result;
use datafusion_expr::{EmitTo, GroupsAccumulator};

/// A value for each group, to which rows contribute one by one.
pub trait Fold: Send + 'static {
    /// Takes in rows: group of each, and the rows that count (all without a filter). There are `total` groups now.
    fn update(
        &mut self,
        values: &ArrayRef,
        groups: &[usize],
        filter: Option<&BooleanArray>,
        total: usize,
    ) -> Result<()>;

    /// The values of these groups, which are forgotten.
    fn emit(&mut self, emit_to: EmitTo) -> ArrayRef;

    /// The state of each row as a group of its own: the value, or NULL if the row does not count.
    fn each(&self, values: &ArrayRef, filter: Option<&BooleanArray>) -> Result<ArrayRef> {
        let Some(filter) = filter else { return Ok(values.clone()) };
        let dropped = arrow::compute::not(&arrow_select::filter::prep_null_mask_filter(filter))?;
        Ok(arrow_select::nullif::nullif(values, &dropped)?)
    }

    /// Bytes of memory.
    fn size(&self) -> usize;
}

/// A [`Fold`] as DataFusion takes it.
pub struct Folded<F>(pub F);

impl<F: Fold> GroupsAccumulator for Folded<F> {
    fn update_batch(
        &mut self,
        values: &[ArrayRef],
        group_indices: &[usize],
        opt_filter: Option<&BooleanArray>,
        total_num_groups: usize,
    ) -> Result<()> {
        self.0.update(&values[0], group_indices, opt_filter, total_num_groups)
    }

    fn evaluate(&mut self, emit_to: EmitTo) -> Result<ArrayRef> {
        Ok(self.0.emit(emit_to))
    }

    fn state(&mut self, emit_to: EmitTo) -> Result<Vec<ArrayRef>> {
        Ok(vec![self.0.emit(emit_to)])
    }

    fn merge_batch(&mut self, values: &[ArrayRef], group_indices: &[usize], total_num_groups: usize) -> Result<()> {
        self.0.update(&values[0], group_indices, None, total_num_groups)
    }

    fn convert_to_state(&self, values: &[ArrayRef], opt_filter: Option<&BooleanArray>) -> Result<Vec<ArrayRef>> {
        Ok(vec![self.0.each(&values[0], opt_filter)?])
    }

    fn size(&self) -> usize {
        self.0.size()
    }
}

/// Returns true if a row counts. An array of type Null has no bits that say so: its type is looked at before its rows.
pub fn counts(values: &(impl Array + ?Sized), filter: Option<&BooleanArray>, row: usize) -> bool {
    values.is_valid(row) && filter.is_none_or(|f| f.is_valid(row) && f.value(row))
}
