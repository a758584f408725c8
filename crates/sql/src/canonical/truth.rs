//! Conditions: what is not TRUE, FALSE or NULL by its form is compared with 0, and NOT is moved inwards as far as it
//! goes (MySQL: `make_condition`, `truth_transformer`).

use super::{identifier, list, not, print as print_any};
use crate::parse::{AND_CHAIN, AND_SIGN_CHAIN, OR_CHAIN, OR_SIGN_CHAIN};
use muster_types::{Result, SqlError};
use sqlparser::ast::{
    BinaryOperator, Expr, Function, FunctionArg, FunctionArgExpr, FunctionArguments, UnaryOperator, Value,
};

/// Functions whose result is TRUE, FALSE or NULL.
const CONDITIONS: [&str; 13] = [
    "REGEXP_LIKE",
    "ISNULL",
    "IS_UUID",
    "IS_IPV4",
    "IS_IPV6",
    "IS_IPV4_COMPAT",
    "IS_IPV4_MAPPED",
    "JSON_VALID",
    "JSON_SCHEMA_VALID",
    "JSON_CONTAINS",
    "JSON_CONTAINS_PATH",
    "JSON_OVERLAPS",
    "ST_ISVALID",
];

#[derive(Clone, Copy, PartialEq, Eq)]
enum Chain {
    And,
    Or,
}

impl Chain {
    fn word(self) -> &'static str {
        match self {
            Chain::And => " and ",
            Chain::Or => " or ",
        }
    }

    fn other(self) -> Chain {
        match self {
            Chain::And => Chain::Or,
            Chain::Or => Chain::And,
        }
    }
}

/// The operands of AND and OR. Those of a chain in a chain of the same word are the chain's.
fn chain(expr: &Expr) -> Option<(Chain, Vec<&Expr>)> {
    let (word, operands) = match expr {
        Expr::Nested(inner) => return chain(inner),
        Expr::BinaryOp { left, op: BinaryOperator::And, right } => (Chain::And, vec![&**left, &**right]),
        Expr::BinaryOp { left, op: BinaryOperator::Or, right } => (Chain::Or, vec![&**left, &**right]),
        Expr::Function(function) => (chain_word(&function.name.to_string())?, arguments(function)?),
        _ => return None,
    };
    let mut flat = Vec::with_capacity(operands.len());
    for operand in operands {
        match chain(operand) {
            Some((inner, operands)) if inner == word => flat.extend(operands),
            _ => flat.push(operand),
        }
    }
    Some((word, flat))
}

fn chain_word(name: &str) -> Option<Chain> {
    match name {
        AND_CHAIN | AND_SIGN_CHAIN => Some(Chain::And),
        OR_CHAIN | OR_SIGN_CHAIN => Some(Chain::Or),
        _ => None,
    }
}

/// Arguments that are expressions; `None` if there are others.
pub(super) fn arguments(function: &Function) -> Option<Vec<&Expr>> {
    match &function.args {
        FunctionArguments::None => Some(Vec::new()),
        FunctionArguments::List(list) => list
            .args
            .iter()
            .map(|arg| match arg {
                FunctionArg::Unnamed(FunctionArgExpr::Expr(expr)) => Some(expr),
                _ => None,
            })
            .collect(),
        FunctionArguments::Subquery(_) => None,
    }
}

pub(super) fn is_condition(expr: &Expr) -> bool {
    match expr {
        Expr::Nested(inner) => is_condition(inner),
        Expr::Value(value) => matches!(value.value, Value::Boolean(_)),
        Expr::UnaryOp { op, .. } => matches!(op, UnaryOperator::Not | UnaryOperator::BangNot),
        Expr::BinaryOp { op, .. } => {
            comparison(op).is_some() || matches!(op, BinaryOperator::And | BinaryOperator::Or | BinaryOperator::Xor)
        }
        Expr::Function(function) => {
            let name = function.name.to_string();
            chain_word(&name).is_some() || CONDITIONS.iter().any(|known| name.eq_ignore_ascii_case(known))
        }
        Expr::IsNull(_) | Expr::IsNotNull(_) | Expr::IsUnknown(_) | Expr::IsNotUnknown(_) => true,
        Expr::IsTrue(_) | Expr::IsNotTrue(_) | Expr::IsFalse(_) | Expr::IsNotFalse(_) => true,
        Expr::InList { .. } | Expr::Between { .. } | Expr::Like { .. } | Expr::RLike { .. } => true,
        Expr::InSubquery { .. } | Expr::Exists { .. } => true,
        _ => false,
    }
}

/// An expression where a condition stands.
fn condition(expr: &Expr) -> Result<String> {
    match is_condition(expr) {
        true => print_any(expr),
        false => Ok(format!("(0 <> {})", print_any(expr)?)),
    }
}

fn comparison(op: &BinaryOperator) -> Option<&'static str> {
    Some(match op {
        BinaryOperator::Eq => "=",
        BinaryOperator::NotEq => "<>",
        BinaryOperator::Lt => "<",
        BinaryOperator::LtEq => "<=",
        BinaryOperator::Gt => ">",
        BinaryOperator::GtEq => ">=",
        BinaryOperator::Spaceship => "<=>",
        _ => return None,
    })
}

fn joined(word: Chain, operands: Vec<&Expr>, print: fn(&Expr) -> Result<String>) -> Result<String> {
    let operands = operands.into_iter().map(print).collect::<Result<Vec<_>>>()?;
    Ok(format!("({})", operands.join(word.word())))
}

pub(super) fn binary(left: &Expr, op: &BinaryOperator, right: &Expr) -> Result<String> {
    if let Some(sign) = comparison(op) {
        return compared(left, sign, right);
    }
    match op {
        BinaryOperator::Xor => Ok(format!("({} xor {})", condition(left)?, condition(right)?)),
        BinaryOperator::And | BinaryOperator::Or => {
            let whole = Expr::BinaryOp { left: left.clone().into(), op: op.clone(), right: right.clone().into() };
            match chain(&whole) {
                Some((word, operands)) => joined(word, operands, condition),
                None => Err(SqlError::syntax(op, 1)),
            }
        }
        BinaryOperator::Arrow => Ok(format!("json_extract({},{})", print_any(left)?, print_any(right)?)),
        BinaryOperator::LongArrow => {
            Ok(format!("json_unquote(json_extract({},{}))", print_any(left)?, print_any(right)?))
        }
        other => Err(SqlError::syntax(other, 1)),
    }
}

/// A comparison, of rows column by column.
fn compared(left: &Expr, sign: &str, right: &Expr) -> Result<String> {
    if let (Expr::Tuple(left), Expr::Tuple(right)) = (left, right)
        && sign == "="
        && left.len() == right.len()
    {
        let pairs = left.iter().zip(right).map(|(left, right)| compared(left, sign, right));
        return Ok(format!("({})", pairs.collect::<Result<Vec<_>>>()?.join(" and ")));
    }
    Ok(format!("({} {sign} {})", print_any(left)?, print_any(right)?))
}

/// A chain that the parser has made a call; `None` for other calls.
pub(super) fn chain_call(function: &Function) -> Option<Result<String>> {
    chain_word(&function.name.to_string())?;
    let whole = Expr::Function(function.clone());
    let (word, operands) = chain(&whole)?;
    Some(joined(word, operands, condition))
}

/// `NOT expr`.
pub(super) fn negated(expr: &Expr) -> Result<String> {
    if let Some((word, operands)) = chain(expr) {
        return joined(word.other(), operands, negated);
    }
    Ok(match expr {
        Expr::Nested(inner) => negated(inner)?,
        Expr::UnaryOp { op: UnaryOperator::Not | UnaryOperator::BangNot, expr } => condition(expr)?,
        Expr::BinaryOp { left, op, right } => match op {
            BinaryOperator::Eq => compared(left, "<>", right)?,
            BinaryOperator::NotEq => compared(left, "=", right)?,
            BinaryOperator::Lt => compared(left, ">=", right)?,
            BinaryOperator::LtEq => compared(left, ">", right)?,
            BinaryOperator::Gt => compared(left, "<=", right)?,
            BinaryOperator::GtEq => compared(left, "<", right)?,
            BinaryOperator::Xor => format!("({} xor {})", negated(left)?, condition(right)?),
            BinaryOperator::Spaceship => format!("(not({}))", compared(left, "<=>", right)?),
            _ => format!("(0 = {})", print_any(expr)?),
        },
        Expr::IsNull(arg) | Expr::IsUnknown(arg) => format!("({} is not null)", print_any(arg)?),
        Expr::IsNotNull(arg) | Expr::IsNotUnknown(arg) => format!("({} is null)", print_any(arg)?),
        Expr::IsTrue(arg) => format!("({} is not true)", condition(arg)?),
        Expr::IsNotTrue(arg) => format!("({} is true)", condition(arg)?),
        Expr::IsFalse(arg) => format!("({} is not false)", condition(arg)?),
        Expr::IsNotFalse(arg) => format!("({} is false)", condition(arg)?),
        Expr::InList { expr, list, negated } => in_list(expr, list, !negated)?,
        Expr::Between { expr, negated, low, high } => between(expr, !negated, low, high)?,
        // NOT of NOT LIKE is LIKE.
        Expr::Like { negated: true, any, expr, pattern, escape_char } => {
            let (expr, pattern, escape_char) = (expr.clone(), pattern.clone(), escape_char.clone());
            print_any(&Expr::Like { negated: false, any: *any, expr, pattern, escape_char })?
        }
        other if is_condition(other) => format!("(not({}))", print_any(other)?),
        other => format!("(0 = {})", print_any(other)?),
    })
}

/// A list of one value is a comparison.
fn in_list(expr: &Expr, values: &[Expr], negated: bool) -> Result<String> {
    match values {
        [one] => compared(expr, if negated { "<>" } else { "=" }, one),
        values => Ok(format!("({} {}in ({}))", print_any(expr)?, not(negated), list(values)?)),
    }
}

fn between(expr: &Expr, negated: bool, low: &Expr, high: &Expr) -> Result<String> {
    Ok(format!("({} {}between {} and {})", print_any(expr)?, not(negated), print_any(low)?, print_any(high)?))
}

pub(super) fn print(expr: &Expr) -> Result<String> {
    Ok(match expr {
        Expr::IsNull(arg) | Expr::IsUnknown(arg) => format!("({} is null)", print_any(arg)?),
        Expr::IsNotNull(arg) | Expr::IsNotUnknown(arg) => format!("({} is not null)", print_any(arg)?),
        Expr::IsTrue(arg) => format!("({} is true)", condition(arg)?),
        Expr::IsNotTrue(arg) => format!("({} is not true)", condition(arg)?),
        Expr::IsFalse(arg) => format!("({} is false)", condition(arg)?),
        Expr::IsNotFalse(arg) => format!("({} is not false)", condition(arg)?),
        Expr::InList { expr, list, negated } => in_list(expr, list, *negated)?,
        Expr::Between { expr, negated, low, high } => between(expr, *negated, low, high)?,
        Expr::Like { negated, expr, pattern, escape_char, .. } => {
            let escape = match escape_char {
                Some(escape) => format!(" escape {}", print_any(escape)?),
                None => String::new(),
            };
            let like = format!("({} like {}{escape})", print_any(expr)?, print_any(pattern)?);
            if *negated { format!("(not({like}))") } else { like }
        }
        Expr::RLike { negated, expr, pattern, .. } => {
            let like = format!("regexp_like({},{})", print_any(expr)?, print_any(pattern)?);
            if *negated { format!("(not({like}))") } else { like }
        }
        Expr::Wildcard(_) => identifier("*"),
        other => return Err(SqlError::unsupported(other)),
    })
}
