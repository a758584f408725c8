//! GROUP BY: the Aggregate node, and what may stand above it (`ONLY_FULL_GROUP_BY`).

use super::{
    binder::Binder,
    rollup::{GroupingCall, RolledUp},
    scope::FromClause,
};
use crate::typing::Item;
use muster_algebra::{AggregateCall, AggregateFunction, ColId, Expr, Rel};
use muster_types::{ErrorCode, Result, SqlError};
use std::collections::{HashMap, HashSet};

/// The expressions above an Aggregate. They were bound over the tables, and are turned into ones over its output.
pub(crate) struct Parts<'x> {
    pub outputs: Vec<&'x mut Expr>,
    pub having: Vec<&'x mut Expr>,
    pub keys: Vec<&'x mut Expr>,
    pub windows: Vec<WindowParts<'x>>,
}

/// GROUP BY, and what is computed of the groups.
pub(super) struct GroupClause {
    pub keys: Vec<Item>,
    /// True for WITH ROLLUP.
    pub is_rollup: bool,
    pub calls: Vec<(ColId, AggregateCall)>,
    pub groupings: Vec<GroupingCall>,
}

/// The rows of a query that groups them.
pub(super) struct Groups {
    pub rel: Rel,
    /// The columns in whose order the groups of a rollup come; none without a rollup.
    pub order: Vec<ColId>,
}

/// The columns by which rows are grouped, below the groups.
struct GroupColumns {
    rel: Rel,
    ids: Vec<ColId>,
    /// Those that are no columns of tables, with what they are computed from.
    computed: Vec<(ColId, Expr)>,
}

/// The expressions of a window function.
pub(crate) struct WindowParts<'x> {
    /// The window's name in error messages.
    pub name: &'x str,
    /// The expressions of PARTITION BY and ORDER BY.
    pub keys: Vec<&'x mut Expr>,
    pub arguments: Vec<&'x mut Expr>,
}

impl Binder<'_> {
    /// The groups of rows. Replaces in `parts` what the groups have columns for. Errors of ONLY_FULL_GROUP_BY.
    pub fn group(&mut self, rel: Rel, from: &FromClause, clause: GroupClause, parts: Parts) -> Result<Groups> {
        let input = rel.output();
        let GroupClause { keys, is_rollup, calls, groupings } = clause;
        let grouped = !keys.is_empty();
        let GroupColumns { rel, ids, computed } = self.group_columns(rel, keys, is_rollup);
        let (rel, rolled_up) = match is_rollup {
            true => {
                let (rel, rolled_up) = self.roll_up(rel, &ids);
                (rel, Some(rolled_up))
            }
            false => (rel, None),
        };
        let mut check = Check {
            own: from.columns.iter().map(|c| c.id).filter(|id| input.contains(id)).collect(),
            determined: HashSet::new(),
            grouped,
            calls,
            any_values: HashMap::new(),
        };
        if !is_rollup {
            check.determined = self.determined(&ids, &computed, &check.own);
        }
        self.parts_over_groups(parts, &ids, &computed, rolled_up.as_ref(), &mut check)?;
        let Some(rolled_up) = rolled_up else {
            self.dependencies.add(ids.clone(), check.calls.iter().map(|(id, _)| *id).collect());
            let rel = Rel::Aggregate { input: Box::new(rel), group: ids, aggregates: check.calls };
            return Ok(Groups { rel, order: Vec::new() });
        };
        let group = rolled_up.rollup.columns().collect();
        let rel = Rel::Aggregate { input: Box::new(rel), group, aggregates: check.calls };
        let (rel, order) = self.flag_rolled_up(rel, &rolled_up, groupings, &computed)?;
        Ok(Groups { rel, order })
    }

    /// The columns that are grouped by. Those of a rollup are as many as there are keys, also if they are the same.
    fn group_columns(&mut self, mut rel: Rel, keys: Vec<Item>, is_rollup: bool) -> GroupColumns {
        let mut ids: Vec<ColId> = Vec::new();
        let mut computed: Vec<(ColId, Expr)> = Vec::new();
        let input = rel.output();
        for item in keys {
            let id = match &item.expr {
                Expr::Column(id) if input.contains(id) => *id,
                expr => match computed.iter().find(|(_, e)| e == expr) {
                    Some((id, _)) => *id,
                    None => {
                        let id = self.new_column("", expr, item.ty);
                        self.columns.set_decimals(id, item.decimals);
                        computed.push((id, item.expr));
                        id
                    }
                },
            };
            if is_rollup || !ids.contains(&id) {
                ids.push(id);
            }
        }
        if !computed.is_empty() {
            let exprs = input.iter().map(|id| (*id, Expr::Column(*id))).chain(computed.iter().cloned()).collect();
            rel = Rel::Project { input: Box::new(rel), exprs };
        }
        GroupColumns { rel, ids, computed }
    }

    /// Turns the expressions above the groups into ones over their columns.
    fn parts_over_groups(
        &mut self,
        parts: Parts,
        ids: &[ColId],
        computed: &[(ColId, Expr)],
        rolled_up: Option<&RolledUp>,
        check: &mut Check,
    ) -> Result<()> {
        let Parts { outputs, having, keys, windows } = parts;
        let mut clauses = vec![
            (outputs, "SELECT list".to_string()),
            (having, "HAVING clause".to_string()),
            (keys, "ORDER BY clause".to_string()),
        ];
        for WindowParts { name, keys, arguments } in windows {
            clauses.push((keys, format!("PARTITION BY or ORDER BY clause of window '{name}'")));
            clauses.push((arguments, "SELECT list".to_string()));
        }
        for (exprs, clause) in clauses {
            let clause = clause.as_str();
            for (i, expr) in exprs.into_iter().enumerate() {
                // An expression that is grouped by counts as a whole only: within another one it is not recognized
                // (manual 14.19.3).
                let is_whole = computed.iter().any(|(_, grouped)| grouped == expr);
                if is_whole || clause == "HAVING clause" || !self.env.session.only_full_group_by() {
                    replace_computed(expr, computed);
                }
                self.over_groups(expr, ids, check, i + 1, clause)?;
                if let Some(rolled_up) = rolled_up {
                    rolled_up.replace_keys(expr);
                }
            }
        }
        Ok(())
    }

    /// Columns of the block's own tables that the group columns determine. Columns of queries around it are constants.
    fn determined(&self, ids: &[ColId], computed: &[(ColId, Expr)], own: &HashSet<ColId>) -> HashSet<ColId> {
        let outer = self.dependencies.closure([]);
        let start = ids.iter().copied().filter(|id| !computed.iter().any(|(c, _)| c == id));
        let mut closure = self.dependencies.closure(start.chain(outer));
        closure.retain(|id| own.contains(id));
        closure
    }

    /// Replaces the columns that are not grouped by ANY_VALUE of them, if they have one value per group.
    fn over_groups(
        &mut self,
        expr: &mut Expr,
        ids: &[ColId],
        check: &mut Check,
        number: usize,
        clause: &str,
    ) -> Result<()> {
        let loose: Vec<ColId> =
            expr.columns().into_iter().filter(|c| check.own.contains(c) && !ids.contains(c)).collect();
        if loose.is_empty() {
            return Ok(());
        }
        let mut renamed = HashMap::new();
        for column in loose {
            if !check.determined.contains(&column) && self.env.session.only_full_group_by() {
                return Err(not_grouped(self, column, check.grouped, number, clause));
            }
            let id = match check.any_values.get(&column) {
                Some(id) => *id,
                None => {
                    let meta = self.columns.get(column).clone();
                    // Without GROUP BY there is a row even when there is none to take a value from.
                    let nullable = meta.nullable || !check.grouped || self.null_extended.contains(&column);
                    let (ty, origin) = (meta.ty, meta.origin.clone());
                    let id = self.columns.add(muster_algebra::ColumnMeta { nullable, ..meta });
                    self.columns.set_origin(id, origin);
                    self.columns.set_declared(id, self.columns.declared(column));
                    let args = vec![Expr::Column(column)];
                    let call = AggregateCall { function: AggregateFunction::AnyValue, args, distinct: false, ty };
                    check.calls.push((id, call));
                    check.any_values.insert(column, id);
                    id
                }
            };
            renamed.insert(column, id);
        }
        rename(expr, &renamed);
        Ok(())
    }
}

struct Check {
    /// Columns of the block's own tables.
    own: HashSet<ColId>,
    determined: HashSet<ColId>,
    grouped: bool,
    calls: Vec<(ColId, AggregateCall)>,
    any_values: HashMap<ColId, ColId>,
}

/// `database.table.column` of a base column, `table.column` of one of JSON_TABLE, else its name.
pub(crate) fn full_name(binder: &Binder, id: ColId) -> String {
    let meta = binder.columns.get(id);
    match (&meta.origin, binder.columns.declared(id).and(binder.columns.shown_origin(id))) {
        (Some(o), _) => format!("{}.{}.{}", o.database, o.alias, o.column),
        (None, Some(o)) => format!("{}.{}", o.alias, o.column),
        (None, None) => meta.name.clone(),
    }
}

fn not_grouped(binder: &Binder, column: ColId, grouped: bool, number: usize, clause: &str) -> SqlError {
    let column = full_name(binder, column);
    if grouped {
        SqlError::new(
            ErrorCode::WrongFieldWithGroup,
            format!(
                "Expression #{number} of {clause} is not in GROUP BY clause and contains nonaggregated column \
                 '{column}' which is not functionally dependent on columns in GROUP BY clause; this is incompatible \
                 with sql_mode=only_full_group_by"
            ),
        )
    } else {
        SqlError::new(
            ErrorCode::MixOfGroupFuncAndFields,
            format!(
                "In aggregated query without GROUP BY, expression #{number} of {clause} contains nonaggregated column \
                 '{column}'; this is incompatible with sql_mode=only_full_group_by"
            ),
        )
    }
}

/// Returns true if both are one expression: arithmetic also if one keeps more digits, because it is an operand.
fn is_same(a: &Expr, b: &Expr) -> bool {
    match (a, b) {
        (Expr::Arithmetic { op, left, right, .. }, Expr::Arithmetic { op: o, left: l, right: r, .. }) => {
            op == o && left == l && right == r
        }
        (Expr::Negate { arg, .. }, Expr::Negate { arg: a, .. }) => arg == a,
        _ => a == b,
    }
}

/// Replaces expressions that are grouped by, which are columns of the aggregation.
fn replace_computed(expr: &mut Expr, computed: &[(ColId, Expr)]) {
    if computed.is_empty() {
        return;
    }
    if let Some((id, _)) = computed.iter().find(|(_, e)| is_same(e, expr)) {
        *expr = Expr::Column(*id);
        return;
    }
    expr.children_mut().into_iter().for_each(|c| replace_computed(c, computed));
}

/// Replaces columns by others, inside subqueries too.
pub(super) fn rename(expr: &mut Expr, names: &HashMap<ColId, ColId>) {
    match expr {
        Expr::Column(id) => *id = names.get(id).copied().unwrap_or(*id),
        Expr::Subquery(q) => {
            for id in &mut q.outer {
                *id = names.get(id).copied().unwrap_or(*id);
            }
            rename_rel(&mut q.rel, names);
        }
        _ => {}
    }
    expr.children_mut().into_iter().for_each(|c| rename(c, names));
}

/// The columns are of the query outside, so only expressions can mention them.
fn rename_rel(rel: &mut Rel, names: &HashMap<ColId, ColId>) {
    rel.exprs_mut().into_iter().for_each(|e| rename(e, names));
    rel.inputs_mut().into_iter().for_each(|r| rename_rel(r, names));
}
