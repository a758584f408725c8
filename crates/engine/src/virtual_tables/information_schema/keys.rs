//! STATISTICS, KEY_COLUMN_USAGE, TABLE_CONSTRAINTS, REFERENTIAL_CONSTRAINTS.

use super::{columns::escaped, optional, text, uint};
use crate::{
    catalog::{Snapshot, TableEntry},
    statement::StatementContext,
    tables::{TableSet, leading_index},
};
use muster_algebra::{CheckConstraint, ForeignKey, TableDef};
use muster_types::{Result, Value};
use std::sync::Arc;

fn visible<'a>(snapshot: &'a Snapshot, context: &'a StatementContext) -> impl Iterator<Item = &'a Arc<TableEntry>> {
    let tables = snapshot.schemas.values().flat_map(|schema| schema.tables.values());
    tables.filter(|entry| context.rights.sees_table(&entry.def.database, &entry.def.name))
}

pub(super) fn statistics(tables: &TableSet, context: &StatementContext) -> Result<Vec<Vec<Value>>> {
    let mut rows = Vec::new();
    for entry in visible(&tables.definitions, context) {
        let def = &entry.def;
        let statistics = tables.statistics(def.id)?;
        for (i, index) in def.indexes.iter().enumerate() {
            for (seq, part) in index.parts.iter().enumerate() {
                let distinct = statistics.indexes.get(i).and_then(|s| s.distinct.get(seq));
                let column = &def.columns[part.column];
                if !context.rights.sees_column(&def.database, &def.name, &column.name) {
                    continue;
                }
                rows.push(vec![
                    text("def"),
                    text(&def.database),
                    text(&def.name),
                    Value::Int((!index.unique).into()),
                    text(&def.database),
                    text(&index.name),
                    uint(seq as u64 + 1),
                    if column.is_hidden() { Value::Null } else { text(&column.name) },
                    text(if part.descending { "D" } else { "A" }),
                    optional(distinct, |d| Value::Int(d.round() as i64)),
                    optional(part.prefix, |p| Value::Int(p.into())),
                    Value::Null,
                    text(if column.nullable { "YES" } else { "" }),
                    text("BTREE"),
                    text(""),
                    text(entry.extras.index_comments.get(&index.id).map_or("", String::as_str)),
                    text(if index.invisible { "NO" } else { "YES" }),
                    match &column.generated {
                        Some(generated) if column.is_hidden() => text(escaped(&generated.expr)),
                        _ => Value::Null,
                    },
                ]);
            }
        }
    }
    Ok(rows)
}

fn sorted_checks(def: &TableDef) -> Vec<&CheckConstraint> {
    let mut checks: Vec<&CheckConstraint> = def.checks.iter().collect();
    checks.sort_by_key(|check| check.name.to_lowercase());
    checks
}

pub(super) fn check_constraints(snapshot: &Snapshot, context: &StatementContext) -> Vec<Vec<Value>> {
    let of_table = |entry: &Arc<TableEntry>| -> Vec<Vec<Value>> {
        let def = &entry.def;
        let row = |check: &&CheckConstraint| {
            vec![text("def"), text(&def.database), text(&check.name), text(escaped(&check.expr))]
        };
        sorted_checks(def).iter().map(row).collect()
    };
    visible(snapshot, context).flat_map(of_table).collect()
}

pub(super) fn key_column_usage(snapshot: &Snapshot, context: &StatementContext) -> Vec<Vec<Value>> {
    let mut rows = Vec::new();
    for entry in visible(snapshot, context) {
        let def = &entry.def;
        for index in def.indexes.iter().filter(|i| i.unique) {
            let named = index.parts.iter().enumerate().filter(|(_, part)| !def.columns[part.column].is_hidden());
            for (seq, part) in named {
                let mut row = vec![text("def"), text(&def.database), text(&index.name)];
                row.extend([text("def"), text(&def.database), text(&def.name)]);
                row.extend([text(&def.columns[part.column].name), uint(seq as u64 + 1)]);
                row.extend(std::iter::repeat_n(Value::Null, 4));
                rows.push(row);
            }
        }
        for key in &def.foreign_keys {
            for (at, (column, referenced)) in key.columns.iter().zip(&key.referenced).enumerate() {
                let place = uint(at as u64 + 1);
                let names = [&*def.database, &key.name, "def", &def.database, &def.name, column];
                let mut row: Vec<Value> = [text("def")].into_iter().chain(names.map(text)).collect();
                row.extend([place.clone(), place, text(&key.database), text(&key.table), text(referenced)]);
                rows.push(row);
            }
        }
    }
    rows
}

pub(super) fn table_constraints(snapshot: &Snapshot, context: &StatementContext) -> Vec<Vec<Value>> {
    let mut rows = Vec::new();
    for entry in visible(snapshot, context) {
        let def = &entry.def;
        for (i, index) in def.indexes.iter().enumerate().filter(|(_, i)| i.unique && !i.parts.is_empty()) {
            rows.push(vec![
                text("def"),
                text(&def.database),
                text(&index.name),
                text(&def.database),
                text(&def.name),
                text(if i == 0 { "PRIMARY KEY" } else { "UNIQUE" }),
                text("YES"),
            ]);
        }
        for key in &def.foreign_keys {
            let row = ["def", &def.database, &key.name, &def.database, &def.name, "FOREIGN KEY", "YES"];
            rows.push(row.map(text).to_vec());
        }
        for check in sorted_checks(def) {
            let row = [&*def.database, &check.name, &def.database, &def.name, "CHECK"];
            let enforced = if check.enforced { "YES" } else { "NO" };
            rows.push([text("def")].into_iter().chain(row.map(text)).chain([text(enforced)]).collect());
        }
    }
    rows
}

pub(super) fn referential_constraints(snapshot: &Snapshot, context: &StatementContext) -> Vec<Vec<Value>> {
    let mut rows = Vec::new();
    for entry in visible(snapshot, context) {
        let def = &entry.def;
        for key in &def.foreign_keys {
            let row = [
                text("def"),
                text(&def.database),
                text(&key.name),
                text("def"),
                text(&key.database),
                optional(referenced_index(snapshot, def, key), text),
                text("NONE"),
                text(key.on_update.name()),
                text(key.on_delete.name()),
                text(&def.name),
                text(&key.table),
            ];
            rows.push(row.to_vec());
        }
    }
    rows
}

/// The unique index of the parent that begins with the columns of a key; `None`: there is no such index, or no parent.
/// The index of a child that is its own parent is not it.
fn referenced_index<'s>(snapshot: &'s Snapshot, child: &TableDef, key: &ForeignKey) -> Option<&'s str> {
    let parent = &snapshot.table(&key.database, &key.table).ok()?.def;
    let columns = parent.positions(&key.referenced)?;
    let own = parent.positions(&key.columns).filter(|_| parent.id == child.id);
    let own = own.and_then(|own| leading_index(parent, &own));
    let unique = parent.indexes.iter().enumerate().filter(|(at, index)| index.unique && Some(*at) != own);
    unique.map(|(_, index)| index).find(|index| index.begins_with(&columns)).map(|index| &*index.name)
}
