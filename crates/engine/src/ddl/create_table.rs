//! CREATE TABLE, CREATE TABLE .. LIKE, of stored and of temporary tables.

use super::{
    check_not_virtual, check_table_name, columns,
    expressions::{self, NewChecks},
    foreign_keys,
    keys::{self, Keys},
};
use crate::{
    accounts::Privilege,
    catalog::{Snapshot, TableEntry, TableExtras, now_utc_micros, schema_of},
    charset,
    metadata_locks::TableUse,
    statement::{Done, StatementContext},
    tables::{Content, UnpublishedRows},
    transaction::TemporaryChange,
};
use muster_algebra::{TableDef, TableId};
use muster_sql::{CreateTable, ForeignKeySpec, IndexSpec, TableName, TableOptions};
use muster_storage::TableStatistics;
use muster_types::{ErrorCode, Result, SqlError, SqlModes};
use std::{borrow::Cow, collections::BTreeMap, sync::Arc};

/// Engines that other servers have: their name is taken, and the table is Muster's all the same.
const OWN_ENGINES: [&str; 2] = ["innodb", "muster"];
/// The other engines of MySQL 8.0, in whose place tables get the own one, and MariaDB's.
const OTHER_ENGINES: [&str; 9] =
    ["myisam", "memory", "heap", "csv", "archive", "blackhole", "mrg_myisam", "merge", "aria"];

pub fn create_table(context: &Arc<StatementContext>, statement: &CreateTable) -> Result<Done> {
    create(context, statement, false).map(|_| Done::rows(0))
}

/// Makes a table that the statement goes on to fill: until it is finished, nobody else sees it. `None` if there is one
/// of the name already and that is no error.
pub fn create_table_to_fill<'a>(
    context: &'a Arc<StatementContext>,
    statement: &CreateTable,
) -> Result<Option<UnfinishedTable<'a>>> {
    let (database, name) = context.qualify(&statement.name)?;
    let made = create(context, statement, true)?;
    Ok(made.map(|id| {
        let _ = context.filled_table.set(id);
        UnfinishedTable { context, database, name, id }
    }))
}

/// A table that its statement fills. Unless it is finished, it goes again with its rows and its files, whatever ends
/// the statement. The catalog's file does not have it before it is finished, so a crash leaves nothing of it either.
#[must_use]
pub struct UnfinishedTable<'a> {
    context: &'a StatementContext,
    database: String,
    name: String,
    id: TableId,
}

impl UnfinishedTable<'_> {
    /// Shows the table to all. Its rows are committed before: the log has them before it has the definition, so after a
    /// crash both are there, or neither.
    ///
    /// A temporary table is of no transaction, but its rows are: they are kept or undone with the others.
    pub fn finish(self) -> Result<()> {
        if self.id.is_temporary() {
            self.context.transaction.note_temporary(TemporaryChange::Created);
        } else {
            self.context.transaction.commit_statement()?;
        }
        self.context.tables.change_of(self.id, |next| {
            let schema = next.schema_mut(&self.database)?;
            // Nobody else could take it away: it is locked.
            if let Some(entry) = schema.unfinished.remove(&self.name) {
                schema.tables.insert(self.name.clone(), entry);
            }
            Ok(())
        })
    }
}

impl Drop for UnfinishedTable<'_> {
    fn drop(&mut self) {
        let tables = &self.context.tables;
        if !tables.definitions().unfinished().any(|entry| entry.def.id == self.id) {
            return;
        }
        // Its rows go with it, whether they are undone before or not.
        if let Err(e) = self.context.transaction.take_back_statement() {
            tracing::warn!("the rows of table {} go with it, though they are not undone: {e}", self.name);
        }
        // The stored catalog does not change, so this does not fail.
        let removed = tables.change_of(self.id, |next| {
            let schema = next.schemas.get_mut(&self.database);
            Ok(schema.map(|schema| schema.unfinished.retain(|_, entry| entry.def.id != self.id)))
        });
        if let Err(e) = removed {
            tracing::warn!("table {} stays unfinished until the next start: {e}", self.name);
        }
    }
}

/// What `sql_mode` says of the engine and of places of files. Errors: 1286 with NO_ENGINE_SUBSTITUTION for an unknown
/// engine, which otherwise is warned of as is one that Muster does not have; 1235 for a place without NO_DIR_IN_CREATE.
pub fn check_options(context: &StatementContext, options: &TableOptions, table: &str) -> Result<()> {
    let modes = context.session.variables.settings().modes;
    for option in &options.directories {
        if !modes.has(SqlModes::NO_DIR_IN_CREATE) {
            return Err(SqlError::unsupported(format!("table option {option}")));
        }
        context.warn(ErrorCode::OptionIgnored, format!("<{option}> option ignored"));
    }
    let is_one_of = |engine: &str, names: &[&str]| names.iter().any(|name| name.eq_ignore_ascii_case(engine));
    if let Some(engine) = options.engine.as_deref().filter(|engine| !is_one_of(engine, &OWN_ENGINES)) {
        if !is_one_of(engine, &OTHER_ENGINES) {
            let message = format!("Unknown storage engine '{engine}'");
            if modes.has(SqlModes::NO_ENGINE_SUBSTITUTION) {
                return Err(SqlError::new(ErrorCode::UnknownStorageEngine, message));
            }
            context.warn(ErrorCode::UnknownStorageEngine, message);
        }
        context.warn(ErrorCode::UsingOtherEngine, format!("Using storage engine InnoDB for table '{table}'"));
    }
    Ok(())
}

/// The options that are kept to be shown, after those of a statement. DEFAULT takes one away.
pub fn kept_options(before: &BTreeMap<String, String>, options: &TableOptions) -> BTreeMap<String, String> {
    let mut kept = before.clone();
    for (word, value) in &options.kept {
        let is_default = value == "DEFAULT" || value == "0" && !word.starts_with("STATS_") && *word != "PACK_KEYS";
        match is_default {
            true => kept.remove(*word),
            false => kept.insert((*word).to_owned(), value.clone()),
        };
    }
    kept
}

/// `is_filled`: the statement goes on to fill the table. `None` if there is one of the name already.
fn create(context: &Arc<StatementContext>, statement: &CreateTable, is_filled: bool) -> Result<Option<TableId>> {
    if let Some(source) = &statement.like {
        return create_table_like(context, statement, source);
    }
    let (database, name) = begin(context, statement)?;
    let snapshot = context.database.tables().definitions();
    let schema = snapshot.schema(&database)?;
    if exists(context, &named(context, statement.temporary), (&database, &name), statement.if_not_exists)? {
        return Ok(None);
    }
    let options = &statement.options;
    check_options(context, options, &name)?;
    let collation =
        charset::resolve(options.charset.as_deref(), options.collation.as_deref())?.unwrap_or(schema.collation);
    let specs = match context.session.variables.settings().modes.has(SqlModes::REAL_AS_FLOAT) {
        true => Cow::Owned(statement.columns.iter().map(columns::real_as_float).collect()),
        false => Cow::Borrowed(&statement.columns[..]),
    };
    let mut columns = columns::columns(&specs, collation, context)?;
    context.warn_of_charset(options.charset.as_deref(), options.collation.as_deref());
    let mut keys = Keys::none();
    let of_columns = statement.columns.iter().flat_map(keys::of_column);
    let asks_null = |column: usize| statement.columns.get(column).is_some_and(|spec| spec.nullable == Some(true));
    let mut def = TableDef {
        id: TableId(0),
        database,
        name,
        columns: Vec::new(),
        indexes: Vec::new(),
        collation,
        comment: options.comment.clone().unwrap_or_default(),
        checks: Vec::new(),
        foreign_keys: Vec::new(),
    };
    let specs_of_keys = of_columns.chain(statement.indexes.iter().cloned()).collect();
    for spec in keys::without_needless(specs_of_keys, |spec: &IndexSpec| spec) {
        keys.add(context, &spec, (&def, &mut columns), &asks_null)?;
    }
    keys.sort(&columns);
    keys::check_auto_increment(&columns, &keys.indexes)?;
    let extras = TableExtras {
        index_comments: keys.comments,
        typed_indexes: keys.typed,
        generated_indexes: keys.generated,
        on_update_now: (0..specs.len()).filter(|i| specs[*i].on_update_now.is_some()).collect(),
        options: kept_options(&BTreeMap::new(), options),
    };
    (def.columns, def.indexes) = (columns, keys.indexes);
    let mut def = with_checks(context, def, statement)?;
    if statement.temporary && !statement.foreign_keys.is_empty() {
        return Err(foreign_keys::cannot_add());
    }
    if !statement.foreign_keys.is_empty() {
        // Whoever changes rows of the parents has to look for children from then on.
        let name = |spec: &ForeignKeySpec| spec.table.in_database(&def.database);
        let parents: Vec<(String, String)> = statement.foreign_keys.iter().map(name).collect();
        context.lock_names(parents.iter(), TableUse::Alone)?;
        def.foreign_keys = foreign_keys::defined(context, &def, &[], statement.foreign_keys.iter())?;
    }
    if !statement.temporary {
        check_orphans(context, &def)?;
    }
    keys::warn_of_duplicates(context, &def, &|_| true);
    let auto_increment = options.auto_increment.unwrap_or(1);
    store(context, NewTable { def, extras, auto_increment, is_filled }, statement)
}

/// The table with the CHECKs of a statement, and all its expressions checked.
fn with_checks(context: &Arc<StatementContext>, mut def: TableDef, statement: &CreateTable) -> Result<TableDef> {
    // Nothing else has the name of a CHECK of a temporary table.
    let taken = match statement.temporary {
        true => Default::default(),
        false => expressions::names_of_checks(context, &def.database, &def.name),
    };
    let is_taken = |name: &str| taken.contains(&name.to_lowercase());
    let new = NewChecks::new(&def.name, &[], statement.checks.iter(), &is_taken)?;
    new.refuse_other_columns()?;
    def.checks = new.checks;
    expressions::check(context, &def, true)?;
    Ok(def)
}

/// Checks foreign keys of other tables that were waiting for a table of this name. Errors: 1215; 3780 if the
/// session does not check foreign keys.
fn check_orphans(context: &StatementContext, def: &TableDef) -> Result<()> {
    let definitions = context.database.tables().definitions();
    for (child, key) in foreign_keys::referring(&definitions, &def.database, &def.name) {
        match foreign_keys::check_parent(&child.def, key, def) {
            Ok(()) => {}
            Err(_) if context.checks_foreign_keys() => return Err(foreign_keys::cannot_add()),
            Err(e) if e.code == ErrorCode::ForeignKeyIncompatibleColumns => return Err(e),
            Err(_) => {}
        }
    }
    Ok(())
}

fn create_table_like(
    context: &StatementContext,
    statement: &CreateTable,
    source: &TableName,
) -> Result<Option<TableId>> {
    let (database, name) = begin(context, statement)?;
    let (source_database, source) = context.qualify(source)?;
    context.check_some_column(&source_database, &source, Privilege::Select, "SELECT")?;
    if (&source_database, &source) == (&database, &name) {
        return Err(SqlError::table_not_unique(&name));
    }
    let snapshot = context.tables.definitions();
    let entry = snapshot.table(&source_database, &source)?;
    context.database.tables().definitions().schema(&database)?;
    if exists(context, &named(context, statement.temporary), (&database, &name), statement.if_not_exists)? {
        return Ok(None);
    }
    let mut checks = entry.def.checks.clone();
    checks.sort_by_key(|check| check.name.to_lowercase());
    for (i, check) in checks.iter_mut().enumerate() {
        check.name = format!("{name}_chk_{}", i + 1);
    }
    let foreign_keys = Vec::new();
    let def = TableDef { id: TableId(0), database, name, checks, foreign_keys, ..TableDef::clone(&entry.def) };
    let made = NewTable { def, extras: entry.extras.clone(), auto_increment: 1, is_filled: false };
    store(context, made, statement)
}

/// The definitions in which a new table needs a name of its own.
fn named(context: &StatementContext, temporary: bool) -> Arc<Snapshot> {
    match temporary {
        true => context.tables.temporary().definitions.clone(),
        false => context.database.tables().definitions(),
    }
}

fn begin(context: &StatementContext, statement: &CreateTable) -> Result<(String, String)> {
    let (database, name) = context.qualify(&statement.name)?;
    check_table_name(&name)?;
    if statement.temporary {
        context.rights.check_database(&database, Privilege::CreateTemporaryTables)?;
        return Ok((database, name));
    }
    context.rights.check_table(&database, &name, Privilege::Create, "CREATE")?;
    check_not_virtual(context, &database)?;
    context.wait_while_filled(&database, &name)?;
    Ok((database, name))
}

/// Returns true if the name is taken and that is no error.
fn exists(
    context: &StatementContext,
    snapshot: &Snapshot,
    (database, name): (&str, &str),
    if_not_exists: bool,
) -> Result<bool> {
    // Databases without temporary tables are not among those of the session.
    if snapshot.lock_id(database, name).is_none() {
        return Ok(false);
    }
    let exists = SqlError::table_exists(name);
    if !if_not_exists {
        return Err(exists);
    }
    context.note(exists.code, exists.message);
    Ok(true)
}

struct NewTable {
    def: TableDef,
    extras: TableExtras,
    auto_increment: u64,
    is_filled: bool,
}

/// Makes the table's files and names it in the catalog, or among the temporary tables of the session.
fn store(context: &StatementContext, made: NewTable, statement: &CreateTable) -> Result<Option<TableId>> {
    let NewTable { def, extras, auto_increment, is_filled } = made;
    let tables = &context.tables;
    let temporary = statement.temporary.then(|| tables.new_temporary_id());
    let schema = schema_of(&def);
    let files = tables.create_files(&def, statement.temporary)?;
    let made = tables.new_files(files.clone());
    let content = Content { statistics: TableStatistics::of_no_rows(&schema), ..Content::default() };
    // A table without rows needs no statistics, but it may begin with another value than 1.
    let rows =
        UnpublishedRows { files: &files, column_ids: &[], content: &content, auto_increment: Some(auto_increment) };
    let rows = (auto_increment > 1 || statement.temporary).then_some(&rows);
    let published = tables.publish_of(temporary.unwrap_or(def.id), rows, made, |next| {
        if exists(context, next, (&def.database, &def.name), statement.if_not_exists)? {
            return Ok(None);
        }
        let id = temporary.unwrap_or_else(|| next.next_table_id());
        let entry = TableEntry {
            next_index_id: def.indexes.iter().map(|i| i.id).max().unwrap_or(0) + 1,
            def: Arc::new(TableDef { id, ..def.clone() }),
            extras,
            files: files.clone(),
            created: now_utc_micros(),
            layouts: Arc::default(),
        };
        let schema = next.schema_mut(&def.database)?;
        if is_filled {
            // Nobody else knows it yet.
            context.transaction.try_use_table(id, TableUse::Alone);
            schema.unfinished.insert(def.name.clone(), Arc::new(entry));
        } else {
            schema.tables.insert(def.name.clone(), Arc::new(entry));
        }
        Ok(Some(id))
    })?;
    if published.is_none() {
        drop(tables.new_files(files));
    } else if statement.temporary && !is_filled {
        context.transaction.note_temporary(TemporaryChange::Created);
    }
    Ok(published)
}
