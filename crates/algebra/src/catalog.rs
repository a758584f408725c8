//! Tables as the binder and the optimizer see them.

use crate::access::ColumnAccess;
use muster_types::{Collation, FloatDigits, KeyPart, Result, SqlType, Value};
use serde::{Deserialize, Serialize};
use std::sync::Arc;

/// A table's number: never reused within a data directory.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
pub struct TableId(pub u64);

impl TableId {
    /// Tables that are not stored are numbered from here on, where no stored table gets to.
    pub const FIRST_VIRTUAL: TableId = TableId(1 << 62);

    /// Temporary tables are numbered from here on, where no stored table gets to, up to the numbers of views.
    const FIRST_TEMPORARY: TableId = TableId(1 << 60);
    const LAST_TEMPORARY: TableId = TableId((1 << 61) - 1);

    /// The number of the `count`th temporary table since the start.
    pub fn temporary(count: u64) -> TableId {
        TableId(TableId::FIRST_TEMPORARY.0 + count)
    }

    /// Returns true if the table is a temporary one of a session.
    pub fn is_temporary(self) -> bool {
        (TableId::FIRST_TEMPORARY..=TableId::LAST_TEMPORARY).contains(&self)
    }

    /// Returns true if the table's rows are made when they are read. They have no key and come in one partition.
    pub fn is_virtual(self) -> bool {
        self >= TableId::FIRST_VIRTUAL
    }
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub enum DefaultValue {
    Value(Value),
    /// `DEFAULT CURRENT_TIMESTAMP`.
    CurrentTimestamp,
    /// `DEFAULT (expr)`: the expression as MySQL prints it.
    Expr(String),
    /// None, though the column may be NULL: its default was dropped.
    Dropped,
}

/// Which statements see a column.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
pub enum Visibility {
    #[default]
    Visible,
    /// `INVISIBLE`: where it is named (manual 13.1.20.10).
    Invisible,
    /// None: it holds the values of a part of a functional index.
    Hidden,
}

/// The expression that gives a column its values.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Generated {
    /// As MySQL prints it.
    pub expr: String,
    /// STORED; else VIRTUAL.
    pub stored: bool,
}

/// `CHECK (expr)` of a table.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct CheckConstraint {
    pub name: String,
    /// As MySQL prints it.
    pub expr: String,
    pub enforced: bool,
}

/// The action on rows that refer to one which goes or gets another key (manual 13.1.20.5).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
pub enum ReferentialAction {
    #[default]
    NoAction,
    Restrict,
    Cascade,
    SetNull,
    /// InnoDB keeps it, and does what it does for NO ACTION.
    SetDefault,
}

impl ReferentialAction {
    /// MySQL's words for it.
    pub fn name(self) -> &'static str {
        match self {
            ReferentialAction::NoAction => "NO ACTION",
            ReferentialAction::Restrict => "RESTRICT",
            ReferentialAction::Cascade => "CASCADE",
            ReferentialAction::SetNull => "SET NULL",
            ReferentialAction::SetDefault => "SET DEFAULT",
        }
    }

    /// Returns true if the rows that refer to the other one are changed with it.
    pub fn changes_rows(self) -> bool {
        matches!(self, ReferentialAction::Cascade | ReferentialAction::SetNull)
    }
}

/// `FOREIGN KEY` of a table, the child. Both tables' columns are known by their names, since the referenced table, the
/// parent, may be missing.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ForeignKey {
    pub name: String,
    pub columns: Vec<String>,
    /// The database of the parent.
    pub database: String,
    pub table: String,
    pub referenced: Vec<String>,
    pub on_delete: ReferentialAction,
    pub on_update: ReferentialAction,
}

impl ForeignKey {
    /// Returns true if a table of this database and name is the parent.
    pub fn refers_to(&self, database: &str, table: &str) -> bool {
        self.database == database && self.table == table
    }
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct ColumnDef {
    pub name: String,
    pub ty: SqlType,
    /// M and D of `FLOAT(M,D)` and `DOUBLE(M,D)`.
    #[serde(default)]
    pub digits: Option<FloatDigits>,
    /// The width that is shown: of `TINYINT(1)`, which clients take for a truth value.
    #[serde(default)]
    pub display_width: Option<u8>,
    pub nullable: bool,
    pub default: Option<DefaultValue>,
    pub auto_increment: bool,
    pub comment: String,
    #[serde(default)]
    pub visibility: Visibility,
    /// True if its definition names its character set or its collation, which then are always shown.
    #[serde(default)]
    pub explicit_collation: bool,
    #[serde(default)]
    pub generated: Option<Generated>,
}

impl ColumnDef {
    /// A column with nothing but a name and a type.
    pub fn plain(name: impl Into<String>, ty: SqlType, nullable: bool) -> ColumnDef {
        ColumnDef {
            name: name.into(),
            ty,
            digits: None,
            display_width: None,
            nullable,
            default: None,
            auto_increment: false,
            comment: String::new(),
            visibility: Visibility::Visible,
            explicit_collation: false,
            generated: None,
        }
    }

    /// Returns true if no statement can name the column.
    pub fn is_hidden(&self) -> bool {
        self.visibility == Visibility::Hidden
    }

    /// The type as it was declared.
    pub fn declared_type(&self) -> String {
        match (self.ty, self.digits, self.display_width) {
            (SqlType::Unsigned(number), Some(digits), _) => number.declared(&digits.to_string()),
            (ty, Some(digits), _) => format!("{ty}{digits}"),
            (ty, None, Some(width)) => format!("{ty}({width})"),
            (ty, None, None) => ty.to_string(),
        }
    }

    /// A value of the column as a client sees it; `None` for NULL.
    pub fn shown(&self, value: &Value) -> Option<String> {
        self.ty.shown_text(value, self.digits.map(|d| d.scale))
    }
}

/// An index. The clustered one (`indexes[0]`, name `PRIMARY`) has no parts when the table has no primary key: then
/// rows are in the order of a hidden row number.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct IndexDef {
    /// Unique within the table, never reused.
    pub id: u32,
    pub name: String,
    pub parts: Vec<KeyPart>,
    pub unique: bool,
    /// True if the optimizer leaves it out (`INVISIBLE`).
    #[serde(default)]
    pub invisible: bool,
}

impl IndexDef {
    /// The clustered index of a table without a primary key.
    pub fn hidden(id: u32) -> IndexDef {
        IndexDef { id, name: "PRIMARY".into(), parts: Vec::new(), unique: true, invisible: false }
    }

    /// Returns true if the first parts are these columns, as wholes.
    pub fn begins_with(&self, columns: &[usize]) -> bool {
        let is_it = |(part, column): (&KeyPart, &usize)| part.column == *column && part.prefix.is_none();
        self.parts.len() >= columns.len() && self.parts.iter().zip(columns).all(is_it)
    }
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct TableDef {
    pub id: TableId,
    pub database: String,
    pub name: String,
    pub columns: Vec<ColumnDef>,
    /// The clustered index first.
    pub indexes: Vec<IndexDef>,
    /// Default for new text columns.
    pub collation: Collation,
    pub comment: String,
    #[serde(default)]
    pub checks: Vec<CheckConstraint>,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub foreign_keys: Vec<ForeignKey>,
}

impl TableDef {
    /// Returns true if rows have values that are computed, or conditions to meet: CHECKs, generated columns and
    /// defaults that are expressions.
    pub fn has_row_expressions(&self) -> bool {
        let computes = |c: &ColumnDef| c.generated.is_some() || matches!(c.default, Some(DefaultValue::Expr(_)));
        self.checks.iter().any(|check| check.enforced) || self.columns.iter().any(computes)
    }

    /// Position of a column; names compare without case.
    pub fn column(&self, name: &str) -> Option<usize> {
        self.columns.iter().position(|c| c.name.eq_ignore_ascii_case(name))
    }

    /// Positions of columns; `None` if one is missing.
    pub fn positions(&self, names: &[String]) -> Option<Vec<usize>> {
        names.iter().map(|name| self.column(name)).collect()
    }

    /// The type of a column that can be read, by position: behind the declared ones, a table without a primary key has
    /// its hidden row number.
    pub fn readable_type(&self, column: usize) -> Option<SqlType> {
        match self.columns.get(column) {
            Some(declared) => Some(declared.ty),
            None if column == self.columns.len() && !self.has_primary_key() => Some(SqlType::BIGINT),
            None => None,
        }
    }

    /// Position of an index; names compare without case.
    pub fn index(&self, name: &str) -> Option<usize> {
        self.indexes.iter().position(|i| i.name.eq_ignore_ascii_case(name))
    }

    pub fn has_primary_key(&self) -> bool {
        !self.indexes[0].parts.is_empty()
    }

    /// The parts of an index's keys: its declared parts, then the parts of the primary key that they do not hold. A
    /// prefix that no value can exceed is none. (The hidden row number at the end is not named.)
    pub fn key_parts(&self, index: usize) -> Vec<KeyPart> {
        let effective = |part: &KeyPart| {
            let cuts = |n: &u32| match self.columns[part.column].ty {
                SqlType::Text { length, .. } | SqlType::Bytes { length, .. } => *n < length,
                _ => false,
            };
            KeyPart { prefix: part.prefix.filter(cuts), ..part.clone() }
        };
        let mut parts: Vec<KeyPart> = self.indexes[index].parts.iter().map(effective).collect();
        for part in self.indexes[0].parts.iter().map(effective) {
            let holds = |p: &KeyPart| p.column == part.column && (p.prefix.is_none() || p.prefix == part.prefix);
            if !parts.iter().any(holds) {
                parts.push(part);
            }
        }
        parts
    }

    /// Returns true if entries of this index hold the whole value of a column: as a part of its own without prefix, or
    /// as a part of the primary key, which every secondary entry ends with. The clustered index holds all.
    pub fn index_has_column(&self, index: usize, column: usize) -> bool {
        let holds = |i: &IndexDef| i.parts.iter().any(|p| p.column == column && p.prefix.is_none());
        index == 0 || holds(&self.indexes[index]) || holds(&self.indexes[0])
    }
}

/// `WITH .. CHECK OPTION` of a view: which conditions a row has to meet that is written through it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub enum CheckOption {
    /// The view's own.
    Local,
    /// The view's own and those of all views below it.
    Cascaded,
}

impl CheckOption {
    /// MySQL's word for it.
    pub fn name(self) -> &'static str {
        match self {
            CheckOption::Local => "LOCAL",
            CheckOption::Cascaded => "CASCADED",
        }
    }
}

/// How a view is made part of a statement (`ALGORITHM`). All are merged where that helps; through one with TEMPTABLE
/// rows cannot be changed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
pub enum ViewAlgorithm {
    #[default]
    Undefined,
    Merge,
    TempTable,
}

impl ViewAlgorithm {
    /// MySQL's word for it.
    pub fn name(self) -> &'static str {
        match self {
            ViewAlgorithm::Undefined => "UNDEFINED",
            ViewAlgorithm::Merge => "MERGE",
            ViewAlgorithm::TempTable => "TEMPTABLE",
        }
    }
}

/// A view: the text is bound anew in each statement that uses it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ViewDef {
    pub database: String,
    pub name: String,
    /// Column names given in CREATE VIEW; empty: those of the query.
    pub columns: Vec<String>,
    /// The SELECT. It has no `*`: the columns that one stood for when the view was created are written in its place.
    pub query: String,
    /// The database in which tables without one are looked up: the current database when the view was created. `None`
    /// when there was none.
    #[serde(default)]
    pub current_database: Option<String>,
    /// Whose rights count for what it reads (`SQL SECURITY DEFINER`); `None`: those of who uses it.
    #[serde(default)]
    pub definer: Option<Definer>,
    #[serde(default)]
    pub check_option: Option<CheckOption>,
    #[serde(default)]
    pub algorithm: ViewAlgorithm,
}

/// An account, as the definer of a view.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Definer {
    pub user: String,
    /// The host pattern of the account.
    pub host: String,
}

/// The databases, tables and views that the binder looks names up in. Names compare without case for databases' tables
/// only where MySQL does (it does not on Linux): table and database names are exact, `information_schema` is found in
/// any case. `definer`: the account whose rights count, inside a view that is read with its definer's.
pub trait Catalog: Send + Sync {
    /// Error 1049 when there is no such database.
    fn check_database(&self, database: &str) -> Result<()>;
    /// `None` when there is no such table (it may be a view).
    fn table(&self, database: &str, name: &str, definer: Option<&Definer>) -> Result<Option<Arc<TableDef>>>;
    fn view(&self, database: &str, name: &str, definer: Option<&Definer>) -> Result<Option<Arc<ViewDef>>>;
    /// As [`Catalog::table`], for a name within the definition of a view, which sees stored tables only.
    fn table_of_view(&self, database: &str, name: &str, definer: Option<&Definer>) -> Result<Option<Arc<TableDef>>> {
        self.table(database, name, definer)
    }
    /// Notes that a statement reads or changes a table under an alias. Error 1137: a temporary one is opened once.
    fn note_reference(&self, _table: TableId, _alias: &str) -> Result<()> {
        Ok(())
    }
    /// What the account may do with the columns of a table or a view; `None`: as much with each as with the whole.
    fn column_access(
        &self,
        _database: &str,
        _name: &str,
        _definer: Option<&Definer>,
    ) -> Result<Option<Arc<ColumnAccess>>> {
        Ok(None)
    }
    /// Error 1142 (`exclusive`: FOR UPDATE) or 3550 (FOR SHARE) for a table whose rows nobody locks.
    fn check_locking(&self, _database: &str, _table: &str, _exclusive: bool) -> Result<()> {
        Ok(())
    }
}
