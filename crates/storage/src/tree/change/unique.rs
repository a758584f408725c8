//! Duplicates: entries of a unique tree with the same declared parts.

use super::{modify::TreeChange, new_row::NewRow};
use crate::tree::{planted::PlantedFault, read::descent::DescentTarget};
use crate::{
    Result, StorageError,
    key::{ByteRange, prefix_end},
    latch_order::{InTree, Rank},
};

impl TreeChange<'_> {
    /// Returns true if there must be no other entry with the same declared parts.
    pub(in crate::tree) fn is_unique(&self, new: &NewRow<'_>) -> bool {
        let layout = &self.tree.layout;
        let declared = &layout.key.parts[..layout.declared_parts];
        layout.unique && !declared.is_empty() && !declared.iter().any(|p| p.nullable && new.is_null(p.column))
    }

    /// Error: `Duplicate` if there is an entry with the same declared parts in a unique tree, other than the one with
    /// the key `except`; until the change is made or dropped, nobody else adds one. Entries with the same key are seen
    /// when the row is put in. To be called before leaves of the tree are latched.
    pub(in crate::tree) fn check_unique(&mut self, new: &NewRow<'_>, except: Option<&[u8]>) -> Result<()> {
        let layout = &self.tree.layout;
        if layout.declared_parts == layout.key.parts.len() || !self.is_unique(new) {
            return Ok(());
        }
        let mut declared = Vec::new();
        new.append_key(self.tree, layout.declared_parts, &mut declared);
        let rank = Rank::Tree(layout.index as u32, InTree::Unique);
        if !self.tree.planted.has(PlantedFault::AddUnseen) {
            self.unique = Some(self.tree.unique.lock(&declared, rank));
        }
        let range = ByteRange { upper: prefix_end(&declared), lower: declared };
        if self.has_other_than(&range, except)? { Err(self.duplicate(new)) } else { Ok(()) }
    }

    pub(in crate::tree) fn duplicate(&self, new: &NewRow<'_>) -> StorageError {
        let layout = &self.tree.layout;
        let parts = if self.is_unique(new) { layout.declared_parts } else { layout.key.parts.len() };
        let values = match self.tree.block_of(new.values) {
            Ok(values) => values,
            Err(e) => return e,
        };
        let entry = layout.key.parts[..parts].iter().map(|p| {
            let ty = &layout.columns[p.column].ty;
            ty.entry_text(&values.columns[p.column].value(0, ty, None))
        });
        StorageError::Duplicate { entry: entry.collect(), index: layout.index }
    }

    /// Returns true if there is a row in a range, not marked, with another key than `except`. Error: `WouldWait`, if
    /// another transaction has such a row, or has marked it, and has not ended.
    pub(in crate::tree) fn has_other_than(&self, range: &ByteRange, except: Option<&[u8]>) -> Result<bool> {
        let tree = self.tree;
        let mut page = tree.descend(DescentTarget::Key(&range.lower), 0, self.counters)?;
        loop {
            let corrupt = |e| tree.corrupt(page.page_no(), e);
            let leaf = tree.leaf(&page)?;
            for row in leaf.lower_bound(&tree.layout, &range.lower).map_err(corrupt)?..leaf.rows() {
                let key = leaf.key(&tree.layout, row).map_err(corrupt)?;
                if !range.contains(&key) {
                    return Ok(false);
                }
                let slot = leaf.slot_at(row).map_err(corrupt)?;
                if except == Some(&key) {
                    continue;
                }
                // An entry that another transaction has put in or marked may yet go or come back.
                let marked = slot.is_some_and(|slot| slot.marked);
                let version = slot.map(|slot| slot.version).unwrap_or_default();
                if self.is_changed_by_other(version, &key) || !marked {
                    self.lock_duplicate(&key)?;
                }
                if !marked {
                    return Ok(true);
                }
            }
            let high = leaf.fences().map_err(corrupt)?.high;
            if high.is_none_or(|high| !range.contains(high)) {
                return Ok(false);
            }
            let next = tree.fetch(leaf.right(), self.counters)?;
            tree.check_neighbour(&page, &next)?;
            page = next;
        }
    }
}
