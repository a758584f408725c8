//! Statements that read rows and then change them: once more, if another transaction has changed one of the rows in
//! between.

use crate::statement::StatementContext;
use muster_types::{Result, SqlError};

/// Most attempts of a statement; then it ends as one of those that wait for each other.
const ATTEMPTS_MAX: u32 = 100;

/// The end of an attempt.
pub enum Attempt<R> {
    Done(R),
    /// It has changed a row that was another one when it was read.
    Stale,
}

/// Runs a statement on what has been committed by now, until it has read no row that another transaction then has
/// changed. What an attempt has changed is taken back before the next one. Error 1213 when that does not come to an
/// end.
pub fn until_not_stale<R>(context: &StatementContext, mut run: impl FnMut() -> Result<Attempt<R>>) -> Result<R> {
    let (transaction, store) = (&context.transaction, context.database.store());
    let warnings = context.diagnostics.warnings.count();
    for _ in 0..ATTEMPTS_MAX {
        let before = transaction.moment(store);
        match run()? {
            Attempt::Done(done) => return Ok(done),
            Attempt::Stale => transaction.back_to(before)?,
        }
        context.diagnostics.warnings.truncate(warnings);
        context.check_interrupt()?;
    }
    Err(SqlError::deadlock())
}
