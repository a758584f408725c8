//! Rows of a leaf whose keys begin with given bytes, for many of them at once.

use super::{BadPage, Leaf, decode::ints, keys::KeyRows, rows::RowSelection};
use crate::{
    key::{KeyCodec, KeyList, KeyWords, NumberWords},
    tree::{TreeLayout, page::gallop::first_not},
};
use std::ops::Range;

/// So many rows are decoded, where keys are numbers, in the time of a binary search that decodes what it looks at.
const ROWS_PER_SEARCH: usize = 100;

/// Looks for beginnings of keys in leaves of one tree. Has buffers that it uses again for every leaf.
pub struct PrefixSearch {
    /// The parts that the prefixes have.
    codec: KeyCodec,
    /// The keys as numbers, if they are.
    numbers: Option<NumberWords>,
    row_numbers: Vec<u64>,
    /// The keys as machine words, if they are short enough.
    words: Option<KeyWords>,
    row_words: Vec<u128>,
    /// Else their bytes, one row behind the other.
    row_bytes: Vec<u8>,
    ends: Vec<usize>,
    scratch: Vec<u8>,
}

impl PrefixSearch {
    /// Makes a search for prefixes of a tree's keys that have `parts` whole parts each; `None` if they end elsewhere or
    /// differ.
    pub fn new(layout: &TreeLayout, parts: Option<usize>) -> PrefixSearch {
        let count = parts.unwrap_or(layout.key.parts.len());
        PrefixSearch {
            codec: KeyCodec { parts: layout.key.parts[..count].to_vec() },
            numbers: parts.and_then(|parts| NumberWords::new(&layout.key, parts)),
            row_numbers: Vec::new(),
            words: parts.and_then(|parts| KeyWords::new(&layout.key, parts)),
            row_words: Vec::new(),
            row_bytes: Vec::new(),
            ends: Vec::new(),
            scratch: Vec::new(),
        }
    }

    /// Calls `found` with each of the prefixes `which` of `keys`, ascending, that rows from position `from` on begin
    /// with, and with the positions of those rows.
    pub fn find(
        &mut self,
        leaf: &Leaf<'_>,
        layout: &TreeLayout,
        keys: KeyList<'_>,
        which: Range<usize>,
        from: usize,
        found: impl FnMut(usize, Range<usize>),
    ) -> Result<(), BadPage> {
        let count = leaf.rows();
        if from >= count {
            return Ok(());
        }
        let numbers_at = leaf.all_rows()?;
        if let Some(numbers) = self.numbers.filter(|_| which.len() * ROWS_PER_SEARCH > count) {
            let column = leaf.column(numbers.column, layout.columns[numbers.column].physical)?;
            self.row_numbers.clear();
            ints(&column, &numbers_at, &mut self.row_numbers, |number| numbers.of_number(number));
            let at = |row: usize| self.row_numbers[row];
            find(count, from, which, |i| numbers.of_key(keys.get(i)), |r, w| at(r) < *w, |r, w| at(r) == *w, found);
            return Ok(());
        }
        let rows = leaf.key_rows(layout, &self.codec)?;
        // Making all keys once is cheaper than making those that many binary searches look at.
        let dense = which.len() * (count.ilog2() as usize + 1) > count;
        if let Some(words) = &self.words {
            if dense {
                words.of_rows(|row| rows.row(numbers_at.get(row)), count, &mut self.row_words);
                let at = |row: usize| self.row_words[row];
                find(count, from, which, |i| words.of_key(keys.get(i)), |r, w| at(r) < *w, |r, w| at(r) == *w, found);
            } else {
                let at = |row: usize| words.of_row(&rows.row(numbers_at.get(row)));
                find(count, from, which, |i| words.of_key(keys.get(i)), |r, w| at(r) < *w, |r, w| at(r) == *w, found);
            }
        } else if dense {
            self.encode(&rows, &numbers_at);
            let at = |row: usize| {
                let start = if row == 0 { 0 } else { self.ends[row - 1] };
                &self.row_bytes[start..self.ends[row]]
            };
            find(count, from, which, |i| keys.get(i), |r, k| at(r) < *k, |r, k| at(r).starts_with(k), found);
        } else {
            let (codec, scratch) = (&self.codec, std::cell::RefCell::new(&mut self.scratch));
            let compare = |row: usize, test: &dyn Fn(&[u8]) -> bool| {
                let mut key = scratch.borrow_mut();
                key.clear();
                codec.append_row(&rows.row(numbers_at.get(row)), &mut key);
                test(&key)
            };
            find(
                count,
                from,
                which,
                |i| keys.get(i),
                |r, k| compare(r, &|key| key < *k),
                |r, k| compare(r, &|key| key.starts_with(k)),
                found,
            );
        }
        Ok(())
    }

    fn encode(&mut self, rows: &KeyRows<'_>, numbers: &RowSelection) {
        self.row_bytes.clear();
        self.ends.clear();
        for row in numbers.iter() {
            self.codec.append_row(&rows.row(row), &mut self.row_bytes);
            self.ends.push(self.row_bytes.len());
        }
    }
}

/// The search, whatever keys are compared as. Keys ascend; equal ones find the same rows.
fn find<K: PartialEq>(
    count: usize,
    from: usize,
    which: Range<usize>,
    key: impl Fn(usize) -> K,
    less: impl Fn(usize, &K) -> bool,
    begins: impl Fn(usize, &K) -> bool,
    mut found: impl FnMut(usize, Range<usize>),
) {
    // Neighbouring keys are expected as far apart as if they were spread over the leaf evenly.
    let stride = (count / which.len().max(1)).max(1);
    let mut last: Option<(K, Range<usize>)> = None;
    for i in which {
        let wanted = key(i);
        let rows = match &last {
            Some((same, rows)) if *same == wanted => rows.clone(),
            _ => {
                let start = last.as_ref().map_or(from, |(_, rows)| rows.end);
                let start = first_not(start, count, stride, |row| less(row, &wanted));
                start..first_not(start, count, 1, |row| begins(row, &wanted))
            }
        };
        if !rows.is_empty() {
            found(i, rows.clone());
        }
        last = Some((wanted, rows));
    }
}
