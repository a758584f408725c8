//! GRANT and REVOKE.

use super::{account::user_name, cursor::Cursor};
use crate::{AccountStatement, Grant, GrantScope, PrivilegeItem, RoleGrant, Statement, TableName, UserName};
use muster_types::{Result, SqlError};
use sqlparser::tokenizer::Token;

/// The privileges that are words of the grammar; one that another begins with comes behind it.
const STATIC: [&str; 35] = [
    "ALL PRIVILEGES",
    "ALL",
    "GRANT OPTION",
    "USAGE",
    "SELECT",
    "INSERT",
    "UPDATE",
    "REFERENCES",
    "DELETE",
    "INDEX",
    "ALTER ROUTINE",
    "ALTER",
    "CREATE TEMPORARY TABLES",
    "CREATE TABLESPACE",
    "CREATE ROUTINE",
    "CREATE ROLE",
    "CREATE USER",
    "CREATE VIEW",
    "CREATE",
    "DROP ROLE",
    "DROP",
    "EXECUTE",
    "RELOAD",
    "SHUTDOWN",
    "PROCESS",
    "FILE",
    "SHOW DATABASES",
    "SHOW VIEW",
    "SUPER",
    "LOCK TABLES",
    "REPLICATION SLAVE",
    "REPLICATION CLIENT",
    "EVENT",
    "TRIGGER",
    "PROXY",
];

/// Privileges that columns can have.
const OF_COLUMNS: [&str; 4] = ["SELECT", "INSERT", "UPDATE", "REFERENCES"];

/// The beginning of GRANT and REVOKE.
enum Item {
    Privilege(PrivilegeItem),
    /// A role or a dynamic privilege.
    Name(UserName),
}

pub(super) fn grant(c: &mut Cursor) -> Result<Statement> {
    c.expect("GRANT")?;
    let items = items(c)?;
    if c.accept("TO") {
        let roles = roles(c, items)?;
        let users = c.list(user_name)?;
        let admin_option = c.accept("WITH ADMIN OPTION");
        let grant = RoleGrant { roles, users, admin_option, if_exists: false, ignore_unknown: false };
        return Ok(Statement::Account(AccountStatement::GrantRoles(grant)));
    }
    c.expect("ON")?;
    let scope = scope(c)?;
    c.expect("TO")?;
    let users = c.list(user_name)?;
    let (privileges, mut grant_option) = privileges(items);
    grant_option |= c.accept("WITH GRANT OPTION");
    if c.at("AS") {
        return Err(SqlError::unsupported("GRANT .. AS"));
    }
    let grant = Grant { privileges, scope, users, grant_option, if_exists: false, ignore_unknown: false };
    Ok(Statement::Account(AccountStatement::Grant(grant)))
}

pub(super) fn revoke(c: &mut Cursor) -> Result<Statement> {
    c.expect("REVOKE")?;
    let if_exists = c.accept("IF EXISTS");
    let items = items(c)?;
    if c.accept("ON") {
        let scope = scope(c)?;
        let (users, ignore_unknown) = revoked_from(c)?;
        let (privileges, grant_option) = privileges(items);
        let grant = Grant { privileges, scope, users, grant_option, if_exists, ignore_unknown };
        return Ok(Statement::Account(AccountStatement::Revoke(grant)));
    }
    if is_all(&items) {
        let (users, ignore_unknown) = revoked_from(c)?;
        return Ok(Statement::Account(AccountStatement::RevokeAll { users, ignore_unknown }));
    }
    let roles = roles(c, items)?;
    let (users, ignore_unknown) = revoked_from(c)?;
    let grant = RoleGrant { roles, users, admin_option: false, if_exists, ignore_unknown };
    Ok(Statement::Account(AccountStatement::RevokeRoles(grant)))
}

/// `FROM user, .. [IGNORE UNKNOWN USER]`.
fn revoked_from(c: &mut Cursor) -> Result<(Vec<UserName>, bool)> {
    c.expect("FROM")?;
    Ok((c.list(user_name)?, c.accept("IGNORE UNKNOWN USER")))
}

fn items(c: &mut Cursor) -> Result<Vec<Item>> {
    c.list(|c| {
        if let Some(name) = c.accept_any(&STATIC) {
            if name == "PROXY" {
                return Err(SqlError::unsupported("PROXY"));
            }
            let name = if name == "ALL" { "ALL PRIVILEGES" } else { name };
            let takes_columns = OF_COLUMNS.contains(&name) && *c.peek(0) == Token::LParen;
            let columns = if takes_columns { c.parenthesised(|c| c.identifier())? } else { Vec::new() };
            return Ok(Item::Privilege(PrivilegeItem { name: name.into(), columns }));
        }
        Ok(Item::Name(user_name(c)?))
    })
}

/// Returns true for `ALL PRIVILEGES, GRANT OPTION`.
fn is_all(items: &[Item]) -> bool {
    let is = |item: &Item, name: &str| matches!(item, Item::Privilege(privilege) if privilege.name == name);
    matches!(items, [all, option] if is(all, "ALL PRIVILEGES") && is(option, "GRANT OPTION"))
}

/// The items as roles.
fn roles(c: &Cursor, items: Vec<Item>) -> Result<Vec<UserName>> {
    let role = |item| match item {
        Item::Name(name) => Ok(name),
        Item::Privilege(_) => Err(c.error()),
    };
    items.into_iter().map(role).collect()
}

/// The items as privileges, and whether GRANT OPTION is among them.
fn privileges(items: Vec<Item>) -> (Vec<PrivilegeItem>, bool) {
    let privilege = |item| match item {
        Item::Privilege(privilege) => privilege,
        Item::Name(name) => PrivilegeItem { name: name.user.to_ascii_uppercase(), columns: Vec::new() },
    };
    let mut all: Vec<PrivilegeItem> = items.into_iter().map(privilege).collect();
    let count = all.len();
    all.retain(|item| item.name != "GRANT OPTION");
    let grant_option = all.len() < count;
    (all, grant_option)
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
