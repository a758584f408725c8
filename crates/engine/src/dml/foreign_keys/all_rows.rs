//! All rows of a table at once: a table that gets a foreign key.

use super::no_parent;
use crate::{
    statement::StatementContext,
    tables::{KeySide, Reference},
};
use muster_algebra::{ForeignKey, TableDef};
use muster_storage::{ReadView, Scan, ScanRequest, Table, value_at};
use muster_types::{Result, Value};
use std::sync::Arc;

/// Rows of a batch.
const BATCH_ROWS: usize = 4096;

/// Checks that each row of a table has a parent by a key, in the order of its index: equal values are looked for once.
/// Nobody changes rows of either table meanwhile. Returns the number of rows. Error 1452.
pub fn missing_parent(
    context: &StatementContext,
    (def, key): (&TableDef, &ForeignKey),
    (child, child_side): (&Arc<Table>, &KeySide),
    (parent, parent_side): (&Arc<Table>, &KeySide),
) -> Result<u64> {
    let counters = Arc::clone(context.process.counters.storage());
    let columns = child_side.columns.clone();
    let all = ScanRequest::all(ReadView::latest(), child_side.index, columns, Arc::clone(&counters));
    let request = ScanRequest { ordered: true, batch_rows: BATCH_ROWS, ..all };
    let mut cursor = Scan::new(Arc::clone(child), request)?.cursor();
    let (mut rows, mut known) = (0, Vec::new());
    while let Some(batch) = cursor.next_batch()? {
        context.check_interrupt()?;
        rows += batch.num_rows() as u64;
        for row in 0..batch.num_rows() {
            let values = batch.columns().iter().map(|array| value_at(array, row)).collect::<Result<Vec<Value>>>()?;
            if values == known || values.iter().any(Value::is_null) {
                continue;
            }
            if !parent.has_entry(parent_side.index, &values, &counters)? {
                let (database, table) = (def.database.clone(), def.name.clone());
                return Err(no_parent(&Reference { key: key.clone(), database, table, child: None, parent: None }));
            }
            known = values;
        }
    }
    Ok(rows)
}
