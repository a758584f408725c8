//! A statement that adds rows, or changes rows of one table by a key or a short range, bound once for all values.

use super::{
    parameter_places::has_parameter,
    plan::{DEPTH_MAX, ShortPlan, is_plain},
    run_end::{Left, is_resident},
    search::RowSearch,
    values::ValueRules,
};
use crate::{
    command_counters::Command,
    processes::{INSERTING, UPDATING},
    tables::TableSet,
};
use muster_algebra::{ArithmeticOp, Expr, Hints, Plan, ScalarFunction, TableDef, TableId};
use muster_sql::{
    Bound,
    bind::{
        BoundDelete, BoundInsert, BoundUpdate, ChangeTarget, NewValue, OnDuplicateUpdate, RowSource, Search,
        Surroundings,
    },
};
use muster_storage::Table;
use muster_types::{ErrorCode, KeyRange, SqlType, Value};
use std::sync::{Arc, Weak};

/// The change that a statement makes. Values that differ from execution to execution are [`Expr::Parameter`]s.
pub enum ShortChange {
    /// Rows of VALUES or SET, or those of a query.
    Insert {
        bound: Box<BoundInsert>,
        query: Option<Box<ShortPlan>>,
    },
    Update {
        bound: BoundUpdate,
        search: RowSearch,
    },
    Delete {
        bound: BoundDelete,
        search: RowSearch,
    },
}

/// A statement that changes a row, for all values.
pub struct ShortWrite {
    change: ShortChange,
    /// The tables that it was bound with. Held weakly, so that it keeps no files of tables that are gone.
    tables: Weak<TableSet>,
    /// What it is counted as.
    command: Command,
    /// What it runs with.
    rules: ValueRules,
}

impl ShortWrite {
    pub fn new(change: ShortChange, tables: &Arc<TableSet>, command: Command, rules: ValueRules) -> ShortWrite {
        ShortWrite { change, tables: Arc::downgrade(tables), command, rules }
    }

    /// How the statement's values become those that it runs with.
    pub fn rules(&self) -> &ValueRules {
        &self.rules
    }

    pub fn change(&self) -> &ShortChange {
        &self.change
    }

    /// The state of the statement while it waits.
    pub fn state(&self) -> &'static str {
        match self.change {
            ShortChange::Insert { .. } => INSERTING,
            ShortChange::Update { .. } | ShortChange::Delete { .. } => UPDATING,
        }
    }

    pub fn command(&self) -> Command {
        self.command
    }

    /// Returns true if these are the tables that it was bound with.
    pub fn is_of(&self, tables: &Arc<TableSet>) -> bool {
        self.tables.as_ptr() == Arc::as_ptr(tables)
    }

    pub fn target(&self) -> &ChangeTarget {
        self.change.target()
    }

    /// The tables, and the views that they are read through, that the query of an INSERT reads.
    pub fn read_tables(&self) -> &[TableId] {
        self.change.query().map_or(&[], |query| query.used())
    }

    pub fn table(&self) -> TableId {
        self.target().table.id
    }

    /// Returns true if the rows that are changed, or the place of a new one, are in memory, as far as they are known.
    pub fn is_resident(&self, table: &Table, parameters: &[Value]) -> bool {
        match &self.change {
            ShortChange::Insert { bound, .. } => new_keys(bound, parameters).all(|key| {
                let range = table.tree(0).layout().key.byte_range(&KeyRange::prefix(key));
                let Ok(Some(range)) = range else { return false };
                !matches!(is_resident(table, 0, &range, false, 1), Err(Left::MustWait))
            }),
            ShortChange::Update { search, .. } | ShortChange::Delete { search, .. } => {
                search.is_resident(table, parameters)
            }
        }
    }

    /// About how many bytes the statement has besides its text, which its expressions are as small as.
    pub fn footprint(&self) -> usize {
        const COLUMN_BYTES: usize = 200;
        let (values, query) = match &self.change {
            ShortChange::Insert { bound, query } => {
                let values = match &bound.source {
                    RowSource::Rows(rows) => size_of_val(rows.values.as_slice()),
                    RowSource::Query(_) => 0,
                };
                (values, query.as_ref().map_or(0, |query| query.footprint()))
            }
            _ => (0, 0),
        };
        size_of::<ShortWrite>() + self.target().columns.len() * COLUMN_BYTES + values + query
    }
}

/// How the general path searches for the rows that are changed.
pub trait GeneralSearch: FnOnce(&ChangeTarget, &Search, &Surroundings) -> Option<Plan> {}
impl<F: FnOnce(&ChangeTarget, &Search, &Surroundings) -> Option<Plan>> GeneralSearch for F {}

impl ShortChange {
    /// The table whose rows are changed.
    pub fn target(&self) -> &ChangeTarget {
        match self {
            ShortChange::Insert { bound, .. } => &bound.target,
            ShortChange::Update { bound, .. } => &bound.targets[0],
            ShortChange::Delete { bound, .. } => &bound.targets[0],
        }
    }

    /// `None` for an UPDATE that does not take the short path. `general`: how the general path searches.
    pub fn of_update(bound: BoundUpdate, general: impl GeneralSearch) -> Option<ShortChange> {
        let [target] = bound.targets.as_slice() else { return None };
        let values = bound.assignments.iter().map(|assignment| &assignment.value);
        if !is_one_table(target, &bound.surroundings) || !values.into_iter().all(is_short_value) {
            return None;
        }
        let search = RowSearch::of(target, &bound.search, || general(target, &bound.search, &bound.surroundings))?;
        Some(ShortChange::Update { bound, search })
    }

    /// `None` for a DELETE that does not take the short path. `general`: how the general path searches.
    pub fn of_delete(bound: BoundDelete, general: impl GeneralSearch) -> Option<ShortChange> {
        let [target] = bound.targets.as_slice() else { return None };
        if !is_one_table(target, &bound.surroundings) {
            return None;
        }
        let search = RowSearch::of(target, &bound.search, || general(target, &bound.search, &bound.surroundings))?;
        Some(ShortChange::Delete { bound, search })
    }

    /// `None` for an INSERT or REPLACE that does not take the short path. `plan`: how the rows of a query are read.
    pub fn of_insert(bound: BoundInsert, plan: impl FnOnce(&Bound) -> Option<ShortPlan>) -> Option<ShortChange> {
        let updated = bound.on_duplicate.as_ref();
        let is_known = |update: &OnDuplicateUpdate| {
            let mut values = update.assignments.iter().map(|assignment| &assignment.value);
            update.mentioned.is_empty() && values.all(is_short_value)
        };
        if !updated.is_none_or(is_known) || !is_base_table(&bound.target, &bound.surroundings) {
            return None;
        }
        let query = match &bound.source {
            RowSource::Rows(rows) => {
                let is_short =
                    has_no_other_table(&bound.target, &bound.surroundings) && rows.values.iter().all(is_short_value);
                is_short.then_some(None)?
            }
            RowSource::Query(query) => Some(Box::new(plan(query)?)),
        };
        Some(ShortChange::Insert { bound: Box::new(bound), query })
    }

    /// How the rows of an INSERT .. SELECT are read.
    pub fn query(&self) -> Option<&ShortPlan> {
        match self {
            ShortChange::Insert { query, .. } => query.as_deref(),
            _ => None,
        }
    }
}

/// Returns true if a statement is of its target only, a base table, and has nothing else to be looked at.
fn is_one_table(target: &ChangeTarget, surroundings: &Surroundings) -> bool {
    is_base_table(target, surroundings) && has_no_other_table(target, surroundings)
}

fn has_no_other_table(target: &ChangeTarget, surroundings: &Surroundings) -> bool {
    surroundings.tables == [target.named.clone()]
}

/// Returns true if a statement's target is a base table, and there is nothing else to be looked at but other tables.
fn is_base_table(target: &ChangeTarget, surroundings: &Surroundings) -> bool {
    let def: &TableDef = &target.table;
    !def.id.is_virtual()
        && target.check.is_none()
        && target.named == (def.database.clone(), def.name.clone())
        && surroundings.warnings.iter().all(|warning| warning.code == ErrorCode::DeprecatedSyntax)
        && surroundings.hints == Hints::default()
        && surroundings.constants.is_none()
        && surroundings.dependent.is_empty()
}

/// Returns true for a value that serves for all parameters: one that is a parameter, or has none, or computes with it
/// what comes to the same for all numbers of its kind.
fn is_short_value(value: &NewValue) -> bool {
    match value {
        NewValue::Value(_) | NewValue::Default | NewValue::Expr(Expr::Parameter { .. }) => true,
        NewValue::Expr(expr) => is_plain(expr, DEPTH_MAX) && has_plain_parameters(expr),
    }
}

/// Returns true if parameters only stand in sums, differences and products of exact numbers, in comparisons of these,
/// and where one of several is chosen.
fn has_plain_parameters(expr: &Expr) -> bool {
    let is_exact = |ty: &SqlType| matches!(ty, SqlType::Int { .. } | SqlType::Decimal { .. });
    let all = |args: &[Expr]| args.iter().all(has_plain_parameters);
    match expr {
        _ if !has_parameter(expr) => true,
        Expr::Parameter { ty, .. } => is_exact(ty),
        Expr::Cast { arg, ty } if is_exact(ty) => has_plain_parameters(arg),
        Expr::Arithmetic { op: ArithmeticOp::Add | ArithmeticOp::Sub | ArithmeticOp::Mul, left, right, ty } => {
            is_exact(ty) && has_plain_parameters(left) && has_plain_parameters(right)
        }
        Expr::Compare { left, right, .. } => has_plain_parameters(left) && has_plain_parameters(right),
        Expr::Logic { args, .. } => all(args),
        Expr::Not(arg) | Expr::IsNull { arg, .. } | Expr::IsTruth { arg, .. } => has_plain_parameters(arg),
        Expr::InList { arg, list, .. } => has_plain_parameters(arg) && all(list),
        Expr::Case { branches, otherwise, ty } if is_exact(ty) => {
            let parts = branches.iter().flat_map(|(condition, result)| [condition, result]);
            parts.chain(otherwise.as_deref()).all(has_plain_parameters)
        }
        Expr::Call { function, args, ty } if is_exact(ty) => {
            let chooses =
                matches!(function, ScalarFunction::Coalesce | ScalarFunction::Greatest | ScalarFunction::Least);
            chooses && all(args)
        }
        _ => false,
    }
}

/// The primary keys that an INSERT gives its rows, as far as they are known before it runs.
fn new_keys<'a>(bound: &'a BoundInsert, parameters: &'a [Value]) -> impl Iterator<Item = Vec<Value>> + 'a {
    let rows = match &bound.source {
        RowSource::Rows(rows) => rows.values.as_slice(),
        RowSource::Query(_) => &[],
    };
    rows.chunks(bound.given.len().max(1)).filter_map(|row| new_key(bound, row, parameters))
}

fn new_key(bound: &BoundInsert, row: &[NewValue], parameters: &[Value]) -> Option<Vec<Value>> {
    let def = &bound.target.table;
    let parts = def.indexes.first().filter(|_| def.has_primary_key())?.parts.iter();
    let value = |column: usize| {
        let value = match &row[bound.given.iter().position(|given| *given == column)?] {
            NewValue::Value(value) => value,
            NewValue::Expr(Expr::Parameter { index, .. }) => parameters.get(*index)?,
            NewValue::Default | NewValue::Expr(_) => return None,
        };
        let is_integer = matches!(value, Value::Int(_) | Value::UInt(_)) && def.columns[column].ty.is_integer();
        // The zero stands for the next number, mostly.
        let is_next = def.columns[column].auto_increment && matches!(value, Value::Int(0) | Value::UInt(0));
        (is_integer && !is_next).then(|| value.clone())
    };
    parts.map(|part| value(part.column)).collect()
}
