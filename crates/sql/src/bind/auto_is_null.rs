//! `WHERE id IS NULL` as a search for the row that was inserted last (`sql_auto_is_null`, manual 7.1.8).

use super::{binder::Binder, dml::RelationSource, scope::FromClause};
use crate::typing::Item;
use muster_algebra::{ColId, CompareOp, Expr};
use muster_types::{SqlType, Value};

impl Binder<'_> {
    /// The conditions of WHERE. With `sql_auto_is_null`, the one condition that a column of AUTO_INCREMENT is NULL
    /// becomes a comparison with `LAST_INSERT_ID()`, once there is one.
    pub fn conditions_of_where(&mut self, condition: Item, from: &FromClause) -> Vec<Expr> {
        let is_one = !matches!(condition.expr, Expr::Logic { .. });
        let conditions = self.condition(condition).into_conjuncts();
        let [Expr::IsNull { arg, negated: false }] = &conditions[..] else { return conditions };
        let Expr::Column(column) = **arg else { return conditions };
        if !is_one
            || self.env.session.kept_variable("sql_auto_is_null") != Value::Int(1)
            || !self.makes_numbers(column, from)
        {
            return conditions;
        }
        match self.env.session.last_insert_id() {
            0 => conditions,
            id => {
                let right = Box::new(Expr::literal(Value::UInt(id), SqlType::BIGINT_UNSIGNED));
                vec![Expr::Compare { op: CompareOp::Eq, left: arg.clone(), right }]
            }
        }
    }

    /// Returns true for the AUTO_INCREMENT column of a stored table of the FROM clause that no outer join extends.
    fn makes_numbers(&self, column: ColId, from: &FromClause) -> bool {
        let is_stored = from
            .columns
            .iter()
            .any(|c| c.id == column && matches!(from.relations[c.relation].source, RelationSource::Table));
        let Some(origin) = self.columns.get(column).origin.as_ref().filter(|_| is_stored) else { return false };
        let Ok(Some(table)) = self.env.catalog.table(&origin.database, &origin.table, None) else { return false };
        let is_made = table.column(&origin.column).is_some_and(|at| table.columns[at].auto_increment);
        is_made && !self.null_extended.contains(&column)
    }
}
