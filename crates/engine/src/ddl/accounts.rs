//! Statements that change accounts: users, roles, privileges.

use crate::{
    accounts::{AccountChange, ChangedUsers, GrantRequest, GrantedTable, PasswordPolicy, resolve},
    rows::{column, text_column},
    statement::{Done, StatementContext},
    system_schema,
};
use muster_sql::{AccountStatement, Grant, UserName};
use muster_types::{ErrorCode, Result, SqlError, SqlType, Value};

/// Runs a statement that changes accounts.
pub fn change_accounts(context: &StatementContext, statement: &AccountStatement) -> Result<Done> {
    use AccountStatement::*;
    let (accounts, rights) = (context.database.accounts(), &*context.rights);
    let change = AccountChange { rights, policy: policy(context) };
    let mandatory = context.database.mandatory_roles();
    let (code, names) = match statement {
        CreateUser { if_not_exists, users, options } => {
            let changed = accounts.create_users(change, users, options, *if_not_exists)?;
            return Ok(changed_users(context, changed, ErrorCode::UserAlreadyExists));
        }
        AlterUser { if_exists, users, options } => {
            let changed = accounts.alter_users(change, users, options, *if_exists)?;
            return Ok(changed_users(context, changed, ErrorCode::UserDoesNotExist));
        }
        SetPassword { user, password, replaced } => {
            let changed = accounts.set_password_of(change, user, password.as_deref(), replaced.as_deref())?;
            return Ok(changed_users(context, changed, ErrorCode::UserDoesNotExist));
        }
        DropUser { if_exists, users } => {
            let missing = accounts.drop_users(rights, users, *if_exists)?;
            warn_of_definers(context, users);
            (ErrorCode::UserDoesNotExist, missing)
        }
        RenameUser(pairs) => {
            accounts.rename_users(rights, pairs)?;
            return Ok(Done::default());
        }
        CreateRole { if_not_exists, roles } => {
            (ErrorCode::UserAlreadyExists, accounts.create_roles(rights, roles, *if_not_exists)?)
        }
        DropRole { if_exists, roles } => {
            let missing = accounts.drop_roles(rights, roles, &mandatory, *if_exists)?;
            warn_of_definers(context, roles);
            (ErrorCode::UserDoesNotExist, missing)
        }
        Grant(grant) => {
            accounts.grant(request(context, grant), |table| granted_columns(context, table))?;
            return Ok(Done::default());
        }
        Revoke(grant) => return Ok(warned(context, accounts.revoke(request(context, grant))?)),
        RevokeAll { users, ignore_unknown } => {
            return Ok(warned(context, accounts.revoke_all(rights, users, *ignore_unknown)?));
        }
        GrantRoles(grant) => {
            accounts.grant_roles(rights, grant)?;
            return Ok(Done::default());
        }
        RevokeRoles(grant) => return Ok(warned(context, accounts.revoke_roles(rights, grant, &mandatory)?)),
        SetDefaultRole { roles, users, if_exists, .. } => {
            (ErrorCode::UserDoesNotExist, accounts.set_default_roles(rights, roles, users, &mandatory, *if_exists)?)
        }
    };
    note_names(context, code, &names);
    Ok(Done::default())
}

/// The server's rules for passwords.
fn policy(context: &StatementContext) -> PasswordPolicy {
    let globals = context.database.globals();
    PasswordPolicy {
        now: context.clock.now_utc_micros,
        history: globals.unsigned("password_history"),
        reuse_days: globals.unsigned("password_reuse_interval"),
        requires_current: globals.is_on("password_require_current"),
    }
}

fn request<'a>(context: &'a StatementContext, grant: &'a Grant) -> GrantRequest<'a> {
    let database = context.session.current_database.as_deref();
    GrantRequest { grant, rights: &context.rights, database, now: context.clock.now_utc_micros }
}

/// A note for each name that was passed over.
fn note_names(context: &StatementContext, code: ErrorCode, names: &[String]) {
    let what = if code == ErrorCode::UserAlreadyExists { "already exists" } else { "does not exist" };
    for name in names {
        context.note(code, format!("Authorization ID {name} {what}."));
    }
}

fn warned(context: &StatementContext, warnings: Vec<(ErrorCode, String)>) -> Done {
    warnings.into_iter().for_each(|(code, message)| context.warn(code, message));
    Done::default()
}

/// Notes about users that were passed over, and the passwords that were made, as rows.
fn changed_users(context: &StatementContext, changed: ChangedUsers, code: ErrorCode) -> Done {
    note_names(context, code, &changed.skipped);
    if changed.generated.is_empty() {
        return Done::default();
    }
    let columns = vec![
        text_column("user", 32),
        text_column("host", 255),
        text_column("generated password", 255),
        column("auth_factor", SqlType::BIGINT, false),
    ];
    let row = |(key, password): (crate::accounts::AccountKey, String)| {
        vec![Value::Text(key.user), Value::Text(key.host), Value::Text(password), Value::Int(1)]
    };
    Done::result(columns, changed.generated.into_iter().map(row).collect())
}

/// A warning for each account that is gone and the definer of a view.
fn warn_of_definers(context: &StatementContext, users: &[UserName]) {
    let definitions = context.database.tables().definitions();
    let definers = || {
        let views = definitions.schemas.values().flat_map(|schema| schema.views.values());
        views.filter_map(|view| view.def.definer.as_ref())
    };
    for user in users {
        let key = resolve(user, &context.rights.account);
        if definers().any(|definer| definer.user == key.user && definer.host == key.host) {
            let message = format!("User {} is referenced as a definer account in a view.", key.in_quotes());
            context.warn(ErrorCode::UserIsDefiner, message);
        }
    }
}

/// The columns of a GRANT by their names in the table or view. Errors 1049, 1054, 1146.
fn granted_columns(context: &StatementContext, table: GrantedTable<'_>) -> Result<Vec<String>> {
    let GrantedTable { database, table: name, columns, may_be_missing } = table;
    let known = columns_of(context, database, name);
    if may_be_missing {
        return Ok(columns.to_vec());
    }
    let known = known?;
    let find = |column: &String| {
        let same = known.iter().find(|known| known.eq_ignore_ascii_case(column));
        same.cloned().ok_or_else(|| SqlError::unknown_column(column, name))
    };
    columns.iter().map(find).collect()
}

fn columns_of(context: &StatementContext, database: &str, name: &str) -> Result<Vec<String>> {
    let missing = || SqlError::no_such_table(database, name);
    if let Some(schema) = system_schema::of_name(database) {
        let def = context.virtual_tables.table(schema, name).ok_or_else(missing)?;
        return Ok(def.columns.iter().map(|column| column.name.clone()).collect());
    }
    let definitions = context.database.tables().definitions();
    let schema = definitions.schemas.get(database).ok_or_else(missing)?;
    if let Some(entry) = schema.tables.get(name) {
        return Ok(entry.def.columns.iter().map(|column| column.name.clone()).collect());
    }
    let view = schema.views.get(name).ok_or_else(missing)?;
    Ok(view.columns.iter().map(|column| column.name.clone()).collect())
}
