//! Functions: which arguments they look at, and what NULLs do to them.

use super::{Evaluator, Outcome, compare, number, read_number, temporal, text, value};
use muster_algebra::{Expr, ScalarFunction};
use muster_types::{CastWarning, Collation, ErrorCode, SqlType, Value};
use std::cmp::Ordering;

impl Evaluator<'_> {
    pub(super) fn function(&mut self, expr: &Expr, function: ScalarFunction, args: &[Expr], ty: SqlType) -> Outcome {
        match function {
            ScalarFunction::Library(function) => self.library(expr, function, args, ty),
            _ if ty.is_bytes() && is_bit_operation(function) => self.bit_string(function, args),
            _ => self.call(expr, function, args, ty),
        }
    }

    fn call(&mut self, expr: &Expr, function: ScalarFunction, args: &[Expr], ty: SqlType) -> Outcome {
        match function {
            ScalarFunction::Sleep | ScalarFunction::Benchmark | ScalarFunction::Session(_) => return None,
            ScalarFunction::LastInsertId => {
                let value = value!(self.eval(args.first()?));
                self.last_insert_id.as_mut()?(insert_id(&value));
                return Some(Ok(value));
            }
            ScalarFunction::Coalesce => {
                for arg in args {
                    let value = value!(self.eval(arg));
                    if !value.is_null() {
                        return Some(Ok(self.conform(value, self.type_of(arg), ty)));
                    }
                }
                return Some(Ok(Value::Null));
            }
            _ => {}
        }
        let mut values = Vec::with_capacity(args.len());
        for arg in args {
            values.push(value!(self.eval(arg)));
        }
        if values.is_empty() {
            return None;
        }
        let mut types: Vec<Option<SqlType>> = args.iter().map(|a| self.type_of(a)).collect();
        let collation = self.collation_of_call(function, args, &values);
        match function {
            ScalarFunction::NullIf => {
                let [a, b] = values.as_slice() else { return None };
                let equal = compare::order(a, b, collation) == Some(Ordering::Equal);
                let result = if equal { Value::Null } else { a.clone() };
                return Some(Ok(self.conform(result, types[0], ty)));
            }
            ScalarFunction::ConcatWs if !values[0].is_null() => {
                let kept: Vec<bool> = values.iter().map(|v| !v.is_null()).collect();
                let mut keep = kept.iter();
                types.retain(|_| keep.next() == Some(&true));
                values.retain(|v| !v.is_null());
            }
            _ => {}
        }
        if values.iter().any(Value::is_null) {
            temporal::warn_beside_null(function, &values, self.warn);
            return Some(Ok(Value::Null));
        }
        if matches!(function, ScalarFunction::Greatest | ScalarFunction::Least) {
            let greatest = function == ScalarFunction::Greatest;
            return Some(Ok(match extreme(&values, collation, greatest) {
                Some(i) => self.conform(values.swap_remove(i), types[i], ty),
                None => Value::Null,
            }));
        }
        if let Some(number) = read_number::call(function, &values[0], ty, self.warn) {
            return Some(Ok(number));
        }
        if let Err(e) = text::decode_others(function, &mut values) {
            return Some(Err(e));
        }
        let result = match number::call(function, &values, self.warn) {
            Some(Ok(result)) => result,
            Some(Err(e)) => return Some(Err(e.in_expr(&self.printed(expr)))),
            None => {
                let text_args = text::TextArgs { values: &values, types: &types, collation };
                let bytes = text_args.result_bytes(function);
                match self.room_for_text(function, bytes) {
                    Ok(true) => {}
                    Ok(false) => return Some(Ok(Value::Null)),
                    Err(e) => return Some(Err(e)),
                }
                match text::call(function, &text_args) {
                    Some(result) => result,
                    None => temporal::call(function, &values, ty, self.warn)?,
                }
            }
        };
        Some(Ok(self.conform(result, None, ty)))
    }

    /// Returns true if a text of so many bytes can be made. Else the result is NULL, and a warning says so. Error: no
    /// memory.
    fn room_for_text(&mut self, function: ScalarFunction, bytes: usize) -> muster_types::Result<bool> {
        if let Some(name) = text::lengthens(function)
            && bytes > self.text_bytes_max
        {
            let max = self.text_bytes_max;
            let message = format!("Result of {name}() was larger than max_allowed_packet ({max}) - truncated");
            (self.warn)(CastWarning { code: ErrorCode::AllowedPacketOverflowed, message });
            return Ok(false);
        }
        if bytes > 0 {
            (self.reserve)(bytes)?;
        }
        Ok(true)
    }

    /// The collation that a function compares under: of LOCATE that of the text in which something is looked for.
    fn collation_of_call(&self, function: ScalarFunction, args: &[Expr], values: &[Value]) -> Collation {
        let compared = if function == ScalarFunction::Locate && args.len() > 1 { 1..2 } else { 0..args.len() };
        self.collation_of(
            &args[compared.clone()].iter().collect::<Vec<_>>(),
            &values[compared].iter().collect::<Vec<_>>(),
        )
    }
}

/// The number that LAST_INSERT_ID() becomes.
fn insert_id(value: &Value) -> u64 {
    match value {
        Value::UInt(id) => *id,
        Value::Int(id) => *id as u64,
        _ => 0,
    }
}

/// Position of the greatest or least value, the first of equal ones. Next to a date, texts are compared as dates;
/// `None` if one of them is none.
fn extreme(values: &[Value], collation: Collation, greatest: bool) -> Option<usize> {
    let wanted = if greatest { Ordering::Greater } else { Ordering::Less };
    let among_dates = values.iter().any(|v| matches!(v, Value::Date(_) | Value::DateTime(_)));
    let order = |a: &Value, b: &Value| match among_dates {
        true => Some(compare::micros(a)?.cmp(&compare::micros(b)?)),
        false => compare::order(a, b, collation),
    };
    let mut best = 0;
    for i in 1..values.len() {
        if order(&values[i], &values[best])? == wanted {
            best = i;
        }
    }
    Some(best)
}

fn is_bit_operation(function: ScalarFunction) -> bool {
    use ScalarFunction::*;
    matches!(function, BitAnd | BitOr | BitXor | BitNot | ShiftLeft | ShiftRight)
}
