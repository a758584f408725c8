//! Calls of the functions in `muster_functions`.

use super::{Evaluator, Outcome, call::Arguments, printed, text, value};
use muster_algebra::{Expr, ScalarFunction};
use muster_functions::{Call, CallState, LibraryFunction, Takes};
use muster_types::{
    Collation, SqlType, Value,
    charset::{self, Charset},
};

impl Evaluator<'_> {
    /// `args`: those of the statement, and behind them the values of the session that the function asks for.
    pub(super) fn library(&mut self, expr: &Expr, function: LibraryFunction, args: &[Expr], ty: SqlType) -> Outcome {
        let mut values = Vec::with_capacity(args.len());
        let call = LibraryCall::of(function, args, &|arg| self.type_of(arg))?;
        for arg in args {
            values.push(value!(self.eval(arg)));
        }
        self.library_of_values(expr, &call, args, &mut values, ty)
    }

    /// The result of a function for the values of its arguments, which may be changed.
    pub(super) fn library_of_values(
        &mut self,
        expr: &Expr,
        prepared: &LibraryCall,
        args: &[Expr],
        values: &mut [Value],
        ty: SqlType,
    ) -> Outcome {
        let LibraryCall { function, name, arguments } = prepared;
        if function.is_volatile && self.states.is_none() {
            return None;
        }
        let (values, session) = values.split_at_mut(arguments.types.len());
        if !function.takes_null && values.iter().any(Value::is_null) {
            return Some(Ok(Value::Null));
        }
        for (i, value) in values.iter_mut().enumerate() {
            if function.takes_at(i) == Takes::Bytes {
                encode(value, arguments.types[i]);
            }
        }
        if let Err(e) = text::decode_others(ScalarFunction::Library(*function), values) {
            return Some(Err(e));
        }
        let columns = self.value;
        let printed_argument = |i: usize| args.get(i).map_or(String::new(), |arg| printed(arg, columns));
        let printed = || printed(expr, columns);
        let states = self.states;
        let mut call = |state: &mut CallState| {
            let mut call = Call {
                name,
                printed: &printed,
                printed_argument: &printed_argument,
                ty,
                types: &arguments.types,
                collation: arguments.collation_of(values),
                session,
                state,
                warnings: self.warn,
                text_bytes_max: self.text_bytes_max,
                reserve: self.reserve,
            };
            (function.value)(&mut call, values)
        };
        let result = match states.filter(|_| function.keeps_state) {
            Some(states) => states.with(std::ptr::from_ref(expr).addr(), call),
            None => call(&mut None),
        };
        Some(result.map(|value| self.conform(value, None, ty)))
    }
}

/// A call of a function of the table, as far as it is known without the values of its arguments.
pub(super) struct LibraryCall {
    function: LibraryFunction,
    /// As messages have it.
    name: String,
    /// Those of the statement.
    arguments: Arguments,
}

impl LibraryCall {
    /// `None` for a wrong number of arguments.
    pub fn of(
        function: LibraryFunction,
        args: &[Expr],
        type_of: &dyn Fn(&Expr) -> Option<SqlType>,
    ) -> Option<LibraryCall> {
        let given = function.given(args);
        if !function.takes_count(given.len()) {
            return None;
        }
        let arguments = Arguments::of(ScalarFunction::Library(function), given, type_of);
        Some(LibraryCall { function, name: function.printed_name(), arguments })
    }
}

/// Makes a text the bytes that it has in the character set of its type.
fn encode(value: &mut Value, ty: Option<SqlType>) {
    if let Value::Text(text) = value {
        let charset = ty.and_then(|ty| ty.collation()).map_or(Charset::Utf8mb4, Collation::character_set);
        *value = Value::Bytes(charset::encode(charset, text).into_owned());
    }
}
