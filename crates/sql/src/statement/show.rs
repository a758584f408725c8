//! SHOW.

use super::{ScalarExpr, TableName, UserName, VariableScope};

/// `LIKE 'pattern'` or `WHERE expr` over the columns that SHOW yields.
#[derive(Debug, Clone, PartialEq)]
pub enum ShowFilter {
    Like(String),
    Where(ScalarExpr),
}

#[derive(Debug, Clone, PartialEq)]
pub enum Show {
    Databases {
        filter: Option<ShowFilter>,
    },
    Tables {
        full: bool,
        database: Option<String>,
        filter: Option<ShowFilter>,
    },
    TableStatus {
        database: Option<String>,
        filter: Option<ShowFilter>,
    },
    Columns {
        full: bool,
        table: TableName,
        filter: Option<ShowFilter>,
    },
    Index {
        table: TableName,
        filter: Option<ShowFilter>,
    },
    /// `scope`: `None` when not written (session).
    Variables {
        scope: Option<VariableScope>,
        filter: Option<ShowFilter>,
    },
    Status {
        scope: Option<VariableScope>,
        filter: Option<ShowFilter>,
    },
    Warnings {
        count: bool,
        offset: u64,
        limit: Option<u64>,
    },
    Errors {
        count: bool,
        offset: u64,
        limit: Option<u64>,
    },
    Processlist {
        full: bool,
    },
    CreateTable(TableName),
    CreateDatabase {
        name: String,
        if_not_exists: bool,
    },
    CreateView(TableName),
    CreateUser(UserName),
    Engines,
    /// `SHOW ENGINE INNODB STATUS`.
    EngineStatus,
    Collation {
        filter: Option<ShowFilter>,
    },
    CharacterSet {
        filter: Option<ShowFilter>,
    },
    /// `user` is `None`: the session's user. `using`: roles that the account is shown with.
    Grants {
        user: Option<UserName>,
        using: Vec<UserName>,
    },
    Plugins,
    Privileges,
    /// Things that never exist here (`TRIGGERS`, `EVENTS`, `PROCEDURE STATUS`, `FUNCTION STATUS`, `OPEN TABLES`,
    /// `PROFILES`, `REPLICAS`): the words in upper case; an empty result.
    Empty {
        what: String,
    },
}
