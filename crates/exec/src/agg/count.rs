//! COUNT.

use super::{
    fold::counts,
    lanes::{self, FEW},
};
use arrow_array::{Array, ArrayRef, BooleanArray, Int64Array, cast::AsArray, types::Int64Type};
use arrow_schema::DataType;
use datafusion_common::Result;
use datafusion_expr::{EmitTo, GroupsAccumulator};
use std::sync::Arc;

/// Number of rows of each group.
pub struct Count {
    counts: Vec<i64>,
    /// True if rows count in which the argument is NULL.
    all_rows: bool,
}

impl Count {
    pub fn new(all_rows: bool) -> Count {
        Count { counts: Vec::new(), all_rows }
    }

    /// Returns true if every row of such values counts.
    pub fn takes_all(&self, values: &dyn Array) -> bool {
        self.all_rows || values.logical_null_count() == 0
    }

    /// Takes in rows that all count: how many each of the first groups has. There are `total` groups now.
    pub fn add(&mut self, rows: &[i64], total: usize) {
        self.counts.resize(total, 0);
        self.counts.iter_mut().zip(rows).for_each(|(count, rows)| *count += rows);
    }

    fn take(&mut self, emit_to: EmitTo) -> ArrayRef {
        Arc::new(Int64Array::from(emit_to.take_needed(&mut self.counts)))
    }

    /// Returns true if no row counts: the array has nothing but NULL.
    fn takes_none(&self, values: &dyn Array) -> bool {
        !self.all_rows && *values.data_type() == DataType::Null
    }

    fn row_counts(&self, values: &dyn Array, filter: Option<&BooleanArray>, row: usize) -> bool {
        match self.all_rows {
            true => filter.is_none_or(|f| f.is_valid(row) && f.value(row)),
            false => counts(values, filter, row),
        }
    }
}

impl GroupsAccumulator for Count {
    fn update_batch(
        &mut self,
        values: &[ArrayRef],
        groups: &[usize],
        filter: Option<&BooleanArray>,
        total: usize,
    ) -> Result<()> {
        self.counts.resize(total, 0);
        let all = filter.is_none() && self.takes_all(&values[0]);
        if all && total <= FEW {
            self.add(&lanes::count(groups), total);
        } else if all {
            groups.iter().for_each(|group| self.counts[*group] += 1);
        } else if !self.takes_none(&values[0]) {
            for (row, group) in groups.iter().enumerate() {
                self.counts[*group] += i64::from(self.row_counts(values[0].as_ref(), filter, row));
            }
        }
        Ok(())
    }

    fn evaluate(&mut self, emit_to: EmitTo) -> Result<ArrayRef> {
        Ok(self.take(emit_to))
    }

    fn state(&mut self, emit_to: EmitTo) -> Result<Vec<ArrayRef>> {
        Ok(vec![self.take(emit_to)])
    }

    fn merge_batch(&mut self, values: &[ArrayRef], groups: &[usize], total: usize) -> Result<()> {
        self.counts.resize(total, 0);
        let parts = values[0].as_primitive::<Int64Type>().values();
        groups.iter().zip(parts).for_each(|(group, part)| self.counts[*group] += part);
        Ok(())
    }

    fn convert_to_state(&self, values: &[ArrayRef], filter: Option<&BooleanArray>) -> Result<Vec<ArrayRef>> {
        let array = values[0].as_ref();
        let none = self.takes_none(array);
        let rows = (0..array.len()).map(|row| i64::from(!none && self.row_counts(array, filter, row)));
        Ok(vec![Arc::new(Int64Array::from_iter_values(rows))])
    }

    fn size(&self) -> usize {
        self.counts.capacity() * size_of::<i64>()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nulls_count_only_as_rows() {
        let values: ArrayRef = Arc::new(Int64Array::from(vec![Some(1), None, Some(3), None, Some(5)]));
        let groups = [0, 0, 1, 2, 1];
        for (all_rows, want) in [(true, [2, 2, 1]), (false, [1, 2, 0])] {
            let mut count = Count::new(all_rows);
            count.update_batch(std::slice::from_ref(&values), &groups, None, 3).unwrap();
            let each = count.convert_to_state(std::slice::from_ref(&values), None).unwrap();
            let mut merged = Count::new(all_rows);
            merged.merge_batch(&each, &groups, 3).unwrap();
            for count in [&mut count, &mut merged] {
                let result = count.evaluate(EmitTo::All).unwrap();
                assert_eq!(result.as_primitive::<Int64Type>().values(), &want);
            }
        }
    }

    #[test]
    fn nothing_but_nulls_does_not_count() {
        let values: ArrayRef = Arc::new(arrow_array::NullArray::new(3));
        let mut count = Count::new(false);
        count.update_batch(std::slice::from_ref(&values), &[0, 1, 0], None, 2).unwrap();
        let each = count.convert_to_state(&[values], None).unwrap();
        assert_eq!(each[0].as_primitive::<Int64Type>().values(), &[0, 0, 0]);
        assert_eq!(count.counts, [0, 0]);
    }

    #[test]
    fn few_and_many_groups_are_counted_alike() {
        for groups in [1, 7, FEW, FEW + 1, 1000] {
            let rows: Vec<usize> = (0..5003).map(|i| i * i % groups).collect();
            let values: ArrayRef = Arc::new(arrow_array::NullArray::new(rows.len()));
            let mut count = Count::new(true);
            count.update_batch(&[values], &rows, None, groups).unwrap();
            let mut want = vec![0i64; groups];
            rows.iter().for_each(|group| want[*group] += 1);
            assert_eq!(count.counts, want);
        }
    }
}
