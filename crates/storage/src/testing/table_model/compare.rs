//! A table beside its model: every index read in every way that there is, and every tree checked.

use super::{
    draw,
    model::{Model, Parts, Row, part},
};
use crate::{
    ColumnSchema, Counters, Fetch, Keys, Lookup, LookupRequest, Pages, ReadView, RowVisit, Scan, ScanRequest, Table,
    VisitCounts, VisitEnd, array_of,
    key::ByteRange,
    rows::fixtures::{rows_of, scan_request},
    testing::random::Random,
};
use muster_types::{BytesKind, KeyRange, SqlType, Value};
use std::{
    cell::Cell,
    fmt::Debug,
    ops::{Bound, ControlFlow},
    sync::Arc,
};

/// Estimates of whole indexes are wrong by a factor of at most so much, and of few rows by so many.
const ESTIMATE_ERROR: u64 = 4;

/// The finding about a table: an error says what is wrong with it.
pub(crate) type Verdict = Result<(), String>;

fn same<T: PartialEq + Debug>(got: &T, want: &T, what: impl Fn() -> String) -> Verdict {
    if got == want { Ok(()) } else { Err(format!("{}: {got:?}, wanted {want:?}", what())) }
}

pub(super) fn same_rows(got: &[Vec<Value>], want: &[Vec<Value>], what: impl Fn() -> String) -> Verdict {
    if got == want {
        return Ok(());
    }
    let at = got.iter().zip(want).take_while(|(got, want)| got == want).count();
    let (got_row, want_row) = (got.get(at), want.get(at));
    Err(format!("{}: {} rows, wanted {}; row {at} is {got_row:?}, wanted {want_row:?}", what(), got.len(), want.len()))
}

/// The expectation of a table beside its rows.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Compare {
    /// Counts are right, and no room is lost.
    Exactly,
    /// Counts are those of some time before.
    AfterCrash,
}

/// Compares all indexes of a table, as they are now, with a model.
pub(crate) fn compare(table: &Arc<Table>, model: &Model, draw: &mut Random, how: Compare) -> Verdict {
    for index in 0..model.schema.indexes.len() {
        Compared::new(table, model, ReadView::latest(), index).tree_is_sound(how)?;
    }
    compare_view(table, model, &ReadView::latest(), draw)
}

/// Compares all indexes of a table, as a view sees them, with a model.
pub(crate) fn compare_view(table: &Arc<Table>, model: &Model, view: &Arc<ReadView>, draw: &mut Random) -> Verdict {
    for index in 0..model.schema.indexes.len() {
        let compared = Compared::new(table, model, Arc::clone(view), index);
        compared.whole_scans(draw)?;
        for _ in 0..3 {
            compared.range(draw)?;
            compared.lookups(draw)?;
            compared.conditions(draw)?;
            compared.steered(draw)?;
            compared.first_of_groups(draw)?;
        }
        compared.visit(draw)?;
        compared.visit_rows(draw)?;
    }
    model.rows.values().step_by(7).try_for_each(|row| by_key(table, model, view, row, draw))
}

/// A way of fetching rows for entries.
fn any_fetch(draw: &mut Random) -> Fetch {
    match draw.below(3) {
        0 => Fetch::EntryOrder,
        1 => Fetch::KeyOrder { buffer_bytes: 1 + draw.below(200) },
        _ => Fetch::KeyOrder { buffer_bytes: 1 << 18 },
    }
}

/// A row by its key, also if that is written in other letters.
fn by_key(table: &Table, model: &Model, view: &Arc<ReadView>, row: &Row, draw: &mut Random) -> Verdict {
    let own = model.key_values(row);
    let other: Vec<Value> = own.iter().map(draw::other_case).collect();
    let parts = &model.schema.indexes[0].parts;
    let equal = parts
        .iter()
        .zip(&own)
        .zip(&other)
        .all(|((p, own), other)| part(&model.schema, p, own) == part(&model.schema, p, other));
    let key = if equal && draw.one_in(2) { other } else { own };
    let got = table.get(&key, view, &Counters::default()).map_err(|e| e.to_string())?;
    same(&got.as_ref(), &Some(&row.values), || format!("the row with key {key:?}"))
}

/// One index of a table, with the model's rows in its order.
pub(super) struct Compared<'a> {
    pub table: &'a Arc<Table>,
    pub model: &'a Model,
    view: Arc<ReadView>,
    pub index: usize,
    pub order: Vec<(Parts, &'a Row)>,
}

impl<'a> Compared<'a> {
    fn new(table: &'a Arc<Table>, model: &'a Model, view: Arc<ReadView>, index: usize) -> Compared<'a> {
        Compared { table, model, view, index, order: model.in_order(index) }
    }

    fn tree_is_sound(&self, how: Compare) -> Verdict {
        let (tree, index) = (self.table.tree(self.index), self.index);
        let report = tree.check(&Counters::default()).map_err(|e| format!("index {index}: {e}"))?;
        let marked = self.model.marked[index].len() as u64;
        same(&report.marked_rows, &marked, || format!("marked entries of index {index}"))?;
        same(&(report.rows - marked), &(self.order.len() as u64), || format!("entries of index {index}"))?;
        if how == Compare::AfterCrash {
            return Ok(());
        }
        same(&report.lost_pages, &0, || format!("pages that nothing leads to in index {index}"))?;
        same(&tree.row_count(), &(self.order.len() as u64), || format!("the count of index {index}"))?;
        self.estimate()
    }

    /// How many entries there are by the counts in inner pages: those of a leaf are as old as its last split or merge.
    fn estimate(&self) -> Verdict {
        let all = self.table.estimate_rows(self.index, &[KeyRange::all()]).map_err(|e| e.to_string())?;
        let entries = (self.order.len() + self.model.marked[self.index].len()) as u64;
        if all / ESTIMATE_ERROR <= entries + ESTIMATE_ERROR && entries / ESTIMATE_ERROR <= all + ESTIMATE_ERROR {
            return Ok(());
        }
        Err(format!("index {} has {entries} entries, by its counts {all}", self.index))
    }

    pub fn values(&self, columns: &[usize], keep: impl Fn(&Parts) -> bool) -> Vec<Vec<Value>> {
        let rows = self.order.iter().filter(|(entry, _)| keep(entry));
        rows.map(|(_, row)| columns.iter().map(|c| row.values[*c].clone()).collect()).collect()
    }

    /// The columns that the index holds itself, and all columns.
    fn column_lists(&self) -> Vec<Vec<usize>> {
        let all: Vec<usize> = (0..self.model.schema.columns.len()).collect();
        let layout = self.table.tree(self.index).layout();
        let own: Vec<usize> = all.iter().copied().filter(|c| layout.covers(&[*c])).collect();
        if own.is_empty() || own == all { vec![all] } else { vec![all, own] }
    }

    pub fn request(&self, columns: &[usize], reverse: bool, draw: &mut Random) -> ScanRequest {
        ScanRequest {
            view: Arc::clone(&self.view),
            index: self.index,
            fetch: any_fetch(draw),
            ordered: true,
            reverse,
            ..scan_request(columns.to_vec())
        }
    }

    pub fn scan(&self, request: ScanRequest) -> Result<Vec<Vec<Value>>, String> {
        let types: Vec<_> = request.columns.iter().map(|c| self.model.schema.columns[*c].clone()).collect();
        let scan = Scan::new(Arc::clone(self.table), request).map_err(|e| e.to_string())?;
        let mut cursor = scan.cursor();
        let mut rows = Vec::new();
        while let Some(batch) = cursor.next_batch().map_err(|e| format!("a scan of index {}: {e}", self.index))? {
            rows.extend(rows_of(&types, batch.columns(), batch.num_rows()));
        }
        Ok(rows)
    }

    fn whole_scans(&self, draw: &mut Random) -> Verdict {
        for columns in self.column_lists() {
            let mut want = self.values(&columns, |_| true);
            for reverse in [false, true] {
                let got = self.scan(self.request(&columns, reverse, draw))?;
                same_rows(&got, &want, || format!("index {}, columns {columns:?}, reverse {reverse}", self.index))?;
                want.reverse();
            }
        }
        Ok(())
    }

    /// The values of some leading parts of an index's key: those of a row that is there, or others.
    fn bound(&self, draw: &mut Random, parts: usize) -> Vec<Value> {
        let row = match self.order.is_empty() || draw.one_in(3) {
            true => draw::row(draw, &self.model.schema),
            false => draw.pick(&self.order).1.values.clone(),
        };
        let parts = &self.model.schema.indexes[self.index].parts[..parts];
        parts.iter().map(|p| row[p.column].clone()).collect()
    }

    fn parts_of(&self, values: &[Value]) -> Parts {
        let parts = &self.model.schema.indexes[self.index].parts;
        parts.iter().zip(values).map(|(p, value)| part(&self.model.schema, p, value)).collect()
    }

    /// A range of the index, forward and backward. Bounds of parts that hold a prefix may let more entries in.
    fn range(&self, draw: &mut Random) -> Verdict {
        let declared = &self.model.schema.indexes[self.index].parts;
        let bound = |draw: &mut Random| {
            if draw.one_in(5) || declared.is_empty() {
                return Bound::Unbounded;
            }
            let parts = 1 + draw.below(declared.len());
            let values = self.bound(draw, parts);
            if draw.one_in(2) { Bound::Included(values) } else { Bound::Excluded(values) }
        };
        let range = KeyRange { lower: bound(draw), upper: bound(draw) };
        let inside = |entry: &Parts| {
            let side = |values: &Vec<Value>| entry[..values.len()].cmp(&self.parts_of(values));
            let above = match &range.lower {
                Bound::Included(values) => side(values).is_ge(),
                Bound::Excluded(values) => side(values).is_gt(),
                Bound::Unbounded => true,
            };
            above
                && match &range.upper {
                    Bound::Included(values) => side(values).is_le(),
                    Bound::Excluded(values) => side(values).is_lt(),
                    Bound::Unbounded => true,
                }
        };
        let exact = declared.iter().all(|p| p.prefix.is_none());
        let columns: Vec<usize> = (0..self.model.schema.columns.len()).collect();
        let (want, all) = (self.values(&columns, inside), self.values(&columns, |_| true));
        for reverse in [false, true] {
            let ranges = vec![range.clone()];
            let mut got = self.scan(ScanRequest { ranges, ..self.request(&columns, reverse, draw) })?;
            if reverse {
                got.reverse();
            }
            let what = || format!("index {}, {range:?}, reverse {reverse}", self.index);
            if exact {
                same_rows(&got, &want, what)?;
                continue;
            }
            let holds = |all: &[Vec<Value>], part: &[Vec<Value>]| {
                part.is_empty() || all.windows(part.len()).any(|window| window == part)
            };
            if !holds(&got, &want) || !holds(&all, &got) {
                return Err(format!("{}: {} rows, wanted at least {}", what(), got.len(), want.len()));
            }
        }
        Ok(())
    }

    /// Some keys at once, together and one by one.
    fn lookups(&self, draw: &mut Random) -> Verdict {
        let schema = &self.model.schema;
        let declared = &schema.indexes[self.index].parts;
        if declared.is_empty() {
            return Ok(());
        }
        let parts = 1 + draw.below(declared.len());
        let wanted: Vec<Vec<Value>> = (0..1 + draw.below(8)).map(|_| self.bound(draw, parts)).collect();
        let arrays = (0..parts).map(|i| {
            let ty = schema.columns[declared[i].column].ty;
            array_of(wanted.iter().map(|values| &values[i]), ty).map_err(|e| e.to_string())
        });
        let arrays = arrays.collect::<Result<Vec<_>, _>>()?;
        let made = self.table.lookup_keys(self.index, &arrays).map_err(|e| e.to_string())?;
        let mut keys: Vec<(Vec<u8>, Parts)> =
            made.iter().map(<[u8]>::to_vec).zip(wanted.iter().map(|values| self.parts_of(values))).collect();
        keys.sort();
        keys.dedup_by(|a, b| a.0 == b.0);
        let columns: Vec<usize> = (0..schema.columns.len()).collect();
        let mut want = Vec::new();
        for (number, (_, parts)) in keys.iter().enumerate() {
            let found = self.values(&columns, |entry| entry[..parts.len()] == **parts);
            want.extend(found.into_iter().map(|row| (number as u32, row)));
        }
        let (batched, fetch) = (draw.one_in(2), any_fetch(draw));
        let mut lookup = Lookup::new(
            Arc::clone(self.table),
            LookupRequest {
                view: Arc::clone(&self.view),
                index: self.index,
                columns,
                index_filter: None,
                filter: None,
                fetch,
                batched,
                batch_rows: 20,
                counters: Arc::default(),
            },
        )
        .map_err(|e| e.to_string())?;
        let mut list = Keys::default();
        keys.iter().for_each(|(key, _)| list.push(key));
        lookup.begin(list);
        let mut got = Vec::new();
        while let Some((batch, numbers)) = lookup.next_batch().map_err(|e| e.to_string())? {
            got.extend(numbers.into_iter().zip(rows_of(&schema.columns, batch.columns(), batch.num_rows())));
        }
        if fetch != Fetch::EntryOrder {
            let text = |row: &(u32, Vec<Value>)| format!("{row:?}");
            got.sort_by_key(text);
            want.sort_by_key(text);
        }
        same(&got, &want, || format!("lookups in index {}, batched {batched}, {fetch:?}", self.index))
    }

    /// The entries of a range, one by one, as they lie on their pages.
    fn visit(&self, draw: &mut Random) -> Verdict {
        let tree = self.table.tree(self.index);
        let counters = Counters::default();
        let key_of = |row: &Row| {
            let stored = tree.layout().stored_values(&row.values, row.number).into_owned();
            tree.key_of_values(&stored).map_err(|e| e.to_string())
        };
        let keys = self.order.iter().map(|(_, row)| key_of(row)).collect::<Result<Vec<_>, _>>()?;
        let from = draw.below(keys.len() + 1);
        let lower = keys.get(from).cloned().unwrap_or_default();
        let want = if from < keys.len() { &keys[from..] } else { &keys };
        let range = ByteRange { lower, upper: None };
        let request = RowVisit {
            index: self.index,
            range: &range,
            whole_rows: false,
            view: Arc::clone(&self.view),
            pages: &Pages::All(&counters),
            reverse: draw.one_in(2),
            entries_max: usize::MAX,
        };
        let mut got = Vec::new();
        let end = self.table.visit_rows(&request, &mut VisitCounts::default(), &mut |row| {
            let mut key = Vec::new();
            row.append_key(&tree.layout().key, &mut key).expect("a page that was checked");
            got.push(key);
            ControlFlow::Continue(())
        });
        if request.reverse {
            got.reverse();
        }
        same(&end.map_err(|e| e.to_string())?, &VisitEnd::Done, || "the end of a visit".into())?;
        same(&got.as_slice(), &want, || format!("a visit of index {}", self.index))
    }

    /// The rows of all entries, one by one, as they lie on their pages, without waiting if that can be done.
    fn visit_rows(&self, draw: &mut Random) -> Verdict {
        let counters = Counters::default();
        let layout = self.table.tree(0).layout();
        // A long value is not on the row's page.
        let is_short = |column: &ColumnSchema| !matches!(column.ty, SqlType::Bytes { kind: BytesKind::Blob, .. });
        let Some(column) = self.model.schema.columns.iter().position(is_short) else { return Ok(()) };
        let range = ByteRange::default();
        let reverse = draw.one_in(2);
        let mut pages = if draw.one_in(2) { Pages::Resident { requests: Cell::new(0) } } else { Pages::All(&counters) };
        loop {
            let request = RowVisit {
                index: self.index,
                range: &range,
                whole_rows: true,
                view: Arc::clone(&self.view),
                pages: &pages,
                reverse,
                entries_max: usize::MAX,
            };
            let mut got = Vec::new();
            let end = self.table.visit_rows(&request, &mut VisitCounts::default(), &mut |row| {
                let mut key = Vec::new();
                row.append_key(&layout.key, &mut key).expect("a page that was checked");
                got.push((key, row.value(column).expect("a page that was checked").map(|value| value.to_value())));
                ControlFlow::Continue(())
            });
            if end.map_err(|e| e.to_string())? == VisitEnd::MustWait {
                pages = Pages::All(&counters);
                continue;
            }
            if reverse {
                got.reverse();
            }
            let want = self.order.iter().map(|(_, row)| {
                let key = self.table.tree(0).key_of_values(&layout.stored_values(&row.values, row.number));
                key.map(|key| (key, Some(row.values[column].clone()))).map_err(|e| e.to_string())
            });
            return same(&got, &want.collect::<Result<Vec<_>, _>>()?, || format!("rows by index {}", self.index));
        }
    }
}
