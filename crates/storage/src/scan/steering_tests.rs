//! Steering and loose scans against plain scans with filters.

use super::*;
use crate::{
    ColumnSchema, IndexSchema, StorageError, TableSchema,
    key::{ByteRange, KeyCodec, KeyPartCodec},
    rows::fixtures::{
        EvenOnes, Home, any_fetch, empty_table, even, home, loaded_table, rows_of, sort_rows, sortable, table_and_rows,
    },
    tree::{TreeLayout, arbitrary::any_value, page::block::cut_value},
};
use arrow_array::{ArrayRef, Int32Array, RecordBatch};
use muster_types::{KeyInterval, KeyPart, SqlType, Value};
use proptest::prelude::*;
use std::ops::Bound;

fn request(index: usize, columns: Vec<usize>) -> ScanRequest {
    ScanRequest { batch_rows: 500, ..ScanRequest::all(ReadView::latest(), index, columns, Arc::default()) }
}

fn run(table: &Arc<Table>, request: ScanRequest, cursors: usize) -> Vec<Vec<Value>> {
    let types: Vec<_> = request.columns.iter().map(|c| table.schema().columns[*c].clone()).collect();
    let scan = Scan::new(Arc::clone(table), request).unwrap();
    let mut cursors: Vec<_> = (0..cursors).map(|_| Some(scan.cursor())).collect();
    let mut rows = Vec::new();
    while cursors.iter().any(Option::is_some) {
        for slot in &mut cursors {
            let Some(cursor) = slot else { continue };
            match cursor.next_batch().unwrap() {
                Some(batch) => {
                    assert!(batch.num_rows() > 0);
                    rows.extend(rows_of(&types, batch.columns(), batch.num_rows()));
                }
                None => *slot = None,
            }
        }
    }
    rows
}

/// A part's ranges: between two values, or from one on, or up to one, or just one.
fn any_ranges(ty: SqlType) -> impl Strategy<Value = Vec<KeyInterval>> {
    let bound = |kind: u32, value: Value| match kind {
        0 => Bound::Unbounded,
        1 => Bound::Excluded(value),
        _ => Bound::Included(value),
    };
    let range = (any_value(ty, true), any_value(ty, true), 0..4u32, 0..4u32, any::<bool>()).prop_map(
        move |(a, b, lower, upper, point)| match point {
            true => KeyInterval::point(a),
            false => KeyInterval { lower: bound(lower, a), upper: bound(upper, b) },
        },
    );
    proptest::collection::vec(range, 0..4)
}

/// A part of a key as bytes, and whether it is in one of the ranges.
fn part_is_in(layout: &TreeLayout, part: usize, value: &Value, ranges: &[ByteRange]) -> bool {
    let codec = KeyCodec { parts: vec![layout.key.parts[part].clone()] };
    let mut bytes = Vec::new();
    codec.append_values(&[cut_value(value, codec.parts[0].prefix)], &mut bytes).unwrap();
    ranges.iter().any(|range| range.contains(&bytes))
}

/// Steering of the declared parts of a key by those of their ranges that do not overlap, and the same ranges as bytes.
fn steering_of(
    layout: &TreeLayout,
    parts: &[KeyPart],
    part_ranges: &[Option<Vec<KeyInterval>>],
) -> (Steering, Vec<Option<Vec<ByteRange>>>) {
    let mut steering = Steering::default();
    let mut bytes: Vec<Option<Vec<ByteRange>>> = Vec::new();
    for (i, part) in parts.iter().enumerate() {
        let mut encoded: Vec<(KeyInterval, ByteRange)> = Vec::new();
        let codec = KeyCodec { parts: vec![layout.key.parts[i].clone()] };
        for range in part_ranges[part.column].iter().flatten() {
            let Some(b) = codec.byte_range(&range.into()).unwrap() else { continue };
            let apart = |r: &ByteRange| {
                r.upper.as_ref().is_some_and(|u| *u <= b.lower) || b.upper.as_ref().is_some_and(|u| *u <= r.lower)
            };
            if encoded.iter().all(|(_, r)| apart(r)) {
                encoded.push((range.clone(), b));
            }
        }
        encoded.sort_by(|a, b| a.1.lower.cmp(&b.1.lower));
        let (ranges, encoded): (Vec<_>, Vec<_>) = encoded.into_iter().unzip();
        let free = part_ranges[part.column].is_none();
        steering.parts.push((!free).then_some(ranges));
        bytes.push((!free).then_some(encoded));
    }
    (steering, bytes)
}

/// The bytes of the first parts of a key.
fn prefix<'a>(layout: &TreeLayout, parts: usize, key: &'a [u8]) -> &'a [u8] {
    let len = |at: usize, part: &KeyPartCodec| at + part.len_in(&key[at..]).unwrap();
    &key[..layout.key.parts[..parts].iter().fold(0, len)]
}

/// A filter that keeps rows with an even value in a column.
fn even_filter(schema: &TableSchema, column: Option<usize>) -> Option<Arc<dyn BatchFilter>> {
    column.map(|c| {
        Arc::new(EvenOnes { columns: vec![c], types: vec![schema.columns[c].clone()], ranges: Vec::new() })
            as Arc<dyn BatchFilter>
    })
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(200))]

    #[test]
    fn steered_scans_deliver_what_a_filter_keeps(
        (mut schema, rows, part_ranges) in table_and_rows().prop_flat_map(|(s, rows)| {
            let ranges: Vec<_> = s.columns.iter().map(|c| proptest::option::of(any_ranges(c.ty))).collect();
            (Just(s), Just(rows), ranges)
        }),
        which in any::<prop::sample::Index>(),
        wanted in proptest::collection::vec(any::<prop::sample::Index>(), 0..4),
        filtered in proptest::option::of(any::<prop::sample::Index>()),
        index_filtered in proptest::option::of(any::<prop::sample::Index>()),
        distinct in proptest::option::of(any::<prop::sample::Index>()),
        bounds in proptest::option::of((any::<prop::sample::Index>(), any::<prop::sample::Index>(), 1usize..3)),
        (fetch, batch_rows, cursors) in (any_fetch(), 1..80usize, 1usize..4),
        (ordered, reverse, hide) in (any::<bool>(), any::<bool>(), any::<bool>()),
    ) {
        schema.indexes[1..].iter_mut().for_each(|i| i.unique = false);
        let home = home(4096, 64 * 4096);
        let table = empty_table(&home, &schema);
        let mut hidden = home.store.begin();
        let mut stored = Vec::new();
        let mut seen = Vec::new();
        for (i, row) in rows.into_iter().enumerate() {
            // Some rows are of a transaction that the scan does not see.
            let is_hidden = hide && i % 3 == 0;
            let inserted = match is_hidden {
                true => table.insert(&mut hidden, &row, &Counters::default()),
                false => table.insert_at_once(&row, &Counters::default()),
            };
            if inserted.is_ok() {
                stored.push((stored.len() as i64, row.clone()));
                seen.push(!is_hidden);
            }
        }
        let index = which.index(schema.indexes.len());
        let layout = TreeLayout::new(&schema, index);
        let parts = &schema.indexes[index].parts;
        let held: Vec<usize> = (0..schema.columns.len()).filter(|c| layout.column_of(*c).is_some()).collect();
        // Steering of the declared parts.
        let (steering, bytes) = steering_of(&layout, parts, &part_ranges);
        let distinct = match distinct {
            Some(n) if !parts.is_empty() => Some(n.index(parts.len()) + 1),
            _ => None,
        };
        let pick = |i: prop::sample::Index| match distinct.is_some() {
            true => held[i.index(held.len())],
            false => i.index(schema.columns.len()),
        };
        prop_assume!(distinct.is_none() || !held.is_empty());
        let columns: Vec<usize> = wanted.iter().map(|i| pick(*i)).collect();
        let filter_column = filtered.map(pick);
        let index_column = index_filtered.filter(|_| !held.is_empty()).map(|i| held[i.index(held.len())]);
        let range = match bounds {
            Some((a, b, len)) if !stored.is_empty() && !parts.is_empty() => {
                let values = |i: prop::sample::Index| -> Vec<Value> {
                    parts.iter().take(len).map(|p| i.get(&stored).1[p.column].clone()).collect()
                };
                KeyRange { lower: Bound::Included(values(a)), upper: Bound::Excluded(values(b)) }
            }
            _ => KeyRange::all(),
        };
        let inside = layout.key.byte_range(&range).unwrap();

        let passes = |column: Option<usize>, row: &[Value]| column.is_none_or(|c| even(&row[c]) == Some(true));
        let mut want: Vec<(Vec<u8>, Vec<Value>)> = sort_rows(&schema, index, &stored)
            .into_iter()
            .filter(|(key, row)| {
                let is_it = |(n, r): &(i64, Vec<Value>)| r == row && sort_rows(&schema, index, &[(*n, r.clone())])[0].0 == *key;
                seen[stored.iter().position(is_it).unwrap()]
                    && inside.as_ref().is_some_and(|range| range.contains(key))
                    && passes(filter_column, row)
                    && passes(index_column, row)
                    && parts.iter().enumerate().all(|(i, part)| {
                        bytes[i].as_ref().is_none_or(|ranges| part_is_in(&layout, i, &row[part.column], ranges))
                    })
            })
            .collect();
        if reverse {
            want.reverse();
        }
        if let Some(parts) = distinct {
            want.dedup_by(|b, a| prefix(&layout, parts, &a.0) == prefix(&layout, parts, &b.0));
        }
        let want: Vec<Vec<Value>> =
            want.into_iter().map(|(_, row)| columns.iter().map(|c| row[*c].clone()).collect()).collect();

        let request = ScanRequest {
            view: home.store.read_view(),
            ranges: vec![range],
            steering,
            distinct_prefix: distinct,
            index_filter: even_filter(&schema, index_column),
            filter: even_filter(&schema, filter_column),
            fetch,
            ordered,
            reverse,
            batch_rows,
            ..request(index, columns)
        };
        let got = run(&table, request, if ordered { 1 } else { cursors });
        if ordered {
            prop_assert_eq!(got, want);
        } else {
            prop_assert_eq!(sortable(&got), sortable(&want));
        }
    }
}

const GROUPS: i32 = 40;
const GROUP_ROWS: i32 = 10_000;

/// `(i, i / GROUP_ROWS, i % GROUP_ROWS, a number below 10)` with indexes on (1, 2) and on (1, 2 descending).
fn grouped_table(home: &Home) -> Arc<Table> {
    use arrow_schema::{DataType, Field, Schema};
    let part = |column, descending| KeyPart { column, prefix: None, descending };
    let schema = TableSchema {
        layouts: Default::default(),
        columns: vec![ColumnSchema { ty: SqlType::INT, nullable: false }; 4],
        indexes: vec![
            IndexSchema { id: 1, parts: vec![part(0, false)], unique: true },
            IndexSchema { id: 2, parts: vec![part(1, false), part(2, false)], unique: false },
            IndexSchema { id: 3, parts: vec![part(1, false), part(2, true)], unique: false },
        ],
    };
    let ints =
        |f: fn(i32) -> i32| -> ArrayRef { Arc::new(Int32Array::from_iter_values((0..GROUPS * GROUP_ROWS).map(f))) };
    let columns = vec![ints(|i| i), ints(|i| i / GROUP_ROWS), ints(|i| i % GROUP_ROWS), ints(|i| i % 7)];
    let fields: Vec<_> = (0..4).map(|c| Field::new(format!("c{c}"), DataType::Int32, false)).collect();
    let batch = RecordBatch::try_new(Arc::new(Schema::new(fields)), columns).unwrap();
    loaded_table(home, &schema, &[batch])
}

fn point(n: i64) -> KeyInterval {
    KeyInterval::point(Value::Int(n))
}

fn ints(rows: Vec<Vec<Value>>) -> Vec<Vec<i64>> {
    let int = |v: Value| match v {
        Value::Int(n) => n,
        other => panic!("{other}"),
    };
    rows.into_iter().map(|row| row.into_iter().map(int).collect()).collect()
}

/// Skip scans read what they need, and say so.
#[test]
fn what_is_left_out_is_not_read() {
    let home = home(4096, 1 << 24);
    let table = grouped_table(&home);
    let leaves = table.tree(1).file().header().leaf_count;
    assert!(leaves > 400, "{leaves}");
    for index in [1, 2] {
        for (ordered, reverse, cursors) in [(true, false, 1), (true, true, 1), (false, false, 3), (false, true, 2)] {
            let steering = Steering { parts: vec![None, Some(vec![point(10), point(4000)])] };
            let r = ScanRequest { steering, ordered, reverse, ..request(index, vec![1, 2]) };
            let c = Arc::clone(&r.counters);
            let mut got = ints(run(&table, r, cursors));
            let mut want: Vec<Vec<i64>> =
                (0..GROUPS as i64).flat_map(|group| [10, 4000].map(|n| vec![group, n])).collect();
            got.sort();
            want.sort();
            assert_eq!(got, want);
            // Two places per group, and where a group ends.
            let onward = c.entries_forward() + c.entries_backward();
            assert!(onward <= 6 * GROUPS as u64, "{onward} entries");
            let begun = c.key_lookups() + c.first_lookups() + c.last_lookups();
            assert!(begun <= 3 * GROUPS as u64 + 3, "{begun} descents");
            // A cursor looks into the first leaf of each part of the tree that it takes.
            let pages = c.page_requests();
            assert!(pages < leaves, "{pages} pages of {leaves}");
        }
    }
}

/// Steering costs no more pages than a plain scan if it leaves next to nothing out.
#[test]
fn what_cannot_be_left_out_is_read_once() {
    let home = home(4096, 1 << 24);
    let table = grouped_table(&home);
    let odd = (0..GROUP_ROWS as i64).step_by(2).map(point).collect();
    let steering = Steering { parts: vec![None, Some(odd)] };
    let plain = request(1, vec![2]);
    let steered = ScanRequest { steering, ..request(1, vec![2]) };
    let (c, d) = (Arc::clone(&plain.counters), Arc::clone(&steered.counters));
    assert_eq!(run(&table, plain, 1).len(), (GROUPS * GROUP_ROWS) as usize);
    assert_eq!(run(&table, steered, 1).len(), (GROUPS * GROUP_ROWS / 2) as usize);
    assert_eq!(d.key_lookups(), 0);
    let (plain, steered) = (c.page_requests(), d.page_requests());
    assert!(steered <= plain + plain / 20, "{steered} pages, {plain} without");
}

/// Steering behind a range, and of both parts.
#[test]
fn steering_joins_ranges() {
    let home = home(4096, 1 << 24);
    let table = grouped_table(&home);
    let between =
        |a: i64, b: i64| KeyInterval { lower: Bound::Included(Value::Int(a)), upper: Bound::Included(Value::Int(b)) };
    for reverse in [false, true] {
        let steering = Steering { parts: vec![None, Some(vec![between(7, 9)])] };
        let r = ScanRequest {
            ranges: vec![KeyRange::from(&between(3, 5)), KeyRange::from(&point(30))],
            steering,
            ordered: true,
            reverse,
            ..request(1, vec![1, 2])
        };
        let c = Arc::clone(&r.counters);
        let mut want: Vec<Vec<i64>> =
            [3, 4, 5, 30].into_iter().flat_map(|group| [7, 8, 9].map(|n| vec![group, n])).collect();
        if reverse {
            want.reverse();
        }
        assert_eq!(ints(run(&table, r, 1)), want);
        assert!(c.entries_forward() + c.entries_backward() < 40);

        let groups = [2, 20, 39].map(point).to_vec();
        let steering = Steering { parts: vec![Some(groups), Some(vec![point(4999)])] };
        let r = ScanRequest { steering, ordered: true, reverse, ..request(1, vec![1, 2]) };
        let c = Arc::clone(&r.counters);
        let mut want = vec![vec![2, 4999], vec![20, 4999], vec![39, 4999]];
        if reverse {
            want.reverse();
        }
        assert_eq!(ints(run(&table, r, 1)), want);
        // From one group to the next in one go.
        assert!(c.key_lookups() <= 4, "{}", c.key_lookups());
        assert!(c.entries_forward() + c.entries_backward() <= 8);
    }
}

#[test]
fn the_first_of_each_group() {
    let home = home(4096, 1 << 24);
    let table = grouped_table(&home);
    let leaves = table.tree(1).file().header().leaf_count;
    for (reverse, cursors) in [(false, 1), (true, 1), (false, 3)] {
        let r = ScanRequest { distinct_prefix: Some(1), ordered: true, reverse, ..request(1, vec![1, 2, 0]) };
        let c = Arc::clone(&r.counters);
        let n = if reverse { GROUP_ROWS as i64 - 1 } else { 0 };
        let mut want: Vec<Vec<i64>> =
            (0..GROUPS as i64).map(|group| vec![group, n, group * GROUP_ROWS as i64 + n]).collect();
        if reverse {
            want.reverse();
        }
        assert_eq!(ints(run(&table, r, cursors)), want);
        assert!(c.page_requests() < leaves / 2);
        assert_eq!(c.entries_forward() + c.entries_backward(), GROUPS as u64);
    }
    // The filter takes some of the rows that pass.
    let types = vec![table.schema().columns[2].clone()];
    let filter: Arc<dyn BatchFilter> = Arc::new(EvenOnes { columns: vec![2], types, ranges: Vec::new() });
    let first = (0..).find(|n| even(&Value::Int(*n)) == Some(true)).unwrap();
    for (index_filter, filter) in [(Some(filter.clone()), None), (None, Some(filter))] {
        let r = ScanRequest { distinct_prefix: Some(1), ordered: true, index_filter, filter, ..request(1, vec![1, 2]) };
        let want: Vec<Vec<i64>> = (0..GROUPS as i64).map(|group| vec![group, first]).collect();
        assert_eq!(ints(run(&table, r, 1)), want);
    }
    // Every combination of both parts is another: all rows, read once.
    let (plain, r) = (request(1, vec![1]), ScanRequest { distinct_prefix: Some(2), ..request(1, vec![1]) });
    let (c, d) = (Arc::clone(&plain.counters), Arc::clone(&r.counters));
    for request in [plain, r] {
        assert_eq!(run(&table, request, 1).len(), (GROUPS * GROUP_ROWS) as usize);
    }
    let (plain, distinct) = (c.page_requests(), d.page_requests());
    assert!(distinct <= plain + plain / 20, "{distinct} pages, {plain} without");
}

#[test]
fn wrong_steering_is_an_error() {
    let home = home(4096, 1 << 24);
    let table = grouped_table(&home);
    let wrong = |r: ScanRequest| matches!(Scan::new(Arc::clone(&table), r), Err(StorageError::WrongType { .. }));
    let steered = |parts| ScanRequest { steering: Steering { parts }, ..request(1, vec![1]) };
    assert!(wrong(steered(vec![None, None, None, None])));
    assert!(wrong(steered(vec![Some(vec![KeyInterval::point(Value::Text("x".into()))])])));
    assert!(wrong(ScanRequest { distinct_prefix: Some(0), ..request(1, vec![1]) }));
    assert!(wrong(ScanRequest { distinct_prefix: Some(4), ..request(1, vec![1]) }));
    assert!(wrong(ScanRequest { distinct_prefix: Some(1), ..request(1, vec![3]) }));
    // Nothing may be: nothing is read.
    let r = steered(vec![None, Some(vec![])]);
    let c = Arc::clone(&r.counters);
    assert!(run(&table, r, 1).is_empty());
    assert_eq!(c.page_requests(), 0);
    assert_eq!(
        run(
            &table,
            steered(vec![None, Some(vec![KeyInterval { lower: Bound::Unbounded, upper: Bound::Unbounded }])]),
            2
        )
        .len(),
        (GROUPS * GROUP_ROWS) as usize
    );
}
