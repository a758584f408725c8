//! A change of one row by its key on the short path: bound before, it runs in the task of its connection and waits for
//! nothing.

use super::{delete::delete_rows, insert::insert_bound, search::ByKey, update::update_rows};
use crate::{
    short_path::{ShortChange, ShortWrite},
    statement::{Done, StatementContext, StatementTables},
};
use muster_types::{ErrorCode, Result, Value};
use std::sync::Arc;

/// Runs a statement with the values of its parameters; `key` is that of the row that an UPDATE or DELETE is about.
/// `None` if the statement cannot go on without waiting: what it has changed by then is to be taken back. Its errors
/// are those of the general path.
pub fn change_in_place(
    context: &Arc<StatementContext>,
    write: &ShortWrite,
    parameters: &[Value],
    key: Option<&[Value]>,
) -> Result<Option<Done>> {
    if !context.try_lock_to_write(write.table()) {
        return Ok(None);
    }
    // From now on nobody changes the table.
    let tables = StatementTables::to_change(context);
    if !write.is_of(tables.set()) {
        return Ok(None);
    }
    let by_key = key.map(|key| ByKey { key, parameters });
    let done = match (write.change(), &by_key) {
        (ShortChange::Insert(bound), _) => insert_bound(context, bound, &tables, parameters),
        (ShortChange::Update { bound, .. }, Some(_)) => update_rows(context, bound, &tables, by_key.as_ref()),
        (ShortChange::Delete { bound, .. }, Some(_)) => delete_rows(context, bound, &tables, by_key.as_ref()),
        (ShortChange::Update { .. } | ShortChange::Delete { .. }, None) => return Ok(None),
    };
    match done {
        Err(e) if e.code == ErrorCode::LockNowait => Ok(None),
        done => done.map(Some),
    }
}
