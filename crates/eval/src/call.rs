//! Functions: which arguments they look at, and what NULLs do to them.

use super::{Evaluator, Outcome, arithmetic::OutOfRange, compare, number, read_number, temporal, text, value};
use muster_algebra::{Expr, ScalarFunction};
use muster_types::{
    CastWarning, Collation, ErrorCode, SqlType, Value,
    cast::{cast_from, to_double},
    json,
};
use std::{cmp::Ordering, ops::Range};

/// The arguments of a call, as far as they are known without their values.
pub(super) struct Arguments {
    pub types: Vec<Option<SqlType>>,
    /// The arguments that are compared.
    compared: Range<usize>,
    /// The collation of these, unless one is a byte string.
    collation: Collation,
}

impl Arguments {
    /// The arguments of a call. `type_of`: the type of an expression, if it is known.
    pub fn of(function: ScalarFunction, args: &[Expr], type_of: &dyn Fn(&Expr) -> Option<SqlType>) -> Arguments {
        let types: Vec<Option<SqlType>> = args.iter().map(type_of).collect();
        // LOCATE compares as the text does in which something is looked for.
        let compared = if function == ScalarFunction::Locate && args.len() > 1 { 1..2 } else { 0..args.len() };
        let collation = types[compared.clone()].iter().find_map(|ty| ty.as_ref()?.collation());
        Arguments { types, compared, collation: collation.unwrap_or(Collation::DEFAULT) }
    }

    /// The collation that values of the arguments compare under: byte strings compare as bytes.
    pub fn collation_of(&self, values: &[Value]) -> Collation {
        match values[self.compared.clone()].iter().any(|value| matches!(value, Value::Bytes(_))) {
            true => Collation::Binary,
            false => self.collation,
        }
    }

    /// The arguments that are not NULL, with their values.
    fn without_nulls(&self, values: &[Value]) -> (Vec<Value>, Arguments) {
        let kept = values.iter().zip(&self.types).filter(|(value, _)| !value.is_null());
        let (values, types): (Vec<Value>, Vec<Option<SqlType>>) = kept.map(|(v, ty)| (v.clone(), *ty)).unzip();
        let arguments = Arguments { types, compared: 0..values.len(), collation: self.collation };
        (values, arguments)
    }
}

/// The name of a user variable, which is a literal.
fn variable_name(expr: &Expr) -> Option<&str> {
    match expr {
        Expr::Literal { value: Value::Text(name), .. } => Some(name),
        _ => None,
    }
}

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
            ScalarFunction::AssignVariable => {
                let (name, arg) = (args.first()?, args.get(1)?);
                let value = value!(self.eval(arg));
                let variables = self.states?.variables()?;
                let assigned = variables.assign(variable_name(name)?, value.clone(), ty.collation());
                return Some(assigned.map(|()| value));
            }
            ScalarFunction::ReadVariable => {
                return Some(Ok(self.states?.variables()?.value(variable_name(args.first()?)?)));
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
        let arguments = Arguments::of(function, args, &|arg| self.type_of(arg));
        self.call_of_values(expr, function, &arguments, &mut values, ty)
    }

    /// The result of a function for the values of its arguments, which may be changed.
    pub(super) fn call_of_values(
        &mut self,
        expr: &Expr,
        function: ScalarFunction,
        arguments: &Arguments,
        values: &mut [Value],
        ty: SqlType,
    ) -> Outcome {
        if values.is_empty() {
            return None;
        }
        let types = arguments.types.as_slice();
        let collation = arguments.collation_of(values);
        if function == ScalarFunction::NullIf {
            let [a, b] = values else { return None };
            let equal = compare::order(a, b, collation) == Some(Ordering::Equal);
            let result = if equal { Value::Null } else { a.clone() };
            return Some(Ok(self.conform(result, types[0], ty)));
        }
        if values.iter().any(Value::is_null) {
            if function == ScalarFunction::ConcatWs && !values[0].is_null() {
                let (mut values, arguments) = arguments.without_nulls(values);
                return self.call_of_values(expr, function, &arguments, &mut values, ty);
            }
            temporal::warn_beside_null(function, values, self.warn);
            return Some(Ok(Value::Null));
        }
        if matches!(function, ScalarFunction::Greatest | ScalarFunction::Least) {
            let greatest = function == ScalarFunction::Greatest;
            return Some(Ok(match extreme(values, collation, greatest) {
                Some(i) => self.conform(std::mem::replace(&mut values[i], Value::Null), types[i], ty),
                None => Value::Null,
            }));
        }
        if function == ScalarFunction::ComputedInteger {
            return Some(self.computed_integer(expr, &values[0], ty));
        }
        if let ScalarFunction::DecodeText(decoding) = function {
            return Some(text::decoded(&values[0], ty, decoding, self.warn));
        }
        if function == ScalarFunction::ParseJson {
            return Some(parsed_json(&values[0], types[0]));
        }
        if let Some(number) = read_number::call(function, &values[0], ty, self.warn) {
            return Some(Ok(number));
        }
        if let Err(e) = text::decode_others(function, values) {
            return Some(Err(e));
        }
        let result = match number::call(function, values, self.warn) {
            Some(Ok(result)) => result,
            Some(Err(e)) => return Some(Err(e.in_expr(&self.printed(expr)))),
            None => {
                let text_args = text::TextArgs { values, types, collation };
                let bytes = text_args.result_bytes(function);
                match self.room_for_text(function, bytes) {
                    Ok(true) => {}
                    Ok(false) => return Some(Ok(Value::Null)),
                    Err(e) => return Some(Err(e)),
                }
                match text::call(function, &text_args) {
                    Some(result) => result,
                    None => temporal::call(function, values, ty, self.warn)?,
                }
            }
        };
        Some(Ok(self.conform(result, None, ty)))
    }

    /// The integer of a floating-point number; error 1690 beyond BIGINT.
    fn computed_integer(&mut self, expr: &Expr, number: &Value, ty: SqlType) -> muster_types::Result<Value> {
        // The first double beyond BIGINT is the power of two behind the largest integer.
        const BIGINTS: std::ops::Range<f64> = i64::MIN as f64..i64::MAX as f64;
        if !BIGINTS.contains(&to_double(number).0) {
            return Err(OutOfRange("BIGINT").in_expr(&self.printed(expr)));
        }
        let (integer, warnings) = cast_from(number, None, ty);
        warnings.into_iter().for_each(|warning| (self.warn)(warning));
        Ok(integer)
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
}

/// The document that CAST .. AS JSON makes. Error 3141 for a text that is no JSON.
fn parsed_json(value: &Value, ty: Option<SqlType>) -> muster_types::Result<Value> {
    let tree = json::scalar_or_document(value, ty).map_err(|error| error.in_argument(1, "cast_as_json"))?;
    json::encode(&tree).map(Value::Json).map_err(|limit| limit.error())
}

/// The number that LAST_INSERT_ID() becomes.
fn insert_id(value: &Value) -> u64 {
    match value {
        Value::UInt(id) => *id,
        Value::Int(id) => *id as u64,
        _ => 0,
    }
}

/// Position of the greatest or least value: of equal ones the last is the greatest, the first the least. Next to a
/// date, texts are compared as dates; `None` if one of them is none.
fn extreme(values: &[Value], collation: Collation, greatest: bool) -> Option<usize> {
    let among_dates = values.iter().any(|v| matches!(v, Value::Date(_) | Value::DateTime(_)));
    let order = |a: &Value, b: &Value| match among_dates {
        true => Some(compare::micros(a)?.cmp(&compare::micros(b)?)),
        false => compare::order(a, b, collation),
    };
    let mut best = 0;
    for i in 1..values.len() {
        let order = order(&values[i], &values[best])?;
        if if greatest { order.is_ge() } else { order.is_lt() } {
            best = i;
        }
    }
    Some(best)
}

pub(super) fn is_bit_operation(function: ScalarFunction) -> bool {
    use ScalarFunction::*;
    matches!(function, BitAnd | BitOr | BitXor | BitNot | ShiftLeft | ShiftRight)
}
