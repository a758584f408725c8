//! Functions: the one name of several that MySQL prints, and those that it prints as operators.

use super::{last_part, list, print, truth};
use crate::parse::json_value::{Fallback, JsonValueCall};
use muster_types::{Result, SqlError};
use sqlparser::ast::{self, DataType, Expr, Function, TrimWhereField, Value};

/// `a + b`, where one may be an interval.
pub(super) fn add(left: &Expr, subtracts: bool, right: &Expr) -> Result<String> {
    let sign = if subtracts { "-" } else { "+" };
    match (left, right) {
        (_, Expr::Interval(interval)) => shifted(left, sign, interval),
        (Expr::Interval(interval), _) if !subtracts => shifted(right, sign, interval),
        _ => Ok(format!("({} {sign} {})", print(left)?, print(right)?)),
    }
}

fn shifted(date: &Expr, sign: &str, interval: &ast::Interval) -> Result<String> {
    let Some(unit) = &interval.leading_field else { return Err(SqlError::syntax("INTERVAL", 1)) };
    let unit = unit.to_string().to_lowercase();
    Ok(format!("({} {sign} interval {} {unit})", print(date)?, print(&interval.value)?))
}

pub(super) fn trim(place: Option<TrimWhereField>, what: Option<&Expr>, expr: &Expr) -> Result<String> {
    let place = match place {
        None => "",
        Some(TrimWhereField::Both) => "both ",
        Some(TrimWhereField::Leading) => "leading ",
        Some(TrimWhereField::Trailing) => "trailing ",
    };
    Ok(match what {
        Some(what) => format!("trim({place}{} from {})", print(what)?, print(expr)?),
        None if place.is_empty() => format!("trim({})", print(expr)?),
        None => format!("trim({place}from {})", print(expr)?),
    })
}

/// `CAST(expr AS type)`. `charset`: of texts, if one is written.
pub(super) fn cast(expr: &Expr, ty: &DataType, charset: Option<&str>) -> Result<String> {
    let length = |text: &str| text.find('(').map_or("", |at| &text[at..text.len()]).to_owned();
    let written = ty.to_string().to_ascii_lowercase();
    let word = written.split(['(', ' ']).next().unwrap_or_default();
    let digits = length(&written);
    let name = match word {
        "char" | "character" | "varchar" => {
            let in_parentheses = digits.split(')').next().map_or(String::new(), |inner| match inner {
                "" => String::new(),
                inner => format!("{inner})"),
            });
            format!("char{in_parentheses} charset {}", charset.unwrap_or("utf8mb4"))
        }
        "nchar" | "national" => format!("char{digits} charset utf8mb3"),
        "binary" => format!("char{digits} charset binary"),
        "decimal" | "numeric" | "dec" => match digits.as_str() {
            "" => "decimal(10,0)".to_owned(),
            one if !one.contains(',') => format!("decimal({},0)", one.trim_matches(['(', ')'])),
            both => format!("decimal{}", both.replace(' ', "")),
        },
        "real" => "double".to_owned(),
        "signed" => "signed".to_owned(),
        "unsigned" => "unsigned".to_owned(),
        _ => written.clone(),
    };
    Ok(format!("cast({} as {name})", print(expr)?))
}

/// `CONVERT(expr USING charset)`, `CONVERT(expr, type)`.
pub(super) fn convert(expr: &Expr, ty: Option<&DataType>, charset: Option<&ast::ObjectName>) -> Result<String> {
    let charset = charset.map(|charset| last_part(charset).to_ascii_lowercase());
    match (expr, ty, &charset) {
        (_, Some(ty), charset) => cast(expr, ty, charset.as_deref()),
        // A cast with a character set of its own, as the parser has it.
        (Expr::Cast { expr, data_type, .. }, None, Some(charset)) => cast(expr, data_type, Some(charset)),
        (Expr::Function(call), None, Some(_)) if call.name.to_string().eq_ignore_ascii_case("CHAR") => function(call),
        (_, None, Some(charset)) => Ok(format!("convert({} using {charset})", print(expr)?)),
        (_, None, None) => Err(SqlError::syntax("CONVERT", 1)),
    }
}

/// `json_value(document, path returning type default x on empty null on error)`.
fn json_value(call: &JsonValueCall) -> Result<String> {
    let Some((data_type, charset)) = call.returned() else { return Err(SqlError::syntax("json_value", 1)) };
    let written = data_type.to_string().to_ascii_lowercase();
    let returned = match written.as_str() {
        "real" => "double".to_owned(),
        "decimal" | "dec" => "decimal(10, 0)".to_owned(),
        // The digits of a decimal have a space between them.
        other => other.replace(", ", ",").replace(',', ", "),
    };
    let charset = charset.map_or(String::new(), |name| format!(" character set {}", name.to_ascii_lowercase()));
    let said = |fallback: Fallback, event: &str| {
        Ok::<String, SqlError>(match fallback {
            Fallback::Unsaid => String::new(),
            Fallback::Null => format!(" null on {event}"),
            Fallback::Error => format!(" error on {event}"),
            Fallback::Default(value) => format!(" default {} on {event}", print(value)?),
        })
    };
    let (on_empty, on_error) = (said(call.on_empty, "empty")?, said(call.on_error, "error")?);
    let (document, path) = (print(call.document)?, print(call.path)?);
    Ok(format!("json_value({document}, {path} returning {returned}{charset}{on_empty}{on_error})"))
}

/// The name that MySQL prints for a function, where it is another one.
fn printed_name(name: &str) -> &str {
    match name {
        "lcase" => "lower",
        "ucase" => "upper",
        "ceil" => "ceiling",
        "power" => "pow",
        "octet_length" => "length",
        "character_length" => "char_length",
        "substring" | "mid" => "substr",
        "day" => "dayofmonth",
        "atan2" => "atan",
        "sha1" => "sha",
        "current_date" => "curdate",
        "current_time" => "curtime",
        "current_timestamp" | "localtime" | "localtimestamp" => "now",
        "session_user" | "system_user" => "user",
        "schema" => "database",
        other => other,
    }
}

/// Functions with the word of a unit as their first argument.
fn of_unit(name: &str, args: &[&Expr]) -> Result<Option<String>> {
    let unit = |expr: &Expr| expr.to_string().trim_matches('`').to_lowercase();
    Ok(match (name, args) {
        ("timestampdiff", [of, from, to]) => {
            Some(format!("timestampdiff({},{},{})", unit(of).to_uppercase(), print(from)?, print(to)?))
        }
        ("timestampadd", [of, count, date]) => {
            Some(format!("({} + interval {} {})", print(date)?, print(count)?, unit(of)))
        }
        ("date_add" | "adddate", [date, Expr::Interval(interval)]) => Some(shifted(date, "+", interval)?),
        ("date_sub" | "subdate", [date, Expr::Interval(interval)]) => Some(shifted(date, "-", interval)?),
        ("adddate", [date, days]) => Some(format!("({} + interval {} day)", print(date)?, print(days)?)),
        ("subdate", [date, days]) => Some(format!("({} - interval {} day)", print(date)?, print(days)?)),
        _ => None,
    })
}

pub(super) fn function(function: &Function) -> Result<String> {
    if let Some(chain) = truth::chain_call(function) {
        return chain;
    }
    let lower = function.name.to_string().trim_matches('`').to_ascii_lowercase();
    let Some(args) = truth::arguments(function) else { return Err(SqlError::syntax(&lower, 1)) };
    if let Some(text) = of_unit(&lower, &args)? {
        return Ok(text);
    }
    if let Some(call) = JsonValueCall::of(&args).filter(|_| lower == "json_value") {
        return json_value(&call);
    }
    let number = |n: &str| Expr::Value(Value::Number(n.into(), false).into());
    let (ten, two, eight) = (number("10"), number("2"), number("8"));
    let (zero, three) = (number("0"), number("3"));
    Ok(match (lower.as_str(), &args[..]) {
        ("mod", [a, b]) => format!("({} % {})", print(a)?, print(b)?),
        ("isnull", [arg]) => format!("({} is null)", print(arg)?),
        ("datediff", [a, b]) => format!("(to_days({}) - to_days({}))", print(a)?, print(b)?),
        ("instr", [text, part]) => format!("locate({})", list([*part, *text])?),
        ("bin", [n]) => format!("conv({})", list([*n, &ten, &two])?),
        ("oct", [n]) => format!("conv({})", list([*n, &ten, &eight])?),
        ("week", [date]) => format!("week({})", list([*date, &zero])?),
        ("weekofyear", [date]) => format!("week({})", list([*date, &three])?),
        ("yearweek", [date]) => format!("yearweek({})", list([*date, &zero])?),
        ("date", [date]) => format!("cast({} as date)", print(date)?),
        ("time", [time]) => format!("cast({} as time)", print(time)?),
        ("timestamp", [moment]) => format!("cast({} as datetime)", print(moment)?),
        (name, args) => format!("{}({})", printed_name(name), list(args.iter().copied())?),
    })
}
