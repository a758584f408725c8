//! Problems that storage reports while it writes a table's rows, in MySQL's words.

use muster_algebra::TableDef;
use muster_storage::StorageError;
use muster_types::{ErrorCode, SqlError, SqlType, value::format_fixed};

pub fn storage_error(def: &TableDef, e: StorageError) -> SqlError {
    match e {
        StorageError::Duplicate { entry, index } => {
            let entry = entry_text(def, index, entry);
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

/// A key as MySQL names it: the texts of its values with the attributes that their columns have, joined by `-`.
pub fn entry_text(def: &TableDef, index: usize, texts: Vec<String>) -> String {
    let parts = def.indexes.get(index).map_or(&[][..], |index| &index.parts);
    let shown = texts.into_iter().enumerate().map(|(i, text)| {
        let Some(column) = parts.get(i).and_then(|part| def.columns.get(part.column)) else { return text };
        let text = match (column.digits, text.parse::<f64>()) {
            (Some(digits), Ok(x)) => format_fixed(x, digits.scale),
            _ => text,
        };
        match column.ty {
            SqlType::Unsigned(number) if text != "NULL" => number.filled(text),
            _ => text,
        }
    });
    shown.collect::<Vec<_>>().join("-")
}
