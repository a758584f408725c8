//! Ranges of key values as ranges of key bytes.

use super::{KeyCodec, KeyKind};
use crate::Result;
use muster_types::{KeyRange, Value, prefix_end};
use std::ops::Bound;

/// Keys `k` with `lower <= k` and `k < upper` (if there is one). The default covers all keys.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct ByteRange {
    pub lower: Vec<u8>,
    pub upper: Option<Vec<u8>>,
}

impl ByteRange {
    pub fn contains(&self, key: &[u8]) -> bool {
        self.lower.as_slice() <= key && self.upper.as_ref().is_none_or(|upper| key < upper.as_slice())
    }

    pub fn is_empty(&self) -> bool {
        self.upper.as_ref().is_some_and(|upper| *upper <= self.lower)
    }

    /// Leaves out what is not in `other`.
    pub fn intersect(&mut self, other: &ByteRange) {
        if self.lower < other.lower {
            self.lower.clone_from(&other.lower);
        }
        if let Some(upper) = &other.upper
            && self.upper.as_ref().is_none_or(|own| own > upper)
        {
            self.upper = Some(upper.clone());
        }
    }
}

impl KeyCodec {
    /// Ranges over the same parts, each with its bytes, in the order of the key, equal ones once, without those that no
    /// key can be in. Errors: as [`KeyCodec::byte_range`].
    pub fn sorted_ranges(&self, ranges: Vec<KeyRange>) -> Result<Vec<(ByteRange, KeyRange)>> {
        let mut found = Vec::with_capacity(ranges.len());
        for range in ranges {
            if let Some(bytes) = self.byte_range(&range)? {
                found.push((bytes, range));
            }
        }
        if found.len() > 1 {
            found.sort_by(|(a, _), (b, _)| a.lower.cmp(&b.lower));
            found.dedup_by(|(a, _), (b, _)| a == b);
        }
        Ok(found)
    }

    /// The bytes of a range over the leading parts, or `None` if no key can be in it. "Lower" and "upper" are meant
    /// in the order of the key, so for a descending part the lower bound holds the larger value.
    ///
    /// Values are cut to the prefix of prefix parts; the range then covers more than was asked (the caller checks
    /// the rows again).
    pub fn byte_range(&self, range: &KeyRange) -> Result<Option<ByteRange>> {
        let (lower, upper) = (bound_values(&range.lower), bound_values(&range.upper));
        let mut bytes = ByteRange::default();
        let mut key = Vec::new();
        if let Some((values, inclusive)) = lower {
            let (parts, cut) = self.usable_parts(values, upper.map(|u| u.0));
            self.append_values(&values[..parts], &mut key)?;
            let inclusive = match cut {
                Cut::No => inclusive,
                Cut::Prefix => true,
                Cut::Null { descending } => !descending,
            };
            if inclusive {
                bytes.lower.clone_from(&key);
            } else {
                match prefix_end(&key) {
                    Some(end) => bytes.lower = end,
                    None => return Ok(None),
                }
            }
        }
        if let Some((values, inclusive)) = upper {
            let (parts, cut) = self.usable_parts(values, lower.map(|l| l.0));
            key.clear();
            self.append_values(&values[..parts], &mut key)?;
            let inclusive = match cut {
                Cut::No => inclusive,
                Cut::Prefix => true,
                Cut::Null { descending } => descending,
            };
            bytes.upper = if inclusive { prefix_end(&key) } else { Some(key) };
        }
        Ok((!bytes.is_empty()).then_some(bytes))
    }

    /// How many of the bound's values can be used, and what their bytes then leave out. Behind a value that was cut,
    /// later parts say something only if the other bound has the same value there.
    fn usable_parts(&self, values: &[Value], other: Option<&[Value]>) -> (usize, Cut) {
        let count = values.len().min(self.parts.len());
        let mut cut = Cut::No;
        for (i, part) in self.parts[..count].iter().enumerate() {
            if values[i].is_null() {
                if !part.nullable {
                    return (i, Cut::Null { descending: part.descending });
                }
            } else if part.prefix.is_some() && !is_sort_key(part.kind, &values[i]) {
                // If characters do not weigh one by one, the beginning of a value may be below those of smaller ones.
                if matches!(part.kind, KeyKind::Text(collation) if !collation.weighs_characters_singly()) {
                    return (i, Cut::Prefix);
                }
                // Even a value shorter than the prefix may share its key with a longer one: collations ignore some
                // characters.
                cut = Cut::Prefix;
                if other.and_then(|o| o.get(i)) != Some(&values[i]) {
                    return (i + 1, cut);
                }
            }
        }
        (count, cut)
    }
}

/// Returns true if a bound's value for a text part is given as the bytes of a sort key, which are never cut.
fn is_sort_key(kind: KeyKind, value: &Value) -> bool {
    matches!((kind, value), (KeyKind::Text(_), Value::Bytes(_)))
}

/// The part of a bound's values that its bytes leave out.
enum Cut {
    No,
    /// A value was cut to the part's prefix, so other values have the same bytes.
    Prefix,
    /// NULL in a NOT NULL part: before all keys that begin with the parts in front of it, behind them if descending.
    Null {
        descending: bool,
    },
}

fn bound_values(bound: &Bound<Vec<Value>>) -> Option<(&[Value], bool)> {
    match bound {
        Bound::Included(values) if !values.is_empty() => Some((values, true)),
        Bound::Excluded(values) if !values.is_empty() => Some((values, false)),
        _ => None,
    }
}
