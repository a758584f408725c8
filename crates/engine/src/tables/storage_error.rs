//! Problems that storage reports while it writes a table's rows, in MySQL's words.

use muster_algebra::TableDef;
use muster_storage::StorageError;
use muster_types::{ErrorCode, SqlError};

pub fn storage_error(def: &TableDef, e: StorageError) -> SqlError {
    match e {
        StorageError::Duplicate { entry, index } => {
            let key = def.indexes.get(index).map_or("?", |i| &i.name);
            let message = format!("Duplicate entry '{entry}' for key '{}.{key}'", def.name);
            SqlError::new(ErrorCode::DupEntry, message)
        }
        StorageError::DiskFull { path } => {
            // The message has no room for the file, which the administrator wants to know.
            tracing::warn!("table '{}' cannot grow: {}: no space left", def.name, path.display());
            SqlError::new(ErrorCode::RecordFileFull, format!("The table '{}' is full", def.name))
        }
        other => other.into(),
    }
}
