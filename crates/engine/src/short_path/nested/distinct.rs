//! Each combination of some columns once, from an index that has them in front: after each row the next one is looked
//! for behind all entries that begin like it (a loose index scan).

use super::query::{QueryTable, TableQuery};
use crate::short_path::key_access::{KeyAccess, KeyValues};
use muster_algebra::{ColId, Expr};

/// Most combinations that are looked for one by one.
pub const COMBINATIONS_MAX: usize = 64;

/// The columns behind the equal ones of an access that tell combinations apart, in the order of the index; `None` if
/// the first parts of the index are not what the query has groups of.
pub fn columns(query: &TableQuery, of: &QueryTable, access: &KeyAccess) -> Option<Vec<ColId>> {
    let grouping = query.grouping.as_ref()?;
    let has_range = access.lower.is_some() || access.upper.is_some() || access.single;
    let has_lists = access.equal.iter().any(|values| matches!(values, KeyValues::AnyOf(_)));
    if query.tables.len() > 1 || !grouping.aggregates.is_empty() || has_range || has_lists {
        return None;
    }
    let by = grouping.by.iter().map(|(_, expr)| match expr {
        Expr::Column(id) => Some((*id, of.position(*id)?)),
        _ => None,
    });
    let by = by.collect::<Option<Vec<_>>>()?;
    let key = of.def.key_parts(access.index);
    let (equal, behind) = key.split_at(access.equal.len());
    let is_equal = |column: usize| equal.iter().any(|part| part.column == column);
    let count = by.iter().filter(|(_, column)| !is_equal(*column)).count();
    let apart = behind.get(..count)?;
    if equal.iter().chain(apart).any(|part| part.prefix.is_some()) || apart.is_empty() {
        return None;
    }
    apart.iter().map(|part| by.iter().find(|(_, column)| *column == part.column).map(|(id, _)| *id)).collect()
}
