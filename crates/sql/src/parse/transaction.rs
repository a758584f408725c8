//! Transactions, savepoints, LOCK TABLES.

use super::cursor::Cursor;
use crate::{Begin, Completion, Statement, TableLock};
use muster_types::{Result, SqlError};
use sqlparser::tokenizer::Token;

pub(super) fn transaction(c: &mut Cursor) -> Result<Statement> {
    let first = c.word(0);
    c.advance();
    Ok(match first.as_str() {
        "BEGIN" => {
            c.accept("WORK");
            Statement::Begin(Begin::default())
        }
        "START" => start(c)?,
        "SAVEPOINT" => Statement::Savepoint(c.identifier()?),
        "RELEASE" => {
            c.expect("SAVEPOINT")?;
            Statement::ReleaseSavepoint(c.identifier()?)
        }
        _ => {
            c.accept("WORK");
            if first == "ROLLBACK" && c.accept("TO") {
                c.accept("SAVEPOINT");
                return Ok(Statement::RollbackToSavepoint(c.identifier()?));
            }
            let completion = completion(c)?;
            if first == "COMMIT" { Statement::Commit(completion) } else { Statement::Rollback(completion) }
        }
    })
}

fn start(c: &mut Cursor) -> Result<Statement> {
    if c.at("REPLICA") || c.at("SLAVE") || c.at("GROUP_REPLICATION") {
        return Err(SqlError::unsupported(format!("START {}", c.word(0))));
    }
    c.expect("TRANSACTION")?;
    let mut begin = Begin::default();
    while !c.at_end() {
        match c.accept_any(&["WITH CONSISTENT SNAPSHOT", "READ ONLY", "READ WRITE"]) {
            Some("WITH CONSISTENT SNAPSHOT") => begin.consistent_snapshot = true,
            // One of the two may be given, and once.
            Some(access) if begin.read_only.is_none() => begin.read_only = Some(access == "READ ONLY"),
            _ => return Err(c.error()),
        }
        if !c.accept_token(&Token::Comma) {
            break;
        }
    }
    Ok(Statement::Begin(begin))
}

fn completion(c: &mut Cursor) -> Result<Completion> {
    let chain = c.accept_any(&["AND NO CHAIN", "AND CHAIN"]).map(|words| words == "AND CHAIN");
    let before = c.position();
    let release = c.accept_any(&["NO RELEASE", "RELEASE"]).map(|words| words == "RELEASE");
    if (chain, release) == (Some(true), Some(true)) {
        return Err(c.source.error_at(before));
    }
    Ok(Completion { chain, release })
}

pub(super) fn lock(c: &mut Cursor) -> Result<Statement> {
    let locks = c.accept("LOCK");
    if !locks {
        c.expect("UNLOCK")?;
    }
    if c.at("INSTANCE") {
        return Err(SqlError::unsupported("LOCK INSTANCE"));
    }
    if c.accept_any(&["TABLES", "TABLE"]).is_none() {
        return Err(c.error());
    }
    if !locks {
        return Ok(Statement::UnlockTables);
    }
    Ok(Statement::LockTables(c.list(table_lock)?))
}

fn table_lock(c: &mut Cursor) -> Result<TableLock> {
    let table = c.table_name()?;
    let kinds = ["READ LOCAL", "READ", "WRITE", "LOW_PRIORITY WRITE"];
    let mut alias = None;
    if c.accept("AS") || !kinds.iter().any(|k| c.at(k.split(' ').next().unwrap_or(k))) {
        alias = Some(c.identifier()?);
    }
    match c.accept_any(&kinds) {
        Some(kind) => Ok(TableLock { table, alias, write: kind.ends_with("WRITE") }),
        None => Err(c.error()),
    }
}
