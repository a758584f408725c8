//! Functions of doubles: roots, powers, logarithms, angles, rounding.

use super::{CallShape, ColumnFunction, operand::Operand};
use arrow_array::{Array, ArrayRef, Float64Array, Int64Array, cast::AsArray};
use arrow_buffer::NullBuffer;
use arrow_schema::DataType;
use muster_algebra::ScalarFunction;
use muster_types::{SqlType, Value, cast::to_double};
use std::{f64::consts::PI, sync::Arc};

/// A function of one double; `None` where the result is NULL, or the call has a warning or an error.
type OfDouble = fn(f64) -> Option<f64>;

/// Functions of integers and doubles; the result is a double, of SIGN an integer.
pub(super) fn of(function: ScalarFunction, call: &CallShape) -> Option<ColumnFunction> {
    let is_number = |ty: &SqlType| matches!(ty, SqlType::Int { .. } | SqlType::Double);
    if !call.types.iter().all(is_number) {
        return None;
    }
    if function == ScalarFunction::Sign && call.types == [SqlType::Double] && call.result == SqlType::BIGINT {
        return Some(Box::new(signs));
    }
    if call.result != SqlType::Double {
        return None;
    }
    match call.types.len() {
        1 => of_one(function, call.types[0]).map(unary),
        2 => match of_two(function)? {
            OfTwo::Function(f) => Some(Box::new(move |args, rows| binary(args, rows, f))),
            OfTwo::Digits(cut) if call.types[0] == SqlType::Double => rounded(cut, call.constants[1].as_ref()?),
            OfTwo::Digits(_) => None,
        },
        _ => None,
    }
}

fn finite(x: f64) -> Option<f64> {
    x.is_finite().then_some(x)
}

fn of_one(function: ScalarFunction, ty: SqlType) -> Option<OfDouble> {
    use ScalarFunction::*;
    Some(match function {
        Sqrt => |x| (x >= 0.0).then(|| x.sqrt()),
        Exp => |x| finite(x.exp()),
        Ln => |x| (x > 0.0).then(|| x.ln()),
        Log10 => |x| (x > 0.0).then(|| x.log10()),
        Log2 => |x| (x > 0.0).then(|| x.log2()),
        Sin => |x| Some(x.sin()),
        Cos => |x| Some(x.cos()),
        Tan => |x| Some(x.tan()),
        // Integers keep their type in these.
        Abs | Ceil | Floor | Round if ty != SqlType::Double => return None,
        Abs => |x| Some(x.abs()),
        Ceil => |x| Some(x.ceil()),
        Floor => |x| Some(x.floor()),
        Round => |x| finite(x.round_ties_even()),
        Library(function) => match function.name {
            "ACOS" => |x| (-1.0..=1.0).contains(&x).then(|| x.acos()),
            "ASIN" => |x| (-1.0..=1.0).contains(&x).then(|| x.asin()),
            "ATAN" => |x| Some(x.atan()),
            "COT" => |x| finite(1.0 / x.tan()),
            "DEGREES" => |x| finite(x * (180.0 / PI)),
            "RADIANS" => |x| finite(x * (PI / 180.0)),
            _ => return None,
        },
        _ => return None,
    })
}

/// A function of two doubles.
enum OfTwo {
    Function(fn(f64, f64) -> Option<f64>),
    /// ROUND and TRUNCATE to a constant number of digits.
    Digits(fn(f64) -> f64),
}

fn of_two(function: ScalarFunction) -> Option<OfTwo> {
    Some(match function {
        ScalarFunction::Pow => OfTwo::Function(|x, y| finite(x.powf(y))),
        ScalarFunction::Round => OfTwo::Digits(f64::round_ties_even),
        ScalarFunction::Truncate => OfTwo::Digits(f64::trunc),
        ScalarFunction::Library(function) if function.name == "ATAN" => OfTwo::Function(|y, x| Some(y.atan2(x))),
        _ => return None,
    })
}

/// The doubles of an argument; a constant stands in each row.
fn doubles(operand: &Operand, rows: usize) -> Option<Float64Array> {
    match operand {
        Operand::Constant(Value::Null) => None,
        Operand::Constant(value) => Some(Float64Array::from(vec![to_double(value).0; rows])),
        Operand::Column(column) => Some(arrow_cast::cast(column, &DataType::Float64).ok()?.as_primitive().clone()),
    }
}

/// The function of each value; `None` if a value that is not NULL has none.
fn map(array: &Float64Array, f: impl Fn(f64) -> Option<f64>) -> Option<ArrayRef> {
    let mut is_whole = true;
    let mapped: Vec<f64> = match array.nulls() {
        None => array.values().iter().map(|x| f(*x).unwrap_or_else(|| failed(&mut is_whole))).collect(),
        Some(nulls) => {
            let value = |(x, is_valid): (&f64, bool)| match is_valid {
                true => f(*x).unwrap_or_else(|| failed(&mut is_whole)),
                false => 0.0,
            };
            array.values().iter().zip(nulls.iter()).map(value).collect()
        }
    };
    is_whole.then(|| Arc::new(Float64Array::new(mapped.into(), array.nulls().cloned())) as ArrayRef)
}

fn failed(is_whole: &mut bool) -> f64 {
    *is_whole = false;
    0.0
}

fn unary(f: OfDouble) -> ColumnFunction {
    Box::new(move |args, rows| map(&doubles(args.first()?, rows)?, f))
}

fn binary(args: &[Operand], rows: usize, f: fn(f64, f64) -> Option<f64>) -> Option<ArrayRef> {
    let (a, b) = (doubles(&args[0], rows)?, doubles(&args[1], rows)?);
    let nulls = NullBuffer::union(a.nulls(), b.nulls());
    let (mut is_whole, mut values) = (true, Vec::with_capacity(rows));
    for row in 0..rows {
        let is_null = nulls.as_ref().is_some_and(|nulls| nulls.is_null(row));
        values.push(match is_null {
            true => 0.0,
            false => f(a.value(row), b.value(row)).unwrap_or_else(|| failed(&mut is_whole)),
        });
    }
    is_whole.then(|| Arc::new(Float64Array::new(values.into(), nulls)) as ArrayRef)
}

/// ROUND and TRUNCATE of doubles to a constant number of digits that a power of ten is exact for.
fn rounded(cut: fn(f64) -> f64, digits: &Value) -> Option<ColumnFunction> {
    const EXACT_POWERS: i64 = 22;
    let Value::Int(digits) = *digits else { return None };
    if !(0..=EXACT_POWERS).contains(&digits) {
        return None;
    }
    let power = 10f64.powi(digits as i32);
    Some(Box::new(move |args, rows| {
        map(&doubles(&args[0], rows)?, |x| match x * power {
            scaled if scaled.is_finite() => finite(cut(scaled) / power),
            _ => finite(x),
        })
    }))
}

fn signs(args: &[Operand], rows: usize) -> Option<ArrayRef> {
    let numbers = doubles(&args[0], rows)?;
    let sign = |x: &f64| i64::from(*x > 0.0) - i64::from(*x < 0.0);
    let signs = numbers.values().iter().map(sign).collect();
    Some(Arc::new(Int64Array::new(signs, numbers.nulls().cloned())))
}
