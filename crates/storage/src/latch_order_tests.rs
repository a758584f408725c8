//! The assertion of the order sees what is out of order.

use super::*;
use crate::{
    Counters,
    file::ROOT_PAGE,
    rows::fixtures::{empty_table, home},
    schema::{ColumnSchema, IndexSchema, TableSchema},
    tree::Room,
};
use muster_types::{KeyPart, SqlType, Value};
use std::{
    panic::{AssertUnwindSafe, catch_unwind},
    thread,
};

fn page(tree: u32, level: u8, low_fence: &[u8]) -> Rank {
    Rank::Tree(tree, InTree::Page { depth: u8::MAX - level, low_fence: low_fence.to_vec() })
}

/// Returns true if a thread that holds `first` may wait for `second`.
fn is_in_order(first: (Rank, bool), second: Rank) -> bool {
    let held = Held::page(1, first.1);
    held.place(false, || first.0);
    catch_unwind(|| drop(Held::lock(second))).is_ok()
}

#[test]
fn ranks_come_in_order() {
    let ranks = [
        Rank::Row,
        Rank::Tree(0, InTree::Unique),
        page(0, 2, b""),
        page(0, 1, b""),
        page(0, 1, b"m"),
        page(0, 0, b""),
        page(0, 0, b"b"),
        Rank::Tree(0, InTree::LongValue),
        Rank::Tree(0, InTree::Header),
        Rank::Tree(0, InTree::Free),
    ];
    for (i, first) in ranks.iter().enumerate() {
        assert!(is_in_order((Rank::Changes, true), first.clone()));
        assert!(!is_in_order((first.clone(), true), Rank::Changes), "{first:?}");
        for (j, second) in ranks.iter().enumerate() {
            let free = i == j && i + 1 == ranks.len();
            assert_eq!(is_in_order((first.clone(), false), second.clone()), i < j || free, "{first:?}, {second:?}");
        }
    }
}

#[test]
fn only_changes_go_on_to_the_next_tree() {
    for wanted in [page(1, 2, b""), Rank::Tree(1, InTree::Unique), Rank::Tree(1, InTree::Header)] {
        assert!(is_in_order((page(0, 0, b"b"), true), wanted.clone()));
        assert!(is_in_order((Rank::Tree(0, InTree::Unique), true), wanted.clone()));
        assert!(
            is_in_order((page(0, 0, b"b"), false), wanted.clone()),
            "the upper end of a gap that an entry comes to"
        );
        assert!(!is_in_order((page(2, 0, b"b"), true), wanted.clone()), "back to a tree before");
        assert!(!is_in_order((Rank::Tree(0, InTree::Header), true), wanted), "page 0 is not kept");
    }
}

#[test]
fn a_record_forgets_what_is_let_go() {
    let held = Held::lock(Rank::Row);
    assert!(!is_in_order((page(0, 0, b""), true), Rank::Row));
    // By another thread.
    thread::spawn(move || drop(held)).join().unwrap();
    drop(Held::lock(Rank::Changes));
}

fn table() -> TableSchema {
    let part = |column| KeyPart { column, prefix: None, descending: false };
    TableSchema {
        layouts: Default::default(),
        columns: (0..2).map(|_| ColumnSchema { ty: SqlType::BIGINT, nullable: false }).collect(),
        indexes: (0..2).map(|i| IndexSchema { id: 1 + i as u32, parts: vec![part(i)], unique: true }).collect(),
    }
}

#[test]
fn pages_of_trees_are_in_the_record() {
    let home = home(4096, 1 << 20);
    let table = empty_table(&home, &table());
    let counters = Counters::default();
    for n in 0..2000 {
        table.insert_now(&[Value::Int(n), Value::Int(n)], &counters).unwrap();
    }
    let key = |n: i64| table.tree(0).key_of_values(&[Value::Int(n), Value::Int(n)]).unwrap();
    let panics = |step: &dyn Fn()| catch_unwind(AssertUnwindSafe(step)).is_err();
    let change = || {
        let mut change = table.tree(0).begin(2, Room::default(), &counters);
        assert!(change.mark(&key(1000)).unwrap());
        change
    };
    assert!(panics(&|| {
        let _change = change();
        table.tree(0).get(&key(0), &crate::ReadView::latest(), &counters).unwrap();
    }));
    assert!(panics(&|| {
        let _change = change();
        table.get(&[Value::Int(0)], &crate::ReadView::latest(), &counters).unwrap();
    }));
    let change = change();
    let next = table.tree(1).get(&key(1000), &crate::ReadView::latest(), &counters).unwrap();
    assert!(next.is_some(), "the next tree may be read");
    drop(change);
    // A thread that would wait for itself.
    let (pool, file) = (home.store.buffer_pool(), table.tree(0).file());
    assert!(panics(&|| {
        let _page = pool.fetch_mut(file, ROOT_PAGE, &counters).unwrap();
        drop(pool.fetch(file, ROOT_PAGE, &counters));
    }));
    // The thread that panicked has let go of all that it held.
    assert!(table.delete_now(&[Value::Int(1999)], &counters).unwrap());
}
