//! Values for columns, `DEFAULT(column)` and `VALUES(column)`.

use super::NewValue;
use crate::{
    InsertValue,
    bind::{
        Parameters,
        binder::Binder,
        expr::{ExprContext, literal::value_type},
        scope::{Clause, Names, Scope},
    },
    typing::Item,
};
use muster_algebra::{ColId, ColumnUse, DefaultValue, Expr, SubqueryKind};
use muster_types::{ErrorCode, Result, SqlError, SqlType, Value, store::hexadecimal};
use sqlparser::ast;

impl Binder<'_> {
    /// A value for a column of this type.
    pub(super) fn new_value(
        &mut self,
        value: &InsertValue,
        ty: SqlType,
        scope: &Scope,
        names: &Names,
    ) -> Result<NewValue> {
        Ok(match value {
            InsertValue::Literal(value) => NewValue::Value(value.clone()),
            InsertValue::Hexadecimal(bytes) => NewValue::Value(hexadecimal(bytes, ty)),
            InsertValue::Parameter(index) => self.parameter_value(*index)?,
            InsertValue::Default => NewValue::Default,
            InsertValue::Expr(expr) => {
                let item = self.expression(&expr.ast, scope, names, Clause::FieldList)?;
                let item = self.given_value(item, ty);
                match item.expr {
                    Expr::Literal { value, .. } => NewValue::Value(value),
                    expr => NewValue::Expr(expr),
                }
            }
        })
    }

    fn parameter_value(&self, index: usize) -> Result<NewValue> {
        let wrong = || SqlError::wrong_arguments("EXECUTE");
        Ok(match self.env.parameters {
            Parameters::Values(values) => NewValue::Value(values.get(index).ok_or_else(wrong)?.clone()),
            Parameters::Types(types) => NewValue::Expr(Expr::parameter(index, *types.get(index).ok_or_else(wrong)?)),
            Parameters::Unknown => NewValue::Value(Value::Null),
        })
    }

    /// `VALUES(column)`: the value for a column of the row that is to be inserted; NULL where there is none.
    pub fn values_function(&mut self, args: &[&ast::Expr]) -> Result<Item> {
        let parts = column_argument(args)?;
        let found = match &self.inserted_row {
            None => return Ok(Item::null()),
            Some(row) => row.find(&parts, Clause::FieldList.name())?,
        };
        let message = "'VALUES function' is deprecated and will be removed in a future release. Please use an alias \
                       (INSERT INTO ... VALUES (...) AS alias) and replace VALUES(col) in the ON DUPLICATE KEY UPDATE \
                       clause with alias.col instead";
        self.warn(ErrorCode::DeprecatedSyntax, message);
        match found {
            Some(id) => Ok(self.read_column(id)),
            None => Err(SqlError::unknown_column(parts.join("."), Clause::FieldList.name())),
        }
    }

    /// `DEFAULT(column)`. Error 1364 for a column that has none.
    pub fn default_function(&mut self, args: &[&ast::Expr], cx: &ExprContext) -> Result<Item> {
        let parts = column_argument(args)?;
        let Some(id) = cx.scope.find(&parts, cx.clause.name())? else {
            return Err(SqlError::unknown_column(parts.join("."), cx.clause.name()));
        };
        self.use_column(id, ColumnUse::Select);
        let name = parts.join(".");
        let no_default =
            || SqlError::new(ErrorCode::NoDefaultForField, format!("Field '{name}' doesn't have a default value"));
        let meta = self.columns.get(id).clone();
        let Some(origin) = meta.origin else { return Err(no_default()) };
        let table = self.table_def(&origin.database, &origin.table, cx.names)?;
        let column = table.as_ref().and_then(|t| t.columns.iter().find(|c| c.name == origin.column));
        Ok(match column.map(|c| (&c.default, c.nullable)) {
            Some((Some(DefaultValue::Value(value)), _)) => Item::literal(value.clone(), meta.ty),
            Some((Some(DefaultValue::CurrentTimestamp), _)) => {
                Item::literal(Value::DateTime(self.env.session.now_datetime()), meta.ty)
            }
            Some((Some(DefaultValue::Expr(_)), _)) => {
                let message = format!("Default value expression of column '{name}' cannot be used here.");
                return Err(SqlError::unsupported(message));
            }
            Some((Some(DefaultValue::Dropped), _)) => return Err(no_default()),
            Some((None, true)) => Item::literal(Value::Null, meta.ty),
            _ => return Err(no_default()),
        })
    }

    /// Takes the subqueries out of an expression: each becomes a column of `taken`.
    pub(super) fn take_subqueries(&mut self, expr: &mut Expr, taken: &mut Vec<(ColId, Expr)>) {
        if let Expr::Subquery(subquery) = expr {
            let ty = self.type_of(&Expr::Subquery(subquery.clone()));
            let nullable = !matches!(subquery.kind, SubqueryKind::Exists { .. });
            let id = self.columns.add_computed("", ty, nullable);
            taken.push((id, std::mem::replace(expr, Expr::Column(id))));
            return;
        }
        expr.children_mut().into_iter().for_each(|child| self.take_subqueries(child, taken));
    }
}

/// The type of a value that an expression is.
pub(super) fn value_type_of(value: &Value, binder: &Binder<'_>) -> SqlType {
    value_type(value, binder.env.session.default_collation())
}

/// The only argument, which names a column.
fn column_argument<'e>(args: &[&'e ast::Expr]) -> Result<Vec<&'e str>> {
    match args {
        [ast::Expr::Identifier(name)] => Ok(vec![&name.value]),
        [ast::Expr::CompoundIdentifier(names)] => Ok(names.iter().map(|n| n.value.as_str()).collect()),
        [other] => Err(SqlError::syntax(other, 1)),
        _ => Err(SqlError::syntax("", 1)),
    }
}
