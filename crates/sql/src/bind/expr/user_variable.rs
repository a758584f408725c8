//! User variables: their values as the statement finds them, or, in a statement that assigns to some, as they are at
//! the moment when the expression is computed for a row.

use super::ExprContext;
use crate::{
    bind::binder::Binder,
    typing::{Derivation, Item, arithmetic::KEPT_DIGITS, collation::with_collation},
};
use muster_algebra::{Expr, ScalarFunction};
use muster_types::{Collation, ErrorCode, Result, SqlError, SqlType, TextKind, Value};
use sqlparser::ast;

/// Digits of the longest decimal in front of and behind the point (MySQL: `DECIMAL_MAX_SCALE`).
const LONGEST_DECIMAL: (u32, u32) = (65, 30);

impl Binder<'_> {
    /// `@name`. Where the statement assigns to variables its type is that of the value which it has when the statement
    /// begins, as in MySQL (`Item_func_get_user_var::resolve_type`); one that was never set is a text.
    pub(super) fn user_variable(&mut self, name: &str, cx: &ExprContext) -> Item {
        self.uses_variables = true;
        let is_field = self.field_variables.contains(&name.to_lowercase());
        let value = match is_field {
            true if self.fields_are_bytes => Value::Bytes(Vec::new()),
            true => Value::Null,
            false => self.env.session.user_variable(&name.to_lowercase()),
        };
        let collation = match is_field {
            true => Some(self.default_collation()).filter(|_| !self.fields_are_bytes),
            false => self.variable_collation(name),
        };
        let now = match (self.given(value), collation) {
            (now, Some(collation)) if now.ty.is_text() && collation != Collation::Binary => {
                let ty = with_collation(now.ty, collation);
                let value = now.as_literal().cloned().unwrap_or(Value::Null);
                Item::literal(value, ty)
            }
            (now, Some(collation)) if now.ty == SqlType::Null && collation != Collation::Binary => {
                Item::literal(Value::Null, variable_text(collation))
            }
            (now, _) => now,
        };
        let now = Item { derivation: Derivation::Implicit, ..now };
        if !cx.names.assigns {
            return now;
        }
        let ty = match now.ty {
            SqlType::Text { .. } | SqlType::Null => variable_text(collation.unwrap_or(self.default_collation())),
            ty => ty,
        };
        let args = vec![self.variable_name(name)];
        let expr = Expr::Call { function: ScalarFunction::ReadVariable, args, ty };
        Item { derivation: Derivation::Implicit, ..Item::new(expr, ty) }
    }

    /// `@name := value`, with warning 1287.
    pub(super) fn assignment(&mut self, left: &ast::Expr, right: &ast::Expr, cx: &mut ExprContext) -> Result<Item> {
        let ast::Expr::Identifier(variable) = left else { return Err(SqlError::syntax(left, 1)) };
        let name = variable.value.trim_start_matches('@');
        self.warn(
            ErrorCode::DeprecatedSyntax,
            "Setting user variables within expressions is deprecated and will be removed in a future release. Consider \
             alternatives: 'SET variable=expression, ...', or 'SELECT expression(s) INTO variables(s)'.",
        );
        self.uses_variables = true;
        // The statement is of the moment: its plan is not for other sessions.
        self.env.session.user_variable(&name.to_lowercase());
        let item = self.expr(right, cx)?;
        let shown = item.ty;
        let item = Item { shown: None, ..item }.unrounded(KEPT_DIGITS);
        let item = match item.ty {
            SqlType::Json => self.json_as_text(item),
            SqlType::Bool => self.convert(item, SqlType::BIGINT),
            SqlType::Float => self.convert(item, SqlType::Double),
            SqlType::Null => {
                let collation = self.variable_collation(name).unwrap_or(self.default_collation());
                self.convert(item, variable_text(collation))
            }
            ty if ty.is_temporal() && ty != SqlType::Year => self.convert_to_text(item, self.default_collation()),
            _ => item,
        };
        let (ty, args) = (item.ty, vec![self.variable_name(name), item.expr.clone()]);
        if let Some(collation) = ty.collation() {
            self.assigned_collations.insert(name.to_lowercase(), collation);
        }
        let expr = Expr::Call { function: ScalarFunction::AssignVariable, args, ty };
        let derivation = if ty.is_text() { Derivation::Implicit } else { item.derivation };
        let item = Item { expr, derivation, kept: None, hexadecimal: false, is_bits: false, ..item };
        // The variable keeps digits of a quotient that are not shown.
        let is_wide = matches!((shown, ty), (SqlType::Decimal { .. }, SqlType::Decimal { .. }));
        Ok(if is_wide { self.cast_to(item, shown) } else { item })
    }

    /// The type of a variable's decimal that is converted to a decimal, which keeps the digits that another value has.
    pub(in crate::bind) fn widened_variable(expr: &Expr, ty: SqlType) -> SqlType {
        match (expr, ty) {
            (Expr::Call { function: ScalarFunction::ReadVariable, .. }, SqlType::Decimal { .. }) => {
                SqlType::decimal(LONGEST_DECIMAL.0, LONGEST_DECIMAL.1)
            }
            _ => ty,
        }
    }

    /// The collation of a variable's text: of the one that the statement assigns to it, or of its last one.
    fn variable_collation(&self, name: &str) -> Option<Collation> {
        let name = name.to_lowercase();
        let assigned = self.assigned_collations.get(&name).copied();
        assigned.or_else(|| self.env.session.user_variable_collation(&name))
    }

    fn variable_name(&self, name: &str) -> Expr {
        self.given(Value::Text(name.to_lowercase())).expr
    }
}

/// The type of the text of a variable that the statement assigns to, which may be of any length.
fn variable_text(collation: Collation) -> SqlType {
    SqlType::Text { kind: TextKind::LongText, length: u32::MAX, collation }
}
