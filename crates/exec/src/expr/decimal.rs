//! Decimals: in 64 bits where arguments and results fit them, else in 128, and through 256 where a product or a
//! numerator asks for it. Arguments and results beyond 128 bits: `decimal256.rs`. Nothing ever wraps: what does not
//! fit the result's type is error 1690.

use super::{
    arithmetic::{Arithmetic, narrow},
    decimal256::{map_widest, widest_of},
    operand::{Operand, each},
};
use crate::error::external;
use arrow_array::{
    Array, ArrayRef, ArrowPrimitiveType, Decimal64Array, Decimal128Array, Decimal256Array, PrimitiveArray,
    cast::AsArray, types::*,
};
use arrow_buffer::{NullBuffer, ScalarBuffer, i256};
use arrow_schema::DataType;
use datafusion_common::Result;
use datafusion_expr::ColumnarValue;
use muster_algebra::ArithmeticOp;
use muster_types::{
    ErrorCode, SqlError,
    decimal::{beyond_i64, div_round, pow10, quotient_scale_for, rescale},
    sql_type::{DECIMAL64_MAX_PRECISION, DECIMAL128_MAX_PRECISION},
    wide::{divide_round_256, mul_div_cut},
};
use std::{fmt::Display, sync::Arc};

/// An argument by the width of its unscaled values. An integer is a decimal without digits behind the point.
enum Argument {
    Narrow(Operand<Int64Type>),
    Wide(Operand<Decimal128Type>),
    Widest(Operand<Decimal256Type>),
}

impl Argument {
    fn new(value: &ColumnarValue) -> Result<Argument> {
        Ok(match value.data_type() {
            DataType::Decimal64(..) => {
                let Operand { array, constant } = Operand::<Decimal64Type>::new(value)?;
                Argument::Narrow(Operand { array: array.reinterpret_cast(), constant })
            }
            DataType::Int64 => Argument::Narrow(Operand::new(value)?),
            DataType::Decimal256(..) => Argument::Widest(Operand::new(value)?),
            _ => Argument::Wide(Operand::new(value)?),
        })
    }

    /// In 128 bits; an argument of 256 bits stays as it is.
    fn widened(self) -> Argument {
        match self {
            Argument::Narrow(Operand { array, constant }) => {
                Argument::Wide(Operand { array: array.unary(i128::from), constant })
            }
            other => other,
        }
    }

    fn widest(&self) -> Operand<Decimal256Type> {
        match self {
            Argument::Narrow(Operand { array, constant }) => {
                Operand { array: array.unary(|x| i256::from_i128(x.into())), constant: *constant }
            }
            Argument::Wide(wide) => wide.widest(),
            Argument::Widest(Operand { array, constant }) => Operand { array: array.clone(), constant: *constant },
        }
    }
}

impl Arithmetic {
    pub(super) fn decimals(&self, args: &[ColumnarValue], rows: usize) -> Result<ArrayRef> {
        let (a, b) = (Argument::new(&args[0])?, Argument::new(&args[1])?);
        if let (Argument::Narrow(a), Argument::Narrow(b)) = (&a, &b)
            && let Some(result) = self.narrow_decimals(a, b, rows)
        {
            return Ok(result);
        }
        let (a, b) = (a.widened(), b.widened());
        let divides = matches!(self.op, ArithmeticOp::Div | ArithmeticOp::IntDiv | ArithmeticOp::Mod);
        if let (Argument::Wide(a), Argument::Wide(b)) = (&a, &b) {
            let nulls = self.nulls(a, b, rows, divides, |v| v == 0);
            // What does not fit 128 bits, between the arguments and the result or as the result, may fit 256.
            return match self.wide_decimals(a, b, rows, &nulls) {
                Ok(result) => Ok(result),
                Err(_) => self.widest_decimals(&a.widest(), &b.widest(), rows, nulls),
            };
        }
        let (a, b) = (a.widest(), b.widest());
        let nulls = self.nulls(&a, &b, rows, divides, |v| v == i256::ZERO);
        self.widest_decimals(&a, &b, rows, nulls)
    }

    /// The factors that bring both arguments of a sum to the scale of the result. `None` if the result is rounded.
    fn sum_factors(&self) -> Option<(i64, i64)> {
        let (sa, sb, sr) = self.scales;
        let factor = |scale: u8| i64::try_from(pow10((sr - scale).into())?).ok();
        if sr == sa.max(sb) { Some((factor(sa)?, factor(sb)?)) } else { None }
    }

    /// The result, if 64-bit arguments give it exactly, without rounding: in 64 bits when the type or the reader of the
    /// result allows for it and all values fit, else in 128 or in what the type asks for.
    fn narrow_decimals(&self, a: &Operand<Int64Type>, b: &Operand<Int64Type>, rows: usize) -> Option<ArrayRef> {
        if self.result.is_integer() {
            return None;
        }
        let (sa, sb, sr) = self.scales;
        let nulls = NullBuffer::union(a.nulls(rows).as_ref(), b.nulls(rows).as_ref());
        let narrow_type = match self.result {
            DataType::Decimal64(..) => Some(self.result.clone()),
            _ if self.adaptive && sr <= DECIMAL64_MAX_PRECISION => {
                Some(DataType::Decimal64(DECIMAL64_MAX_PRECISION, sr as i8))
            }
            _ => None,
        };
        let result = |in_64: Option<ScalarBuffer<i64>>, in_128: &dyn Fn() -> ScalarBuffer<i128>| -> Option<ArrayRef> {
            Some(match (in_64, &narrow_type) {
                (Some(values), Some(ty)) => Arc::new(Decimal64Array::new(values, nulls).with_data_type(ty.clone())),
                // A value does not fit the 64-bit type: it may be that of a NULL.
                _ if matches!(self.result, DataType::Decimal64(..)) => return None,
                _ => self.of_128_bits(Decimal128Array::new(in_128(), nulls)),
            })
        };
        let tries = narrow_type.is_some();
        match self.op {
            ArithmeticOp::Add | ArithmeticOp::Sub => {
                let (fa, fb) = self.sum_factors()?;
                let subtract = self.op == ArithmeticOp::Sub;
                let in_64 = || {
                    let (a, b) = (a.scaled(fa)?, b.scaled(fb)?);
                    if subtract { each_fitting(&a, &b, rows, difference) } else { each_fitting(&a, &b, rows, sum) }
                };
                // Below 2^63 times 10^18 twice is below 2^127.
                let (fa, fb) = (i128::from(fa), i128::from(if subtract { -fb } else { fb }));
                let in_128 = || each(a, b, rows, |x, y| i128::from(x) * fa + i128::from(y) * fb);
                result(if tries { in_64() } else { None }, &in_128)
            }
            ArithmeticOp::Mul if sr == sa + sb => {
                let in_64 = || each_fitting(a, b, rows, product);
                let in_128 = || each(a, b, rows, |x, y| i128::from(x) * i128::from(y));
                result(if tries { in_64() } else { None }, &in_128)
            }
            _ => None,
        }
    }

    /// A result of up to 38 digits as the type or the reader of the result takes it.
    fn of_128_bits(&self, array: Decimal128Array) -> ArrayRef {
        match self.result {
            DataType::Decimal256(_, scale) if self.adaptive => {
                Arc::new(array.with_data_type(DataType::Decimal128(DECIMAL128_MAX_PRECISION, scale)))
            }
            DataType::Decimal256(..) => {
                let widest: Decimal256Array = array.unary(i256::from_i128);
                Arc::new(widest.with_data_type(self.result.clone()))
            }
            _ => Arc::new(array.with_data_type(self.result.clone())),
        }
    }

    fn wide_decimals(
        &self,
        a: &Operand<Decimal128Type>,
        b: &Operand<Decimal128Type>,
        rows: usize,
        nulls: &Option<NullBuffer>,
    ) -> Result<ArrayRef> {
        let (sa, sb, sr) = self.scales;
        let common = sa.max(sb);
        let factor = |n: u8| pow10(n as u32).ok_or_else(|| external(SqlError::internal("scale")));
        let (fa, fb) = (factor(common - sa)?, factor(common - sb)?);
        let name = "DECIMAL";
        let values = match self.op {
            ArithmeticOp::Add | ArithmeticOp::Sub => {
                let subtract = self.op == ArithmeticOp::Sub;
                let exact = move |x: i128, y: i128| {
                    let (x, y) = (x.checked_mul(fa)?, y.checked_mul(fb)?);
                    let sum = if subtract { x.checked_sub(y) } else { x.checked_add(y) }?;
                    within(rescale(sum, common, sr)?)
                };
                // Below 10^18 times 2^63 twice is below 2^127.
                let fast = match (i64::try_from(fa), i64::try_from(if subtract { -fb } else { fb })) {
                    (Ok(fa), Ok(fb)) if sr == common => {
                        each_narrow(a, b, rows, |x, y| x as i128 * fa as i128 + y as i128 * fb as i128)
                    }
                    _ => None,
                };
                fast.map_or_else(|| self.careful(a, b, rows, nulls, name, exact), Ok)
            }
            ArithmeticOp::Mul => {
                let natural = sa + sb;
                let exact = move |x: i128, y: i128| match x.checked_mul(y) {
                    Some(product) => within(rescale(product, natural, sr)?),
                    None => within(wide_rescale(i256::from_i128(x).checked_mul(i256::from_i128(y))?, natural, sr)?),
                };
                let fast = match sr == natural {
                    true => each_narrow(a, b, rows, |x, y| x as i128 * y as i128),
                    false => None,
                };
                fast.map_or_else(|| self.careful(a, b, rows, nulls, name, exact), Ok)
            }
            ArithmeticOp::Div => {
                // a / 10^sa / (b / 10^sb) * 10^sr = a * 10^(sr + sb - sa) / b
                let quotient = Quotient::of(sa, sb, sr)?;
                self.careful(a, b, rows, nulls, name, move |x, y| within(quotient.of_numbers(x, y)?))
            }
            ArithmeticOp::IntDiv => {
                self.careful(a, b, rows, nulls, name, move |x, y| Some(x.checked_mul(fa)? / y.checked_mul(fb)?))
            }
            ArithmeticOp::Mod => self.careful(a, b, rows, nulls, name, move |x, y| {
                rescale(x.checked_mul(fa)? % y.checked_mul(fb)?, common, sr)
            }),
        }?;
        let array = Decimal128Array::new(values, nulls.clone());
        // DIV; and integers of different sign are computed as decimals.
        if self.result.is_integer() {
            return narrow(Arc::new(array.with_precision_and_scale(38, 0)?), &self.result);
        }
        let lost = |&i: &usize| array.is_valid(i) && beyond_i64(array.value(i)) != 0;
        match self.result {
            DataType::Decimal64(..) => match (0..rows).find(lost) {
                Some(row) => Err(external(self.out_of_range(name, a.get(row), b.get(row)))),
                None => {
                    let narrow: Decimal64Array = array.unary(|x| x as i64);
                    Ok(Arc::new(narrow.with_data_type(self.result.clone())))
                }
            },
            _ => Ok(self.of_128_bits(array)),
        }
    }
}

/// The sum in 64 bits, and a number that is negative if it wrapped.
#[inline(always)]
fn sum(x: i64, y: i64) -> (i64, i64) {
    let sum = x.wrapping_add(y);
    (sum, (x ^ sum) & (y ^ sum))
}

/// The difference in 64 bits, and a number that is negative if it wrapped.
#[inline(always)]
fn difference(x: i64, y: i64) -> (i64, i64) {
    let difference = x.wrapping_sub(y);
    (difference, (x ^ y) & (x ^ difference))
}

/// The product in 64 bits, and a number that is negative if it wrapped.
#[inline(always)]
fn product(x: i64, y: i64) -> (i64, i64) {
    let (product, over) = x.overflowing_mul(y);
    (product, -i64::from(over))
}

/// The results in 64 bits, if none wrapped.
#[inline(always)]
fn each_fitting(
    a: &Operand<Int64Type>,
    b: &Operand<Int64Type>,
    rows: usize,
    f: impl Fn(i64, i64) -> (i64, i64),
) -> Option<ScalarBuffer<i64>> {
    let mut wrapped = 0;
    let values = each(a, b, rows, |x, y| {
        let (value, sign) = f(x, y);
        wrapped |= sign;
        value
    });
    (wrapped >= 0).then_some(values)
}

/// Applies `f`, which cannot overflow, if all values fit 64 bits. One that does not is found on the way.
fn each_narrow(
    a: &Operand<Decimal128Type>,
    b: &Operand<Decimal128Type>,
    rows: usize,
    f: impl Fn(i64, i64) -> i128,
) -> Option<ScalarBuffer<i128>> {
    let mut beyond = 0;
    let values = each(a, b, rows, |x, y| {
        beyond |= beyond_i64(x) | beyond_i64(y);
        f(x as i64, y as i64)
    });
    (beyond == 0).then_some(values)
}

/// Digits behind the point of an Arrow decimal type.
pub fn scale_of(ty: &DataType) -> Option<u8> {
    match ty {
        DataType::Decimal64(_, scale) | DataType::Decimal128(_, scale) | DataType::Decimal256(_, scale) => {
            Some(*scale as u8)
        }
        _ => None,
    }
}

/// Decimals of type `result` from the unscaled values of decimals or 64-bit integers. Where `f` has no value, or it
/// does not fit the type, the error is `fails`; a NULL stays one. `widest` does the same as `f`, in 256 bits.
pub fn map_decimals(
    array: &ArrayRef,
    result: &DataType,
    f: impl Fn(i128) -> Option<i128>,
    widest: impl Fn(i256) -> Option<i256>,
    fails: impl Fn(&dyn Display) -> SqlError,
) -> Result<ArrayRef> {
    if let DataType::Decimal256(..) = array.data_type() {
        return map_widest(array.as_primitive(), result, widest, fails);
    }
    if let DataType::Decimal256(..) = result {
        return map_widest(&widest_of(array)?, result, widest, fails);
    }
    match array.data_type() {
        DataType::Int64 => map_from::<Int64Type>(array, result, f, fails),
        DataType::UInt64 => map_from::<UInt64Type>(array, result, f, fails),
        DataType::Decimal64(..) => map_from::<Decimal64Type>(array, result, f, fails),
        DataType::Decimal128(..) => map_from::<Decimal128Type>(array, result, f, fails),
        other => Err(external(SqlError::internal(format!("a decimal from {other}")))),
    }
}

fn map_from<T: ArrowPrimitiveType>(
    array: &ArrayRef,
    result: &DataType,
    f: impl Fn(i128) -> Option<i128>,
    fails: impl Fn(&dyn Display) -> SqlError,
) -> Result<ArrayRef>
where
    T::Native: Into<i128>,
{
    let array: &PrimitiveArray<T> = array.as_primitive();
    Ok(match result {
        DataType::Decimal64(..) => {
            let map = |x: T::Native| {
                let value = f(x.into()).and_then(|v| i64::try_from(v).ok());
                value.ok_or_else(|| external(fails(&x.into())))
            };
            Arc::new(array.try_unary::<_, Decimal64Type, _>(map)?.with_data_type(result.clone()))
        }
        _ => {
            let map = |x: T::Native| f(x.into()).ok_or_else(|| external(fails(&x.into())));
            Arc::new(array.try_unary::<_, Decimal128Type, _>(map)?.with_data_type(result.clone()))
        }
    })
}

/// Error 1690 without an expression.
pub fn out_of_range(place: &str) -> SqlError {
    SqlError::new(ErrorCode::DataOutOfRange, format!("DECIMAL value is out of range{place}"))
}

/// An unscaled number that 128 bits always have room for.
pub(super) fn within(unscaled: i128) -> Option<i128> {
    (unscaled.unsigned_abs() < 10u128.pow(DECIMAL128_MAX_PRECISION as u32)).then_some(unscaled)
}

fn wide_rescale(unscaled: i256, from: u8, to: u8) -> Option<i128> {
    if to > from {
        return None;
    }
    wide_div_round(unscaled, i256::from_i128(10).checked_pow((from - to) as u32)?)
}

/// `x * 10^shift / y`, rounded half away from zero. `y` is not zero.
pub fn divide(x: i128, y: i128, shift: i32) -> Option<i128> {
    if shift >= 0 {
        let power = pow10(shift as u32);
        if let Some(numerator) = power.and_then(|p| x.checked_mul(p)) {
            return Some(div_round(numerator, y));
        }
        let power = i256::from_i128(10).checked_pow(shift as u32)?;
        wide_div_round(i256::from_i128(x).checked_mul(power)?, i256::from_i128(y))
    } else {
        wide_div_round(i256::from_i128(x), i256::from_i128(y).checked_mul(i256::from_i128(pow10(-shift as u32)?))?)
    }
}

/// A division of decimals: a quotient is cut behind the digits to which it is computed, and rounded if its type has
/// fewer.
#[derive(Clone, Copy)]
struct Quotient {
    /// Powers of ten that the dividend is multiplied with.
    shift: i32,
    /// The factor of a quotient that is cut; `None` if it is rounded.
    zeros: Option<i128>,
}

impl Quotient {
    /// The division of numbers of scales `dividend` and `divisor`, for a result of scale `result`.
    fn of(dividend: u8, divisor: u8, result: u8) -> Result<Quotient> {
        let shift = |scale: u8| scale as i32 + divisor as i32 - dividend as i32;
        let computed = quotient_scale_for(dividend as u32, divisor as u32, result as u32) as u8;
        let Some(missing) = result.checked_sub(computed) else {
            return Ok(Quotient { shift: shift(result), zeros: None });
        };
        let zeros = pow10(missing as u32).ok_or_else(|| external(SqlError::internal("scale")))?;
        Ok(Quotient { shift: shift(computed), zeros: Some(zeros) })
    }

    fn of_numbers(self, x: i128, y: i128) -> Option<i128> {
        match self.zeros {
            Some(zeros) => cut_quotient(x, y, self.shift)?.checked_mul(zeros),
            None => divide(x, y, self.shift),
        }
    }
}

/// `x * 10^shift / y` without what is behind the point. `y` is not zero.
pub fn cut_quotient(x: i128, y: i128, shift: i32) -> Option<i128> {
    let power = pow10(shift.unsigned_abs())?;
    match shift >= 0 {
        true => match x.checked_mul(power) {
            Some(numerator) => numerator.checked_div(y),
            None => mul_div_cut(x, power, y),
        },
        false => mul_div_cut(x, 1, y.checked_mul(power)?),
    }
}

fn wide_div_round(a: i256, b: i256) -> Option<i128> {
    if b == i256::ZERO { None } else { divide_round_256(a, b).to_i128() }
}

#[cfg(test)]
#[path = "decimal_tests.rs"]
mod tests;
