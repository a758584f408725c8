//! Tables as storage sees them: column types and key parts, no names.

use muster_types::{KeyPart, SqlType};
use serde::{Deserialize, Serialize};

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
}
