//! The expressions of a table's definition, over the columns of one row as they are stored: defaults, generated columns
//! and CHECKs; and the values that a row's columns have for columns of other types.

use super::{
    Surroundings,
    replace::replace_columns,
    target::{base_tables, computed_columns, replaced},
    values::value_type_of,
};
use crate::{
    InsertValue, ScalarExpr,
    bind::{
        BindEnv, NewValue,
        binder::Binder,
        from::Joined,
        scope::{Clause, Names, Scope},
    },
    parse_expression,
};
use muster_algebra::{ColId, DefaultValue, Expr, Rel, TableDef};
use muster_types::{Result, SqlType};
use std::{collections::HashMap, sync::Arc};

/// A condition that rows have to meet. One that is FALSE is error 3819.
#[derive(Debug, Clone, PartialEq)]
pub struct RowCheck {
    pub name: String,
    pub condition: Expr,
}

/// What a table's definition says of the values of a row.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct RowRules {
    /// Defaults that are expressions, by the position of the column.
    pub defaults: Vec<(usize, Expr)>,
    /// Values of generated columns, in the order of the columns.
    pub generated: Vec<(usize, Expr)>,
    /// CHECKs that are enforced.
    pub checks: Vec<RowCheck>,
}

impl RowRules {
    pub fn is_empty(&self) -> bool {
        self.defaults.is_empty() && self.generated.is_empty() && self.checks.is_empty()
    }

    /// The columns that a row which changes needs to be known of besides those that are assigned.
    pub fn mentioned(&self) -> Vec<ColId> {
        let generated = self.generated.iter().flat_map(|(_, expr)| expr.columns());
        generated.chain(self.checks.iter().flat_map(|check| check.condition.columns())).collect()
    }
}

/// Expressions over a row of a table, outside of a statement that changes rows.
pub struct BoundRow {
    /// The values of the row, in the order of the table's columns.
    pub columns: Vec<ColId>,
    pub rules: RowRules,
    /// For each type that was asked for, the value that a column of the type takes from the row's column.
    pub copies: Vec<Expr>,
    pub surroundings: Surroundings,
}

/// Binds the rules of a table, and values of its columns for columns of other types.
pub fn bind_row(table: &Arc<TableDef>, copies: &[(usize, SqlType)], env: &BindEnv) -> Result<BoundRow> {
    let mut binder = Binder::new(env);
    let column = |c: &muster_algebra::ColumnDef| (c.name.clone(), c.ty, c.nullable);
    let columns: Vec<ColId> = table
        .columns
        .iter()
        .map(column)
        .map(|(name, ty, nullable)| binder.columns.add_computed(name, ty, nullable))
        .collect();
    let rules = binder.row_rules(table, &columns)?;
    let row = RowNames::new(&mut binder, table, &columns)?;
    let mut exprs = Vec::with_capacity(copies.len());
    for (at, ty) in copies {
        let id = row.joined.from.columns.iter().find(|c| c.name == table.columns[*at].name).map(|c| c.id);
        let item = binder.column_item(id.unwrap_or(columns[*at]));
        let item = binder.altered(item, *ty);
        exprs.push(row.stored(item.expr));
    }
    let bound = binder.into_bound(Rel::dual(), Vec::new())?;
    let surroundings = Surroundings { columns: bound.columns, hints: bound.hints, ..Surroundings::default() };
    Ok(BoundRow { columns, rules, copies: exprs, surroundings })
}

/// The type of an expression over the columns of a table.
pub fn type_of_expression(table: &Arc<TableDef>, text: &str, env: &BindEnv) -> Result<SqlType> {
    let mut binder = Binder::new(env);
    let column = |c: &muster_algebra::ColumnDef| (c.name.clone(), c.ty, c.nullable);
    let added = table.columns.iter().map(column).collect::<Vec<_>>().into_iter();
    let columns: Vec<ColId> =
        added.map(|(name, ty, nullable)| binder.columns.add_computed(name, ty, nullable)).collect();
    let row = RowNames::new(&mut binder, table, &columns)?;
    let names = Names::of_statement(Some(&table.database), &[]);
    let scope = Scope::of(&row.joined.from);
    let parsed = parse_expression(text)?;
    Ok(binder.expression(&parsed.ast, &scope, &names, Clause::FieldList)?.ty)
}

/// A table's columns by their names, as expressions see them.
struct RowNames {
    joined: Joined,
    /// What the columns that are read are computed from.
    computed: HashMap<ColId, Expr>,
    /// The row's columns in the places of those that were looked up.
    own: HashMap<ColId, Expr>,
}

impl RowNames {
    fn new(binder: &mut Binder<'_>, table: &Arc<TableDef>, columns: &[ColId]) -> Result<RowNames> {
        let reads = binder.reads.len();
        let joined = binder.base_table(table.clone(), &table.name, &[])?;
        // Nothing is read: the row is there.
        binder.reads.truncate(reads);
        let computed = computed_columns(&joined.rel);
        let bases = base_tables(&joined.rel, true);
        let found = bases.iter().flat_map(|base| base.columns);
        let own = found.map(|(id, at)| (*id, Expr::Column(columns[*at]))).collect();
        Ok(RowNames { joined, computed, own })
    }

    /// An expression in terms of the row's columns.
    fn stored(&self, expr: Expr) -> Expr {
        let mut expr = replaced(expr, &self.computed);
        replace_columns(&mut expr, &self.own);
        expr
    }
}

impl Binder<'_> {
    /// The rules of a table. `columns`: the values of a row, in the order of the table's columns.
    pub(super) fn row_rules(&mut self, table: &Arc<TableDef>, columns: &[ColId]) -> Result<RowRules> {
        let mut rules = RowRules::default();
        if !table.has_row_expressions() {
            return Ok(rules);
        }
        let warnings = self.warnings.len();
        let row = RowNames::new(self, table, columns)?;
        let database = table.database.clone();
        let names = Names::of_statement(Some(&database), &[]);
        for (at, column) in table.columns.iter().enumerate() {
            if let Some(DefaultValue::Expr(text)) = &column.default {
                rules.defaults.push((at, self.rule_value(text, column.ty, &row, &names)?));
            }
            if let Some(generated) = &column.generated {
                rules.generated.push((at, self.rule_value(&generated.expr, column.ty, &row, &names)?));
            }
        }
        for check in table.checks.iter().filter(|check| check.enforced) {
            let parsed = parse_expression(&check.expr)?;
            let scope = Scope::of(&row.joined.from);
            let item = self.expression(&parsed.ast, &scope, &names, Clause::FieldList)?;
            let condition = row.stored(self.condition(item));
            rules.checks.push(RowCheck { name: check.name.clone(), condition });
        }
        // Whoever made the table was told of them.
        self.warnings.truncate(warnings);
        Ok(rules)
    }

    /// The value of an expression for a column of a type.
    fn rule_value(&mut self, text: &str, ty: SqlType, row: &RowNames, names: &Names) -> Result<Expr> {
        let parsed: ScalarExpr = parse_expression(text)?;
        let scope = Scope::of(&row.joined.from);
        Ok(match self.new_value(&InsertValue::Expr(Box::new(parsed)), ty, &scope, names)? {
            NewValue::Value(value) => {
                let ty = value_type_of(&value, self);
                Expr::literal(value, ty)
            }
            NewValue::Expr(expr) => row.stored(expr),
            NewValue::Default => Expr::null(ty),
        })
    }
}
