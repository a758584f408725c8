//! Months written as numbers: YYMM and YYYYMM.

use super::read::full_year;
use crate::{Call, call::signed_bits};
use muster_types::{ErrorCode, Result, SqlError, Value};

/// Months since the year 0. Error 1210 for what is no month.
fn months(call: &Call, period: i64) -> Result<u64> {
    let (year, month) = (period / 100, period % 100);
    if period <= 0 || !(1..=12).contains(&month) {
        let message = format!("Incorrect arguments to {}", call.name);
        return Err(SqlError::new(ErrorCode::WrongArguments, message));
    }
    Ok((full_year(year) * 12 + month - 1) as u64)
}

/// `PERIOD_ADD(period, months)`. As in MySQL a period before the year 0 wraps around.
pub fn period_add(call: &mut Call, args: &[Value]) -> Result<Value> {
    let months = months(call, signed_bits(args, 0))?.wrapping_add_signed(signed_bits(args, 1));
    if months == 0 {
        return Ok(Value::Int(0));
    }
    let year = i64::try_from(months / 12).map_or(months / 12, |year| full_year(year) as u64);
    Ok(Value::Int(year.wrapping_mul(100).wrapping_add(months % 12 + 1) as i64))
}

/// `PERIOD_DIFF(a, b)`: months from b to a.
pub fn period_diff(call: &mut Call, args: &[Value]) -> Result<Value> {
    let (a, b) = (months(call, signed_bits(args, 0))?, months(call, signed_bits(args, 1))?);
    Ok(Value::Int(a.wrapping_sub(b) as i64))
}
