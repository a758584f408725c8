//! How a column takes part in its table's keys, as MySQL tells it.

use muster_algebra::{IndexDef, TableDef};

/// `PRI`, `UNI`, `MUL` or nothing (manual 13.7.7.5).
pub fn column_key(table: &TableDef, column: usize) -> &'static str {
    let first = |i: &IndexDef| i.parts.first().is_some_and(|p| p.column == column);
    if table.indexes.first().is_some_and(|i| i.parts.iter().any(|p| p.column == column)) {
        return "PRI";
    }
    // Without a primary key the first unique key without NULLs and prefixes stands for it.
    let is_whole = |i: &IndexDef| i.parts.iter().all(|p| p.prefix.is_none() && !table.columns[p.column].nullable);
    let promoted = table.indexes.get(1).filter(|i| !table.has_primary_key() && i.unique && is_whole(i));
    if promoted.is_some_and(|i| i.parts.iter().any(|p| p.column == column)) {
        return "PRI";
    }
    let mut secondary = table.indexes.iter().skip(1).filter(|i| first(i));
    if secondary.clone().any(|i| i.unique && i.parts.len() == 1) {
        return "UNI";
    }
    if secondary.next().is_some() { "MUL" } else { "" }
}
