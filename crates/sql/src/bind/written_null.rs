//! Expressions that MySQL declares as nullable for what they are written with, though it is known that no value of
//! theirs is NULL (MySQL: `Item::m_nullable`): those over a function or a cast whose result counts as nullable.

use super::{
    expr::plain_args,
    result_shape::{MOVES, NULLABLE, is_interval},
};
use sqlparser::ast::{BinaryOperator, DataType, Expr};

/// Functions that are not NULL for a NULL among their arguments, and those whose arguments are no values.
const NULL_PROOF: &[&str] = &[
    "BENCHMARK",
    "CHARSET",
    "COALESCE",
    "COERCIBILITY",
    "COLLATION",
    "CONCAT_WS",
    "COUNT",
    "DEFAULT",
    "ELT",
    "FIELD",
    "GREATEST",
    "IF",
    "IFNULL",
    "INTERVAL",
    "ISNULL",
    "LEAST",
    "MAKE_SET",
    "NULLIF",
    "QUOTE",
    "SLEEP",
    "VALUES",
];

/// Functions that count as nullable as operands, beside those that do so as results.
const ALWAYS: &[&str] = &["CHARSET", "COLLATION", "LAST_DAY", "MOD", "REGEXP_SUBSTR", "STR_TO_DATE"];

/// Returns true if the expression is an operator or a function over an operand that counts as nullable.
pub(super) fn has_nullable_operand(written: &Expr) -> bool {
    match written {
        Expr::Nested(inner) => has_nullable_operand(inner),
        Expr::UnaryOp { expr, .. } => is_nullable(expr),
        Expr::BinaryOp { op: BinaryOperator::Spaceship, .. } => false,
        Expr::BinaryOp { left, right, .. } => is_nullable(left) || is_nullable(right),
        Expr::Between { expr, low, high, .. } => [expr, low, high].into_iter().any(|e| is_nullable(e)),
        Expr::InList { expr, list, .. } => is_nullable(expr) || list.iter().any(is_nullable),
        Expr::Like { expr, pattern, .. } | Expr::RLike { expr, pattern, .. } => {
            is_nullable(expr) || is_nullable(pattern)
        }
        Expr::Function(function) => {
            let name = function.name.to_string().to_ascii_uppercase();
            let args = plain_args(function).unwrap_or_default();
            !NULL_PROOF.contains(&name.as_str()) && args.into_iter().any(is_nullable)
        }
        _ => false,
    }
}

/// Returns true if the expression counts as nullable by itself, or is an operator or a function over such a one.
fn is_nullable(written: &Expr) -> bool {
    match written {
        Expr::Nested(inner) => is_nullable(inner),
        Expr::Trim { .. } | Expr::Extract { .. } | Expr::Substring { .. } | Expr::Collate { .. } => true,
        Expr::Convert { data_type: None, .. } => true,
        // There may be no quotient, and no such day.
        Expr::BinaryOp {
            op: BinaryOperator::Divide | BinaryOperator::Modulo | BinaryOperator::MyIntegerDivide,
            ..
        } => true,
        Expr::BinaryOp { left, right, .. } if is_interval(left) || is_interval(right) => true,
        Expr::Cast { expr, data_type, .. } | Expr::Convert { expr, data_type: Some(data_type), .. } => {
            is_nullable_type(data_type) || is_nullable(expr)
        }
        Expr::Function(function) => {
            let name = function.name.to_string().to_ascii_uppercase();
            [NULLABLE, MOVES, ALWAYS].iter().any(|names| names.contains(&name.as_str()))
                || has_nullable_operand(written)
        }
        operator => has_nullable_operand(operator),
    }
}

/// Casts to texts, byte strings and moments count as nullable, those to numbers do not.
fn is_nullable_type(ty: &DataType) -> bool {
    matches!(
        ty,
        DataType::Char(_)
            | DataType::Character(_)
            | DataType::Binary(_)
            | DataType::Date
            | DataType::Datetime(_)
            | DataType::Time(..)
    )
}
