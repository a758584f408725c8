//! Leaves that are changed, against rows in memory: after every change each reader gives the rows that a model has.

use super::{
    changes::{apply, free_bytes, has_room},
    decode::{ColumnSink, OverflowReader},
    encode::encode,
    rows::RowSelection,
    search::PrefixSearch,
    slot::Version,
    split::{Cut, join, split},
    visible::visible,
    within::keep_within,
    *,
};
use crate::{
    ReadView, Result, fuzz,
    key::Keys,
    page::{PageHeaderMut, TYPE_FIELDS},
    tree::{
        arbitrary::{any_rows, any_schema},
        build::fit,
        page::{
            block::{BlockValues, OverflowPointer, RowBlock},
            layout::{Physical, TreeLayout},
        },
    },
};
use arrow_array::{Array, ArrayRef, cast::AsArray};
use muster_types::Value;
use proptest::prelude::*;
use std::collections::BTreeMap;

const PAGE: usize = 4096;
/// Transactions below this are seen by all, and what they did is final.
const HORIZON: u64 = 5;

/// Long values, each told by its pointer.
struct LongValues;

fn long_value(pointer: OverflowPointer) -> Vec<u8> {
    format!("a long value, number {} of {}", pointer.page, pointer.len).into_bytes()
}

impl OverflowReader for LongValues {
    fn read(&self, pointer: OverflowPointer) -> Result<Vec<u8>> {
        Ok(long_value(pointer))
    }
}

#[derive(Debug, Clone, PartialEq)]
struct ModelRow {
    record: Vec<u8>,
    values: Vec<Value>,
    marked: bool,
    version: Version,
}

/// Leaves in the order of their keys, and the rows that they should have.
struct Leaves {
    layout: TreeLayout,
    pages: Vec<Vec<u8>>,
    model: BTreeMap<Vec<u8>, ModelRow>,
    next_page: u32,
    largest_trx: u64,
}

impl Leaves {
    fn new(layout: TreeLayout) -> Leaves {
        let mut page = vec![0; PAGE];
        let block = RowBlock::new(&layout);
        let extents = RowExtents::of(&block, 0..0);
        write_leaf(&block, &extents, &fit(&layout, PAGE), Fences::NONE, &mut page);
        PageHeaderMut(&mut page).set_identity(1, 7);
        Leaves { layout, pages: vec![page], model: BTreeMap::new(), next_page: 2, largest_trx: 0 }
    }

    fn page_of(&self, key: &[u8]) -> usize {
        self.pages.partition_point(|page| Fences::of(page).unwrap().high.is_some_and(|high| high <= key))
    }

    fn raise(&mut self, version: Version) {
        self.largest_trx = self.largest_trx.max(version.trx_id);
    }

    /// Puts a row, encoding or splitting its leaf if it must.
    fn put(&mut self, row: ModelRow, key: Vec<u8>) {
        loop {
            let at = self.page_of(&key);
            let leaf = Leaf::of(&self.pages[at], &self.layout).unwrap();
            let found = leaf.find(&self.layout, &key).unwrap();
            let change = leaf.put(found, &row.record, row.version).unwrap();
            if has_room(&self.pages[at], &change).unwrap() {
                apply(&mut self.pages[at], &change).unwrap();
                self.raise(row.version);
                self.model.insert(key, row);
                return;
            }
            let mut anew = vec![0xEE; PAGE];
            if encode(&self.pages[at], &self.layout, HORIZON, &mut anew).unwrap()
                && free_bytes(&anew).unwrap() > PAGE / 8
            {
                self.pages[at] = anew;
                continue;
            }
            let cut = if leaf.rows() < 2 { Cut::For { position: found.position, key: &key } } else { Cut::Middle };
            self.split(at, cut);
        }
    }

    fn split(&mut self, at: usize, cut: Cut<'_>) {
        let old = self.pages[at].clone();
        let halves = split(&old, &self.layout, HORIZON, cut, self.next_page).unwrap().expect("rows that can be cut");
        assert_eq!(Leaf::of(&halves.left, &self.layout).unwrap().right(), self.next_page);
        assert_eq!(
            Leaf::of(&halves.right, &self.layout).unwrap().right(),
            Leaf::of(&old, &self.layout).unwrap().right()
        );
        self.next_page += 1;
        self.pages.splice(at..at + 1, [halves.left, halves.right]);
    }

    fn change(&mut self, key: &[u8], change: impl Fn(&Leaf<'_>, usize) -> changes::SlotChange<'static>) -> bool {
        let at = self.page_of(key);
        let leaf = Leaf::of(&self.pages[at], &self.layout).unwrap();
        let found = leaf.find(&self.layout, key).unwrap();
        assert!(found.exact);
        let change = change(&leaf, found.position);
        let fits = has_room(&self.pages[at], &change).unwrap();
        if fits {
            apply(&mut self.pages[at], &change).unwrap();
        }
        fits
    }

    /// Compares every reader of a leaf with the model.
    fn check(&self, at: usize, pick: &[bool]) {
        let (layout, page) = (&self.layout, &self.pages[at]);
        let leaf = Leaf::of(page, layout).unwrap();
        let fences = leaf.fences().unwrap();
        let inside = |key: &[u8]| key >= fences.low && fences.high.is_none_or(|high| key < high);
        let rows: Vec<(&Vec<u8>, &ModelRow)> = self.model.iter().filter(|(key, _)| inside(key)).collect();
        assert_eq!(leaf.rows(), rows.len());
        let trx_here = rows.iter().map(|(_, row)| row.version.trx_id).max().unwrap_or(0);
        assert!((trx_here..=self.largest_trx).contains(&leaf.max_trx_id()), "the largest transaction of the page");
        leaf.check_changes().unwrap();

        let block = leaf.to_block(layout).unwrap();
        for (position, (key, row)) in rows.iter().enumerate() {
            assert_eq!(layout.record.record_of(&block, position), row.record);
            assert_eq!(leaf.record_of(layout, position).unwrap(), row.record);
            assert_eq!(leaf.key(layout, position).unwrap(), **key);
            assert_eq!(leaf.find(layout, key).unwrap(), LeafPosition { position, exact: true });
            assert_eq!(leaf.lower_bound(layout, key).unwrap(), position);
            let mut above = key.to_vec();
            above.push(0);
            assert_eq!(leaf.lower_bound(layout, &above).unwrap(), position + 1);
            match leaf.slot_at(position).unwrap() {
                Some(slot) => assert_eq!((slot.marked, slot.version), (row.marked, row.version)),
                None => assert!(!row.marked && row.version.trx_id < HORIZON),
            }
            self.check_single(&leaf, position, row);
        }
        for positions in [0..rows.len(), rows.len() / 3..rows.len(), rows.len() / 4..rows.len() / 2] {
            for next in [HORIZON, 8, u64::MAX] {
                let unseen = rows[positions.clone()].iter().any(|(_, row)| row.version.trx_id >= next);
                assert_eq!(leaf.unseen_at(&positions, &ReadView::new([].into(), next)).unwrap(), unseen);
            }
            let unmarked: Vec<_> = rows[positions.clone()].iter().filter(|(_, row)| !row.marked).collect();
            let found = visible(&leaf, positions.clone()).unwrap();
            let want: Vec<_> = unmarked.iter().map(|(_, row)| row.values.clone()).collect();
            self.check_columns(&leaf, &found, &want);
            let picked = found.pick((0..found.len()).filter(|i| pick[i % pick.len()]));
            let want: Vec<_> =
                want.into_iter().enumerate().filter(|(i, _)| pick[i % pick.len()]).map(|w| w.1).collect();
            self.check_columns(&leaf, &picked, &want);
            let reversed: Vec<_> = want.into_iter().rev().collect();
            self.check_columns(&leaf, &picked.reversed(), &reversed);
            let one_by_one = positions.filter_map(|position| leaf.unmarked_row(position).unwrap());
            assert!(one_by_one.eq(found.iter()));
        }
        self.check_search(&leaf, &rows);
    }

    fn check_single(&self, leaf: &Leaf<'_>, position: usize, row: &ModelRow) {
        let number = leaf.row_at(position).unwrap().row;
        let keys = leaf.single_keys(&self.layout, &self.layout.key).unwrap();
        let mut key = Vec::new();
        keys.append(&self.layout.key, number, &mut key).unwrap();
        assert_eq!(self.model.get(&key), Some(row));
        for (i, want) in row.values.iter().enumerate() {
            let value = leaf.value(&self.layout, i, number).unwrap();
            let is_long = self.layout.record.column(i).unwrap().is_overflow(&row.record);
            assert_eq!(value.map(|value| value.to_value()), (!is_long).then(|| want.clone()));
        }
    }

    fn check_columns(&self, leaf: &Leaf<'_>, rows: &RowSelection, want: &[Vec<Value>]) {
        assert_eq!(rows.len(), want.len());
        for (i, column) in self.layout.columns.iter().enumerate() {
            let coded = column.ty.is_text() || column.ty.is_bytes();
            for coded in [false, true].into_iter().take(1 + usize::from(coded)) {
                let mut sink = if coded { ColumnSink::coded(column.ty, 0) } else { ColumnSink::new(column.ty, 0) };
                // Twice, so that values come behind others.
                for _ in 0..2 {
                    let cells = leaf.column_of(i, column.physical, rows).unwrap();
                    sink.append(&cells, rows, &LongValues).unwrap();
                }
                let array = plain(sink.finish());
                array.to_data().validate_full().unwrap();
                let values: Vec<Value> = (0..array.len()).map(|row| value_of(&array, row, column)).collect();
                let want: Vec<Value> = want.iter().chain(want).map(|row| row[i].clone()).collect();
                assert_eq!(values, want);
            }
            if matches!(column.physical, Physical::Int { .. }) {
                let cells = leaf.column_of(i, column.physical, rows).unwrap();
                for (least, most) in [(-5, 3), (i64::MIN, 0), (0, i64::MAX)] {
                    let mut marks: Vec<u8> = (0..rows.len()).map(|i| u8::from(i % 3 > 0)).collect();
                    keep_within(&cells, rows, least, most, &mut marks);
                    let within = |row| !cells.is_null(row) && (least..=most).contains(&cells.int(row));
                    let want = rows.iter().enumerate().map(|(i, row)| u8::from(i % 3 > 0 && within(row)));
                    assert!(want.eq(marks));
                }
            }
        }
    }

    fn check_search(&self, leaf: &Leaf<'_>, rows: &[(&Vec<u8>, &ModelRow)]) {
        for parts in (1..=self.layout.key.parts.len()).map(Some).chain([None]) {
            let mut search = PrefixSearch::new(&self.layout, parts);
            let beginning = |key: &[u8], row: usize| match parts {
                None => key.to_vec(),
                Some(parts) => {
                    let mut prefix = Vec::new();
                    let block = leaf.to_block_of_row(&self.layout, row).unwrap();
                    self.layout.key.append_row_parts(&block.row(0), parts, &mut prefix);
                    prefix
                }
            };
            for step in [1, 7] {
                let mut prefixes: Vec<Vec<u8>> = rows
                    .iter()
                    .enumerate()
                    .step_by(step)
                    .map(|(position, (key, _))| beginning(key, leaf.row_at(position).unwrap().row))
                    .collect();
                prefixes.sort();
                prefixes.dedup();
                let mut keys = Keys::default();
                prefixes.iter().for_each(|prefix| keys.push(prefix));
                let mut found = Vec::new();
                let list = crate::key::KeyList::all(&keys);
                search
                    .find(leaf, &self.layout, list, 0..prefixes.len(), 0, |key, rows| {
                        found.extend(rows.map(|row| (key, row)))
                    })
                    .unwrap();
                let mut want = Vec::new();
                for (i, prefix) in prefixes.iter().enumerate() {
                    want.extend((0..rows.len()).filter(|row| rows[*row].0.starts_with(prefix)).map(|row| (i, row)));
                }
                assert_eq!(found, want);
            }
        }
    }
}

/// An array without its dictionary.
fn plain(array: ArrayRef) -> ArrayRef {
    match array.as_any_dictionary_opt() {
        None => array,
        Some(dictionary) => arrow_select::take::take(dictionary.values(), dictionary.keys(), None).unwrap(),
    }
}

fn value_of(array: &ArrayRef, row: usize, column: &crate::tree::StoredColumn) -> Value {
    let mut block = crate::tree::page::block::ColumnBlock::new(column.physical);
    block.append_array(array.as_ref(), row..row + 1, None).unwrap();
    block.value(0, &column.ty, None)
}

/// A row for the model: some strings that no key needs are long.
fn model_row(layout: &TreeLayout, stored: &[Value], long: u32, version: Version) -> (Vec<u8>, ModelRow) {
    let mut block = RowBlock::new(layout);
    block.push_values(layout, stored).unwrap();
    let mut key = Vec::new();
    layout.key.append_row(&block.row(0), &mut key);
    let mut values: Vec<Value> =
        layout.columns.iter().zip(&block.columns).map(|(c, b)| b.value(0, &c.ty, None)).collect();
    for (i, column) in layout.columns.iter().enumerate() {
        let bytes = matches!(column.physical, Physical::Bytes { .. });
        if bytes && !layout.is_key_column(i) && !values[i].is_null() && long.is_multiple_of(4) {
            let pointer = OverflowPointer { page: long, len: 1 + i as u32 };
            let mut to = crate::tree::page::block::ColumnBlock::new(column.physical);
            to.push_bytes(&pointer.to_bytes(), true);
            assert!(matches!(to.values, BlockValues::Bytes { .. }));
            block.columns[i] = to;
            let long = long_value(pointer);
            values[i] = match column.ty.is_text() {
                true => Value::Text(String::from_utf8(long).unwrap()),
                false => Value::Bytes(long),
            };
        }
    }
    (key, ModelRow { record: layout.record.record_of(&block, 0), values, marked: false, version })
}

/// A row with the values of another one in some of the columns that no key needs: one bit of `which` for each.
fn with_some_of(layout: &TreeLayout, row: &ModelRow, other: &ModelRow, which: u16) -> ModelRow {
    let (mut blocks, mut values) = ([RowBlock::new(layout), RowBlock::new(layout)], row.values.clone());
    for (block, row) in blocks.iter_mut().zip([row, other]) {
        layout.record.append_to(&row.record, block).unwrap();
    }
    let [mut block, others] = blocks;
    for (i, column) in others.columns.into_iter().enumerate() {
        if !layout.is_key_column(i) && which >> (i % 16) & 1 == 1 {
            block.columns[i] = column;
            values[i] = other.values[i].clone();
        }
    }
    ModelRow { record: layout.record.record_of(&block, 0), values, marked: false, version: other.version }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(150))]

    #[test]
    fn changed_leaves_are_read_as_the_model_has_them(
        (schema, rows) in any_schema().prop_flat_map(|s| { let r = any_rows(&s, 20..60); (Just(s), r) }),
        which in any::<prop::sample::Index>(),
        steps in proptest::collection::vec((0u8..12, any::<u16>(), any::<u16>(), 1u64..12), 1..120),
        pick in proptest::collection::vec(any::<bool>(), 1..9),
        first in 0usize..200,
    ) {
        let layout = TreeLayout::new(&schema, which.index(schema.indexes.len()));
        let stored = |n: usize| layout.stored_values(&rows[n % rows.len()], (n % 97) as i64).into_owned();
        let mut leaves = changed_leaves(&layout, &rows, &[], first);
        for (step, n, m, trx_id) in steps {
            let version = Version { trx_id, roll_pointer: u64::from(n) };
            let some_key = leaves.model.keys().nth(usize::from(m) % leaves.model.len().max(1)).cloned();
            let touched = match (step, some_key) {
                (0..5, _) | (_, None) => {
                    let (key, row) = model_row(&layout, &stored(n.into()), m.into(), version);
                    leaves.put(row, key.clone());
                    leaves.page_of(&key)
                }
                (5, Some(key)) => {
                    // The same key, other values in some columns.
                    let row = with_some_of(&layout, &leaves.model[&key], &model_row(&layout, &stored(n.into()), m.into(), version).1, m);
                    let at = leaves.page_of(&key);
                    leaves.put(row, key);
                    at.min(leaves.pages.len() - 1)
                }
                (6 | 7, Some(key)) => {
                    if leaves.change(&key, |leaf, position| leaf.mark(position, version).unwrap().into_owned()) {
                        leaves.raise(version);
                        let row = leaves.model.get_mut(&key).unwrap();
                        (row.marked, row.version) = (true, version);
                    }
                    leaves.page_of(&key)
                }
                (8, Some(key)) => {
                    let version = if n % 2 == 0 { version } else { Version::default() };
                    if leaves.change(&key, |leaf, position| leaf.unmark(position, version).unwrap().into_owned()) {
                        leaves.raise(version);
                        let row = leaves.model.get_mut(&key).unwrap();
                        (row.marked, row.version) = (false, version);
                    }
                    leaves.page_of(&key)
                }
                (9, Some(key)) => {
                    if leaves.change(&key, |leaf, position| leaf.remove(position).unwrap()) {
                        leaves.model.remove(&key);
                    }
                    leaves.page_of(&key)
                }
                (10, Some(key)) => {
                    let at = leaves.page_of(&key);
                    let mut anew = vec![0xEE; PAGE];
                    if encode(&leaves.pages[at], &layout, HORIZON, &mut anew).unwrap() {
                        let mut again = vec![0x11; PAGE];
                        encode(&leaves.pages[at], &layout, HORIZON, &mut again).unwrap();
                        prop_assert_eq!(&anew, &again);
                        leaves.pages[at] = anew;
                    }
                    at
                }
                (_, Some(key)) => {
                    let at = leaves.page_of(&key);
                    if at + 1 < leaves.pages.len() {
                        let free = usize::from(n) % 1000;
                        let joined = join(&leaves.pages[at], &leaves.pages[at + 1], &layout, HORIZON, free).unwrap();
                        if let Some(page) = joined {
                            prop_assert_eq!(
                                Leaf::of(&page, &layout).unwrap().right(),
                                Leaf::of(&leaves.pages[at + 1], &layout).unwrap().right()
                            );
                            leaves.pages.splice(at..at + 2, [page]);
                        }
                    } else if Leaf::of(&leaves.pages[at], &layout).unwrap().rows() > 1 {
                        leaves.split(at, Cut::Middle);
                    }
                    at
                }
            };
            leaves.check(touched, &pick);
        }
        for at in 0..leaves.pages.len() {
            leaves.check(at, &pick);
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(300))]

    /// Whatever a page with slots holds, reading and changing it ends without a panic.
    #[test]
    fn damaged_changed_leaves_are_harmless(
        (schema, rows) in any_schema().prop_flat_map(|s| { let r = any_rows(&s, 1..30); (Just(s), r) }),
        steps in proptest::collection::vec((any::<u16>(), any::<bool>(), 1u64..12), 1..40),
        first in 0usize..60,
        damage in proptest::collection::vec((0u8..4, any::<u16>(), any::<u8>()), 1..12),
    ) {
        let layout = TreeLayout::new(&schema, 0);
        let leaves = changed_leaves(&layout, &rows, &steps, first);
        for mut page in leaves.pages {
            let areas = changes::Areas::of(&page).unwrap();
            for (place, at, byte) in &damage {
                let at = usize::from(*at);
                // Aimed at what leads elsewhere: the fields of the page, the directory, slots, records.
                let at = match place {
                    0 => TYPE_FIELDS + at % 16,
                    1 => at % 300,
                    2 if areas.slot_count > 0 => areas.slots + at % (areas.slot_count * SLOT),
                    _ => areas.records.min(PAGE - 1) + at % (PAGE - areas.records).max(1),
                };
                page[at] = *byte;
            }
            fuzz::decode(&layout, &page);
        }
    }
}

/// Leaves after some rows were put, first those of a base, and some marked.
fn changed_leaves(layout: &TreeLayout, rows: &[Vec<Value>], steps: &[(u16, bool, u64)], first: usize) -> Leaves {
    let stored = |n: usize| layout.stored_values(&rows[n % rows.len()], (n % 97) as i64).into_owned();
    let mut leaves = Leaves::new(layout.clone());
    for n in 0..first {
        let (key, row) = model_row(layout, &stored(n * 31), n as u32, Version::default());
        leaves.put(row, key);
    }
    for page in &mut leaves.pages {
        let mut anew = vec![0; PAGE];
        if encode(page, layout, HORIZON, &mut anew).unwrap() {
            *page = anew;
        }
    }
    for (n, mark, trx_id) in steps {
        let version = Version { trx_id: *trx_id, roll_pointer: u64::from(*n) };
        let (key, row) = model_row(layout, &stored(usize::from(*n)), u32::from(*n), version);
        leaves.put(row, key.clone());
        if *mark {
            leaves.change(&key, |leaf, position| leaf.mark(position, version).unwrap().into_owned());
        }
    }
    leaves
}

/// Pages with slots of every kind, for `fuzz/seeds`: what `page_decode` takes for a schema, and a leaf of it behind
/// that.
#[test]
#[ignore = "writes fuzz/seeds/page_decode"]
fn fuzz_seeds() {
    use proptest::{strategy::ValueTree, test_runner::TestRunner};
    let directory = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("../../fuzz/seeds/page_decode");
    let mut runner = TestRunner::deterministic();
    for (i, types) in [&[4u8, 0x8D][..], &[5, 6, 7, 10, 0x8B], &[1, 0xA2, 3, 0x88, 9]].iter().enumerate() {
        let head: Vec<u8> = std::iter::once(types.len() as u8 - 1).chain(types.iter().copied()).collect();
        let (schema, _) = fuzz::schema_of(&head).unwrap();
        let rows = any_rows(&schema, 20..40).new_tree(&mut runner).unwrap().current();
        let layout = TreeLayout::new(&schema, 0);
        let steps: Vec<_> = (0..12).map(|n| (n * 7, n % 3 == 0, 2 + u64::from(n))).collect();
        let mut leaves = changed_leaves(&layout, &rows, &steps, 20);
        let key = leaves.model.keys().next().unwrap().clone();
        leaves.change(&key, |leaf, position| leaf.remove(position).unwrap());
        let page = &leaves.pages[0];
        std::fs::write(directory.join(format!("changed{i}")), [&head[..], page].concat()).unwrap();
    }
}
