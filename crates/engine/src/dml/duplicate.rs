//! What a row does whose key is there already.

use crate::statement::StatementContext;
use muster_types::{Result, SqlError};

/// What the statement says of such rows.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum OnDuplicate {
    Error,
    /// IGNORE: the row does not come, with a warning.
    Ignore,
}

/// What became of a row.
pub enum Duplicate {
    Inserted,
    Ignored,
}

impl OnDuplicate {
    /// Deals with a row that met one with the same key in an index.
    pub fn resolve(self, context: &StatementContext, error: SqlError) -> Result<Duplicate> {
        match self {
            OnDuplicate::Ignore => {
                context.warn(error.code, error.message);
                Ok(Duplicate::Ignored)
            }
            OnDuplicate::Error => Err(error),
        }
    }
}
