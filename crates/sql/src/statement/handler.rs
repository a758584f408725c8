//! HANDLER: a table that is read row by row.

use super::{ScalarExpr, TableName};
use muster_algebra::CompareOp;

/// `HANDLER ..` (MySQL manual 15.2.5).
#[derive(Debug, Clone, PartialEq)]
pub enum Handler {
    /// `HANDLER table OPEN [AS alias]`.
    Open {
        table: TableName,
        alias: Option<String>,
    },
    Read(Box<HandlerRead>),
    /// `HANDLER name CLOSE`.
    Close {
        name: String,
    },
}

/// `HANDLER name READ [index] .. [WHERE ..] [LIMIT ..]`.
#[derive(Debug, Clone, PartialEq)]
pub struct HandlerRead {
    pub name: String,
    /// `None`: the rows as the table has them.
    pub index: Option<String>,
    pub from: HandlerPlace,
    pub condition: Option<ScalarExpr>,
    pub offset: u64,
    pub count: u64,
}

/// The place at which a handler begins to read.
#[derive(Debug, Clone, PartialEq)]
pub enum HandlerPlace {
    First,
    Next,
    Previous,
    Last,
    /// At the values of the first parts of the index.
    Key {
        op: CompareOp,
        values: Vec<ScalarExpr>,
    },
}
