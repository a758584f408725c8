//! ALTER TABLE.

use super::{CheckSpec, ColumnSpec, DefaultClause, ForeignKeySpec, IndexSpec, TableName, TableOptions};

/// The place of a column that is added or changed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ColumnPlace {
    First,
    After(String),
}

/// `CONVERT TO CHARACTER SET name [COLLATE name]`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CharsetConversion {
    /// `None`: the database's.
    pub charset: Option<String>,
    pub collation: Option<String>,
}

#[derive(Debug, Clone, PartialEq)]
pub enum AlterAction {
    AddColumn {
        column: ColumnSpec,
        place: Option<ColumnPlace>,
    },
    DropColumn(String),
    /// `CHANGE from column`; `MODIFY column`, where both names are one.
    ChangeColumn {
        from: String,
        column: ColumnSpec,
        place: Option<ColumnPlace>,
    },
    RenameColumn {
        from: String,
        to: String,
    },
    SetDefault {
        column: String,
        default: DefaultClause,
    },
    DropDefault(String),
    SetColumnVisible {
        column: String,
        visible: bool,
    },
    AddIndex(IndexSpec),
    DropIndex(String),
    DropPrimaryKey,
    RenameIndex {
        from: String,
        to: String,
    },
    SetIndexVisible {
        index: String,
        visible: bool,
    },
    AddCheck(CheckSpec),
    /// Its index is an action of its own.
    AddForeignKey(ForeignKeySpec),
    DropForeignKey(String),
    DropCheck(String),
    /// `DROP CONSTRAINT`: a check, a foreign key, a unique key or the primary key of the name.
    DropConstraint(String),
    SetCheckEnforced {
        check: String,
        enforced: bool,
    },
    Rename(TableName),
    Options(TableOptions),
    ConvertTo(CharsetConversion),
    /// Names of columns, each with whether the order is descending.
    OrderBy(Vec<(String, bool)>),
    /// `DISABLE KEYS`, `ENABLE KEYS`.
    Keys,
    Force,
}

/// `ALGORITHM = ..`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum AlterAlgorithm {
    #[default]
    Default,
    Instant,
    Inplace,
    Copy,
}

/// `LOCK = ..`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum AlterLock {
    #[default]
    Default,
    None,
    Shared,
    Exclusive,
}

/// How a definition is to be changed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct AlterMethod {
    pub algorithm: AlterAlgorithm,
    pub lock: AlterLock,
}

#[derive(Debug, Clone, PartialEq)]
pub struct AlterTable {
    pub table: TableName,
    pub actions: Vec<AlterAction>,
    pub method: AlterMethod,
}
