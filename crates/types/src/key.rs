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
/// Values have the types of the key's columns.
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
