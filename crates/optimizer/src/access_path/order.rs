//! The order that an index is in.

use crate::index_shape::usable_parts;
use crate::options::Options;
use muster_algebra::{ColId, Expr, SortKey, TableDef};

/// Whether reading the index in key order gives the wanted order: `Some(true)` backwards. The first `fixed` parts have
/// one value in all that is read.
pub fn order_of(
    table: &TableDef,
    index: usize,
    fixed: usize,
    columns: &[(ColId, usize)],
    order: &[SortKey],
    options: &Options,
) -> Option<bool> {
    let parts = usable_parts(table, index, options);
    let mut at = 0;
    let mut reverse = None;
    for key in order {
        let Expr::Column(id) = &key.expr else { return None };
        let (_, column) = columns.iter().find(|(c, _)| c == id)?;
        if parts.iter().take(fixed).any(|p| p.column == *column && p.prefix.is_none()) {
            continue;
        }
        while at < fixed && parts.get(at).is_some_and(|p| p.column != *column) {
            at += 1;
        }
        let part = parts.get(at).filter(|p| p.column == *column && p.prefix.is_none())?;
        let backwards = key.descending != part.descending;
        if *reverse.get_or_insert(backwards) != backwards {
            return None;
        }
        at += 1;
    }
    if order.is_empty() { None } else { Some(reverse.unwrap_or(false)) }
}
