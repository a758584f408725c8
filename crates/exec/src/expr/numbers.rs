//! Functions of one number (and a count): unary minus, another scale, the average from sum and count.

use super::{
    arithmetic::narrow,
    decimal::{cut_quotient, divide, map_decimals, out_of_range, scale_of},
    decimal256::widest_of,
    kernel::Kernel,
};
use crate::error::external;
use arrow_array::{Array, ArrayRef, Decimal128Array, Decimal256Array, cast::AsArray, types::*};
use arrow_buffer::i256;
use arrow_schema::DataType;
use datafusion_common::Result;
use datafusion_expr::ColumnarValue;
use muster_types::{
    ErrorCode, SqlError,
    decimal::{DIGITS_MAX, QuotientDigits, rescale, rescale_256},
};
use std::{fmt::Display, sync::Arc};

/// Unary minus.
pub struct Negate {
    pub result: DataType,
}

impl Kernel for Negate {
    fn label(&self) -> String {
        format!("negate_{}", self.result)
    }

    fn call(&self, args: &[ColumnarValue], rows: usize) -> Result<ArrayRef> {
        let array = args[0].to_array(rows)?;
        match array.data_type() {
            DataType::Float64 => {
                let array = array.as_primitive::<Float64Type>();
                Ok(Arc::new(array.unary::<_, Float64Type>(|x| -x)))
            }
            DataType::Decimal64(..) | DataType::Decimal128(..) | DataType::Decimal256(..) => {
                let (Some(from), Some(to)) = (scale_of(array.data_type()), scale_of(&self.result)) else {
                    return Err(external(SqlError::internal("negated decimal")));
                };
                let negated = |x: i128| rescale(x.checked_neg()?, from, to);
                let widest = |x: i256| rescale_256(x.checked_neg()?, from, to);
                map_decimals(&array, &self.result, negated, widest, |x| out_of_range_negation("DECIMAL", x))
            }
            DataType::Int64 if scale_of(&self.result).is_some() => {
                let to = scale_of(&self.result).unwrap_or(0);
                let widest = |x: i256| rescale_256(x.checked_neg()?, 0, to);
                let fails = |x: &dyn Display| out_of_range_negation("DECIMAL", x);
                map_decimals(&array, &self.result, |x| rescale(-x, 0, to), widest, fails)
            }
            DataType::UInt64 => {
                // -18446744073709551615 does not fit; -9223372036854775808 does.
                let array = array.as_primitive::<UInt64Type>();
                let negated = array.try_unary::<_, Int64Type, _>(|x| {
                    i64::try_from(-(x as i128)).map_err(|_| external(out_of_range_negation("BIGINT", x)))
                })?;
                narrow(Arc::new(negated), &self.result)
            }
            _ => {
                let array = arrow_cast::cast(&array, &DataType::Int64)?;
                let array = array.as_primitive::<Int64Type>();
                let negated = array.try_unary::<_, Int64Type, _>(|x| {
                    x.checked_neg().ok_or_else(|| external(out_of_range_negation("BIGINT", x)))
                })?;
                narrow(Arc::new(negated), &self.result)
            }
        }
    }
}

fn out_of_range_negation(name: &str, x: impl Display) -> SqlError {
    SqlError::new(ErrorCode::DataOutOfRange, format!("{name} value is out of range in '-({x})'"))
}

/// A decimal column at another scale or precision; error 1690 when digits in front of the point are lost.
pub struct Rescale {
    pub from: u8,
    pub to: u8,
    pub result: DataType,
}

impl Kernel for Rescale {
    fn label(&self) -> String {
        format!("rescale_{}", self.result)
    }

    fn call(&self, args: &[ColumnarValue], rows: usize) -> Result<ArrayRef> {
        let array = args[0].to_array(rows)?;
        if self.from == self.to
            && let (DataType::Decimal128(..), DataType::Decimal128(..)) = (array.data_type(), &self.result)
        {
            return Ok(Arc::new(array.as_primitive::<Decimal128Type>().clone().with_data_type(self.result.clone())));
        }
        if self.from == self.to
            && let (DataType::Decimal64(..), DataType::Decimal64(..)) = (array.data_type(), &self.result)
        {
            return Ok(Arc::new(array.as_primitive::<Decimal64Type>().clone().with_data_type(self.result.clone())));
        }
        if self.from == self.to
            && let (DataType::Decimal64(..), DataType::Decimal128(..)) = (array.data_type(), &self.result)
        {
            let wide: Decimal128Array = array.as_primitive::<Decimal64Type>().unary(i128::from);
            return Ok(Arc::new(wide.with_data_type(self.result.clone())));
        }
        if self.from == self.to && matches!(self.result, DataType::Decimal256(..)) {
            return Ok(Arc::new(widest_of(&array)?.with_data_type(self.result.clone())));
        }
        let narrow = |x| rescale(x, self.from, self.to);
        let widest = |x| rescale_256(x, self.from, self.to);
        map_decimals(&array, &self.result, narrow, widest, |_| out_of_range(""))
    }
}

/// A decimal column of more digits than 256 bits hold at the scale of another that it is compared with: numbers beyond
/// the largest become that. See [`muster_types::SqlType::compared_decimal`].
pub struct RescaleToCompare {
    pub from: u8,
    pub to: u8,
    pub largest: i256,
}

impl Kernel for RescaleToCompare {
    fn label(&self) -> String {
        format!("compared_{}_{}_{}", self.from, self.to, self.largest)
    }

    fn call(&self, args: &[ColumnarValue], rows: usize) -> Result<ArrayRef> {
        let least = self.largest.wrapping_neg();
        let rescaled = |x: i256| match rescale_256(x, self.from, self.to) {
            Some(rescaled) => rescaled.clamp(least, self.largest),
            None if x.is_negative() => least,
            None => self.largest,
        };
        let array: Decimal256Array = widest_of(&args[0].to_array(rows)?)?.unary(rescaled);
        Ok(Arc::new(array.with_data_type(DataType::Decimal256(DIGITS_MAX as u8, self.to as i8))))
    }
}

/// A double that must be a number: error 1690 for the infinity or NaN that an aggregate function ended at.
pub struct Finite {
    /// MySQL's name of the function, in lower case.
    pub function: &'static str,
}

impl Kernel for Finite {
    fn label(&self) -> String {
        format!("finite_{}", self.function)
    }

    fn call(&self, args: &[ColumnarValue], rows: usize) -> Result<ArrayRef> {
        let array = args[0].to_array(rows)?;
        let lost = array.as_primitive::<Float64Type>().iter().flatten().any(|x| !x.is_finite());
        if lost {
            let message = format!("DOUBLE value is out of range in '{}'", self.function);
            return Err(external(SqlError::new(ErrorCode::DataOutOfRange, message)));
        }
        Ok(array)
    }
}

/// `SUM / COUNT` of an average: NULL when the count is zero. The sum is a decimal.
pub struct AverageOf {
    pub sum_scale: u8,
    pub scale: u8,
    pub result: DataType,
}

impl Kernel for AverageOf {
    fn label(&self) -> String {
        format!("average_{}_{}", self.sum_scale, self.result)
    }

    fn call(&self, args: &[ColumnarValue], rows: usize) -> Result<ArrayRef> {
        let (sum, count) = (args[0].to_array(rows)?, args[1].to_array(rows)?);
        let count = count.as_primitive::<Int64Type>();
        let shift = self.scale as i32 - self.sum_scale as i32;
        let out_of_range = |_: &dyn Display| out_of_range(" in 'avg'");
        let Some(sum) = sum.as_primitive_opt::<Decimal128Type>() else {
            let digits = QuotientDigits { scale: self.scale, shift, is_cut: self.scale == 0 };
            let average = |(sum, count): (Option<i256>, i64)| match (sum, count) {
                (None, _) | (_, 0) => Ok(None),
                (Some(sum), _) => match digits.divide(sum, i256::from_i128(count.into())) {
                    Some(average) => Ok(Some(average)),
                    None => Err(external(out_of_range(&""))),
                },
            };
            let sum = widest_of(&sum)?;
            let averages = sum.iter().zip(count.values().iter().copied()).map(average);
            let averages: ArrayRef = Arc::new(averages.collect::<Result<Decimal256Array>>()?);
            return map_decimals(&averages, &self.result, Some, Some, out_of_range);
        };
        let mut out = Vec::with_capacity(rows);
        for i in 0..rows {
            out.push(if sum.is_null(i) || count.value(i) == 0 {
                None
            } else {
                let (sum, count) = (sum.value(i), count.value(i) as i128);
                // As other quotients of no digits behind the point, it is cut.
                let quotient =
                    if self.scale == 0 { cut_quotient(sum, count, shift) } else { divide(sum, count, shift) };
                Some(quotient.ok_or_else(|| external(out_of_range(&"")))?)
            });
        }
        let averages: ArrayRef = Arc::new(Decimal128Array::from(out));
        map_decimals(&averages, &self.result, Some, Some, out_of_range)
    }
}
