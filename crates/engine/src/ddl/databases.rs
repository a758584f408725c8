//! CREATE, ALTER and DROP DATABASE.

use super::{check_database_name, check_not_virtual, foreign_keys::refuse_drop_of_parents};
use crate::{
    accounts::Privilege,
    catalog::{Schema, Snapshot},
    charset,
    metadata_locks::TableUse,
    statement::{Done, StatementContext},
};
use muster_sql::CreateDatabase;
use muster_types::{ErrorCode, Result, SqlError};

pub fn create_database(context: &StatementContext, statement: &CreateDatabase) -> Result<Done> {
    let name = match &statement.name {
        Some(name) => name.clone(),
        None => context.require_database()?,
    };
    check_database_name(&name)?;
    check_not_virtual(context, &name)?;
    context.rights.check_database(&name, Privilege::Create)?;
    context.warn_of_charset(statement.charset.as_deref(), statement.collation.as_deref());
    let collation = charset::resolve(statement.charset.as_deref(), statement.collation.as_deref())?;
    let collation = match collation {
        Some(c) => c,
        None => charset::collation(&context.session.variables.text("collation_server"))?,
    };
    let exists = context.database.tables().change(|catalog| {
        if catalog.schemas.contains_key(&name) {
            return Ok(true);
        }
        catalog.schemas.insert(name.clone(), Schema::new(collation));
        Ok(false)
    })?;
    if exists {
        let message = format!("Can't create database '{name}'; database exists");
        if !statement.if_not_exists {
            return Err(SqlError::new(ErrorCode::DbCreateExists, message));
        }
        context.note(ErrorCode::DbCreateExists, message);
    }
    Ok(Done::rows(1))
}

pub fn alter_database(context: &StatementContext, statement: &CreateDatabase) -> Result<Done> {
    let name = match &statement.name {
        Some(name) => name.clone(),
        None => context.require_database()?,
    };
    check_not_virtual(context, &name)?;
    context.rights.check_database(&name, Privilege::Alter)?;
    context.warn_of_charset(statement.charset.as_deref(), statement.collation.as_deref());
    let collation = charset::resolve(statement.charset.as_deref(), statement.collation.as_deref())?;
    context.database.tables().change(|catalog| {
        let Some(schema) = catalog.schemas.get_mut(&name) else {
            let message = format!("Database '{name}' doesn't exist");
            return Err(SqlError::new(ErrorCode::DatabaseDoesNotExist, message));
        };
        schema.collation = collation.unwrap_or(schema.collation);
        Ok(())
    })?;
    Ok(Done::rows(1))
}

/// Affected rows: the number of tables dropped with it.
pub fn drop_database(context: &StatementContext, name: &str, if_exists: bool) -> Result<Done> {
    check_not_virtual(context, name)?;
    context.rights.check_database(name, Privilege::Drop)?;
    let tables = context.database.tables();
    let names = || -> Vec<(String, String)> {
        let definitions = tables.definitions();
        let names = definitions.schemas.get(name).map_or_else(Vec::new, |schema| schema.names().cloned().collect());
        names.into_iter().map(|of_table| (name.to_owned(), of_table)).collect()
    };
    loop {
        let locked = names();
        context.lock_names(locked.iter(), TableUse::Drop)?;
        if names() == locked {
            break;
        }
    }
    let checks_keys = context.checks_foreign_keys();
    let remove = |next: &mut Snapshot| {
        let schema = next.schemas.get(name).filter(|_| checks_keys);
        let of_database = |table: &String| (name.to_owned(), table.clone());
        let dropped: Vec<_> = schema.map_or_else(Vec::new, |schema| schema.tables.keys().map(of_database).collect());
        refuse_drop_of_parents(next, &dropped)?;
        Ok(next.schemas.remove(name))
    };
    let dropped = tables.in_reserve(|| tables.change(remove))?;
    let Some(schema) = dropped else {
        let message = format!("Can't drop database '{name}'; database doesn't exist");
        if !if_exists {
            return Err(SqlError::new(ErrorCode::DbDropExists, message));
        }
        context.note(ErrorCode::DbDropExists, message);
        return Ok(Done::rows(0));
    };
    Ok(Done::rows((schema.tables.len() + schema.views.len()) as u64))
}
