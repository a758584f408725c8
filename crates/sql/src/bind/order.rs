//! ORDER BY positions and directions; LIMIT.

use super::{Parameters, binder::Binder, scope::Clause};
use muster_algebra::Rel;
use muster_types::{Result, SqlError, Value};
use sqlparser::ast::{self, LimitClause, OrderBySort};

/// OFFSET and LIMIT.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) struct Limits {
    pub offset: u64,
    pub count: Option<u64>,
}

impl Limits {
    pub fn is_set(self) -> bool {
        self != Limits::default()
    }

    /// The most rows that pass, `u64::MAX` with an offset alone; `None` if there is no clause.
    pub fn count_or_all(self) -> Option<u64> {
        self.is_set().then(|| self.count.unwrap_or(u64::MAX))
    }

    pub fn apply(self, input: Rel) -> Rel {
        if !self.is_set() {
            return input;
        }
        Rel::Limit { input: Box::new(input), offset: self.offset, count: self.count }
    }
}

pub(crate) fn limits(binder: &Binder, clause: Option<&LimitClause>) -> Result<Limits> {
    let number = |e: &ast::Expr| limit_number(binder, e);
    match clause {
        None => Ok(Limits::default()),
        Some(LimitClause::OffsetCommaLimit { offset, limit }) => {
            Ok(Limits { offset: number(offset)?, count: Some(number(limit)?) })
        }
        Some(LimitClause::LimitOffset { limit, offset, limit_by }) => {
            if !limit_by.is_empty() {
                return Err(SqlError::unsupported("LIMIT BY"));
            }
            let offset = offset.as_ref().map_or(Ok(0), |o| number(&o.value))?;
            Ok(Limits { offset, count: limit.as_ref().map(number).transpose()? })
        }
    }
}

/// A number or a parameter; no other expression may stand in LIMIT. Error 1210.
pub(crate) fn limit_number(binder: &Binder, expr: &ast::Expr) -> Result<u64> {
    let wrong = || SqlError::wrong_arguments("LIMIT");
    let ast::Expr::Value(value) = expr else { return Err(wrong()) };
    match &value.value {
        ast::Value::Number(digits, _) => digits.parse().map_err(|_| wrong()),
        ast::Value::Placeholder(_) if matches!(binder.env.parameters, Parameters::Unknown) => Ok(u64::MAX),
        ast::Value::Placeholder(_) => match super::expr::literal::parameter(binder, &value.value)? {
            Value::Int(i) => u64::try_from(i).map_err(|_| wrong()),
            Value::UInt(u) => Ok(u),
            Value::Text(text) => text.trim().parse().map_err(|_| wrong()),
            _ => Err(wrong()),
        },
        _ => Err(wrong()),
    }
}

pub(crate) fn descending(key: &ast::OrderByExpr) -> Result<bool> {
    if key.options.nulls_first.is_some() || key.with_fill.is_some() {
        return Err(SqlError::unsupported("NULLS FIRST or LAST"));
    }
    match key.options.sort {
        None | Some(OrderBySort::Asc) => Ok(false),
        Some(OrderBySort::Desc) => Ok(true),
        Some(OrderBySort::Using(_)) => Err(SqlError::unsupported("ORDER BY .. USING")),
    }
}

/// `ORDER BY 2`: which of `count` select items; error 1054 beyond them. `None` when it is no number.
pub(crate) fn position(expr: &ast::Expr, count: usize, clause: Clause) -> Result<Option<usize>> {
    let ast::Expr::Value(ast::ValueWithSpan { value: ast::Value::Number(digits, _), .. }) = expr else {
        return Ok(None);
    };
    let Ok(n) = digits.parse::<usize>() else { return Ok(None) };
    match n.checked_sub(1).filter(|i| *i < count) {
        Some(i) => Ok(Some(i)),
        None => Err(SqlError::unknown_column(n, clause.name())),
    }
}
