//! Users and privileges.

use super::cursor::Cursor;
use crate::{Authentication, Grant, GrantScope, Statement, TableName, UserName, UserSpec};
use muster_types::{Result, SqlError};
use sqlparser::tokenizer::{Token, Word};

/// `'user'@'host'`, `user@host`, `user`, `CURRENT_USER()`. The tokenizer makes `@` a part of bare words.
pub(super) fn user_name(c: &mut Cursor) -> Result<UserName> {
    if c.accept("CURRENT_USER") {
        if c.accept_token(&Token::LParen) {
            c.expect_token(&Token::RParen)?;
        }
        return Ok(UserName { user: String::new(), host: String::new(), current: true });
    }
    let (user, mut host) = match c.peek(0) {
        Token::Word(Word { value, quote_style: None, .. }) if value.contains('@') && !value.starts_with('@') => {
            let (user, host) = value.split_once('@').unwrap_or((value, ""));
            let pair = (user.to_string(), Some(host.to_string()));
            c.advance();
            pair
        }
        _ => (c.name_or_string()?, None),
    };
    if host.is_none() {
        match c.peek(0) {
            Token::AtSign => {
                c.advance();
                host = Some(String::new());
            }
            Token::Word(Word { value, quote_style: None, .. }) if value.starts_with('@') => {
                host = Some(value[1..].to_string());
                c.advance();
            }
            _ => {}
        }
    }
    let host = match host {
        None => "%".to_string(),
        Some(host) if host.is_empty() => c.name_or_string()?,
        Some(mut host) => {
            while c.accept_token(&Token::Period) {
                host = format!("{host}.{}", c.identifier()?);
            }
            host
        }
    };
    Ok(UserName { user, host: host.to_ascii_lowercase(), current: false })
}

fn user_spec(c: &mut Cursor) -> Result<UserSpec> {
    let name = user_name(c)?;
    if !c.accept("IDENTIFIED") {
        return Ok(UserSpec { name, authentication: None });
    }
    let authentication = if c.accept("WITH") {
        let plugin = c.name_or_string()?;
        if c.accept("BY") {
            random_password(c)?;
            Authentication::Password { plugin: Some(plugin), password: c.string()? }
        } else if c.accept("AS") {
            Authentication::Hash { plugin, hash: hash(c)? }
        } else {
            Authentication::Plugin(plugin)
        }
    } else {
        c.expect("BY")?;
        random_password(c)?;
        Authentication::Password { plugin: None, password: c.string()? }
    };
    if c.at("REPLACE") || c.at("RETAIN") || c.at("DISCARD") {
        return Err(SqlError::unsupported(format!("IDENTIFIED .. {}", c.word(0))));
    }
    Ok(UserSpec { name, authentication: Some(authentication) })
}

fn random_password(c: &Cursor) -> Result<()> {
    if c.at("RANDOM") { Err(SqlError::unsupported("RANDOM PASSWORD")) } else { Ok(()) }
}

/// A hash as text or as hexadecimal digits.
fn hash(c: &mut Cursor) -> Result<String> {
    if let Token::HexStringLiteral(digits) = c.peek(0) {
        let bytes = super::column::hex_bytes(digits).ok_or_else(|| c.error())?;
        let text = String::from_utf8(bytes).map_err(|_| c.error())?;
        c.advance();
        return Ok(text);
    }
    c.string()
}

/// Reads `USER ..` behind CREATE or ALTER.
pub(super) fn create_or_alter(c: &mut Cursor, create: bool) -> Result<Statement> {
    c.expect("USER")?;
    let exists = c.accept(if create { "IF NOT EXISTS" } else { "IF EXISTS" });
    let users = c.list(user_spec)?;
    options(c)?;
    Ok(if create {
        Statement::CreateUser { if_not_exists: exists, users }
    } else {
        Statement::AlterUser { if_exists: exists, users }
    })
}

/// Account options: what changes nothing here is read, what would is refused.
fn options(c: &mut Cursor) -> Result<()> {
    while !c.at_end() {
        let harmless = [
            "REQUIRE NONE",
            "ACCOUNT UNLOCK",
            "PASSWORD EXPIRE NEVER",
            "PASSWORD EXPIRE DEFAULT",
            "PASSWORD HISTORY DEFAULT",
            "PASSWORD REUSE INTERVAL DEFAULT",
            "PASSWORD REQUIRE CURRENT DEFAULT",
        ];
        if c.accept_any(&harmless).is_none() {
            let word = c.word(0);
            let known =
                ["REQUIRE", "ACCOUNT", "PASSWORD", "WITH", "COMMENT", "ATTRIBUTE", "DEFAULT", "FAILED_LOGIN_ATTEMPTS"];
            return Err(if known.contains(&word.as_str()) {
                SqlError::unsupported(format!("USER .. {word} {}", c.word(1)).trim_end())
            } else {
                c.error()
            });
        }
    }
    Ok(())
}

/// Reads `USER ..` behind DROP.
pub(super) fn drop_user(c: &mut Cursor) -> Result<Statement> {
    c.expect("USER")?;
    let if_exists = c.accept("IF EXISTS");
    Ok(Statement::DropUser { if_exists, users: c.list(user_name)? })
}

/// Reads what follows `SET PASSWORD`.
pub(super) fn set_password(c: &mut Cursor) -> Result<Statement> {
    let user = if c.accept("FOR") { Some(user_name(c)?) } else { None };
    c.expect_token(&Token::Eq)?;
    Ok(Statement::SetPassword { user: user.filter(|u| !u.current), password: c.string()? })
}

pub(super) fn grant(c: &mut Cursor) -> Result<Statement> {
    c.expect("GRANT")?;
    let privileges = privileges(c)?;
    if c.at("TO") {
        return Err(SqlError::unsupported("GRANT role"));
    }
    c.expect("ON")?;
    let scope = scope(c)?;
    c.expect("TO")?;
    let users = c.list(user_name)?;
    if c.at("IDENTIFIED") || c.at("AS") {
        return Err(c.error());
    }
    let grant_option = c.accept("WITH GRANT OPTION");
    Ok(Statement::Grant(Grant { privileges, scope, users, grant_option, if_exists: false }))
}

pub(super) fn revoke(c: &mut Cursor) -> Result<Statement> {
    c.expect("REVOKE")?;
    let if_exists = c.accept("IF EXISTS");
    let mut privileges = privileges(c)?;
    let scope = if c.accept("ON") {
        scope(c)?
    } else if privileges.iter().any(|p| p == "GRANT OPTION") {
        GrantScope::Global
    } else {
        return Err(SqlError::unsupported("REVOKE role"));
    };
    c.expect("FROM")?;
    let users = c.list(user_name)?;
    let grant_option = privileges.iter().any(|p| p == "GRANT OPTION");
    if privileges.len() > 1 {
        privileges.retain(|p| p != "GRANT OPTION");
    }
    Ok(Statement::Revoke(Grant { privileges, scope, users, grant_option, if_exists }))
}

/// Words up to the next comma, ON, TO or FROM; `ALL` is `ALL PRIVILEGES`.
fn privileges(c: &mut Cursor) -> Result<Vec<String>> {
    c.list(|c| {
        let mut words: Vec<String> = Vec::new();
        while !["ON", "TO", "FROM"].iter().any(|w| c.at(w)) && !c.word(0).is_empty() {
            words.push(c.word(0));
            c.advance();
        }
        if *c.peek(0) == Token::LParen {
            return Err(SqlError::unsupported("privileges on columns"));
        }
        if words.is_empty() {
            // A role by its quoted name.
            return Err(if c.try_string().is_some() { SqlError::unsupported("GRANT role") } else { c.error() });
        }
        let text = words.join(" ");
        Ok(if text == "ALL" { "ALL PRIVILEGES".into() } else { text })
    })
}

fn scope(c: &mut Cursor) -> Result<GrantScope> {
    if c.at("FUNCTION") || c.at("PROCEDURE") {
        return Err(SqlError::unsupported(format!("privileges on {}", c.word(0))));
    }
    if c.at("TABLE") && !matches!(c.peek(1), Token::Period) {
        c.advance();
    }
    if c.accept_token(&Token::Mul) {
        if c.accept_token(&Token::Period) {
            c.expect_token(&Token::Mul)?;
            return Ok(GrantScope::Global);
        }
        return Ok(GrantScope::Database(None));
    }
    let first = c.identifier()?;
    if !c.accept_token(&Token::Period) {
        return Ok(GrantScope::Table(TableName { database: None, name: first }));
    }
    if c.accept_token(&Token::Mul) {
        return Ok(GrantScope::Database(Some(first)));
    }
    Ok(GrantScope::Table(TableName { database: Some(first), name: c.identifier()? }))
}
