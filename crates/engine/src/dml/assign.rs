//! Assignments: the new values of a row, from left to right.

use super::{convert::Conversion, evaluation::Evaluation, rules::Rules, target::OpenTarget};
use crate::cost_tables;
use muster_algebra::{ColId, Expr};
use muster_sql::bind::{BoundAssignment, BoundUpdate, ChangeTarget, NewValue, RowRules, ViewCheck};
use muster_types::{Result, Value};

/// A row that is changed.
pub struct ChangedRow {
    pub new: Vec<Value>,
    /// The columns that have got a value.
    pub assigned: Vec<usize>,
    /// True if a value is another one than before.
    pub differs: bool,
}

/// A row that is to be changed, and its table's rules.
#[derive(Clone, Copy)]
pub struct RowPlace<'a> {
    pub target: &'a OpenTarget,
    /// The columns of the row, which see what the assignments before have stored.
    pub columns: &'a [ColId],
    /// The place of the table among the statement's targets.
    pub position: usize,
    pub rules: &'a RowRules,
}

/// The row as the assignments to its table leave it. `value`: columns that are not the row's.
pub fn changed(
    RowPlace { target, columns, position, rules }: RowPlace<'_>,
    old: &[Value],
    assignments: &[BoundAssignment],
    evaluation: &Evaluation<'_>,
    conversion: &Conversion<'_>,
    row: u64,
    value: &dyn Fn(ColId) -> Option<Value>,
) -> Result<ChangedRow> {
    let conversion = &conversion.of_table(&target.entry.def.name);
    let mut new = old.to_vec();
    let mut assigned = Vec::new();
    let rules_of = Rules { rules, columns, defs: target.columns(), evaluation, conversion };
    for BoundAssignment { column, value: given, .. } in assignments.iter().filter(|a| a.target == position) {
        let def = &target.columns()[*column];
        assigned.push(*column);
        new[*column] = match given {
            NewValue::Value(value) => conversion.stored(def, value, row)?,
            NewValue::Default if def.auto_increment => conversion.stored(def, &Value::Int(0), row)?,
            NewValue::Default => match rules_of.default(*column, &new, row)? {
                Some(value) => value,
                None => target.default_value(*column, conversion)?,
            },
            // A column that is set to itself is not stored again, so that it may hold what the session's modes refuse.
            NewValue::Expr(Expr::Column(id)) if *id == columns[*column] => continue,
            NewValue::Expr(expr) => {
                let own = |id| columns.iter().position(|c| *c == id).map(|at| new[at].clone());
                let computed = evaluation.value(expr, &|id| own(id).or_else(|| value(id)))?;
                if let Some(from) = evaluation.column(expr) {
                    conversion.refuse_cut(from, def, &computed, row)?;
                }
                conversion.stored(def, &computed, row)?
            }
        };
    }
    if !rules.generated.is_empty() {
        rules_of.generate(&mut new, row)?;
        assigned.extend(rules.generated.iter().map(|(column, _)| *column));
    }
    let differs = target.differ(old, &new);
    if differs {
        let account = &conversion.context.rights.account;
        cost_tables::note_origin(&target.entry.def, &mut new, Some(&mut assigned), account);
        let is_left = |column: &&usize| !assigned.contains(column);
        let stamped: Vec<usize> = target.entry.extras.on_update_now.iter().filter(is_left).copied().collect();
        for column in stamped {
            new[column] = super::target::now(conversion.context, target.columns()[column].ty);
            assigned.push(column);
        }
        // One may be computed of the time of the change.
        rules_of.generate(&mut new, row)?;
    }
    Ok(ChangedRow { new, assigned, differs })
}

/// Returns true if a row may be written through the view that it is written through. Error 1369 otherwise, or with
/// IGNORE a warning of that number.
pub fn passes_view(
    check: Option<&ViewCheck>,
    columns: &[ColId],
    row: &[Value],
    evaluation: &Evaluation<'_>,
    conversion: &Conversion<'_>,
) -> Result<bool> {
    let Some(check) = check else { return Ok(true) };
    let own = |id| columns.iter().position(|c| *c == id).map(|at| row[at].clone());
    if evaluation.is_met(&check.conditions, &own)? {
        return Ok(true);
    }
    conversion.tolerate(check.failed())?;
    Ok(false)
}

/// For each target of an UPDATE, the columns of its table that are kept with the rows that are found: the key, what is
/// assigned, and what assignments and checks look at. The change reads the row again, so it needs no others. A row that
/// is found by its key is there as a whole.
pub fn kept_columns(bound: &BoundUpdate, is_by_key: bool) -> Vec<Vec<usize>> {
    let mentioned: Vec<ColId> =
        bound.assignments.iter().flat_map(|assignment| mentioned_by(&assignment.value)).collect();
    let of_target = |(position, target): (usize, &ChangeTarget)| {
        let shares_table = bound.targets.iter().filter(|other| other.table.id == target.table.id).count() > 1;
        let all = 0..target.columns.len();
        // A subquery that depends on the row may look at any column; so does another name of the same table.
        if is_by_key || shares_table || !bound.surroundings.dependent.is_empty() {
            return all.collect();
        }
        let (key, check) = (target.key(), target.check.iter().flat_map(|check| &check.conditions));
        let checked: Vec<ColId> = check.flat_map(Expr::columns).collect();
        let of_rules = target.rules.mentioned();
        let is_generated = |column: &usize| target.rules.generated.iter().any(|(at, _)| at == column);
        let is_assigned = |column| bound.assignments.iter().any(|a| (a.target, a.column) == (position, column));
        let is_looked_at = |id: &ColId| [&key, &mentioned, &checked, &of_rules].into_iter().any(|ids| ids.contains(id));
        let is_kept =
            |column: &usize| is_assigned(*column) || is_generated(column) || is_looked_at(&target.columns[*column]);
        all.filter(is_kept).collect()
    };
    bound.targets.iter().enumerate().map(of_target).collect()
}

/// The columns that a new value looks at.
pub fn mentioned_by(value: &NewValue) -> Vec<ColId> {
    match value {
        NewValue::Expr(expr) => expr.columns(),
        NewValue::Value(_) | NewValue::Default => Vec::new(),
    }
}
