//! From secondary entries to rows: primary keys of a batch of entries, then their rows from the clustered tree.

use crate::{
    Result,
    key::Keys,
    tree::{LeafRows, Tree},
};

/// The clustered keys of entries, in their order; sorted when the order is free, so that neighbours share a leaf.
pub fn clustered_keys(tree: &Tree, entries: &[LeafRows], sorted: bool) -> Result<Keys> {
    let layout = tree.layout();
    let mut keys = Keys::default();
    let mut key = Vec::new();
    for part in entries {
        let leaf = tree.leaf(&part.page)?;
        let rows = leaf
            .key_rows(layout, &layout.clustered_key)
            .map_err(|e| tree.decode_error(part.page.page_no(), e.into()))?;
        for row in part.rows.iter() {
            key.clear();
            layout.clustered_key.append_row(&rows.row(row), &mut key);
            keys.push(&key);
        }
    }
    if !sorted || keys.iter().is_sorted() {
        return Ok(keys);
    }
    let mut order: Vec<u32> = (0..keys.len() as u32).collect();
    order.sort_unstable_by(|a, b| keys.get(*a as usize).cmp(keys.get(*b as usize)));
    let mut ascending = Keys::default();
    order.into_iter().for_each(|i| ascending.push(keys.get(i as usize)));
    Ok(ascending)
}
