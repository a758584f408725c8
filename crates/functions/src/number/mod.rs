//! Functions of numbers.
//!
//! ```text
//!   base.rs    CONV, BIN, OCT
//!   circle.rs  angles: ACOS, ASIN, ATAN, COT, DEGREES, RADIANS
//!   format.rs  FORMAT
//!   random.rs  RAND
//! ```

mod base;
mod circle;
mod format;
mod random;

use crate::{
    Call, Function, SessionValue,
    Takes::{self, Double},
    result,
};
use muster_types::{Result, Value};

pub const FUNCTIONS: &[Function] = &[
    of_double("ACOS", circle::acos),
    of_double("ASIN", circle::asin),
    of_double("COT", circle::cot),
    of_double("DEGREES", circle::degrees).null_of_null(),
    of_double("RADIANS", circle::radians).null_of_null(),
    Function::new("ATAN", &[Double, Double], result::double, circle::atan).also(&["ATAN2"]).optional(1),
    Function::new("CONV", &[Takes::DigitText, Takes::Int, Takes::Int], base::returns, base::conv),
    Function::new("BIN", &[Takes::DigitText], base::returns, base::bin),
    Function::new("OCT", &[Takes::DigitText], base::returns, base::oct),
    Function::new("FORMAT", &[Takes::Number, Takes::Int, Takes::AsIs], format::returns, format::format)
        .optional(1)
        .takes_null(),
    Function::new("RAND", &[Takes::Bits], result::double, random::rand)
        .asks(&[SessionValue::ConstantArguments])
        .optional(1)
        .with_state()
        .takes_null()
        .null_of_null(),
];

/// A function of one double.
const fn of_double(name: &'static str, value: fn(&mut Call, &[Value]) -> Result<Value>) -> Function {
    Function::new(name, &[Double], result::double, value)
}
