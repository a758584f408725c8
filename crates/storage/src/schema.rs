//! Tables as storage sees them: column types and key parts, no names.

mod row_layouts;

pub use row_layouts::{ColumnOrigin, FORMER_LAYOUTS_MAX, FormerRowLayout, RowLayouts};

use muster_types::{KeyPart, SqlType};
use serde::{Deserialize, Serialize};
use std::sync::Arc;

/// Number of a file in the data directory; never reused.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
pub struct FileId(pub u32);

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct ColumnSchema {
    pub ty: SqlType,
    pub nullable: bool,
}

/// One tree of a table. The first of a table is clustered: its parts are the primary key, or none when rows are in
/// the order of a hidden row number (64 bits, assigned at load).
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct IndexSchema {
    /// Stands in every page of the tree.
    pub id: u32,
    pub parts: Vec<KeyPart>,
    pub unique: bool,
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct TableSchema {
    pub columns: Vec<ColumnSchema>,
    /// The clustered tree first.
    pub indexes: Vec<IndexSchema>,
    /// The layouts that rows of the clustered tree may have.
    #[serde(default)]
    pub layouts: Arc<RowLayouts>,
}

/// The hidden row number as a column.
static ROW_NUMBER: ColumnSchema = ColumnSchema { ty: SqlType::BIGINT, nullable: false };

impl TableSchema {
    /// The schema of new files of the table, whose rows have one layout.
    pub fn of_new_rows(&self) -> TableSchema {
        TableSchema { layouts: Arc::default(), ..self.clone() }
    }

    /// A column that can be read: behind the declared ones, a table without a primary key has its hidden row number.
    pub fn readable_column(&self, column: usize) -> Option<&ColumnSchema> {
        let has_row_number = self.indexes.first().is_some_and(|clustered| clustered.parts.is_empty());
        let is_row_number = has_row_number && column == self.columns.len();
        if is_row_number { Some(&ROW_NUMBER) } else { self.columns.get(column) }
    }
}
