//! SCHEMATA, TABLES, VIEWS.

use super::{optional, text, uint};
use crate::{
    accounts::Privilege,
    catalog::{Snapshot, TableEntry},
    statement::StatementContext,
    system_schema,
    tables::{TableSet, data_and_index_bytes},
};
use muster_algebra::CheckOption;
use muster_types::{Collation, Result, Value, temporal::EpochMicros};
use std::sync::Arc;

pub(super) fn schemata(snapshot: &Snapshot, context: &StatementContext) -> Vec<Vec<Value>> {
    let own =
        [system_schema::NAME, system_schema::PERFORMANCE, system_schema::MYSQL].map(|name| (name, Collation::SYSTEM));
    let stored = snapshot.schemas.iter().map(|(name, s)| (name.as_str(), s.collation));
    let stored = stored.filter(|(name, _)| !system_schema::is_name(name));
    let mut visible: Vec<_> = stored.chain(own).filter(|(name, _)| context.rights.sees_database(name)).collect();
    visible.sort_unstable_by_key(|(name, _)| *name);
    let row = |(name, collation): (&str, Collation)| {
        vec![text("def"), text(name), text(collation.charset()), text(collation.name()), Value::Null, text("NO")]
    };
    visible.into_iter().map(row).collect()
}

/// Columns that InnoDB adds to those of a table: the row's number, its transaction and its roll pointer.
const HIDDEN_COLUMNS: u64 = 3;

/// INNODB_TABLES: the stored tables, with how many layouts their rows may have besides the newest one. Error 1227
/// without the PROCESS privilege.
pub(super) fn innodb_tables(definitions: &Snapshot, context: &StatementContext) -> Result<Vec<Vec<Value>>> {
    /// InnoDB's flags of a table with a file of its own in the format Dynamic.
    const FLAG: i64 = 33;
    context.rights.check_global(Privilege::Process)?;
    let row = |entry: &Arc<TableEntry>| {
        let def = &entry.def;
        let stored = def.columns.iter().filter(|column| column.generated.as_ref().is_none_or(|g| g.stored)).count();
        vec![
            uint(def.id.0),
            text(format!("{}/{}", def.database, def.name)),
            Value::Int(FLAG),
            Value::Int((stored as u64 + HIDDEN_COLUMNS) as i64),
            Value::Int(i64::from(entry.clustered_file().0)),
            text("Dynamic"),
            uint(0),
            text("Single"),
            Value::Int(0),
            Value::Int(entry.layouts.former.len() as i64),
        ]
    };
    Ok(definitions.tables().map(row).collect())
}

/// INNODB_TEMP_TABLE_INFO: the temporary tables of all sessions, the newest first. Error 1227 without the PROCESS
/// privilege.
pub(super) fn temporary_tables(context: &StatementContext) -> Result<Vec<Vec<Value>>> {
    context.rights.check_global(Privilege::Process)?;
    let mut entries = context.database.tables().all_temporary();
    entries.sort_unstable_by_key(|entry| std::cmp::Reverse(entry.def.id));
    let row = |entry: &Arc<TableEntry>| {
        let id = entry.def.id.0;
        let space = entry.files.first().map_or(0, |file| file.0.into());
        let columns = entry.def.columns.len() as u64 + HIDDEN_COLUMNS;
        vec![uint(id), text(format!("#sql{id:x}")), uint(columns), uint(space)]
    };
    Ok(entries.iter().map(row).collect())
}

pub(super) fn tables(tables: &TableSet, context: &StatementContext) -> Result<Vec<Vec<Value>>> {
    let mut rows = Vec::new();
    let local = |utc_micros| Value::DateTime(context.clock.time_zone.local_datetime(EpochMicros(utc_micros)));
    for table in super::virtual_tables_of(&tables.definitions, context) {
        let (kind, engine) = match table.database.as_str() {
            system_schema::PERFORMANCE => ("BASE TABLE", text("PERFORMANCE_SCHEMA")),
            system_schema::MYSQL => ("BASE TABLE", text("InnoDB")),
            _ => ("SYSTEM VIEW", Value::Null),
        };
        let mut row = vec![text("def"), text(&table.database), text(&table.name), text(kind), engine];
        row.extend([Value::Int(10), Value::Null]);
        row.extend(std::iter::repeat_n(uint(0), 6));
        row.extend([Value::Null, Value::DateTime(EpochMicros(0).datetime())]);
        row.extend(std::iter::repeat_n(Value::Null, 4));
        row.extend([text(""), text("")]);
        rows.push(row);
    }
    for (database, schema) in &tables.definitions.schemas {
        let is_seen = |name: &str| context.rights.sees_table(database, name);
        for entry in schema.tables.values().filter(|entry| is_seen(&entry.def.name)) {
            let content = tables.content(entry.def.id)?;
            let statistics = tables.statistics(entry.def.id)?;
            let count = tables.row_count(entry.def.id)?;
            let page_size = context.database.buffer_pool().page_size() as u64;
            let (data, index) = data_and_index_bytes(&statistics, page_size);
            let auto_increment = match entry.auto_increment_column() {
                Some(_) => uint(tables.auto_increment(entry.def.id)?.next()),
                None => Value::Null,
            };
            rows.push(vec![
                text("def"),
                text(database),
                text(&entry.def.name),
                text("BASE TABLE"),
                text("InnoDB"),
                Value::Int(10),
                text("Dynamic"),
                uint(count),
                uint(data.checked_div(count).unwrap_or(0)),
                uint(data),
                uint(0),
                uint(index),
                uint(0),
                auto_increment,
                local(entry.created),
                optional(content.loaded, local),
                Value::Null,
                text(entry.def.collation.name()),
                Value::Null,
                text(""),
                text(&entry.def.comment),
            ]);
        }
        for name in schema.views.keys().filter(|name| is_seen(name)) {
            let mut row = vec![text("def"), text(database), text(name), text("VIEW")];
            row.extend(std::iter::repeat_n(Value::Null, 10));
            row.push(Value::DateTime(EpochMicros(0).datetime()));
            row.extend(std::iter::repeat_n(Value::Null, 5));
            row.push(text("VIEW"));
            rows.push(row);
        }
    }
    Ok(rows)
}

pub(super) fn views(snapshot: &Snapshot, context: &StatementContext) -> Vec<Vec<Value>> {
    let all = snapshot.schemas.values().flat_map(|schema| schema.views.values());
    all.filter(|v| context.rights.sees_table(&v.def.database, &v.def.name))
        .map(|v| {
            vec![
                text("def"),
                text(&v.def.database),
                text(&v.def.name),
                text(if context.rights.on_table(&v.def.database, &v.def.name).has(Privilege::ShowView) {
                    &v.def.query
                } else {
                    ""
                }),
                text(v.def.check_option.map_or("NONE", CheckOption::name)),
                text(if v.updatable { "YES" } else { "NO" }),
                text(v.def.definer.as_ref().map_or("root@localhost".into(), |d| format!("{}@{}", d.user, d.host))),
                text(if v.def.definer.is_some() { "DEFINER" } else { "INVOKER" }),
                text("utf8mb4"),
                text("utf8mb4_0900_ai_ci"),
            ]
        })
        .collect()
}
