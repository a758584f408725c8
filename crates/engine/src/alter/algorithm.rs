//! What MySQL would do: which of its algorithms a statement takes, what it refuses to do with another, and with which
//! locks (manual 17.12.1). Muster takes its own ways; clients are told the counts of MySQL's.

use super::table::AlteredTable;
use crate::{catalog::TableEntry, statement::StatementContext};
use muster_algebra::{ColumnDef, DefaultValue, IndexDef, TableDef};
use muster_sql::{AlterAction, AlterAlgorithm, AlterLock, AlterMethod};
use muster_storage::FORMER_LAYOUTS_MAX;
use muster_types::{ErrorCode, KeyPart, Result, SqlError, SqlType, TextKind};

/// An algorithm of MySQL's, from the cheapest on.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Algorithm {
    Instant,
    Inplace,
    Copy,
}

/// The algorithm and the lock that a part of a change needs at least.
#[derive(Clone, Copy)]
struct Need {
    algorithm: Algorithm,
    /// Why ALGORITHM=INSTANT is refused, if MySQL says so.
    not_instant: Option<&'static str>,
    /// Why ALGORITHM=INPLACE and LOCK=NONE are refused.
    not_inplace: Option<&'static str>,
    /// True if MySQL copies the table without asking InnoDB.
    is_copy_of_server: bool,
}

impl Need {
    const INSTANT: Need =
        Need { algorithm: Algorithm::Instant, not_instant: None, not_inplace: None, is_copy_of_server: false };
    const INPLACE: Need = Need { algorithm: Algorithm::Inplace, ..Need::INSTANT };
    const COPY: Need = Need { algorithm: Algorithm::Copy, ..Need::INSTANT };
    const COPY_OF_SERVER: Need = Need { is_copy_of_server: true, ..Need::COPY };
    const OTHER_TYPE: Need = Need {
        not_instant: Some("Need to rebuild the table to change column type"),
        not_inplace: Some("Cannot change column type INPLACE"),
        ..Need::COPY
    };
    const NO_KEY: Need = Need { not_instant: Some(NO_PRIMARY_KEY), not_inplace: Some(NO_PRIMARY_KEY), ..Need::COPY };
    const FOREIGN_KEY: Need =
        Need { not_instant: Some(UNCHECKED_KEYS), not_inplace: Some(UNCHECKED_KEYS), ..Need::COPY };
    const NUMBERS: Need = Need {
        not_instant: Some(NUMBERS_NEED_LOCK),
        not_inplace: Some(NUMBERS_NEED_LOCK),
        algorithm: Algorithm::Inplace,
        ..Need::INSTANT
    };

    /// The least that serves both needs.
    fn and(self, other: Need) -> Need {
        Need {
            algorithm: self.algorithm.max(other.algorithm),
            not_instant: self.not_instant.or(other.not_instant),
            not_inplace: self.not_inplace.or(other.not_inplace),
            is_copy_of_server: self.is_copy_of_server || other.is_copy_of_server,
        }
    }
}

const NO_PRIMARY_KEY: &str = "Dropping a primary key is not allowed without also adding a new primary key";
const UNCHECKED_KEYS: &str = "Adding foreign keys needs foreign_key_checks=OFF";
const NUMBERS_NEED_LOCK: &str = "Adding an auto-increment column requires a lock";

/// The algorithm that MySQL would take. Errors 1845, 1846, 4092 and 1221 for a method that it would refuse.
pub fn decide(
    context: &StatementContext,
    entry: &TableEntry,
    altered: &AlteredTable,
    actions: &[AlterAction],
    method: AlterMethod,
) -> Result<Algorithm> {
    if entry.def.id.is_temporary() {
        return of_temporary(method.algorithm);
    }
    let mut needs = needs(entry, altered, actions);
    if !altered.foreign_keys.added.is_empty() {
        needs.push(if context.checks_foreign_keys() { Need::FOREIGN_KEY } else { Need::INPLACE });
    }
    if altered.adds_zero_date() {
        needs.push(Need::INPLACE);
    }
    let need = needs.into_iter().reduce(Need::and).unwrap_or(Need::INSTANT);
    let is_simple = |action: &AlterAction| matches!(action, AlterAction::Rename(_) | AlterAction::Keys);
    let is_weak = matches!(method.lock, AlterLock::None | AlterLock::Shared);
    if is_weak && !actions.is_empty() && actions.iter().all(is_simple) && method.algorithm != AlterAlgorithm::Copy {
        return Err(refused("LOCK=NONE/SHARED", None, "LOCK=EXCLUSIVE"));
    }
    check(need, method)?;
    if method.algorithm == AlterAlgorithm::Instant && entry.layouts.former.len() >= FORMER_LAYOUTS_MAX {
        refuse_more_versions(&entry.def, altered)?;
    }
    Ok(match method.algorithm {
        AlterAlgorithm::Copy => Algorithm::Copy,
        AlterAlgorithm::Inplace => need.algorithm.max(Algorithm::Inplace),
        _ => need.algorithm,
    })
}

/// Error 4092 for columns that come or go in a table whose rows have as many layouts as may be.
fn refuse_more_versions(before: &TableDef, altered: &AlteredTable) -> Result<()> {
    let kept = altered.sources.iter().flatten().count();
    if kept == before.columns.len() && kept == altered.sources.len() {
        return Ok(());
    }
    let message = format!(
        "Maximum row versions reached for table {}/{}. No more columns can be added or dropped instantly. Please use \
         COPY/INPLACE.",
        before.database, before.name
    );
    Err(SqlError::new(ErrorCode::MaxRowVersions, message))
}

/// The algorithm for a temporary table, which MySQL always copies, without regard to locks. Error 1845.
fn of_temporary(wanted: AlterAlgorithm) -> Result<Algorithm> {
    match wanted {
        AlterAlgorithm::Inplace => Err(refused("ALGORITHM=INPLACE", None, "ALGORITHM=COPY")),
        AlterAlgorithm::Instant => Err(refused("ALGORITHM=INSTANT", None, "ALGORITHM=COPY")),
        _ => Ok(Algorithm::Copy),
    }
}

/// Errors 1845 and 1846, in MySQL's words.
fn refused(what: &str, reason: Option<&str>, instead: &str) -> SqlError {
    match reason {
        None => {
            let message = format!("{what} is not supported for this operation. Try {instead}.");
            SqlError::new(ErrorCode::AlterNotSupported, message)
        }
        Some(reason) => {
            let message = format!("{what} is not supported. Reason: {reason}. Try {instead}.");
            SqlError::new(ErrorCode::AlterNotSupportedReason, message)
        }
    }
}

fn check(need: Need, method: AlterMethod) -> Result<()> {
    let AlterMethod { algorithm, lock } = method;
    let (is_instant, is_copy) = (algorithm == AlterAlgorithm::Instant, need.algorithm == Algorithm::Copy);
    if is_instant && lock != AlterLock::Default {
        let message = "Incorrect usage of ALGORITHM=INSTANT and LOCK=NONE/SHARED/EXCLUSIVE";
        return Err(SqlError::new(ErrorCode::WrongUsage, message));
    }
    if is_instant && need.algorithm > Algorithm::Instant {
        let instead = if need.is_copy_of_server { "ALGORITHM=COPY" } else { "ALGORITHM=COPY/INPLACE" };
        let reason = need.not_instant.filter(|_| !need.is_copy_of_server);
        return Err(refused("ALGORITHM=INSTANT", reason, instead));
    }
    if algorithm == AlterAlgorithm::Inplace && is_copy {
        let reason = need.not_inplace.filter(|_| !need.is_copy_of_server);
        return Err(refused("ALGORITHM=INPLACE", reason, "ALGORITHM=COPY"));
    }
    if lock != AlterLock::None {
        return Ok(());
    }
    if algorithm == AlterAlgorithm::Copy || need.is_copy_of_server {
        return Err(refused("LOCK=NONE", Some("COPY algorithm requires a lock"), "LOCK=SHARED"));
    }
    if is_copy || need.not_inplace.is_some() {
        return Err(refused("LOCK=NONE", need.not_inplace, "LOCK=SHARED"));
    }
    Ok(())
}

/// The need of each part of the change.
fn needs(entry: &TableEntry, altered: &AlteredTable, actions: &[AlterAction]) -> Vec<Need> {
    let before = &entry.def;
    let mut needs: Vec<Need> = actions.iter().map(of_action).collect();
    let is_key = |name: &String| before.index(name).is_some_and(|at| before.indexes[at].unique);
    if actions.iter().any(|action| matches!(action, AlterAction::DropConstraint(name) if is_key(name))) {
        needs.push(Need::COPY_OF_SERVER);
    }
    let (mut last, mut is_moved) = (None, false);
    for (at, source) in altered.sources.iter().enumerate() {
        let new = &altered.def.columns[at];
        match source {
            None => needs.push(of_new_column(new)),
            Some(source) => {
                let is_indexed = altered.def.indexes.iter().any(|i| i.parts.iter().any(|part| part.column == at));
                needs.push(of_changed_column(&before.columns[*source], new, is_indexed));
                is_moved |= last.is_some_and(|last| last > *source);
                last = Some(*source);
            }
        }
    }
    if is_moved && !stored_columns_come_or_go(before, altered) {
        needs.push(Need::INPLACE);
    }
    let comes_or_goes = altered.sources.iter().flatten().count() != before.columns.len().max(altered.sources.len());
    if comes_or_goes && entry.extras.options.get("ROW_FORMAT").is_some_and(|format| format == "COMPRESSED") {
        needs.push(Need::INPLACE);
    }
    match (clustered_key(before), clustered_key(&altered.def)) {
        (Some(_), None) => needs.push(Need::NO_KEY),
        (old, Some(new)) if old.is_none_or(|old| altered.index_sources[new] != Some(old)) => needs.push(Need::INPLACE),
        _ => {}
    }
    if altered.must_validate(before) {
        needs.push(Need::COPY_OF_SERVER);
    }
    let kept = |at: &usize| altered.index_sources.contains(&Some(*at));
    if altered.index_sources.iter().any(Option::is_none) || !(0..before.indexes.len()).all(|at| kept(&at)) {
        needs.push(Need::INPLACE);
    }
    needs
}

/// Returns true if columns come or go whose values are in the rows: InnoDB then moves others with the same version of
/// the rows.
fn stored_columns_come_or_go(before: &TableDef, altered: &AlteredTable) -> bool {
    let is_stored = |column: &ColumnDef| column.generated.as_ref().is_none_or(|generated| generated.stored);
    let mut columns = altered.sources.iter().zip(&altered.def.columns);
    let goes = |(at, column): (usize, &ColumnDef)| is_stored(column) && !altered.sources.contains(&Some(at));
    columns.any(|(source, column)| source.is_none() && is_stored(column)) || before.columns.iter().enumerate().any(goes)
}

/// The position of the index that is InnoDB's clustered key: the primary key, or the first unique one without NULLs and
/// prefixes.
fn clustered_key(table: &TableDef) -> Option<usize> {
    let is_whole = |index: &IndexDef| {
        let is_clean = |part: &KeyPart| {
            let column = &table.columns[part.column];
            part.prefix.is_none() && !column.nullable && column.generated.as_ref().is_none_or(|g| g.stored)
        };
        index.unique && !index.parts.is_empty() && index.parts.iter().all(is_clean)
    };
    table.indexes.iter().position(is_whole)
}

fn of_action(action: &AlterAction) -> Need {
    match action {
        AlterAction::OrderBy(_) => Need::COPY_OF_SERVER,
        AlterAction::AddIndex(_) | AlterAction::DropIndex(_) | AlterAction::DropPrimaryKey => Need::INPLACE,
        AlterAction::DropForeignKey(_) => Need::INPLACE,
        AlterAction::RenameIndex { .. } | AlterAction::SetIndexVisible { .. } => Need::INPLACE,
        AlterAction::Force | AlterAction::ConvertTo(_) | AlterAction::Options(_) => Need::INPLACE,
        _ => Need::INSTANT,
    }
}

fn of_new_column(column: &ColumnDef) -> Need {
    match (&column.generated, &column.default) {
        (Some(generated), _) if generated.stored => Need::COPY,
        (None, Some(DefaultValue::Expr(_))) => Need::COPY,
        _ if column.auto_increment => Need::NUMBERS,
        _ => Need::INSTANT,
    }
}

fn of_changed_column(old: &ColumnDef, new: &ColumnDef, is_indexed: bool) -> Need {
    let is_in_other_order = is_indexed && old.ty.collation() != new.ty.collation();
    if old.auto_increment != new.auto_increment || old.generated != new.generated || is_in_other_order {
        return Need::OTHER_TYPE;
    }
    let of_type = if old.ty == new.ty { Need::INSTANT } else { of_changed_type(old.ty, new.ty) };
    of_type.and(if old.nullable == new.nullable { Need::INSTANT } else { Need::INPLACE })
}

fn of_changed_type(old: SqlType, new: SqlType) -> Need {
    match (old, new) {
        (
            SqlType::Text { kind: TextKind::VarChar, length: before, collation: old },
            SqlType::Text { kind: TextKind::VarChar, length: after, collation: new },
        ) if old.character_set() == new.character_set() && before <= after => {
            // The length of a value takes one byte or two.
            let is_long = |length: u32| length.saturating_mul(old.charset_max_bytes()) > 255;
            if is_long(before) == is_long(after) { Need::INPLACE } else { Need::OTHER_TYPE }
        }
        (SqlType::Enum(before), SqlType::Enum(after)) | (SqlType::Set(before), SqlType::Set(after)) => {
            let grows = old.declared_bytes() != new.declared_bytes();
            if after.begins_with(before) && !grows { Need::INSTANT } else { Need::OTHER_TYPE }
        }
        _ => Need::OTHER_TYPE,
    }
}
