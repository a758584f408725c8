//! The rights of an account on the columns of a table or a view.

use muster_types::{ErrorCode, SqlError};

/// The use that a statement makes of a column.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ColumnUse {
    Select,
    Insert,
    Update,
}

impl ColumnUse {
    /// The privilege that it needs.
    pub fn name(self) -> &'static str {
        match self {
            ColumnUse::Select => "SELECT",
            ColumnUse::Insert => "INSERT",
            ColumnUse::Update => "UPDATE",
        }
    }
}

/// The columns that a privilege is given for.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum GrantedColumns {
    All,
    /// Names in lower case.
    Listed(Vec<String>),
}

impl GrantedColumns {
    fn has(&self, column: &str) -> bool {
        match self {
            GrantedColumns::All => true,
            GrantedColumns::Listed(names) => names.iter().any(|name| *name == column.to_lowercase()),
        }
    }
}

/// The columns of one table or view that an account may read, insert and update.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ColumnAccess {
    /// `'user'@'host'`, as messages show the account.
    pub account: String,
    pub table: String,
    pub select: GrantedColumns,
    pub insert: GrantedColumns,
    pub update: GrantedColumns,
}

impl ColumnAccess {
    fn granted(&self, column_use: ColumnUse) -> &GrantedColumns {
        match column_use {
            ColumnUse::Select => &self.select,
            ColumnUse::Insert => &self.insert,
            ColumnUse::Update => &self.update,
        }
    }

    pub fn allows(&self, column_use: ColumnUse, column: &str) -> bool {
        self.granted(column_use).has(column)
    }

    /// Returns true if the privilege is given for the table as a whole.
    pub fn allows_all(&self, column_use: ColumnUse) -> bool {
        *self.granted(column_use) == GrantedColumns::All
    }

    /// Error 1143.
    pub fn denied(&self, column_use: ColumnUse, column: &str) -> SqlError {
        let ColumnAccess { account, table, .. } = self;
        let message =
            format!("{} command denied to user {account} for column '{column}' in table '{table}'", column_use.name());
        SqlError::new(ErrorCode::ColumnAccessDenied, message)
    }

    /// Error 1142, of a statement that names no columns and means them all.
    pub fn denied_table(&self, column_use: ColumnUse) -> SqlError {
        let ColumnAccess { account, table, .. } = self;
        let message = format!("{} command denied to user {account} for table '{table}'", column_use.name());
        SqlError::new(ErrorCode::TableAccessDenied, message)
    }
}
