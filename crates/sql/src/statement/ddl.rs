//! Definitions of databases, tables, indexes, views, and LOAD DATA.

use super::{AlterMethod, Assignment, DeprecatedPart, Query, ScalarExpr, TableName, Written};
use muster_algebra::{CheckOption, ReferentialAction, ViewAlgorithm};
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
    /// `DEFAULT (expr)`.
    Expr(ScalarExpr),
    /// `fsp`: digits of the fraction of a second.
    CurrentTimestamp { fsp: u64 },
}

/// `[GENERATED ALWAYS] AS (expr) [VIRTUAL | STORED]`.
#[derive(Debug, Clone, PartialEq)]
pub struct GeneratedSpec {
    pub expr: ScalarExpr,
    pub stored: bool,
}

/// `[CONSTRAINT name] CHECK (expr) [[NOT] ENFORCED]`.
#[derive(Debug, Clone, PartialEq)]
pub struct CheckSpec {
    pub name: Option<String>,
    pub expr: ScalarExpr,
    pub enforced: bool,
    /// The column in whose definition the constraint stands.
    pub column: Option<String>,
}

/// `[CONSTRAINT [name]] FOREIGN KEY [index] (columns) REFERENCES table (columns) ..`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ForeignKeySpec {
    pub name: Option<String>,
    /// The name of the index that is made if none begins with the columns.
    pub index_name: Option<String>,
    pub columns: Vec<String>,
    pub table: TableName,
    pub referenced: Vec<String>,
    pub on_delete: ReferentialAction,
    pub on_update: ReferentialAction,
}

impl ForeignKeySpec {
    /// The index that is made for it if no other one begins with its columns.
    pub fn index(&self) -> IndexSpec {
        let part = |name: &String| IndexColumn { name: name.clone(), expr: None, prefix: None, descending: false };
        IndexSpec {
            kind: IndexKind::Plain,
            name: self.name.clone().or_else(|| self.index_name.clone()),
            columns: self.columns.iter().map(part).collect(),
            comment: String::new(),
            invisible: false,
            is_typed: false,
            is_generated: true,
        }
    }
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
    /// True if `charset` and `collation` are those of a column that another one is made of, without having named them.
    pub copies_collation: bool,
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
    pub invisible: bool,
    pub generated: Option<GeneratedSpec>,
    /// Taken by the table, whose constraints they are.
    pub checks: Vec<CheckSpec>,
    /// Parts of the column's definition that are warned of, in the order of the warnings.
    pub deprecated: Vec<DeprecatedPart>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum IndexKind {
    Primary,
    Unique,
    Plain,
}

/// One part of an index.
#[derive(Debug, Clone, PartialEq)]
pub struct IndexColumn {
    /// Empty for a part that is an expression.
    pub name: String,
    pub expr: Option<ScalarExpr>,
    pub prefix: Option<u32>,
    pub descending: bool,
}

#[derive(Debug, Clone, PartialEq)]
pub struct IndexSpec {
    pub kind: IndexKind,
    /// The index's name. An index without one gets that of its first column (with `_2`, `_3` .. if taken).
    pub name: Option<String>,
    pub columns: Vec<IndexColumn>,
    pub comment: String,
    pub invisible: bool,
    /// True if the definition has USING.
    pub is_typed: bool,
    /// True for the index of a foreign key, which goes for one that begins with its columns.
    pub is_generated: bool,
}

#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct TableOptions {
    pub engine: Option<String>,
    /// `DATA DIRECTORY` and `INDEX DIRECTORY`, as far as they are written.
    pub directories: Vec<&'static str>,
    pub charset: Option<String>,
    pub collation: Option<String>,
    pub comment: Option<String>,
    pub auto_increment: Option<u64>,
    /// Options of other engines and of how pages are laid out (`ROW_FORMAT`), which are kept to be shown: the word, and
    /// the value in upper case.
    pub kept: Vec<(&'static str, String)>,
}

#[derive(Debug, Clone, PartialEq)]
pub struct CreateTable {
    pub name: TableName,
    pub temporary: bool,
    pub if_not_exists: bool,
    pub columns: Vec<ColumnSpec>,
    pub indexes: Vec<IndexSpec>,
    pub checks: Vec<CheckSpec>,
    /// Each has its index among `indexes`, too.
    pub foreign_keys: Vec<ForeignKeySpec>,
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

#[derive(Debug, Clone, PartialEq)]
pub struct CreateIndex {
    pub table: TableName,
    pub index: IndexSpec,
    pub method: AlterMethod,
}

/// `DROP INDEX name ON table`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct DropIndex {
    pub table: TableName,
    pub name: String,
    pub method: AlterMethod,
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
    /// ALTER VIEW: there must be a view of the name.
    pub is_alter: bool,
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

/// The clauses FIELDS and LINES of LOAD DATA and of INTO OUTFILE (MySQL manual 15.2.9). The defaults are MySQL's:
/// fields end with a tab, lines with a newline, `\` escapes.
#[derive(Debug, Clone, PartialEq)]
pub struct FileFormat {
    pub fields_terminated_by: String,
    pub fields_enclosed_by: Option<char>,
    /// Only texts are enclosed.
    pub optionally_enclosed: bool,
    /// `None`: `ESCAPED BY ''`.
    pub fields_escaped_by: Option<char>,
    pub lines_starting_by: String,
    pub lines_terminated_by: String,
}

impl Default for FileFormat {
    fn default() -> FileFormat {
        FileFormat {
            fields_terminated_by: "\t".into(),
            fields_enclosed_by: None,
            optionally_enclosed: false,
            fields_escaped_by: Some('\\'),
            lines_starting_by: String::new(),
            lines_terminated_by: "\n".into(),
        }
    }
}

/// `LOAD DATA [LOCAL] INFILE`.
#[derive(Debug, Clone, PartialEq)]
pub struct LoadData {
    pub local: bool,
    pub path: String,
    pub on_duplicate: OnDuplicate,
    pub table: TableName,
    pub charset: Option<String>,
    pub format: FileFormat,
    pub ignore_lines: u64,
    /// Empty: all columns of the table in order.
    pub columns: Vec<LoadColumn>,
    /// `SET column = value, ..`, from left to right behind the fields of each row.
    pub assignments: Vec<Assignment>,
    pub(crate) written: Written,
}

impl LoadData {
    /// The names of the user variables among the destinations of fields, in their order.
    pub fn variables(&self) -> impl Iterator<Item = &str> {
        self.columns.iter().filter_map(|column| match column {
            LoadColumn::Variable(name) => Some(name.as_str()),
            LoadColumn::Column(_) => None,
        })
    }
}

/// The destination of a field of the file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum LoadColumn {
    Column(String),
    /// `@name`.
    Variable(String),
}

impl ColumnSpec {
    /// A column of a type, with nothing else said of it.
    pub fn plain(name: impl Into<String>, ty: SqlType) -> ColumnSpec {
        ColumnSpec {
            name: name.into(),
            ty,
            digits: None,
            size: None,
            display_width: None,
            is_real: false,
            charset: None,
            collation: None,
            copies_collation: false,
            is_binary: false,
            nullable: None,
            default: None,
            auto_increment: false,
            primary_key: false,
            unique: false,
            comment: String::new(),
            on_update_now: None,
            invisible: false,
            generated: None,
            checks: Vec::new(),
            deprecated: Vec::new(),
        }
    }
}

/// A program that is stored to be run by the server.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ProgramKind {
    Procedure,
    Function,
    Trigger,
    Event,
}
