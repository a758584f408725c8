//! Aggregates whose state is a number that each value is combined with: sums of doubles, extremes, AND, OR and XOR.

use super::fold::{Fold, Folded, counts};
use arrow_array::{Array, ArrayRef, ArrowPrimitiveType, BooleanArray, PrimitiveArray, cast::AsArray, types::*};
use arrow_buffer::NullBuffer;
use arrow_schema::{DataType, TimeUnit};
use datafusion_common::{DataFusionError, Result};
use datafusion_expr::{EmitTo, GroupsAccumulator};
use std::sync::Arc;

/// The operation that combines the bits of `UInt64` values.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum BitOp {
    And,
    Or,
    Xor,
}

/// A number for each group; NULL for a group without values.
struct Number<T: ArrowPrimitiveType, F> {
    values: Vec<T::Native>,
    seen: Vec<bool>,
    combine: F,
    /// The value that a group's first value is combined with.
    start: Option<T::Native>,
    data_type: DataType,
}

/// `combine` makes one of two values; `start` is what a group's first value is combined with, if with anything.
fn number<T: ArrowPrimitiveType>(
    data_type: DataType,
    start: Option<T::Native>,
    combine: impl Fn(T::Native, T::Native) -> T::Native + Send + 'static,
) -> Box<dyn GroupsAccumulator> {
    Box::new(Folded(Number::<T, _> { values: Vec::new(), seen: Vec::new(), combine, start, data_type }))
}

pub fn double_sum() -> Box<dyn GroupsAccumulator> {
    // The sum of nothing but -0 is 0.
    number::<Float64Type>(DataType::Float64, Some(0.0), |sum, value| sum + value)
}

pub fn bits(op: BitOp) -> Box<dyn GroupsAccumulator> {
    match op {
        BitOp::And => number::<UInt64Type>(DataType::UInt64, None, |a, b| a & b),
        BitOp::Or => number::<UInt64Type>(DataType::UInt64, None, |a, b| a | b),
        BitOp::Xor => number::<UInt64Type>(DataType::UInt64, None, |a, b| a ^ b),
    }
}

/// The smallest or the largest value of a numeric or temporal type.
pub fn extreme(ty: &DataType, largest: bool) -> Result<Box<dyn GroupsAccumulator>> {
    macro_rules! of {
        ($arrow:ty) => {
            match largest {
                true => number::<$arrow>(ty.clone(), None, |best, value| if value > best { value } else { best }),
                false => number::<$arrow>(ty.clone(), None, |best, value| if value < best { value } else { best }),
            }
        };
    }
    Ok(match ty {
        DataType::Int8 => of!(Int8Type),
        DataType::Int16 => of!(Int16Type),
        DataType::Int32 => of!(Int32Type),
        DataType::Int64 => of!(Int64Type),
        DataType::UInt8 => of!(UInt8Type),
        DataType::UInt16 => of!(UInt16Type),
        DataType::UInt32 => of!(UInt32Type),
        DataType::UInt64 => of!(UInt64Type),
        DataType::Float32 => of!(Float32Type),
        DataType::Float64 => of!(Float64Type),
        DataType::Decimal64(..) => of!(Decimal64Type),
        DataType::Decimal128(..) => of!(Decimal128Type),
        DataType::Decimal256(..) => of!(Decimal256Type),
        DataType::Date32 => of!(Date32Type),
        DataType::Timestamp(TimeUnit::Microsecond, _) => of!(TimestampMicrosecondType),
        DataType::Duration(TimeUnit::Microsecond) => of!(DurationMicrosecondType),
        other => return Err(DataFusionError::Internal(format!("smallest or largest of {other}"))),
    })
}

impl<T: ArrowPrimitiveType, F: Fn(T::Native, T::Native) -> T::Native + Send + 'static> Fold for Number<T, F> {
    fn update(
        &mut self,
        values: &ArrayRef,
        groups: &[usize],
        filter: Option<&BooleanArray>,
        total: usize,
    ) -> Result<()> {
        self.values.resize(total, T::default_value());
        self.seen.resize(total, false);
        let array = values.as_primitive::<T>();
        let all = array.null_count() == 0 && filter.is_none();
        for (row, (group, value)) in groups.iter().zip(array.values()).enumerate() {
            if all || counts(array, filter, row) {
                let (kept, seen) = (&mut self.values[*group], &mut self.seen[*group]);
                let before = if *seen { Some(*kept) } else { self.start };
                *kept = before.map_or(*value, |before| (self.combine)(before, *value));
                *seen = true;
            }
        }
        Ok(())
    }

    fn emit(&mut self, emit_to: EmitTo) -> ArrayRef {
        let nulls = NullBuffer::from(emit_to.take_needed(&mut self.seen));
        let values = emit_to.take_needed(&mut self.values);
        Arc::new(PrimitiveArray::<T>::new(values.into(), Some(nulls)).with_data_type(self.data_type.clone()))
    }

    fn size(&self) -> usize {
        self.values.capacity() * size_of::<T::Native>() + self.seen.capacity()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use arrow_array::{Decimal64Array, Float64Array, UInt64Array};

    fn run(mut accumulator: Box<dyn GroupsAccumulator>, values: ArrayRef) -> ArrayRef {
        let groups: Vec<usize> = (0..values.len()).map(|row| row % 2).collect();
        accumulator.update_batch(std::slice::from_ref(&values), &groups, None, 3).unwrap();
        let state = accumulator.state(EmitTo::All).unwrap();
        accumulator.merge_batch(&state, &[0, 1, 2], 3).unwrap();
        accumulator.evaluate(EmitTo::All).unwrap()
    }

    #[test]
    fn values_are_combined_by_group_without_nulls() {
        let doubles: ArrayRef = Arc::new(Float64Array::from(vec![Some(1.5), Some(4.0), None, Some(-1.0), Some(2.0)]));
        let sums = run(double_sum(), doubles);
        assert_eq!(sums.as_primitive::<Float64Type>().iter().collect::<Vec<_>>(), [Some(3.5), Some(3.0), None]);
        let words: ArrayRef = Arc::new(UInt64Array::from(vec![6, 1, 3, 1]));
        for (op, want) in [(BitOp::And, [2, 1]), (BitOp::Or, [7, 1]), (BitOp::Xor, [5, 0])] {
            let result = run(bits(op), words.clone());
            let want = [Some(want[0]), Some(want[1]), None];
            assert_eq!(result.as_primitive::<UInt64Type>().iter().collect::<Vec<_>>(), want);
        }
        let ty = DataType::Decimal64(10, 2);
        let decimals = Decimal64Array::from(vec![Some(-5), None, Some(-7)]).with_data_type(ty.clone());
        for (largest, want) in [(true, -5), (false, -7)] {
            let result = run(extreme(&ty, largest).unwrap(), Arc::new(decimals.clone()));
            assert_eq!(result.data_type(), &ty);
            assert_eq!(result.as_primitive::<Decimal64Type>().iter().collect::<Vec<_>>(), [Some(want), None, None]);
        }
    }
}
