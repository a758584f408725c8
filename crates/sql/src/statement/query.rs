//! Queries and expressions as parsed, with the text they were written in.

use super::{FileFormat, TableName};
use sqlparser::ast;

/// A SELECT (or VALUES, TABLE, UNION, WITH ..) and its text, which names its result columns.
#[derive(Debug, Clone, PartialEq)]
pub struct Query {
    pub(crate) ast: Box<ast::Query>,
    /// The query as written, or as the default `sql_mode` would have it written.
    pub text: String,
    /// The texts of select items in order, for each SELECT keyword by its place (line, column).
    pub(crate) items: Vec<((u64, u64), Vec<String>)>,
    /// Number of `?` in the whole statement.
    pub(crate) parameters: usize,
    /// True if the statement assigns to user variables within expressions.
    pub(crate) assigns: bool,
}

impl Query {
    /// Number of `?` placeholders.
    pub fn parameters(&self) -> usize {
        self.parameters
    }

    /// The tables of the outermost FROM clause, as written, and their names in the query.
    pub fn tables(&self) -> Vec<(TableName, String)> {
        tables_of(&self.ast)
    }

    /// The locking clauses of the whole query: what it locks of the rows that it reads.
    pub fn locking(&self) -> Vec<Locking> {
        locking_of(&self.ast)
    }

    /// Returns true if the whole result has a LIMIT of its own.
    pub fn has_limit(&self) -> bool {
        has_limit(&self.ast)
    }
}

fn has_limit(query: &ast::Query) -> bool {
    let is_whole = query.order_by.is_none();
    let inner = match &*query.body {
        ast::SetExpr::Query(inner) if is_whole => has_limit(inner),
        _ => false,
    };
    inner || query.limit_clause.is_some()
}

/// The tables of the outermost FROM clause of a query, as written, and their names in the query.
pub(crate) fn tables_of(query: &ast::Query) -> Vec<(TableName, String)> {
    let ast::SetExpr::Select(select) = &*query.body else { return Vec::new() };
    let mut all = Vec::new();
    select.from.iter().for_each(|tables| collect_factors(tables, &mut all));
    let named = all.into_iter().filter_map(|factor| match factor {
        ast::TableFactor::Table { name, alias, args: None, .. } => Some((name, alias)),
        _ => None,
    });
    let parts = |name: &ast::ObjectName| -> Vec<String> {
        name.0.iter().filter_map(|part| part.as_ident()).map(|part| part.value.clone()).collect()
    };
    named
        .filter_map(|(name, alias)| {
            let mut parts = parts(name);
            let name = parts.pop()?;
            let shown = alias.as_ref().map_or_else(|| name.clone(), |alias| alias.name.value.clone());
            Some((TableName { database: parts.pop(), name }, shown))
        })
        .collect()
}

/// Collects what is joined, also within brackets.
fn collect_factors<'q>(tables: &'q ast::TableWithJoins, all: &mut Vec<&'q ast::TableFactor>) {
    for factor in std::iter::once(&tables.relation).chain(tables.joins.iter().map(|join| &join.relation)) {
        match factor {
            ast::TableFactor::NestedJoin { table_with_joins, .. } => collect_factors(table_with_joins, all),
            factor => all.push(factor),
        }
    }
}

/// The locking clauses of a query itself, without those of its subqueries.
pub(crate) fn locking_of(query: &ast::Query) -> Vec<Locking> {
    let clause = |clause: &ast::LockClause| Locking {
        exclusive: matches!(clause.lock_type, ast::LockType::Update),
        table: clause
            .of
            .as_ref()
            .and_then(|of| of.0.last())
            .and_then(|part| part.as_ident())
            .map(|of| of.value.clone()),
        blocked: match clause.nonblock {
            None => Blocked::Waits,
            Some(ast::NonBlock::Nowait) => Blocked::Fails,
            Some(ast::NonBlock::SkipLocked) => Blocked::Skips,
        },
        inner: false,
    };
    query.locks.iter().map(clause).collect()
}

impl Locking {
    /// Returns true if the clause locks the rows of the table that the query knows under this name.
    pub fn names(&self, shown: &str) -> bool {
        self.table.as_ref().is_none_or(|named| named.eq_ignore_ascii_case(shown))
    }
}

/// A locking clause: `FOR UPDATE | SHARE [OF table] [NOWAIT | SKIP LOCKED]`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Locking {
    /// FOR UPDATE.
    pub exclusive: bool,
    /// The table or alias whose rows are locked; `None`: all tables of the query.
    pub table: Option<String>,
    pub blocked: Blocked,
    /// True for the clause of a subquery, a derived table or a view.
    pub inner: bool,
}

/// The way in which a locking read treats rows that others have locked.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Blocked {
    Waits,
    /// NOWAIT.
    Fails,
    /// SKIP LOCKED.
    Skips,
}

/// The texts of select items in order, for each SELECT keyword by its place (line, column).
pub(crate) type ItemTexts = [((u64, u64), Vec<String>)];

/// The written text of item `i` of the SELECT whose keyword stands at `(line, column)`.
pub(crate) fn item_text(texts: &ItemTexts, select: (u64, u64), i: usize) -> Option<&str> {
    let (_, items) = texts.iter().find(|(at, _)| *at == select)?;
    items.get(i).map(String::as_str)
}

/// One expression outside a query: the right side of SET, an argument of DO, a KILL number.
#[derive(Debug, Clone, PartialEq)]
pub struct ScalarExpr {
    pub(crate) ast: Box<ast::Expr>,
    /// As written.
    pub text: String,
    pub(crate) parameters: usize,
    /// True if the statement assigns to user variables within expressions.
    pub(crate) assigns: bool,
}

impl ScalarExpr {
    /// Number of `?` placeholders.
    pub fn parameters(&self) -> usize {
        self.parameters
    }
}

/// A file of the server that a result is written to.
#[derive(Debug, Clone, PartialEq)]
pub struct OutFile {
    pub path: String,
    pub charset: Option<String>,
    /// `None`: DUMPFILE, the bytes of one row.
    pub format: Option<FileFormat>,
}
