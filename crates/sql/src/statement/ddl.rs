//! Definitions of databases, tables, indexes, views, and LOAD DATA.

use super::{Query, TableName};
use muster_algebra::{CheckOption, ViewAlgorithm};
use muster_types::{FloatDigits, SqlType, Value};

/// `CREATE DATABASE` and `ALTER DATABASE`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CreateDatabase {
    /// `None` only in ALTER DATABASE: the current one.
    pub name: Option<String>,
    pub if_not_exists: bool,
    pub charset: Option<String>,
    pub collation: Option<String>,
}

/// A DEFAULT clause of a column.
#[derive(Debug, Clone, PartialEq)]
pub enum DefaultClause {
    /// The value as written, not yet of the column's type.
    Value(Value),
    /// `fsp`: digits of the fraction of a second.
    CurrentTimestamp { fsp: u64 },
}

/// A column of CREATE TABLE.
#[derive(Debug, Clone, PartialEq)]
pub struct ColumnSpec {
    pub name: String,
    /// The type as written. A text type has Muster's default collation here; who creates the column replaces it by what
    /// `charset`, `collation` and the table say.
    pub ty: SqlType,
    /// M and D of `FLOAT(M,D)` and `DOUBLE(M,D)`.
    pub digits: Option<FloatDigits>,
    /// The size of `TEXT(n)`, in characters, and of `BLOB(n)`, in bytes: the column has the smallest of the types that
    /// hold so many.
    pub size: Option<u64>,
    /// The display width of `TINYINT(1)`; MySQL shows no other.
    pub display_width: Option<u8>,
    /// The type is written as `REAL`, which `sql_mode` can make FLOAT.
    pub is_real: bool,
    pub charset: Option<String>,
    pub collation: Option<String>,
    /// `BINARY` behind a text type: the `_bin` collation of its character set.
    pub is_binary: bool,
    /// `None`: neither NULL nor NOT NULL was written (nullable, unless in the primary key).
    pub nullable: Option<bool>,
    pub default: Option<DefaultClause>,
    pub auto_increment: bool,
    pub primary_key: bool,
    pub unique: bool,
    pub comment: String,
    /// The digits of the fraction of a second in `ON UPDATE CURRENT_TIMESTAMP(..)`.
    pub on_update_now: Option<u64>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum IndexKind {
    Primary,
    Unique,
    Plain,
}

/// One part of an index.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct IndexColumn {
    pub name: String,
    pub prefix: Option<u32>,
    pub descending: bool,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct IndexSpec {
    pub kind: IndexKind,
    /// The index's name. An index without one gets that of its first column (with `_2`, `_3` .. if taken).
    pub name: Option<String>,
    pub columns: Vec<IndexColumn>,
    pub comment: String,
}

#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct TableOptions {
    pub engine: Option<String>,
    /// `DATA DIRECTORY` and `INDEX DIRECTORY`, as far as they are written.
    pub directories: Vec<&'static str>,
    pub charset: Option<String>,
    pub collation: Option<String>,
    pub comment: String,
    pub auto_increment: Option<u64>,
}

#[derive(Debug, Clone, PartialEq)]
pub struct CreateTable {
    pub name: TableName,
    pub if_not_exists: bool,
    pub columns: Vec<ColumnSpec>,
    pub indexes: Vec<IndexSpec>,
    pub options: TableOptions,
    /// `CREATE TABLE a LIKE b`; then there are no columns.
    pub like: Option<TableName>,
}

/// `CREATE TABLE .. SELECT`: a table of the columns of a query, with its rows.
#[derive(Debug, Clone, PartialEq)]
pub struct CreateTableSelect {
    /// The table with the columns that are defined, maybe none.
    pub table: CreateTable,
    pub query: Query,
    pub ignore: bool,
    pub replace: bool,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CreateIndex {
    pub table: TableName,
    pub index: IndexSpec,
}

#[derive(Debug, Clone, PartialEq)]
pub enum AlterAction {
    AddIndex(IndexSpec),
    DropIndex(String),
    DropPrimaryKey,
    Rename(TableName),
    RenameIndex {
        from: String,
        to: String,
    },
    Options(TableOptions),
    /// `DISABLE KEYS`, `ENABLE KEYS`.
    Keys,
}

#[derive(Debug, Clone, PartialEq)]
pub struct AlterTable {
    pub table: TableName,
    pub actions: Vec<AlterAction>,
}

/// Whose rights count for what a view reads.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub enum ViewSecurity {
    /// `SQL SECURITY DEFINER`: those of who makes it.
    #[default]
    Creator,
    /// `SQL SECURITY DEFINER` with `DEFINER = ..`.
    Definer(super::UserName),
    /// `SQL SECURITY INVOKER`: those of who uses it.
    Invoker,
}

#[derive(Debug, Clone, PartialEq)]
pub struct CreateView {
    pub name: TableName,
    pub or_replace: bool,
    pub columns: Vec<String>,
    pub security: ViewSecurity,
    pub algorithm: ViewAlgorithm,
    pub check_option: Option<CheckOption>,
    /// The SELECT as written.
    pub query_text: String,
    pub query: Box<super::Query>,
}

/// The action of LOAD DATA for a row whose key is taken.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum OnDuplicate {
    Error,
    Replace,
    Ignore,
}

/// `LOAD DATA [LOCAL] INFILE`. Defaults are MySQL's: fields end with a tab, lines with a newline, escape `\`.
#[derive(Debug, Clone, PartialEq)]
pub struct LoadData {
    pub local: bool,
    pub path: String,
    pub on_duplicate: OnDuplicate,
    pub table: TableName,
    pub charset: Option<String>,
    pub fields_terminated_by: String,
    pub fields_enclosed_by: Option<char>,
    pub optionally_enclosed: bool,
    /// `None`: `ESCAPED BY ''`.
    pub fields_escaped_by: Option<char>,
    pub lines_starting_by: String,
    pub lines_terminated_by: String,
    pub ignore_lines: u64,
    /// Empty: all columns of the table in order.
    pub columns: Vec<LoadColumn>,
}

/// The destination of a field of the file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum LoadColumn {
    Column(String),
    /// `@name`: read and dropped, for SET is not supported.
    Variable(String),
}
