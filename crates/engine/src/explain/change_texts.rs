//! What SHOW WARNINGS tells of a statement that changes rows after its EXPLAIN: the statement as it was rewritten.

use muster_algebra::Expr;
use muster_explain::{ChangeText, GivenValue, column_of};
use muster_sql::{
    Insert,
    bind::{BoundAssignment as Assignment, BoundDelete, BoundInsert, BoundUpdate, ChangeTarget, NewValue, RowSource},
};

pub fn update(bound: &BoundUpdate, words: &ChangeText<'_>) -> String {
    words.update(&assignments(&bound.assignments, &bound.targets))
}

pub fn delete(bound: &BoundDelete, words: &ChangeText<'_>) -> String {
    let names = bound.targets.iter().map(|target| muster_explain::table_of(&target.table.database, &target.alias));
    let targets: Vec<String> = if bound.of_several { names.collect() } else { Vec::new() };
    words.delete(&targets)
}

pub fn insert(statement: &Insert, bound: &BoundInsert, words: &ChangeText<'_>) -> String {
    let target = &bound.target;
    let list: Vec<String> = match statement.columns {
        Some(_) => bound.given.iter().map(|column| name(target, *column)).collect(),
        None => Vec::new(),
    };
    let (rows, outputs) = match &bound.source {
        RowSource::Rows(rows) => {
            let width = bound.given.len();
            let value = |(at, value)| given(value, target, bound.given[at % width]);
            let values: Vec<GivenValue> = rows.values.iter().enumerate().map(value).collect();
            let rows = (0..rows.rows).map(|row| values[row * width..(row + 1) * width].to_vec()).collect();
            (rows, Vec::new())
        }
        RowSource::Query(query) => (Vec::new(), query.outputs.iter().take(bound.given.len()).cloned().collect()),
    };
    let on_duplicate = bound.on_duplicate.as_ref();
    let duplicates = on_duplicate.map(|update| assignments(&update.assignments, std::slice::from_ref(target)));
    // The new row's values, and those of the row that is there.
    let new = target.columns.iter().enumerate().map(|(at, id)| (*id, format!("values({})", name(target, at))));
    let old = on_duplicate.map(|update| update.old.iter().enumerate().map(|(at, id)| (*id, name(target, at))));
    let named: Vec<_> = new.chain(old.into_iter().flatten()).collect();
    let table = muster_explain::table_of(&target.table.database, &target.table.name);
    words.insert((&table, &list), (&rows, &outputs), (&duplicates.unwrap_or_default(), &named))
}

/// The tables that change, as they stand in FROM.
pub fn tables(targets: &[&ChangeTarget]) -> String {
    let text = |target: &&ChangeTarget| {
        let table = muster_explain::table_of(&target.table.database, &target.table.name);
        if target.alias == target.table.name {
            table
        } else {
            format!("{table} {}", muster_explain::quote(&target.alias))
        }
    };
    targets.iter().map(text).collect::<Vec<_>>().join(" join ")
}

/// A column of a target.
fn name(target: &ChangeTarget, column: usize) -> String {
    column_of(&target.table.database, &target.alias, &target.table.columns[column].name)
}

fn assignments(all: &[Assignment], targets: &[ChangeTarget]) -> Vec<(String, GivenValue)> {
    let text = |assignment: &Assignment| {
        let target = &targets[assignment.target];
        (name(target, assignment.column), given(&assignment.value, target, assignment.column))
    };
    all.iter().map(text).collect()
}

fn given(value: &NewValue, target: &ChangeTarget, column: usize) -> GivenValue {
    match value {
        NewValue::Value(value) => Some(Expr::Literal { value: value.clone(), ty: target.table.columns[column].ty }),
        NewValue::Default => None,
        NewValue::Expr(expr) => Some(expr.clone()),
    }
}
