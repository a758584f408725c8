//! The result of a statement.

use muster_algebra::ResultShape;
use muster_exec::RowStream;
use muster_types::{SqlType, Value};

/// One column of a result, with what the protocol's column definition needs.
#[derive(Debug, Clone, PartialEq)]
pub struct ColumnInfo {
    /// The column's name as the client sees it.
    pub name: String,
    /// The database of the table that the column comes from unchanged; empty if the column is computed.
    pub database: String,
    pub table: String,
    pub org_table: String,
    pub org_name: String,
    pub ty: SqlType,
    /// Digits behind the point that a floating-point column shows; `None`: as many as it takes.
    pub decimals: Option<u8>,
    /// Characters that the integers of a computed column have at most; `None`: as many as its type has.
    pub length: Option<u32>,
    /// See [`muster_algebra::ColumnDef::display_width`].
    pub display_width: Option<u8>,
    pub nullable: bool,
    /// True for a column of a table that is NOT NULL and has no default.
    pub no_default: bool,
    /// True unless the values come from a column of a table unchanged.
    pub computed: bool,
    /// See [`muster_algebra::Columns::is_chosen`].
    pub chosen: bool,
    pub shape: ResultShape,
    pub primary_key: bool,
    pub unique_key: bool,
    pub multiple_key: bool,
    pub auto_increment: bool,
    /// True for a TIMESTAMP of a table that the clock fills when a row is inserted or updated.
    pub filled_by_clock: bool,
    /// True for one that the clock fills when a row is updated.
    pub on_update_now: bool,
    /// What clients are told in place of what follows from the type.
    pub told: Option<ToldColumn>,
}

/// A column's definition in the protocol, beside its names.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ToldColumn {
    /// The number of the type, whose values look as those of the column's own type.
    pub column_type: u8,
    /// Bytes of the longest value in utf8mb4; `None`: as many as the column's own type has.
    pub length: Option<u32>,
    pub decimals: u8,
    pub flags: u16,
    /// 63 for byte strings, numbers and moments.
    pub charset: u16,
}

impl ColumnInfo {
    /// A value of the column as the text protocol shows it; `None` for NULL.
    pub fn shown(&self, value: &Value) -> Option<String> {
        self.ty.shown_text(value, self.decimals)
    }
}

/// A result set under way. Dropping it cancels the query.
pub struct ResultSet {
    pub columns: Vec<ColumnInfo>,
    /// Batches whose column i is `columns[i]`, Arrow types as [`SqlType`] documents.
    pub rows: RowStream,
}

/// Outcome of one statement.
pub enum Outcome {
    Ok {
        affected_rows: u64,
        last_insert_id: u64,
        /// MySQL's summary of LOAD DATA and similar statements; empty for others.
        info: String,
    },
    Rows(ResultSet),
}

/// A prepared statement's shape.
#[derive(Debug, Clone, PartialEq)]
pub struct Prepared {
    /// Unique within the session.
    pub id: u32,
    /// Number of `?`.
    pub parameters: usize,
    /// Empty when the statement yields no rows.
    pub columns: Vec<ColumnInfo>,
}
