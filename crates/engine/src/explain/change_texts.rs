//! A statement that changes rows as it was rewritten, which SHOW WARNINGS tells after its EXPLAIN.

use muster_algebra::Expr;
use muster_explain::{ChangeText, GivenValue, column_of, from_table, table_of};
use muster_sql::{
    Insert,
    bind::{BoundAssignment as Assignment, BoundDelete, BoundInsert, BoundUpdate, ChangeTarget, NewValue, RowSource},
};

pub fn update(bound: &BoundUpdate, words: &ChangeText<'_>) -> String {
    words.update(&assignments(&bound.assignments, &bound.targets))
}

pub fn delete(bound: &BoundDelete, words: &ChangeText<'_>) -> String {
    let names = bound.targets.iter().map(|target| table_of(&target.table.database, &target.alias));
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
            let value = |(value, column): (&NewValue, &usize)| given(value, target, *column);
            let row = |row| rows.values[row * bound.given.len()..].iter().zip(&bound.given).map(value).collect();
            ((0..rows.rows).map(row).collect::<Vec<_>>(), Vec::new())
        }
        RowSource::Query(query) => (Vec::new(), query.outputs.iter().take(bound.given.len()).cloned().collect()),
    };
    let on_duplicate = bound.on_duplicate.as_ref();
    let duplicates = on_duplicate.map(|update| assignments(&update.assignments, std::slice::from_ref(target)));
    // The new row's values, and those of the row that is there.
    let new = target.columns.iter().enumerate().map(|(at, id)| (*id, format!("values({})", name(target, at))));
    let old = on_duplicate.map(|update| update.old.iter().enumerate().map(|(at, id)| (*id, name(target, at))));
    let named: Vec<_> = new.chain(old.into_iter().flatten()).collect();
    let table = table_of(&target.table.database, &target.table.name);
    words.insert((&table, &list), (&rows, &outputs), (&duplicates.unwrap_or_default(), &named))
}

/// The tables that change, as they stand in FROM.
pub fn tables(targets: &[&ChangeTarget]) -> String {
    let text = |target: &&ChangeTarget| from_table(&target.table.database, &target.table.name, &target.alias);
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
