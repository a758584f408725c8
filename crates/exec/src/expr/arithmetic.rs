//! `+ - * / DIV %` and unary minus, with MySQL's result types, rounding and errors.
//!
//! Integers are computed in 64 bits and decimals in 128; an overflow is error 1690. Loops run over all values first,
//! without looking at NULLs; only when one of them overflows does a second, careful loop find out whether it counts.

use super::kernel::Kernel;
use crate::{Warnings, error::external};
use arrow_array::{Array, ArrayRef, Decimal128Array, Float64Array, PrimitiveArray, cast::AsArray, types::*};
use arrow_buffer::{NullBuffer, ScalarBuffer, i256};
use arrow_schema::DataType;
use datafusion_common::Result;
use datafusion_expr::ColumnarValue;
use muster_algebra::ArithmeticOp;
use muster_types::{
    ErrorCode, SqlError,
    decimal::{beyond_i64, div_round, pow10},
};
use std::sync::Arc;

/// `a op b` in one of the three families; the arguments were converted to the family before.
pub struct Arithmetic {
    pub op: ArithmeticOp,
    pub family: Family,
    /// Scales of the arguments and the result (decimals only).
    pub scales: (u8, u8, u8),
    pub result: DataType,
    pub warnings: Arc<Warnings>,
}

/// What the arguments are.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Family {
    Signed,
    Unsigned,
    Decimal,
    Double,
}

impl Kernel for Arithmetic {
    fn label(&self) -> String {
        format!("{:?}_{:?}{:?}", self.op, self.family, self.scales)
    }

    fn call(&self, args: &[ColumnarValue], rows: usize) -> Result<ArrayRef> {
        match self.family {
            Family::Signed => {
                let (a, b) = (Operand::<Int64Type>::new(&args[0])?, Operand::<Int64Type>::new(&args[1])?);
                let divides = matches!(self.op, ArithmeticOp::IntDiv | ArithmeticOp::Mod | ArithmeticOp::Div);
                let nulls = self.nulls(&a, &b, rows, divides, |v| v == 0);
                let name = "BIGINT";
                let values = match self.op {
                    ArithmeticOp::Add => self.run(&a, &b, rows, &nulls, name, i64::checked_add, i64::overflowing_add),
                    ArithmeticOp::Sub => self.run(&a, &b, rows, &nulls, name, i64::checked_sub, i64::overflowing_sub),
                    ArithmeticOp::Mul => self.run(&a, &b, rows, &nulls, name, i64::checked_mul, i64::overflowing_mul),
                    ArithmeticOp::IntDiv | ArithmeticOp::Div => {
                        self.careful(&a, &b, rows, &nulls, name, i64::checked_div)
                    }
                    // i64::MIN % -1 is 0.
                    ArithmeticOp::Mod => self.careful(&a, &b, rows, &nulls, name, |x, y| Some(x.wrapping_rem(y))),
                }?;
                narrow(Arc::new(PrimitiveArray::<Int64Type>::new(values, nulls)), &self.result)
            }
            Family::Unsigned => {
                let (a, b) = (Operand::<UInt64Type>::new(&args[0])?, Operand::<UInt64Type>::new(&args[1])?);
                let divides = matches!(self.op, ArithmeticOp::IntDiv | ArithmeticOp::Mod | ArithmeticOp::Div);
                let nulls = self.nulls(&a, &b, rows, divides, |v| v == 0);
                let name = "BIGINT UNSIGNED";
                let values = match self.op {
                    ArithmeticOp::Add => self.run(&a, &b, rows, &nulls, name, u64::checked_add, u64::overflowing_add),
                    ArithmeticOp::Sub => self.run(&a, &b, rows, &nulls, name, u64::checked_sub, u64::overflowing_sub),
                    ArithmeticOp::Mul => self.run(&a, &b, rows, &nulls, name, u64::checked_mul, u64::overflowing_mul),
                    ArithmeticOp::IntDiv | ArithmeticOp::Div => {
                        self.careful(&a, &b, rows, &nulls, name, u64::checked_div)
                    }
                    ArithmeticOp::Mod => self.careful(&a, &b, rows, &nulls, name, u64::checked_rem),
                }?;
                narrow(Arc::new(PrimitiveArray::<UInt64Type>::new(values, nulls)), &self.result)
            }
            Family::Decimal => self.decimals(args, rows),
            Family::Double => self.doubles(args, rows),
        }
    }
}

impl Arithmetic {
    /// NULL where an argument is, and where the divisor is zero.
    fn nulls<T: ArrowPrimitiveType>(
        &self,
        a: &Operand<T>,
        b: &Operand<T>,
        rows: usize,
        divides: bool,
        is_zero: impl Fn(T::Native) -> bool,
    ) -> Option<NullBuffer> {
        let nulls = NullBuffer::union(a.nulls(rows).as_ref(), b.nulls(rows).as_ref());
        if !divides {
            return nulls;
        }
        let zeros = NullBuffer::from_iter((0..rows).map(|i| !is_zero(b.get(i))));
        if zeros.null_count() == 0 {
            return nulls;
        }
        self.warnings.push(ErrorCode::DivisionByZero, "Division by 0");
        NullBuffer::union(nulls.as_ref(), Some(&zeros))
    }

    fn out_of_range(&self, name: &str, a: impl std::fmt::Display, b: impl std::fmt::Display) -> SqlError {
        let op = match self.op {
            ArithmeticOp::Add => "+",
            ArithmeticOp::Sub => "-",
            ArithmeticOp::Mul => "*",
            ArithmeticOp::Div => "/",
            ArithmeticOp::IntDiv => "DIV",
            ArithmeticOp::Mod => "%",
        };
        SqlError::new(ErrorCode::DataOutOfRange, format!("{name} value is out of range in '({a} {op} {b})'"))
    }

    fn run<T: ArrowPrimitiveType>(
        &self,
        a: &Operand<T>,
        b: &Operand<T>,
        rows: usize,
        nulls: &Option<NullBuffer>,
        name: &str,
        checked: impl Fn(T::Native, T::Native) -> Option<T::Native>,
        overflowing: impl Fn(T::Native, T::Native) -> (T::Native, bool),
    ) -> Result<ScalarBuffer<T::Native>>
    where
        T::Native: std::fmt::Display,
    {
        let mut overflow = false;
        let values = each(a, b, rows, |x, y| {
            let (value, over) = overflowing(x, y);
            overflow |= over;
            value
        });
        if overflow { self.careful(a, b, rows, nulls, name, checked) } else { Ok(values) }
    }

    fn careful<T: ArrowPrimitiveType>(
        &self,
        a: &Operand<T>,
        b: &Operand<T>,
        rows: usize,
        nulls: &Option<NullBuffer>,
        name: &str,
        checked: impl Fn(T::Native, T::Native) -> Option<T::Native>,
    ) -> Result<ScalarBuffer<T::Native>>
    where
        T::Native: std::fmt::Display,
    {
        let mut out = Vec::with_capacity(rows);
        for i in 0..rows {
            out.push(if nulls.as_ref().is_some_and(|n| n.is_null(i)) {
                T::default_value()
            } else {
                let (x, y) = (a.get(i), b.get(i));
                checked(x, y).ok_or_else(|| external(self.out_of_range(name, x, y)))?
            });
        }
        Ok(out.into())
    }

    fn doubles(&self, args: &[ColumnarValue], rows: usize) -> Result<ArrayRef> {
        let (a, b) = (Operand::<Float64Type>::new(&args[0])?, Operand::<Float64Type>::new(&args[1])?);
        let divides = matches!(self.op, ArithmeticOp::Div | ArithmeticOp::IntDiv | ArithmeticOp::Mod);
        let nulls = self.nulls(&a, &b, rows, divides, |v| v == 0.0);
        let finite = |x: f64| (x, !x.is_finite());
        let check = |x: f64| x.is_finite().then_some(x);
        let run = |f: fn(f64, f64) -> f64| {
            self.run(&a, &b, rows, &nulls, "DOUBLE", |x, y| check(f(x, y)), |x, y| finite(f(x, y)))
        };
        let values = match self.op {
            ArithmeticOp::Add => run(|x, y| x + y),
            ArithmeticOp::Sub => run(|x, y| x - y),
            ArithmeticOp::Mul => run(|x, y| x * y),
            ArithmeticOp::Div => run(|x, y| x / y),
            ArithmeticOp::IntDiv => return Err(external(SqlError::internal("DIV divides decimals"))),
            ArithmeticOp::Mod => run(|x, y| x % y),
        }?;
        Ok(Arc::new(Float64Array::new(values, nulls)))
    }

    fn decimals(&self, args: &[ColumnarValue], rows: usize) -> Result<ArrayRef> {
        let (a, b) = (Operand::<Decimal128Type>::new(&args[0])?, Operand::<Decimal128Type>::new(&args[1])?);
        let divides = matches!(self.op, ArithmeticOp::Div | ArithmeticOp::IntDiv | ArithmeticOp::Mod);
        let nulls = self.nulls(&a, &b, rows, divides, |v| v == 0);
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
                    rescale(sum, common, sr)
                };
                // Below 10^18 times 2^63 twice is below 2^127.
                let fast = match (i64::try_from(fa), i64::try_from(if subtract { -fb } else { fb })) {
                    (Ok(fa), Ok(fb)) if sr == common => {
                        each_narrow(&a, &b, rows, |x, y| x as i128 * fa as i128 + y as i128 * fb as i128)
                    }
                    _ => None,
                };
                fast.map_or_else(|| self.careful(&a, &b, rows, &nulls, name, exact), Ok)
            }
            ArithmeticOp::Mul => {
                let natural = sa + sb;
                let exact = move |x: i128, y: i128| match x.checked_mul(y) {
                    Some(product) => rescale(product, natural, sr),
                    None => wide_rescale(i256::from_i128(x).checked_mul(i256::from_i128(y))?, natural, sr),
                };
                let fast = match sr == natural {
                    true => each_narrow(&a, &b, rows, |x, y| x as i128 * y as i128),
                    false => None,
                };
                fast.map_or_else(|| self.careful(&a, &b, rows, &nulls, name, exact), Ok)
            }
            ArithmeticOp::Div => {
                // a / 10^sa / (b / 10^sb) * 10^sr = a * 10^(sr + sb - sa) / b
                let shift = sr as i32 + sb as i32 - sa as i32;
                self.careful(&a, &b, rows, &nulls, name, move |x, y| divide(x, y, shift))
            }
            ArithmeticOp::IntDiv => {
                let exact = move |x: i128, y: i128| Some(x.checked_mul(fa)? / y.checked_mul(fb)?);
                let quotients = self.careful(&a, &b, rows, &nulls, name, exact)?;
                let array = Decimal128Array::new(quotients, nulls).with_precision_and_scale(38, 0)?;
                return narrow(Arc::new(array), &self.result);
            }
            ArithmeticOp::Mod => self.careful(&a, &b, rows, &nulls, name, move |x, y| {
                rescale(x.checked_mul(fa)? % y.checked_mul(fb)?, common, sr)
            }),
        }?;
        let array = Decimal128Array::new(values, nulls);
        // Integers of different sign are computed as decimals.
        match self.result.is_integer() {
            true => narrow(Arc::new(array.with_precision_and_scale(38, 0)?), &self.result),
            false => Ok(Arc::new(array.with_data_type(self.result.clone()))),
        }
    }
}

/// `unscaled` at another scale, rounded half away from zero.
pub fn rescale(unscaled: i128, from: u8, to: u8) -> Option<i128> {
    if to >= from {
        unscaled.checked_mul(pow10((to - from) as u32)?)
    } else {
        Some(div_round(unscaled, pow10((from - to) as u32)?))
    }
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

fn wide_div_round(a: i256, b: i256) -> Option<i128> {
    let (q, r) = (a.checked_div(b)?, a.checked_rem(b)?);
    let (r, half) = (r.wrapping_abs(), b.wrapping_abs());
    let up = r >= half.wrapping_sub(r);
    let step = if !up {
        i256::ZERO
    } else if a.is_negative() == b.is_negative() {
        i256::ONE
    } else {
        i256::MINUS_ONE
    };
    q.checked_add(step)?.to_i128()
}

/// One argument: a column or a constant.
struct Operand<T: ArrowPrimitiveType> {
    array: PrimitiveArray<T>,
    constant: bool,
}

impl<T: ArrowPrimitiveType> Operand<T> {
    fn new(value: &ColumnarValue) -> Result<Operand<T>> {
        let (array, constant) = match value {
            ColumnarValue::Array(a) => (a.clone(), false),
            ColumnarValue::Scalar(s) => (s.to_array()?, true),
        };
        match array.as_primitive_opt::<T>() {
            Some(array) => Ok(Operand { array: array.clone(), constant }),
            None => Err(external(SqlError::internal(format!("arithmetic over {}", array.data_type())))),
        }
    }

    #[inline(always)]
    fn get(&self, row: usize) -> T::Native {
        self.array.value(if self.constant { 0 } else { row })
    }

    fn nulls(&self, rows: usize) -> Option<NullBuffer> {
        match self.constant {
            false => self.array.nulls().cloned(),
            true if self.array.is_null(0) => Some(NullBuffer::new_null(rows)),
            true => None,
        }
    }
}

/// Applies `f` to all rows.
#[inline(always)]
fn each<T: ArrowPrimitiveType>(
    a: &Operand<T>,
    b: &Operand<T>,
    rows: usize,
    mut f: impl FnMut(T::Native, T::Native) -> T::Native,
) -> ScalarBuffer<T::Native> {
    // A loop over slots, not `collect`, so that what `f` keeps stays in registers.
    let mut out = vec![T::default_value(); rows];
    match (a.constant, b.constant) {
        (false, false) => {
            let (a, b) = (a.array.values(), b.array.values());
            out.iter_mut().zip(a.iter().zip(b.iter())).for_each(|(slot, (x, y))| *slot = f(*x, *y));
        }
        (true, false) => {
            let x = a.array.value(0);
            out.iter_mut().zip(b.array.values().iter()).for_each(|(slot, y)| *slot = f(x, *y));
        }
        (false, true) => {
            let y = b.array.value(0);
            out.iter_mut().zip(a.array.values().iter()).for_each(|(slot, x)| *slot = f(*x, y));
        }
        (true, true) => out.fill(f(a.array.value(0), b.array.value(0))),
    }
    out.into()
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

/// Converts a 64-bit, decimal or double result to the type the node declares; error 1690 when it does not fit.
pub(super) fn narrow(array: ArrayRef, to: &DataType) -> Result<ArrayRef> {
    if array.data_type() == to {
        return Ok(array);
    }
    let strict = arrow_cast::CastOptions { safe: false, ..Default::default() };
    arrow_cast::cast_with_options(&array, to, &strict).map_err(|_| {
        external(SqlError::new(ErrorCode::DataOutOfRange, format!("{} value is out of range", integer_name(to))))
    })
}

fn integer_name(ty: &DataType) -> &'static str {
    if ty.is_unsigned_integer() { "BIGINT UNSIGNED" } else { "BIGINT" }
}

#[cfg(test)]
mod tests {
    use super::*;
    use datafusion_common::ScalarValue;

    fn decimal(op: ArithmeticOp, a: (&[i128], u8), b: (&[i128], u8), scale: u8) -> Result<Vec<Option<i128>>> {
        let kernel = Arithmetic {
            op,
            family: Family::Decimal,
            scales: (a.1, b.1, scale),
            result: DataType::Decimal128(38, scale as i8),
            warnings: Arc::default(),
        };
        let column = |(v, s): (&[i128], u8)| {
            let array = Decimal128Array::from(v.to_vec()).with_precision_and_scale(38, s as i8).unwrap();
            ColumnarValue::Array(Arc::new(array))
        };
        let result = kernel.call(&[column(a), column(b)], a.0.len())?;
        Ok(result.as_primitive::<Decimal128Type>().iter().collect())
    }

    #[test]
    fn decimals_are_exact_and_round_half_away_from_zero() {
        // 1 - 0.07, 1 - (-0.05)
        assert_eq!(decimal(ArithmeticOp::Sub, (&[1, 1], 0), (&[7, -5], 2), 2).unwrap(), [Some(93), Some(105)]);
        // 1.5 * 0.25 at scale 3 and cut to 2
        assert_eq!(decimal(ArithmeticOp::Mul, (&[15], 1), (&[25], 2), 3).unwrap(), [Some(375)]);
        assert_eq!(decimal(ArithmeticOp::Mul, (&[15], 1), (&[25], 2), 2).unwrap(), [Some(38)]);
        // 1 / 3, -2 / 3, 1 / 0
        assert_eq!(
            decimal(ArithmeticOp::Div, (&[1, -2, 1], 0), (&[3, 3, 0], 0), 4).unwrap(),
            [Some(3333), Some(-6667), None]
        );
        assert_eq!(decimal(ArithmeticOp::Mod, (&[-75], 1), (&[2], 0), 1).unwrap(), [Some(-15)]);
    }

    #[test]
    fn large_decimals_divide_through_256_bits_or_fail() {
        let big = 10i128.pow(37);
        assert_eq!(decimal(ArithmeticOp::Div, (&[big], 10), (&[3 * big], 10), 6).unwrap(), [Some(333_333)]);
        assert_eq!(decimal(ArithmeticOp::Mul, (&[big], 30), (&[10 * big], 30), 2).unwrap(), [Some(10i128.pow(17))]);
        let e = decimal(ArithmeticOp::Mul, (&[big], 0), (&[big], 0), 0).unwrap_err();
        assert_eq!(crate::error::to_sql(&e, 0).code, ErrorCode::DataOutOfRange);
    }

    #[test]
    fn integers_overflow_only_where_they_count() {
        let kernel = |op, family| Arithmetic {
            op,
            family,
            scales: (0, 0, 0),
            result: if family == Family::Signed { DataType::Int64 } else { DataType::UInt64 },
            warnings: Arc::default(),
        };
        let big = PrimitiveArray::<Int64Type>::new(vec![i64::MAX, 1].into(), Some(NullBuffer::from(vec![false, true])));
        let one = ColumnarValue::Scalar(ScalarValue::Int64(Some(1)));
        let add = kernel(ArithmeticOp::Add, Family::Signed);
        let sum = add.call(&[ColumnarValue::Array(Arc::new(big)), one.clone()], 2).unwrap();
        assert_eq!(sum.as_primitive::<Int64Type>().iter().collect::<Vec<_>>(), [None, Some(2)]);
        let max = ColumnarValue::Scalar(ScalarValue::Int64(Some(i64::MAX)));
        assert!(add.call(&[max, one.clone()], 1).is_err());
        let sub = kernel(ArithmeticOp::Sub, Family::Unsigned);
        let (u1, u2) = (ScalarValue::UInt64(Some(1)), ScalarValue::UInt64(Some(2)));
        assert!(sub.call(&[ColumnarValue::Scalar(u1), ColumnarValue::Scalar(u2)], 1).is_err());
        let div = kernel(ArithmeticOp::IntDiv, Family::Signed);
        let (m7, two) = (ScalarValue::Int64(Some(-7)), ScalarValue::Int64(Some(2)));
        let q = div.call(&[ColumnarValue::Scalar(m7), ColumnarValue::Scalar(two)], 1).unwrap();
        assert_eq!(q.as_primitive::<Int64Type>().value(0), -3);
        let zero = ColumnarValue::Scalar(ScalarValue::Int64(Some(0)));
        assert!(div.call(&[one, zero], 1).unwrap().is_null(0));
        assert_eq!(div.warnings.take()[0].code, ErrorCode::DivisionByZero);
    }
}
