//! The rows of each SHOW.

use super::{Listing, engine_status, privileges, select, select_of, told};
use crate::{
    accounts::{self, Level, Privilege, Privileges},
    cost_tables,
    ddl::show_create::{self, NameQuotes},
    rows::text_column,
    statement::StatementContext,
    system_schema,
    tables::TableSet,
    virtual_tables::{status, variables},
};
use muster_sql::{Show, ShowFilter, UserName, VariableScope};
use muster_types::{ErrorCode, Result, SqlError, Value};
use std::sync::Arc;

fn text(s: impl Into<String>) -> Value {
    Value::Text(s.into())
}

/// The listing, and the filter over it.
pub(super) fn listing<'a>(context: &StatementContext, show: &'a Show) -> Result<(Listing, Option<&'a ShowFilter>)> {
    Ok(match show {
        Show::Databases { filter } => {
            let mut listing = select(context, "SCHEMATA", &[("Database", "SCHEMA_NAME")], |_| true)?;
            name_pattern(&mut listing, filter.as_ref());
            (listing, filter.as_ref())
        }
        Show::Tables { full, database, filter } => {
            let mut listing = tables(context, database.as_deref(), *full)?;
            name_pattern(&mut listing, filter.as_ref());
            (listing, filter.as_ref())
        }
        Show::TableStatus { database, filter } => (table_status(context, database.as_deref())?, filter.as_ref()),
        Show::Columns { full, table, filter } => {
            let (database, name) = context.qualify(table)?;
            (columns(context, &database, &name, *full)?, filter.as_ref())
        }
        Show::Index { table, filter } => {
            let (database, name) = context.qualify(table)?;
            (index(context, &database, &name)?, filter.as_ref())
        }
        Show::Variables { scope, filter } => (pairs(variables::shown(context, is_global(*scope))), filter.as_ref()),
        Show::Status { scope, filter } => (pairs(status::status(context, is_global(*scope))), filter.as_ref()),
        Show::Processlist { full } => (processlist(context, *full)?, None),
        Show::CreateTable(table) => {
            let (database, name) = context.qualify(table)?;
            (create_table(context, &database, &name)?, None)
        }
        Show::CreateView(table) => {
            let (database, name) = context.qualify(table)?;
            (create_view(context, &database, &name)?, None)
        }
        Show::CreateDatabase { name, if_not_exists } => (create_database(context, name, *if_not_exists)?, None),
        Show::CreateUser(user) => (create_user(context, user)?, None),
        Show::Engines => {
            let names = [
                ("Engine", "ENGINE"),
                ("Support", "SUPPORT"),
                ("Comment", "COMMENT"),
                ("Transactions", "TRANSACTIONS"),
                ("XA", "XA"),
                ("Savepoints", "SAVEPOINTS"),
            ];
            (select(context, "ENGINES", &names, |_| true)?, None)
        }
        Show::EngineStatus => (engine_status::innodb_status(context)?, None),
        Show::Collation { filter } => {
            let names = [
                ("Collation", "COLLATION_NAME"),
                ("Charset", "CHARACTER_SET_NAME"),
                ("Id", "ID"),
                ("Default", "IS_DEFAULT"),
                ("Compiled", "IS_COMPILED"),
                ("Sortlen", "SORTLEN"),
                ("Pad_attribute", "PAD_ATTRIBUTE"),
            ];
            (select(context, "COLLATIONS", &names, |_| true)?, filter.as_ref())
        }
        Show::CharacterSet { filter } => {
            let names = [
                ("Charset", "CHARACTER_SET_NAME"),
                ("Description", "DESCRIPTION"),
                ("Default collation", "DEFAULT_COLLATE_NAME"),
                ("Maxlen", "MAXLEN"),
            ];
            (select(context, "CHARACTER_SETS", &names, |_| true)?, filter.as_ref())
        }
        Show::Grants { user, using } => (grants(context, user.as_ref(), using)?, None),
        Show::Plugins => {
            let names = [("Name", 64), ("Status", 10), ("Type", 80), ("Library", 64), ("License", 80)];
            let row =
                |name: &str, kind: &str| vec![text(name), text("ACTIVE"), text(kind), Value::Null, text("Apache-2.0")];
            let rows = vec![
                row("caching_sha2_password", "AUTHENTICATION"),
                row("mysql_native_password", "AUTHENTICATION"),
                row("InnoDB", "STORAGE ENGINE"),
            ];
            (Listing { columns: names.iter().map(|(n, l)| text_column(n, *l)).collect(), rows }, None)
        }
        Show::Privileges => (privileges::privileges(), None),
        Show::Empty { what } => (empty(what), None),
        Show::Warnings { .. } | Show::Errors { .. } => {
            return Err(SqlError::internal("SHOW WARNINGS is the session's to answer"));
        }
    })
}

/// MySQL names the first column after the pattern too.
fn name_pattern(listing: &mut Listing, filter: Option<&ShowFilter>) {
    if let (Some(ShowFilter::Like(pattern)), Some(column)) = (filter, listing.columns.first_mut()) {
        column.name.push_str(&format!(" ({pattern})"));
    }
}

fn is_global(scope: Option<VariableScope>) -> bool {
    scope == Some(VariableScope::Global)
}

fn pairs(pairs: Vec<(String, String)>) -> Listing {
    let columns = vec![text_column("Variable_name", 64), text_column("Value", 4096)];
    Listing { columns, rows: pairs.into_iter().map(|(n, v)| vec![Value::Text(n), Value::Text(v)]).collect() }
}

/// The database meant, by its own name: it must be there and be seen.
fn shown_database(context: &StatementContext, database: Option<&str>) -> Result<String> {
    let name = match database {
        Some(name) => name.to_owned(),
        None => context.require_database()?,
    };
    context.rights.check_use(&name)?;
    if let Some(schema) = system_schema::of_name(&name) {
        return Ok(schema.into());
    }
    context.database.tables().definitions().schema(&name)?;
    Ok(name)
}

fn tables(context: &StatementContext, database: Option<&str>, full: bool) -> Result<Listing> {
    let database = shown_database(context, database)?;
    let name = format!("Tables_in_{database}");
    let wanted = Value::Text(database);
    let mut names = vec![(name.as_str(), "TABLE_NAME")];
    if full {
        names.push(("Table_type", "TABLE_TYPE"));
    }
    let mut listing = select(context, "TABLES", &names, |get| get("TABLE_SCHEMA") == wanted)?;
    listing.rows.sort_by_key(|row| row.first().and_then(|v| v.to_text(0)));
    Ok(listing)
}

fn table_status(context: &StatementContext, database: Option<&str>) -> Result<Listing> {
    let wanted = Value::Text(shown_database(context, database)?);
    let names = [
        ("Name", "TABLE_NAME"),
        ("Engine", "ENGINE"),
        ("Version", "VERSION"),
        ("Row_format", "ROW_FORMAT"),
        ("Rows", "TABLE_ROWS"),
        ("Avg_row_length", "AVG_ROW_LENGTH"),
        ("Data_length", "DATA_LENGTH"),
        ("Max_data_length", "MAX_DATA_LENGTH"),
        ("Index_length", "INDEX_LENGTH"),
        ("Data_free", "DATA_FREE"),
        ("Auto_increment", "AUTO_INCREMENT"),
        ("Create_time", "CREATE_TIME"),
        ("Update_time", "UPDATE_TIME"),
        ("Check_time", "CHECK_TIME"),
        ("Collation", "TABLE_COLLATION"),
        ("Checksum", "CHECKSUM"),
        ("Create_options", "CREATE_OPTIONS"),
        ("Comment", "TABLE_COMMENT"),
    ];
    let mut listing = select(context, "TABLES", &names, |get| get("TABLE_SCHEMA") == wanted)?;
    listing.rows.sort_by_key(|row| row.first().and_then(|v| v.to_text(0)));
    Ok(listing)
}

/// Checks that there is such a table or view and that the session may see it. Returns its database's and its own name.
fn shown_table(context: &StatementContext, database: &str, name: &str) -> Result<(Value, Value)> {
    if let Some(schema) = system_schema::of_name(database) {
        if !context.rights.sees_table(schema, name) {
            context.rights.check_table(schema, name, Privilege::Select, "SELECT")?;
        }
        let table = context.virtual_tables.table(schema, name);
        let table = table.ok_or_else(|| SqlError::no_such_table(schema, name))?;
        return Ok((text(schema), text(&table.name)));
    }
    if !context.rights.sees_table(database, name) {
        context.check_table(database, name, Privilege::Select, "SELECT")?;
    }
    let snapshot = context.tables.definitions();
    let schema = snapshot.schema(database)?;
    if !schema.tables.contains_key(name) && !schema.views.contains_key(name) {
        return Err(SqlError::no_such_table(database, name));
    }
    Ok((text(database), text(name)))
}

pub(super) fn columns(context: &StatementContext, database: &str, name: &str, full: bool) -> Result<Listing> {
    let is_temporary = context.tables.is_temporary(database, name);
    let tables = tables_of(context, is_temporary);
    let (database, table) = shown_table(context, database, name)?;
    let short = [
        ("Field", "COLUMN_NAME"),
        ("Type", "COLUMN_TYPE"),
        ("Null", "IS_NULLABLE"),
        ("Key", "COLUMN_KEY"),
        ("Default", "COLUMN_DEFAULT"),
        ("Extra", "EXTRA"),
    ];
    let long = [
        ("Field", "COLUMN_NAME"),
        ("Type", "COLUMN_TYPE"),
        ("Collation", "COLLATION_NAME"),
        ("Null", "IS_NULLABLE"),
        ("Key", "COLUMN_KEY"),
        ("Default", "COLUMN_DEFAULT"),
        ("Extra", "EXTRA"),
        ("Privileges", "PRIVILEGES"),
        ("Comment", "COLUMN_COMMENT"),
    ];
    let names: &[(&str, &str)] = if full { &long } else { &short };
    let is_shown = |get: &dyn Fn(&str) -> Value| get("TABLE_SCHEMA") == database && get("TABLE_NAME") == table;
    let mut listing = select_of(context, &tables, "COLUMNS", names, is_shown)?;
    if let Some(at) = names.iter().position(|(shown, _)| is_temporary && *shown == "Extra") {
        // As MySQL has it.
        listing.columns[at].nullable = true;
        let extras = listing.rows.iter_mut().map(|row| &mut row[at]);
        extras.filter(|extra| **extra == text("")).for_each(|extra| *extra = Value::Null);
    }
    Ok(listing)
}

/// The tables among which a table is that is shown.
fn tables_of(context: &StatementContext, is_temporary: bool) -> Arc<TableSet> {
    match is_temporary {
        true => context.tables.temporary(),
        false => context.database.tables().current(),
    }
}

fn index(context: &StatementContext, database: &str, name: &str) -> Result<Listing> {
    let tables = tables_of(context, context.tables.is_temporary(database, name));
    let (database, table) = shown_table(context, database, name)?;
    let names = [
        ("Table", "TABLE_NAME"),
        ("Non_unique", "NON_UNIQUE"),
        ("Key_name", "INDEX_NAME"),
        ("Seq_in_index", "SEQ_IN_INDEX"),
        ("Column_name", "COLUMN_NAME"),
        ("Collation", "COLLATION"),
        ("Cardinality", "CARDINALITY"),
        ("Sub_part", "SUB_PART"),
        ("Packed", "PACKED"),
        ("Null", "NULLABLE"),
        ("Index_type", "INDEX_TYPE"),
        ("Comment", "COMMENT"),
        ("Index_comment", "INDEX_COMMENT"),
        ("Visible", "IS_VISIBLE"),
        ("Expression", "EXPRESSION"),
    ];
    let is_shown = |get: &dyn Fn(&str) -> Value| get("TABLE_SCHEMA") == database && get("TABLE_NAME") == table;
    select_of(context, &tables, "STATISTICS", &names, is_shown)
}

/// Most characters of a statement without FULL.
const SHORT_INFO_CHARS: usize = 100;

fn processlist(context: &StatementContext, full: bool) -> Result<Listing> {
    let names = [
        ("Id", "ID"),
        ("User", "USER"),
        ("Host", "HOST"),
        ("db", "DB"),
        ("Command", "COMMAND"),
        ("Time", "TIME"),
        ("State", "STATE"),
        ("Info", "INFO"),
    ];
    let mut listing = select(context, "PROCESSLIST", &names, |_| true)?;
    for row in listing.rows.iter_mut().filter(|_| !full) {
        if let Some(Value::Text(info)) = row.last_mut() {
            *info = info.chars().take(SHORT_INFO_CHARS).collect();
        }
    }
    Ok(listing)
}

fn create_table(context: &StatementContext, database: &str, name: &str) -> Result<Listing> {
    // An account with rights on some columns only is shown these, not the table.
    let whole = context.rights.on_table(database, name).both(Privileges::all(Level::Table));
    if whole.is_empty() && !system_schema::is_for_all(database) && !context.tables.is_temporary(database, name) {
        return Err(context.rights.table_denied(name, "SHOW"));
    }
    let (_, shown) = shown_table(context, database, name)?;
    let tables = context.tables.current();
    let stored = tables.definitions.schemas.get(database).and_then(|schema| schema.tables.get(name));
    let costs = cost_tables::is_name(database, name).then(|| cost_tables::entry(name)).flatten();
    let (entry, auto_increment) = match (stored, &costs) {
        (Some(entry), _) => (&**entry, tables.auto_increment(entry.def.id)?.next()),
        (None, Some(entry)) => (entry, 1),
        (None, None) if system_schema::is_name(database) => {
            return Err(SqlError::unsupported("SHOW CREATE TABLE for information_schema"));
        }
        (None, None) => return create_view(context, database, name),
    };
    let names = NameQuotes::of(&context.session.variables);
    let created = show_create::table(entry, auto_increment, context.clock.time_zone, names);
    Ok(Listing {
        columns: vec![text_column("Table", 64), text_column("Create Table", 1 << 20)],
        rows: vec![vec![shown, text(created)]],
    })
}

fn create_view(context: &StatementContext, database: &str, name: &str) -> Result<Listing> {
    let (_, shown) = shown_table(context, database, name)?;
    for (p, command) in [(Privilege::Select, "SELECT"), (Privilege::ShowView, "SHOW VIEW")] {
        context.rights.check_table(database, name, p, command)?;
    }
    let snapshot = context.database.tables().definitions();
    if !snapshot.schemas.get(database).is_some_and(|schema| schema.has(name)) {
        // A temporary table is no view.
        return Err(SqlError::no_such_table(database, name));
    }
    let view = snapshot
        .schemas
        .get(database)
        .and_then(|s| s.views.get(name))
        .ok_or_else(|| SqlError::new(ErrorCode::WrongObject, format!("'{database}.{name}' is not VIEW")))?;
    let names = NameQuotes::of(&context.session.variables);
    Ok(Listing {
        columns: vec![
            text_column("View", 64),
            text_column("Create View", 1 << 20),
            text_column("character_set_client", 64),
            text_column("collation_connection", 64),
        ],
        rows: vec![vec![shown, text(show_create::view(view, names)), text("utf8mb4"), text("utf8mb4_0900_ai_ci")]],
    })
}

fn create_database(context: &StatementContext, name: &str, if_not_exists: bool) -> Result<Listing> {
    let name = shown_database(context, Some(name))?;
    let snapshot = context.database.tables().definitions();
    let schema = snapshot.schema(&name)?;
    let names = NameQuotes::of(&context.session.variables);
    Ok(Listing {
        columns: vec![text_column("Database", 64), text_column("Create Database", 1024)],
        rows: vec![vec![text(&name), text(show_create::database(&name, schema, if_not_exists, names))]],
    })
}

fn grants(context: &StatementContext, user: Option<&UserName>, using: &[UserName]) -> Result<Listing> {
    let (accounts, rights) = (context.database.accounts(), &context.rights);
    let mandatory = context.database.mandatory_roles();
    let account = user.map_or_else(|| rights.account.clone(), |name| accounts::resolve(name, &rights.account));
    let lines = match account == rights.account && using.is_empty() {
        true => accounts.show_own_grants(&account, rights.counting_roles(), &mandatory)?,
        false => {
            if account != rights.account {
                rights.check_table(system_schema::MYSQL, "user", Privilege::Select, "SELECT")?;
            }
            accounts.show_grants(&account, using, &mandatory)?
        }
    };
    Ok(Listing {
        columns: vec![text_column(&format!("Grants for {}@{}", account.user, account.host), 1024)],
        rows: lines.into_iter().map(|l| vec![Value::Text(l)]).collect(),
    })
}

fn create_user(context: &StatementContext, user: &UserName) -> Result<Listing> {
    let rights = &context.rights;
    if accounts::resolve(user, &rights.account) != rights.account {
        rights.check_read_database(system_schema::MYSQL)?;
    }
    let (account, statement) = context.database.accounts().show_create_user(user, &rights.account)?;
    Ok(Listing {
        columns: vec![text_column(&format!("CREATE USER for {}@{}", account.user, account.host), 1024)],
        rows: vec![vec![Value::Text(statement)]],
    })
}

/// Columns of what there is none of: the ones that clients read by name.
fn empty(what: &str) -> Listing {
    let mut names: Vec<&str> = told::names(what).collect();
    if names.is_empty() {
        names.push("Name");
    }
    Listing { columns: names.iter().map(|n| text_column(n, 64)).collect(), rows: Vec::new() }
}
