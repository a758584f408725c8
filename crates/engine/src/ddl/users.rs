//! CREATE, ALTER and DROP USER, SET PASSWORD, GRANT, REVOKE.

use crate::statement::{Done, StatementContext};
use muster_sql::{Authentication, Grant, UserName, UserSpec};
use muster_types::{ErrorCode, Result};

pub fn create_users(context: &StatementContext, users: &[UserSpec], if_not_exists: bool) -> Result<Done> {
    let existing = context.database.accounts().create_users(&context.rights, users, if_not_exists)?;
    for name in existing {
        context.note(ErrorCode::UserAlreadyExists, format!("Authorization ID {name} already exists."));
    }
    Ok(Done::default())
}

pub fn alter_users(context: &StatementContext, users: &[UserSpec], if_exists: bool) -> Result<Done> {
    note_missing(context, context.database.accounts().alter_users(&context.rights, users, if_exists)?)
}

pub fn drop_users(context: &StatementContext, users: &[UserName], if_exists: bool) -> Result<Done> {
    note_missing(context, context.database.accounts().drop_users(&context.rights, users, if_exists)?)
}

fn note_missing(context: &StatementContext, missing: Vec<String>) -> Result<Done> {
    for name in missing {
        context.note(ErrorCode::UserDoesNotExist, format!("Authorization ID {name} does not exist."));
    }
    Ok(Done::default())
}

/// `user`: `None` for the account logged in as.
pub fn set_password(context: &StatementContext, user: Option<&UserName>, password: &str) -> Result<Done> {
    let own = || UserName { user: String::new(), host: String::new(), current: true };
    let name = user.cloned().unwrap_or_else(own);
    let authentication = Authentication::Password { plugin: None, password: password.to_owned() };
    let spec = UserSpec { name, authentication: Some(authentication) };
    context.database.accounts().alter_users(&context.rights, &[spec], false)?;
    Ok(Done::default())
}

pub fn grant(context: &StatementContext, grant: &Grant) -> Result<Done> {
    let database = context.session.current_database.as_deref();
    context.database.accounts().grant(&context.rights, database, grant)?;
    Ok(Done::default())
}

pub fn revoke(context: &StatementContext, grant: &Grant) -> Result<Done> {
    let database = context.session.current_database.as_deref();
    context.database.accounts().revoke(&context.rights, database, grant)?;
    Ok(Done::default())
}
