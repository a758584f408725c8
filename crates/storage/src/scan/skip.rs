//! Reading leaves in part: the entries that steering lets through, the first entry of each group, and how far a cursor
//! may go from there without reading.

use super::steering::{Sets, SteeringTarget};
use crate::{
    Result,
    key::{KeyCodec, prefix_end},
    rows::LeafRows,
    tree::{
        Tree,
        page::{
            gallop::first_not,
            leaf::{BadPage, Leaf, rows::RowSelection},
        },
    },
};
use std::{ops::Range, sync::Arc};

/// Searches within a leaf after which they must have paid.
const TRIAL_SEARCHES: usize = 8;
/// Entries that a search skips at least, if it is cheaper than a look at each.
const WORTH_ENTRIES: usize = 4;

/// Knows which entries a cursor leaves out.
pub(super) struct Skipper {
    tree: Arc<Tree>,
    reverse: bool,
    sets: Option<Arc<Sets>>,
    groups: Option<Groups>,
    scratch: Vec<u8>,
}

/// Leading parts of a key of which each combination is delivered once.
struct Groups {
    codec: KeyCodec,
    /// The combination delivered last.
    last: Option<Vec<u8>>,
}

/// The rows to be read of a leaf.
pub(super) struct Chosen {
    /// In reading order.
    pub rows: Vec<u16>,
    /// Entries that were looked at.
    pub read: usize,
    /// The place to continue at, if that is not the next entry.
    pub onward: Option<SteeringTarget>,
}

impl Skipper {
    /// `None` if nothing is left out. `group_parts`: leading parts of which each combination is delivered once.
    pub fn new(
        tree: &Arc<Tree>,
        sets: Option<Arc<Sets>>,
        group_parts: Option<usize>,
        reverse: bool,
    ) -> Option<Skipper> {
        let codec = |parts: usize| KeyCodec { parts: tree.layout().key.parts[..parts].to_vec() };
        let groups = group_parts.map(|parts| Groups { codec: codec(parts), last: None });
        let useful = sets.is_some() || groups.is_some();
        useful.then(|| Skipper { tree: Arc::clone(tree), reverse, sets, groups, scratch: Vec::new() })
    }

    /// Chooses among the rows at some positions of a leaf: those that are seen and that steering lets through, without
    /// the rest of the group delivered last.
    pub fn choose(&mut self, leaf: &Leaf<'_>, among: Range<usize>) -> Result<Chosen, BadPage> {
        let layout = self.tree.layout();
        let columns = leaf.key_rows(layout, &layout.key)?;
        let (count, reverse, scratch) = (among.len(), self.reverse, &mut self.scratch);
        let numbers = leaf.all_rows()?;
        let position = |place: usize| if reverse { among.end - 1 - place } else { among.start + place };
        let row_at = |place: usize| numbers.get(position(place));
        let mut chosen = Chosen { rows: Vec::new(), read: 0, onward: None };
        let mut place = 0;
        if let Some(Groups { codec, last: Some(last) }) = &self.groups {
            place = first_not(0, count, 1, |place| {
                scratch.clear();
                codec.append_row(&columns.row(row_at(place)), scratch);
                scratch == last
            });
            if place == count {
                chosen.onward = Some(behind(last, reverse));
                return Ok(chosen);
            }
        }
        let Some(sets) = &self.sets else {
            chosen.read = count - place;
            for place in place..count {
                chosen.rows.extend(leaf.unmarked_row(position(place))?.map(|row| row as u16));
            }
            return Ok(chosen);
        };
        let (mut searches, mut skipped) = (0, 0);
        while place < count {
            let row = row_at(place);
            chosen.read += 1;
            let Some(part) = sets.failing(&columns.row(row), scratch) else {
                chosen.rows.extend(leaf.unmarked_row(position(place))?.map(|row| row as u16));
                place += 1;
                continue;
            };
            // Behind the last row the target is needed in any case: it may lie far behind the leaf.
            if searches >= TRIAL_SEARCHES && skipped < searches * WORTH_ENTRIES && place + 1 < count {
                place += 1;
                continue;
            }
            let target = sets.target(&columns.row(row), part, reverse);
            let next = match &target {
                SteeringTarget::End => count,
                SteeringTarget::Key(key) => first_not(place + 1, count, 1, |place| {
                    scratch.clear();
                    sets.codec().append_row(&columns.row(row_at(place)), scratch);
                    (*scratch < *key) != reverse
                }),
            };
            (searches, skipped) = (searches + 1, skipped + next - place - 1);
            place = next;
            if place == count {
                chosen.onward = Some(target);
            }
        }
        Ok(chosen)
    }

    /// Keeps, of the rows of a leaf that have passed all conditions, the first of each group that was not delivered
    /// yet. Returns where to go on, if the rest of the last group is to be left out; `last`: the position of the last
    /// row of the leaf that the scan comes to.
    pub fn keep_first(&mut self, leaf: &mut LeafRows, last_row: usize) -> Result<Option<SteeringTarget>> {
        let Some(groups) = &mut self.groups else { return Ok(None) };
        let corrupt = |e| self.tree.corrupt(leaf.page.page_no(), e);
        let content = self.tree.leaf(&leaf.page)?;
        let columns = content.key_rows(self.tree.layout(), &groups.codec).map_err(corrupt)?;
        let last_row = content.row_at(last_row).map_err(corrupt)?.row;
        let scratch = &mut self.scratch;
        let mut is_of = |row: usize, group: &[u8]| {
            scratch.clear();
            groups.codec.append_row(&columns.row(row), scratch);
            scratch.as_slice() == group
        };
        let (mut kept, mut place) = (Vec::new(), 0);
        let rows = &leaf.rows;
        while place < rows.len() {
            let row = rows.get(place);
            let mut group = Vec::new();
            groups.codec.append_row(&columns.row(row), &mut group);
            if groups.last.as_ref() != Some(&group) {
                kept.push(row as u16);
            }
            place = first_not(place + 1, rows.len(), 1, |place| is_of(rows.get(place), &group));
            groups.last = Some(group);
        }
        leaf.rows = RowSelection::of(kept, content.base_rows());
        Ok(match &groups.last {
            Some(last) if is_of(last_row, last) => Some(behind(last, self.reverse)),
            _ => None,
        })
    }
}

/// Behind all keys that begin with `group`.
fn behind(group: &[u8], reverse: bool) -> SteeringTarget {
    match reverse {
        true => SteeringTarget::Key(group.to_vec()),
        false => prefix_end(group).map_or(SteeringTarget::End, SteeringTarget::Key),
    }
}

/// The one of two places that is further on.
pub(super) fn further(a: Option<SteeringTarget>, b: Option<SteeringTarget>, reverse: bool) -> Option<SteeringTarget> {
    match (a, b) {
        (Some(SteeringTarget::Key(a)), Some(SteeringTarget::Key(b))) => {
            Some(SteeringTarget::Key(if reverse { a.min(b) } else { a.max(b) }))
        }
        (Some(SteeringTarget::End), _) | (_, Some(SteeringTarget::End)) => Some(SteeringTarget::End),
        (a, b) => a.or(b),
    }
}
