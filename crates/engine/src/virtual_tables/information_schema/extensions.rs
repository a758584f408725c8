//! PARTITIONS, KEYWORDS, PLUGINS and the tables of attributes beside others; `performance_schema.threads` and
//! `performance_schema.processlist`.

use super::{keys, objects, server, text, uint};
use crate::{catalog::Snapshot, statement::StatementContext, tables::TableSet};
use muster_types::{Result, Value};

type TableRows = Vec<Vec<Value>>;

/// Positions among the columns of TABLES.
const TABLE_TYPE: usize = 3;
const ROWS_TO_DATA_FREE: std::ops::RangeInclusive<usize> = 7..=12;
const CREATED_TO_CHECKED: std::ops::RangeInclusive<usize> = 14..=16;

/// PARTITIONS: no table has any, so each is a row.
pub(super) fn partitions(tables: &TableSet, context: &StatementContext) -> Result<TableRows> {
    let is_base = |row: &Vec<Value>| row[TABLE_TYPE] == text("BASE TABLE");
    let row = |table: Vec<Value>| {
        let mut row = table[..TABLE_TYPE].to_vec();
        row.extend(std::iter::repeat_n(Value::Null, 9));
        row.extend_from_slice(&table[ROWS_TO_DATA_FREE]);
        row.extend_from_slice(&table[CREATED_TO_CHECKED]);
        row.extend([Value::Null, text(""), text(""), Value::Null]);
        row
    };
    Ok(objects::tables(tables, context)?.into_iter().filter(is_base).map(row).collect())
}

/// KEYWORDS: MySQL 8.0's words, and which of them are reserved.
pub(super) fn keywords() -> TableRows {
    let lines = include_str!("keywords.txt").lines().filter_map(|line| line.split_once(' '));
    lines.map(|(word, reserved)| vec![text(word), Value::Int((reserved == "1").into())]).collect()
}

/// PLUGINS.
pub(super) fn plugins() -> TableRows {
    let row = |name: &str, kind: &str, version: &str, description: &str| {
        let mut row = [name, "1.0", "ACTIVE", kind, version].map(text).to_vec();
        row.extend([Value::Null, Value::Null, text("Muster"), text(description), text("Apache-2.0"), text("FORCE")]);
        row
    };
    vec![
        row("mysql_native_password", "AUTHENTICATION", "2.1", "Native MySQL authentication"),
        row("caching_sha2_password", "AUTHENTICATION", "2.1", "Caching sha2 authentication"),
        row("InnoDB", "STORAGE ENGINE", "80036.0", "Supports transactions, row-level locking, and foreign keys"),
    ]
}

/// The first columns of rows, each with what stands behind them.
fn beside(rows: TableRows, first: impl Fn(&[Value]) -> Vec<Value>, rest: &[Value]) -> TableRows {
    rows.iter().map(|row| [first(row).as_slice(), rest].concat()).collect()
}

/// SCHEMATA_EXTENSIONS.
pub(super) fn of_schemata(snapshot: &Snapshot, context: &StatementContext) -> TableRows {
    beside(objects::schemata(snapshot, context), |row| row[..2].to_vec(), &[text("")])
}

/// TABLES_EXTENSIONS.
pub(super) fn of_tables(tables: &TableSet, context: &StatementContext) -> Result<TableRows> {
    Ok(beside(objects::tables(tables, context)?, |row| row[..3].to_vec(), &[Value::Null, Value::Null]))
}

/// COLUMNS_EXTENSIONS.
pub(super) fn of_columns(snapshot: &Snapshot, context: &StatementContext) -> TableRows {
    beside(super::columns::columns(snapshot, context), |row| row[..4].to_vec(), &[Value::Null, Value::Null])
}

/// TABLE_CONSTRAINTS_EXTENSIONS: catalog, schema and name of a constraint, and its table.
pub(super) fn of_constraints(snapshot: &Snapshot, context: &StatementContext) -> TableRows {
    let named = |row: &[Value]| [&row[..3], &row[4..5]].concat();
    beside(keys::table_constraints(snapshot, context), named, &[Value::Null, Value::Null])
}

/// performance_schema.processlist.
pub(super) fn processlist(context: &StatementContext) -> TableRows {
    beside(server::processlist(context), <[Value]>::to_vec, &[text("PRIMARY")])
}

/// performance_schema.threads: those of connections, each with the number of its connection.
pub(super) fn threads(context: &StatementContext) -> TableRows {
    let row = |process: Vec<Value>| {
        let mut row = vec![process[0].clone(), text("thread/sql/one_connection"), text("FOREGROUND")];
        row.extend_from_slice(&process);
        row.extend([Value::Null, Value::Null, text("YES"), text("YES"), text("TCP/IP"), process[0].clone()]);
        row.extend([Value::Null, text("PRIMARY")]);
        row.extend(std::iter::repeat_n(uint(0), 4));
        row.push(text("NO"));
        row
    };
    server::processlist(context).into_iter().map(row).collect()
}
