//! B+trees: one tree per file, rows in the leaves.
//!
//! ```text
//!   page/      pages as bytes: leaves, inner pages, overflow pages, and their changes
//!   btree.rs   an open tree, counts
//!   read/      descents, runs of leaves, rows by key, versions for a view, the check
//!   change/    insert, replace, mark, delete; splits, merges and separators
//!   build.rs   a tree bottom-up from sorted rows
//!   probe.rs   what tests count and switch; planted.rs: faults that tests plant
//! ```

#[cfg(test)]
pub(crate) mod arbitrary;
mod btree;
pub mod build;
mod change;
pub mod page;
mod planted;
mod probe;
mod read;
#[cfg(test)]
mod shape_tests;
#[cfg(test)]
mod stress_tests;
#[cfg(test)]
mod tests;

pub use btree::{Tree, TreeOverflow};
pub use build::{TreeBuilder, TreeShape};
pub use change::group::Room;
pub(crate) use change::group::{FirstRecord, group_bytes_max};
pub(crate) use change::modify::UndoKind;
pub use change::modify::{Rest, TreeChange};
pub(crate) use page::former_layout::rows_fit;
pub use page::layout::{ColumnSource, Physical, StoredColumn, TreeLayout};
pub(crate) use page::leaf::BadPage;
pub use read::by_key::{Pages, RowOnPage, VisitEnd};
pub use read::check::TreeReport;
pub(crate) use read::current::CurrentRow;
pub use read::cursor::RowCursor;
pub(crate) use read::latched_entry::CurrentEntry;
pub use read::prefixes::{Batching, PrefixLeaf, PrefixRun};
pub use read::run::{LeafRun, LeafSlice, Skipped};
#[cfg(test)]
pub(crate) use read::versions::FakeUndo;
pub(crate) use read::versions::History;
pub use read::versions::{Before, BeforeRow, LeafPage, Skip, UndoSource};
