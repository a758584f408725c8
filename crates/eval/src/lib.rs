//! The value of an expression for one row, with MySQL's semantics.
//!
//! Constant folding uses it, operators fall back on it, and tests compare faster implementations with it. It knows
//! expressions and values only: neither plans nor storage.
//!
//! ```text
//!   lib.rs         logic, CASE, IN, LIKE, CAST; which function
//!   compare.rs     comparison, truth
//!   arithmetic.rs  + - * / DIV %, unary minus
//!   number.rs      rounding, logarithms, bits
//!   read_number.rs numbers of texts, with the warnings of where they come from
//!   bit_strings.rs bits of byte strings
//!   text.rs        functions over text
//!   checksum.rs    CRC32
//!   temporal.rs    functions over dates and times
//!   interval.rs    what an INTERVAL moves a date by
//!   call.rs        arguments of functions
//!   library.rs     functions of the table in `muster_functions`
//!   prepared.rs    expressions that are computed for many rows
//! ```

pub mod arithmetic;
mod bit_strings;
mod call;
mod checksum;
pub mod compare;
mod interval;
mod library;
pub mod number;
pub mod prepared;
pub mod read_number;
pub mod temporal;
pub mod text;

pub use checksum::crc32;

use muster_algebra::{ColId, Expr, LogicOp};
use muster_functions::CallStates;
use muster_types::{CastWarning, Collation, ErrorCode, Result, SqlType, Value, cast_from, collation::LikePattern};
use std::borrow::Cow;

/// The evaluator of an expression, with what it may ask of its surroundings.
pub struct Evaluator<'a> {
    /// The value of a column; `None`: not known.
    pub value: &'a dyn Fn(ColId) -> Option<Value>,
    /// The type of a column: its collation decides comparisons, its `fsp` how it prints.
    pub ty: &'a dyn Fn(ColId) -> Option<SqlType>,
    /// The values of the statement's parameters, by [`Expr::Parameter`]'s index; one that is missing is not known.
    pub parameters: &'a [Value],
    /// Takes warnings.
    pub warn: &'a mut dyn FnMut(CastWarning),
    /// Longest text that a function makes, in bytes (`max_allowed_packet`); a longer one is NULL, with warning 1301.
    pub text_bytes_max: usize,
    /// Takes memory for a text of so many bytes that a function is about to make, or answers why there is none.
    pub reserve: &'a mut dyn FnMut(usize) -> Result<()>,
    /// Takes what LAST_INSERT_ID() is from now on. Without it, a call that says so is not known.
    pub last_insert_id: Option<&'a mut dyn FnMut(u64)>,
    /// The states that volatile functions keep between rows. Without them, a call of one is not known.
    pub states: Option<&'a CallStates>,
}

/// Longest text that a function makes while a statement is planned, in bytes: the least `max_allowed_packet`. What is
/// longer waits for execution, which knows the session's, and has memory for it.
pub const PLANNED_TEXT_BYTES_MAX: usize = 1024;

/// The value of an expression; `None` if it depends on a column without a value, on a subquery, or waits (SLEEP), or
/// for a text of more than [`PLANNED_TEXT_BYTES_MAX`]. Columns of text compare under the default collation;
/// [`Evaluator`] can know theirs. Warnings are dropped.
pub fn eval(expr: &Expr, columns: &dyn Fn(ColId) -> Option<Value>) -> Option<Result<Value>> {
    let mut too_long = false;
    let value = Evaluator {
        value: columns,
        ty: &|_| None,
        parameters: &[],
        warn: &mut |w| too_long |= w.code == ErrorCode::AllowedPacketOverflowed,
        text_bytes_max: PLANNED_TEXT_BYTES_MAX,
        reserve: &mut |_| Ok(()),
        last_insert_id: None,
        states: None,
    }
    .eval(expr);
    value.filter(|_| !too_long)
}

/// `None`: not constant; else a value or MySQL's error.
type Outcome = Option<Result<Value>>;

/// Passes on what is not a value.
macro_rules! value {
    ($outcome:expr) => {
        match $outcome {
            Some(Ok(value)) => value,
            other => return other,
        }
    };
}
use value;

impl Evaluator<'_> {
    /// The value of an expression; `None` if it depends on a column without a value, on a subquery, or waits (SLEEP).
    ///
    /// Errors: 1690 where arithmetic leaves the range of its type.
    pub fn eval(&mut self, expr: &Expr) -> Outcome {
        match expr {
            Expr::Column(id) => (self.value)(*id).map(Ok),
            Expr::Literal { value, .. } => Some(Ok(value.clone())),
            Expr::Parameter { index, ty, .. } => {
                let (value, warning) = cast_from(self.parameters.get(*index)?, None, *ty);
                warning.into_iter().for_each(|w| (self.warn)(w));
                Some(Ok(value))
            }
            Expr::Cast { arg, ty } => {
                let value = value!(self.eval(arg));
                let (value, warning) = cast_from(&value, self.type_of(arg), *ty);
                warning.into_iter().for_each(|w| (self.warn)(w));
                Some(Ok(value))
            }
            Expr::Compare { op, left, right } => {
                let (a, b) = (value!(self.eval(left)), value!(self.eval(right)));
                Some(Ok(compare::compare(*op, &a, &b, self.collation_of(&[left, right], &[&a, &b]))))
            }
            Expr::Logic { op, args } => self.logic(*op, args),
            Expr::Not(arg) => Some(Ok(from_truth(compare::truth(&value!(self.eval(arg))).map(|b| !b)))),
            Expr::IsNull { arg, negated } => Some(Ok(Value::Bool(value!(self.eval(arg)).is_null() != *negated))),
            Expr::IsTruth { arg, truth, negated } => {
                let is = compare::truth(&value!(self.eval(arg))) == Some(*truth);
                Some(Ok(Value::Bool(is != *negated)))
            }
            Expr::Arithmetic { op, left, right, ty } => {
                let (a, b) = (value!(self.eval(left)), value!(self.eval(right)));
                Some(arithmetic::arithmetic(*op, &a, &b, *ty, self.warn).map_err(|e| e.in_expr(&self.printed(expr))))
            }
            Expr::Negate { arg, ty } => {
                let value = value!(self.eval(arg));
                Some(arithmetic::negate(&value, *ty).map_err(|e| e.in_expr(&self.printed(expr))))
            }
            Expr::InList { arg, list, negated } => self.in_list(arg, list, *negated),
            Expr::Like { arg, pattern, escape, negated } => self.like(arg, pattern, *escape, *negated),
            Expr::Case { branches, otherwise, ty } => {
                for (condition, result) in branches {
                    if compare::truth(&value!(self.eval(condition))) == Some(true) {
                        let value = value!(self.eval(result));
                        return Some(Ok(self.conform(value, self.type_of(result), *ty)));
                    }
                }
                match otherwise {
                    Some(result) => {
                        let value = value!(self.eval(result));
                        Some(Ok(self.conform(value, self.type_of(result), *ty)))
                    }
                    None => Some(Ok(Value::Null)),
                }
            }
            Expr::Call { function, args, ty } => self.function(expr, *function, args, *ty),
            Expr::Subquery(_) | Expr::Subplan(_) => None,
        }
    }

    /// A decisive argument decides even if others are not known.
    fn logic(&mut self, op: LogicOp, args: &[Expr]) -> Outcome {
        let decisive = match op {
            LogicOp::And => Some(false),
            LogicOp::Or => Some(true),
            LogicOp::Xor => None,
        };
        let (mut unknown, mut null, mut odd) = (false, false, false);
        for arg in args {
            match self.eval(arg) {
                None => unknown = true,
                Some(Err(e)) => return Some(Err(e)),
                Some(Ok(value)) => match compare::truth(&value) {
                    None => null = true,
                    truth if truth == decisive => return Some(Ok(from_truth(truth))),
                    Some(truth) => odd ^= truth,
                },
            }
        }
        if unknown {
            return None;
        }
        Some(Ok(match (null, op) {
            (true, _) => Value::Null,
            (false, LogicOp::Xor) => Value::Bool(odd),
            (false, _) => Value::Bool(op == LogicOp::And),
        }))
    }

    /// `arg [NOT] LIKE pattern`; a pattern that is a byte string is compared byte by byte.
    fn like(&mut self, arg: &Expr, pattern: &Expr, escape: Option<char>, negated: bool) -> Outcome {
        let (a, p) = (value!(self.eval(arg)), value!(self.eval(pattern)));
        if a.is_null() || p.is_null() {
            return Some(Ok(Value::Null));
        }
        let like = match &p {
            Value::Bytes(bytes) => LikePattern::of_bytes(bytes, escape),
            text => {
                let collation = self.collation_of(&[arg, pattern], &[&a, text]);
                LikePattern::new(&self.text_of(pattern, text).unwrap_or_default(), escape, collation)
            }
        };
        let matches = match &a {
            Value::Bytes(bytes) => like.matches_bytes(bytes),
            _ => like.matches(&self.text_of(arg, &a).unwrap_or_default()),
        };
        Some(Ok(Value::Bool(matches != negated)))
    }

    fn in_list(&mut self, arg: &Expr, list: &[Expr], negated: bool) -> Outcome {
        let value = value!(self.eval(arg));
        if value.is_null() {
            return Some(Ok(Value::Null));
        }
        let mut null = false;
        for item in list {
            let other = value!(self.eval(item));
            let collation = self.collation_of(&[arg, item], &[&value, &other]);
            match compare::order(&value, &other, collation) {
                None => null = true,
                Some(std::cmp::Ordering::Equal) => return Some(Ok(Value::Bool(!negated))),
                Some(_) => {}
            }
        }
        Some(Ok(if null { Value::Null } else { Value::Bool(negated) }))
    }

    /// The type of an expression as far as it is known.
    fn type_of(&self, expr: &Expr) -> Option<SqlType> {
        type_of(expr, self.ty)
    }

    /// The collation that values of these expressions compare under: byte strings compare as bytes, else the first
    /// that is known.
    fn collation_of(&self, exprs: &[&Expr], values: &[&Value]) -> Collation {
        if values.iter().any(|v| matches!(v, Value::Bytes(_))) {
            return Collation::Binary;
        }
        exprs.iter().find_map(|e| self.type_of(e)?.collation()).unwrap_or(Collation::DEFAULT)
    }

    /// A value as text; `None` for NULL.
    fn text_of<'v>(&self, expr: &Expr, value: &'v Value) -> Option<Cow<'v, str>> {
        text::to_text(value, self.type_of(expr))
    }

    /// The value in the shape that type `ty` has: results of functions and of CASE.
    fn conform(&mut self, value: Value, from: Option<SqlType>, ty: SqlType) -> Value {
        let ty = ty.stored_type();
        let fits = match (&value, ty) {
            (Value::Null, _) | (_, SqlType::Null) => true,
            (Value::Bool(_), SqlType::Bool) => true,
            (Value::Int(_), SqlType::Int { unsigned: false, .. }) => true,
            (Value::UInt(_), SqlType::Int { unsigned: true, .. }) => true,
            (Value::UInt(_), SqlType::Enum(_) | SqlType::Set(_) | SqlType::Year | SqlType::Bit { .. }) => {
                from == Some(ty)
            }
            (Value::Decimal(d), SqlType::Decimal { scale, .. }) => d.scale == scale,
            (Value::Double(_), SqlType::Double) | (Value::Float(_), SqlType::Float) => true,
            (Value::Date(_), SqlType::Date) | (Value::Time(_), SqlType::Time { .. }) => true,
            (Value::DateTime(_), SqlType::DateTime { .. } | SqlType::Timestamp { .. }) => true,
            (Value::Text(_), SqlType::Text { .. }) | (Value::Bytes(_), SqlType::Bytes { .. }) => true,
            (Value::Json(_), SqlType::Json) => true,
            _ => false,
        };
        if fits {
            return value;
        }
        // The declared length of a function's result is an estimate of its longest, never a reason to cut it.
        let ty = match ty {
            SqlType::Text { kind, collation, .. } => SqlType::Text { kind, collation, length: u32::MAX },
            SqlType::Bytes { .. } => SqlType::Bytes { kind: muster_types::BytesKind::LongBlob, length: u32::MAX },
            other => other,
        };
        let (value, warning) = cast_from(&value, from, ty);
        warning.into_iter().for_each(|w| (self.warn)(w));
        value
    }

    /// The expression for an error message, with columns' values in their place.
    fn printed(&self, expr: &Expr) -> String {
        printed(expr, self.value)
    }
}

/// The type of an expression as far as it is known.
fn type_of(expr: &Expr, column_type: &dyn Fn(ColId) -> Option<SqlType>) -> Option<SqlType> {
    match expr {
        Expr::Column(id) => column_type(*id),
        Expr::Literal { ty, .. }
        | Expr::Parameter { ty, .. }
        | Expr::Cast { ty, .. }
        | Expr::Arithmetic { ty, .. }
        | Expr::Negate { ty, .. }
        | Expr::Case { ty, .. }
        | Expr::Call { ty, .. } => Some(*ty),
        Expr::Subquery(_) | Expr::Subplan(_) => None,
        _ => Some(SqlType::Bool),
    }
}

/// The expression for an error message, with columns' values in their place.
fn printed(expr: &Expr, value: &dyn Fn(ColId) -> Option<Value>) -> String {
    muster_algebra::expr_text::nested(expr, &|id| match value(id) {
        Some(value) => value.to_string(),
        None => format!("#{}", id.0),
    })
}

fn from_truth(truth: Option<bool>) -> Value {
    truth.map_or(Value::Null, Value::Bool)
}

#[cfg(test)]
mod tests;
