//! Truth tests and choices between values: IS TRUE, COALESCE, NULLIF, GREATEST, LEAST on one Arrow type.

use super::kernel::{Kernel, arrays};
use arrow_array::{Array, ArrayRef, BooleanArray, Datum, cast::AsArray, new_null_array, types::*};
use arrow_buffer::BooleanBuffer;
use arrow_schema::DataType;
use arrow_select::zip::zip;
use datafusion_common::Result;
use datafusion_expr::ColumnarValue;
use std::sync::Arc;

/// `IS [NOT] TRUE | FALSE` of a boolean; never NULL.
pub struct IsTruth {
    pub truth: bool,
    pub negated: bool,
}

impl Kernel for IsTruth {
    fn label(&self) -> String {
        format!("is{}_{}", if self.negated { "_not" } else { "" }, self.truth)
    }

    fn call(&self, args: &[ColumnarValue], rows: usize) -> Result<ArrayRef> {
        let array = args[0].to_array(rows)?;
        let array = array.as_boolean();
        let mut bits = if self.truth { array.values().clone() } else { !array.values() };
        if let Some(nulls) = array.nulls() {
            bits = &bits & nulls.inner();
        }
        Ok(Arc::new(BooleanArray::new(if self.negated { !&bits } else { bits }, None)))
    }
}

/// The first argument that is not NULL. All arguments have the result's type.
pub struct Coalesce {
    pub result: DataType,
}

impl Kernel for Coalesce {
    fn label(&self) -> String {
        "coalesce".into()
    }

    fn call(&self, args: &[ColumnarValue], rows: usize) -> Result<ArrayRef> {
        let args = arrays(args, rows)?;
        let mut result = new_null_array(&self.result, rows);
        for arg in args.iter().rev() {
            result = match arg.nulls() {
                None => arg.clone(),
                Some(nulls) => {
                    let valid = BooleanArray::new(nulls.inner().clone(), None);
                    zip(&valid, &arg as &dyn Datum, &result as &dyn Datum)?
                }
            };
        }
        Ok(result)
    }
}

/// The test that a number is not zero, which makes a truth value of it.
pub struct NotZero;

impl Kernel for NotZero {
    fn label(&self) -> String {
        "not_zero".into()
    }

    fn call(&self, args: &[ColumnarValue], rows: usize) -> Result<ArrayRef> {
        let array = args[0].to_array(rows)?;
        macro_rules! test {
            ($($arrow:pat => $ty:ty,)*) => {
                match array.data_type() {
                    $($arrow => {
                        let values = array.as_primitive::<$ty>().values();
                        BooleanBuffer::collect_bool(rows, |i| values[i] != <$ty as ArrowPrimitiveType>::default_value())
                    })*
                    DataType::Boolean => return Ok(array),
                    _ => return Ok(new_null_array(&DataType::Boolean, rows)),
                }
            };
        }
        let bits = test! {
            DataType::Int8 => Int8Type,
            DataType::Int16 => Int16Type,
            DataType::Int32 => Int32Type,
            DataType::Int64 => Int64Type,
            DataType::UInt8 => UInt8Type,
            DataType::UInt16 => UInt16Type,
            DataType::UInt32 => UInt32Type,
            DataType::UInt64 => UInt64Type,
            DataType::Decimal64(_, _) => Decimal64Type,
            DataType::Decimal128(_, _) => Decimal128Type,
            DataType::Decimal256(_, _) => Decimal256Type,
            DataType::Float32 => Float32Type,
            DataType::Float64 => Float64Type,
            DataType::Date32 => Date32Type,
            DataType::Timestamp(arrow_schema::TimeUnit::Microsecond, _) => TimestampMicrosecondType,
            DataType::Duration(arrow_schema::TimeUnit::Microsecond) => DurationMicrosecondType,
        };
        Ok(Arc::new(BooleanArray::new(bits, array.nulls().cloned())))
    }
}

/// -0 becomes 0, so that doubles that are equal also have equal bits.
pub struct OneZero;

impl Kernel for OneZero {
    fn label(&self) -> String {
        "one_zero".into()
    }

    fn call(&self, args: &[ColumnarValue], rows: usize) -> Result<ArrayRef> {
        let array = args[0].to_array(rows)?;
        match array.data_type() {
            DataType::Float32 => Ok(Arc::new(array.as_primitive::<Float32Type>().unary::<_, Float32Type>(|x| x + 0.0))),
            DataType::Float64 => Ok(Arc::new(array.as_primitive::<Float64Type>().unary::<_, Float64Type>(|x| x + 0.0))),
            _ => Ok(array),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use datafusion_common::ScalarValue;

    #[test]
    fn truth_is_never_null() {
        let array: ArrayRef = Arc::new(BooleanArray::from(vec![Some(true), Some(false), None]));
        for (truth, negated, want) in [
            (true, false, [true, false, false]),
            (true, true, [false, true, true]),
            (false, false, [false, true, false]),
            (false, true, [true, false, true]),
        ] {
            let kernel = IsTruth { truth, negated };
            let result = kernel.call(&[ColumnarValue::Array(array.clone())], 3).unwrap();
            assert_eq!(result.as_boolean(), &BooleanArray::from(want.to_vec()));
        }
    }

    #[test]
    fn coalesce_takes_the_first_value() {
        let a: ArrayRef = Arc::new(arrow_array::Int64Array::from(vec![Some(1), None, None]));
        let b: ArrayRef = Arc::new(arrow_array::Int64Array::from(vec![Some(5), Some(6), None]));
        let kernel = Coalesce { result: DataType::Int64 };
        let args =
            [ColumnarValue::Array(a), ColumnarValue::Array(b), ColumnarValue::Scalar(ScalarValue::Int64(Some(9)))];
        let result = kernel.call(&args, 3).unwrap();
        assert_eq!(result.as_primitive::<Int64Type>().values(), &[1, 6, 9]);
    }
}
