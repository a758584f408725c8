//! B+trees: one tree per file, rows in the leaves.
//!
//! ```text
//!   layout.rs    which columns a tree stores, and its key
//!   block.rs     rows in memory, column by column
//!   leaf/        leaf pages
//!   inner.rs     inner pages
//!   overflow.rs  values too long for a leaf
//!   builder.rs   a tree bottom-up from sorted rows
//!   btree.rs     an open tree: descents, counts
//!   modify.rs    insert, replace, delete
//!   split.rs     pages that become too full or too empty
//!   mini_transaction.rs  changes of several pages, made whole or not at all
//!   run.rs       ranges of keys as runs of leaves
//!   prefixes.rs  leaves of many beginnings of keys
//!   gallop.rs    searching near where one is
//!   cursor.rs    rows one by one, as values
//!   by_key.rs    rows of a short range, one by one, on their pages
//!   check.rs     whether a tree is what it should be
//! ```

#[cfg(test)]
pub(crate) mod arbitrary;
pub mod block;
mod btree;
pub mod builder;
mod by_key;
mod check;
mod cursor;
pub mod gallop;
pub mod inner;
pub mod layout;
pub mod leaf;
mod mini_transaction;
mod modify;
pub mod overflow;
mod prefixes;
mod run;
mod split;
#[cfg(test)]
mod tests;

pub use btree::{Tree, TreeOverflow};
pub use builder::{TreeBuilder, TreeShape};
pub use by_key::{Pages, RowOnPage, VisitEnd};
pub use check::TreeReport;
pub use cursor::RowCursor;
pub use layout::{ColumnSource, Physical, StoredColumn, TreeLayout};
pub use mini_transaction::{MiniTransaction, Prepared};
pub use modify::fsp;
pub use prefixes::{PrefixLeaf, PrefixRun};
pub use run::{LeafRun, LeafSlice, Skipped};
