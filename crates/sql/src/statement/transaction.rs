//! Transactions and locks of tables.

use super::TableName;

/// `START TRANSACTION` and `BEGIN`.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Begin {
    /// `WITH CONSISTENT SNAPSHOT`.
    pub consistent_snapshot: bool,
    /// `READ ONLY` or `READ WRITE`; `None`: as the session has it.
    pub read_only: Option<bool>,
}

/// What follows the end of a transaction; `None`: as `completion_type` says.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Completion {
    /// `AND [NO] CHAIN`.
    pub chain: Option<bool>,
    /// `[NO] RELEASE`.
    pub release: Option<bool>,
}

impl Completion {
    /// Returns true for `AND CHAIN` and for `RELEASE`.
    pub fn goes_on(self) -> bool {
        self.chain == Some(true) || self.release == Some(true)
    }
}

/// A table of `LOCK TABLES`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TableLock {
    pub table: TableName,
    pub alias: Option<String>,
    /// True for WRITE.
    pub write: bool,
}
