//! Measures changes of leaves and scans of changed ones, on rows shaped like lineitem's. Ignored: run with `--release
//! -- --ignored --nocapture`.

use super::{
    changes::{apply, free_bytes, has_room},
    decode::ColumnSink,
    encode::encode,
    slot::Version,
    split::{Cut, split},
    visible::visible,
    *,
};
use crate::{
    fuzz,
    scan::scan_bench::{Numbers, PIECE, piece, schema},
    tree::{
        build::fit,
        page::{block::RowBlock, layout::TreeLayout},
    },
};
use std::time::Instant;

const PAGE: usize = 16384;
const ROUNDS: usize = 15;

/// Leaves as a load writes them.
fn leaves(layout: &TreeLayout) -> (Vec<Vec<u8>>, RowBlock) {
    let mut block = RowBlock::new(layout);
    block.append_arrays(layout, &piece(0, &mut Numbers(1)), 0..PIECE).unwrap();
    let mut fit = fit(layout, PAGE);
    fit.bytes = fit.bytes * 15 / 16;
    let (mut pages, mut start) = (Vec::new(), 0);
    while start < block.rows() {
        let extents = fit.take(&block, start, 100, 0);
        start = extents.rows().end;
        let mut page = vec![0; PAGE];
        write_leaf(&block, &extents, &fit, Fences::NONE, &mut page);
        pages.push(page);
    }
    (pages, block)
}

/// Gives rows at random a new version with other values of a few columns. Returns how many it were.
fn change(layout: &TreeLayout, pages: &mut Vec<Vec<u8>>, one_in: u64) -> usize {
    let (mut numbers, mut changed, mut at) = (Numbers(7), 0, 0);
    while at < pages.len() {
        let rows = Leaf::of(&pages[at], layout).unwrap().rows();
        let positions: Vec<usize> = (0..rows).filter(|_| numbers.below(one_in) == 0).collect();
        for position in positions {
            let leaf = Leaf::of(&pages[at], layout).unwrap();
            if position >= leaf.rows() {
                // The other half has been reached, which comes next.
                break;
            }
            let record = leaf.record_of(layout, position).unwrap().into_owned();
            let change = leaf
                .put(LeafPosition { position, exact: true }, &record, Version { trx_id: 3, roll_pointer: 9 })
                .unwrap();
            changed += 1;
            if has_room(&pages[at], &change).unwrap() {
                apply(&mut pages[at], &change).unwrap();
                continue;
            }
            let mut anew = vec![0; PAGE];
            if encode(&pages[at], layout, 4, &mut anew).unwrap() && free_bytes(&anew).unwrap() > PAGE / 16 {
                pages[at] = anew;
            } else {
                let halves = split(&pages[at].clone(), layout, 4, Cut::Middle, 5).unwrap().unwrap();
                pages.splice(at..at + 1, [halves.left, halves.right]);
            }
        }
        at += 1;
    }
    changed
}

/// Nanoseconds per row of decoding some columns of all leaves.
fn scan(layout: &TreeLayout, pages: &[Vec<u8>], columns: &[usize]) -> f64 {
    let (mut best, mut rows_read) = (f64::MAX, 0);
    for _ in 0..ROUNDS {
        let begin = Instant::now();
        rows_read = 0;
        for group in pages.chunks(20) {
            let mut sinks: Vec<_> = columns.iter().map(|c| ColumnSink::new(layout.columns[*c].ty, 8192)).collect();
            for page in group {
                let leaf = Leaf::of(page, layout).unwrap();
                let rows = visible(&leaf, 0..leaf.rows()).unwrap();
                rows_read += rows.len();
                for (sink, column) in sinks.iter_mut().zip(columns) {
                    let cells = leaf.column_of(*column, sink.physical(), &rows).unwrap();
                    sink.append(&cells, &rows, &fuzz::NoOverflow).unwrap();
                }
            }
            sinks.into_iter().for_each(|sink| drop(std::hint::black_box(sink.finish())));
        }
        best = best.min(begin.elapsed().as_secs_f64());
    }
    best * 1e9 / rows_read as f64
}

#[test]
#[ignore = "a measurement"]
fn scans_of_changed_leaves() {
    let layout = TreeLayout::new(&schema(), 0);
    let (fresh, _) = leaves(&layout);
    let few = [4, 5, 6, 10];
    let all: Vec<usize> = (0..layout.columns.len()).collect();
    let base = (scan(&layout, &fresh, &few), scan(&layout, &fresh, &all));
    println!("{} leaves, none changed: {:.2} ns a row for 4 columns, {:.2} for all", fresh.len(), base.0, base.1);
    for one_in in [200, 100, 10] {
        let mut pages = fresh.clone();
        let changed = change(&layout, &mut pages, one_in);
        let now = (scan(&layout, &pages, &few), scan(&layout, &pages, &all));
        println!(
            "1 in {one_in} changed ({changed}, {} leaves): {:.2} ns ({:.2} x), all columns {:.2} ns ({:.2} x)",
            pages.len(),
            now.0,
            now.0 / base.0,
            now.1,
            now.1 / base.1
        );
    }
}

#[test]
#[ignore = "a measurement"]
fn changes_of_leaves() {
    let layout = TreeLayout::new(&schema(), 0);
    let (fresh, block) = leaves(&layout);
    let nanos = |begin: Instant, count: usize| begin.elapsed().as_secs_f64() * 1e9 / count as f64;
    let keys: Vec<(usize, Vec<u8>, Vec<u8>)> = {
        let mut numbers = Numbers(3);
        let starts: Vec<usize> = fresh.iter().map(|page| Leaf::of(page, &layout).unwrap().rows()).collect();
        let key_of = |page: usize, position: usize| {
            let row = starts[..page].iter().sum::<usize>() + position;
            let mut key = Vec::new();
            layout.key.append_row(&block.row(row), &mut key);
            (page, key, layout.record.record_of(&block, row))
        };
        (0..fresh.len())
            .flat_map(|page| (0..3).map(move |_| page))
            .map(|page| key_of(page, numbers.below(starts[page] as u64) as usize))
            .collect()
    };
    let (mut put, mut mark, mut again, mut encoded, mut whole) = (f64::MAX, f64::MAX, f64::MAX, f64::MAX, f64::MAX);
    for _ in 0..ROUNDS {
        let mut pages = fresh.clone();
        let begin = Instant::now();
        let mut count = 0;
        for (page, key, record) in &keys {
            let leaf = Leaf::of(&pages[*page], &layout).unwrap();
            let found = leaf.find(&layout, key).unwrap();
            let change = leaf.put(found, record, Version { trx_id: 3, roll_pointer: 9 }).unwrap();
            if has_room(&pages[*page], &change).unwrap() {
                apply(&mut pages[*page], &change).unwrap();
                count += 1;
            }
        }
        put = put.min(nanos(begin, count));
        for (best, marked) in [(&mut mark, true), (&mut again, false)] {
            let begin = Instant::now();
            for (page, key, _) in &keys {
                let leaf = Leaf::of(&pages[*page], &layout).unwrap();
                let found = leaf.find(&layout, key).unwrap();
                let version = Version { trx_id: 4, roll_pointer: 9 };
                let change = match marked {
                    true => leaf.mark(found.position, version).unwrap(),
                    false => leaf.unmark(found.position, version).unwrap(),
                };
                let change = change.into_owned();
                if has_room(&pages[*page], &change).unwrap() {
                    apply(&mut pages[*page], &change).unwrap();
                }
            }
            *best = best.min(nanos(begin, keys.len()));
        }
        let mut out = vec![0; PAGE];
        let begin = Instant::now();
        for page in pages.iter().take(50) {
            std::hint::black_box(encode(page, &layout, 9, &mut out).unwrap());
        }
        encoded = encoded.min(nanos(begin, 50));
        let begin = Instant::now();
        let fit = fit(&layout, PAGE);
        for page in fresh.iter().take(50) {
            let rows = Leaf::of(page, &layout).unwrap().to_block(&layout).unwrap();
            write_leaf(&rows, &RowExtents::of(&rows, 0..rows.rows()), &fit, Fences::NONE, &mut out);
        }
        whole = whole.min(nanos(begin, 50));
    }
    println!("put {put:.0} ns, mark {mark:.0} ns, unmark {again:.0} ns; encode a leaf {:.1} us", encoded / 1000.0);
    println!("taking a leaf apart and writing it, as for each row before: {:.1} us", whole / 1000.0);
}
