//! GROUP BY .. WITH ROLLUP (MySQL manual, section 14.19.2): a super-aggregate row is a group of copies of the rows.

use crate::ColId;
use serde::{Deserialize, Serialize};

/// The name of the columns that say which keys are rolled up. Groups come in their order where a query says nothing.
pub const ROLLED_UP: &str = "rolled up";

/// Copies of rows for the levels of a rollup: of each row one copy with all keys, one without the last key, and so on
/// down to one without any. An aggregate above groups by the keys and the level.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct Rollup {
    /// The keys in the order of GROUP BY.
    pub keys: Vec<RollupKey>,
    /// How many of the keys a copy has, BIGINT. The others are NULL in it.
    pub level: ColId,
}

/// A key of a rollup.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct RollupKey {
    /// The column that is delivered.
    pub id: ColId,
    /// The column of the input that its values come from.
    pub source: ColId,
}

impl Rollup {
    /// The columns that are added to those of the input.
    pub fn columns(&self) -> impl Iterator<Item = ColId> + '_ {
        self.keys.iter().map(|key| key.id).chain(std::iter::once(self.level))
    }

    /// The columns of the input that the keys come from.
    pub fn sources(&self) -> impl Iterator<Item = ColId> + '_ {
        self.keys.iter().map(|key| key.source)
    }

    /// The number of copies of a row.
    pub fn copies(&self) -> usize {
        self.keys.len() + 1
    }
}
