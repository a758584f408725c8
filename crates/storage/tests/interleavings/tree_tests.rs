//! Threads change the model of a tree, in every order that the model checker draws.

use super::{
    check, fails,
    tree_model::{PlantedFault, Tree},
};
use shuttle::{sync::Arc, thread};

/// Keys that are always there.
const STABLE: [u8; 4] = [10, 20, 30, 40];

fn tree(fault: PlantedFault) -> Arc<Tree> {
    let tree = Tree::new(fault);
    STABLE.into_iter().for_each(|key| tree.insert(key));
    tree
}

fn run(tree: &Arc<Tree>, threads: &[fn(&Tree)]) -> Vec<u8> {
    let threads: Vec<_> = threads
        .iter()
        .map(|work| {
            let (tree, work) = (Arc::clone(tree), *work);
            thread::spawn(move || work(&tree))
        })
        .collect();
    threads.into_iter().for_each(|thread| thread.join().unwrap());
    tree.check()
}

fn insert_and_delete(tree: &Tree) {
    [21, 22, 23].into_iter().for_each(|key| tree.insert(key));
    [22, 21].into_iter().for_each(|key| tree.delete(key));
}

fn insert_and_delete_others(tree: &Tree) {
    [24, 25, 11].into_iter().for_each(|key| tree.insert(key));
    [25, 11].into_iter().for_each(|key| tree.delete(key));
}

fn look_up(tree: &Tree) {
    assert!(STABLE.into_iter().all(|key| tree.contains(key)));
}

fn scan(tree: &Tree) {
    let keys = tree.scan();
    assert!(keys.is_sorted_by(|a, b| a < b), "{keys:?}");
    assert!(STABLE.iter().all(|key| keys.contains(key)), "{keys:?}");
}

fn splits_and_merges(fault: PlantedFault) {
    let keys = run(&tree(fault), &[insert_and_delete, insert_and_delete_others, look_up]);
    assert_eq!(keys, [10, 20, 23, 24, 30, 40]);
}

/// The page that a merge frees in the middle of the keys gets the last ones.
fn a_page_moves(tree: &Tree) {
    [22, 23].into_iter().for_each(|key| tree.delete(key));
    [41, 42, 43].into_iter().for_each(|key| tree.insert(key));
}

fn scans(fault: PlantedFault) {
    let tree = tree(fault);
    [21, 22, 23].into_iter().for_each(|key| tree.insert(key));
    run(&tree, &[scan, a_page_moves, |tree| tree.insert(11)]);
}

fn moves(fault: PlantedFault) {
    let tree = tree(fault);
    [12, 42].into_iter().for_each(|key| tree.insert(key));
    let keys = run(&tree, &[|tree| tree.relocate(12, 41), |tree| tree.relocate(42, 13), insert_and_delete]);
    assert_eq!(keys, [10, 13, 20, 23, 30, 40, 41]);
}

#[test]
fn splits_posts_and_merges_keep_the_tree_whole() {
    check(2000, || splits_and_merges(PlantedFault::None));
}

#[test]
fn a_post_must_look_at_its_page() {
    assert!(fails(2000, || splits_and_merges(PlantedFault::PostUnseen)));
}

#[test]
fn a_scan_finds_all_that_is_always_there() {
    check(2000, || scans(PlantedFault::None));
}

#[test]
fn a_scan_must_look_at_fences() {
    assert!(fails(2000, || scans(PlantedFault::TrustPageNumbers)));
}

#[test]
fn keys_that_move_wait_for_nobody_in_a_circle() {
    check(2000, || moves(PlantedFault::None));
}

#[test]
fn who_holds_a_leaf_must_not_wait_for_the_root() {
    assert!(fails(2000, || moves(PlantedFault::WaitUpward)), "a deadlock");
}
