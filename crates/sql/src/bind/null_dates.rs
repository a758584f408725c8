//! `d IS NULL` in a WHERE clause, which the zero date fulfils in a DATE or DATETIME column that is NOT NULL: old
//! clients ask so for rows without a date (manual 11.2.2; MySQL: `remove_eq_conds`).

use super::{
    binder::Binder,
    dml::RelationSource,
    scope::{FromClause, Relation},
};
use crate::typing::Item;
use muster_algebra::{ColId, CompareOp, Expr, LogicOp};
use muster_types::{SqlType, Value, temporal::ZERO_DATE};

impl Binder<'_> {
    /// The conditions of a WHERE clause over these tables, with the zero date beside NULL. Only whole conditions and
    /// columns of tables that stand there themselves count, and those of views and derived tables that are not merged.
    pub(super) fn conditions(&mut self, item: Item, from: &FromClause) -> Vec<Expr> {
        let mut conditions = self.conditions_of_where(item, from);
        self.by_generated_columns(&mut conditions, from);
        conditions.into_iter().map(|condition| self.with_zero_date(condition, from)).collect()
    }

    fn with_zero_date(&self, condition: Expr, from: &FromClause) -> Expr {
        let Expr::IsNull { arg, negated: false } = &condition else { return condition };
        let Expr::Column(column) = **arg else { return condition };
        if !self.is_date_of_table(column, from) {
            return condition;
        }
        let zero = Expr::literal(Value::Date(ZERO_DATE), SqlType::Date);
        let zero = match self.columns.ty(column) {
            SqlType::Date => zero,
            ty => Expr::Cast { arg: Box::new(zero), ty },
        };
        let is_zero = Expr::compare(CompareOp::Eq, Expr::Column(column), zero);
        // An outer join can add rows without the column's table.
        Expr::Logic { op: LogicOp::Or, args: vec![condition, is_zero] }
    }

    fn is_date_of_table(&self, column: ColId, from: &FromClause) -> bool {
        let meta = self.columns.get(column);
        let is_table = |relation: &Relation| matches!(relation.source, RelationSource::Table);
        let is_of_table = meta.origin.is_some() && from.relation_of(column).is_some_and(is_table);
        matches!(meta.ty, SqlType::Date | SqlType::DateTime { .. })
            && !meta.nullable
            && (is_of_table || self.kept_apart_columns.contains(&column))
    }
}
