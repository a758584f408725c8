//! The base tables behind the names of a statement.

use super::{ChangeTarget, RowRules, ViewCheck, replace::replace_columns};
use crate::bind::{binder::Binder, from::Joined};
use muster_algebra::{
    CheckOption, ColId, ColumnMeta, Expr, IndexHint, JoinKind, Rel, SqlType, TableDef, ViewAlgorithm, ViewDef,
};
use muster_types::{ErrorCode, Result, SqlError};
use std::{collections::HashMap, rc::Rc, sync::Arc};

/// What a name in FROM stands for.
#[derive(Debug, Clone, Default)]
pub(crate) enum RelationSource {
    /// A derived table or a WITH table, whose rows cannot be changed.
    #[default]
    Derived,
    Table,
    View(Rc<ViewSource>),
}

/// A view, as far as it can be written through.
#[derive(Debug)]
pub(crate) struct ViewSource {
    pub database: String,
    pub name: String,
    /// For each base table whose rows are rows of the view, its columns in the view.
    tables: Vec<Vec<ColId>>,
    check: Vec<Expr>,
}

/// A base table in a relation.
pub(in crate::bind) struct BaseTable<'r> {
    pub table: &'r Arc<TableDef>,
    pub columns: &'r [(ColId, usize)],
    pub hints: &'r [IndexHint],
}

impl BaseTable<'_> {
    /// The position of a column in the table.
    pub fn position(&self, id: ColId) -> Option<usize> {
        self.columns.iter().find(|(column, _)| *column == id).map(|(_, position)| *position)
    }
}

/// The base tables of which each row of the relation is a row, or by an outer join none. `inner`: only those that are
/// there in every row.
pub(in crate::bind) fn base_tables(rel: &Rel, inner: bool) -> Vec<BaseTable<'_>> {
    let mut found = Vec::new();
    collect(rel, inner, &mut found);
    found
}

fn collect<'r>(rel: &'r Rel, inner: bool, found: &mut Vec<BaseTable<'r>>) {
    match rel {
        Rel::Get { table, columns, hints, .. } => found.push(BaseTable { table, columns, hints }),
        Rel::Filter { input, .. }
        | Rel::Project { input, .. }
        | Rel::Lateral { input, .. }
        | Rel::JsonTable { input, .. } => collect(input, inner, found),
        Rel::Join { kind: JoinKind::Inner, left, right, .. } => {
            collect(left, inner, found);
            collect(right, inner, found);
        }
        Rel::Join { kind: JoinKind::Left, left, right, .. } if !inner => {
            collect(left, inner, found);
            collect(right, inner, found);
        }
        _ => {}
    }
}

/// The only base table of a relation that is nothing else but conditions on it and projections, and the conditions.
pub(super) fn one_table(rel: &Rel) -> Option<(BaseTable<'_>, Vec<Expr>)> {
    match rel {
        Rel::Get { table, columns, hints, .. } => Some((BaseTable { table, columns, hints }, Vec::new())),
        Rel::Filter { input, predicates } => {
            let (base, mut conditions) = one_table(input)?;
            conditions.extend(predicates.iter().cloned());
            Some((base, conditions))
        }
        Rel::Project { input, .. } => one_table(input),
        _ => None,
    }
}

/// What the computed columns of a relation are computed from, in terms of the columns of its base tables.
pub(super) fn computed_columns(rel: &Rel) -> HashMap<ColId, Expr> {
    let mut computed = HashMap::new();
    collect_computed(rel, &mut computed);
    computed
}

fn collect_computed(rel: &Rel, computed: &mut HashMap<ColId, Expr>) {
    match rel {
        Rel::Filter { input, .. } => collect_computed(input, computed),
        Rel::Join { kind: JoinKind::Inner | JoinKind::Left, left, right, .. } => {
            collect_computed(left, computed);
            collect_computed(right, computed);
        }
        Rel::Project { input, exprs } => {
            collect_computed(input, computed);
            for (id, expr) in exprs.iter().filter(|(id, expr)| *expr != Expr::Column(*id)) {
                let expr = replaced(expr.clone(), computed);
                computed.insert(*id, expr);
            }
        }
        _ => {}
    }
}

/// The expression with what columns are computed from in their places.
pub(super) fn replaced(mut expr: Expr, computed: &HashMap<ColId, Expr>) -> Expr {
    if !computed.is_empty() {
        replace_columns(&mut expr, computed);
    }
    expr
}

/// Makes the relation deliver these columns, which a base table in it has or, for the hidden row number, gets. `table`:
/// any column of that table. Returns false if the relation does not have the table.
pub(super) fn expose(rel: &mut Rel, table: ColId, wanted: &[(ColId, usize)]) -> bool {
    match rel {
        Rel::Get { columns, .. } => {
            let found = columns.iter().any(|(id, _)| *id == table);
            if found {
                let missing = wanted.iter().filter(|(id, _)| !columns.iter().any(|(have, _)| have == id));
                columns.extend(missing.copied().collect::<Vec<_>>());
            }
            found
        }
        Rel::Filter { input, .. }
        | Rel::Sort { input, .. }
        | Rel::Lateral { input, .. }
        | Rel::JsonTable { input, .. }
        | Rel::Limit { input, .. } => expose(input, table, wanted),
        Rel::Project { input, exprs } => {
            let found = expose(input, table, wanted);
            if found {
                let missing = wanted.iter().filter(|(id, _)| !exprs.iter().any(|(have, _)| have == id));
                exprs.extend(missing.map(|(id, _)| (*id, Expr::Column(*id))).collect::<Vec<_>>());
            }
            found
        }
        Rel::Join { kind: JoinKind::Inner | JoinKind::Left, left, right, .. } => {
            expose(left, table, wanted) || expose(right, table, wanted)
        }
        _ => false,
    }
}

impl Binder<'_> {
    /// The stored column behind a column: of a TIMESTAMP that is read in local time, the one in UTC.
    pub(in crate::bind) fn stored_column(&self, id: ColId) -> ColId {
        self.stored_columns.get(&id).copied().unwrap_or(id)
    }

    /// The base table as a target, with a column for each of the table's.
    pub(super) fn target(&mut self, base: &BaseTable, alias: &str, named: (String, String)) -> ChangeTarget {
        let mut columns = Vec::with_capacity(base.table.columns.len());
        for (i, column) in base.table.columns.iter().enumerate() {
            columns.push(match base.columns.iter().find(|(_, position)| *position == i) {
                Some((id, _)) => *id,
                None => self.columns.add_computed(column.name.clone(), column.ty, column.nullable),
            });
        }
        let row_number = (!base.table.has_primary_key()).then(|| {
            let meta =
                ColumnMeta { name: String::new(), ty: SqlType::BIGINT, nullable: false, origin: None, decimals: None };
            self.columns.add(meta)
        });
        let table = base.table.clone();
        let rules = RowRules::default();
        let beneath = self.beneath_views(base.columns);
        ChangeTarget {
            table,
            alias: alias.to_string(),
            columns,
            row_number,
            check: None,
            rules,
            named,
            hides_number: false,
            beneath,
        }
    }

    /// The check of a view, in terms of the columns of its base tables.
    pub(super) fn view_check(source: &RelationSource, computed: &HashMap<ColId, Expr>) -> Option<ViewCheck> {
        let RelationSource::View(view) = source else { return None };
        if view.check.is_empty() {
            return None;
        }
        let conditions = view.check.iter().map(|c| replaced(c.clone(), computed)).collect();
        Some(ViewCheck { database: view.database.clone(), view: view.name.clone(), conditions })
    }

    /// What there is to know of a view that has just been bound, for who writes through it. `inner`: the conditions
    /// that the views in it check. `has_condition`: whether the view itself has a WHERE. `reads_again`: whether a
    /// subquery reads a table of the view: then it cannot be written through (manual 27.5.3).
    pub fn view_source(
        &mut self,
        view: &ViewDef,
        joined: &Joined,
        inner: Vec<Expr>,
        (has_condition, reads_again): (bool, bool),
    ) -> Rc<ViewSource> {
        let check = match view.check_option {
            None => inner,
            Some(CheckOption::Local) => {
                let own = if has_condition { first_filter(&joined.rel) } else { Vec::new() };
                own.into_iter().chain(inner).collect()
            }
            Some(CheckOption::Cascaded) => all_filters(&joined.rel),
        };
        let is_read_only = reads_again || view.algorithm == ViewAlgorithm::TempTable;
        let tables = if is_read_only { Vec::new() } else { base_tables(&joined.rel, true) };
        let tables = tables.iter().map(|base| base.columns.iter().map(|(id, _)| *id).collect()).collect();
        self.view_checks.extend(check.iter().cloned());
        Rc::new(ViewSource { database: view.database.clone(), name: view.name.clone(), tables, check })
    }
}

/// The conditions of the outermost Filter.
fn first_filter(rel: &Rel) -> Vec<Expr> {
    match rel {
        Rel::Filter { predicates, .. } => predicates.clone(),
        Rel::Project { input, .. } => first_filter(input),
        _ => Vec::new(),
    }
}

/// The conditions of all Filters through which rows of base tables come.
fn all_filters(rel: &Rel) -> Vec<Expr> {
    match rel {
        Rel::Filter { input, predicates } => predicates.iter().cloned().chain(all_filters(input)).collect(),
        Rel::Project { input, .. } => all_filters(input),
        Rel::Join { kind: JoinKind::Inner, left, right, on, .. } => {
            on.iter().cloned().chain(all_filters(left)).chain(all_filters(right)).collect()
        }
        _ => Vec::new(),
    }
}

impl ViewSource {
    /// The number of base tables that can be changed through the view.
    pub fn table_count(&self) -> usize {
        self.tables.len()
    }

    /// Which of those tables has the column; `None` for a computed one.
    pub fn table_of(&self, id: ColId) -> Option<usize> {
        self.tables.iter().position(|columns| columns.contains(&id))
    }

    /// A column of the table at this position.
    pub fn column_of(&self, table: usize) -> ColId {
        self.tables[table][0]
    }
}

/// Error 1288.
pub(super) fn not_updatable(table: &str, statement: &str) -> SqlError {
    let message = format!("The target table {table} of the {statement} is not updatable");
    SqlError::new(ErrorCode::NonUpdatableTable, message)
}

/// Error 1288 for a table whose rows are made when they are read.
pub(super) fn refuse_virtual(table: &TableDef, statement: &str) -> Result<()> {
    if table.id.is_virtual() { Err(not_updatable(&table.name, statement)) } else { Ok(()) }
}
