//! Functions of exact numbers: ABS, SIGN, CEIL, FLOOR, ROUND and TRUNCATE of integers and of decimals of 64 bits;
//! BIT_COUNT of integers.

use super::{CallShape, ColumnFunction, operand::Operand};
use crate::arrow_value::arrow_type;
use arrow_array::{Array, ArrayRef, Decimal64Array, Int64Array, cast::AsArray, types::*};
use arrow_buffer::{NullBuffer, ScalarBuffer};
use arrow_schema::DataType;
use muster_algebra::ScalarFunction;
use muster_types::{SqlType, Value};
use std::sync::Arc;

/// Digits of a number that 64 bits hold in any case.
const DIGITS: u8 = 18;

/// Functions of an integer that is signed, or a decimal of 64 bits, and a constant number of digits.
pub(super) fn of(function: ScalarFunction, call: &CallShape) -> Option<ColumnFunction> {
    let scale = match *call.types.first()? {
        SqlType::Int { unsigned: false, .. } => 0,
        SqlType::Decimal { precision, scale } if precision <= DIGITS => scale,
        _ => return None,
    };
    let digits = match (call.types.len(), call.constants.get(1)) {
        (1, None) => 0,
        (2, Some(Some(Value::Int(digits)))) => *digits,
        _ => return None,
    };
    if function == ScalarFunction::BitCount && scale > 0 {
        return None;
    }
    let change = change(function, scale, digits)?;
    let result_scale = match function {
        ScalarFunction::Abs => scale,
        ScalarFunction::Round | ScalarFunction::Truncate => scale.min(u8::try_from(digits).ok()?),
        _ => 0,
    };
    let result = arrow_type(&call.result);
    let fits = match result {
        DataType::Int64 => result_scale == 0,
        DataType::Decimal64(_, scale) => scale == result_scale as i8,
        _ => false,
    };
    fits.then(|| Box::new(move |args: &[Operand], _| mapped(args, &change, &result)) as ColumnFunction)
}

/// A change of an unscaled number; `None` where 64 bits do not hold the result.
type Change = Box<dyn Fn(i64) -> Option<i64> + Send + Sync>;

/// `scale`: digits behind the point of what is changed; `digits`: those that ROUND and TRUNCATE leave.
fn change(function: ScalarFunction, scale: u8, digits: i64) -> Option<Change> {
    use ScalarFunction::*;
    let whole = 10i64.checked_pow(u32::from(scale))?;
    Some(match function {
        Abs => Box::new(i64::checked_abs),
        Sign => Box::new(|x| Some(x.signum())),
        BitCount => Box::new(|x| Some(x.count_ones().into())),
        Floor => Box::new(move |x| Some(x.div_euclid(whole))),
        Ceil => Box::new(move |x| Some(x.div_euclid(whole) + i64::from(x.rem_euclid(whole) != 0))),
        Round | Truncate => {
            let dropped = u32::from(scale).saturating_sub(u32::try_from(digits).ok()?);
            let unit = 10i64.checked_pow(dropped)?;
            match function {
                Truncate => Box::new(move |x| Some(x / unit)),
                _ => Box::new(move |x| Some(rounded_quotient(x, unit))),
            }
        }
        _ => return None,
    })
}

/// The quotient, halves away from zero.
fn rounded_quotient(x: i64, unit: i64) -> i64 {
    let (quotient, rest) = (x / unit, x % unit);
    match rest.unsigned_abs() >= unit.unsigned_abs() - rest.unsigned_abs() && unit > 1 {
        true => quotient + x.signum(),
        false => quotient,
    }
}

fn mapped(args: &[Operand], change: &Change, result: &DataType) -> Option<ArrayRef> {
    let Some(Operand::Column(column)) = args.first() else { return None };
    let numbers: ScalarBuffer<i64> = match column.data_type() {
        DataType::Decimal64(..) => column.as_primitive::<Decimal64Type>().values().clone(),
        _ => arrow_cast::cast(column, &DataType::Int64).ok()?.as_primitive::<Int64Type>().values().clone(),
    };
    let nulls: Option<NullBuffer> = column.nulls().cloned();
    let mut changed = Vec::with_capacity(numbers.len());
    for (row, number) in numbers.iter().enumerate() {
        match change(*number) {
            Some(number) => changed.push(number),
            None if nulls.as_ref().is_some_and(|nulls| nulls.is_null(row)) => changed.push(0),
            None => return None,
        }
    }
    Some(match result {
        DataType::Decimal64(precision, scale) => {
            let decimals = Decimal64Array::new(changed.into(), nulls);
            Arc::new(decimals.with_precision_and_scale(*precision, *scale).ok()?)
        }
        _ => Arc::new(Int64Array::new(changed.into(), nulls)),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn decimals_are_shortened() {
        use ScalarFunction::*;
        for (function, digits, number, want) in [
            (Round, 1, 1245, 125),
            (Round, 1, -1245, -125),
            (Round, 1, 1244, 124),
            (Round, 2, 1245, 1245),
            (Round, 5, -1245, -1245),
            (Round, 0, 50, 1),
            (Round, 0, -49, 0),
            (Truncate, 1, -1249, -124),
            (Floor, 0, -1, -1),
            (Floor, 0, -100, -1),
            (Floor, 0, 199, 1),
            (Ceil, 0, -199, -1),
            (Ceil, 0, 101, 2),
            (Ceil, 0, 100, 1),
            (Sign, 0, -3, -1),
            (Abs, 0, -3, 3),
        ] {
            let change = change(function, 2, digits).expect("a function of decimals");
            assert_eq!(change(number), Some(want), "{function:?} {digits} of {number}");
        }
        assert_eq!(change(Abs, 0, 0).expect("ABS")(i64::MIN), None);
    }
}
