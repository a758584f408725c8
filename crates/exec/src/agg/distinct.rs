//! DISTINCT inside an aggregate: each value of a group counts once.
//!
//! The values met are the groups of a hash table of DataFusion's, by group and value; another aggregate sums or counts
//! them at the end. What partitions hand over is a list of values for each group.

use super::fold::counts;
use arrow_array::{
    Array, ArrayRef, BooleanArray, ListArray, UInt32Array, UInt64Array, cast::AsArray, types::UInt64Type,
};
use arrow_buffer::OffsetBuffer;
use arrow_schema::{DataType, Field, FieldRef, Schema};
use arrow_select::{filter::filter, take::take};
use datafusion_common::{DataFusionError, Result};
use datafusion_expr::{EmitTo, GroupsAccumulator};
use datafusion_physical_plan::aggregates::{
    group_values::{GroupValues, new_group_values},
    order::GroupOrdering,
};
use std::sync::Arc;

/// See the module.
pub struct Distinct {
    /// The aggregate that each distinct value is given to once.
    inner: Box<dyn GroupsAccumulator>,
    value_type: DataType,
    /// Keys: group, value.
    met: Box<dyn GroupValues>,
    /// Number of groups.
    total: usize,
    places: Vec<usize>,
}

/// The type of what partitions hand over.
pub fn state_type(value_type: &DataType) -> DataType {
    DataType::List(item(value_type))
}

fn item(value_type: &DataType) -> FieldRef {
    Arc::new(Field::new_list_field(value_type.clone(), true))
}

impl Distinct {
    /// `inner`: of values of this type, none of them NULL.
    pub fn new(inner: Box<dyn GroupsAccumulator>, value_type: DataType) -> Result<Distinct> {
        let met = table(&value_type)?;
        Ok(Distinct { inner, value_type, met, total: 0, places: Vec::new() })
    }

    fn add(&mut self, groups: UInt64Array, values: ArrayRef) -> Result<()> {
        self.met.intern(&[Arc::new(groups), values], &mut self.places)
    }

    /// Groups and values of all that was met in the groups that are emitted; those of the others stay, with their new
    /// numbers.
    fn take(&mut self, emit_to: EmitTo) -> Result<(usize, UInt64Array, ArrayRef)> {
        let met = std::mem::replace(&mut self.met, table(&self.value_type)?).emit(EmitTo::All)?;
        let [groups, values] = met.as_slice() else {
            return Err(DataFusionError::Internal("groups of distinct values".into()));
        };
        let groups = groups.as_primitive::<UInt64Type>().clone();
        let emitted = match emit_to {
            EmitTo::All => self.total,
            EmitTo::First(n) => n,
        };
        self.total -= emitted;
        let border = emitted as u64;
        if self.total == 0 {
            return Ok((emitted, groups, values.clone()));
        }
        let first = BooleanArray::from_unary(&groups, |group| group < border);
        let rest = BooleanArray::from_unary(&groups, |group| group >= border);
        let rest_groups = filter(&groups, &rest)?.as_primitive::<UInt64Type>().unary(|group| group - border);
        self.add(rest_groups, filter(values, &rest)?)?;
        Ok((emitted, filter(&groups, &first)?.as_primitive().clone(), filter(values, &first)?))
    }
}

fn table(value_type: &DataType) -> Result<Box<dyn GroupValues>> {
    let fields = vec![Field::new("group", DataType::UInt64, false), Field::new("value", value_type.clone(), true)];
    new_group_values(Arc::new(Schema::new(fields)), &GroupOrdering::None)
}

impl GroupsAccumulator for Distinct {
    fn update_batch(
        &mut self,
        values: &[ArrayRef],
        groups: &[usize],
        filter_of_rows: Option<&BooleanArray>,
        total: usize,
    ) -> Result<()> {
        self.total = total;
        let values = &values[0];
        let group_numbers = UInt64Array::from_iter_values(groups.iter().map(|g| *g as u64));
        if values.logical_null_count() == 0 && filter_of_rows.is_none() {
            return self.add(group_numbers, values.clone());
        }
        let nulls = values.logical_nulls();
        let counted: BooleanArray = (0..values.len())
            .map(|row| {
                let valid = nulls.as_ref().is_none_or(|n| n.is_valid(row));
                Some(valid && counts(values.as_ref(), filter_of_rows, row))
            })
            .collect();
        self.add(filter(&group_numbers, &counted)?.as_primitive().clone(), filter(values, &counted)?)
    }

    fn evaluate(&mut self, emit_to: EmitTo) -> Result<ArrayRef> {
        let (total, groups, values) = self.take(emit_to)?;
        let groups: Vec<usize> = groups.values().iter().map(|g| *g as usize).collect();
        self.inner.update_batch(&[values], &groups, None, total)?;
        self.inner.evaluate(EmitTo::All)
    }

    fn state(&mut self, emit_to: EmitTo) -> Result<Vec<ArrayRef>> {
        let (total, groups, values) = self.take(emit_to)?;
        let mut lengths = vec![0; total];
        groups.values().iter().for_each(|group| lengths[*group as usize] += 1);
        let mut order: Vec<u32> = (0..groups.len() as u32).collect();
        order.sort_by_key(|row| groups.value(*row as usize));
        let values = take(&values, &UInt32Array::from(order), None)?;
        let offsets = OffsetBuffer::from_lengths(lengths);
        Ok(vec![Arc::new(ListArray::new(item(&self.value_type), offsets, values, None))])
    }

    fn merge_batch(&mut self, values: &[ArrayRef], groups: &[usize], total: usize) -> Result<()> {
        self.total = total;
        let lists = values[0].as_list::<i32>();
        for (row, group) in groups.iter().enumerate().filter(|(row, _)| lists.is_valid(*row)) {
            let values = lists.value(row);
            self.add(UInt64Array::from_value(*group as u64, values.len()), values)?;
        }
        Ok(())
    }

    fn convert_to_state(&self, values: &[ArrayRef], filter_of_rows: Option<&BooleanArray>) -> Result<Vec<ArrayRef>> {
        let inner = Box::new(super::count::Count::new(true));
        let mut each = Distinct::new(inner, self.value_type.clone())?;
        let rows: Vec<usize> = (0..values[0].len()).collect();
        each.update_batch(values, &rows, filter_of_rows, rows.len())?;
        each.state(EmitTo::All)
    }

    fn size(&self) -> usize {
        self.inner.size() + self.met.size() + self.places.capacity() * size_of::<usize>()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::agg::count::Count;
    use arrow_array::{StringViewArray, types::Int64Type};

    fn distinct() -> Distinct {
        Distinct::new(Box::new(Count::new(true)), DataType::Utf8View).unwrap()
    }

    fn counts_of(accumulator: &mut Distinct, emit_to: EmitTo) -> Vec<i64> {
        accumulator.evaluate(emit_to).unwrap().as_primitive::<Int64Type>().values().to_vec()
    }

    #[test]
    fn each_value_of_a_group_counts_once() {
        let texts: ArrayRef =
            Arc::new(StringViewArray::from(vec![Some("a"), Some("a"), None, Some("b"), Some("a"), Some("b")]));
        let groups = [0, 0, 1, 0, 2, 2];
        let mut parts = distinct();
        parts.update_batch(std::slice::from_ref(&texts), &groups, None, 4).unwrap();
        let state = parts.state(EmitTo::All).unwrap();
        assert_eq!(state[0].data_type(), &state_type(&DataType::Utf8View));
        let each = parts.convert_to_state(std::slice::from_ref(&texts), None).unwrap();
        let mut whole = distinct();
        whole.merge_batch(&state, &[0, 1, 2, 3], 4).unwrap();
        whole.merge_batch(&each, &groups, 4).unwrap();
        whole.update_batch(&[texts], &groups, None, 4).unwrap();
        assert_eq!(counts_of(&mut whole, EmitTo::First(2)), [2, 0]);
        assert_eq!(counts_of(&mut whole, EmitTo::All), [2, 0]);
    }
}
