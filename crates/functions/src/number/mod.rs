//! Functions of numbers.
//!
//! ```text
//!   circle.rs  angles: ACOS, ASIN, ATAN, COT, DEGREES, RADIANS
//!   random.rs  RAND
//! ```

mod circle;
mod random;

use crate::{
    Call, Function,
    Takes::{self, Double},
    result,
};
use muster_types::{Result, Value};

pub const FUNCTIONS: &[Function] = &[
    of_double("ACOS", circle::acos),
    of_double("ASIN", circle::asin),
    of_double("COT", circle::cot).null_of_null(),
    of_double("DEGREES", circle::degrees).null_of_null(),
    of_double("RADIANS", circle::radians).null_of_null(),
    Function::new("ATAN", &[Double, Double], result::double, circle::atan).also(&["ATAN2"]).optional(1).null_of_null(),
    Function::new("RAND", &[Takes::Int], result::double, random::rand).optional(1).volatile().takes_null().never_null(),
];

/// A function of one double.
const fn of_double(name: &'static str, value: fn(&mut Call, &[Value]) -> Result<Value>) -> Function {
    Function::new(name, &[Double], result::double, value)
}
