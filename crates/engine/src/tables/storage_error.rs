//! Problems that storage reports while a table's rows are sorted into its trees, in MySQL's words.

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
        StorageError::DiskFull { .. } => {
            SqlError::new(ErrorCode::DiskFull, format!("Disk full while writing table '{}': {e}", def.name))
        }
        other => other.into(),
    }
}
