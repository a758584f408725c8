//! How large an index is, and how many entries a key of it has.

use crate::cost::{Spread, Tree};
use crate::estimate::table_rows;
use crate::options::Options;
use muster_algebra::{KeyPart, Statistics, Switch, TableDef};

/// Rows on a clustered leaf and entries on a secondary one, where nothing is known.
const ENTRIES_PER_LEAF: (f64, f64) = (150.0, 800.0);

/// The size of an index, from statistics.
pub fn tree_of(statistics: &dyn Statistics, table: &TableDef, index: usize) -> Tree {
    let entries = table_rows(statistics, table);
    match statistics.index(table, index) {
        Some(known) => Tree {
            entries,
            leaf_pages: known.leaf_pages.max(1.0),
            resident_share: known.resident_share.clamp(0.0, 1.0),
            spread: Spread::default(),
        },
        None => {
            let per_leaf = if index == 0 { ENTRIES_PER_LEAF.0 } else { ENTRIES_PER_LEAF.1 };
            let leaf_pages = (entries / per_leaf).max(1.0);
            Tree { entries, leaf_pages, resident_share: 1.0, spread: Spread::default() }
        }
    }
}

/// The parts of an index's key that may be used: the primary key's at its end only with `use_index_extensions`.
pub fn usable_parts(table: &TableDef, index: usize, options: &Options) -> Vec<KeyPart> {
    let mut parts = table.key_parts(index);
    if !options.is_on(Switch::UseIndexExtensions) {
        parts.truncate(table.indexes[index].parts.len());
    }
    parts
}

/// Entries that share the first `parts` parts of their key.
pub fn entries_per_key(statistics: &dyn Statistics, table: &TableDef, index: usize, parts: usize) -> f64 {
    let rows = table_rows(statistics, table);
    let definition = &table.indexes[index];
    let key = table.key_parts(index);
    // With the primary key's parts at its end, a key is unique; of a table without one, only a row number follows.
    let whole_key = if table.has_primary_key() { key.len() } else { usize::MAX };
    if parts >= whole_key || (definition.unique && parts >= definition.parts.len()) {
        return 1.0;
    }
    let known = statistics.index(table, index).and_then(|i| i.distinct.get(parts.checked_sub(1)?).copied());
    let distinct = known.unwrap_or_else(|| {
        // Columns by themselves: independent of each other, as far as rows allow.
        let columns = key.iter().take(parts);
        let each = columns.map(|p| statistics.column(table, p.column).map_or(rows / 10.0, |c| c.distinct).max(1.0));
        each.product::<f64>().min(rows)
    });
    rows / distinct.max(1.0)
}
