//! SET, FLUSH, PREPARE.

use super::ScalarExpr;

#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum VariableScope {
    Session,
    Global,
}

/// Right side of a variable assignment.
#[derive(Debug, Clone, PartialEq)]
pub enum SetValue {
    /// `DEFAULT`.
    Default,
    /// A bare word: `ON`, `utf8mb4`, `STRICT_ALL_TABLES`.
    Word(String),
    Expr(ScalarExpr),
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Isolation {
    ReadUncommitted,
    ReadCommitted,
    RepeatableRead,
    Serializable,
}

#[derive(Debug, Clone, PartialEq)]
pub enum SetItem {
    /// `name` as written, in lower case (`sql_mode`, `muster.x`). `scope`: `None` when not written (session).
    Variable { scope: Option<VariableScope>, persist: bool, name: String, value: SetValue },
    /// `@@transaction_isolation = ..`, without a scope: for the next transaction.
    NextTransaction { name: String, value: SetValue },
    /// `@name`; names compare without case.
    User { name: String, value: ScalarExpr },
    /// `SET NAMES charset [COLLATE collation]`; `None`: DEFAULT.
    Names { charset: Option<String>, collation: Option<String> },
    /// `SET CHARACTER SET charset`; `None`: DEFAULT.
    CharacterSet(Option<String>),
    /// `SET [scope] TRANSACTION ..`.
    Transaction { scope: Option<VariableScope>, isolation: Option<Isolation>, read_only: Option<bool> },
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub enum FlushOption {
    Status,
    Privileges,
    /// `FLUSH TABLES [t, ..]`; without names all tables.
    Tables(Vec<super::TableName>),
    /// `FLUSH TABLES [t, ..] WITH READ LOCK`; without names all tables.
    TablesWithReadLock(Vec<super::TableName>),
    /// `FLUSH OPTIMIZER_COSTS`.
    OptimizerCosts,
    /// `FLUSH LOGS` and others that have nothing to do here: the word.
    Other(String),
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub enum PrepareSource {
    Text(String),
    /// A user variable's name.
    Variable(String),
}
