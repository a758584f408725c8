//! CREATE, ALTER and DROP VIEW.

use super::{check_length, check_not_virtual, check_table_name};
use crate::{
    accounts::Privilege,
    catalog::{ViewEntry, is_view},
    metadata_locks::TableUse,
    statement::{Done, StatementContext, query},
};
use muster_algebra::{ColumnDef, Definer, TableId, ViewAlgorithm, ViewDef};
use muster_sql::{Bound, CreateView, Parameters, Query, TableName, ViewSecurity};
use muster_types::{ErrorCode, FloatDigits, Result, SqlError, SqlModes};
use std::sync::Arc;

/// Characters of the longest name of a column.
const NAME_CHARS_MAX: usize = 64;
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
    let full_name = (database, name);
    if statement.is_alter {
        check_is_view(context, &full_name)?;
    }
    if statement.query.parameters() > 0 {
        return Err(SqlError::new(ErrorCode::ViewSelectVariable, "View's SELECT contains a variable or parameter"));
    }
    context.database.tables().definitions().schema(&full_name.0)?;
    context.transaction.check_nothing_locked()?;
    // Bound from the text that is kept, so that places in it are known.
    let muster_sql::Statement::Query(query) = muster_sql::parse(&statement.query_text)? else {
        return Err(SqlError::unsupported("SELECT .. INTO"));
    };
    loop {
        // Transactions that use what has the name end first.
        let locked = context.lock_names([&full_name].into_iter(), TableUse::Alone)?.remove(&full_name);
        if statement.is_alter {
            check_is_view(context, &full_name)?;
        }
        let made = new_view(context, statement, &full_name, &query)?;
        if publish(context, statement.or_replace, locked, made)? {
            return Ok(Done::rows(0));
        }
    }
}

/// Errors 1146 and 1347 for ALTER VIEW of what is no view.
fn check_is_view(context: &StatementContext, (database, name): &(String, String)) -> Result<()> {
    let definitions = context.database.tables().definitions();
    let schema = definitions.schema(database)?;
    if schema.views.contains_key(name) {
        return Ok(());
    }
    Err(match schema.has(name) {
        true => not_a_view(database, name),
        false => SqlError::no_such_table(database, name),
    })
}

/// The entry of a view that is to be made. Its number is yet to be given.
fn new_view(
    context: &Arc<StatementContext>,
    statement: &CreateView,
    (database, name): &(String, String),
    query: &Query,
) -> Result<ViewEntry> {
    let (bound, tables) = query::bind(context, query, Parameters::Values(&[]))?;
    if bound.uses_variables {
        return Err(SqlError::new(ErrorCode::ViewSelectVariable, "View's SELECT contains a variable or parameter"));
    }
    if let Some(id) = tables.used().into_iter().find(|id| id.is_temporary()) {
        let table = tables.definitions().name_of(id).map_or("", |(_, name)| name);
        let message = format!("View's SELECT refers to a temporary table '{table}'");
        return Err(SqlError::new(ErrorCode::ViewSelectTemporary, message));
    }
    if !statement.columns.is_empty() && statement.columns.len() != bound.outputs.len() {
        let message = "In definition of view, derived table or common table expression, SELECT list and column names \
                       list have different column counts";
        return Err(SqlError::new(ErrorCode::ViewWrongList, message));
    }
    let updatable = statement.algorithm != ViewAlgorithm::TempTable && is_updatable(context, query, &bound);
    if statement.check_option.is_some() && !updatable {
        let message = format!("CHECK OPTION on non-updatable view '{database}.{name}'");
        return Err(SqlError::new(ErrorCode::ViewNonupdatableCheck, message));
    }
    let given = given_names(context, statement, &bound)?;
    let columns = columns_of(&bound, &given)?;
    let def = ViewDef {
        database: database.clone(),
        name: name.clone(),
        columns: given,
        query: muster_sql::without_stars(&statement.query_text, &bound.stars),
        current_database: context.session.current_database.clone(),
        definer: definer(context, &statement.security)?,
        check_option: statement.check_option,
        algorithm: statement.algorithm,
    };
    Ok(ViewEntry { id: TableId(0), def: Arc::new(def), columns, updatable })
}

/// The names that the definition gives the columns; none if they are those of the query. What is kept of the query is
/// written for the default `sql_mode`. Where its columns have other names than those of the query as it was written,
/// the latter are given.
fn given_names(context: &Arc<StatementContext>, statement: &CreateView, bound: &Bound) -> Result<Vec<String>> {
    let modes = context.session.binding.settings().modes;
    if !statement.columns.is_empty() {
        return Ok(statement.columns.clone());
    }
    let written = match modes.has(SqlModes::OF_PARSING) {
        true => valid_names(&query::bind(context, &statement.query, Parameters::Values(&[]))?.0),
        false => valid_names(bound),
    };
    let is_kept = written.iter().eq(bound.outputs.iter().map(|(_, name)| name));
    Ok(if is_kept { Vec::new() } else { written })
}

/// The names of a query's columns as a view has them: those of columns as they are written. Names that nobody has given
/// become others where they are none for a column (MySQL: `make_valid_column_names`) or stand twice
/// (`make_unique_view_field_name`).
fn valid_names(bound: &Bound) -> Vec<String> {
    let is_generated = |i: usize| bound.generated_names.get(i).copied().unwrap_or(false);
    let mut names: Vec<String> = match bound.written_names.len() == bound.outputs.len() {
        true => bound.written_names.clone(),
        false => bound.outputs.iter().map(|(_, name)| name.clone()).collect(),
    };
    for (i, name) in names.iter_mut().enumerate().filter(|(i, _)| is_generated(*i)) {
        if name.is_empty() || name.ends_with(' ') || name.chars().count() > NAME_CHARS_MAX {
            *name = format!("Name_exp_{}", i + 1);
        }
    }
    for i in 0..names.len() {
        for before in 0..i {
            if !names[i].eq_ignore_ascii_case(&names[before]) {
                continue;
            }
            let Some(renamed) = [i, before].into_iter().find(|at| is_generated(*at)) else { break };
            names[renamed] = unique_name(&names, renamed, i);
        }
    }
    names
}

/// Another name for the column at `at`, which none of the columns up to `last` has.
fn unique_name(names: &[String], at: usize, last: usize) -> String {
    let name = &names[at];
    let taken = |new: &String| (0..=last).any(|i| i != at && names[i].eq_ignore_ascii_case(new));
    let numbered = (1..).map(|n: usize| format!("Name_exp_{n}_{name}"));
    let mut tried = std::iter::once(format!("Name_exp_{name}")).chain(numbered);
    tried.find(|new| !taken(new)).unwrap_or_default()
}

/// The columns of a view, by the names that its definition gives them, if it gives any. Errors 1059, 1060.
fn columns_of(bound: &Bound, names: &[String]) -> Result<Vec<ColumnDef>> {
    let mut columns: Vec<ColumnDef> = Vec::with_capacity(bound.outputs.len());
    for (i, (id, output)) in bound.outputs.iter().enumerate() {
        let column = names.get(i).unwrap_or(output);
        check_length(column)?;
        if column.is_empty() {
            return Err(SqlError::new(ErrorCode::WrongColumnName, "Incorrect column name ''"));
        }
        if columns.iter().any(|c| c.name.eq_ignore_ascii_case(column)) {
            return Err(SqlError::duplicate_column(column));
        }
        let meta = bound.columns.get(*id);
        columns.push(ColumnDef {
            // Those of a view's column are not declared: there is room for all that a double has.
            digits: meta.decimals.map(|scale| FloatDigits { precision: DOUBLE_DIGITS + scale, scale }),
            ..ColumnDef::plain(column.clone(), meta.ty, bound.columns.is_nullable_result(*id))
        });
    }
    Ok(columns)
}

/// Puts a view into the catalog. `locked`: what had its name when that was locked. Returns false if something else has
/// it by now, which is to be locked first. Errors: 1050, 1347.
fn publish(context: &StatementContext, or_replace: bool, locked: Option<TableId>, view: ViewEntry) -> Result<bool> {
    let (database, name) = (view.def.database.clone(), view.def.name.clone());
    context.database.tables().change(|next| {
        let found = next.lock_id(&database, &name);
        if found != locked {
            return Ok(false);
        }
        let id = match found {
            None => next.next_view_id(),
            Some(_) if !or_replace => return Err(SqlError::table_exists(&name)),
            Some(id) if !is_view(id) => return Err(not_a_view(&database, &name)),
            Some(id) => id,
        };
        next.schema_mut(&database)?.views.insert(name.clone(), Arc::new(ViewEntry { id, ..view }));
        Ok(true)
    })
}

fn not_a_view(database: &str, name: &str) -> SqlError {
    SqlError::new(ErrorCode::WrongObject, format!("'{database}.{name}' is not VIEW"))
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
                context.rights.check_global_or(Privilege::Super, "SET_USER_ID", "SUPER or SET_USER_ID")?;
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
        if wanted.contains(&(database.clone(), name.clone())) {
            return Err(SqlError::table_not_unique(&name));
        }
        wanted.push((database, name));
    }
    context.transaction.check_nothing_locked()?;
    let locked = context.lock_names(wanted.iter(), TableUse::Alone)?;
    let missing = context.database.tables().change(|next| {
        let mut missing = Vec::new();
        for wanted in &wanted {
            let (database, name) = wanted;
            match locked.get(wanted) {
                // A view that has come since the names were locked stays.
                None => missing.push(format!("{database}.{name}")),
                Some(id) if !is_view(*id) => return Err(not_a_view(database, name)),
                Some(_) => drop(next.schema_mut(database)?.views.remove(name)),
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
