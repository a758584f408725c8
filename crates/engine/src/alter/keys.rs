//! The keys of a table as the clauses of a statement leave them: those that are there, each dropped or kept with the
//! parts whose columns are kept, then those that are added.

use super::columns::AlteredColumn;
use crate::{
    catalog::TableEntry,
    ddl::{
        check_length,
        keys::{self, Keys, PRIMARY},
    },
    statement::StatementContext,
};
use muster_algebra::{ColumnDef, IndexDef};
use muster_sql::{AlterAction, IndexColumn, IndexKind, IndexSpec};
use muster_types::{ErrorCode, Result, SqlError, SqlType};
use std::sync::Arc;

pub struct AlteredKeys {
    pub keys: Keys,
    /// For each index the position of the one before that has the same parts of the same columns.
    pub sources: Vec<Option<usize>>,
}

/// Error 1091.
pub fn cannot_drop(name: &str) -> SqlError {
    let message = format!("Can't DROP '{name}'; check that column/key exists");
    SqlError::new(ErrorCode::CantDropFieldOrKey, message)
}

/// Errors: 1061, 1068, 1091, 1171, 1176, 1280, and those of definitions of keys.
pub fn altered(
    context: &Arc<StatementContext>,
    entry: &TableEntry,
    actions: &[AlterAction],
    columns: &mut Vec<AlteredColumn>,
) -> Result<AlteredKeys> {
    let before = &entry.def;
    check_clauses(entry, actions)?;
    let mut defs: Vec<ColumnDef> = columns.iter().map(|column| column.def.clone()).collect();
    let asked: Vec<bool> = columns.iter().map(|column| column.asks_null).collect();
    let asks_null = |at: usize| asked.get(at) == Some(&true);
    let mut keys = Keys { next_id: entry.next_index_id, ..Keys::none() };
    keys.indexes[0].id = before.indexes[0].id;
    let left = before.indexes.iter().filter(|old| !old.parts.is_empty() && !is_dropped(old, actions));
    let left = left.filter_map(|old| Some((kept(old, entry, columns, actions)?, Some(old.id))));
    let specs: Vec<_> = left.chain(added(actions).into_iter().map(|spec| (spec, None))).collect();
    for (spec, old) in keys::without_needless(specs, |(spec, _)| spec) {
        let Some(id) = old else {
            keys.add(context, &spec, (before, &mut defs), &asks_null)?;
            continue;
        };
        // The number of an index is that of the one that it was.
        let next_id = std::mem::replace(&mut keys.next_id, id);
        keys.add(context, &spec, (before, &mut defs), &asks_null)?;
        keys.next_id = next_id;
    }
    keys.sort(&defs);
    let hidden = defs.split_off(columns.len());
    for (column, def) in columns.iter_mut().zip(defs) {
        column.def = def;
    }
    let new = |def| AlteredColumn { def, source: None, on_update_now: false, asks_null: false };
    columns.extend(hidden.into_iter().map(new));
    drop_unused(&mut keys, columns);
    let is_it = |index: &IndexDef, old: &IndexDef| old.id == index.id && is_same(index, old, columns);
    let source = |index: &IndexDef| before.indexes.iter().position(|old| is_it(index, old));
    Ok(AlteredKeys { sources: keys.indexes.iter().map(source).collect(), keys })
}

/// Drops the hidden columns of keys that are gone.
fn drop_unused(keys: &mut Keys, columns: &mut Vec<AlteredColumn>) {
    let is_used = |keys: &Keys, at: usize| keys.indexes.iter().any(|i| i.parts.iter().any(|part| part.column == at));
    for at in (0..columns.len()).rev() {
        if !columns[at].def.is_hidden() || is_used(keys, at) {
            continue;
        }
        columns.remove(at);
        let parts = keys.indexes.iter_mut().flat_map(|index| &mut index.parts);
        parts.filter(|part| part.column > at).for_each(|part| part.column -= 1);
    }
}

/// The keys that the clauses add.
fn added(actions: &[AlterAction]) -> Vec<IndexSpec> {
    let of = |action: &AlterAction| match action {
        AlterAction::AddIndex(spec) => vec![spec.clone()],
        AlterAction::AddColumn { column, .. } | AlterAction::ChangeColumn { column, .. } => keys::of_column(column),
        _ => Vec::new(),
    };
    actions.iter().flat_map(of).collect()
}

fn is_dropped(index: &IndexDef, actions: &[AlterAction]) -> bool {
    let drops = |action: &AlterAction| match action {
        AlterAction::DropIndex(name) => name.eq_ignore_ascii_case(&index.name),
        AlterAction::DropConstraint(name) => index.unique && name.eq_ignore_ascii_case(&index.name),
        AlterAction::DropPrimaryKey => index.name == PRIMARY,
        _ => false,
    };
    actions.iter().any(drops)
}

/// Returns true if an index has the parts of one before, of the same columns.
fn is_same(index: &IndexDef, old: &IndexDef, columns: &[AlteredColumn]) -> bool {
    let part = |(new, old): (&muster_types::KeyPart, &muster_types::KeyPart)| {
        columns[new.column].source == Some(old.column) && (new.prefix, new.descending) == (old.prefix, old.descending)
    };
    index.unique == old.unique && index.parts.len() == old.parts.len() && index.parts.iter().zip(&old.parts).all(part)
}

/// The key again, with the parts whose columns are kept; `None` if there are none.
fn kept(old: &IndexDef, entry: &TableEntry, columns: &[AlteredColumn], actions: &[AlterAction]) -> Option<IndexSpec> {
    let (before, comment) = (&entry.def, entry.extras.index_comments.get(&old.id));
    let is_typed = entry.extras.typed_indexes.contains(&old.id);
    let is_generated = entry.extras.generated_indexes.contains(&old.id);
    let part = |part: &muster_types::KeyPart| {
        let name = &before.columns[part.column].name;
        let is_it = |column: &&AlteredColumn| column.source == Some(part.column);
        // A column of the name that comes in the place of one that goes takes its place in keys.
        let comes = |column: &&AlteredColumn| column.source.is_none() && column.def.name.eq_ignore_ascii_case(name);
        let column = columns.iter().find(is_it).or_else(|| columns.iter().find(comes))?;
        let prefix = part.prefix.filter(|prefix| is_cut(column.def.ty, *prefix));
        // The whole of a column that has become shorter than its prefix.
        let was_long = before.columns[part.column].ty.is_long() && !column.def.ty.is_long();
        let prefix = prefix.filter(|prefix| !was_long || is_cut(column.def.ty, *prefix));
        Some(IndexColumn { name: column.def.name.clone(), expr: None, prefix, descending: part.descending })
    };
    let parts: Vec<IndexColumn> = old.parts.iter().filter_map(part).collect();
    if parts.is_empty() {
        return None;
    }
    let kind = match (old.name.as_str(), old.unique) {
        (PRIMARY, _) => IndexKind::Primary,
        (_, true) => IndexKind::Unique,
        (_, false) => IndexKind::Plain,
    };
    let (mut name, mut invisible) = (old.name.clone(), old.invisible);
    for action in actions {
        match action {
            AlterAction::RenameIndex { from, to } if from.eq_ignore_ascii_case(&old.name) => name.clone_from(to),
            AlterAction::SetIndexVisible { index, visible } if index.eq_ignore_ascii_case(&old.name) => {
                invisible = !visible;
            }
            _ => {}
        }
    }
    let name = Some(name).filter(|_| kind != IndexKind::Primary);
    let comment = comment.cloned().unwrap_or_default();
    Some(IndexSpec { kind, name, columns: parts, comment, invisible, is_typed, is_generated })
}

/// Returns true if a prefix of so many characters or bytes cuts values of a type.
fn is_cut(ty: SqlType, prefix: u32) -> bool {
    match ty {
        SqlType::Text { length, .. } | SqlType::Bytes { length, .. } => ty.is_long() || prefix < length,
        _ => false,
    }
}

/// Errors for clauses about keys that are not there: 1091 and 1176; 1280 for names that they cannot have.
///
/// As in MySQL, the names are those before the statement, and a key that goes or gets another name is not there for the
/// clauses that rename a key or make it visible or invisible.
fn check_clauses(entry: &TableEntry, actions: &[AlterAction]) -> Result<()> {
    let indexes = &entry.def.indexes;
    let find = |name: &str| indexes.iter().any(|i| !i.parts.is_empty() && i.name.eq_ignore_ascii_case(name));
    let renames_of = |name: &str| {
        let renames = |action: &&AlterAction| matches!(action, AlterAction::RenameIndex { from, .. } if from.eq_ignore_ascii_case(name));
        actions.iter().filter(renames).count()
    };
    let is_dropped = |name: &str| {
        let drops =
            |action: &AlterAction| matches!(action, AlterAction::DropIndex(it) if it.eq_ignore_ascii_case(name));
        actions.iter().any(drops)
    };
    let mut dropped: Vec<String> = Vec::new();
    for action in actions {
        match action {
            AlterAction::DropIndex(name) => {
                let lower = name.to_lowercase();
                if !find(name) || dropped.contains(&lower) {
                    return Err(cannot_drop(name));
                }
                dropped.push(lower);
            }
            AlterAction::DropPrimaryKey if !find(PRIMARY) => return Err(cannot_drop(PRIMARY)),
            AlterAction::RenameIndex { from, to } => {
                for name in [from, to] {
                    if name.eq_ignore_ascii_case(PRIMARY) || name.is_empty() {
                        let message = format!("Incorrect index name '{name}'");
                        return Err(SqlError::new(ErrorCode::WrongNameForIndex, message));
                    }
                }
                check_length(to)?;
                if !find(from) || is_dropped(from) || renames_of(from) > 1 {
                    return Err(no_such_key(from, entry));
                }
            }
            AlterAction::SetIndexVisible { index, visible } => {
                if !find(index) || is_dropped(index) || renames_of(index) > 0 {
                    return Err(no_such_key(index, entry));
                }
                if index.eq_ignore_ascii_case(PRIMARY) && !visible {
                    let message = "A primary key index cannot be invisible";
                    return Err(SqlError::new(ErrorCode::PrimaryKeyCantBeInvisible, message));
                }
            }
            _ => {}
        }
    }
    Ok(())
}

/// Error 1176.
fn no_such_key(name: &str, entry: &TableEntry) -> SqlError {
    let message = format!("Key '{name}' doesn't exist in table '{}'", entry.def.name);
    SqlError::new(ErrorCode::KeyDoesNotExist, message)
}
