//! A call of a function: its surroundings while it is computed.

use muster_types::{CastWarning, Collation, ErrorCode, Result, SqlError, SqlType, Value, temporal::DateModes};
use std::{
    any::Any,
    collections::HashMap,
    fmt,
    sync::{Arc, Mutex},
};

/// The state that a volatile function keeps between the rows of a statement, for one place where the statement calls
/// it.
pub type CallState = Option<Box<dyn Any + Send>>;

/// The states of the volatile functions of a statement, or of a part of it: by the address of the expression that
/// calls, which stays where it is as long as the statement runs.
#[derive(Default)]
pub struct CallStates {
    by_call: Mutex<HashMap<usize, CallState>>,
    variables: Option<Arc<dyn UserVariables>>,
}

/// The user variables of a session, which expressions read and assign row by row.
pub trait UserVariables: Send + Sync {
    /// The value of `@name`, NULL if it was never set. `name` is in lower case.
    fn value(&self, name: &str) -> Value;
    /// Sets `@name` to a value whose text has this collation. Error: there are too many variables.
    fn assign(&self, name: &str, value: Value, collation: Option<Collation>) -> Result<()>;
}

impl CallStates {
    /// The states of expressions that may use these variables.
    pub fn with_variables(variables: Arc<dyn UserVariables>) -> CallStates {
        CallStates { variables: Some(variables), ..CallStates::default() }
    }

    /// The session's variables; `None` where expressions cannot use them.
    pub fn variables(&self) -> Option<&dyn UserVariables> {
        self.variables.as_deref()
    }

    /// Runs `f` with the state of the call that has this address.
    pub fn with<T>(&self, address: usize, f: impl FnOnce(&mut CallState) -> T) -> T {
        let mut by_call = self.by_call.lock().unwrap_or_else(|poisoned| poisoned.into_inner());
        f(by_call.entry(address).or_default())
    }
}

impl fmt::Debug for CallStates {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("CallStates")
    }
}

/// One call of a function.
pub struct Call<'a> {
    /// The function's name as messages have it.
    pub name: &'a str,
    /// Writes the call as an error message shows it.
    pub printed: &'a dyn Fn() -> String,
    /// Writes an argument as a warning shows it.
    pub printed_argument: &'a dyn Fn(usize) -> String,
    /// Type of the result.
    pub ty: SqlType,
    /// Types of the arguments, as far as they are known.
    pub types: &'a [Option<SqlType>],
    /// The collation that text arguments compare under.
    pub collation: Collation,
    /// The values that the function asks of the session, in the order of [`crate::Function::session`].
    pub session: &'a [Value],
    /// The function's state in this statement; for functions that keep one.
    pub state: &'a mut CallState,
    /// Takes warnings.
    pub warnings: &'a mut dyn FnMut(CastWarning),
    /// Longest text that a function makes, in bytes (`max_allowed_packet`).
    pub text_bytes_max: usize,
    /// Takes memory for a text of so many bytes, or answers why there is none.
    pub reserve: &'a mut dyn FnMut(usize) -> Result<()>,
}

impl Call<'_> {
    pub fn warn(&mut self, code: ErrorCode, message: impl Into<String>) {
        (self.warnings)(CastWarning { code, message: message.into() });
    }

    /// Warning 1411: an argument is no such value for the function.
    pub fn warn_wrong_value(&mut self, i: usize, kind: &str) {
        let argument = (self.printed_argument)(i);
        let message = format!("Incorrect {kind} value: '{argument}' for function {}", self.name);
        self.warn(ErrorCode::WrongValueForType, message);
    }

    /// Returns true if a result of so many bytes can be made. Else the result is NULL, and the warning 1301 is given.
    /// Error: no memory.
    pub fn has_room(&mut self, bytes: usize) -> Result<bool> {
        if bytes <= self.text_bytes_max {
            (self.reserve)(bytes)?;
            return Ok(true);
        }
        let (name, max) = (self.name, self.text_bytes_max);
        let message = format!("Result of {name}() was larger than max_allowed_packet ({max}) - truncated");
        self.warn(ErrorCode::AllowedPacketOverflowed, message);
        Ok(false)
    }

    /// Error 1690 for a result that its type does not hold; `what` is MySQL's name of the type.
    pub fn out_of_range(&self, what: &str) -> SqlError {
        let message = format!("{what} value is out of range in '{}'", (self.printed)());
        SqlError::new(ErrorCode::DataOutOfRange, message)
    }

    /// A double as a result. Error 1690 for one that is too large.
    pub fn finite(&self, x: f64) -> Result<Value> {
        if x.is_finite() { Ok(Value::Double(x)) } else { Err(self.out_of_range("DOUBLE")) }
    }

    /// A value in another type, with MySQL's warning. A function that reads dates asks for the session's modes of them.
    pub fn cast(&mut self, value: &Value, to: SqlType) -> Value {
        let (value, warning) = muster_types::cast::cast_dated(value, to, self.date_modes());
        warning.into_iter().for_each(|w| (self.warnings)(w));
        value
    }

    /// The text of an argument; `None` for NULL. Dates and times have the fractional seconds of the argument's type.
    pub fn text(&self, args: &[Value], i: usize) -> Option<String> {
        let fsp = self.types.get(i).copied().flatten().map_or(0, |ty| ty.fsp());
        args.get(i)?.to_text(fsp)
    }

    /// A value of the session as text.
    pub fn session_text(&self, i: usize) -> String {
        self.session.get(i).and_then(|value| value.to_text(6)).unwrap_or_default()
    }

    /// The session's modes of dates, of a function that asks for them before all else.
    pub fn date_modes(&self) -> DateModes {
        match self.session.first() {
            Some(Value::Int(bits)) => DateModes::from_bits(*bits),
            _ => DateModes::DEFAULT,
        }
    }

    /// Returns true for an argument that is the text of a date which an interval has moved, of a function that asks for
    /// these behind the modes of dates.
    pub fn is_moved(&self, i: usize) -> bool {
        self.session_int(1) >> i & 1 == 1
    }

    /// A value of the session as an integer.
    pub fn session_int(&self, i: usize) -> i64 {
        match self.session.get(i) {
            Some(Value::Int(n)) => *n,
            Some(Value::UInt(n)) => i64::try_from(*n).unwrap_or(i64::MAX),
            _ => 0,
        }
    }
}

/// The signed integer of the 64 bits that an argument is, which [`crate::Takes::Bits`] has made one.
pub fn signed_bits(args: &[Value], i: usize) -> i64 {
    match args.get(i) {
        Some(Value::UInt(n)) => *n as i64,
        _ => int(args, i),
    }
}

/// The integer that an argument is, which [`crate::Takes::Int`] has made one; 0 for one that is left out.
pub fn int(args: &[Value], i: usize) -> i64 {
    match args.get(i) {
        Some(Value::Int(n)) => *n,
        Some(Value::UInt(n)) => i64::try_from(*n).unwrap_or(i64::MAX),
        Some(Value::Bool(b)) => i64::from(*b),
        Some(Value::Null) | None => 0,
        Some(other) => match muster_types::cast(other, SqlType::BIGINT).0 {
            Value::Int(n) => n,
            _ => 0,
        },
    }
}

/// The double that an argument is; 0 for one that is left out.
pub fn double(args: &[Value], i: usize) -> f64 {
    args.get(i).map_or(0.0, |value| muster_types::cast::to_double(value).0)
}
