//! Page requests replayed without pages: what replacement keeps, beside InnoDB's midpoint list and the best possible.

use super::{
    frames::{Frames, PageKey},
    lists::List,
    replacement::{Moves, Replacement},
};
use crate::FileId;
use proptest::prelude::*;
use std::{
    collections::{BTreeSet, HashMap, VecDeque},
    sync::atomic::Ordering::Relaxed,
};

/// A pool that has only its bookkeeping.
struct Cache {
    frames: Frames,
    replacement: Replacement,
    table: HashMap<PageKey, u32>,
    free: Vec<u32>,
}

impl Cache {
    fn new(frames: usize) -> Cache {
        Cache {
            frames: Frames::new(frames, 4096).unwrap(),
            replacement: Replacement::new(frames),
            table: HashMap::new(),
            free: (0..frames as u32).rev().collect(),
        }
    }

    /// Puts a page into a frame that is in no list.
    fn place(&mut self, key: PageKey) -> u32 {
        let frame = self.free.pop().unwrap_or_else(|| {
            let mut next = Vec::new();
            self.replacement.candidates(&self.frames, 8, &mut next);
            let frame = next[0];
            self.replacement.evict(&self.frames, frame);
            self.table.remove(&self.frames.get(frame).key()).unwrap();
            frame
        });
        self.frames.get(frame).set_key(key);
        self.table.insert(key, frame);
        frame
    }

    /// Uses a page; whether it was there.
    fn get(&mut self, page: u32) -> bool {
        let key = PageKey::new(FileId(1), page);
        if let Some(&frame) = self.table.get(&key) {
            self.replacement.touch(&self.frames, frame);
            return true;
        }
        let frame = self.place(key);
        self.replacement.insert(&self.frames, frame, !self.free.is_empty());
        false
    }

    /// Reads a page ahead unless it is there.
    fn read_ahead(&mut self, page: u32) {
        let key = PageKey::new(FileId(1), page);
        if !self.table.contains_key(&key) {
            self.replacement.expect();
            let frame = self.place(key);
            self.replacement.insert_ahead(&self.frames, frame, !self.free.is_empty());
        }
    }

    fn hits(&mut self, pages: impl IntoIterator<Item = u32>) -> usize {
        pages.into_iter().filter(|page| self.get(*page)).count()
    }

    fn has(&self, page: u32) -> bool {
        self.table.contains_key(&PageKey::new(FileId(1), page))
    }
}

/// InnoDB's list, with `old_blocks_pct` 37: hits of the second half of `trace`. A page becomes young when it is used
/// later than `old_time` requests after its first use.
fn midpoint_hits(trace: &[u32], frames: usize, old_time: usize) -> usize {
    let old_max = frames * 37 / 100;
    // Least recent first.
    let (mut young, mut old): (VecDeque<u32>, VecDeque<(u32, usize)>) = Default::default();
    let mut hits = 0;
    for (now, &page) in trace.iter().enumerate() {
        let second_half = (now >= trace.len() / 2) as usize;
        if let Some(at) = young.iter().position(|p| *p == page) {
            young.remove(at);
            young.push_back(page);
            hits += second_half;
        } else if let Some(at) = old.iter().position(|(p, _)| *p == page) {
            hits += second_half;
            if now - old[at].1 >= old_time {
                old.remove(at);
                young.push_back(page);
            }
        } else {
            if young.len() + old.len() == frames && old.pop_front().is_none() {
                young.pop_front();
            }
            old.push_back((page, now));
        }
        while young.len() > frames - old_max {
            old.extend(young.pop_front().map(|page| (page, 0)));
        }
        // As InnoDB does while the list grows.
        while old.len() > old_max && young.len() < frames - old_max {
            young.extend(old.pop_front().map(|(page, _)| page));
        }
    }
    hits
}

/// Hits of the second half of `trace` if always the page goes that is wanted again last (Belady).
fn best_hits(trace: &[u32], frames: usize) -> usize {
    let mut next = vec![usize::MAX; trace.len()];
    let mut later = HashMap::new();
    for (i, page) in trace.iter().enumerate().rev() {
        next[i] = later.insert(page, i).unwrap_or(usize::MAX);
    }
    let mut kept: HashMap<u32, usize> = HashMap::new();
    let mut order: BTreeSet<(usize, u32)> = BTreeSet::new();
    let mut hits = 0;
    for (i, &page) in trace.iter().enumerate() {
        if let Some(at) = kept.insert(page, next[i]) {
            order.remove(&(at, page));
            hits += (i >= trace.len() / 2) as usize;
        } else if order.len() == frames {
            kept.remove(&order.pop_last().unwrap().1);
        }
        order.insert((next[i], page));
    }
    hits
}

/// The 13 queries of the Star Schema Benchmark, tables a tenth of those at scale 1: pages in the order of reading.
/// Each reads its dimensions, then the fact table: as a whole, or what an index leads to.
fn star_schema_queries() -> Vec<u32> {
    const FACTS: u32 = 1529;
    let customer = 10_000..10_067;
    let supplier = 11_000..11_005;
    let part = 12_000..12_060;
    let date = 13_000..13_003;
    let facts =
        |one_in: u32| (0..FACTS).filter(move |page| page.wrapping_mul(2_654_435_769) >> 8 & 0xFFFF < 0x10000 / one_in);
    let mut pages = Vec::new();
    for (dimensions, one_in) in [
        (vec![date.clone()], 1),
        (vec![date.clone()], 80),
        (vec![date.clone()], 300),
        (vec![date.clone(), part.clone(), supplier.clone()], 1),
        (vec![part.clone(), date.clone(), supplier.clone()], 2),
        (vec![part.clone(), date.clone(), supplier.clone()], 4),
        (vec![customer.clone(), supplier.clone(), date.clone()], 1),
        (vec![customer.clone(), supplier.clone(), date.clone()], 1),
        (vec![customer.clone(), supplier.clone(), date.clone()], 20),
        (vec![date.clone(), customer.clone(), supplier.clone()], 60),
        (vec![customer.clone(), supplier.clone(), part.clone(), date.clone()], 1),
        (vec![customer.clone(), supplier.clone(), part.clone(), date.clone()], 1),
        (vec![date.clone(), supplier.clone(), part.clone(), customer.clone()], 1),
    ] {
        dimensions.into_iter().for_each(|pages_of| pages.extend(pages_of));
        pages.extend(facts(one_in));
    }
    pages
}

#[test]
fn repeated_reports_profit_from_an_eighth_of_the_data() {
    let run = star_schema_queries();
    let frames = (1529 + 67 + 5 + 60 + 3) / 8;
    let trace = run.repeat(4);
    let mut cache = Cache::new(frames);
    let first = cache.hits(trace[..trace.len() / 2].iter().copied());
    let hits = cache.hits(trace[trace.len() / 2..].iter().copied());
    assert!(hits > first, "{hits} hits after {first}");
    for old_time in [0, 50, run.len() / 20, run.len() / 3, 2 * run.len()] {
        let midpoint = midpoint_hits(&trace, frames, old_time);
        assert!(hits >= midpoint, "{hits} hits, {midpoint} with an old_blocks_time of {old_time} requests");
    }
    let best = best_hits(&trace, frames);
    assert!(hits * 10 >= best * 6, "{hits} hits of {best} that are possible");
}

#[test]
fn a_circle_keeps_what_fits() {
    for pages in [220, 300, 500, 1000, 1500] {
        let mut cache = Cache::new(200);
        cache.hits(0..pages);
        for _ in 0..3 {
            let hits = cache.hits(0..pages);
            assert!(hits >= 180, "{hits} of 200 frames are of use for a circle of {pages}");
        }
    }
}

#[test]
fn a_hot_table_survives_a_scan() {
    for frames in [64, 500, 3000] {
        let hot = 100_000..100_000 + frames as u32 * 8 / 10;
        let mut cache = Cache::new(frames);
        cache.hits(0..frames as u32 * 3);
        for _ in 0..3 {
            cache.hits(hot.clone());
        }
        cache.hits(0..frames as u32 * 20);
        let kept = hot.clone().filter(|page| cache.has(*page)).count();
        assert!(kept * 100 >= hot.len() * 98, "{kept} of {} with {frames} frames", hot.len());
    }
}

#[test]
fn a_new_set_takes_over() {
    let mut cache = Cache::new(200);
    for _ in 0..10 {
        cache.hits(0..190);
    }
    assert_eq!(cache.hits(0..190), 190);
    let hits: Vec<usize> = (0..8).map(|_| cache.hits(1000..1150)).collect();
    assert_eq!(hits[0], 0);
    assert!(hits[7] >= 145, "{hits:?}");
}

#[test]
fn reading_ahead_is_no_use() {
    let mut cache = Cache::new(100);
    for _ in 0..4 {
        cache.hits(0..90);
    }
    // Asked for again and again, never used.
    for _ in 0..20 {
        (1000..1200).for_each(|page| cache.read_ahead(page));
    }
    let Moves { ahead_evicted, .. } = cache.replacement.moves();
    assert!(ahead_evicted > 3000, "{ahead_evicted}");
    let kept = (0..90).filter(|page| cache.has(*page)).count();
    assert!(kept >= 70, "{kept} of 90");
    // Used once each after they were read ahead: they pass through.
    for page in 2000..5000 {
        cache.read_ahead(page + 5);
        cache.get(page);
    }
    assert!((0..90).filter(|page| cache.has(*page)).count() >= 65);
}

#[test]
fn uses_close_to_each_other_count_as_one() {
    let mut cache = Cache::new(160);
    for _ in 0..3 {
        cache.hits(0..100);
    }
    let young = cache.replacement.moves().made_young;
    // Each page of a long scan is asked for five times in a row.
    for page in 1000..5000 {
        for _ in 0..5 {
            cache.get(page);
        }
    }
    assert_eq!(cache.replacement.moves().made_young, young);
    assert!((0..100).filter(|page| cache.has(*page)).count() >= 98);
}

#[test]
fn what_came_back_too_late_is_counted() {
    let mut cache = Cache::new(32);
    for _ in 0..3 {
        cache.hits(0..100);
    }
    let moves = cache.replacement.moves();
    assert_eq!(moves.made_young, 0);
    // Those that did not stay came back twice, but for a few that lost their place in the table.
    assert!((100..=2 * 69).contains(&moves.not_made_young), "{moves:?}");
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(200))]

    /// Whatever is asked for: every frame is free or in one list, and what is read ahead is counted.
    #[test]
    fn frames_are_in_one_list(
        frames in 2..60usize,
        pct in 5..95u32,
        requests in prop::collection::vec((0..120u32, 0..8u32), 1..600),
    ) {
        let mut cache = Cache::new(frames);
        cache.replacement.set_old_pct(pct);
        for (page, how) in requests {
            match how {
                0 => cache.read_ahead(page),
                1 => if let Some(frame) = cache.table.remove(&PageKey::new(FileId(1), page)) {
                    cache.replacement.remove(&cache.frames, frame);
                    cache.free.push(frame);
                },
                _ => drop(cache.get(page)),
            }
            let (young, old) = cache.replacement.lengths();
            prop_assert_eq!(young + old, cache.table.len());
            prop_assert_eq!(cache.table.len() + cache.free.len(), frames);
        }
        let mut order = Vec::new();
        cache.replacement.candidates(&cache.frames, usize::MAX, &mut order);
        order.sort_unstable();
        let mut there: Vec<u32> = cache.table.values().copied().collect();
        there.sort_unstable();
        prop_assert_eq!(order, there);
        prop_assert!(cache.free.iter().all(|frame| List::of(&cache.frames, *frame) == List::None));
        prop_assert!(cache.table.iter().all(|(key, frame)| cache.frames.get(*frame).key() == *key));
        let ahead = cache.table.values().filter(|frame| cache.frames.get(**frame).ahead.load(Relaxed)).count();
        prop_assert_eq!(cache.replacement.expected() as usize, ahead);
    }
}
