//! Operations on the row of one key, and what each may come to.

/// The content of a row: the number of the operation that has written it.
pub(super) type Version = u32;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Kind {
    Insert(Version),
    Update(Version),
    Delete,
    Get,
}

/// The result of an operation.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Outcome {
    Done,
    /// A row with the key is there already.
    Exists,
    /// There is no row with the key.
    Absent,
    /// Another row has the same value in a unique index.
    Refused,
    /// The row that was read.
    Found(Version),
}

/// An operation with the times at which it began and ended.
#[derive(Debug, Clone, Copy)]
pub(super) struct Operation {
    pub start: u64,
    pub end: u64,
    pub kind: Kind,
    pub outcome: Outcome,
}

impl Operation {
    /// The row after the operation if `row` was there before; `None` if the outcome could not be what it is.
    pub fn apply(&self, row: Option<Version>) -> Option<Option<Version>> {
        use Outcome::{Absent, Done, Exists, Found, Refused};
        match (self.kind, self.outcome, row) {
            (Kind::Insert(new), Done, None) | (Kind::Update(new), Done, Some(_)) => Some(Some(new)),
            (Kind::Delete, Done, Some(_)) => Some(None),
            (Kind::Insert(_), Exists, Some(_)) | (Kind::Update(_), Refused, Some(_)) => Some(row),
            (Kind::Insert(_), Refused, None) | (Kind::Update(_) | Kind::Delete | Kind::Get, Absent, None) => Some(None),
            (Kind::Get, Found(version), Some(there)) if version == there => Some(row),
            _ => None,
        }
    }
}
