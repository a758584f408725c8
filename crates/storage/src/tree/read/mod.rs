//! Reading a tree: the way from the root to a leaf, and the rows of leaves.
//!
//! ```text
//!   descent.rs        ways from the root, and to right neighbours
//!   run.rs            ranges of keys as runs of leaves
//!   prefixes.rs       leaves of many beginnings of keys
//!   by_key.rs         rows of a short range, one by one, on their pages
//!   by_key_backward.rs   the same in descending order
//!   cursor.rs         rows one by one, as values
//!   current.rs        the newest version of a row
//!   latched_entry.rs  newest versions of entries that are to be locked
//!   versions/         rows in the versions that a view sees
//!   sample.rs         leaves here and there, for statistics
//!   check.rs          whether a tree is what it should be
//! ```

pub(super) mod by_key;
pub(super) mod by_key_backward;
pub(super) mod check;
#[cfg(test)]
pub(super) mod check_tests;
pub(super) mod current;
pub(super) mod cursor;
pub(super) mod descent;
pub(super) mod latched_entry;
pub(super) mod prefixes;
pub(super) mod run;
pub(super) mod sample;
pub(super) mod versions;
