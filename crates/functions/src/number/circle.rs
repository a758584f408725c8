//! Functions of angles.

use crate::{Call, call::double};
use muster_types::{Result, Value};

pub fn acos(_: &mut Call, args: &[Value]) -> Result<Value> {
    Ok(within_one(double(args, 0), f64::acos))
}

pub fn asin(_: &mut Call, args: &[Value]) -> Result<Value> {
    Ok(within_one(double(args, 0), f64::asin))
}

/// NULL for what is no sine or cosine.
fn within_one(x: f64, f: fn(f64) -> f64) -> Value {
    if (-1.0..=1.0).contains(&x) { Value::Double(f(x)) } else { Value::Null }
}

/// `ATAN(x)`, `ATAN(y, x)`.
pub fn atan(_: &mut Call, args: &[Value]) -> Result<Value> {
    Ok(Value::Double(match args.len() {
        1 => double(args, 0).atan(),
        _ => double(args, 0).atan2(double(args, 1)),
    }))
}

pub fn cot(call: &mut Call, args: &[Value]) -> Result<Value> {
    call.finite(1.0 / double(args, 0).tan())
}

pub fn degrees(call: &mut Call, args: &[Value]) -> Result<Value> {
    call.finite(double(args, 0) * (180.0 / std::f64::consts::PI))
}

pub fn radians(call: &mut Call, args: &[Value]) -> Result<Value> {
    call.finite(double(args, 0) * (std::f64::consts::PI / 180.0))
}
