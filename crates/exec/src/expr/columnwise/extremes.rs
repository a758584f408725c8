//! GREATEST and LEAST of numbers of one kind.

use super::{CallShape, ColumnFunction, operand::Operand};
use arrow_array::{Array, ArrayRef, ArrowPrimitiveType, PrimitiveArray, cast::AsArray, types::*};
use arrow_buffer::NullBuffer;
use arrow_schema::DataType;
use muster_algebra::ScalarFunction;
use muster_types::{SqlType, Value};
use std::sync::Arc;

/// The function over columns of GREATEST or LEAST of signed integers or of doubles; `None` for other types.
pub(super) fn of(function: ScalarFunction, call: &CallShape) -> Option<ColumnFunction> {
    let is_greatest = function == ScalarFunction::Greatest;
    let all = |is: fn(&SqlType) -> bool| call.types.iter().all(is);
    match call.result {
        SqlType::BIGINT if all(|ty| matches!(ty, SqlType::Int { unsigned: false, .. })) => {
            Some(extreme::<Int64Type>(is_greatest, |value| match value {
                Value::Int(n) => Some(*n),
                _ => None,
            }))
        }
        SqlType::Double if all(|ty| *ty == SqlType::Double) => {
            Some(extreme::<Float64Type>(is_greatest, |value| match value {
                Value::Double(x) => Some(*x),
                _ => None,
            }))
        }
        _ => None,
    }
}

/// The last of the greatest, or the first of the least, where no argument is NULL.
fn extreme<T: ArrowPrimitiveType>(is_greatest: bool, constant: fn(&Value) -> Option<T::Native>) -> ColumnFunction
where
    T::Native: PartialOrd,
{
    Box::new(move |args, rows| {
        let column = |operand: &Operand| values::<T>(operand, rows, constant);
        let (first, rest) = args.split_first()?;
        let first = column(first)?;
        let (mut best, mut nulls) = (first.values().to_vec(), first.nulls().cloned());
        for other in rest {
            let other = column(other)?;
            for (best, other) in best.iter_mut().zip(other.values()) {
                let is_better = if is_greatest { *other >= *best } else { *other < *best };
                if is_better {
                    *best = *other;
                }
            }
            nulls = NullBuffer::union(nulls.as_ref(), other.nulls());
        }
        Some(Arc::new(PrimitiveArray::<T>::new(best.into(), nulls)) as ArrayRef)
    })
}

fn values<T: ArrowPrimitiveType>(
    operand: &Operand,
    rows: usize,
    constant: fn(&Value) -> Option<T::Native>,
) -> Option<PrimitiveArray<T>> {
    match operand {
        Operand::Constant(value) => Some(PrimitiveArray::from_value(constant(value)?, rows)),
        Operand::Column(column) => {
            let ty: DataType = T::DATA_TYPE;
            Some(arrow_cast::cast(column, &ty).ok()?.as_primitive::<T>().clone())
        }
    }
}
