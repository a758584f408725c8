//! ALTER TABLE: its clauses, and how it is to be done.

use super::{
    column,
    cursor::Cursor,
    ddl::{check_constraint, constraint_name, index_definition, table_option},
    foreign_key::{at_foreign_key, foreign_key},
};
use crate::{
    AlterAction, AlterAlgorithm, AlterLock, AlterMethod, AlterTable, CharsetConversion, ColumnPlace, ColumnSpec,
    DefaultClause, Statement, TableOptions,
};
use muster_types::{ErrorCode, Result, SqlError};
use sqlparser::tokenizer::Token;

pub(super) fn table(c: &mut Cursor) -> Result<Statement> {
    let mut alter = AlterTable { table: c.table_name()?, actions: Vec::new(), method: AlterMethod::default() };
    while !c.at_end() {
        if !method(c, &mut alter.method)? {
            action(c, &mut alter.actions)?;
        }
        if !c.accept_token(&Token::Comma) {
            break;
        }
    }
    Ok(Statement::AlterTable(Box::new(alter)))
}

/// Reads `ALGORITHM = ..` or `LOCK = ..`; false when neither follows. Errors: 1800, 1801 for words that they do not
/// know.
pub(super) fn method(c: &mut Cursor, method: &mut AlterMethod) -> Result<bool> {
    if c.accept("ALGORITHM") {
        c.accept_token(&Token::Eq);
        let word = c.identifier()?;
        method.algorithm = match word.to_ascii_uppercase().as_str() {
            "DEFAULT" => AlterAlgorithm::Default,
            "INSTANT" => AlterAlgorithm::Instant,
            "INPLACE" => AlterAlgorithm::Inplace,
            "COPY" => AlterAlgorithm::Copy,
            _ => return Err(SqlError::new(ErrorCode::UnknownAlterAlgorithm, format!("Unknown ALGORITHM '{word}'"))),
        };
    } else if c.accept("LOCK") {
        c.accept_token(&Token::Eq);
        let word = c.identifier()?;
        method.lock = match word.to_ascii_uppercase().as_str() {
            "DEFAULT" => AlterLock::Default,
            "NONE" => AlterLock::None,
            "SHARED" => AlterLock::Shared,
            "EXCLUSIVE" => AlterLock::Exclusive,
            _ => return Err(SqlError::new(ErrorCode::UnknownAlterLock, format!("Unknown LOCK type '{word}'"))),
        };
    } else {
        return Ok(false);
    }
    Ok(true)
}

/// Reads `ALGORITHM = ..` and `LOCK = ..` up to something else.
pub(super) fn methods(c: &mut Cursor) -> Result<AlterMethod> {
    let mut found = AlterMethod::default();
    while method(c, &mut found)? {}
    Ok(found)
}

/// Reads one clause, which may be several actions: `ADD (a INT, b INT)`.
fn action(c: &mut Cursor, actions: &mut Vec<AlterAction>) -> Result<()> {
    let first = c.word(0);
    let found = match first.as_str() {
        "ADD" => return add(c, actions),
        "DROP" => drop(c)?,
        "CHANGE" => {
            c.advance();
            c.accept("COLUMN");
            let from = c.identifier()?;
            let column = column_with_checks(c, actions)?;
            AlterAction::ChangeColumn { from, column, place: place(c)? }
        }
        "MODIFY" => {
            c.advance();
            c.accept("COLUMN");
            let column = column_with_checks(c, actions)?;
            AlterAction::ChangeColumn { from: column.name.clone(), column, place: place(c)? }
        }
        "ALTER" => alter(c)?,
        "RENAME" => rename(c)?,
        "CONVERT" => convert(c)?,
        "ORDER" => {
            c.expect("ORDER BY")?;
            AlterAction::OrderBy(c.list(|c| {
                let column = c.identifier()?;
                Ok((column, c.accept_any(&["ASC", "DESC"]) == Some("DESC")))
            })?)
        }
        "DISABLE" | "ENABLE" => {
            c.advance();
            c.expect("KEYS")?;
            AlterAction::Keys
        }
        "FORCE" => {
            c.advance();
            AlterAction::Force
        }
        "DISCARD" | "IMPORT" | "EXCHANGE" | "PARTITION" | "REORGANIZE" | "COALESCE" | "TRUNCATE" | "REBUILD"
        | "OPTIMIZE" | "ANALYZE" | "CHECK" | "REPAIR" | "REMOVE" | "UPGRADE" | "WITH" | "WITHOUT"
        | "SECONDARY_LOAD" | "SECONDARY_UNLOAD" => {
            return Err(SqlError::unsupported(format!("ALTER TABLE .. {first}")));
        }
        _ => {
            let mut options = TableOptions::default();
            if !table_option(c, &mut options)? {
                return Err(c.error());
            }
            while table_option(c, &mut options)? {}
            AlterAction::Options(options)
        }
    };
    actions.push(found);
    Ok(())
}

fn place(c: &mut Cursor) -> Result<Option<ColumnPlace>> {
    Ok(if c.accept("FIRST") {
        Some(ColumnPlace::First)
    } else if c.accept("AFTER") {
        Some(ColumnPlace::After(c.identifier()?))
    } else {
        None
    })
}

fn add(c: &mut Cursor, actions: &mut Vec<AlterAction>) -> Result<()> {
    c.advance();
    if c.at("PARTITION") {
        return Err(SqlError::unsupported("ADD PARTITION"));
    }
    let is_column = c.accept("COLUMN");
    if c.accept_token(&Token::LParen) {
        loop {
            element(c, is_column, actions)?;
            if !c.accept_token(&Token::Comma) {
                break;
            }
        }
        return c.expect_token(&Token::RParen);
    }
    element(c, is_column, actions)?;
    if let Some(AlterAction::AddColumn { place: added, .. }) = actions.last_mut() {
        *added = place(c)?;
    }
    Ok(())
}

/// A column. Its CHECKs are those of the table.
fn column_with_checks(c: &mut Cursor, actions: &mut Vec<AlterAction>) -> Result<ColumnSpec> {
    let mut column = column::column(c)?;
    actions.extend(column.checks.drain(..).map(AlterAction::AddCheck));
    Ok(column)
}

/// A column, an index or a constraint behind ADD. `is_column`: the word COLUMN stood there.
fn element(c: &mut Cursor, is_column: bool, actions: &mut Vec<AlterAction>) -> Result<()> {
    if !is_column {
        let constraint = constraint_name(c)?;
        if c.at("CHECK") {
            actions.push(AlterAction::AddCheck(check_constraint(c, constraint.flatten(), None)?));
            return Ok(());
        }
        if at_foreign_key(c) {
            let key = foreign_key(c, constraint.flatten())?;
            actions.push(AlterAction::AddIndex(key.index()));
            actions.push(AlterAction::AddForeignKey(key));
            return Ok(());
        }
        if let Some(mut index) = index_definition(c)? {
            index.name = index.name.or(constraint.flatten());
            actions.push(AlterAction::AddIndex(index));
            return Ok(());
        }
        if constraint.is_some() {
            return Err(c.error());
        }
    }
    let column = column_with_checks(c, actions)?;
    actions.push(AlterAction::AddColumn { column, place: None });
    Ok(())
}

fn drop(c: &mut Cursor) -> Result<AlterAction> {
    c.advance();
    if c.accept_any(&["INDEX", "KEY"]).is_some() {
        return Ok(AlterAction::DropIndex(c.identifier()?));
    }
    if c.accept("PRIMARY KEY") {
        return Ok(AlterAction::DropPrimaryKey);
    }
    if c.accept("FOREIGN KEY") {
        return Ok(AlterAction::DropForeignKey(c.identifier()?));
    }
    if c.accept("CHECK") {
        return Ok(AlterAction::DropCheck(c.identifier()?));
    }
    if c.accept("CONSTRAINT") {
        return Ok(AlterAction::DropConstraint(c.identifier()?));
    }
    if c.at("PARTITION") {
        return Err(SqlError::unsupported("ALTER TABLE .. DROP PARTITION"));
    }
    c.accept("COLUMN");
    let column = c.identifier()?;
    c.accept_any(&["RESTRICT", "CASCADE"]);
    Ok(AlterAction::DropColumn(column))
}

fn visible(c: &mut Cursor) -> Result<bool> {
    match c.accept_any(&["VISIBLE", "INVISIBLE"]) {
        Some(word) => Ok(word == "VISIBLE"),
        None => Err(c.error()),
    }
}

/// `ALTER [COLUMN] a SET DEFAULT ..`, `ALTER INDEX i INVISIBLE`, `ALTER CHECK c NOT ENFORCED`.
fn alter(c: &mut Cursor) -> Result<AlterAction> {
    c.advance();
    if c.accept("INDEX") {
        let index = c.identifier()?;
        return Ok(AlterAction::SetIndexVisible { index, visible: visible(c)? });
    }
    if c.accept_any(&["CHECK", "CONSTRAINT"]).is_some() {
        let check = c.identifier()?;
        let enforced = !c.accept("NOT");
        c.expect("ENFORCED")?;
        return Ok(AlterAction::SetCheckEnforced { check, enforced });
    }
    c.accept("COLUMN");
    let column = c.identifier()?;
    if c.accept("DROP DEFAULT") {
        return Ok(AlterAction::DropDefault(column));
    }
    c.expect("SET")?;
    if c.accept("DEFAULT") {
        let place = c.error();
        return match column::default(c)? {
            // Only a definition of a column takes the clock without parentheses.
            DefaultClause::CurrentTimestamp { .. } => Err(place),
            default => Ok(AlterAction::SetDefault { column, default }),
        };
    }
    Ok(AlterAction::SetColumnVisible { column, visible: visible(c)? })
}

fn rename(c: &mut Cursor) -> Result<AlterAction> {
    c.advance();
    if c.accept_any(&["INDEX", "KEY"]).is_some() {
        let from = c.identifier()?;
        c.expect("TO")?;
        return Ok(AlterAction::RenameIndex { from, to: c.identifier()? });
    }
    if c.accept("COLUMN") {
        let from = c.identifier()?;
        c.expect("TO")?;
        return Ok(AlterAction::RenameColumn { from, to: c.identifier()? });
    }
    if c.accept_any(&["TO", "AS"]).is_none() {
        c.accept_token(&Token::Eq);
    }
    Ok(AlterAction::Rename(c.table_name()?))
}

fn convert(c: &mut Cursor) -> Result<AlterAction> {
    c.advance();
    c.expect("TO")?;
    if !c.accept("CHARACTER SET") && !c.accept("CHARSET") {
        return Err(c.error());
    }
    let charset = if c.accept("DEFAULT") { None } else { Some(c.name_or_string()?) };
    let mut collation = None;
    if c.accept("COLLATE") {
        c.accept_token(&Token::Eq);
        collation = Some(c.name_or_string()?);
    }
    Ok(AlterAction::ConvertTo(CharsetConversion { charset, collation }))
}
