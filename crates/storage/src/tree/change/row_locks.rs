//! Locks of entries that come, and of gaps that entries come to and leave. All is asked for while the leaf is latched.

use super::{modify::TreeChange, row_edit::Place};
use crate::tree::page::leaf::slot::Version;
use crate::{
    Result,
    locks::{LockMode, Resource, Wanted},
    page::PageHeader,
};

/// The upper end of a gap.
enum Successor {
    Known(Resource),
    /// Others have latched the leaf that it is in, which is not to be waited for: nothing is latched any more.
    Refused,
}

impl<'a> TreeChange<'a> {
    fn resource(&self, key: &[u8]) -> Resource {
        Resource::entry(self.tree.file.id().0, key)
    }

    /// Returns true if another transaction has changed an entry and has not ended; its lock of the entry is visible
    /// then.
    pub(in crate::tree) fn is_changed_by_other(&self, version: Version, key: &[u8]) -> bool {
        self.locks.is_some_and(|locks| locks.is_changed_by_other(version.trx_id, || self.resource(key)))
    }

    /// Error: `WouldWait`, if the row or entry at a place is one of another transaction that has not ended.
    pub(in crate::tree) fn check_owner(&self, place: Place, key: &[u8]) -> Result<()> {
        if let Some(locks) = self.locks.filter(|_| self.is_changed_by_other(place.version, key)) {
            locks.ask(&self.resource(key), Wanted::record(LockMode::Exclusive))?;
        }
        Ok(())
    }

    /// Locks an entry that is in the way of a new one, so that it stays if it is a duplicate. Error: `WouldWait`.
    pub(in crate::tree) fn lock_duplicate(&self, key: &[u8]) -> Result<()> {
        if let Some(locks) = self.locks {
            locks.try_acquire(&self.resource(key), Wanted::record(locks.duplicate_mode()))?;
        }
        Ok(())
    }

    /// Asks for the addition of an entry at its place: for the lock of its key, which whoever has changed the key last
    /// may still have, and for the gap that it comes to. Returns false if room had to be made, as [`TreeChange::edit`]
    /// does. Error: `WouldWait`.
    pub(in crate::tree) fn may_add(&mut self, place: Place, key: &[u8]) -> Result<bool> {
        let Some(locks) = self.locks else { return Ok(true) };
        let is_changed = self.is_changed_by_other(place.version, key);
        if place.is_live() && place.version.trx_id != locks.trx_id() {
            self.lock_duplicate(key)?;
        }
        if place.is_live() {
            return Ok(true);
        }
        if is_changed || !locks.table().is_empty() {
            locks.ask(&self.resource(key), Wanted::record(LockMode::Exclusive))?;
        }
        if place.found.exact || !locks.table().has_gaps() {
            return Ok(true);
        }
        match self.successor(place, place.found.position)? {
            Successor::Known(successor) => locks.split_gap(&self.resource(key), &successor)?,
            Successor::Refused => return Ok(false),
        }
        Ok(true)
    }

    /// Passes the locks of the gap before an entry that goes to its successor. Returns false as [`TreeChange::may_add`]
    /// does.
    pub(in crate::tree) fn join_gaps(&mut self, place: Place, key: &[u8]) -> Result<bool> {
        let Some(locks) = self.tree.locks.get().filter(|locks| locks.has_gaps()) else { return Ok(true) };
        match self.successor(place, place.found.position + 1)? {
            Successor::Known(successor) => locks.join_gaps(&self.resource(key), &successor),
            Successor::Refused => return Ok(false),
        }
        Ok(true)
    }

    /// The first entry from a position of a leaf on, which may be in a leaf to the right. Those leaves stay latched
    /// until the change is made or dropped, so that nobody locks the gap from there meanwhile.
    fn successor(&mut self, place: Place, position: usize) -> Result<Successor> {
        let (tree, file) = (self.tree, self.tree.file.id().0);
        let is_last = self.group.members().last() == Some(place.leaf);
        let mut right = {
            let page = self.group.view(place.leaf);
            let leaf = tree.leaf(&page)?;
            let corrupt = |e| tree.corrupt(PageHeader(&page).page_no(), e);
            if position < leaf.rows() {
                let key = leaf.key(&tree.layout, position).map_err(corrupt)?;
                return Ok(Successor::Known(Resource::entry(file, &key)));
            }
            if leaf.fences().map_err(corrupt)?.high.is_none() {
                return Ok(Successor::Known(Resource::supremum(file)));
            }
            leaf.right()
        };
        loop {
            let member = self.group.members().find(|member| self.group.page_no(*member) == right);
            let found = match member {
                Some(member) => self.first_from(&self.group.view(member))?,
                // A page to the right of all that are latched may be waited for.
                None => match tree.fetch_if(right, is_last, self.counters)? {
                    Some(page) => {
                        let found = self.first_from(&page)?;
                        self.neighbours.push(page);
                        found
                    }
                    None => {
                        self.release();
                        return Ok(Successor::Refused);
                    }
                },
            };
            match found {
                First::Entry(key) => return Ok(Successor::Known(Resource::entry(file, &key))),
                First::Right(next) => right = next,
                First::End => return Ok(Successor::Known(Resource::supremum(file))),
            }
        }
    }

    /// The first entry of a leaf, or where it is.
    fn first_from(&self, page: &[u8]) -> Result<First> {
        let tree = self.tree;
        let leaf = tree.leaf(page)?;
        let corrupt = |e| tree.corrupt(PageHeader(page).page_no(), e);
        if leaf.rows() > 0 {
            return leaf.key(&tree.layout, 0).map(First::Entry).map_err(corrupt);
        }
        let has_right = leaf.fences().map_err(corrupt)?.high.is_some();
        Ok(if has_right { First::Right(leaf.right()) } else { First::End })
    }
}

enum First {
    Entry(Vec<u8>),
    Right(u32),
    End,
}
