//! The errors of storage, and the errors that MySQL clients are told instead.

use crate::locks::LockError;
use muster_types::{ErrorCode, SqlError};
use std::path::PathBuf;

pub type Result<T, E = StorageError> = std::result::Result<T, E>;

#[derive(Debug, thiserror::Error)]
pub enum StorageError {
    #[error("{path}: {source}")]
    Io { path: PathBuf, source: std::io::Error },
    /// A page that is not what it should be: wrong checksum, wrong identity, impossible content.
    #[error("{path}: page {page}: {reason}")]
    Corrupt { path: PathBuf, page: u32, reason: String },
    /// A small file that is not as it was written.
    #[error("{path}: {reason}")]
    CorruptFile { path: PathBuf, reason: String },
    #[error("{path}: not a Muster file")]
    Foreign { path: PathBuf },
    #[error("{path}: written by a newer version (format {found}, this build reads up to {supported})")]
    NewerFormat { path: PathBuf, found: u32, supported: u32 },
    #[error(
        "{path}: written by an older version (format {found}), which this build (format {supported}) does not read: \
         load the data again into a new directory"
    )]
    OlderFormat { path: PathBuf, found: u32, supported: u32 },
    /// A log that was durable and is not what it should be. `offset`: the byte in the file.
    #[error("{path}: byte {offset}: {reason}")]
    DamagedLog { path: PathBuf, offset: u64, reason: String },
    #[error("the redo log is full: no checkpoint has freed any of its {capacity} bytes")]
    LogFull { capacity: u64 },
    #[error("a change of {bytes} bytes is too large for the redo log, which takes {limit} at once")]
    GroupTooLarge { bytes: u64, limit: u64 },
    #[error("{path}: in use by another process")]
    Locked { path: PathBuf },
    #[error("{path}: no space left")]
    DiskFull { path: PathBuf },
    /// `entry`: the texts of the key's values; `index`: position of the index in the table's schema.
    #[error("Duplicate entry '{}' for index {index}", entry.join("-"))]
    Duplicate { entry: Vec<String>, index: usize },
    #[error("row of {bytes} bytes is too large for a page of {limit}")]
    RowTooLarge { bytes: usize, limit: usize },
    /// A value or an array that its column cannot hold; whoever calls storage converts values first.
    #[error("{value} does not have the column's type")]
    WrongType { value: String },
    #[error("the buffer pool is full: {frames} frames are all in use")]
    NoFreeFrame { frames: usize },
    /// A change of a directory that was opened to read what can be read.
    #[error("Operation not allowed when innodb_force_recovery > 0.")]
    ForcedRecovery,
    /// A version of a row that a view needs was in a part of the log that is not kept any more.
    #[error("Table definition has changed, please retry transaction")]
    SnapshotTooOld,
    /// Somebody else has a lock that was wanted, and the caller does not wait.
    #[error("Statement aborted because lock(s) could not be acquired immediately and NOWAIT is set.")]
    WouldWait,
    #[error("Lock wait timeout exceeded; try restarting transaction")]
    LockTimeout,
    /// The transaction was chosen to end a deadlock, and has to be rolled back.
    #[error("Deadlock found when trying to get lock; try restarting transaction")]
    Deadlock,
    #[error("The total number of locks exceeds the lock table size")]
    LockTableFull,
    #[error("interrupted")]
    Interrupted,
    /// The statement has taken as long as it may.
    #[error("interrupted: maximum statement execution time exceeded")]
    DeadlinePassed,
    /// A statement could not be undone wholly: its transaction can only be rolled back.
    #[error("a statement was undone in part only, and its transaction can only be rolled back")]
    HalfUndone,
    /// From a filter that the caller pushed into a scan.
    #[error("{0}")]
    Filter(SqlError),
}

impl StorageError {
    pub fn io(path: impl Into<PathBuf>, source: std::io::Error) -> StorageError {
        let path = path.into();
        match source.raw_os_error() {
            Some(libc::ENOSPC | libc::EDQUOT) => StorageError::DiskFull { path },
            _ => StorageError::Io { path, source },
        }
    }

    /// The number for messages that have one, as perror tells it: of the system where the error is its own, else 168,
    /// "unknown (generic) error from engine".
    pub fn number(&self) -> i32 {
        const GENERIC: i32 = 168;
        match self {
            StorageError::Io { source, .. } => source.raw_os_error().unwrap_or(libc::EIO),
            StorageError::DiskFull { .. } | StorageError::LogFull { .. } => libc::ENOSPC,
            StorageError::NoFreeFrame { .. } => libc::ENOMEM,
            _ => GENERIC,
        }
    }

    /// The same error once more, for somebody else who waited for what failed.
    pub(crate) fn repeated(&self) -> StorageError {
        match self {
            StorageError::DiskFull { path } => StorageError::DiskFull { path: path.clone() },
            StorageError::Io { path, source } => {
                let again = match source.raw_os_error() {
                    Some(code) => std::io::Error::from_raw_os_error(code),
                    None => std::io::Error::new(source.kind(), source.to_string()),
                };
                StorageError::Io { path: path.clone(), source: again }
            }
            other => StorageError::Io { path: PathBuf::new(), source: std::io::Error::other(other.to_string()) },
        }
    }
}

impl From<LockError> for StorageError {
    fn from(e: LockError) -> StorageError {
        match e {
            LockError::WouldWait => StorageError::WouldWait,
            LockError::Timeout => StorageError::LockTimeout,
            LockError::Deadlock => StorageError::Deadlock,
            LockError::Interrupted => StorageError::Interrupted,
            LockError::DeadlinePassed => StorageError::DeadlinePassed,
            LockError::TableFull => StorageError::LockTableFull,
        }
    }
}

impl From<StorageError> for SqlError {
    fn from(e: StorageError) -> SqlError {
        let code = match &e {
            StorageError::Duplicate { .. } => ErrorCode::DupEntry,
            StorageError::DiskFull { .. } | StorageError::LogFull { .. } => ErrorCode::DiskFull,
            StorageError::Locked { .. } => ErrorCode::CantLock,
            StorageError::RowTooLarge { .. } | StorageError::GroupTooLarge { .. } => ErrorCode::TooBigRowSize,
            StorageError::NoFreeFrame { .. } => ErrorCode::OutOfMemory,
            StorageError::ForcedRecovery => ErrorCode::ForcedRecovery,
            StorageError::SnapshotTooOld => ErrorCode::TableDefChanged,
            StorageError::WouldWait => ErrorCode::LockNowait,
            StorageError::LockTimeout => ErrorCode::LockWaitTimeout,
            StorageError::Deadlock => ErrorCode::LockDeadlock,
            StorageError::LockTableFull => ErrorCode::LockTableFull,
            StorageError::Interrupted => return SqlError::interrupted(),
            StorageError::DeadlinePassed => return SqlError::timed_out(),
            StorageError::HalfUndone => ErrorCode::ErrorDuringRollback,
            StorageError::Filter(inner) => return inner.clone(),
            StorageError::Corrupt { .. }
            | StorageError::CorruptFile { .. }
            | StorageError::DamagedLog { .. }
            | StorageError::Foreign { .. }
            | StorageError::NewerFormat { .. }
            | StorageError::OlderFormat { .. } => ErrorCode::StorageCorrupt,
            StorageError::Io { .. } | StorageError::WrongType { .. } => ErrorCode::Unknown,
        };
        SqlError::new(code, e.to_string())
    }
}
