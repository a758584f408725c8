//! Steering: what the parts of a key may be, so that a scan can leave out entries amid its range.
//!
//! ```text
//!   key (a, b, c)   steering: a free, b in {3, [7, 9]}, c >= 5
//!     (1, 1, 8)  b is below 3:             the next entry that can match is at (1, 3, 5)
//!     (1, 3, 2)  c is below 5:                                              (1, 3, 5)
//!     (1, 9, 4)  c is below 5:                                              (1, 9, 5)
//!     (1, 10, 0) b is above all it may be: behind all keys that begin with  (1)
//! ```
//!
//! The next entry's place is known as bytes; how to get there is the cursor's business ([`super::skip`]).

use crate::{
    Result, StorageError,
    key::{ByteRange, KeyCodec, KeyPartCodec, KeyRow, KeyWords, be_word, prefix_end},
    tree::TreeLayout,
};
use muster_types::{KeyInterval, Value};
use std::ops::Bound;

/// Values that the parts of an index's key may have, beyond what the ranges of a scan say: entries with others are not
/// delivered. Where a part is cut to a prefix, an entry may be delivered whose value is not in the set.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Steering {
    /// Per leading part of the key: `None` if it is free, else what it may be, disjoint and ascending.
    pub parts: Vec<Option<Vec<KeyInterval>>>,
}

/// Steering as bytes.
#[derive(Debug, Clone)]
pub(super) struct Sets {
    codec: KeyCodec,
    parts: Vec<Option<PartSet>>,
}

/// The values that one key part may have.
#[derive(Debug, Clone)]
struct PartSet {
    /// Disjoint and ascending.
    ranges: Vec<PartRange>,
    /// The ranges as words (least and greatest), where the part's values fit one.
    words: Option<(KeyWords, Vec<(u128, u128)>)>,
    codec: KeyCodec,
}

#[derive(Debug, Clone)]
struct PartRange {
    bytes: ByteRange,
    /// The lower bound is a value of the range.
    least_is_value: bool,
    /// The greatest value of the range, if its bound is one.
    greatest: Option<Vec<u8>>,
}

/// The place to continue at behind an entry that steering leaves out.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum SteeringTarget {
    /// At the first key that is not less; in a reverse scan, at the last key that is less.
    Key(Vec<u8>),
    /// No other entry can match.
    End,
}

impl Sets {
    /// `None` if all parts are free. Errors: `WrongType` for more parts than the key has and for values that do
    /// not have their columns' types.
    pub fn new(layout: &TreeLayout, steering: &Steering) -> Result<Option<Sets>> {
        let wrong = |value: String| Err(StorageError::WrongType { value });
        if steering.parts.len() > layout.key.parts.len() {
            return wrong(format!("steering of {} of {} key parts", steering.parts.len(), layout.key.parts.len()));
        }
        let mut parts = Vec::with_capacity(steering.parts.len());
        for (codec, ranges) in layout.key.parts.iter().zip(&steering.parts) {
            parts.push(match ranges {
                Some(ranges) => PartSet::new(codec, ranges)?,
                None => None,
            });
        }
        while parts.last().is_some_and(Option::is_none) {
            parts.pop();
        }
        let codec = KeyCodec { parts: layout.key.parts[..parts.len()].to_vec() };
        Ok((!parts.is_empty()).then_some(Sets { codec, parts }))
    }

    /// The parts up to the last one that is not free.
    pub fn codec(&self) -> &KeyCodec {
        &self.codec
    }

    /// The first part of a row that is not what it may be.
    pub fn failing(&self, row: &impl KeyRow, scratch: &mut Vec<u8>) -> Option<usize> {
        self.parts.iter().position(|set| set.as_ref().is_some_and(|set| !set.contains(row, scratch)))
    }

    /// The place to continue at behind a row whose `part` is the first that fails.
    pub fn target(&self, row: &impl KeyRow, mut part: usize, reverse: bool) -> SteeringTarget {
        let mut key = Vec::new();
        let mut starts = Vec::with_capacity(part + 1);
        for i in 0..=part {
            starts.push(key.len());
            KeyCodec { parts: vec![self.codec.parts[i].clone()] }.append_row(row, &mut key);
        }
        // The least value of the part (in a reverse scan: the value that it must be below).
        let mut bound = key.split_off(starts[part]);
        loop {
            let next = match reverse {
                false => self.at_least(part, &bound),
                true => self.below(part, &bound),
            };
            if let Some(next) = next {
                key.extend_from_slice(&next);
                return SteeringTarget::Key(key);
            }
            // Nothing is left for this part, so the one before it has to change.
            loop {
                if part == 0 {
                    return SteeringTarget::End;
                }
                part -= 1;
                bound = key.split_off(starts[part]);
                if reverse {
                    break;
                }
                if let Some(end) = prefix_end(&bound) {
                    bound = end;
                    break;
                }
            }
        }
    }

    /// The least bytes, not less than `bound`, that part `part` and those behind it may be.
    fn at_least(&self, part: usize, bound: &[u8]) -> Option<Vec<u8>> {
        let Some(set) = &self.parts[part] else { return Some(bound.to_vec()) };
        let first = set.ranges.partition_point(|r| r.bytes.upper.as_ref().is_some_and(|u| u.as_slice() <= bound));
        let range = set.ranges.get(first)?;
        if range.bytes.lower.as_slice() < bound {
            return Some(bound.to_vec());
        }
        let mut least = Vec::new();
        self.append_least(part, range, &mut least);
        Some(least)
    }

    /// Appends the least bytes of a range of `part`, and of what the parts behind may be.
    fn append_least(&self, part: usize, range: &PartRange, out: &mut Vec<u8>) {
        out.extend_from_slice(&range.bytes.lower);
        if range.least_is_value
            && let Some(Some(next)) = self.parts.get(part + 1)
            && let Some(first) = next.ranges.first()
        {
            self.append_least(part + 1, first, out);
        }
    }

    /// The least bytes that are greater than all, below `bound`, that part `part` and those behind it may be.
    fn below(&self, part: usize, bound: &[u8]) -> Option<Vec<u8>> {
        let Some(set) = &self.parts[part] else { return Some(bound.to_vec()) };
        let count = set.ranges.partition_point(|r| r.bytes.lower.as_slice() < bound);
        let range = set.ranges.get(count.checked_sub(1)?)?;
        match &range.bytes.upper {
            Some(upper) if upper.as_slice() <= bound => self.end_of(part, range),
            _ => Some(bound.to_vec()),
        }
    }

    /// The end of a range of `part`, and of what the parts behind may be.
    fn end_of(&self, part: usize, range: &PartRange) -> Option<Vec<u8>> {
        if let Some(greatest) = &range.greatest
            && let Some(Some(next)) = self.parts.get(part + 1)
            && let Some(last) = next.ranges.last()
            && let Some(end) = self.end_of(part + 1, last)
        {
            return Some([greatest.as_slice(), &end].concat());
        }
        range.bytes.upper.clone()
    }

    /// Returns true if a part can have no value at all.
    pub fn is_empty(&self) -> bool {
        self.parts.iter().flatten().any(|set| set.ranges.is_empty())
    }
}

impl PartSet {
    /// `None` if the intervals leave nothing out.
    fn new(part: &KeyPartCodec, intervals: &[KeyInterval]) -> Result<Option<PartSet>> {
        let codec = KeyCodec { parts: vec![part.clone()] };
        let mut encoded: Vec<PartRange> = Vec::with_capacity(intervals.len());
        for interval in intervals {
            if let Some(range) = PartRange::new(&codec, interval)? {
                encoded.push(range);
            }
        }
        encoded.sort_by(|a, b| a.bytes.lower.cmp(&b.bytes.lower));
        let mut ranges: Vec<PartRange> = Vec::with_capacity(encoded.len());
        for range in encoded {
            match ranges.last_mut() {
                // Values that were cut to a prefix may be equal.
                Some(last) if last.bytes.upper.as_ref().is_none_or(|upper| *upper > range.bytes.lower) => {
                    last.bytes.upper = match (last.bytes.upper.take(), range.bytes.upper) {
                        (Some(a), Some(b)) => Some(a.max(b)),
                        _ => None,
                    };
                    last.greatest = None;
                }
                _ => ranges.push(range),
            }
        }
        if let [only] = ranges.as_slice()
            && only.bytes == ByteRange::default()
        {
            return Ok(None);
        }
        // Below the least value there is none.
        ranges.retain(|range| range.bytes.upper.as_ref().is_none_or(|upper| upper.iter().any(|b| *b != 0)));
        let words = KeyWords::new(&codec, 1).map(|words| {
            let least = |range: &PartRange| be_word(&range.bytes.lower);
            let greatest = |range: &PartRange| match &range.bytes.upper {
                // Shorter bytes stand before all that begin with them, as zeros do.
                Some(upper) => be_word(upper).wrapping_sub(1),
                None => u128::MAX,
            };
            (words, ranges.iter().map(|range| (least(range), greatest(range))).collect())
        });
        Ok(Some(PartSet { ranges, words, codec }))
    }

    fn contains(&self, row: &impl KeyRow, scratch: &mut Vec<u8>) -> bool {
        if let Some((words, ranges)) = &self.words {
            let word = words.of_row(row);
            return match ranges.as_slice() {
                [(least, greatest)] => (*least..=*greatest).contains(&word),
                _ => {
                    let upto = ranges.partition_point(|(least, _)| *least <= word);
                    upto > 0 && word <= ranges[upto - 1].1
                }
            };
        }
        scratch.clear();
        self.codec.append_row(row, scratch);
        let upto = self.ranges.partition_point(|range| range.bytes.lower <= *scratch);
        upto > 0 && self.ranges[upto - 1].bytes.contains(scratch)
    }
}

impl PartRange {
    /// `None` if no value is in the range.
    fn new(codec: &KeyCodec, interval: &KeyInterval) -> Result<Option<PartRange>> {
        let part = &codec.parts[0];
        let Some(bytes) = codec.byte_range(&interval.into())? else { return Ok(None) };
        // The bytes of a bound that is in the range, if they are those of one value.
        let value = |bound: &Bound<Value>| -> Result<Option<Vec<u8>>> {
            let Bound::Included(value) = bound else { return Ok(None) };
            if part.prefix.is_some() || (value.is_null() && !part.nullable) {
                return Ok(None);
            }
            let mut key = Vec::new();
            codec.append_values(std::slice::from_ref(value), &mut key)?;
            Ok(Some(key))
        };
        let least_is_value = value(&interval.lower)?.is_some();
        Ok(Some(PartRange { bytes, least_is_value, greatest: value(&interval.upper)? }))
    }
}
