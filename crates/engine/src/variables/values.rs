//! Values of system variables: global, and each session's own.

use super::{
    SessionCosts, Settings,
    definitions::{self, DEFINITIONS, Definition, Kind, Scope},
    flags, optimizer_switch,
};
use crate::charset;
use muster_functions::locale::Locale;
use muster_sql::{VariableScope, deprecated_charset, deprecated_collation};
use muster_types::{Collation, ErrorCode, Result, SqlError, SqlModes, Value, sql_mode::BadModes, time_zone::TimeZone};
use std::{
    collections::HashMap,
    sync::{Arc, OnceLock},
};

/// Variables that would change results and do not yet: any value but the default is refused.
const FIXED: &[&str] = &["explicit_defaults_for_timestamp"];

/// The last second that `timestamp` takes.
const LAST_SECOND: f64 = i32::MAX as f64;

/// Variables that decide what the text of a statement means. A prepared statement keeps the values of when it was
/// prepared, as in MySQL, and plans are kept for each combination of them.
pub const OF_BINDING: &[&str] =
    &["sql_mode", "div_precision_increment", "default_week_format", "lc_time_names", "max_sort_length"];

/// Variables that a bound statement may hold the value of besides those of [`OF_BINDING`]: plans are kept for each
/// combination of them too.
pub const OF_PLANS: &[&str] = &[
    "block_encryption_mode",
    "cte_max_recursion_depth",
    "group_concat_max_len",
    "max_allowed_packet",
    "secure_file_priv",
    "server_id",
    "sql_auto_is_null",
];

/// Variables whose session value is the global one of when the client connected.
const OF_CONNECTION: &[&str] = &["max_allowed_packet", "net_buffer_length"];

/// A set of values, by name in lower case. Cheap to copy until changed.
#[derive(Debug, Clone)]
pub struct Variables {
    set: Arc<Set>,
    /// The constants that plans are costed with.
    costs: Arc<SessionCosts>,
}

#[derive(Debug, Clone, Default)]
struct Set {
    values: HashMap<&'static str, Value>,
    /// Made when somebody asks, of these values.
    settings: OnceLock<Settings>,
}

/// Two names of one variable.
fn canonical(name: &str) -> &str {
    match name {
        "identity" => "last_insert_id",
        other => other,
    }
}

fn wrong_value(name: &str, value: &Value) -> SqlError {
    let shown = value.to_text(6).unwrap_or_else(|| "NULL".into());
    let message = format!("Variable '{name}' can't be set to the value of '{shown}'");
    SqlError::new(ErrorCode::WrongValueForVar, message)
}

fn wrong_type(name: &str) -> SqlError {
    SqlError::new(ErrorCode::WrongTypeForVar, format!("Incorrect argument type to variable '{name}'"))
}

/// Definition of a variable by name in any case; error 1193.
pub fn define(name: &str) -> Result<&'static Definition> {
    definitions::find(&name.to_ascii_lowercase()).ok_or_else(|| SqlError::unknown_system_variable(name))
}

impl Variables {
    /// All defaults; `given`: what this server knows better.
    pub fn global(given: &[(&'static str, Value)]) -> Variables {
        let none = Variables { set: Arc::default(), costs: Arc::default() };
        let mut values: HashMap<&'static str, Value> = HashMap::new();
        for d in DEFINITIONS {
            let value = Value::Text(d.default.into());
            let value = if d.default == "NULL" { Ok(Value::Null) } else { check(d, value, &none).map(|c| c.value) };
            values.insert(d.name, value.unwrap_or(Value::Null));
        }
        values.extend(given.iter().cloned());
        Variables { set: Arc::new(Set { values, settings: OnceLock::new() }), costs: Arc::default() }
    }

    /// Returns true if these are the very values of `other`, unchanged since one was copied from the other.
    pub fn is_same(&self, other: &Variables) -> bool {
        Arc::ptr_eq(&self.set, &other.set) && Arc::ptr_eq(&self.costs, &other.costs)
    }

    /// Returns true if the text of a statement may mean something else under these values than under `other`.
    pub fn differ_for_binding(&self, other: &Variables) -> bool {
        !self.is_same(other) && OF_BINDING.iter().any(|name| self.value(name) != other.value(name))
    }

    /// Value of a known variable; NULL for an unknown one.
    pub fn get(&self, name: &str) -> Value {
        self.value(name).cloned().unwrap_or(Value::Null)
    }

    fn value(&self, name: &str) -> Option<&Value> {
        self.set.values.get(canonical(name))
    }

    /// What statements ask for each time.
    pub fn settings(&self) -> &Settings {
        self.set.settings.get_or_init(|| Settings::of(self))
    }

    pub fn text(&self, name: &str) -> String {
        self.value(name).and_then(|value| value.to_text(6)).unwrap_or_default()
    }

    pub fn is_on(&self, name: &str) -> bool {
        matches!(self.value(name), Some(Value::Int(1)))
    }

    /// Zero for what is not an integer.
    pub fn unsigned(&self, name: &str) -> u64 {
        match self.value(name) {
            Some(Value::Int(i)) => u64::try_from(*i).unwrap_or(0),
            Some(Value::UInt(u)) => *u,
            _ => 0,
        }
    }

    /// The cost model, which a session takes over from the global values when it begins.
    pub fn costs(&self) -> &SessionCosts {
        &self.costs
    }

    /// These values with the cost model of others: a session keeps its own until it ends.
    pub fn with_costs_of(self, other: &Variables) -> Variables {
        Variables { costs: other.costs.clone(), ..self }
    }

    /// Replaces the cost model.
    pub fn set_costs(&mut self, costs: SessionCosts) {
        self.costs = Arc::new(costs);
    }

    /// Stores a value that [`check`] has passed, or that the server computes.
    pub fn put(&mut self, name: &'static str, value: Value) {
        let name = definitions::find(canonical(name)).map_or(name, |d| d.name);
        let set = Arc::make_mut(&mut self.set);
        set.values.insert(name, value);
        set.settings = OnceLock::new();
    }

    /// Returns the value as SHOW VARIABLES prints it.
    pub fn shown(&self, d: &Definition) -> String {
        match (d.kind, self.get(d.name)) {
            (Kind::Bool, Value::Int(i)) => if i != 0 { "ON" } else { "OFF" }.into(),
            (Kind::Double(..) | Kind::Moment, Value::Double(x)) => format!("{x:.6}"),
            (_, value) => value.to_text(6).unwrap_or_default(),
        }
    }
}

/// Returns true if a variable is read from the global values, for `@@[scope.]name`. Error 1238 when it has no such
/// scope.
pub fn reads_global(d: &Definition, scope: Option<VariableScope>) -> Result<bool> {
    let wrong = |kind: &str| {
        let message = format!("Variable '{}' is a {kind} variable", d.name);
        Err(SqlError::new(ErrorCode::IncorrectGlobalLocalVar, message))
    };
    match (scope, d.scope) {
        (Some(VariableScope::Session), Scope::Global) => wrong("GLOBAL"),
        (Some(VariableScope::Global), Scope::Session) => wrong("SESSION"),
        (Some(VariableScope::Global), _) | (None, Scope::Global) => Ok(true),
        _ => Ok(false),
    }
}

/// The value of `@@[scope.]name` for a session; `None` if there is no such variable. Variables of the moment, such as
/// `warning_count`, are not kept here.
pub fn value_of(scope: Option<VariableScope>, name: &str, session: &Variables, globals: &Variables) -> Option<Value> {
    let definition = define(name).ok()?;
    let is_global = reads_global(definition, scope).ok()?;
    Some(if is_global { globals } else { session }.get(definition.name))
}

/// Errors 1238, 1228, 1229 and 1621: whether a variable may be set at a scope.
pub fn check_settable(d: &Definition, scope: VariableScope) -> Result<()> {
    if d.read_only {
        let message = format!("Variable '{}' is a read only variable", d.name);
        return Err(SqlError::new(ErrorCode::IncorrectGlobalLocalVar, message));
    }
    match (scope, d.scope) {
        (VariableScope::Session, Scope::Global) => {
            let message = format!("Variable '{}' is a GLOBAL variable and should be set with SET GLOBAL", d.name);
            Err(SqlError::new(ErrorCode::GlobalVariable, message))
        }
        (VariableScope::Global, Scope::Session) => {
            let message = format!("Variable '{}' is a SESSION variable and can't be used with SET GLOBAL", d.name);
            Err(SqlError::new(ErrorCode::LocalVariable, message))
        }
        (VariableScope::Session, _) if OF_CONNECTION.contains(&d.name) => {
            let message = format!("SESSION variable '{}' is read-only. Use SET GLOBAL to assign the value", d.name);
            Err(SqlError::new(ErrorCode::VariableIsReadonly, message))
        }
        _ => Ok(()),
    }
}

/// A value a variable takes.
pub struct Checked {
    pub value: Value,
    /// The value was cut to the variable's bounds: warning 1292.
    pub truncated: bool,
}

/// Error 1232 for a text where SET takes a number only. (Defaults are kept as text, which [`check`] reads.)
pub fn check_type(d: &Definition, value: &Value) -> Result<()> {
    let is_number = matches!(d.kind, Kind::Int(..) | Kind::Blocks(..) | Kind::Double(..) | Kind::Moment);
    match value {
        Value::Text(_) if is_number => Err(wrong_type(d.name)),
        _ => Ok(()),
    }
}

/// The warnings of a value that a variable takes, `given` being its text: 3135 and 3090 for modes that MySQL wants to
/// change, and those of character sets.
pub fn warnings_of(d: &Definition, given: &str, value: &Value) -> Vec<SqlError> {
    if matches!(d.kind, Kind::Charset | Kind::Collation) {
        return warnings_of_charset(d, given, value);
    }
    let Ok(modes) = modes(d.name, value) else { return Vec::new() };
    let half_strict = SqlError::new(
        ErrorCode::SqlModeMerged,
        "'NO_ZERO_DATE', 'NO_ZERO_IN_DATE' and 'ERROR_FOR_DIVISION_BY_ZERO' sql modes should be used with strict mode. \
         They will be merged with strict mode in a future release.",
    );
    let padded = SqlError::new(
        ErrorCode::ChangedSqlMode,
        "Changing sql mode 'PAD_CHAR_TO_FULL_LENGTH' is deprecated. It will be removed in a future release.",
    );
    let is_padded = modes.has(SqlModes::PAD_CHAR_TO_FULL_LENGTH);
    let all = [(half_strict, modes.is_half_strict()), (padded, is_padded)];
    all.into_iter().filter(|(_, applies)| *applies && d.kind == Kind::Modes).map(|(warning, _)| warning).collect()
}

/// The warnings of a character set or a collation: of a name that a later MySQL will not take, and of a variable that
/// it will not let be set.
fn warnings_of_charset(d: &Definition, given: &str, value: &Value) -> Vec<SqlError> {
    let kept = value.to_text(0).unwrap_or_default();
    let mut warnings = Vec::new();
    warnings.extend(match d.kind {
        // `utf8` is kept under its other name.
        Kind::Charset => deprecated_charset(given.trim()).or_else(|| deprecated_charset(&kept)),
        _ => deprecated_collation(&kept),
    });
    if matches!(d.name, "character_set_database" | "collation_database") {
        let message = format!("Updating '{}' is deprecated. It will be made read-only in a future release.", d.name);
        warnings.push(SqlError::new(ErrorCode::DeprecatedWithoutReplacement, message));
    }
    warnings
}

/// The value as the variable keeps it; `current`: the values it has before. Errors 1231, 1232, and those of character
/// sets and collations.
pub fn check(d: &Definition, value: Value, current: &Variables) -> Result<Checked> {
    let kept = |value| Ok(Checked { value, truncated: false });
    let text = match &value {
        Value::Text(s) => Some(s.trim().to_owned()),
        _ => None,
    };
    match d.kind {
        Kind::Bool => match (&value, text.as_deref()) {
            (Value::Int(0) | Value::UInt(0) | Value::Bool(false), _) => kept(Value::Int(0)),
            (Value::Int(1) | Value::UInt(1) | Value::Bool(true), _) => kept(Value::Int(1)),
            (_, Some(word)) if ["on", "true", "1"].iter().any(|w| w.eq_ignore_ascii_case(word)) => kept(Value::Int(1)),
            (_, Some(word)) if ["off", "false", "0"].iter().any(|w| w.eq_ignore_ascii_case(word)) => {
                kept(Value::Int(0))
            }
            (Value::Decimal(_) | Value::Double(_) | Value::Float(_), _) => Err(wrong_type(d.name)),
            _ => Err(wrong_value(d.name, &value)),
        },
        Kind::Int(min, max) | Kind::Blocks(min, max, _) => {
            let n: i128 = match &value {
                Value::Int(i) => (*i).into(),
                Value::UInt(u) => (*u).into(),
                Value::Bool(b) => (*b).into(),
                // Defaults, and what the command line gives, are text; in SQL a string is of the wrong type.
                Value::Text(s) => s.parse().map_err(|_| wrong_type(d.name))?,
                _ => return Err(wrong_type(d.name)),
            };
            let within = match d.kind {
                Kind::Blocks(_, _, block) => (n.min(max) / block * block).max(min),
                _ => n.clamp(min, max),
            };
            let value = match i64::try_from(within) {
                Ok(i) => Value::Int(i),
                Err(_) => Value::UInt(u64::try_from(within).unwrap_or(u64::MAX)),
            };
            Ok(Checked { value, truncated: within != n })
        }
        Kind::Double(min, max) => {
            let x = number(d.name, &value)?;
            let within = x.clamp(min, max);
            Ok(Checked { value: Value::Double(within), truncated: within != x })
        }
        Kind::Enum(words) => {
            let found = match (&value, &text) {
                (Value::Int(i), _) => usize::try_from(*i).ok().and_then(|i| words.get(i)),
                (_, Some(word)) => words.iter().find(|w| w.eq_ignore_ascii_case(word)),
                _ => None,
            };
            found.map_or_else(|| Err(wrong_value(d.name, &value)), |w| kept(Value::Text((*w).into())))
        }
        Kind::Modes => kept(Value::Text(modes(d.name, &value)?.to_string())),
        Kind::Moment => moment(d.name, &value),
        Kind::Switch | Kind::Flags(_) => kept(changed_flags(d, &value, current)?),
        Kind::Text => kept(Value::Text(text_value(d, value)?)),
        Kind::Charset => kept(character_set(d, &value)?),
        Kind::Collation => match (text, of_id(&value)) {
            (Some(name), _) => kept(Value::Text(charset::collation(&name)?.name().into())),
            (None, Some(collation)) => kept(Value::Text(collation.name().into())),
            (None, None) => Err(wrong_value(d.name, &value)),
        },
        Kind::TimeZone => match text.as_deref().and_then(TimeZone::from_name) {
            Some(zone) => kept(Value::Text(zone.to_string())),
            None => {
                let shown = value.to_text(0).unwrap_or_else(|| "NULL".into());
                let message = format!("Unknown or incorrect time zone: '{shown}'");
                Err(SqlError::new(ErrorCode::UnknownTimeZone, message))
            }
        },
    }
}

/// The value of a variable that is a list of flags, with those changed that the text names.
fn changed_flags(d: &Definition, value: &Value, current: &Variables) -> Result<Value> {
    let Value::Text(change) = value else { return Err(wrong_value(d.name, value)) };
    let (change, before) = (change.trim(), current.text(d.name));
    let changed = match d.kind {
        Kind::Flags(names) => flags::changed(names, &before, d.default, change),
        _ => optimizer_switch::changed(&before, change),
    };
    changed.map(Value::Text).map_err(|wrong| wrong_value(d.name, &Value::Text(wrong)))
}

/// The name of a character set; NULL where that means none.
fn character_set(d: &Definition, value: &Value) -> Result<Value> {
    match value {
        Value::Text(name) if d.name == "character_set_client" => {
            Ok(Value::Text(charset::client_charset(name.trim())?.name().into()))
        }
        Value::Text(name) => Ok(Value::Text(charset::of_name(name.trim())?.name().into())),
        Value::Null if d.name == "character_set_results" => Ok(Value::Null),
        number => match of_id(number) {
            Some(collation) => Ok(Value::Text(collation.charset().into())),
            None => Err(wrong_value(d.name, value)),
        },
    }
}

/// The collation that has a number.
fn of_id(value: &Value) -> Option<Collation> {
    match value {
        Value::Int(id) => Collation::from_id(u16::try_from(*id).ok()?),
        _ => None,
    }
}

/// The text of a variable that is text. Errors: 1231 for NULL, 1232 for what is no text.
fn text_value(d: &Definition, value: Value) -> Result<String> {
    match value {
        Value::Null => Err(wrong_value(d.name, &Value::Null)),
        value if d.name == "lc_time_names" => Ok(locale(&value)?.name.into()),
        Value::Text(text) => Ok(text),
        _ => Err(wrong_type(d.name)),
    }
}

/// A language by its name or number. Errors: 1231 for NULL, 1649 for an unknown one.
fn locale(value: &Value) -> Result<&'static Locale> {
    let found = match value {
        Value::Null => return Err(wrong_value("lc_time_names", value)),
        Value::Int(number) => Locale::by_number(*number),
        Value::Decimal(_) | Value::Double(_) | Value::Float(_) => return Err(wrong_type("lc_time_names")),
        other => other.to_text(0).and_then(|name| Locale::by_name(&name)),
    };
    found.ok_or_else(|| {
        let message = format!("Unknown locale: '{}'", value.to_text(0).unwrap_or_default());
        SqlError::new(ErrorCode::UnknownLocale, message)
    })
}

/// Error 1235 for values whose meaning Muster does not have.
pub fn check_supported(d: &Definition, value: &Value) -> Result<()> {
    let text = value.to_text(6).unwrap_or_default();
    let default = || check(d, Value::Text(d.default.into()), &Variables { set: Arc::default(), costs: Arc::default() });
    if FIXED.contains(&d.name) && default().is_ok_and(|c| c.value != *value) {
        return Err(SqlError::unsupported(format!("{} = {text}", d.name)));
    }
    Ok(())
}

/// The modes that a value names. Errors: 1231 for what is no mode, 1232 for other types, 3899 for modes of old.
fn modes(name: &str, value: &Value) -> Result<SqlModes> {
    let number = match value {
        Value::Text(text) => {
            return SqlModes::from_text(text).map_err(|bad| match bad {
                BadModes::Word(word) => wrong_value(name, &Value::Text(word)),
                _ => wrong_value(name, value),
            });
        }
        Value::Int(number) => u64::try_from(*number).map_err(|_| wrong_value(name, value))?,
        Value::UInt(number) => *number,
        Value::Bool(number) => u64::from(*number),
        Value::Null => return Err(wrong_value(name, value)),
        _ => return Err(wrong_type(name)),
    };
    SqlModes::from_number(number).map_err(|bad| match bad {
        BadModes::Removed(bits) => {
            SqlError::new(ErrorCode::UnsupportedSqlMode, format!("sql_mode=0x{bits:08x} is not supported."))
        }
        _ => wrong_value(name, value),
    })
}

/// A moment in seconds, to the microsecond. Errors: 1231 for one that no TIMESTAMP holds, 1232 for what is no number.
fn moment(name: &str, value: &Value) -> Result<Checked> {
    let seconds = number(name, value)?;
    if seconds > LAST_SECOND || (seconds > 0.0 && seconds < 1.0) {
        return Err(wrong_value(name, value));
    }
    // A fraction is never rounded to the next second.
    let (whole, fraction) = (seconds.max(0.0).trunc(), seconds.max(0.0).fract());
    let within = whole + (fraction * 1e6).round().min(999_999.0) / 1e6;
    Ok(Checked { value: Value::Double(within), truncated: seconds < 0.0 })
}

/// Error 1232 for a value that is no number.
fn number(name: &str, value: &Value) -> Result<f64> {
    Ok(match value {
        Value::Int(i) => *i as f64,
        Value::UInt(u) => *u as f64,
        Value::Decimal(x) => x.to_f64(),
        Value::Double(x) => *x,
        // Defaults are text; in SQL a string is of the wrong type.
        Value::Text(s) => s.parse().map_err(|_| wrong_type(name))?,
        _ => return Err(wrong_type(name)),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn set(name: &str, value: Value) -> Result<Value> {
        let d = define(name)?;
        check_settable(d, VariableScope::Session)?;
        let checked = check(d, value, &Variables::global(&[]))?;
        check_supported(d, &checked.value)?;
        Ok(checked.value)
    }

    fn text(s: &str) -> Value {
        Value::Text(s.into())
    }

    #[test]
    fn every_default_is_valid() {
        let global = Variables::global(&[]);
        for d in DEFINITIONS {
            assert!(d.default == "NULL" || check(d, text(d.default), &global).is_ok(), "{}", d.name);
            global.shown(d);
        }
        assert_eq!(global.shown(define("autocommit").unwrap()), "ON");
        assert_eq!(global.shown(define("long_query_time").unwrap()), "10.000000");
        assert_eq!(global.get("sql_select_limit"), Value::UInt(u64::MAX));
    }

    #[test]
    fn values_and_errors() {
        let number = |r: Result<Value>| r.unwrap_err().code.number();
        assert_eq!(set("autocommit", text("off")).unwrap(), Value::Int(0));
        assert_eq!(number(set("autocommit", Value::Int(2))), 1231);
        assert_eq!(number(set("nonsense", Value::Int(2))), 1193);
        assert_eq!(number(set("version", text("x"))), 1238);
        assert_eq!(number(set("max_connections", Value::Int(2))), 1229);
        assert_eq!(number(set("wait_timeout", Value::Double(1.0))), 1232);
        assert_eq!(set("wait_timeout", Value::Int(0)).unwrap(), Value::Int(1));
        assert_eq!(set("transaction_isolation", text("read-committed")).unwrap(), text("READ-COMMITTED"));
        assert_eq!(number(set("transaction_isolation", text("x"))), 1231);
        assert_eq!(
            set("sql_mode", text("strict_all_tables,ansi_quotes")).unwrap(),
            text("ANSI_QUOTES,STRICT_ALL_TABLES")
        );
        assert_eq!(set("sql_mode", Value::Int(2)).unwrap(), text("PIPES_AS_CONCAT"));
        assert_eq!(set("sql_mode", Value::Int(256)).unwrap_err().message, "sql_mode=0x00000100 is not supported.");
        assert_eq!(number(set("sql_mode", Value::Int(-1))), 1231);
        assert_eq!(number(set("sql_mode", Value::Double(1.0))), 1232);
        assert_eq!(set("sql_mode", text("")).unwrap(), text(""));
        assert_eq!(number(set("sql_mode", text("x"))), 1231);
        assert_eq!(set("div_precision_increment", Value::Int(31)).unwrap(), Value::Int(30));
        assert_eq!(number(set("timestamp", Value::Double(0.5))), 1231);
        assert_eq!(set("timestamp", Value::Double(1.000_000_4)).unwrap(), Value::Double(1.0));
        assert_eq!(number(set("time_zone", text("+99:00"))), 1298);
        assert_eq!(set("time_zone", text("-3:30")).unwrap(), text("-03:30"));
        assert_eq!(set("time_zone", text("europe/berlin")).unwrap(), text("Europe/Berlin"));
        assert_eq!(number(set("collation_connection", text("x"))), 1273);
        let switched = set("optimizer_switch", text("mrr=off, batched_key_access=on")).unwrap().to_text(0).unwrap();
        assert!(switched.contains(",mrr=off,") && switched.contains("batched_key_access=on"));
        assert_eq!(number(set("optimizer_switch", text("x=on"))), 1231);
    }
}
