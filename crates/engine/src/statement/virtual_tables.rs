//! Tables whose rows are made when they are read.

use super::StatementContext;
use crate::tables::TableSet;
use muster_algebra::TableDef;
use muster_types::{Result, Value};
use std::sync::Arc;

/// The tables of `information_schema` and `performance_schema` as a statement knows them. The caller that starts the
/// statement provides their rows.
pub trait VirtualTables: Send + Sync {
    /// A table of one of these schemas by its name in any case.
    fn table(&self, schema: &str, name: &str) -> Option<Arc<TableDef>>;
    /// All rows of a table that the account may see.
    fn rows(&self, table: &TableDef, tables: &TableSet, context: &StatementContext) -> Result<Vec<Vec<Value>>>;
}
