//! Decimals beyond 128 bits: arguments and results of types of more than 38 digits, and what does not fit 128 bits
//! between arguments and result.

use super::{
    arithmetic::{Arithmetic, narrow},
    decimal::within,
    operand::Operand,
};
use crate::error::external;
use arrow_array::{Array, ArrayRef, Decimal64Array, Decimal128Array, Decimal256Array, cast::AsArray, types::*};
use arrow_buffer::{NullBuffer, i256};
use arrow_schema::DataType;
use datafusion_common::Result;
use muster_algebra::ArithmeticOp;
use muster_types::{Decimal, SqlError, decimal::QuotientDigits};
use std::{fmt::Display, sync::Arc};

impl Operand<Decimal128Type> {
    pub fn widest(&self) -> Operand<Decimal256Type> {
        Operand { array: self.array.unary(i256::from_i128), constant: self.constant }
    }
}

impl Arithmetic {
    /// The result; `nulls`: see [`Arithmetic::nulls`].
    pub(super) fn widest_decimals(
        &self,
        a: &Operand<Decimal256Type>,
        b: &Operand<Decimal256Type>,
        rows: usize,
        nulls: Option<NullBuffer>,
    ) -> Result<ArrayRef> {
        let (sa, sb, sr) = self.scales;
        let name = match self.result {
            DataType::UInt64 => "BIGINT UNSIGNED",
            DataType::Int64 => "BIGINT",
            _ => "DECIMAL",
        };
        let quotient = QuotientDigits::of(sa, sb, sr);
        let exact = |x: i256, y: i256| {
            let (a, b) = (Decimal::wide(x, sa), Decimal::wide(y, sb));
            let result = match self.op {
                ArithmeticOp::Add => a.checked_add(b)?,
                ArithmeticOp::Sub => a.checked_sub(b)?,
                ArithmeticOp::Mul => a.product(b, sr)?,
                ArithmeticOp::Div => Decimal::wide(quotient.divide(x, y)?, quotient.scale),
                ArithmeticOp::IntDiv => Decimal::wide(a.whole_quotient(b)?, 0),
                ArithmeticOp::Mod => a.remainder(b)?,
            };
            let unscaled = result.rescale(sr)?.unscaled();
            fits(unscaled, &self.result).then_some(unscaled)
        };
        let values = self.careful(a, b, rows, &nulls, name, exact)?;
        let array = Decimal256Array::new(values, nulls);
        match self.result.is_integer() {
            // The values fit 64 bits.
            true => narrow(narrowed(array, &DataType::Decimal128(38, 0)), &self.result),
            false => Ok(narrowed(array, &self.result)),
        }
    }
}

/// Returns true if a type has room for an unscaled number.
fn fits(unscaled: i256, ty: &DataType) -> bool {
    match ty {
        DataType::Decimal256(..) => true,
        DataType::Decimal128(..) => unscaled.to_i128().is_some_and(|n| within(n).is_some()),
        DataType::UInt64 => unscaled.to_i128().is_some_and(|n| u64::try_from(n).is_ok()),
        _ => unscaled.to_i128().is_some_and(|n| i64::try_from(n).is_ok()),
    }
}

/// The values, which fit, as decimals of a type.
fn narrowed(array: Decimal256Array, ty: &DataType) -> ArrayRef {
    match ty {
        DataType::Decimal64(..) => {
            let narrow: Decimal64Array = array.unary(|x| x.as_i128() as i64);
            Arc::new(narrow.with_data_type(ty.clone()))
        }
        DataType::Decimal128(..) => {
            let wide: Decimal128Array = array.unary(i256::as_i128);
            Arc::new(wide.with_data_type(ty.clone()))
        }
        _ => Arc::new(array.with_data_type(ty.clone())),
    }
}

/// Decimals or 64-bit integers as unscaled numbers of 256 bits.
pub fn widest_of(array: &ArrayRef) -> Result<Decimal256Array> {
    Ok(match array.data_type() {
        DataType::Int64 => array.as_primitive::<Int64Type>().unary(|x| i256::from_i128(x.into())),
        DataType::UInt64 => array.as_primitive::<UInt64Type>().unary(|x| i256::from_i128(x.into())),
        DataType::Decimal64(..) => array.as_primitive::<Decimal64Type>().unary(|x| i256::from_i128(x.into())),
        DataType::Decimal128(..) => array.as_primitive::<Decimal128Type>().unary(i256::from_i128),
        DataType::Decimal256(..) => array.as_primitive::<Decimal256Type>().clone(),
        other => return Err(external(SqlError::internal(format!("a decimal from {other}")))),
    })
}

/// Decimals of type `result` from unscaled numbers. Where `f` has no value, or it does not fit the type, the error is
/// `fails`; a NULL stays one.
pub fn map_widest(
    array: &Decimal256Array,
    result: &DataType,
    f: impl Fn(i256) -> Option<i256>,
    fails: impl Fn(&dyn Display) -> SqlError,
) -> Result<ArrayRef> {
    let mapped = array.try_unary::<_, Decimal256Type, _>(|x| {
        f(x).filter(|value| fits(*value, result)).ok_or_else(|| external(fails(&x)))
    })?;
    Ok(narrowed(mapped, result))
}

#[cfg(test)]
#[path = "decimal256_tests.rs"]
mod tests;
