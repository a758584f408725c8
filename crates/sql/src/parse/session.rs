//! SET, FLUSH, PREPARE.

use super::{account, cursor::Cursor, roles};
use crate::{FlushOption, Isolation, PrepareSource, SetItem, SetValue, Statement, VariableScope};
use muster_types::{Result, SqlError};
use sqlparser::tokenizer::{Token, Word};

pub(super) fn set(c: &mut Cursor) -> Result<Statement> {
    c.expect("SET")?;
    if c.accept("PASSWORD") {
        return account::set_password(c);
    }
    for other in ["RESOURCE", "STATEMENT"] {
        if c.at(other) && !matches!(c.peek(1), Token::Eq | Token::Assignment) {
            return Err(SqlError::unsupported(format!("SET {other}")));
        }
    }
    if c.at("DEFAULT") && c.at_nth(1, "ROLE") {
        (0..2).for_each(|_| c.advance());
        return roles::set_default_role(c);
    }
    if c.at("ROLE") && !matches!(c.peek(1), Token::Eq | Token::Assignment) {
        c.advance();
        return roles::set_role(c);
    }
    Ok(Statement::Set(c.list(set_item)?))
}

/// Variables of which `SET @@name = ..` speaks of the next transaction only.
const IS_OF_TRANSACTIONS: [&str; 2] = ["transaction_isolation", "transaction_read_only"];

fn set_item(c: &mut Cursor) -> Result<SetItem> {
    if c.at("NAMES") && !is_assignment(c.peek(1)) {
        c.advance();
        if c.accept("DEFAULT") {
            return Ok(SetItem::Names { charset: None, collation: None });
        }
        let charset = Some(c.name_or_string()?);
        let collation = if c.accept("COLLATE") { Some(c.name_or_string()?) } else { None };
        return Ok(SetItem::Names { charset, collation });
    }
    if c.accept("CHARACTER SET") || c.accept("CHARSET") {
        return Ok(SetItem::CharacterSet(if c.accept("DEFAULT") { None } else { Some(c.name_or_string()?) }));
    }
    // `@@scope.name`, `@name` and `@'name'`: the tokenizer keeps the signs in the word, or before a quoted one.
    if let Some(name) = user_variable(c)? {
        assignment(c)?;
        return Ok(SetItem::User { name, value: c.expression()? });
    }
    let (mut scope, mut persist) = (None, false);
    let mut prefixed = false;
    if let Token::Word(Word { value, quote_style: None, .. }) = c.peek(0)
        && let Some(word) = value.strip_prefix("@@")
    {
        let word = word.to_ascii_lowercase();
        c.advance();
        prefixed = true;
        match (scope_word(&word), c.accept_token(&Token::Period)) {
            (Some((s, p)), true) => (scope, persist) = (s, p),
            (_, qualified) => {
                let mut name = word;
                if qualified {
                    name = format!("{name}.{}", c.identifier()?.to_ascii_lowercase());
                }
                assignment(c)?;
                let value = set_value(c)?;
                return Ok(match IS_OF_TRANSACTIONS.contains(&name.as_str()) {
                    true => SetItem::NextTransaction { name, value },
                    false => SetItem::Variable { scope, persist, name, value },
                });
            }
        }
    } else if !is_assignment(c.peek(1))
        && let Some((s, p)) = scope_word(&c.word(0).to_ascii_lowercase())
    {
        c.advance();
        (scope, persist) = (s, p);
    }
    if !prefixed && c.accept("TRANSACTION") {
        return transaction_characteristics(c, scope);
    }
    let mut name = c.identifier()?.to_ascii_lowercase();
    if c.accept_token(&Token::Period) {
        name = format!("{name}.{}", c.identifier()?.to_ascii_lowercase());
    }
    assignment(c)?;
    Ok(SetItem::Variable { scope, persist, name, value: set_value(c)? })
}

/// `@name`, `@'name'`, `` @`name` ``; `None` when something else follows.
pub(super) fn user_variable(c: &mut Cursor) -> Result<Option<String>> {
    match c.peek(0) {
        Token::Word(Word { value, quote_style: None, .. }) if value.starts_with('@') && !value.starts_with("@@") => {
            let mut name = value[1..].to_ascii_lowercase();
            c.advance();
            if name.is_empty() {
                name = c.name_or_string()?.to_ascii_lowercase();
            }
            Ok(Some(name))
        }
        Token::AtSign => {
            c.advance();
            Ok(Some(c.name_or_string()?.to_ascii_lowercase()))
        }
        _ => Ok(None),
    }
}

fn scope_word(word: &str) -> Option<(Option<VariableScope>, bool)> {
    Some(match word {
        "global" => (Some(VariableScope::Global), false),
        "session" | "local" => (Some(VariableScope::Session), false),
        "persist" => (Some(VariableScope::Global), true),
        "persist_only" => (Some(VariableScope::Global), true),
        _ => return None,
    })
}

fn is_assignment(token: &Token) -> bool {
    matches!(token, Token::Eq | Token::Assignment)
}

fn assignment(c: &mut Cursor) -> Result<()> {
    if c.accept_token(&Token::Eq) || c.accept_token(&Token::Assignment) { Ok(()) } else { Err(c.error()) }
}

/// A lone word is a word (`ON`, `utf8mb4`, `DEFAULT`); all else is an expression.
fn set_value(c: &mut Cursor) -> Result<SetValue> {
    let alone = matches!(c.peek(1), Token::Comma | Token::EOF | Token::SemiColon);
    let word = c.word(0);
    if alone && word == "DEFAULT" {
        c.advance();
        return Ok(SetValue::Default);
    }
    let literal = matches!(word.as_str(), "" | "TRUE" | "FALSE" | "NULL") || word.starts_with('@');
    if alone && !literal && !word.starts_with("CURRENT_") {
        return Ok(SetValue::Word(c.identifier()?));
    }
    Ok(SetValue::Expr(c.expression()?))
}

fn transaction_characteristics(c: &mut Cursor, scope: Option<VariableScope>) -> Result<SetItem> {
    let (mut isolation, mut read_only) = (None, None);
    loop {
        if c.accept("ISOLATION LEVEL") {
            let levels = ["READ UNCOMMITTED", "READ COMMITTED", "REPEATABLE READ", "SERIALIZABLE"];
            isolation = Some(match c.accept_any(&levels) {
                Some("READ UNCOMMITTED") => Isolation::ReadUncommitted,
                Some("READ COMMITTED") => Isolation::ReadCommitted,
                Some("REPEATABLE READ") => Isolation::RepeatableRead,
                Some(_) => Isolation::Serializable,
                None => return Err(c.error()),
            });
        } else if let Some(access) = c.accept_any(&["READ ONLY", "READ WRITE"]) {
            read_only = Some(access == "READ ONLY");
        } else {
            return Err(c.error());
        }
        if !c.accept_token(&Token::Comma) {
            return Ok(SetItem::Transaction { scope, isolation, read_only });
        }
    }
}

pub(super) fn flush(c: &mut Cursor) -> Result<Statement> {
    c.expect("FLUSH")?;
    c.accept_any(&["NO_WRITE_TO_BINLOG", "LOCAL"]);
    let options = c.list(|c| {
        let word = c.identifier()?.to_ascii_uppercase();
        Ok(match word.as_str() {
            "STATUS" => FlushOption::Status,
            "PRIVILEGES" => FlushOption::Privileges,
            "TABLES" | "TABLE" => {
                let names = match c.at_end() || *c.peek(0) == Token::Comma || c.at("WITH") {
                    true => Vec::new(),
                    false => c.list(|c| c.table_name())?,
                };
                if c.accept("WITH READ LOCK") {
                    return Ok(FlushOption::TablesWithReadLock(names));
                }
                if c.at("FOR") {
                    return Err(SqlError::unsupported("FLUSH TABLES .. FOR EXPORT"));
                }
                FlushOption::Tables(names)
            }
            "BINARY" | "ENGINE" | "ERROR" | "GENERAL" | "SLOW" | "RELAY" => {
                c.expect("LOGS")?;
                FlushOption::Other(format!("{word} LOGS"))
            }
            "OPTIMIZER_COSTS" => FlushOption::OptimizerCosts,
            "LOGS" | "HOSTS" | "USER_RESOURCES" => FlushOption::Other(word),
            _ => return Err(c.error()),
        })
    })?;
    Ok(Statement::Flush(options))
}

pub(super) fn prepared(c: &mut Cursor) -> Result<Statement> {
    if c.accept("PREPARE") {
        let name = c.identifier()?;
        c.expect("FROM")?;
        let source = match user_variable(c)? {
            Some(variable) => PrepareSource::Variable(variable),
            None => PrepareSource::Text(c.string()?),
        };
        return Ok(Statement::Prepare { name, source });
    }
    if c.accept("EXECUTE") {
        let name = c.identifier()?;
        let mut variables = Vec::new();
        if c.accept("USING") {
            variables = c.list(|c| match user_variable(c)? {
                Some(name) => Ok(name),
                None => Err(c.error()),
            })?;
        }
        return Ok(Statement::ExecutePrepared { name, variables });
    }
    c.expect("DEALLOCATE")?;
    c.expect("PREPARE")?;
    Ok(Statement::Deallocate { name: c.identifier()? })
}
