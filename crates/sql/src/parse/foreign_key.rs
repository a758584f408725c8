//! `FOREIGN KEY .. REFERENCES ..` (manual 13.1.20.5).

use super::cursor::Cursor;
use crate::{ForeignKeySpec, TableName};
use muster_algebra::ReferentialAction;
use muster_types::{ErrorCode, Result, SqlError};
use sqlparser::tokenizer::Token;

/// The part of a foreign key behind its columns.
pub(super) struct References {
    table: TableName,
    columns: Vec<String>,
    on_delete: ReferentialAction,
    on_update: ReferentialAction,
}

pub(super) fn at_foreign_key(c: &Cursor) -> bool {
    c.at("FOREIGN") && c.at_nth(1, "KEY")
}

/// `name`: that of the constraint. Error 1239 for another number of referenced columns.
pub(super) fn foreign_key(c: &mut Cursor, name: Option<String>) -> Result<ForeignKeySpec> {
    c.expect("FOREIGN KEY")?;
    let index_name = if *c.peek(0) == Token::LParen { None } else { Some(c.identifier()?) };
    let columns = c.parenthesised(|c| c.identifier())?;
    let References { table, columns: referenced, on_delete, on_update } = references(c)?;
    if columns.len() != referenced.len() {
        let shown = name.or(index_name).unwrap_or_else(|| "foreign key without name".to_owned());
        let message =
            format!("Incorrect foreign key definition for '{shown}': Key reference and table reference don't match");
        return Err(SqlError::new(ErrorCode::WrongForeignKeyDefinition, message));
    }
    Ok(ForeignKeySpec { name, index_name, columns, table, referenced, on_delete, on_update })
}

pub(super) fn references(c: &mut Cursor) -> Result<References> {
    c.expect("REFERENCES")?;
    let table = c.table_name()?;
    let columns = if *c.peek(0) == Token::LParen { c.parenthesised(|c| c.identifier())? } else { Vec::new() };
    if c.accept("MATCH") && c.accept_any(&["FULL", "PARTIAL", "SIMPLE"]).is_none() {
        return Err(c.error());
    }
    let (mut on_delete, mut on_update) = (None, None);
    while c.at("ON") {
        c.advance();
        let rule = match c.accept_any(&["DELETE", "UPDATE"]) {
            Some("DELETE") => &mut on_delete,
            Some(_) => &mut on_update,
            None => return Err(c.error()),
        };
        if rule.is_some() {
            return Err(c.error());
        }
        *rule = Some(action(c)?);
    }
    let (on_delete, on_update) = (on_delete.unwrap_or_default(), on_update.unwrap_or_default());
    Ok(References { table, columns, on_delete, on_update })
}

fn action(c: &mut Cursor) -> Result<ReferentialAction> {
    use ReferentialAction::*;
    let written = c.accept_any(&["RESTRICT", "CASCADE", "SET NULL", "NO ACTION", "SET DEFAULT"]);
    match written {
        Some("RESTRICT") => Ok(Restrict),
        Some("CASCADE") => Ok(Cascade),
        Some("SET NULL") => Ok(SetNull),
        Some("NO ACTION") => Ok(NoAction),
        Some(_) => Ok(SetDefault),
        None => Err(c.error()),
    }
}
