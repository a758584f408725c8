//! Casts that are common enough to run column-wise. All others go row by row through MySQL's general conversion.

use super::{
    control::NotZero,
    decimal::{map_decimals, out_of_range},
    kernel::{Kernel, KernelExpr},
    numbers::{Rescale, RescaleToCompare},
    temporal::{DateTimeToDate, DateToDateTime},
    to_text::text_cast,
};
use crate::arrow_value::arrow_type;
use arrow_array::{Array, ArrayRef, Float64Array, builder::StringViewBuilder, cast::AsArray, types::*};
use arrow_schema::DataType;
use datafusion_common::Result;
use datafusion_expr::ColumnarValue;
use datafusion_physical_expr_common::physical_expr::PhysicalExpr;
use muster_types::{
    Decimal, IntWidth, MemberList, SqlType, TextKind,
    decimal::{rescale, rescale_256},
    store::decimal_max_256,
};
use std::sync::Arc;

/// A cast that can neither warn nor change its meaning, done by Arrow.
pub struct ArrowCast {
    pub result: DataType,
}

impl Kernel for ArrowCast {
    fn label(&self) -> String {
        format!("cast_{}", self.result)
    }

    fn call(&self, args: &[ColumnarValue], rows: usize) -> Result<ArrayRef> {
        let strict = arrow_cast::CastOptions { safe: false, ..Default::default() };
        Ok(arrow_cast::cast_with_options(&args[0].to_array(rows)?, &self.result, &strict)?)
    }
}

/// The 64 bits of an integer, unsigned: a negative one becomes its complement, as in MySQL without a warning.
struct UnsignedBits;

impl Kernel for UnsignedBits {
    fn label(&self) -> String {
        "unsigned_bits".into()
    }

    fn call(&self, args: &[ColumnarValue], rows: usize) -> Result<ArrayRef> {
        let signed = arrow_cast::cast(&args[0].to_array(rows)?, &DataType::Int64)?;
        Ok(Arc::new(signed.as_primitive::<Int64Type>().unary::<_, UInt64Type>(|n| n as u64)))
    }
}

/// An integer as a decimal.
struct IntegerToDecimal {
    scale: u8,
    result: DataType,
}

impl Kernel for IntegerToDecimal {
    fn label(&self) -> String {
        format!("decimal_{}", self.result)
    }

    fn call(&self, args: &[ColumnarValue], rows: usize) -> Result<ArrayRef> {
        let array = args[0].to_array(rows)?;
        let integers = match array.data_type() {
            DataType::UInt64 => array,
            _ => arrow_cast::cast(&array, &DataType::Int64)?,
        };
        let (narrow, widest) = (|x| rescale(x, 0, self.scale), |x| rescale_256(x, 0, self.scale));
        map_decimals(&integers, &self.result, narrow, widest, |_| out_of_range(""))
    }
}

/// The texts of ENUM values: views into the members, of which each is there once.
struct EnumText {
    members: MemberList,
}

impl Kernel for EnumText {
    fn label(&self) -> String {
        "enum_text".into()
    }

    fn call(&self, args: &[ColumnarValue], rows: usize) -> Result<ArrayRef> {
        let positions = arrow_cast::cast(&args[0].to_array(rows)?, &DataType::UInt64)?;
        let positions = positions.as_primitive::<UInt64Type>();
        let mut texts = StringViewBuilder::with_capacity(rows).with_deduplicate_strings();
        positions.iter().for_each(|p| texts.append_option(p.map(|position| self.members.enum_text(position))));
        Ok(Arc::new(texts.finish()))
    }
}

/// A decimal as the nearest double.
struct DecimalToDouble {
    scale: u8,
}

impl Kernel for DecimalToDouble {
    fn label(&self) -> String {
        format!("double_from_decimal_{}", self.scale)
    }

    fn call(&self, args: &[ColumnarValue], rows: usize) -> Result<ArrayRef> {
        let array = args[0].to_array(rows)?;
        let scale = self.scale;
        // Both numbers are exact doubles, so that one division rounds correctly.
        let exact = scale <= 22;
        let power = 10f64.powi(scale as i32);
        let double = |x: i128| {
            if exact && x.unsigned_abs() < 1 << 53 { x as i64 as f64 / power } else { Decimal::new(x, scale).to_f64() }
        };
        let doubles: Float64Array = match array.data_type() {
            DataType::Decimal64(..) => array.as_primitive::<Decimal64Type>().unary(|x| double(x.into())),
            DataType::Decimal128(..) => array.as_primitive::<Decimal128Type>().unary(double),
            _ => array.as_primitive::<Decimal256Type>().unary(|x| Decimal::wide(x, scale).to_f64()),
        };
        Ok(Arc::new(doubles))
    }
}

/// `None`: not one of the common casts.
pub fn fast_cast(
    arg: &Arc<dyn PhysicalExpr>,
    from: SqlType,
    to: SqlType,
    nullable: bool,
) -> Option<Arc<dyn PhysicalExpr>> {
    let result = arrow_type(&to);
    macro_rules! kernel {
        ($kernel:expr) => {
            Some(KernelExpr::build($kernel, vec![arg.clone()], result, nullable))
        };
    }
    match (from, to) {
        _ if keeps_values(from, to) => Some(arg.clone()),
        (SqlType::Enum(_) | SqlType::Set(_) | SqlType::Year | SqlType::Bit { .. } | SqlType::Unsigned(_), to) => {
            declared_cast(arg, from, to, nullable)
        }
        (SqlType::Int { .. } | SqlType::Decimal { .. } | SqlType::Float | SqlType::Double, SqlType::Bool) => {
            kernel!(NotZero)
        }
        (SqlType::Bool, SqlType::Int { .. } | SqlType::Double | SqlType::Float) => {
            kernel!(ArrowCast { result: result.clone() })
        }
        (SqlType::Bool, SqlType::Decimal { precision, scale }) if precision > scale => {
            kernel!(IntegerToDecimal { scale, result: result.clone() })
        }
        (SqlType::Int { width: a, unsigned: ua }, SqlType::Int { width: b, unsigned: ub }) if widens(a, ua, b, ub) => {
            kernel!(ArrowCast { result: result.clone() })
        }
        (SqlType::Int { unsigned: false, .. }, SqlType::BIGINT_UNSIGNED) => kernel!(UnsignedBits),
        (SqlType::Int { .. }, SqlType::Decimal { precision, scale })
            if precision - scale >= from.decimal_digits().map_or(u8::MAX, |d| d.0) =>
        {
            kernel!(IntegerToDecimal { scale, result: result.clone() })
        }
        (SqlType::Decimal { precision: p, scale: s }, SqlType::Decimal { precision, scale })
            if scale >= s && precision - scale >= p - s =>
        {
            kernel!(Rescale { from: s, to: scale, result: result.clone() })
        }
        (SqlType::Decimal { scale: s, .. }, SqlType::Decimal { precision, scale }) if to.is_compared_decimal() => {
            kernel!(RescaleToCompare { from: s, to: scale, largest: decimal_max_256(precision) })
        }
        // A rounded number may have one digit more in front of the point.
        (SqlType::Decimal { precision: p, scale: s }, SqlType::Decimal { precision, scale })
            if scale < s && precision - scale > p - s =>
        {
            kernel!(Rescale { from: s, to: scale, result: result.clone() })
        }
        (SqlType::Int { .. } | SqlType::Float, SqlType::Double) => kernel!(ArrowCast { result: result.clone() }),
        (SqlType::Decimal { scale, .. }, SqlType::Double) => kernel!(DecimalToDouble { scale }),
        (SqlType::Date, SqlType::DateTime { .. } | SqlType::Timestamp { .. }) => kernel!(DateToDateTime),
        (SqlType::DateTime { .. } | SqlType::Timestamp { .. }, SqlType::Date) => kernel!(DateTimeToDate),
        _ => text_cast(arg, from, to, nullable),
    }
}

/// Returns true if all values of the one type are values of the other.
fn keeps_values(from: SqlType, to: SqlType) -> bool {
    match (from, to) {
        _ if from == to => true,
        (SqlType::Text { length: a, collation: from, .. }, SqlType::Text { length: b, kind, collation: to }) => {
            (a <= b || matches!(kind, TextKind::LongText)) && to.character_set().contains(from.character_set())
        }
        (SqlType::Bytes { length: a, .. }, SqlType::Bytes { length: b, kind }) => {
            a <= b && kind != muster_types::BytesKind::Binary
        }
        (
            SqlType::DateTime { fsp: a } | SqlType::Timestamp { fsp: a },
            SqlType::DateTime { fsp: b } | SqlType::Timestamp { fsp: b },
        ) => a <= b,
        (SqlType::Time { fsp: a }, SqlType::Time { fsp: b }) => a <= b,
        _ => false,
    }
}

/// Casts of columns whose type is not that of an operand.
fn declared_cast(
    arg: &Arc<dyn PhysicalExpr>,
    from: SqlType,
    to: SqlType,
    nullable: bool,
) -> Option<Arc<dyn PhysicalExpr>> {
    let result = arrow_type(&to);
    let args = vec![arg.clone()];
    match (from, to) {
        (SqlType::Unsigned(number), to) if to.is_numeric() => fast_cast(arg, number.plain(), to, nullable),
        (SqlType::Unsigned(_), _) => None,
        (_, SqlType::Bool) => Some(KernelExpr::build(NotZero, args, result, nullable)),
        (SqlType::Enum(members), SqlType::Text { length, .. }) if length >= members.longest() => {
            Some(KernelExpr::build(EnumText { members }, args, result, nullable))
        }
        (_, SqlType::Double) => Some(KernelExpr::build(ArrowCast { result: result.clone() }, args, result, nullable)),
        (SqlType::Year, SqlType::Int { width, .. }) if width >= IntWidth::Int => {
            Some(KernelExpr::build(ArrowCast { result: result.clone() }, args, result, nullable))
        }
        _ => None,
    }
}

fn widens(from: IntWidth, from_unsigned: bool, to: IntWidth, to_unsigned: bool) -> bool {
    match (from_unsigned, to_unsigned) {
        (false, false) | (true, true) => from <= to,
        (true, false) => from < to,
        (false, true) => false,
    }
}
