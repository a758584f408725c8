//! SHOW.

use super::{account, cursor::Cursor, roles};
use crate::{Show, ShowFilter, Statement, TableName, VariableScope};
use muster_types::{Result, SqlError};
use sqlparser::tokenizer::Token;

pub(super) fn show(c: &mut Cursor) -> Result<Statement> {
    c.expect("SHOW")?;
    let full = c.accept("FULL");
    c.accept("EXTENDED");
    let scope = match c.accept_any(&["GLOBAL", "SESSION", "LOCAL"]) {
        None => None,
        Some("GLOBAL") => Some(VariableScope::Global),
        Some(_) => Some(VariableScope::Session),
    };
    let what = c.word(0);
    let second = c.word(1);
    if scope.is_some() && !matches!(what.as_str(), "VARIABLES" | "STATUS")
        || full && !matches!(what.as_str(), "TABLES" | "COLUMNS" | "FIELDS" | "PROCESSLIST")
    {
        return Err(c.error());
    }
    if what == "COUNT" {
        return count(c);
    }
    c.advance();
    let show = match what.as_str() {
        "DATABASES" | "SCHEMAS" => Show::Databases { filter: filter(c)? },
        "TABLES" => Show::Tables { full, database: in_database(c)?, filter: filter(c)? },
        "TABLE" if c.accept("STATUS") => Show::TableStatus { database: in_database(c)?, filter: filter(c)? },
        "OPEN" if c.accept("TABLES") => {
            in_database(c)?;
            filter(c)?;
            Show::Empty { what: "OPEN TABLES".into() }
        }
        "COLUMNS" | "FIELDS" => Show::Columns { full, table: in_table(c)?, filter: filter(c)? },
        "INDEX" | "INDEXES" | "KEYS" => {
            let table = in_table(c)?;
            Show::Index { table, filter: filter(c)? }
        }
        "VARIABLES" => Show::Variables { scope, filter: filter(c)? },
        "STATUS" => Show::Status { scope, filter: filter(c)? },
        "WARNINGS" | "ERRORS" => {
            let (offset, limit) = limit(c)?;
            match what.as_str() {
                "WARNINGS" => Show::Warnings { count: false, offset, limit },
                _ => Show::Errors { count: false, offset, limit },
            }
        }
        "PROCESSLIST" => Show::Processlist { full },
        "CREATE" => create(c)?,
        "ENGINES" => Show::Engines,
        "ENGINE" if c.accept("INNODB STATUS") => Show::EngineStatus,
        "STORAGE" if c.accept("ENGINES") => Show::Engines,
        "COLLATION" => Show::Collation { filter: filter(c)? },
        "CHARSET" => Show::CharacterSet { filter: filter(c)? },
        "CHARACTER" if c.accept("SET") => Show::CharacterSet { filter: filter(c)? },
        "GRANTS" => grants(c)?,
        "PLUGINS" => Show::Plugins,
        "PRIVILEGES" => Show::Privileges,
        "TRIGGERS" | "EVENTS" => {
            in_database(c)?;
            filter(c)?;
            Show::Empty { what }
        }
        "PROCEDURE" | "FUNCTION" if c.accept("STATUS") => {
            filter(c)?;
            Show::Empty { what: format!("{what} STATUS") }
        }
        "PROFILES" | "REPLICAS" => Show::Empty { what },
        "MASTER" if c.accept("STATUS") => Show::Empty { what: "MASTER STATUS".into() },
        "ENGINE" | "MASTER" | "BINARY" | "BINLOG" | "REPLICA" | "SLAVE" | "RELAYLOG" | "PROFILE" | "PROCEDURE"
        | "FUNCTION" => return Err(SqlError::unsupported(format!("SHOW {what} {second}").trim_end())),
        _ => return Err(c.source.error_at(c.last_end().saturating_sub(what.len()))),
    };
    Ok(Statement::Show(show))
}

/// The words behind `SHOW GRANTS`.
fn grants(c: &mut Cursor) -> Result<Show> {
    let user = if c.accept("FOR") { Some(account::user_name(c)?) } else { None };
    let using = if user.is_some() && c.accept("USING") { roles::role_list(c)? } else { Vec::new() };
    Ok(Show::Grants { user: user.filter(|u| !u.current), using })
}

/// `SHOW COUNT(*) WARNINGS`.
fn count(c: &mut Cursor) -> Result<Statement> {
    c.advance();
    for token in [Token::LParen, Token::Mul, Token::RParen] {
        c.expect_token(&token)?;
    }
    match c.accept_any(&["WARNINGS", "ERRORS"]) {
        Some("WARNINGS") => Ok(Statement::Show(Show::Warnings { count: true, offset: 0, limit: None })),
        Some(_) => Ok(Statement::Show(Show::Errors { count: true, offset: 0, limit: None })),
        None => Err(c.error()),
    }
}

fn create(c: &mut Cursor) -> Result<Show> {
    let what = c.word(0);
    c.advance();
    Ok(match what.as_str() {
        "TABLE" => Show::CreateTable(c.table_name()?),
        "VIEW" => Show::CreateView(c.table_name()?),
        "DATABASE" | "SCHEMA" => {
            let if_not_exists = c.accept("IF NOT EXISTS");
            Show::CreateDatabase { name: c.identifier()?, if_not_exists }
        }
        "USER" => Show::CreateUser(account::user_name(c)?),
        "EVENT" | "FUNCTION" | "PROCEDURE" | "TRIGGER" => {
            return Err(SqlError::unsupported(format!("SHOW CREATE {what}")));
        }
        _ => return Err(c.source.error_at(c.last_end().saturating_sub(what.len()))),
    })
}

fn in_database(c: &mut Cursor) -> Result<Option<String>> {
    if c.accept_any(&["FROM", "IN"]).is_some() { Ok(Some(c.identifier()?)) } else { Ok(None) }
}

/// `FROM table [FROM database]`.
fn in_table(c: &mut Cursor) -> Result<TableName> {
    if c.accept_any(&["FROM", "IN"]).is_none() {
        return Err(c.error());
    }
    let mut table = c.table_name()?;
    if let Some(database) = in_database(c)? {
        table.database = Some(database);
    }
    Ok(table)
}

fn filter(c: &mut Cursor) -> Result<Option<ShowFilter>> {
    if c.accept("LIKE") {
        Ok(Some(ShowFilter::Like(c.string()?)))
    } else if c.accept("WHERE") {
        Ok(Some(ShowFilter::Where(c.expression()?)))
    } else {
        Ok(None)
    }
}

/// `LIMIT [offset,] count`.
fn limit(c: &mut Cursor) -> Result<(u64, Option<u64>)> {
    if !c.accept("LIMIT") {
        return Ok((0, None));
    }
    let first = c.unsigned()?;
    if c.accept_token(&Token::Comma) {
        return Ok((first, Some(c.unsigned()?)));
    }
    if c.accept("OFFSET") {
        return Ok((c.unsigned()?, Some(first)));
    }
    Ok((0, Some(first)))
}
