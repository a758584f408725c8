//! Changes that touch no row: columns that come with one value for all rows that are there, go, move or get wider. The
//! table gets a new row layout ([docs/schemas.md](../../../../docs/schemas.md#instant-changes)); leaves are written in
//! it when somebody changes them.

use super::{copy::constant_of_new, table::AlteredTable};
use crate::{catalog::TableEntry, statement::StatementContext};
use muster_algebra::ColumnDef;
use muster_storage::{ColumnOrigin, RowLayouts, TableSchema};
use muster_types::{Result, SqlType, TextKind};
use std::sync::Arc;

/// The layouts of the altered table's rows if all rows can stay as they are. Errors: those of defaults of new columns.
pub fn layouts(
    context: &StatementContext,
    entry: &TableEntry,
    altered: &AlteredTable,
) -> Result<Option<Arc<RowLayouts>>> {
    // A new foreign key is checked with the rows of one definition of the table.
    if altered.must_copy() {
        return Ok(None);
    }
    let mut columns = Vec::with_capacity(altered.sources.len());
    for at in 0..altered.sources.len() {
        let Some(origin) = origin(context, entry, altered, at)? else { return Ok(None) };
        columns.push(origin);
    }
    let stays = |(at, origin): (usize, &ColumnOrigin)| *origin == ColumnOrigin::Column(at);
    if columns.len() == entry.def.columns.len() && columns.iter().enumerate().all(stays) {
        return Ok(Some(entry.layouts.clone()));
    }
    let checks_parents = context.checks_foreign_keys() && !altered.foreign_keys.added.is_empty();
    let before = entry.schema();
    let Some(layouts) = entry.layouts.next(&before.columns, &columns).filter(|_| !checks_parents) else {
        return Ok(None);
    };
    let after = TableSchema { layouts: Arc::new(layouts), ..crate::catalog::schema_of(&altered.def) };
    let fits = context.database.tables().store().rows_fit(&after);
    Ok(fits.then_some(after.layouts))
}

/// Where a column's values come from if rows stay; `None` if they cannot.
fn origin(
    context: &StatementContext,
    entry: &TableEntry,
    altered: &AlteredTable,
    at: usize,
) -> Result<Option<ColumnOrigin>> {
    let new = &altered.def.columns[at];
    let is_indexed = altered.def.indexes.iter().any(|index| index.parts.iter().any(|part| part.column == at));
    let Some(source) = altered.sources[at] else {
        let constant = if is_indexed { None } else { constant_of_new(context, new)? };
        return Ok(constant.map(ColumnOrigin::New));
    };
    Ok(stays(&entry.def.columns[source], new, is_indexed).then_some(ColumnOrigin::Column(source)))
}

/// Returns true if all values of a column are those of its new definition, in the same bytes.
fn stays(old: &ColumnDef, new: &ColumnDef, is_indexed: bool) -> bool {
    let numbers = new.auto_increment && !old.auto_increment;
    // Keys have a byte for NULL only where there may be one.
    let nulls = old.nullable == new.nullable || new.nullable && !is_indexed;
    !numbers
        && nulls
        && (old.digits, &old.generated) == (new.digits, &new.generated)
        && is_same_or_wider(old.ty, new.ty)
}

/// Members of an ENUM whose numbers take one byte.
const NARROW_ENUM: usize = 255;

/// Returns true if values of the first type are values of the second one, in the same bytes.
fn is_same_or_wider(old: SqlType, new: SqlType) -> bool {
    old == new
        || match (old, new) {
            (
                SqlType::Text { kind: TextKind::VarChar, length: before, collation: old },
                SqlType::Text { kind: TextKind::VarChar, length: after, collation: new },
            ) => old == new && before <= after,
            (SqlType::Enum(before), SqlType::Enum(after)) => {
                let is_narrow = |members: usize| members <= NARROW_ENUM;
                after.begins_with(before) && is_narrow(before.names().len()) == is_narrow(after.names().len())
            }
            (SqlType::Set(before), SqlType::Set(after)) => after.begins_with(before),
            _ => false,
        }
}
