//! Expressions as definitions of tables keep them: in the form in which MySQL prints them, which means the same in
//! every `sql_mode`. Names stand in backticks, texts have the character set in front that they came in, and functions
//! the one name that MySQL prints of several.
//!
//! ```text
//!   mod         every form of an expression           mod.rs
//!   truth       conditions, and what NOT makes of them truth.rs
//!   call        functions and their names              call.rs
//!   names       the columns that an expression names    names.rs
//! ```

mod call;
mod names;
mod truth;

pub use names::{Disallowed, disallowed, named_columns, names_column};

use crate::{
    ScalarExpr,
    parse::{hex_bytes, is_introducer},
};
use muster_types::{Result, SqlError};
use sqlparser::ast::{self, BinaryOperator, Expr, UnaryOperator, Value};

/// The expression as MySQL prints it. Errors: 1235 for what Muster's definitions cannot have, and what the functions of
/// [`disallowed`] tell is left to the caller.
pub fn canonical(expr: &ScalarExpr) -> Result<String> {
    print(&expr.ast)
}

/// Returns true if an expression is TRUE, FALSE or NULL by its form, as a CHECK has to be.
pub fn is_condition(expr: &ScalarExpr) -> bool {
    truth::is_condition(&expr.ast)
}

fn identifier(name: &str) -> String {
    format!("`{}`", name.replace('`', "``"))
}

/// A text in quotes, as MySQL prints one in an expression.
fn quoted(text: &str) -> String {
    let mut out = String::with_capacity(text.len() + 2);
    out.push('\'');
    for c in text.chars() {
        match c {
            '\0' => out.push_str("\\0"),
            '\n' => out.push_str("\\n"),
            '\r' => out.push_str("\\r"),
            '\u{1a}' => out.push_str("\\Z"),
            '\\' => out.push_str("\\\\"),
            '\'' => out.push_str("\\'"),
            c => out.push(c),
        }
    }
    out.push('\'');
    out
}

fn list<'e>(exprs: impl IntoIterator<Item = &'e Expr>) -> Result<String> {
    Ok(exprs.into_iter().map(print).collect::<Result<Vec<_>>>()?.join(","))
}

fn not(negated: bool) -> &'static str {
    if negated { "not " } else { "" }
}

fn print(expr: &Expr) -> Result<String> {
    Ok(match expr {
        Expr::Nested(inner) => print(inner)?,
        Expr::Identifier(name) => identifier(&name.value),
        // A column is the table's own, whatever stands in front of its name.
        Expr::CompoundIdentifier(names) => names.last().map_or_else(String::new, |name| identifier(&name.value)),
        Expr::Value(value) => literal(&value.value)?,
        Expr::Prefixed { prefix, value } => introduced(&prefix.value, value)?,
        Expr::TypedString(typed) => typed_literal(typed)?,
        Expr::BinaryOp { left, op, right } => binary(left, op, right)?,
        Expr::UnaryOp { op, expr } => unary(*op, expr)?,
        Expr::Tuple(parts) => format!("({})", list(parts)?),
        Expr::Case { operand, conditions, else_result, .. } => {
            case(operand.as_deref(), conditions, else_result.as_deref())?
        }
        Expr::Cast { expr, data_type, .. } => call::cast(expr, data_type, None)?,
        Expr::Convert { expr, data_type, charset, .. } => call::convert(expr, data_type.as_ref(), charset.as_ref())?,
        Expr::Collate { expr, collation } => format!("({} collate {})", print(expr)?, last_part(collation)),
        Expr::Extract { field, expr, .. } => {
            format!("extract({} from {})", field.to_string().to_lowercase(), print(expr)?)
        }
        Expr::Substring { expr, substring_from, substring_for, .. } => {
            let rest = [substring_from, substring_for].into_iter().flatten().map(|e| &**e);
            format!("substr({})", list(std::iter::once(&**expr).chain(rest))?)
        }
        Expr::Trim { trim_where, trim_what, expr, .. } => call::trim(*trim_where, trim_what.as_deref(), expr)?,
        Expr::Position { expr, r#in } => format!("locate({},{})", print(expr)?, print(r#in)?),
        Expr::Ceil { expr, .. } => format!("ceiling({})", print(expr)?),
        Expr::Floor { expr, .. } => format!("floor({})", print(expr)?),
        Expr::Function(function) => call::function(function)?,
        // Refused by whoever asks for [`disallowed`].
        Expr::Subquery(_) | Expr::Exists { .. } | Expr::InSubquery { .. } => "(select)".into(),
        Expr::Interval(_) => return Err(SqlError::syntax("INTERVAL", 1)),
        other => truth::print(other)?,
    })
}

fn last_part(name: &ast::ObjectName) -> String {
    let part = name.0.last().and_then(|part| part.as_ident());
    part.map_or_else(|| name.to_string(), |part| part.value.clone())
}

fn literal(value: &Value) -> Result<String> {
    Ok(match value {
        Value::Number(digits, _) => number(digits),
        Value::SingleQuotedString(text) | Value::DoubleQuotedString(text) => format!("_utf8mb4{}", quoted(text)),
        Value::NationalStringLiteral(text) => format!("_utf8mb3{}", quoted(text)),
        Value::HexStringLiteral(digits) => hexadecimal(digits)?,
        Value::SingleQuotedByteStringLiteral(bits) | Value::DoubleQuotedByteStringLiteral(bits) => {
            hexadecimal(&hex_of_bits(bits))?
        }
        Value::Boolean(truth) => truth.to_string(),
        Value::Null => "NULL".into(),
        other => return Err(SqlError::syntax(other, 1)),
    })
}

/// A number as it is written, with a digit in front of its point, and none without one behind it.
fn number(digits: &str) -> String {
    let digits = digits.strip_suffix('.').unwrap_or(digits);
    if digits.starts_with('.') { format!("0{digits}") } else { digits.to_owned() }
}

fn hexadecimal(digits: &str) -> Result<String> {
    let bytes = hex_bytes(digits).ok_or_else(|| SqlError::syntax(digits, 1))?;
    Ok(bytes.iter().fold("0x".to_owned(), |text, byte| text + &format!("{byte:02X}")))
}

fn hex_of_bits(bits: &str) -> String {
    let bytes = bits.len().div_ceil(8) * 8;
    let padded = format!("{bits:0>bytes$}");
    let byte = |at: usize| u8::from_str_radix(&padded[at..at + 8], 2).unwrap_or(0);
    (0..bytes).step_by(8).fold(String::new(), |text, at| text + &format!("{:02X}", byte(at)))
}

/// `_latin1'abc'`.
fn introduced(prefix: &str, value: &Expr) -> Result<String> {
    let charset = prefix.to_ascii_lowercase();
    match value {
        Expr::Value(value) => match &value.value {
            Value::SingleQuotedString(text) | Value::DoubleQuotedString(text) if is_introducer(prefix) => {
                Ok(format!("{charset}{}", quoted(text)))
            }
            other => Ok(format!("{charset} {}", literal(other)?)),
        },
        other => Err(SqlError::syntax(other, 1)),
    }
}

fn typed_literal(typed: &ast::TypedString) -> Result<String> {
    let text = match &typed.value.value {
        Value::SingleQuotedString(text) | Value::DoubleQuotedString(text) => text,
        other => return Err(SqlError::syntax(other, 1)),
    };
    let word = typed.data_type.to_string().to_ascii_uppercase();
    let word = word.split(['(', ' ']).next().unwrap_or_default().to_owned();
    Ok(format!("{word}'{text}'"))
}

fn binary(left: &Expr, op: &BinaryOperator, right: &Expr) -> Result<String> {
    let sign = match op {
        BinaryOperator::Plus | BinaryOperator::Minus => return call::add(left, *op == BinaryOperator::Minus, right),
        BinaryOperator::Multiply => "*",
        BinaryOperator::Divide => "/",
        BinaryOperator::Modulo => "%",
        BinaryOperator::MyIntegerDivide => "DIV",
        BinaryOperator::BitwiseAnd => "&",
        BinaryOperator::BitwiseOr => "|",
        BinaryOperator::BitwiseXor => "^",
        BinaryOperator::PGBitwiseShiftLeft => "<<",
        BinaryOperator::PGBitwiseShiftRight => ">>",
        _ => return truth::binary(left, op, right),
    };
    Ok(format!("({} {sign} {})", print(left)?, print(right)?))
}

fn unary(op: UnaryOperator, expr: &Expr) -> Result<String> {
    match op {
        UnaryOperator::Minus => Ok(format!("-({})", print(expr)?)),
        UnaryOperator::Plus => print(expr),
        UnaryOperator::BitwiseNot => Ok(format!("~({})", print(expr)?)),
        UnaryOperator::Not | UnaryOperator::BangNot => truth::negated(expr),
        other => Err(SqlError::syntax(other, 1)),
    }
}

fn case(operand: Option<&Expr>, branches: &[ast::CaseWhen], otherwise: Option<&Expr>) -> Result<String> {
    let mut text = String::from("(case");
    if let Some(operand) = operand {
        text += &format!(" {}", print(operand)?);
    }
    for branch in branches {
        text += &format!(" when {} then {}", print(&branch.condition)?, print(&branch.result)?);
    }
    if let Some(otherwise) = otherwise {
        text += &format!(" else {}", print(otherwise)?);
    }
    Ok(text + " end)")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::parse_expression;

    /// Lines of an expression and of what MySQL 8.0.33 prints of it.
    const PRINTED: &str = include_str!("printed.txt");

    #[test]
    fn as_mysql_prints_them() {
        let mut wrong = Vec::new();
        for line in PRINTED.lines().filter(|line| !line.starts_with('#')) {
            let (written, printed) = line.split_once(" | ").expect("two expressions");
            let once = canonical(&parse_expression(written).unwrap()).unwrap();
            let twice = canonical(&parse_expression(printed).unwrap()).unwrap();
            if once != printed || twice != printed {
                wrong.push(format!("{written}: {once}, printed again {twice}, not {printed}"));
            }
        }
        assert!(wrong.is_empty(), "{}", wrong.join("\n"));
        assert!(PRINTED.lines().count() > 150);
    }
}
