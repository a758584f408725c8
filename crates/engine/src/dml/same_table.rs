//! An UPDATE of a table under several names: each name changes the columns that are assigned to it, and leaves what
//! others have changed.

use super::assign::ChangedRow;
use muster_algebra::TableId;
use muster_exec::{Reserved, Runtime};
use muster_sql::bind::{BoundUpdate, ChangeTarget};
use muster_types::{ErrorCode, Result, SqlError, Value};
use std::collections::HashMap;

/// Memory that is taken from that of queries at a time, in bytes.
const RESERVED_BYTES: usize = 64 << 10;
/// Memory of a row beside its texts, in bytes: its key, its place in the map.
const ROW_BYTES: usize = 128;

/// The rows that a statement has changed so far, of tables that it names several times.
pub struct Images<'a> {
    runtime: &'a Runtime,
    /// The memory that the rows take.
    reserved: Vec<Reserved>,
    /// Bytes of it that are left.
    room: usize,
    /// For each target its table, if another target is of the same one.
    tables: Vec<Option<TableId>>,
    /// By table and primary key.
    rows: HashMap<(TableId, String), Vec<Value>>,
}

impl<'a> Images<'a> {
    pub fn new(runtime: &'a Runtime, targets: &[ChangeTarget]) -> Images<'a> {
        let shared =
            |target: &ChangeTarget| targets.iter().filter(|other| other.table.id == target.table.id).count() > 1;
        let tables = targets.iter().map(|target| shared(target).then_some(target.table.id)).collect();
        Images { runtime, reserved: Vec::new(), room: 0, tables, rows: HashMap::new() }
    }

    /// Gives the columns that are not assigned under this name the values that another name has given them.
    pub fn complete(&self, target: usize, key: &[Value], row: &mut ChangedRow) {
        let Some(table) = self.tables[target] else { return };
        let Some(image) = self.rows.get(&(table, format!("{key:?}"))) else { return };
        for (column, value) in image.iter().enumerate().filter(|(column, _)| !row.assigned.contains(column)) {
            row.new[column].clone_from(value);
        }
        row.differs = row.new != *image;
    }

    /// Notes a row that was changed. Error 1041.
    pub fn note(&mut self, target: usize, key: &[Value], row: &[Value]) -> Result<()> {
        let Some(table) = self.tables[target] else { return Ok(()) };
        let bytes = ROW_BYTES + row.iter().map(bytes).sum::<usize>();
        if bytes > self.room {
            let more = bytes.max(RESERVED_BYTES);
            self.reserved.push(self.runtime.reserve("rows under several names", more)?);
            self.room += more;
        }
        self.room -= bytes;
        self.rows.insert((table, format!("{key:?}")), row.to_vec());
        Ok(())
    }
}

/// Memory of a value.
fn bytes(value: &Value) -> usize {
    let own = match value {
        Value::Text(text) => text.len(),
        Value::Bytes(bytes) | Value::Json(bytes) => bytes.len(),
        _ => 0,
    };
    size_of::<Value>() + own
}

/// Checks that no primary key is assigned in a table that is updated under two names: one would not find the row any
/// more that the other has moved. Error 1706.
pub fn check_keys(bound: &BoundUpdate) -> Result<()> {
    for (at, target) in bound.targets.iter().enumerate() {
        let Some(other) = bound.targets[at + 1..].iter().find(|other| other.table.id == target.table.id) else {
            continue;
        };
        let keys = &target.table.indexes[0].parts;
        let is_key = |column: usize| keys.iter().any(|part| part.column == column);
        let is_of_table = |target: usize| bound.targets[target].table.id == other.table.id;
        if bound.assignments.iter().any(|a| is_of_table(a.target) && is_key(a.column)) {
            let message = format!(
                "Primary key/partition key update is not allowed since the table is updated both as '{}' and '{}'.",
                target.alias, other.alias
            );
            return Err(SqlError::new(ErrorCode::MultiUpdateKeyConflict, message));
        }
    }
    Ok(())
}
