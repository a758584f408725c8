//! Rows that are not those of their entries any more. A view that is no snapshot sees an entry at one moment and its
//! row at a later one, between which the row may have been changed; what the entry said is then not true of it. (InnoDB
//! makes the same test: `row_sel_sec_rec_is_for_clust_rec`.)

use super::{LeafRows, RowAccess};
use crate::{
    Counters, ReadView, Result,
    key::Keys,
    tree::{LeafPage, Pages, Tree, page::leaf::rows::RowSelection},
};
use std::sync::Arc;

/// Keys of entries, to be compared with those that their rows have when they are fetched.
pub(crate) struct Recheck {
    secondary: Arc<Tree>,
    view: Arc<ReadView>,
    entries: Keys,
}

impl Recheck {
    /// `None` if rows do not change for the view.
    pub fn of(access: &RowAccess) -> Option<Recheck> {
        let (secondary, view) = (Arc::clone(&access.tree), Arc::clone(&access.view));
        (!view.is_snapshot()).then(|| Recheck { secondary, view, entries: Keys::default() })
    }

    pub fn clear(&mut self) {
        self.entries.clear();
    }

    /// Drops the first entries.
    pub fn drain(&mut self, count: usize) {
        self.entries.drain(count);
    }

    /// Takes in entries of a leaf.
    pub fn add(&mut self, page: &LeafPage, rows: &RowSelection) -> Result<()> {
        let layout = self.secondary.layout();
        let keys = self.secondary.leaf(page)?.key_rows(layout, &layout.key);
        let keys = keys.map_err(|e| self.secondary.corrupt(page.page_no(), e))?;
        let mut key = Vec::new();
        for row in rows.iter() {
            key.clear();
            layout.key.append_row(&keys.row(row), &mut key);
            self.entries.push(&key);
        }
        Ok(())
    }

    /// Leaves out rows that are not those of their entries: `numbers` has a place in `pass` for each row, which has the
    /// number of its entry.
    pub fn narrow(
        &self,
        clustered: &Tree,
        leaves: &mut Vec<LeafRows>,
        numbers: &mut Vec<usize>,
        pass: &[u32],
        counters: &Counters,
    ) -> Result<()> {
        let (pages, mut kept, mut first) = (Pages::All(counters), Vec::with_capacity(numbers.len()), 0);
        for LeafRows { page, rows } in leaves.iter_mut() {
            let here = &numbers[first..first + rows.len()];
            first += rows.len();
            let leaf = clustered.leaf(page)?;
            if !self.view.may_see_changes_in(leaf.max_trx_id()) {
                kept.extend_from_slice(here);
                continue;
            }
            let mut same = Vec::with_capacity(here.len());
            for (i, (row, number)) in rows.iter().zip(here).enumerate() {
                let entry = self.entries.get(pass[*number] as usize);
                // Nothing is said not to be there where pages are waited for.
                if self.secondary.is_entry_of(entry, clustered, &leaf, row, &pages)? != Some(false) {
                    same.push(i);
                    kept.push(*number);
                }
            }
            if same.len() < here.len() {
                *rows = rows.pick(same.into_iter());
            }
        }
        leaves.retain(|leaf| !leaf.rows.is_empty());
        *numbers = kept;
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{
        Fetch, Lookup, LookupRequest, RowVisit, Scan, ScanRequest, VisitCounts,
        key::ByteRange,
        rows::fixtures::{empty_table, home, number_table, scan_request, sysbench_row, sysbench_schema},
    };
    use arrow_array::{RecordBatch, cast::AsArray, types::Int32Type};
    use muster_types::{KeyRange, Value};
    use std::ops::{Bound, ControlFlow};

    const ROWS: i64 = 1000;

    fn ids(batch: &RecordBatch) -> Vec<i32> {
        batch.column(0).as_primitive::<Int32Type>().values().to_vec()
    }

    /// Gives a row another second number, which is that of the last entry of the second index.
    fn move_to_end(table: &crate::Table, id: i64) {
        change(table, id, ROWS);
    }

    /// Nothing is purged, which may latch any leaf.
    fn change(table: &crate::Table, id: i64, number: i64) {
        let mut trx = table.store().begin();
        let row = [id, number, 0].map(Value::Int);
        assert!(table.update(&mut trx, &[Value::Int(id)], &row, &Counters::default()).unwrap());
        let _not_waited_for = trx.commit().unwrap();
    }

    fn views(table: &crate::Table) -> [Arc<ReadView>; 2] {
        [ReadView::latest(), ReadView::uncommitted(table.store().read_view().low())]
    }

    #[test]
    fn a_scan_leaves_out_rows_that_changed_behind_their_entries() {
        let home = home(4096, 1 << 22);
        for (fetch, ordered) in [
            (Fetch::EntryOrder, true),
            (Fetch::KeyOrder { buffer_bytes: 1 << 18 }, true),
            (Fetch::KeyOrder { buffer_bytes: 200 }, false),
        ] {
            for which in 0..2 {
                let table = number_table(&home, ROWS);
                let view = Arc::clone(&views(&table)[which]);
                let below = KeyRange { lower: Bound::Unbounded, upper: Bound::Excluded(vec![Value::Int(ROWS)]) };
                let all = scan_request(vec![0, 2]);
                let request = ScanRequest { view, index: 1, ranges: vec![below], fetch, ordered, batch_rows: 1, ..all };
                let scan = Scan::new(Arc::clone(&table), request).unwrap();
                let mut cursor = scan.cursor();
                let mut found = ids(&cursor.next_batch().unwrap().unwrap());
                // The entries of the next rows are read already.
                let moved =
                    (0..ROWS).filter(|n| (200..250).contains(&(n * 7919 % ROWS)) && !found.contains(&(*n as i32)));
                let moved: Vec<i64> = moved.collect();
                moved.iter().for_each(|id| move_to_end(&table, *id));
                while let Some(batch) = cursor.next_batch().unwrap() {
                    found.extend(ids(&batch));
                }
                assert!(!moved.iter().any(|id| found.contains(&(*id as i32))), "{fetch:?}");
                assert_eq!(found.len() + moved.len(), ROWS as usize, "{fetch:?}");
            }
        }
    }

    #[test]
    fn a_lookup_leaves_out_rows_that_changed_behind_their_entries() {
        let home = home(4096, 1 << 22);
        let table = number_table(&home, ROWS);
        for fetch in [Fetch::EntryOrder, Fetch::KeyOrder { buffer_bytes: 1 << 18 }] {
            for view in views(&table) {
                let request = LookupRequest {
                    view,
                    index: 1,
                    columns: vec![0, 1, 2],
                    index_filter: None,
                    filter: None,
                    fetch,
                    batched: true,
                    batch_rows: 8,
                    counters: Arc::default(),
                };
                let mut lookup = Lookup::new(Arc::clone(&table), request).unwrap();
                let mut keys = Keys::default();
                for number in 100..200 {
                    let mut key = Vec::new();
                    table.tree(1).layout().key.append_values(&[Value::Int(number)], &mut key).unwrap();
                    keys.push(&key);
                }
                lookup.begin(keys);
                let mut moved = false;
                while let Some((batch, ordinals)) = lookup.next_batch().unwrap() {
                    let numbers = batch.column(1).as_primitive::<Int32Type>();
                    let expected: Vec<i32> = ordinals.iter().map(|ordinal| 100 + *ordinal as i32).collect();
                    assert_eq!(numbers.values().to_vec(), expected);
                    if !std::mem::replace(&mut moved, true) {
                        // A row of the last key, which is looked up by now, or will be.
                        for id in (0..ROWS).filter(|n| n * 7919 % ROWS == 199 || n * 7919 % ROWS == 120) {
                            move_to_end(&table, id);
                        }
                    }
                }
                for id in (0..ROWS).filter(|n| n * 7919 % ROWS == 199 || n * 7919 % ROWS == 120) {
                    change(&table, id, id * 7919 % ROWS);
                }
            }
        }
    }

    #[test]
    fn a_visit_leaves_out_rows_that_changed_behind_their_entries() {
        let home = home(4096, 1 << 22);
        let table = empty_table(&home, &sysbench_schema());
        for id in 0..100 {
            table.insert_now(&sysbench_row(id, 0, id), &Counters::default()).unwrap();
        }
        for (view, moved) in views(&table).into_iter().zip([80, 90]) {
            let request = RowVisit {
                index: 1,
                range: &ByteRange::default(),
                whole_rows: true,
                view,
                pages: &Pages::All(&Counters::default()),
                reverse: false,
                entries_max: usize::MAX,
            };
            let mut seen = Vec::new();
            let end = table.visit_rows(&request, &mut VisitCounts::default(), &mut |row| {
                if seen.is_empty() {
                    // Its entry is read already, and it lies on another leaf than the one that is latched.
                    let change = || {
                        let mut trx = table.store().begin();
                        let (key, row) = ([Value::Int(moved)], sysbench_row(moved, 0, ROWS));
                        assert!(table.update(&mut trx, &key, &row, &Counters::default()).unwrap());
                        let _not_waited_for = trx.commit().unwrap();
                    };
                    std::thread::scope(|scope| scope.spawn(change).join().unwrap());
                }
                seen.push(row.value(0).unwrap().unwrap().to_value());
                ControlFlow::Continue(())
            });
            end.unwrap();
            assert!(!seen.contains(&Value::Int(moved)));
            assert!(seen.len() >= 98);
        }
    }
}
