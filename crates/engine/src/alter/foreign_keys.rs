//! The foreign keys of the altered table, and those that refer to it: which clauses they forbid, and how they follow.

use super::{keys::cannot_drop, table::AlteredTable};
use crate::{
    catalog::{Snapshot, TableEntry, schema_of},
    ddl::foreign_keys::{self, RenamedColumns, are_compatible, referring},
    dml::missing_parent,
    metadata_locks::TableUse,
    statement::StatementContext,
    tables::{KeySide, leading_index},
};
use muster_algebra::{ForeignKey, ReferentialAction, TableDef};
use muster_sql::AlterAction;
use muster_storage::{FileId, Table, TableSchema, TableStatistics};
use muster_types::{ErrorCode, Result, SqlError};
use std::sync::Arc;

/// Changes of foreign keys besides those of the table's definition.
#[derive(Debug, Default)]
pub struct AlteredForeignKeys {
    /// Columns of the table with their names before and from now on.
    renamed: RenamedColumns,
    /// Names of the table's new keys.
    pub added: Vec<String>,
}

/// Gives the altered table its foreign keys. `sources`: for each of its columns the one before. Errors: 1091, 1553,
/// 1828, 1829, 1830, 3780 and those of new keys.
pub fn altered(
    context: &StatementContext,
    entry: &TableEntry,
    actions: &[AlterAction],
    (def, sources): (&mut TableDef, &[Option<usize>]),
) -> Result<AlteredForeignKeys> {
    let before = &entry.def;
    let kept = kept(before, actions)?;
    let renamed = renamed_columns(before, def, sources);
    let definitions = related_definitions(context, entry);
    refuse_changed_columns(&definitions, before, (def, sources), &kept)?;
    refuse_changes_of_parent(&definitions, before, (def, sources))?;
    let own = TableDef { foreign_keys: kept, ..TableDef::clone(before) };
    let kept = if def.name == before.name { own.foreign_keys } else { foreign_keys::renamed(&own, &def.name) };
    let kept: Vec<ForeignKey> = kept.into_iter().map(|key| followed(key, before, def, &renamed)).collect();
    kept.iter().try_for_each(|key| foreign_keys::refuse_dependents(def, key))?;
    refuse_dropped_indexes(&definitions, before, (def, sources), &kept)?;
    let added = actions.iter().filter_map(|action| match action {
        AlterAction::AddForeignKey(spec) => Some(spec),
        _ => None,
    });
    if before.id.is_temporary() && added.clone().next().is_some() {
        return Err(foreign_keys::cannot_add());
    }
    let added = foreign_keys::defined(context, def, &kept, added)?;
    let names = added.iter().map(|key| key.name.clone()).collect();
    def.foreign_keys = kept.into_iter().chain(added).collect();
    Ok(AlteredForeignKeys { renamed, added: names })
}

/// The tables that a table may be connected with by foreign keys: none, if it is a temporary one.
fn related_definitions(context: &StatementContext, entry: &TableEntry) -> Arc<Snapshot> {
    match entry.def.id.is_temporary() {
        true => Arc::default(),
        false => context.database.tables().definitions(),
    }
}

/// The keys that are not dropped. Error 1091.
fn kept(before: &TableDef, actions: &[AlterAction]) -> Result<Vec<ForeignKey>> {
    let mut kept = before.foreign_keys.clone();
    for action in actions {
        let (AlterAction::DropForeignKey(name) | AlterAction::DropConstraint(name)) = action else { continue };
        let at = kept.iter().position(|key| key.name.eq_ignore_ascii_case(name));
        match (at, action) {
            (Some(at), _) => drop(kept.remove(at)),
            (None, AlterAction::DropForeignKey(_)) => return Err(cannot_drop(name)),
            _ => {}
        }
    }
    Ok(kept)
}

fn renamed_columns(before: &TableDef, def: &TableDef, sources: &[Option<usize>]) -> RenamedColumns {
    let names = sources.iter().enumerate().filter_map(|(at, source)| {
        let (old, new) = (&before.columns[(*source)?].name, &def.columns[at].name);
        (old != new).then(|| (old.clone(), new.clone()))
    });
    names.collect()
}

/// A key with the columns' names from now on, and the table's if it refers to itself.
fn followed(key: ForeignKey, before: &TableDef, def: &TableDef, renamed: &[(String, String)]) -> ForeignKey {
    let follow = |names: &[String]| -> Vec<String> {
        names.iter().map(|name| foreign_keys::new_name(renamed, name).to_owned()).collect()
    };
    let columns = follow(&key.columns);
    if !key.refers_to(&before.database, &before.name) {
        return ForeignKey { columns, ..key };
    }
    let (database, table) = (def.database.clone(), def.name.clone());
    ForeignKey { columns, referenced: follow(&key.referenced), database, table, ..key }
}

/// The position that a column has from now on.
fn new_position(before: &TableDef, name: &str, sources: &[Option<usize>]) -> Option<usize> {
    let old = before.column(name)?;
    sources.iter().position(|source| *source == Some(old))
}

/// Errors 1828, 1830 and 3780 for columns of the table's keys.
fn refuse_changed_columns(
    definitions: &Snapshot,
    before: &TableDef,
    (def, sources): (&TableDef, &[Option<usize>]),
    keys: &[ForeignKey],
) -> Result<()> {
    for key in keys {
        let is_itself = key.refers_to(&before.database, &before.name);
        let parent = definitions.table(&key.database, &key.table).ok();
        let type_in_parent = |name: &str| match is_itself {
            true => new_position(before, name, sources).map(|at| def.columns[at].ty),
            false => parent.and_then(|parent| Some(parent.def.columns[parent.def.column(name)?].ty)),
        };
        for (at_key, name) in key.columns.iter().enumerate() {
            let Some(at) = new_position(before, name, sources) else {
                let message = format!("Cannot drop column '{name}': needed in a foreign key constraint '{}'", key.name);
                return Err(SqlError::new(ErrorCode::ForeignKeyColumnCannotDrop, message));
            };
            let new = &def.columns[at];
            let sets_null = [key.on_delete, key.on_update].contains(&ReferentialAction::SetNull);
            if sets_null && !new.nullable {
                return Err(foreign_keys::not_null(new, key));
            }
            let referenced = &key.referenced[at_key];
            if type_in_parent(referenced).is_some_and(|ty| !are_compatible(new.ty, ty)) {
                return Err(foreign_keys::incompatible(key, referenced, at_key));
            }
        }
    }
    Ok(())
}

/// Errors 1829 and 3780 for columns that other tables refer to.
fn refuse_changes_of_parent(
    definitions: &Snapshot,
    before: &TableDef,
    (def, sources): (&TableDef, &[Option<usize>]),
) -> Result<()> {
    for (child, key) in referring(definitions, &before.database, &before.name) {
        for (at_key, name) in key.referenced.iter().enumerate().filter(|(_, name)| before.column(name).is_some()) {
            let Some(at) = new_position(before, name, sources) else {
                let message = format!(
                    "Cannot drop column '{name}': needed in a foreign key constraint '{}' of table '{}'",
                    key.name, child.def.name
                );
                return Err(SqlError::new(ErrorCode::ForeignKeyColumnCannotDropChild, message));
            };
            let own = child.def.column(&key.columns[at_key]).map(|at| child.def.columns[at].ty);
            if own.is_some_and(|own| !are_compatible(own, def.columns[at].ty)) {
                return Err(foreign_keys::incompatible(key, name, at_key));
            }
        }
    }
    Ok(())
}

/// Error 1553 for an index that is dropped, if a key needs it and no other one is in its place.
fn refuse_dropped_indexes(
    definitions: &Snapshot,
    before: &TableDef,
    (def, sources): (&TableDef, &[Option<usize>]),
    kept: &[ForeignKey],
) -> Result<()> {
    let itself = kept.iter().filter(|key| key.refers_to(&def.database, &def.name));
    let own = kept.iter().map(|key| &key.columns).chain(itself.map(|key| &key.referenced));
    let own = own.map(|names| def.positions(names));
    let of_others = referring(definitions, &before.database, &before.name)
        .map(|(_, key)| key.referenced.iter().map(|name| new_position(before, name, sources)).collect());
    for columns in own.chain(of_others).flatten() {
        if leading_index(def, &columns).is_some() {
            continue;
        }
        let old: Option<Vec<usize>> = columns.iter().map(|at| sources[*at]).collect();
        let Some(index) = old.and_then(|old| leading_index(before, &old)) else { continue };
        let message = format!("Cannot drop index '{}': needed in a foreign key constraint", before.indexes[index].name);
        return Err(SqlError::new(ErrorCode::DropIndexOfForeignKey, message));
    }
    Ok(())
}

/// Locks the tables that a statement needs besides its own: parents of new keys, whose rows stay as they are until the
/// keys are there, and children that name what is renamed.
pub fn lock_related(
    context: &StatementContext,
    entry: &TableEntry,
    actions: &[AlterAction],
) -> Result<Vec<(String, String)>> {
    let mut names: Vec<(String, String)> = Vec::new();
    let mut is_renamed = false;
    for action in actions {
        match action {
            AlterAction::AddForeignKey(spec) if !entry.def.id.is_temporary() => {
                names.push(spec.table.in_database(&entry.def.database));
            }
            AlterAction::Rename(_) | AlterAction::RenameColumn { .. } | AlterAction::ChangeColumn { .. } => {
                is_renamed = true;
            }
            _ => {}
        }
    }
    if is_renamed {
        let definitions = related_definitions(context, entry);
        let own = (entry.def.database.clone(), entry.def.name.clone());
        names.extend(foreign_keys::tables_referring(&definitions, std::iter::once(&own)));
    }
    names.retain(|name| *name != (entry.def.database.clone(), entry.def.name.clone()));
    context.lock_names(names.iter(), TableUse::Alone)?;
    Ok(names)
}

/// Lets others read tables again that [`lock_related`] has locked.
pub fn weaken_related(context: &StatementContext, names: &[(String, String)]) {
    let definitions = context.database.tables().definitions();
    for id in names.iter().filter_map(|name| definitions.lock_id(&name.0, &name.1)) {
        context.weaken_to_rebuild(id);
    }
}

/// Has the foreign keys that refer to the table name it as it is from now on.
pub fn follow(next: &mut Snapshot, entry: &TableEntry, altered: &AlteredTable) -> Result<()> {
    let (from, to) = (&entry.def, &altered.def);
    let renamed = &altered.foreign_keys.renamed;
    if renamed.is_empty() && (&from.database, &from.name) == (&to.database, &to.name) {
        return Ok(());
    }
    foreign_keys::follow(next, (&from.database, &from.name), (&to.database, &to.name), renamed)
}

/// A table whose rows are looked at, as it is in some files.
struct FilledTable<'a> {
    def: &'a TableDef,
    storage: Arc<Table>,
}

impl FilledTable<'_> {
    fn side(&self, names: &[String]) -> Option<KeySide> {
        KeySide::of(self.def, names)
    }

    /// The same for rows that are only read: without an index they come in the order of the primary key.
    fn side_to_read(&self, names: &[String]) -> Option<KeySide> {
        let in_key_order = || Some(KeySide { table: self.def.id, columns: self.def.positions(names)?, index: 0 });
        self.side(names).or_else(in_key_order)
    }
}

/// Checks that all rows of the altered table have parents by the new keys. `files`: where the rows are; those that are
/// copied lie in new ones. Returns the number of rows. Error 1452.
pub fn validate(
    context: &StatementContext,
    entry: &TableEntry,
    altered: &AlteredTable,
    files: &[FileId],
) -> Result<u64> {
    let (tables, def) = (context.database.tables(), &altered.def);
    let current = tables.current();
    let in_new_files = || {
        let schema = TableSchema { layouts: altered.layouts.clone().unwrap_or_default(), ..schema_of(def) };
        let statistics = TableStatistics::of_no_rows(&schema);
        let storage = tables.store().open_table(schema, files.to_vec(), statistics)?;
        Ok::<_, SqlError>(FilledTable { def, storage })
    };
    let is_copied = files.first() != entry.files.first();
    // Rows that stay where they are, are read by the indexes that are there. Columns that are renamed are new names.
    let before = TableDef { columns: def.columns.clone(), ..TableDef::clone(&entry.def) };
    let own = match is_copied {
        true => in_new_files()?,
        false => FilledTable { def: &before, storage: current.storage(entry.def.id, tables.store())? },
    };
    let mut rows = 0;
    for key in def.foreign_keys.iter().filter(|key| altered.foreign_keys.added.contains(&key.name)) {
        let is_itself = key.refers_to(&def.database, &def.name);
        let parent = match is_itself {
            true if own.side(&key.referenced).is_none() => in_new_files()?,
            true => FilledTable { def: own.def, storage: own.storage.clone() },
            false => {
                let entry = current.definitions.table(&key.database, &key.table)?;
                FilledTable { def: &entry.def, storage: current.storage(entry.def.id, tables.store())? }
            }
        };
        let Some((child_side, parent_side)) = own.side_to_read(&key.columns).zip(parent.side(&key.referenced)) else {
            return Err(SqlError::internal("a foreign key without an index"));
        };
        rows = missing_parent(context, (def, key), (&own.storage, &child_side), (&parent.storage, &parent_side))?;
    }
    Ok(rows)
}
