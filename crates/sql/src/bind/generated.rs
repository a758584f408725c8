//! Conditions on an expression that a generated column has the values of: they become conditions on the column, so that
//! its index finds the rows (MySQL's manual, 8.3.11). Parts of functional indexes are such columns.

use super::{
    binder::Binder,
    dml::RelationSource,
    scope::{Clause, FromClause, Names, Scope},
};
use crate::parse_expression;
use muster_algebra::{ColId, Expr, SqlType, TableDef};

impl Binder<'_> {
    /// Notes the expressions of a table's generated columns that begin an index. `columns`: the table's columns in the
    /// statement, with their positions. Those of TIMESTAMP columns depend on the session's time zone, and count as
    /// others.
    pub(super) fn note_generated(&mut self, table: &TableDef, from: &FromClause, columns: &[(ColId, usize)]) {
        let begins = |at: usize| table.indexes.iter().any(|i| i.parts.first().is_some_and(|part| part.column == at));
        let is_local = |id: &ColId| {
            let of_table = columns.iter().find(|(column, _)| column == id);
            of_table.is_some_and(|(_, at)| matches!(table.columns[*at].ty, SqlType::Timestamp { .. }))
        };
        for (id, at) in columns {
            let column = &table.columns[*at];
            let Some(generated) = column.generated.as_ref().filter(|_| begins(*at)) else { continue };
            let warnings = self.warnings.len();
            let scope = Scope::of(from);
            let names = Names::of_statement(None, &[]);
            let bound = parse_expression(&generated.expr)
                .and_then(|parsed| self.expression(&parsed.ast, &scope, &names, Clause::FieldList));
            self.warnings.truncate(warnings);
            // An expression whose values the column would convert is another one than the column.
            if let Ok(item) = bound
                && item.ty == column.ty
                && !matches!(item.expr, Expr::Column(_) | Expr::Literal { .. })
                && !item.expr.columns().iter().any(is_local)
            {
                self.generated.push((item.expr, *id));
            }
        }
    }

    /// Puts generated columns of tables of a FROM clause in the places of their expressions in conditions on the rows.
    pub(super) fn by_generated_columns(&self, conditions: &mut [Expr], from: &FromClause) {
        // A derived table does not deliver the column, and a row that an outer join adds has NULL there.
        let is_there = |id: &ColId| {
            let of_table = from.relation_of(*id).is_some_and(|r| matches!(r.source, RelationSource::Table));
            of_table && !self.null_extended.contains(id)
        };
        let usable = self.generated.iter().filter(|(expr, _)| {
            let columns = expr.columns();
            !columns.is_empty() && columns.iter().all(is_there)
        });
        let usable: Vec<&(Expr, ColId)> = usable.collect();
        if !usable.is_empty() {
            conditions.iter_mut().for_each(|condition| replace(condition, &usable));
        }
    }
}

fn replace(expr: &mut Expr, generated: &[&(Expr, ColId)]) {
    match generated.iter().find(|(of_column, _)| of_column == expr) {
        Some((_, column)) => *expr = Expr::Column(*column),
        None => expr.children_mut().into_iter().for_each(|child| replace(child, generated)),
    }
}
