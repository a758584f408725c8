//! Keys of indexes: their parts, and ranges of them.

use crate::Value;
use serde::{Deserialize, Serialize};
use std::ops::Bound;

/// One part of a key.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct KeyPart {
    /// Position among the table's columns.
    pub column: usize,
    /// `KEY(c(5))`: characters (bytes for byte strings) of the value that the key holds; the whole value if `None`.
    pub prefix: Option<u32>,
    pub descending: bool,
}

/// A range over the leading parts of an index key. Bounds hold one value per part, at most as many as the key has
/// parts; a shorter bound covers every key that begins with it. NULLs sort before all values.
///
/// Values have the types of the key's columns. For a text part, [`Value::Bytes`] stands for the bytes of a sort key,
/// which need not be those of any text: all texts that begin with "abc" lie between the bytes that their sort keys
/// begin with ([`crate::Collation::append_common_sort_key`]) and the [`prefix_end`] of those.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct KeyRange {
    pub lower: Bound<Vec<Value>>,
    pub upper: Bound<Vec<Value>>,
}

impl KeyRange {
    pub fn all() -> KeyRange {
        KeyRange { lower: Bound::Unbounded, upper: Bound::Unbounded }
    }

    /// All keys that begin with `prefix`.
    pub fn prefix(prefix: Vec<Value>) -> KeyRange {
        KeyRange { lower: Bound::Included(prefix.clone()), upper: Bound::Included(prefix) }
    }
}

/// Values of one key part, with bounds in the order of the key as in [`KeyRange`]: of a descending part the lower bound
/// is the larger value. NULL is below all values.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct KeyInterval {
    pub lower: Bound<Value>,
    pub upper: Bound<Value>,
}

impl KeyInterval {
    /// The one value.
    pub fn point(value: Value) -> KeyInterval {
        KeyInterval { lower: Bound::Included(value.clone()), upper: Bound::Included(value) }
    }
}

/// The range of a key of which this is the only part.
impl From<&KeyInterval> for KeyRange {
    fn from(interval: &KeyInterval) -> KeyRange {
        let bound = |b: &Bound<Value>| b.clone().map(|value| vec![value]);
        KeyRange { lower: bound(&interval.lower), upper: bound(&interval.upper) }
    }
}

/// The smallest string greater than all that begin with `prefix`; `None` if there is none (`prefix` is all `FF`).
pub fn prefix_end(prefix: &[u8]) -> Option<Vec<u8>> {
    let last = prefix.iter().rposition(|b| *b != 0xFF)?;
    let mut end = prefix[..=last].to_vec();
    end[last] += 1;
    Some(end)
}
