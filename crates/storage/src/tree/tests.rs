use super::page::block::{RowBlock, cut_value};
use super::{
    arbitrary::{any_schema, any_value},
    build::TreeShape,
    page::leaf::{decode::ColumnSink, rows::RowSelection},
    *,
};
use crate::{
    Counters, IoBackend, ReadView, StorageError, Store, StoreOptions, TableSchema, arrow_type,
    file::SequentialWriter,
    key::{ByteRange, Keys},
};
use arrow_array::{ArrayRef, new_empty_array};
use muster_types::{BytesKind, Collation, KeyPart, SqlType, Value};
use proptest::prelude::*;
use std::{collections::BTreeMap, sync::Arc};

pub struct Home {
    pub store: Arc<Store>,
    _directory: tempfile::TempDir,
}

pub fn home(page_size: usize) -> Home {
    home_of(page_size, 4 << 20)
}

pub(super) fn home_of(page_size: usize, buffer_pool_bytes: usize) -> Home {
    let directory = tempfile::tempdir().unwrap();
    let options =
        StoreOptions { page_size, buffer_pool_bytes, io: IoBackend::Threads, sync: false, ..StoreOptions::default() };
    Home { store: Store::open(directory.path(), options).unwrap(), _directory: directory }
}

pub(super) fn empty_tree(home: &Home, schema: &TableSchema, index: usize) -> Tree {
    let file = home.store.open_file(home.store.create_table(schema).unwrap()[index]).unwrap();
    let layout = Arc::new(TreeLayout::new(schema, index));
    Tree::open(Arc::clone(home.store.buffer_pool()), Some(Arc::clone(home.store.log())), file, layout).unwrap()
}

/// A table row as the tree stores it, row number `n`.
pub(super) fn stored_row(layout: &TreeLayout, row: &[Value], n: i64) -> Vec<Value> {
    layout
        .columns
        .iter()
        .map(|c| match c.source {
            ColumnSource::Table { column, prefix } => cut_value(&row[column], prefix),
            ColumnSource::RowNumber => Value::Int(n),
        })
        .collect()
}

/// Rows as the Arrow arrays that loads and scans have.
fn arrays_of(layout: &TreeLayout, rows: &[Vec<Value>]) -> Vec<ArrayRef> {
    let mut block = RowBlock::new(layout);
    for row in rows {
        block.push_values(layout, row).unwrap();
    }
    // Through leaves, whose round trip has its own test.
    let fit = super::build::fit(layout, 65536);
    let mut sinks: Vec<_> = layout.columns.iter().map(|c| ColumnSink::new(c.ty, rows.len())).collect();
    let mut start = 0;
    while start < block.rows() {
        let extents = fit.take(&block, start, 100, 0);
        let mut page = vec![0; 65536];
        super::page::leaf::write_leaf(&block, &extents, &fit, super::page::leaf::Fences::NONE, &mut page);
        let leaf = super::page::leaf::Leaf::of(&page, layout).unwrap();
        for (i, sink) in sinks.iter_mut().enumerate() {
            let column = leaf.column(i, layout.columns[i].physical).unwrap();
            sink.append(&column, &RowSelection::Range(0..leaf.rows()), &crate::fuzz::NoOverflow).unwrap();
        }
        start = extents.rows().end;
    }
    if rows.is_empty() {
        return layout.columns.iter().map(|c| new_empty_array(&arrow_type(&c.ty))).collect();
    }
    sinks.into_iter().map(ColumnSink::finish).collect()
}

pub(super) fn build(home: &Home, layout: &Arc<TreeLayout>, rows: &[Vec<Value>]) -> (Tree, TreeShape) {
    let file = home.store.new_file(layout.index_id).unwrap();
    let writer = SequentialWriter::new(file, Arc::clone(home.store.counters()));
    let mut builder = TreeBuilder::new(Arc::clone(layout), writer);
    let arrays = arrays_of(layout, rows);
    let half = rows.len() / 2;
    builder.append(&arrays, 0..half).unwrap();
    builder.append(&arrays, half..rows.len()).unwrap();
    assert_eq!(builder.rows(), rows.len() as u64);
    let (file, shape) = builder.finish().unwrap();
    (
        Tree::open(Arc::clone(home.store.buffer_pool()), Some(Arc::clone(home.store.log())), file, Arc::clone(layout))
            .unwrap(),
        shape,
    )
}

pub(super) type Model = BTreeMap<Vec<u8>, Vec<Value>>;

/// Compares the whole tree and some ranges, both ways, and checks its structure. `counted`: the counts in inner pages
/// are those of the rows.
pub(super) fn compare(tree: &Tree, model: &Model, bounds: &[(usize, usize)], counted: bool) {
    let counters = Counters::default();
    let report = tree.check(&counters).unwrap();
    assert_eq!(report.lost_pages, 0);
    let rows = report.rows - report.marked_rows;
    assert_eq!((rows, tree.row_count(), report.lost_pages), (model.len() as u64, model.len() as u64, 0));
    assert_eq!(report.leaf_pages, tree.file().header().leaf_count);
    let keys: Vec<&Vec<u8>> = model.keys().collect();
    let at = |i: usize| keys.get(i % (keys.len() + 1)).map(|k| k.to_vec());
    let mut ranges = vec![ByteRange::default()];
    for (a, b) in bounds {
        let lower = at(*a).unwrap_or_default();
        let upper = at(*b).filter(|upper| *upper >= lower);
        ranges.push(ByteRange { lower: lower.clone(), upper });
        // Not at a key: a beginning of one.
        let upper = at(*b).map(|k| k[..k.len().div_ceil(2)].to_vec()).filter(|upper| *upper >= lower);
        ranges.push(ByteRange { lower, upper });
    }
    for range in ranges {
        let want: Vec<&Vec<Value>> = model.iter().filter(|(k, _)| range.contains(k)).map(|(_, v)| v).collect();
        let count = tree.count_range(&range, &counters).unwrap();
        let counted = counted && report.marked_rows == 0;
        assert!(!counted || count == want.len() as u64, "{count} of {} in {range:?}", want.len());
        for reverse in [false, true] {
            let mut cursor = tree.rows(range.clone(), reverse, &ReadView::latest(), &counters).unwrap();
            let mut got = Vec::new();
            while let Some(row) = cursor.next().unwrap() {
                got.push(row);
            }
            if reverse {
                got.reverse();
            }
            assert_eq!(got.iter().collect::<Vec<_>>(), want, "{range:?} reverse {reverse}");
        }
    }
}

/// An operation on a row of the pool of rows.
#[derive(Debug, Clone)]
pub(super) enum Op {
    Insert,
    Delete,
    Replace,
    Mark,
}

pub(super) fn any_ops() -> impl Strategy<Value = Vec<(Op, usize)>> {
    let mostly = |insert: u32, delete: u32| {
        let op = prop_oneof![
            insert => Just(Op::Insert),
            delete => Just(Op::Delete),
            1 => Just(Op::Replace),
            1 => Just(Op::Mark)
        ];
        proptest::collection::vec((op, any::<usize>()), 0..400)
    };
    // Bursts that grow and bursts that shrink, so that pages split and merge.
    (mostly(8, 1), mostly(1, 8), mostly(3, 3)).prop_map(|(a, b, c)| [a, b, c].concat())
}

/// A schema, and rows that are wide enough for trees of some pages.
pub(super) fn schema_and_rows() -> impl Strategy<Value = (TableSchema, Vec<Vec<Value>>)> {
    any_schema().prop_flat_map(|mut s| {
        for wide in [300, 1500] {
            let ty = SqlType::Bytes { kind: BytesKind::Blob, length: wide };
            s.columns.push(crate::ColumnSchema { ty, nullable: true });
        }
        let rows: Vec<BoxedStrategy<Value>> = s
            .columns
            .iter()
            .map(|c| match c.ty {
                SqlType::Bytes { length: 300, .. } => {
                    (any::<u8>(), 0usize..300).prop_map(|(b, n)| Value::Bytes(vec![b; n])).boxed()
                }
                SqlType::Bytes { length: 1500, .. } => prop_oneof![
                    4 => Just(Value::Null).boxed(),
                    1 => (any::<u8>(), 800usize..9000).prop_map(|(b, n)| Value::Bytes(vec![b; n])).boxed()
                ]
                .boxed(),
                _ => any_value(c.ty, c.nullable),
            })
            .collect();
        (Just(s), proptest::collection::vec(rows, 150))
    })
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(40))]

    #[test]
    fn trees_do_what_sorted_maps_do(
        (schema, rows) in schema_and_rows(),
        ops in any_ops(),
        which in any::<prop::sample::Index>(),
        bounds in proptest::collection::vec((any::<usize>(), any::<usize>()), 3),
    ) {
        let home = home(4096);
        let counters = Counters::default();
        let index = which.index(schema.indexes.len());
        let tree = empty_tree(&home, &schema, index);
        let layout = Arc::clone(tree.layout());
        let declared = |key_of: &[Value]| {
            let parts = &layout.key.parts[..layout.declared_parts];
            if !layout.unique || parts.is_empty() || parts.iter().any(|p| key_of[p.column].is_null()) {
                return None;
            }
            let mut bytes = Vec::new();
            let values: Vec<_> = parts.iter().map(|p| key_of[p.column].clone()).collect();
            layout.key.append_values(&values, &mut bytes).unwrap();
            Some(bytes)
        };
        let (mut model, mut marked) = (Model::new(), Model::new());
        for (i, (op, pick)) in ops.into_iter().enumerate() {
            let n = pick % rows.len();
            let row = stored_row(&layout, &rows[n], n as i64);
            let key = tree.key_of_values(&row).unwrap();
            match op {
                Op::Insert => {
                    let taken = model.contains_key(&key)
                        || declared(&row).is_some_and(|d| model.values().any(|r| declared(r).as_ref() == Some(&d)));
                    match tree.insert(&row, 7, &counters) {
                        Ok(()) => {
                            prop_assert!(!taken, "a duplicate went in: {row:?}");
                            marked.remove(&key);
                            model.insert(key.clone(), row);
                        }
                        Err(StorageError::Duplicate { index: i, .. }) => prop_assert!(taken && i == index),
                        Err(e) => prop_assert!(false, "{e}"),
                    }
                }
                Op::Delete => {
                    let row = model.remove(&key).or_else(|| marked.remove(&key));
                    prop_assert_eq!(tree.delete(&key, 9, &counters).unwrap(), row);
                }
                Op::Mark => {
                    let row = model.remove(&key);
                    prop_assert_eq!(tree.mark(&key, 9, &counters).unwrap(), row.is_some());
                    marked.extend(row.map(|row| (key.clone(), row)));
                }
                Op::Replace => {
                    // Another row's values under this one's key.
                    let mut changed = stored_row(&layout, &rows[(n + 1) % rows.len()], 0);
                    for (c, value) in changed.iter_mut().enumerate() {
                        if layout.is_key_column(c) {
                            *value = row[c].clone();
                        }
                    }
                    prop_assert_eq!(tree.replace(&changed, 8, &counters).unwrap(), model.contains_key(&key));
                    model.entry(key.clone()).and_modify(|r| *r = changed);
                }
            }
            prop_assert_eq!(tree.get(&key, &ReadView::latest(), &counters).unwrap(), model.get(&key).cloned());
            if i % 100 == 99 {
                compare(&tree, &model, &bounds, false);
            }
        }
        compare(&tree, &model, &bounds, false);
        model.append(&mut marked);
        let keys: Vec<_> = model.keys().cloned().collect();
        for key in keys {
            prop_assert_eq!(tree.delete(&key, 9, &counters).unwrap(), model.remove(&key));
        }
        let report = tree.check(&counters).unwrap();
    assert_eq!(report.lost_pages, 0);
        prop_assert_eq!((report.leaf_pages, report.inner_pages, report.overflow_pages), (1, 0, 0));
    }

    #[test]
    fn built_trees_hold_their_rows(
        (schema, rows) in schema_and_rows(),
        copies in 1usize..8,
        which in any::<prop::sample::Index>(),
        bounds in proptest::collection::vec((any::<usize>(), any::<usize>()), 3),
        changes in proptest::collection::vec(any::<usize>(), 0..60),
    ) {
        let home = home(4096);
        let counters = Counters::default();
        // The builder leaves it to its caller to drop duplicates of declared parts.
        let layout = TreeLayout::new(&schema, which.index(schema.indexes.len()));
        let layout = Arc::new(TreeLayout { unique: false, ..layout });
        let mut model = Model::new();
        let mut block = RowBlock::new(&layout);
        for n in 0..rows.len() * copies {
            let row = stored_row(&layout, &rows[n % rows.len()], n as i64);
            // Long values of the model are short in the arrays that `arrays_of` makes through one page.
            block.push_values(&layout, &row).unwrap();
            let mut key = Vec::new();
            layout.key.append_row(&block.row(n), &mut key);
            model.insert(key, row);
        }
        let sorted: Vec<_> = model.values().cloned().collect();
        let arrays = arrays_of(&layout, &sorted);
        let mut keys = Keys::default();
        layout.key.append_keys(&arrays, 0..sorted.len(), &mut keys).unwrap();
        prop_assert!(keys.iter().eq(model.keys().map(Vec::as_slice)));

        let (tree, shape) = build(&home, &layout, &sorted);
        prop_assert_eq!(shape.rows, model.len() as u64);
        compare(&tree, &model, &bounds, true);
        // A built tree can be changed like any other.
        for n in changes {
            let Some(key) = model.keys().nth(n % model.len().max(1)).cloned() else { break };
            let row = model.remove(&key).unwrap();
            prop_assert_eq!(tree.delete(&key, 9, &counters).unwrap(), Some(row.clone()));
            if n % 3 == 0 {
                match tree.insert(&row, 1, &counters) {
                    Ok(()) => drop(model.insert(key, row)),
                    Err(e) => prop_assert!(false, "{e}"),
                }
            }
        }
        compare(&tree, &model, &bounds, false);
    }
}

pub(super) fn number_schema(parts: &[usize]) -> TableSchema {
    let part = |column: &usize| KeyPart { column: *column, prefix: None, descending: false };
    let text = SqlType::varchar(60, Collation::DEFAULT);
    TableSchema {
        layouts: Default::default(),
        columns: [SqlType::INT, text, SqlType::INT].map(|ty| crate::ColumnSchema { ty, nullable: false }).to_vec(),
        indexes: vec![crate::IndexSchema { id: 5, parts: parts.iter().map(part).collect(), unique: true }],
    }
}

pub(super) fn number_row(n: i64) -> Vec<Value> {
    vec![Value::Int(n), Value::Text(format!("row number {n} of the table")), Value::Int(n % 7)]
}

#[test]
fn leaves_of_rows_that_are_alike_are_not_packed_again_and_again() {
    let (home, counters) = (home(4096), Counters::default());
    let mut schema = number_schema(&[0]);
    schema.columns[1].ty = SqlType::varchar(1000, Collation::DEFAULT);
    let tree = empty_tree(&home, &schema, 0);
    let text = Value::Text("a".repeat(700));
    for n in 0..2000 {
        tree.insert(&[Value::Int(n), text.clone(), Value::Int(0)], 1, &counters).unwrap();
    }
    let report = tree.check(&counters).unwrap();
    let rows = 2000 / report.leaf_pages;
    assert!((40..=110).contains(&rows), "{rows} rows on a leaf, of which 5 fit unpacked");
}

#[test]
fn rows_in_key_order_leave_full_leaves() {
    let home = home(4096);
    let counters = Counters::default();
    let tree = empty_tree(&home, &number_schema(&[0]), 0);
    for n in 0..3000 {
        tree.insert(&number_row(n), 1, &counters).unwrap();
    }
    let report = tree.check(&counters).unwrap();
    assert_eq!(report.lost_pages, 0);
    let layout = Arc::clone(tree.layout());
    let (_, shape) = build(&home, &layout, &(0..3000).map(number_row).collect::<Vec<_>>());
    assert!(report.leaf_pages <= shape.leaf_pages, "{report:?} {shape:?}");
    assert!(shape.height >= 2 && shape.leaf_pages > 20);
    for n in 0..3000 {
        if n % 100 != 0 {
            let key = tree.key_of_values(&number_row(n)).unwrap();
            assert!(tree.delete(&key, 9, &counters).unwrap().is_some());
        }
    }
    let report = tree.check(&counters).unwrap();
    assert_eq!(report.lost_pages, 0);
    assert_eq!(report.rows, 30);
    assert!(report.leaf_pages <= 3 && report.free_pages > 20, "{report:?}");
}

/// Threads that take the next number each, and insert their rows one a bit before or after the other.
#[test]
fn rows_nearly_in_key_order_leave_full_leaves() {
    let home = home(4096);
    let counters = Counters::default();
    let tree = empty_tree(&home, &number_schema(&[0]), 0);
    for n in 0..3000 {
        // Eight in a row come in another order each time.
        tree.insert(&number_row(n / 8 * 8 + (n * 5 + n / 8) % 8), 1, &counters).unwrap();
    }
    let report = tree.check(&counters).unwrap();
    assert_eq!(report.rows, 3000);
    let (_, shape) = build(&home, tree.layout(), &(0..3000).map(number_row).collect::<Vec<_>>());
    assert!(report.leaf_pages * 8 <= shape.leaf_pages * 9, "{report:?} {shape:?}");
}

#[test]
fn duplicates_name_their_entry() {
    let home = home(4096);
    let counters = Counters::default();
    let tree = empty_tree(&home, &number_schema(&[1, 2]), 0);
    tree.insert(&[Value::Int(1), Value::Text("Été".into()), Value::Int(3)], 1, &counters).unwrap();
    let again = tree.insert(&[Value::Int(2), Value::Text("ete".into()), Value::Int(3)], 1, &counters);
    let Err(StorageError::Duplicate { entry, index: 0 }) = again else { panic!("{again:?}") };
    assert_eq!(entry, ["ete", "3"]);
    tree.insert(&[Value::Int(2), Value::Text("ete".into()), Value::Int(4)], 1, &counters).unwrap();
}

#[test]
fn rows_and_keys_beyond_a_page_are_refused() {
    let home = home(4096);
    let counters = Counters::default();
    let blob = SqlType::Bytes { kind: BytesKind::Blob, length: 65535 };
    let mut schema = number_schema(&[0]);
    schema.columns[1].ty = blob;
    schema.indexes[0].parts[0].column = 1;
    let tree = empty_tree(&home, &schema, 0);
    let row = |len| [Value::Int(1), Value::Bytes(vec![7; len]), Value::Int(3)];
    assert!(matches!(tree.insert(&row(2000), 1, &counters), Err(StorageError::RowTooLarge { .. })));
    assert_eq!(tree.check(&counters).unwrap().rows, 0);
    tree.insert(&row(500), 1, &counters).unwrap();
    schema.indexes[0].parts[0].column = 0;
    let tree = empty_tree(&home, &schema, 0);
    tree.insert(&row(20_000), 1, &counters).unwrap();
    assert_eq!(tree.check(&counters).unwrap().overflow_pages, 5);
    let key = tree.key_of_values(&row(0)).unwrap();
    assert_eq!(tree.get(&key, &ReadView::latest(), &counters).unwrap().unwrap(), row(20_000));
    assert!(tree.replace(&row(3), 1, &counters).unwrap());
    let report = tree.check(&counters).unwrap();
    assert_eq!(report.lost_pages, 0);
    assert_eq!((report.overflow_pages, report.free_pages), (0, 5));
}

#[test]
fn a_view_sees_no_later_rows() {
    let home = home(4096);
    let counters = Counters::default();
    let tree = empty_tree(&home, &number_schema(&[0]), 0);
    tree.set_horizon(0);
    for n in 0..100 {
        tree.insert(&number_row(n), n as u64, &counters).unwrap();
    }
    let view = ReadView::new([].into(), 40);
    let key = |n| tree.key_of_values(&number_row(n)).unwrap();
    assert!(tree.get(&key(39), &view, &counters).unwrap().is_some());
    assert!(tree.get(&key(40), &view, &counters).unwrap().is_none());
    let mut cursor = tree.rows(ByteRange::default(), true, &view, &counters).unwrap();
    assert_eq!(cursor.next().unwrap(), Some(number_row(39)));
}

/// Readers that come back to a tree that was changed find their place again.
#[test]
fn runs_survive_changes() {
    let home = home(4096);
    let counters = Counters::default();
    let tree = empty_tree(&home, &number_schema(&[0]), 0);
    let rows = 2000;
    for n in 0..rows {
        tree.insert(&number_row(2 * n), 1, &counters).unwrap();
    }
    for reverse in [false, true] {
        let mut cursor = tree.rows(ByteRange::default(), reverse, &ReadView::latest(), &counters).unwrap();
        let mut seen = Vec::new();
        let mut extra = 0;
        while let Some(row) = cursor.next().unwrap() {
            let Value::Int(n) = row[0] else { panic!() };
            if n % 2 == 0 {
                seen.push(n);
            }
            // Rows that come and go behind and before the reader.
            if seen.len() % 37 == 0 {
                extra = (extra + 1237) % (2 * rows);
                let row = number_row(extra | 1);
                let key = tree.key_of_values(&row).unwrap();
                if tree.delete(&key, 9, &counters).unwrap().is_none() {
                    tree.insert(&row, 1, &counters).unwrap();
                }
            }
        }
        if reverse {
            seen.reverse();
        }
        assert_eq!(seen, (0..rows).map(|n| 2 * n).collect::<Vec<_>>());
    }
}

/// Enough leaves for several inner pages above them: runs go from one to the next.
#[test]
fn runs_go_on_behind_an_inner_page() {
    let home = home(4096);
    let counters = Counters::default();
    let layout = Arc::new(TreeLayout::new(&number_schema(&[0]), 0));
    let rows: Vec<_> = (0..40_000).map(number_row).collect();
    let (tree, shape) = build(&home, &layout, &rows);
    assert!(shape.height >= 3, "{shape:?}");
    for reverse in [false, true] {
        let (mut run, rest) = tree.plan(ByteRange::default(), reverse, 3, &counters).unwrap();
        assert!(rest.is_some());
        run.continue_with(rest);
        let mut read = 0;
        let mut changed = false;
        loop {
            let leaves = tree.next_leaves(&mut run, &ReadView::latest(), 7, &counters).unwrap();
            if leaves.is_empty() {
                break;
            }
            read += leaves.iter().map(|l| l.rows.len()).sum::<usize>();
            drop(leaves);
            if !changed && read > rows.len() / 2 {
                // The leaves are planned anew, from within the range.
                changed = true;
                let key = tree.key_of_values(&rows[if reverse { 39_999 } else { 0 }]).unwrap();
                let row = tree.delete(&key, 9, &counters).unwrap().unwrap();
                tree.insert(&row, 1, &counters).unwrap();
            }
        }
        assert_eq!(read, rows.len());
        // Every place where one inner page ends, from which a run begins with nothing left of its first leaf.
        for n in (0..40_000).step_by(97) {
            let mut lower = tree.key_of_values(&rows[n]).unwrap();
            lower.push(0);
            let range = ByteRange { lower, upper: None };
            let mut cursor = tree.rows(range, false, &ReadView::latest(), &counters).unwrap();
            assert_eq!(cursor.next().unwrap(), rows.get(n + 1).cloned());
        }
    }
}
