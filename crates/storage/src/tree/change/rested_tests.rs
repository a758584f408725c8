//! Leaves that rest: encoding them changes no row, no mark, and nothing that a view sees.

use crate::tree::{
    tests::{empty_tree, home_of, number_row, number_schema},
    *,
};
use crate::{
    Counters, ReadView, StoreOptions, key::ByteRange, page::PageType, rows::fixtures::scan_request,
    scan::scan_bench::Numbers,
};
use muster_types::Value;
use std::{
    collections::BTreeMap,
    sync::atomic::Ordering::Relaxed,
    time::{Duration, Instant},
};

/// Transactions from this one on may still be rolled back, or not be seen by some view.
const HORIZON: u64 = 20;
const TRANSACTIONS: u64 = 40;

/// The content that must stay: the rows by key with their marks and the transactions that still matter, the rows that
/// each view sees, and the pages' largest transactions.
#[derive(Debug, PartialEq)]
struct Seen {
    versions: BTreeMap<Vec<u8>, (bool, u64)>,
    by_view: Vec<Vec<Vec<Value>>>,
    max_trx_ids: Vec<u64>,
}

fn leaves(tree: &Tree) -> impl Iterator<Item = crate::buffer_pool::PageGuard> {
    let counters = Counters::default();
    let pages = (1..tree.file().page_count()).map(move |page_no| tree.fetch(page_no, &counters).unwrap());
    pages.filter(|page| page.header().page_type() == Some(PageType::Leaf))
}

fn seen(tree: &Tree) -> Seen {
    let (layout, counters) = (tree.layout(), Counters::default());
    let (mut versions, mut max_trx_ids) = (BTreeMap::new(), Vec::new());
    for page in leaves(tree) {
        let leaf = tree.leaf(&page).unwrap();
        max_trx_ids.push(leaf.max_trx_id());
        for position in 0..leaf.rows() {
            let slot = leaf.slot_at(position).unwrap();
            let version = slot.map_or((false, 0), |slot| (slot.marked, slot.version.trx_id));
            let key = leaf.key(layout, position).unwrap();
            versions.insert(key, (version.0, if version.1 < HORIZON { 0 } else { version.1 }));
        }
    }
    let rows = |low_limit| {
        let mut rows = tree.rows(ByteRange::default(), false, &ReadView::new([].into(), low_limit), &counters).unwrap();
        std::iter::from_fn(move || rows.next().unwrap()).collect()
    };
    Seen { versions, by_view: (HORIZON..=TRANSACTIONS + 1).map(rows).collect(), max_trx_ids }
}

/// A tree with a random history, of which every third leaf or so saw young transactions.
fn history(home: &crate::tree::tests::Home, seed: u64) -> Tree {
    let counters = Counters::default();
    let tree = empty_tree(home, &number_schema(&[0]), 0);
    tree.set_horizon(HORIZON);
    let mut numbers = Numbers(seed);
    for _ in 0..1500 {
        let n = numbers.below(900) as i64;
        let trx_id = if n % 300 < 200 { numbers.below(HORIZON - 1) } else { numbers.below(TRANSACTIONS) } + 1;
        let mut row = number_row(n);
        let key = tree.key_of_values(&row).unwrap();
        match numbers.below(6) {
            0..=2 => drop(tree.insert(&row, trx_id, &counters)),
            3 => {
                row[1] = Value::Text(format!("another text of row {n}, by {trx_id}"));
                tree.replace(&row, trx_id, &counters).unwrap();
            }
            4 => drop(tree.mark(&key, trx_id, &counters).unwrap()),
            _ => drop(tree.delete(&key, trx_id, &counters).unwrap()),
        }
    }
    tree
}

/// Encodes what rests. Returns how many leaves that were.
fn encode_all(tree: &Tree) -> usize {
    let counters = Counters::default();
    (1..tree.file().page_count()).filter(|page_no| tree.encode_rested(*page_no, &counters).unwrap()).count()
}

#[test]
fn encoding_leaves_that_rest_changes_nothing_that_is_seen() {
    let (mut encoded, mut kept) = (0, 0);
    for seed in 0..20 {
        let home = home_of(4096, 4 << 20);
        let tree = history(&home, seed);
        let before = seen(&tree);
        encoded += encode_all(&tree);
        assert_eq!(seen(&tree), before, "seed {seed}");
        tree.check(&Counters::default()).unwrap();
        for page in leaves(&tree) {
            let leaf = tree.leaf(&page).unwrap();
            let slots: Vec<_> = leaf.slots().iter().map(|slot| slot.unwrap()).collect();
            let rests = slots.iter().all(|slot| slot.version.trx_id < HORIZON);
            // The changes that are left in a leaf are marks, of which no version is forgotten.
            assert!(!rests || slots.iter().all(|slot| slot.marked && !slot.kind.has_record()), "seed {seed}");
            kept += usize::from(!rests);
        }
        assert_eq!(encode_all(&tree), 0, "there is nothing left to do");
    }
    assert!(encoded > 20 && kept > 20, "{encoded} leaves were encoded, {kept} had young transactions");
}

#[test]
fn forgetting_the_horizon_is_seen() {
    let differs = (0..5).any(|seed| {
        let home = home_of(4096, 4 << 20);
        let tree = history(&home, seed);
        let before = seen(&tree);
        tree.probe.forget_horizon.store(true, Relaxed);
        assert!(encode_all(&tree) > 0);
        seen(&tree) != before
    });
    assert!(differs);
}

/// Leaves of a table's trees that have slots.
fn changed_leaves(table: &crate::Table) -> usize {
    table.trees().iter().map(|tree| leaves(tree).filter(|page| crate::tree::page::leaf::has_slots(page)).count()).sum()
}

#[test]
fn tables_that_rest_have_no_changed_leaves() {
    let directory = tempfile::tempdir().unwrap();
    let rest = Duration::from_millis(50);
    let options = StoreOptions { page_size: 4096, sync: false, leaf_rest: Some(rest), ..StoreOptions::default() };
    let store = crate::Store::open(directory.path(), options.clone()).unwrap();
    let schema = number_schema(&[0]);
    let files = store.create_table(&schema).unwrap();
    let table = store.open_table(schema.clone(), files.clone(), Default::default()).unwrap();
    let counters = Counters::default();
    (0..2000).for_each(|n| table.insert_now(&number_row(n), &counters).unwrap());
    let start = Instant::now();
    while changed_leaves(&table) > 0 {
        assert!(start.elapsed() < Duration::from_secs(60), "{} leaves have slots", changed_leaves(&table));
        std::thread::sleep(rest);
    }
    drop((table, store));
    // The encoder has ended, and what it did is in the log.
    let store = crate::Store::open(directory.path(), options).unwrap();
    let table = store.open_table(schema, files, Default::default()).unwrap();
    assert_eq!(changed_leaves(&table), 0);
    assert_eq!(table.tree(0).check(&counters).unwrap().rows, 2000);
}

#[test]
fn leaves_are_encoded_when_nobody_has_changed_them_between_two_rounds() {
    let directory = tempfile::tempdir().unwrap();
    let options = StoreOptions { page_size: 4096, sync: false, leaf_rest: None, ..StoreOptions::default() };
    let store = crate::Store::open(directory.path(), options).unwrap();
    let schema = number_schema(&[0]);
    let files = store.create_table(&schema).unwrap();
    let table = store.open_table(schema, files, Default::default()).unwrap();
    let change = |trx_id| {
        let row = [Value::Int(250), Value::Text(format!("changed by {trx_id}")), Value::Int(5)];
        assert!(table.update_now(&row[..1], &row, &Counters::default()).unwrap());
    };
    let counters = Counters::default();
    (0..500).for_each(|n| table.insert_now(&number_row(n * 7 % 500), &counters).unwrap());
    let all = changed_leaves(&table);
    assert_eq!(store.encode_rested_leaves(), 0);
    // One leaf is changed again, and has to wait.
    change(2);
    assert_eq!((store.encode_rested_leaves(), changed_leaves(&table)), (all - 1, 1));
    assert_eq!((store.encode_rested_leaves(), changed_leaves(&table)), (1, 0));
    // A leaf that the encoder does not know of, such as one from before the start, is noted by the scan that meets it.
    change(3);
    (0..2).for_each(|_| drop(store.buffer_pool().take_rested()));
    assert_eq!((0..3).map(|_| store.encode_rested_leaves()).sum::<usize>(), 0);
    let scan = crate::Scan::new(table.clone(), scan_request(vec![0, 1, 2])).unwrap();
    let mut cursor = scan.cursor();
    while cursor.next_batch().unwrap().is_some() {}
    assert_eq!((0..2).map(|_| store.encode_rested_leaves()).sum::<usize>(), 1);
}
