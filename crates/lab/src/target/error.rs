//! Errors of targets, by MySQL's numbers.

use muster_engine::types::SqlError;

/// An error of a database, or of the connection to it.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum TargetError {
    /// The database refused a statement.
    #[error("ERROR {number}: {message}")]
    Statement { number: u16, message: String },
    /// There is no connection, or it has ended.
    #[error("the connection failed: {0}")]
    Connection(String),
    /// The database gave an answer that the workload cannot use.
    #[error("{0}")]
    Answer(String),
    /// A consistent read does not see a row that a locking read of the same transaction has seen.
    #[error("the snapshot is older than a row that was locked")]
    StaleSnapshot,
}

/// Why a transaction has to be repeated.
#[derive(Debug, Clone, Copy, PartialEq, Eq, serde::Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Conflict {
    /// ER_LOCK_DEADLOCK (1213).
    Deadlock,
    /// ER_LOCK_WAIT_TIMEOUT (1205).
    LockWaitTimeout,
    /// See [`TargetError::StaleSnapshot`]; also ER_CHECKREAD (1020) of MariaDB's `innodb_snapshot_isolation`.
    StaleSnapshot,
}

impl TargetError {
    /// The conflict with other transactions that the error reports; `None` if a repetition would fail again.
    pub fn conflict(&self) -> Option<Conflict> {
        match self {
            TargetError::Statement { number: 1213, .. } => Some(Conflict::Deadlock),
            TargetError::Statement { number: 1205, .. } => Some(Conflict::LockWaitTimeout),
            TargetError::Statement { number: 1020, .. } | TargetError::StaleSnapshot => Some(Conflict::StaleSnapshot),
            _ => None,
        }
    }

    /// Returns true if nothing more can be asked of the target.
    pub fn is_fatal(&self) -> bool {
        matches!(self, TargetError::Connection(_))
    }
}

impl From<SqlError> for TargetError {
    fn from(error: SqlError) -> TargetError {
        TargetError::Statement { number: error.code.number(), message: error.message }
    }
}

impl From<mysql_async::Error> for TargetError {
    fn from(error: mysql_async::Error) -> TargetError {
        match error {
            mysql_async::Error::Server(e) => TargetError::Statement { number: e.code, message: e.message },
            other => TargetError::Connection(other.to_string()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn conflicts_are_told_by_their_numbers() {
        let conflict = |number| TargetError::Statement { number, message: String::new() }.conflict();
        assert_eq!(conflict(1213), Some(Conflict::Deadlock));
        assert_eq!(conflict(1205), Some(Conflict::LockWaitTimeout));
        assert_eq!(conflict(1062), None);
        assert_eq!(TargetError::Connection("gone".into()).conflict(), None);
    }
}
