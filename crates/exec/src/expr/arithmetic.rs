//! `+ - * / DIV %` and unary minus, with MySQL's result types, rounding and errors.
//!
//! Integers are computed in 64 bits; decimals: `decimal.rs`. An overflow is error 1690. Loops run over all values
//! first, without looking at NULLs; only when one of them overflows does a second, careful loop find out whether it
//! counts.

use super::{
    kernel::Kernel,
    operand::{Operand, each},
};
use crate::{Warnings, error::external};
use arrow_array::{ArrayRef, Float64Array, PrimitiveArray, types::*};
use arrow_buffer::{NullBuffer, ScalarBuffer};
use arrow_schema::DataType;
use datafusion_common::Result;
use datafusion_expr::ColumnarValue;
use muster_algebra::ArithmeticOp;
use muster_types::{Decimal, ErrorCode, SqlError};
use std::sync::Arc;

/// `a op b` in one of the three families; the arguments were converted to the family before.
pub struct Arithmetic {
    pub op: ArithmeticOp,
    pub family: Family,
    /// Scales of the arguments and the result (decimals only).
    pub scales: (u8, u8, u8),
    pub result: DataType,
    /// True if a `Decimal128` or `Decimal256` result may come as a narrower decimal of the same scale, when all values
    /// of a batch fit: whoever reads it takes all widths.
    pub adaptive: bool,
    pub warnings: Arc<Warnings>,
}

/// The kind of numbers that an operation computes with.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Family {
    Signed,
    Unsigned,
    Decimal,
    Double,
}

impl Kernel for Arithmetic {
    fn label(&self) -> String {
        let adaptive = if self.adaptive { "_adaptive" } else { "" };
        format!("{:?}_{:?}{:?}{adaptive}", self.op, self.family, self.scales)
    }

    fn is_adaptive(&self) -> bool {
        self.adaptive
    }

    /// Each division by zero is a warning of its own.
    fn is_shareable(&self) -> bool {
        !matches!(self.op, ArithmeticOp::Div | ArithmeticOp::IntDiv | ArithmeticOp::Mod)
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
    pub(super) fn nulls<T: ArrowPrimitiveType>(
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
        // NULL divided by zero is no division by zero.
        let known = |i: &usize| nulls.as_ref().is_none_or(|nulls| nulls.is_valid(*i));
        for _ in (0..rows).filter(|i| zeros.is_null(*i)).filter(known).take(Warnings::MAX) {
            self.warnings.push(ErrorCode::DivisionByZero, "Division by 0");
        }
        NullBuffer::union(nulls.as_ref(), Some(&zeros))
    }

    /// Error 1690. `a`, `b`: the arguments, those of decimals without their points.
    pub(super) fn out_of_range(&self, name: &str, a: impl std::fmt::Display, b: impl std::fmt::Display) -> SqlError {
        let shown = |number: String, scale: u8| match Decimal::parse(&number) {
            Some(unscaled) if self.family == Family::Decimal => Decimal::wide(unscaled.unscaled(), scale).to_string(),
            _ => number,
        };
        let (a, b) = (shown(a.to_string(), self.scales.0), shown(b.to_string(), self.scales.1));
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

    pub(super) fn careful<T: ArrowPrimitiveType>(
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
    use arrow_array::{Array, cast::AsArray};
    use datafusion_common::ScalarValue;

    #[test]
    fn integers_overflow_only_where_they_count() {
        let kernel = |op, family| Arithmetic {
            op,
            family,
            scales: (0, 0, 0),
            result: if family == Family::Signed { DataType::Int64 } else { DataType::UInt64 },
            adaptive: false,
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
