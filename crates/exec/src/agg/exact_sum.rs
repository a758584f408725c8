//! SUM of integers and decimals in 128 bits, or in 256 once a value or a sum asks for it, with an error where it does
//! not fit.

use super::{
    fold::Fold,
    lanes::{FEW, LANES, in_lanes},
};
use crate::{error::external, expr::decimal256::widest_of};
use arrow_array::{
    Array, ArrayRef, BooleanArray, Decimal128Array, Decimal256Array, PrimitiveArray, cast::AsArray, types::*,
};
use arrow_buffer::{NullBuffer, i256};
use arrow_schema::DataType;
use datafusion_common::{DataFusionError, Result};
use datafusion_expr::EmitTo;
use muster_storage::processor::in_wide_registers;
use muster_types::{
    ErrorCode, SqlError,
    decimal::{beyond_i64, fits_256},
};
use std::sync::Arc;

/// Sums by group; the result has as many digits behind the point as the argument has.
pub struct ExactSum {
    sums: Vec<i128>,
    /// The sums in 256 bits; `None` while all fit 128. `sums` is empty then.
    widest: Option<Vec<i256>>,
    /// True if a group has had any value.
    seen: Vec<bool>,
    result: DataType,
}

/// A sum does not fit 128 bits. Sums are what they were before the rows.
struct Overflow;

impl ExactSum {
    /// `result`: `Decimal128` or `Decimal256`.
    pub fn new(result: DataType) -> ExactSum {
        ExactSum { sums: Vec::new(), widest: None, seen: Vec::new(), result }
    }

    fn add_all<T: ArrowPrimitiveType>(
        &mut self,
        groups: &[usize],
        array: &PrimitiveArray<T>,
        filter: Option<&BooleanArray>,
        few: bool,
    ) -> Result<(), Overflow>
    where
        T::Native: Addend,
    {
        let values = array.values();
        match few {
            true => self.add_to_few(groups, values),
            false => self.add(groups, array.nulls(), filter, |row| values[row].into()),
        }
    }

    fn add(
        &mut self,
        groups: &[usize],
        nulls: Option<&NullBuffer>,
        filter: Option<&BooleanArray>,
        value: impl Fn(usize) -> i128,
    ) -> Result<(), Overflow> {
        let mut overflow = false;
        each_counted(groups, nulls, filter, |row, group| {
            let (sum, o) = self.sums[group].overflowing_add(value(row));
            overflow |= o;
            self.sums[group] = sum;
            self.seen[group] = true;
        });
        if !overflow {
            return Ok(());
        }
        each_counted(groups, nulls, filter, |row, group| self.sums[group] = self.sums[group].wrapping_sub(value(row)));
        Err(Overflow)
    }

    /// Adds in 256 bits.
    fn add_widest(
        &mut self,
        groups: &[usize],
        array: &Decimal256Array,
        filter: Option<&BooleanArray>,
        total: usize,
    ) -> Result<()> {
        let sums = std::mem::take(&mut self.sums);
        let widest = self.widest.get_or_insert_with(|| sums.into_iter().map(i256::from_i128).collect());
        widest.resize(total, i256::ZERO);
        let mut overflow = false;
        each_counted(groups, array.nulls(), filter, |row, group| {
            let sum = widest[group].checked_add(array.value(row));
            overflow |= !sum.is_some_and(fits_256);
            widest[group] = sum.unwrap_or(i256::ZERO);
            self.seen[group] = true;
        });
        if overflow { Err(out_of_range()) } else { Ok(()) }
    }

    /// Adds all rows' values, none of them NULL, to the sums of at most [`FEW`] groups.
    fn add_to_few<V: Addend>(&mut self, groups: &[usize], values: &[V]) -> Result<(), Overflow> {
        let sums = match self.sums.len() {
            1 => V::sum(values).map(|sum| std::array::from_fn(|group| if group == 0 { sum } else { 0 })),
            _ => V::sums(groups, values),
        };
        let Some(sums) = sums else {
            return self.add(groups, None, None, |row| values[row].into());
        };
        if self.sums.iter().zip(sums).any(|(sum, add)| sum.checked_add(add).is_none()) {
            return Err(Overflow);
        }
        if self.seen.contains(&false) {
            groups.iter().for_each(|group| self.seen[*group] = true);
        }
        self.sums.iter_mut().zip(sums).for_each(|(sum, add)| *sum += add);
        Ok(())
    }
}

/// Calls `f` with each row that counts and its group: those with a value that the filter keeps.
#[inline(always)]
fn each_counted(
    groups: &[usize],
    nulls: Option<&NullBuffer>,
    filter: Option<&BooleanArray>,
    mut f: impl FnMut(usize, usize),
) {
    if nulls.is_none() && filter.is_none() {
        return groups.iter().enumerate().for_each(|(row, group)| f(row, *group));
    }
    for (row, group) in groups.iter().enumerate() {
        let counts = nulls.is_none_or(|n| n.is_valid(row)) && filter.is_none_or(|f| f.is_valid(row) && f.value(row));
        if counts {
            f(row, *group);
        }
    }
}

/// A value that is summed: of a 64-bit or a 128-bit column.
trait Addend: Copy + Into<i128> {
    /// The sums of the rows' values by group; `None` if they might overflow.
    fn sums(groups: &[usize], values: &[Self]) -> Option<[i128; FEW]>;
    /// The sum of all values; `None` if it might overflow.
    fn sum(values: &[Self]) -> Option<i128>;
}

/// Returns true if no sum of some of the values overflows.
fn sums_fit(values: &[i64]) -> bool {
    let bits = in_wide_registers(move || values.iter().fold(0, |all, v| all | (v ^ (v >> 63))));
    // So many values of so many bits, and a sign.
    (64 - bits.leading_zeros()) + (usize::BITS - values.len().leading_zeros()) <= 63
}

impl Addend for i64 {
    fn sums(groups: &[usize], values: &[i64]) -> Option<[i128; FEW]> {
        if !sums_fit(values) {
            return i128_sums(groups, values);
        }
        let mut lanes = [[0i64; FEW]; LANES];
        in_lanes(groups, values, |lane, group, value| lanes[lane][group] += value);
        Some(std::array::from_fn(|group| lanes.iter().map(|lane| i128::from(lane[group])).sum()))
    }

    fn sum(values: &[i64]) -> Option<i128> {
        Some(match sums_fit(values) {
            true => in_wide_registers(move || values.iter().sum::<i64>()).into(),
            // 2^64 values of 2^63 fit.
            false => values.iter().map(|value| i128::from(*value)).sum(),
        })
    }
}

impl Addend for i128 {
    fn sums(groups: &[usize], values: &[i128]) -> Option<[i128; FEW]> {
        i128_sums(groups, values)
    }

    fn sum(values: &[i128]) -> Option<i128> {
        values.iter().try_fold(0i128, |sum, value| sum.checked_add(*value))
    }
}

/// Sums in 128 bits. `None` if a value does not fit 64: without such, lanes cannot overflow.
fn i128_sums<V: Copy + Into<i128>>(groups: &[usize], values: &[V]) -> Option<[i128; FEW]> {
    let mut lanes = [[0i128; FEW]; LANES];
    let mut beyond = 0;
    in_lanes(groups, values, |lane, group, value| {
        let value: i128 = value.into();
        beyond |= beyond_i64(value);
        lanes[lane][group] += value as i64 as i128;
    });
    (beyond == 0).then(|| std::array::from_fn(|group| lanes.iter().map(|lane| lane[group]).sum()))
}

fn out_of_range() -> DataFusionError {
    external(SqlError::new(ErrorCode::DataOutOfRange, "DECIMAL value is out of range in 'sum'"))
}

impl Fold for ExactSum {
    fn update(
        &mut self,
        values: &ArrayRef,
        groups: &[usize],
        filter: Option<&BooleanArray>,
        total: usize,
    ) -> Result<()> {
        self.seen.resize(total, false);
        if self.widest.is_some() || matches!(values.data_type(), DataType::Decimal256(..)) {
            return self.add_widest(groups, &widest_of(values)?, filter, total);
        }
        self.sums.resize(total, 0);
        let few = total <= FEW && values.null_count() == 0 && filter.is_none();
        let added = match values.data_type() {
            DataType::Int64 => self.add_all(groups, values.as_primitive::<Int64Type>(), filter, few),
            DataType::Decimal64(..) => self.add_all(groups, values.as_primitive::<Decimal64Type>(), filter, few),
            _ => self.add_all(groups, values.as_primitive::<Decimal128Type>(), filter, few),
        };
        match added {
            Ok(()) => Ok(()),
            Err(Overflow) if matches!(self.result, DataType::Decimal256(..)) => {
                self.add_widest(groups, &widest_of(values)?, filter, total)
            }
            Err(Overflow) => Err(out_of_range()),
        }
    }

    fn emit(&mut self, emit_to: EmitTo) -> ArrayRef {
        let nulls = Some(NullBuffer::from(emit_to.take_needed(&mut self.seen)));
        if let Some(widest) = &mut self.widest {
            let array = Decimal256Array::new(emit_to.take_needed(widest).into(), nulls);
            return Arc::new(array.with_data_type(self.result.clone()));
        }
        let array = Decimal128Array::new(emit_to.take_needed(&mut self.sums).into(), nulls);
        match self.result {
            DataType::Decimal256(..) => {
                let widest: Decimal256Array = array.unary(i256::from_i128);
                Arc::new(widest.with_data_type(self.result.clone()))
            }
            _ => Arc::new(array.with_data_type(self.result.clone())),
        }
    }

    /// The values of the rows, each as the sum of a group of its own. Their type is not that of the input.
    fn each(&self, values: &ArrayRef, filter: Option<&BooleanArray>) -> Result<ArrayRef> {
        let mut each = ExactSum::new(self.result.clone());
        let rows: Vec<usize> = (0..values.len()).collect();
        each.update(values, &rows, filter, rows.len())?;
        Ok(each.emit(EmitTo::All))
    }

    fn size(&self) -> usize {
        let widest = self.widest.as_ref().map_or(0, Vec::capacity) * size_of::<i256>();
        self.sums.capacity() * size_of::<i128>() + widest + self.seen.capacity()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::agg::fold::Folded;
    use datafusion_expr::GroupsAccumulator;

    #[test]
    fn nulls_do_not_count_and_overflow_is_an_error() {
        let mut sum = Folded(ExactSum::new(DataType::Decimal128(38, 2)));
        let values: ArrayRef = Arc::new(
            Decimal128Array::from(vec![Some(150), None, Some(-50)]).with_data_type(DataType::Decimal128(15, 2)),
        );
        sum.update_batch(std::slice::from_ref(&values), &[0, 1, 0], None, 2).unwrap();
        let state = sum.state(EmitTo::All).unwrap();
        let mut merged = Folded(ExactSum::new(DataType::Decimal128(38, 2)));
        merged.merge_batch(&state, &[0, 1], 2).unwrap();
        merged.update_batch(&[values], &[0, 1, 0], None, 2).unwrap();
        let result = merged.evaluate(EmitTo::All).unwrap();
        assert_eq!(result.as_primitive::<Decimal128Type>().iter().collect::<Vec<_>>(), [Some(200), None]);
        let huge: ArrayRef = Arc::new(Decimal128Array::from(vec![i128::MAX, 1]));
        assert!(sum.update_batch(&[huge], &[0, 0], None, 1).is_err());
    }

    #[test]
    fn sums_of_64_bit_values_never_wrap() {
        let extremes = [i64::MAX, i64::MAX, i64::MIN, -1, i64::MAX, 0, i64::MIN + 1];
        for (groups, rows, wide) in [(1, 999, false), (1, 999, true), (5, 999, true), (64, 999, true), (65, 999, true)]
        {
            let value = |i: usize| if wide { extremes[i % extremes.len()] } else { i as i64 * 7919 % 4001 - 2000 };
            let numbers: Vec<usize> = (0..rows).map(|i| i * i % groups).collect();
            let values: ArrayRef = Arc::new(arrow_array::Int64Array::from_iter_values((0..rows).map(value)));
            let mut sum = Folded(ExactSum::new(DataType::Decimal128(38, 0)));
            let mut expected = vec![None; groups];
            for _ in 0..2 {
                sum.update_batch(std::slice::from_ref(&values), &numbers, None, groups).unwrap();
                for (i, group) in numbers.iter().enumerate() {
                    *expected[*group].get_or_insert(0i128) += i128::from(value(i));
                }
            }
            let result = sum.evaluate(EmitTo::All).unwrap();
            assert_eq!(result.as_primitive::<Decimal128Type>().iter().collect::<Vec<_>>(), expected);
        }
        let mut sum = Folded(ExactSum::new(DataType::Decimal128(38, 0)));
        let huge: ArrayRef = Arc::new(Decimal128Array::from(vec![i128::MAX, i128::MAX]));
        assert!(sum.update_batch(&[huge], &[0, 0], None, 1).is_err(), "beyond 128 bits");
    }

    #[test]
    fn few_groups_are_summed_as_many_are() {
        let rows = 10_007;
        let value = |i: usize| (i as i128 * 7919 % 4001 - 2000) << if i == 77 { 70 } else { 0 };
        for (groups, wide) in [(1, false), (5, false), (64, false), (65, false), (5, true)] {
            let numbers: Vec<usize> = (0..rows).map(|i| i * i % groups).collect();
            let value = |i: usize| if wide { value(i) } else { value(i) as i64 as i128 };
            let values: ArrayRef = Arc::new(Decimal128Array::from_iter_values((0..rows).map(value)));
            let mut sum = Folded(ExactSum::new(DataType::Decimal128(38, 0)));
            sum.update_batch(std::slice::from_ref(&values), &numbers, None, groups).unwrap();
            let mut expected = vec![None; groups];
            for (i, group) in numbers.iter().enumerate() {
                *expected[*group].get_or_insert(0) += value(i);
            }
            let result = sum.evaluate(EmitTo::All).unwrap();
            assert_eq!(result.as_primitive::<Decimal128Type>().iter().collect::<Vec<_>>(), expected);
        }
    }

    /// Sums that pass 128 bits, in the middle of a batch or not, for few groups and for many, with NULLs and without.
    #[test]
    fn sums_go_on_in_256_bits() {
        let ty = DataType::Decimal256(65, 0);
        let rows = 5003;
        for (groups, nulls) in [(1, false), (5, false), (70, false), (5, true), (70, true)] {
            let value = |i: usize| match i % 3 {
                _ if nulls && i.is_multiple_of(11) => None,
                0 => Some(i128::MAX - i as i128),
                1 => Some(i128::MAX / 2),
                _ => Some(-(i as i128)),
            };
            let numbers: Vec<usize> = (0..rows).map(|i| i * i % groups).collect();
            let mut expected = vec![None; groups];
            for (i, group) in numbers.iter().enumerate() {
                if let Some(value) = value(i) {
                    let sum = expected[*group].get_or_insert(i256::ZERO);
                    *sum = sum.wrapping_add(i256::from_i128(value));
                }
            }
            let mut sum = Folded(ExactSum::new(ty.clone()));
            for start in [0, 2, 1000] {
                let end = if start == 0 {
                    2
                } else if start == 2 {
                    1000
                } else {
                    rows
                };
                let values: ArrayRef = Arc::new(Decimal128Array::from_iter((start..end).map(value)));
                sum.update_batch(&[values], &numbers[start..end], None, groups).unwrap();
            }
            let state = sum.state(EmitTo::All).unwrap();
            let mut merged = Folded(ExactSum::new(ty.clone()));
            merged.merge_batch(&state, &(0..groups).collect::<Vec<_>>(), groups).unwrap();
            let result = merged.evaluate(EmitTo::All).unwrap();
            assert_eq!(result.data_type(), &ty);
            assert_eq!(result.as_primitive::<Decimal256Type>().iter().collect::<Vec<_>>(), expected);
        }
        let limit = muster_types::decimal::pow10_256(76).unwrap().wrapping_sub(i256::ONE);
        let most: ArrayRef = Arc::new(Decimal256Array::from(vec![limit, i256::ONE]));
        assert!(Folded(ExactSum::new(ty)).update_batch(&[most], &[0, 0], None, 1).is_err(), "beyond 76 digits");
    }
}
