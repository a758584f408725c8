//! A change of rows on the short path: bound before, it runs in the task of its connection and waits for nothing; or,
//! where it has met a lock, on a thread that waits.

use super::{
    delete::delete_rows, insert::insert_bound, search::BySearch, short_source::ShortSource, update::update_rows,
};
use crate::{
    short_path::{ShortChange, ShortWrite},
    statement::{Done, StatementContext, StatementTables},
};
use muster_types::{ErrorCode, Result, Value};
use std::{cell::Cell, sync::Arc};

/// What came of a change.
pub enum InPlace {
    Done(Done),
    /// It cannot go on without waiting. What it has changed by then is to be taken back.
    MustWait,
    /// The same; the general path has to change the rows.
    General,
    /// The same, since the query of an INSERT reads more rows than the short path does.
    TooMany,
}

/// Runs a statement with the values of its parameters. Its errors are those of the general path.
pub fn change_in_place(context: &Arc<StatementContext>, write: &ShortWrite, parameters: &[Value]) -> Result<InPlace> {
    if !context.try_lock_to_write(write.table()) || !context.try_lock_to_read(write.read_tables()) {
        return Ok(InPlace::General);
    }
    // From now on nobody changes the tables.
    let tables = StatementTables::to_change(context);
    // Foreign keys lead to other tables, whose locks may have to be waited for.
    if !write.is_of(tables.set()) || tables.set().family(write.table()).is_some() {
        return Ok(InPlace::General);
    }
    let (is_general, too_many) = (Cell::new(false), Cell::new(false));
    let by = |search| BySearch { search, parameters, is_general: &is_general };
    let done = match write.change() {
        ShortChange::Insert { bound, query } => {
            let source = query.as_deref().map(|plan| ShortSource {
                plan,
                parameters,
                is_general: &is_general,
                too_many: &too_many,
            });
            insert_bound(context, bound, &tables, parameters, source.as_ref())
        }
        ShortChange::Update { bound, search } => update_rows(context, bound, &tables, Some(&by(search))),
        ShortChange::Delete { bound, search } => delete_rows(context, bound, &tables, Some(&by(search))),
    };
    match done {
        Err(_) if too_many.get() => Ok(InPlace::TooMany),
        Err(_) if is_general.get() => Ok(InPlace::General),
        Err(e) if e.code == ErrorCode::LockNowait && context.in_place => Ok(InPlace::MustWait),
        done => done.map(InPlace::Done),
    }
}
