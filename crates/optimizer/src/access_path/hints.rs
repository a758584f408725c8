//! Index hints: which indexes they leave for reading, for an order, for grouping.

use muster_algebra::{IndexHint, IndexHintKind, IndexHintScope};

/// Hints that speak of a use of indexes: those for it, and those for all uses.
fn about(hints: &[IndexHint], scope: IndexHintScope) -> impl Iterator<Item = &IndexHint> {
    hints.iter().filter(move |h| h.scope == scope || h.scope == IndexHintScope::All)
}

fn is_left(index: usize, hints: &[IndexHint], scope: IndexHintScope) -> bool {
    let ignored = about(hints, scope).any(|h| h.kind == IndexHintKind::Ignore && h.indexes.contains(&index));
    let mut chosen = about(hints, scope).filter(|h| h.kind != IndexHintKind::Ignore).peekable();
    !ignored && (chosen.peek().is_none() || chosen.any(|h| h.indexes.contains(&index)))
}

/// Returns true if an index may be used to find rows: its ranges, its entries, lookups in it. To scan the table itself
/// is always allowed.
pub fn may_read(index: usize, hints: &[IndexHint]) -> bool {
    is_left(index, hints, IndexHintScope::Join)
}

/// Returns true if an index may be read for its order.
pub fn may_order(index: usize, hints: &[IndexHint]) -> bool {
    is_left(index, hints, IndexHintScope::OrderBy)
}

/// Returns true if the groups of a GROUP BY may be read from an index.
pub fn may_group(index: usize, hints: &[IndexHint]) -> bool {
    is_left(index, hints, IndexHintScope::GroupBy)
}

/// Returns true if FORCE INDEX says to scan the table itself only if no index can be used.
pub fn forces_reading(hints: &[IndexHint]) -> bool {
    about(hints, IndexHintScope::Join).any(|h| h.kind == IndexHintKind::Force)
}

/// Returns true if FORCE INDEX FOR ORDER BY or FOR GROUP BY names this index.
pub fn forces(index: usize, hints: &[IndexHint], scope: IndexHintScope) -> bool {
    hints.iter().any(|h| h.kind == IndexHintKind::Force && h.scope == scope && h.indexes.contains(&index))
}

#[cfg(test)]
mod tests {
    use super::*;
    use IndexHintKind::{Force, Ignore, Use};

    fn hint(kind: IndexHintKind, scope: IndexHintScope, index: usize) -> IndexHint {
        IndexHint { kind, scope, indexes: vec![index] }
    }

    #[test]
    fn each_use_has_its_own_hints() {
        let only_order = [hint(Use, IndexHintScope::OrderBy, 1), hint(Ignore, IndexHintScope::Join, 1)];
        assert!(may_order(1, &only_order) && !may_order(2, &only_order) && !may_order(0, &only_order));
        assert!(!may_read(1, &only_order) && may_read(2, &only_order) && may_group(2, &only_order));
        let everything = [hint(Force, IndexHintScope::All, 2)];
        assert!(!may_read(1, &everything) && !may_order(0, &everything) && !may_read(0, &everything));
        assert!(forces_reading(&everything) && !forces(2, &everything, IndexHintScope::OrderBy));
    }
}
