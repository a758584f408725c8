//! Texts for a `?` next to exact numbers, which are exact numbers there: the type of a parameter follows from what
//! stands next to it (manual 13.5.1), while a text that is written into a statement is a DOUBLE.

use crate::{
    bind::{BesideNumber, Parameters, binder::Binder},
    parse::number,
    typing::Item,
};
use muster_algebra::Expr;
use muster_types::{SqlType, Value};
use sqlparser::ast;

/// The digits behind the point of a text that takes part in arithmetic (MySQL: DECIMAL(65,30)).
const OPERAND_SCALE: u8 = 30;

/// What a text that is compared with this stands next to.
pub(super) fn beside_compared(item: &Item) -> Option<BesideNumber> {
    match item.ty {
        _ if item.as_literal().is_some() => None,
        // A constant text next to a column is an integer as the column is; next to other integers it is a DOUBLE.
        SqlType::Int { .. } if matches!(item.expr, Expr::Column(_)) => Some(BesideNumber::Column),
        SqlType::Int { .. } | SqlType::Decimal { .. } => Some(BesideNumber::Number),
        _ => None,
    }
}

/// What a text that is the other operand of arithmetic stands next to.
pub(super) fn beside_operand(item: &Item) -> Option<BesideNumber> {
    beside_compared(item).map(|_| BesideNumber::Operand)
}

/// Returns true for a `?`.
pub(super) fn is_parameter(expr: &ast::Expr) -> bool {
    matches!(expr, ast::Expr::Value(ast::ValueWithSpan { value: ast::Value::Placeholder(_), .. }))
}

impl Binder<'_> {
    /// The item of an expression that stands next to a number: a number if it is a `?` whose text is one. Where the
    /// statement is bound for all values, the session is told.
    pub(super) fn beside_number(&mut self, expr: &ast::Expr, item: Item, beside: Option<BesideNumber>) -> Item {
        let (Some(beside), true, true) = (beside, is_parameter(expr), item.ty.is_text()) else { return item };
        match (&item.expr, self.env.parameters) {
            (Expr::Parameter { index, .. }, _) => {
                self.env.session.note_beside_number(*index, beside);
                item
            }
            (Expr::Literal { value: Value::Text(text), .. }, Parameters::Values(_)) => match exact_number(text, beside)
            {
                Some(number) => self.given(number),
                None => item,
            },
            _ => item,
        }
    }
}

/// The exact number that a text is: digits, perhaps with a sign and a point. `None` for any other text.
fn exact_number(text: &str, beside: BesideNumber) -> Option<Value> {
    let digits = text.strip_prefix('-').unwrap_or(text);
    let is_number =
        digits.bytes().all(|b| b.is_ascii_digit() || b == b'.') && digits.starts_with(|c: char| c.is_ascii_digit());
    let value = number(digits, text.len() > digits.len()).ok().filter(|_| is_number)?;
    match value {
        Value::Decimal(decimal) if beside == BesideNumber::Operand => {
            let scale = OPERAND_SCALE.max(decimal.scale);
            Some(Value::Decimal(decimal.rescale(scale)?))
        }
        Value::Int(_) | Value::UInt(_) | Value::Decimal(_) => Some(value),
        _ => None,
    }
}
