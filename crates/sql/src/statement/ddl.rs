//! Definitions of databases, tables, indexes, views, and LOAD DATA.

use super::TableName;
use muster_types::{BytesKind, Collation, FloatDigits, Result, SqlError, SqlType, TextKind, Value};

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
    /// As written; not yet of the column's type.
    Value(Value),
    CurrentTimestamp,
}

/// A column of CREATE TABLE.
#[derive(Debug, Clone, PartialEq)]
pub struct ColumnSpec {
    pub name: String,
    /// For text the collation in it counts only when neither `charset` nor `collation` was given and there is no
    /// other default: see [`ColumnSpec::resolve_type`].
    pub ty: SqlType,
    /// M and D of `FLOAT(M,D)` and `DOUBLE(M,D)`.
    pub digits: Option<FloatDigits>,
    pub charset: Option<String>,
    pub collation: Option<String>,
    /// `None`: neither NULL nor NOT NULL was written (nullable, unless in the primary key).
    pub nullable: Option<bool>,
    pub default: Option<DefaultClause>,
    pub auto_increment: bool,
    pub primary_key: bool,
    pub unique: bool,
    pub comment: String,
    /// `ON UPDATE CURRENT_TIMESTAMP`.
    pub on_update_now: bool,
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
    /// Without one, the name of the first column (with `_2`, `_3` .. if taken).
    pub name: Option<String>,
    pub columns: Vec<IndexColumn>,
    pub comment: String,
}

#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct TableOptions {
    pub engine: Option<String>,
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
    RenameIndex { from: String, to: String },
    Options(TableOptions),
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
    /// The same with `DEFINER = ..`.
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

impl ColumnSpec {
    /// The column's type with its collation settled: its own, that of its character set, or the table's default. Text
    /// in character set `binary` is a byte string. Errors: 1115 and 1273 for unknown names, 1253 if they do not match.
    pub fn resolve_type(&self, default: Collation) -> Result<SqlType> {
        let SqlType::Text { kind, length, .. } = self.ty else { return Ok(self.ty) };
        let collation = resolve_collation(self.charset.as_deref(), self.collation.as_deref())?.unwrap_or(default);
        if collation != Collation::Binary {
            return Ok(SqlType::Text { kind, length, collation });
        }
        let kind = match kind {
            TextKind::Char => BytesKind::Binary,
            TextKind::VarChar => BytesKind::VarBinary,
            TextKind::TinyText => BytesKind::TinyBlob,
            TextKind::Text => BytesKind::Blob,
            TextKind::MediumText => BytesKind::MediumBlob,
            TextKind::LongText => BytesKind::LongBlob,
        };
        Ok(SqlType::Bytes { kind, length })
    }
}

/// The collation that `CHARACTER SET charset COLLATE collation` means; `None` when neither was given. Errors: 1115 and
/// 1273 for unknown names, 1253 when the collation is not one of the character set.
pub fn resolve_collation(charset: Option<&str>, collation: Option<&str>) -> Result<Option<Collation>> {
    let of_charset = match charset {
        Some(name) => Some(Collation::default_of_charset(name).ok_or_else(|| SqlError::unknown_character_set(name))?),
        None => None,
    };
    let Some(name) = collation else { return Ok(of_charset) };
    let found = Collation::from_name(name).ok_or_else(|| SqlError::unknown_collation(name))?;
    match of_charset {
        Some(c) if c.charset() != found.charset() => {
            Err(SqlError::collation_of_other_charset(name, charset.unwrap_or(c.charset())))
        }
        _ => Ok(Some(found)),
    }
}
