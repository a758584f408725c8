//! The shape of trees that change: unposted pages, merges, roots that grow and shrink, on few frames.

use super::{
    planted::PlantedFault,
    probe::Event,
    tests::{Model, Op, any_ops, compare, empty_tree, home_of, number_row, number_schema, schema_and_rows, stored_row},
    *,
};
use crate::{Counters, ReadView, StorageError, key::ByteRange};
use muster_types::Value;
use proptest::{
    strategy::{Strategy, ValueTree},
    test_runner::TestRunner,
};
use std::{
    ops::ControlFlow,
    sync::{Arc, atomic::Ordering::Relaxed},
};

const FRAMES: usize = 32;
const EVENTS: usize = Event::ALL.len();

/// The keys of a range, read in place.
fn keys_by_visit(tree: &Tree, range: &ByteRange) -> Vec<Vec<u8>> {
    let counters = Counters::default();
    let mut keys = Vec::new();
    let end = tree.visit_range(range, &ReadView::latest(), &super::Pages::All(&counters), &mut |row| {
        let mut key = Vec::new();
        row.append_key(&tree.layout().key, &mut key)?;
        keys.push(key);
        Ok(ControlFlow::Continue(()))
    });
    assert_eq!(end.unwrap(), VisitEnd::Done);
    keys
}

/// Compares what is read in place with the model, in some ranges that begin at a key.
fn compare_visits(tree: &Tree, model: &Model) {
    let all: Vec<&Vec<u8>> = model.keys().collect();
    assert!(keys_by_visit(tree, &ByteRange::default()).iter().eq(all.iter().copied()));
    for start in (0..all.len()).step_by(17) {
        let end = (start + 29).min(all.len() - 1);
        let range = ByteRange { lower: all[start].clone(), upper: Some(all[end].clone()) };
        assert!(keys_by_visit(tree, &range).iter().eq(all[start..end].iter().copied()));
    }
}

/// A random history of one tree, beside a sorted map. Returns what happened to the tree, by event.
fn history(runner: &mut TestRunner, nth: usize) -> [u64; EVENTS] {
    let (schema, rows) = schema_and_rows().new_tree(runner).unwrap().current();
    let ops = any_ops().new_tree(runner).unwrap().current();
    let home = home_of(4096, FRAMES * 4096);
    let counters = Counters::default();
    let tree = empty_tree(&home, &schema, nth % schema.indexes.len());
    let layout = Arc::clone(tree.layout());
    let (mut model, mut marked) = (Model::new(), Model::new());
    for (i, (op, pick)) in ops.into_iter().enumerate() {
        // A time without posts, then one in which who crosses a link posts.
        tree.probe.skip_posts.store(i / 150 % 2 == 0, Relaxed);
        let row = stored_row(&layout, &rows[pick % rows.len()], (pick % rows.len()) as i64);
        let key = tree.key_of_values(&row).unwrap();
        match op {
            Op::Insert => match tree.insert(&row, 7, &counters) {
                Ok(()) => {
                    marked.remove(&key);
                    assert!(model.insert(key, row).is_none());
                }
                Err(StorageError::Duplicate { .. }) => {}
                Err(e) => panic!("{e}"),
            },
            Op::Delete => {
                let row = model.remove(&key).or_else(|| marked.remove(&key));
                assert_eq!(tree.delete(&key, 8, &counters).unwrap(), row);
            }
            Op::Mark => {
                let row = model.remove(&key);
                assert_eq!(tree.mark(&key, 8, &counters).unwrap(), row.is_some());
                marked.extend(row.map(|row| (key, row)));
            }
            Op::Replace => {
                assert_eq!(tree.replace(&row, 8, &counters).unwrap(), model.contains_key(&key));
                model.entry(key).and_modify(|values| *values = row);
            }
        }
        if i % 97 == 96 {
            compare(&tree, &model, &[(i, 3 * i)], false);
            compare_visits(&tree, &model);
        }
    }
    model.append(&mut marked);
    for key in model.keys().cloned().collect::<Vec<_>>() {
        assert_eq!(tree.delete(&key, 9, &counters).unwrap(), model.remove(&key));
    }
    compare(&tree, &model, &[], false);
    Event::ALL.map(|event| tree.probe.hits(event))
}

#[test]
fn histories_meet_every_change_of_shape() {
    let mut runner = TestRunner::deterministic();
    let mut hits = [0; EVENTS];
    for nth in 0..48 {
        for (all, here) in hits.iter_mut().zip(history(&mut runner, nth)) {
            *all += here;
        }
    }
    // Events that one thread alone does not meet, or seldom.
    let of_threads = [Event::Stale, Event::Refused];
    let is_wanted = |event: &Event| !of_threads.contains(event) && !event.is_of_views();
    for (event, hits) in Event::ALL.into_iter().zip(hits).filter(|(event, _)| is_wanted(event)) {
        assert!(hits > 0, "no history has met {event:?}");
    }
}

/// A tree of narrow rows, none of whose pages are posted but the first ones.
fn unposted_tree(home: &super::tests::Home, rows: i64) -> (Tree, Model) {
    let tree = empty_tree(home, &number_schema(&[0]), 0);
    let mut model = Model::new();
    tree.probe.skip_posts.store(true, Relaxed);
    for n in 0..rows {
        let row = number_row(n * 7919 % rows);
        tree.insert(&row, 1, &Counters::default()).unwrap();
        model.insert(tree.key_of_values(&row).unwrap(), row);
    }
    (tree, model)
}

#[test]
fn unposted_pages_are_read_and_then_posted() {
    let home = home_of(4096, FRAMES * 4096);
    let counters = Counters::default();
    let (tree, mut model) = unposted_tree(&home, 6000);
    let report = tree.check(&counters).unwrap();
    assert!(report.unposted_pages > 10, "{report:?}");
    compare(&tree, &model, &[(3, 1500), (700, 720), (1999, 5)], false);
    compare_visits(&tree, &model);
    assert!(tree.probe.hits(Event::Stale) > 0, "a run has met a page that was not planned");

    // Who crosses a link posts what is behind it.
    tree.probe.skip_posts.store(false, Relaxed);
    for n in (0..6000).step_by(5) {
        let row = number_row(n);
        assert!(tree.replace(&row, 2, &counters).unwrap());
    }
    let report = tree.check(&counters).unwrap();
    assert_eq!(report.unposted_pages, 0, "{report:?}");
    for n in 0..6000 {
        let key = tree.key_of_values(&number_row(n)).unwrap();
        assert_eq!(tree.delete(&key, 3, &counters).unwrap(), model.remove(&key));
    }
    let report = tree.check(&counters).unwrap();
    assert_eq!((report.leaf_pages, report.inner_pages), (1, 0), "{report:?}");
}

/// A split whose posting comes late: others have posted the page meanwhile, merged it and freed it.
fn late_post(fault: Option<PlantedFault>) -> crate::Result<TreeReport> {
    let home = home_of(4096, FRAMES * 4096);
    let counters = Counters::default();
    let (tree, model) = unposted_tree(&home, 1000);
    let root = tree.fetch(crate::file::ROOT_PAGE, &counters).unwrap();
    let node = tree.inner(&root).unwrap().to_node();
    drop(root);
    let left = tree.fetch(node.children[0].page, &counters).unwrap();
    let remembered = {
        let (key, page) = (tree.fences(&left).unwrap().high.unwrap().to_vec(), left.header().next());
        super::page::inner::Child { key, page, rows: 1 }
    };
    drop(left);
    assert!(node.children.iter().all(|child| child.page != remembered.page), "the page is not posted");
    tree.probe.skip_posts.store(false, Relaxed);
    for (key, _) in model.iter().skip(2) {
        tree.delete(key, 2, &counters).unwrap().unwrap();
    }
    for (key, row) in model.iter().skip(2) {
        assert!(!tree.replace(row, 2, &counters).unwrap(), "{key:?} is gone");
        tree.insert(row, 3, &counters).unwrap();
    }
    if let Some(fault) = fault {
        tree.planted.plant(fault);
    }
    tree.post_new(&remembered, 0, &counters)?;
    tree.check(&counters)
}

#[test]
fn a_late_post_looks_whether_the_page_is_still_there() {
    late_post(None).unwrap();
    // Without the look the parent has a child that is another page by now.
    late_post(Some(PlantedFault::PostUnseen)).unwrap_err();
}

/// Reads a run whose leaves were planned long ago: since then rows amid it have gone, and others have come to their
/// pages. Returns the rows that it finds among the first ones.
fn late_run(fault: Option<PlantedFault>) -> Vec<i64> {
    let home = home_of(4096, FRAMES * 4096);
    let counters = Counters::default();
    let tree = empty_tree(&home, &number_schema(&[0]), 0);
    if let Some(fault) = fault {
        tree.planted.plant(fault);
    }
    (0..2000).for_each(|n| tree.insert(&number_row(n), 1, &counters).unwrap());
    let (mut run, rest) = tree.plan(ByteRange::default(), false, 100, &counters).unwrap();
    assert!(rest.is_none() && run.upcoming().len() > 10);
    for n in (0..2000).filter(|n| !is_always_there(*n)) {
        tree.delete(&tree.key_of_values(&number_row(n)).unwrap(), 2, &counters).unwrap().unwrap();
    }
    (5000..7000).for_each(|n| tree.insert(&number_row(n), 3, &counters).unwrap());
    assert!(tree.probe.hits(Event::Reuse) > 10);
    let mut rows = Vec::new();
    loop {
        let leaves = tree.next_leaves(&mut run, &ReadView::latest(), 1, &counters).unwrap();
        let Some(slice) = leaves.first() else { return rows };
        let block = tree.leaf(&slice.page).unwrap().to_block(tree.layout()).unwrap();
        rows.extend(slice.rows.clone().map(|row| block.columns[0].int(row)).filter(|n| *n < 2000));
    }
}

fn is_always_there(n: i64) -> bool {
    n < 1000 || n % 100 == 0
}

#[test]
fn a_late_run_looks_whether_a_page_is_the_one_that_was_planned() {
    let always_there: Vec<i64> = (0..2000).filter(|n| is_always_there(*n)).collect();
    assert_eq!(late_run(None), always_there);
    assert_ne!(late_run(Some(PlantedFault::TrustPageNumbers)), always_there);
}

#[test]
fn values_of_a_tree_stay_with_it() {
    let home = home_of(4096, FRAMES * 4096);
    let counters = Counters::default();
    let tree = empty_tree(&home, &number_schema(&[0]), 0);
    let ids: Vec<u64> = (0..3000).map(|_| tree.take_row_id(&counters).unwrap()).collect();
    assert!(ids.windows(2).all(|pair| pair[0] < pair[1]));
    assert!(tree.file().header().next_row_id > *ids.last().unwrap());
    tree.insert(&[Value::Int(1), Value::Text("a".into()), Value::Int(2)], 1, &counters).unwrap();
    assert_eq!(tree.row_count(), 1);
}
