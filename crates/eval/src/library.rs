//! Calls of the functions in `muster_functions`.

use super::{Evaluator, Outcome, printed, text, value};
use muster_algebra::{Expr, ScalarFunction};
use muster_functions::{Call, CallState, LibraryFunction, Takes};
use muster_types::{
    Collation, SqlType, Value,
    charset::{self, Charset},
};

impl Evaluator<'_> {
    /// `args`: those of the statement, and behind them the values of the session that the function asks for.
    pub(super) fn library(&mut self, expr: &Expr, function: LibraryFunction, args: &[Expr], ty: SqlType) -> Outcome {
        if function.is_volatile && self.states.is_none() {
            return None;
        }
        let given = function.given(args);
        if !function.argument_count().contains(&given.len()) {
            return None;
        }
        let mut values = Vec::with_capacity(args.len());
        for arg in args {
            values.push(value!(self.eval(arg)));
        }
        if !function.takes_null && values[..given.len()].iter().any(Value::is_null) {
            return Some(Ok(Value::Null));
        }
        let types: Vec<Option<SqlType>> = given.iter().map(|arg| self.type_of(arg)).collect();
        for (i, value) in values.iter_mut().enumerate().take(given.len()) {
            if function.takes_at(i) == Takes::Bytes {
                encode(value, types[i]);
            }
        }
        if let Err(e) = text::decode_others(ScalarFunction::Library(function), &mut values[..given.len()]) {
            return Some(Err(e));
        }
        let (values, session) = values.split_at(given.len());
        let collation = self.collation_of(&given.iter().collect::<Vec<_>>(), &values.iter().collect::<Vec<_>>());
        let columns = self.value;
        let printed_argument = |i: usize| given.get(i).map_or(String::new(), |arg| printed(arg, columns));
        let printed = || printed(expr, columns);
        let name = function.printed_name();
        let states = self.states;
        let mut call = |state: &mut CallState| {
            let mut call = Call {
                name: &name,
                printed: &printed,
                printed_argument: &printed_argument,
                ty,
                types: &types,
                collation,
                session,
                is_constant: given.iter().all(|arg| matches!(arg, Expr::Literal { .. } | Expr::Parameter { .. })),
                state,
                warnings: self.warn,
                text_bytes_max: self.text_bytes_max,
                reserve: self.reserve,
            };
            (function.value)(&mut call, values)
        };
        let result = match states.filter(|_| function.is_volatile) {
            Some(states) => states.with(std::ptr::from_ref(expr).addr(), call),
            None => call(&mut None),
        };
        Some(result.map(|value| self.conform(value, None, ty)))
    }
}

/// Makes a text the bytes that it has in the character set of its type.
fn encode(value: &mut Value, ty: Option<SqlType>) {
    if let Value::Text(text) = value {
        let charset = ty.and_then(|ty| ty.collation()).map_or(Charset::Utf8mb4, Collation::character_set);
        *value = Value::Bytes(charset::encode(charset, text).into_owned());
    }
}
