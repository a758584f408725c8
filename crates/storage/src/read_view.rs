//! The versions of rows that a reader sees.

/// A snapshot of committed transactions. Every read takes one; [`crate::tree`]'s leaf pages become rows in one
/// function, which asks it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ReadView {
    /// Transactions with a number below this had committed when the view was made.
    pub low_limit: u64,
}

impl ReadView {
    /// Sees everything committed. Loaded rows carry transaction 0.
    pub fn latest() -> ReadView {
        ReadView { low_limit: u64::MAX }
    }

    /// Returns true if a page changed last by this transaction needs no check of its rows.
    pub fn sees_all_of(&self, page_max_trx_id: u64) -> bool {
        page_max_trx_id < self.low_limit
    }
}
