//! Many threads read and change one tree at once: rows that nobody touches are always seen, once and in order, and at
//! the end the tree has what its writers left.

use super::{
    probe::Event,
    tests::{Model, compare, empty_tree, home_of},
    *,
};
use crate::{
    ColumnSchema, Counters, IndexSchema, ReadView, TableSchema,
    key::{ByteRange, KeyList, Keys},
};
use muster_types::{Collation, KeyPart, SqlType, Value};
use std::{
    ops::ControlFlow,
    sync::atomic::{AtomicBool, AtomicUsize, Ordering::Relaxed},
    thread,
};

const ROWS: i64 = 3000;
/// Every so manieth row is changed by nobody.
const STEP: i64 = 47;
const WRITERS: i64 = 6;
/// A cheap sequence that looks random.
struct Numbers(u64);

impl Numbers {
    fn below(&mut self, n: i64) -> i64 {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        ((self.0 >> 33) % n as u64) as i64
    }
}

/// State that the threads of a test share.
#[derive(Default)]
struct Course {
    /// Phases that writers have ended, all together.
    ended: AtomicUsize,
    failed: AtomicBool,
    /// All writers have ended, or some thread has failed.
    done: AtomicBool,
}

/// Ends a run in which a thread has failed.
struct Failure<'a>(&'a Course);

impl Drop for Failure<'_> {
    fn drop(&mut self) {
        if thread::panicking() {
            self.0.failed.store(true, Relaxed);
            self.0.done.store(true, Relaxed);
        }
    }
}

impl Course {
    /// Waits until all writers have ended so many phases.
    fn wait_for(&self, phases: usize) {
        self.ended.fetch_add(1, Relaxed);
        while self.ended.load(Relaxed) < phases * WRITERS as usize && !self.failed.load(Relaxed) {
            thread::yield_now();
        }
    }

    /// Repeats some reading until all is done.
    fn read(&self, mut read: impl FnMut()) {
        let _failure = Failure(self);
        while !self.done.load(Relaxed) {
            read();
        }
    }
}

/// Rows that nobody changes.
fn is_stable(n: i64) -> bool {
    n % STEP == 0
}

fn stable() -> impl Iterator<Item = i64> {
    (0..ROWS).filter(|n| is_stable(*n))
}

/// Keys with so much in common that inner pages hold few of them: the tree has three levels above its leaves.
fn schema() -> TableSchema {
    let column = |ty| ColumnSchema { ty, nullable: false };
    let part = KeyPart { column: 0, prefix: None, descending: false };
    TableSchema {
        layouts: Default::default(),
        columns: vec![column(SqlType::varchar(300, Collation::Utf8mb4Bin)), column(SqlType::BIGINT)],
        indexes: vec![IndexSchema { id: 5, parts: vec![part], unique: true }],
    }
}

fn row(n: i64, version: i64) -> Vec<Value> {
    vec![Value::Text(format!("{}{n:08}", "k".repeat(220))), Value::Int(ROWS * version + n)]
}

fn key(tree: &Tree, n: i64) -> Vec<u8> {
    tree.key_of_values(&row(n, 0)).unwrap()
}

fn number(row: &[Value]) -> i64 {
    match row[1] {
        Value::Int(n) => n % ROWS,
        _ => panic!("{row:?}"),
    }
}

/// A writer of rows that no other writer changes.
struct Writer<'a> {
    tree: &'a Tree,
    number: i64,
    random: Numbers,
    /// The rows that are there.
    model: Model,
}

impl Writer<'_> {
    fn pick(&mut self) -> i64 {
        loop {
            let n = self.random.below(ROWS / WRITERS) * WRITERS + self.number;
            if !is_stable(n) {
                return n;
            }
        }
    }

    /// Makes changes. `grows`: more rows come than go, or else almost all go.
    fn change(&mut self, grows: bool, counters: &Counters) {
        let (tree, n) = (self.tree, self.pick());
        let (row, key) = (row(n, self.random.below(1000)), key(tree, n));
        let is_there = self.model.contains_key(&key);
        match (self.random.below(8), grows) {
            (0, _) => {
                assert_eq!(tree.replace(&row, 2, counters).unwrap(), is_there);
                self.model.entry(key).and_modify(|old| *old = row);
            }
            (1, _) if is_there => self.relocate(n, counters),
            (2, false) => {
                assert_eq!(tree.mark(&key, 3, counters).unwrap(), is_there);
                self.model.remove(&key);
            }
            (_, true) if !is_there => {
                tree.insert(&row, 1, counters).unwrap();
                self.model.insert(key, row);
            }
            (_, false) => {
                let deleted = tree.delete(&key, 4, counters).unwrap();
                assert!(deleted == self.model.remove(&key) || !is_there, "row {n}");
            }
            _ => {}
        }
    }

    /// Moves a row to another key.
    fn relocate(&mut self, from: i64, counters: &Counters) {
        let to = self.pick();
        let (old, new, row) = (key(self.tree, from), key(self.tree, to), row(to, 5));
        if !self.model.contains_key(&new) {
            let mut change = self.tree.begin(5, self.tree.room().unwrap(), counters);
            change.relocate(&old, &row).unwrap();
            change.commit().finish();
            self.model.remove(&old);
            self.model.insert(new, row);
        }
    }

    /// Removes all rows, marked ones too.
    fn clear(&mut self, counters: &Counters) {
        for n in (0..ROWS).filter(|n| n % WRITERS == self.number && !is_stable(*n)) {
            let key = key(self.tree, n);
            let is_there = self.model.remove(&key).is_some();
            let deleted = self.tree.delete(&key, 6, counters).unwrap();
            assert!(deleted.is_some() || !is_there, "row {n}");
        }
    }
}

/// Checks numbers that were read.
fn check_numbers(mut numbers: Vec<i64>, reverse: bool) {
    if reverse {
        numbers.reverse();
    }
    assert!(numbers.is_sorted_by(|a, b| a < b), "out of order or twice, reverse {reverse}");
    let seen = numbers.into_iter().filter(|n| is_stable(*n));
    assert!(seen.eq(stable()), "a row that nobody changes is missing, reverse {reverse}");
}

/// Reads all rows, one leaf at a time.
fn scan(tree: &Tree, reverse: bool) {
    let counters = Counters::default();
    let mut cursor = tree.rows(ByteRange::default(), reverse, &ReadView::latest(), &counters).unwrap();
    let mut seen = Vec::new();
    while let Some(row) = cursor.next().unwrap() {
        seen.push(number(&row));
    }
    check_numbers(seen, reverse);
}

/// Reads all rows, several leaves at a time, with a plan that was made long before, as scans do. Leaves are read ahead.
fn scan_in_batches(tree: &Tree, reverse: bool) {
    let counters = Counters::default();
    let (mut run, rest) = tree.plan(ByteRange::default(), reverse, 100, &counters).unwrap();
    run.continue_with(rest);
    let mut seen = Vec::new();
    loop {
        let leaves = tree.next_leaves(&mut run, &ReadView::latest(), 4, &counters).unwrap();
        if leaves.is_empty() {
            break;
        }
        let upcoming = run.upcoming();
        tree.pool().prefetch(tree.file(), &upcoming[..upcoming.len().min(8)], &counters);
        for slice in &leaves {
            let block = tree.leaf(&slice.page).unwrap().to_block(tree.layout()).unwrap();
            let numbers = slice.rows.clone().map(|row| block.columns[1].int(row) % ROWS);
            if reverse { seen.extend(numbers.rev()) } else { seen.extend(numbers) }
        }
    }
    check_numbers(seen, reverse);
}

/// Looks rows up that nobody changes: one by one, as a range, and many at once.
fn look_up(tree: &Tree, random: &mut Numbers) {
    const KEYS: i64 = 50;
    let counters = Counters::default();
    let first = random.below(ROWS - KEYS * STEP) / STEP * STEP;
    let all: Vec<Vec<u8>> = (0..KEYS).map(|i| key(tree, first + STEP * i)).collect();
    let one = &all[random.below(KEYS) as usize];
    assert!(tree.get(one, &ReadView::latest(), &counters).unwrap().is_some());
    let range = ByteRange { lower: all[0].clone(), upper: all.last().cloned() };
    assert!(tree.count_range(&range, &counters).unwrap() <= ROWS as u64);
    let mut visited = Vec::new();
    let end = tree.visit_range(&range, &ReadView::latest(), &super::Pages::All(&counters), &mut |row| {
        let mut key = Vec::new();
        row.append_key(&tree.layout().key, &mut key)?;
        visited.push(key);
        Ok(ControlFlow::Continue(()))
    });
    assert_eq!(end.unwrap(), VisitEnd::Done);
    assert!(visited.is_sorted());
    assert!(all[..all.len() - 1].iter().all(|key| visited.binary_search(key).is_ok()));
    let mut keys = Keys::default();
    all.iter().for_each(|key| keys.push(key));
    for batched in [true, false] {
        let (mut run, mut kept, mut found) = (PrefixRun::default(), Vec::new(), 0);
        while !run.is_done(keys.len()) {
            let how = Batching { batched, read_ahead: batched };
            tree.read_prefixes(&mut run, KeyList::all(&keys), &ReadView::latest(), how, &counters, |leaf| {
                let page = tree.leaf(&leaf.page)?;
                found += leaf.keys.clone().filter(|i| page.find(tree.layout(), &all[*i]).unwrap().exact).count();
                kept.push(leaf.page);
                Ok(if kept.len() % 5 == 0 { ControlFlow::Break(()) } else { ControlFlow::Continue(()) })
            })
            .unwrap();
            kept.clear();
        }
        assert_eq!(found, all.len(), "batched {batched}");
    }
}

/// Runs writers and readers of every kind, and one who encodes leaves whether they rest or not. In each round rows
/// come, and then almost all go. Returns what was met, by event.
fn run(seed: u64, rounds: usize, changes: usize) -> [u64; Event::ALL.len()] {
    let home = home_of(4096, 200 * 4096);
    let tree = empty_tree(&home, &schema(), 0);
    let counters = Counters::default();
    let mut model = Model::new();
    for n in stable() {
        tree.insert(&row(n, 0), 1, &counters).unwrap();
        model.insert(key(&tree, n), row(n, 0));
    }
    let course = Course::default();
    thread::scope(|threads| {
        let (tree, course) = (&tree, &course);
        let write = move |number: i64| {
            let _failure = Failure(course);
            let (random, counters) = (Numbers(seed + number as u64), Counters::default());
            let mut writer = Writer { tree, number, random, model: Model::new() };
            for phase in 0..2 * rounds {
                let grows = phase % 2 == 0;
                (0..changes).for_each(|_| writer.change(grows, &counters));
                if phase % 4 == 1 {
                    writer.clear(&counters);
                }
                course.wait_for(phase + 1);
            }
            writer.model
        };
        let writers: Vec<_> = (0..WRITERS).map(|number| threads.spawn(move || write(number))).collect();
        for reverse in [false, true] {
            threads.spawn(move || {
                course.read(|| {
                    scan(tree, reverse);
                    scan_in_batches(tree, reverse);
                })
            });
        }
        threads.spawn(move || {
            let mut random = Numbers(seed);
            course.read(|| look_up(tree, &mut random));
        });
        threads.spawn(move || {
            let (mut encoded, counters) = (0, Counters::default());
            course.read(|| {
                let pages = 1..tree.file().page_count();
                encoded += pages.filter(|page_no| tree.encode_rested(*page_no, &counters).unwrap()).count();
            });
            assert!(encoded > 0, "no leaf was encoded beside the others");
        });
        let left: Vec<_> = writers.into_iter().map(|writer| writer.join()).collect();
        course.done.store(true, Relaxed);
        left.into_iter().for_each(|left| model.extend(left.unwrap()));
    });
    compare(&tree, &model, &[(3, 400)], false);
    Event::ALL.map(|event| tree.probe.hits(event))
}

fn run_all(seeds: std::ops::Range<u64>, rounds: usize, changes: usize) {
    let mut all = [0; Event::ALL.len()];
    for seed in seeds {
        let hits = run(seed, rounds, changes);
        all.iter_mut().zip(hits).for_each(|(all, hits)| *all += hits);
    }
    let counts: Vec<_> = Event::ALL.into_iter().zip(all).collect();
    println!("met: {counts:?}");
    let met = |(event, hits): &(Event, u64)| *hits > 0 || event.is_of_views();
    assert!(counts.iter().all(met), "something was not met: {counts:?}");
}

#[test]
fn readers_and_writers_at_once() {
    run_all(0..1, 3, 1500);
}

#[test]
#[ignore = "takes minutes"]
fn readers_and_writers_for_long() {
    run_all(100..140, 6, 4000);
}
