//! Roles: CREATE and DROP ROLE, SET ROLE, SET DEFAULT ROLE.

use super::{
    account::{default_roles, user_name},
    cursor::Cursor,
};
use crate::{AccountStatement, RoleSet, Statement, UserName};
use muster_types::Result;

/// Names of roles. `NONE` without quotes is none.
pub(super) fn role_list(c: &mut Cursor) -> Result<Vec<UserName>> {
    c.list(|c| match c.at("NONE") || c.at("DEFAULT") || c.at("ALL") || c.at("CURRENT_USER") {
        true => Err(c.error()),
        false => user_name(c),
    })
}

/// Reads `ROLE ..` behind CREATE.
pub(super) fn create(c: &mut Cursor) -> Result<Statement> {
    c.expect("ROLE")?;
    let if_not_exists = c.accept("IF NOT EXISTS");
    Ok(Statement::Account(AccountStatement::CreateRole { if_not_exists, roles: role_list(c)? }))
}

/// Reads `ROLE ..` behind DROP.
pub(super) fn drop_role(c: &mut Cursor) -> Result<Statement> {
    c.expect("ROLE")?;
    let if_exists = c.accept("IF EXISTS");
    Ok(Statement::Account(AccountStatement::DropRole { if_exists, roles: role_list(c)? }))
}

/// Reads what follows `SET ROLE`.
pub(super) fn set_role(c: &mut Cursor) -> Result<Statement> {
    Ok(Statement::SetRole(match c.accept_any(&["DEFAULT", "NONE", "ALL"]) {
        Some("DEFAULT") => RoleSet::Default,
        Some("NONE") => RoleSet::None,
        Some(_) => RoleSet::AllExcept(if c.accept("EXCEPT") { role_list(c)? } else { Vec::new() }),
        None => RoleSet::Listed(role_list(c)?),
    }))
}

/// Reads what follows `SET DEFAULT ROLE`.
pub(super) fn set_default_role(c: &mut Cursor) -> Result<Statement> {
    let roles = default_roles(c)?;
    c.expect("TO")?;
    let users = c.list(user_name)?;
    Ok(Statement::Account(AccountStatement::SetDefaultRole { roles, users, alters: false, if_exists: false }))
}
