//! The rows of a short range of an index, one by one, as they lie on their pages: for statements that touch few rows,
//! which neither want batches nor can pay for them.

use crate::{
    ReadView, Result, Table,
    key::{ByteRange, Keys, prefix_end},
    tree::{BadPage, Pages, RowOnPage, Tree, VisitEnd},
};
use std::{ops::ControlFlow, sync::Arc};

/// The description of a visit.
pub struct RowVisit<'a> {
    /// Position in the schema's indexes; 0 is the clustered tree.
    pub index: usize,
    pub range: &'a ByteRange,
    /// True if the rows of the clustered tree are visited, not the entries of the index.
    pub whole_rows: bool,
    pub view: Arc<ReadView>,
    pub pages: &'a Pages<'a>,
    /// True if the rows come in the descending order of the index.
    pub reverse: bool,
    /// Most entries of the index to read; rows of those are visited, also if there are more.
    pub entries_max: usize,
}

/// Counts of what a visit has read.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct VisitCounts {
    /// Entries of the index.
    pub entries: u64,
    /// Rows fetched from the clustered tree for entries of another.
    pub rows_fetched: u64,
    /// Pages that were in memory; others count themselves.
    pub page_requests: u64,
    /// True if the range has no least key, so that the index is read from its first entry.
    pub from_first: bool,
    /// The same from its last entry on.
    pub from_last: bool,
    /// True if entries come in descending order.
    pub backward: bool,
    /// True if there are more entries than the visit may read.
    pub too_many: bool,
}

impl RowVisit<'_> {
    fn visit_tree(
        &self,
        tree: &Tree,
        visit: &mut dyn FnMut(&RowOnPage<'_>) -> Result<ControlFlow<()>, BadPage>,
    ) -> Result<VisitEnd> {
        match self.reverse {
            false => tree.visit_range(self.range, &self.view, self.pages, visit),
            true => tree.visit_range_backward(self.range, &self.view, self.pages, visit),
        }
    }
}

impl Table {
    /// Calls `visit` with rows in the order of the index. Blocks on I/O only if `request.pages` allows it.
    pub fn visit_rows(
        &self,
        request: &RowVisit<'_>,
        counts: &mut VisitCounts,
        visit: &mut dyn FnMut(&RowOnPage<'_>) -> ControlFlow<()>,
    ) -> Result<VisitEnd> {
        counts.from_first = request.range.lower.is_empty() && !request.reverse;
        counts.from_last = request.range.upper.is_none() && request.reverse;
        counts.backward = request.reverse;
        let before = match request.pages {
            Pages::Resident { requests } => requests.get(),
            Pages::All(_) => 0,
        };
        let end = match request.whole_rows && request.index > 0 {
            false => self.visit_entries(request, counts, visit),
            true => self.visit_rows_of_entries(request, counts, visit),
        };
        if let Pages::Resident { requests } = request.pages {
            counts.page_requests = requests.get() - before;
        }
        end
    }

    fn visit_entries(
        &self,
        request: &RowVisit<'_>,
        counts: &mut VisitCounts,
        visit: &mut dyn FnMut(&RowOnPage<'_>) -> ControlFlow<()>,
    ) -> Result<VisitEnd> {
        request.visit_tree(self.tree(request.index), &mut |row| {
            if counts.entries as usize >= request.entries_max {
                counts.too_many = true;
                return Ok(ControlFlow::Break(()));
            }
            counts.entries += 1;
            Ok(visit(row))
        })
    }

    /// No page of the index is latched while rows are fetched. A row that has changed since its entry was read, which
    /// only a view that is no snapshot sees, is left out if the entry is not its own any more.
    fn visit_rows_of_entries(
        &self,
        request: &RowVisit<'_>,
        counts: &mut VisitCounts,
        visit: &mut dyn FnMut(&RowOnPage<'_>) -> ControlFlow<()>,
    ) -> Result<VisitEnd> {
        let (index, clustered) = (self.tree(request.index), self.tree(0));
        let codec = &index.layout().clustered_key;
        let (mut keys, mut ends) = (Vec::new(), Vec::new());
        let (changing, mut entries) = (!request.view.is_snapshot(), Keys::default());
        let end = request.visit_tree(index, &mut |row| {
            if ends.len() >= request.entries_max {
                counts.too_many = true;
                return Ok(ControlFlow::Break(()));
            }
            row.append_key(codec, &mut keys)?;
            ends.push(keys.len());
            if changing {
                let mut entry = Vec::new();
                row.append_key(&index.layout().key, &mut entry)?;
                entries.push(&entry);
            }
            Ok(ControlFlow::Continue(()))
        })?;
        if end == VisitEnd::MustWait {
            return Ok(end);
        }
        let mut start = 0;
        for (i, end) in ends.into_iter().enumerate() {
            let key = &keys[std::mem::replace(&mut start, end)..end];
            let range = ByteRange { lower: key.to_vec(), upper: prefix_end(key) };
            let (mut flow, mut is_its_row) = (ControlFlow::Continue(()), Ok(Some(true)));
            counts.entries += 1;
            counts.rows_fetched += 1;
            let found = clustered.visit_range(&range, &request.view, request.pages, &mut |row| {
                if changing {
                    is_its_row = row.is_row_of(entries.get(i), index, clustered, (&request.view, request.pages));
                }
                if let Ok(Some(true)) = is_its_row {
                    flow = visit(row);
                }
                Ok(ControlFlow::Break(()))
            })?;
            if is_its_row?.is_none() {
                return Ok(VisitEnd::MustWait);
            }
            match (found, flow) {
                (VisitEnd::MustWait, _) => return Ok(VisitEnd::MustWait),
                (_, ControlFlow::Break(())) => return Ok(VisitEnd::Stopped),
                _ => {}
            }
        }
        Ok(VisitEnd::Done)
    }
}

#[cfg(test)]
#[path = "row_visit_tests.rs"]
mod tests;
