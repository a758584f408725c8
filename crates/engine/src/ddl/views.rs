//! CREATE and DROP VIEW.

use super::{check_length, check_not_virtual, check_table_name};
use crate::{
    accounts::Privilege,
    catalog::ViewEntry,
    statement::{BindEnvironment, Done, StatementContext, StatementTables},
};
use muster_algebra::{ColumnDef, Definer, ViewDef};
use muster_sql::{Bound, CreateView, Parameters, Query, TableName, ViewSecurity};
use muster_types::{ErrorCode, FloatDigits, Result, SqlError};
use std::sync::Arc;

/// Digits that MySQL gives a computed floating-point number in front of the point.
const DOUBLE_DIGITS: u8 = 17;

pub fn create_view(context: &Arc<StatementContext>, statement: &CreateView) -> Result<Done> {
    let (database, name) = context.qualify(&statement.name)?;
    check_table_name(&name)?;
    context.rights.check_table(&database, &name, Privilege::CreateView, "CREATE VIEW")?;
    if statement.or_replace {
        context.rights.check_table(&database, &name, Privilege::Drop, "DROP")?;
    }
    check_not_virtual(context, &database)?;
    if statement.query.parameters() > 0 {
        return Err(SqlError::new(ErrorCode::ViewSelectVariable, "View's SELECT contains a variable or parameter"));
    }
    context.database.tables().definitions().schema(&database)?;
    // Bound from the text that is kept, so that places in it are known.
    let muster_sql::Statement::Query(query) = muster_sql::parse(&statement.query_text)? else {
        return Err(SqlError::unsupported("SELECT .. INTO"));
    };
    let tables = StatementTables::new(context);
    let environment = BindEnvironment::new(context);
    let bound = muster_sql::bind_query(&query, &environment.with(&tables, Parameters::Values(&[])))?;
    if !statement.columns.is_empty() && statement.columns.len() != bound.outputs.len() {
        let message = "In definition of view, derived table or common table expression, SELECT list and column names \
                       list have different column counts";
        return Err(SqlError::new(ErrorCode::ViewWrongList, message));
    }
    let updatable = !statement.temporary_table && is_updatable(context, &query, &bound);
    if statement.check_option.is_some() && !updatable {
        let message = format!("CHECK OPTION on non-updatable view '{database}.{name}'");
        return Err(SqlError::new(ErrorCode::ViewNonupdatableCheck, message));
    }
    let mut columns: Vec<ColumnDef> = Vec::with_capacity(bound.outputs.len());
    for (i, (id, output)) in bound.outputs.iter().enumerate() {
        let column = statement.columns.get(i).unwrap_or(output);
        check_length(column)?;
        if columns.iter().any(|c| c.name.eq_ignore_ascii_case(column)) {
            return Err(SqlError::duplicate_column(column));
        }
        let meta = bound.columns.get(*id);
        columns.push(ColumnDef {
            name: column.clone(),
            ty: meta.ty,
            // Those of a view's column are not declared: there is room for all that a double has.
            display_width: None,
            digits: meta.decimals.map(|scale| FloatDigits { precision: DOUBLE_DIGITS + scale, scale }),
            nullable: meta.nullable,
            default: None,
            auto_increment: false,
            comment: String::new(),
        });
    }
    let def = ViewDef {
        database: database.clone(),
        name: name.clone(),
        columns: statement.columns.clone(),
        query: muster_sql::without_stars(&statement.query_text, &bound.stars),
        current_database: context.session.current_database.clone(),
        definer: definer(context, &statement.security)?,
        check_option: statement.check_option,
    };
    context.database.tables().change(|next| {
        let schema = next.schema_mut(&database)?;
        let taken = schema.tables.contains_key(&name) || (schema.views.contains_key(&name) && !statement.or_replace);
        if taken {
            return Err(SqlError::table_exists(&name));
        }
        let entry = ViewEntry { def: Arc::new(def), columns, updatable };
        schema.views.insert(name.clone(), Arc::new(entry));
        Ok(())
    })?;
    Ok(Done::rows(0))
}

/// Returns true if the query's form is that of an updatable view and every view that it reads in FROM is updatable.
fn is_updatable(context: &StatementContext, query: &Query, bound: &Bound) -> bool {
    let current = context.session.current_database.as_deref();
    let Some(tables) = muster_sql::updatable_tables(query, bound, current) else { return false };
    let definitions = context.database.tables().definitions();
    tables.iter().all(|(database, name)| {
        // Tables of `information_schema` are not in the catalog.
        let schema = definitions.schemas.get(database);
        schema.is_some_and(|s| s.tables.contains_key(name) || s.views.get(name).is_some_and(|v| v.updatable))
    })
}

/// Whose rights will count. Error 1227 for another's than one's own without SUPER.
fn definer(context: &StatementContext, security: &ViewSecurity) -> Result<Option<Definer>> {
    let account = &context.rights.account;
    let own = Definer { user: account.user.clone(), host: account.host.clone() };
    Ok(match security {
        ViewSecurity::Invoker => None,
        ViewSecurity::Definer(name) if !name.current => {
            let named = Definer { user: name.user.clone(), host: name.host.clone() };
            if named != own {
                context.rights.check_global(Privilege::Super)?;
            }
            Some(named)
        }
        ViewSecurity::Definer(_) | ViewSecurity::Creator => Some(own),
    })
}

pub fn drop_views(context: &StatementContext, names: &[TableName], if_exists: bool) -> Result<Done> {
    let mut wanted = Vec::with_capacity(names.len());
    for name in names {
        let (database, name) = context.qualify(name)?;
        context.rights.check_table(&database, &name, Privilege::Drop, "DROP")?;
        check_not_virtual(context, &database)?;
        wanted.push((database, name));
    }
    let missing = context.database.tables().change(|next| {
        let mut missing = Vec::new();
        for (database, name) in &wanted {
            let schema = next.schemas.get_mut(database);
            let Some(schema) = schema else {
                missing.push(format!("{database}.{name}"));
                continue;
            };
            if schema.tables.contains_key(name) {
                let message = format!("'{database}.{name}' is not VIEW");
                return Err(SqlError::new(ErrorCode::WrongObject, message));
            }
            if schema.views.remove(name).is_none() {
                missing.push(format!("{database}.{name}"));
            }
        }
        if !missing.is_empty() && !if_exists {
            return Err(SqlError::unknown_tables(&missing));
        }
        Ok(missing)
    })?;
    for name in missing {
        let unknown = SqlError::unknown_tables(&[name]);
        context.note(unknown.code, unknown.message);
    }
    Ok(Done::rows(0))
}
