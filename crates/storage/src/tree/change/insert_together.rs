//! Rows that come together to one place of a leaf, between the same two rows: one change puts them all in.

use super::{modify::TreeChange, new_row::Form, row_edit::Place};
use crate::Result;
use crate::tree::page::{
    leaf::{
        SLOT,
        changes::{SlotChange, bytes_needed, free_bytes},
        max_rows,
        slot::{PENDING, Version},
    },
    page_change::PageChange,
};
use muster_types::Value;
use std::borrow::Cow;

/// A row that comes: its key and its record.
type Coming = (Vec<u8>, Vec<u8>);

impl TreeChange<'_> {
    /// Inserts rows, given as values of the stored columns, into a clustered tree: the first, and those that follow as
    /// long as they come in the order of keys, with no row between them, and the leaf has room. Returns the keys of the
    /// rows that were inserted. It is none if the first row has to come by itself: for its key is taken, it is long, or
    /// room must be made. `bytes`: at most so many bytes of the log. Errors: those of locks, and of reading pages.
    pub(crate) fn insert_together<'r>(
        &mut self,
        rows: impl Iterator<Item = Cow<'r, [Value]>>,
        bytes: usize,
    ) -> Result<Vec<Vec<u8>>> {
        let mut rows = rows.map(|values| self.tree.coming(&values));
        let Some(first) = rows.next().transpose()?.flatten() else { return Ok(Vec::new()) };
        let place = self.find(&first.0)?;
        let is_former = self.tree.leaf(self.group.page(place.leaf))?.former().is_some();
        if place.found.exact || is_former {
            return Ok(Vec::new());
        }
        let mut fitting = self.fitting(place, first, rows, bytes)?;
        // Nothing has changed yet: each row is asked for as if it came alone.
        for (at, (key, _)) in fitting.iter().enumerate() {
            if !self.may_add(place, key)? {
                // Nothing is latched any more.
                debug_assert_eq!(at, 0, "the gap is the same for all");
                fitting.clear();
                break;
            }
        }
        self.put_together(place, fitting)
    }

    /// The rows that come to a place one after the other, and for which there is room.
    fn fitting(
        &self,
        place: Place,
        first: Coming,
        rest: impl Iterator<Item = Result<Option<Coming>>>,
        bytes: usize,
    ) -> Result<Vec<Coming>> {
        let (tree, page) = (self.tree, self.group.view(place.leaf));
        let corrupt = |e| tree.corrupt(self.group.page_no(place.leaf), e);
        let leaf = tree.leaf(&page)?;
        let high = leaf.fences().map_err(corrupt)?.high;
        let next = match place.found.position < leaf.rows() {
            true => Some(leaf.key(&tree.layout, place.found.position).map_err(corrupt)?),
            false => None,
        };
        // Rows that are put in leave room for the slot of a row that goes.
        let reserve = if leaf.base_rows() > 0 { SLOT } else { 0 };
        let mut free = free_bytes(&page).map_err(corrupt)?.saturating_sub(reserve);
        let rows_max = max_rows(page.len()).saturating_sub(leaf.rows());
        let (mut fitting, mut told): (Vec<Coming>, _) = (Vec::new(), 0);
        for row in std::iter::once(Ok(Some(first))).chain(rest) {
            let Some((key, record)) = row? else { break };
            let follows = fitting.last().is_none_or(|(last, _)| *last < key)
                && next.as_ref().is_none_or(|next| key < *next)
                && high.is_none_or(|high| key.as_slice() < high);
            let needed = SLOT + record.len();
            told += LOG_BYTES + needed + key.len();
            if !follows || needed > free || fitting.len() == rows_max || told > bytes && !fitting.is_empty() {
                break;
            }
            free -= needed;
            fitting.push((key, record));
        }
        Ok(fitting)
    }

    /// Puts rows in at a place. Returns their keys.
    fn put_together(&mut self, place: Place, rows: Vec<Coming>) -> Result<Vec<Vec<u8>>> {
        if rows.is_empty() {
            return Ok(Vec::new());
        }
        let (tree, version) = (self.tree, Version { trx_id: self.trx_id, roll_pointer: PENDING });
        let changes = {
            let page = self.group.view(place.leaf);
            let corrupt = |e| tree.corrupt(self.group.page_no(place.leaf), e);
            let leaf = tree.leaf(&page)?;
            let changes = rows.iter().enumerate().map(|(before, (_, record))| {
                let change = leaf.put(place.found, record, version)?;
                debug_assert!(before > 0 || bytes_needed(&page, &change)? <= free_bytes(&page)?);
                Ok(change.behind(before).into_owned())
            });
            changes.collect::<std::result::Result<Vec<SlotChange<'static>>, _>>().map_err(corrupt)?
        };
        self.group.raise_trx_id(self.trx_id);
        self.group.count(rows.len() as i64, 0);
        changes.into_iter().for_each(|change| self.group.change(place.leaf, PageChange::Slot(change)));
        Ok(rows.into_iter().map(|(key, _)| key).collect())
    }
}

/// Bytes that a row takes in the log beside its slot, its record and its key, at most.
const LOG_BYTES: usize = 80;

impl crate::tree::btree::Tree {
    /// Key and record of a row that comes; `None` for a long one, whose values may have to leave the leaf.
    fn coming(&self, values: &[Value]) -> Result<Option<Coming>> {
        let new = self.one_row(values)?;
        let key = self.key_of(&new)?;
        match new.form {
            Form::Record(record) => Ok(Some((key, record))),
            Form::Long(_) => Ok(None),
        }
    }
}
