//! B+trees: one tree per file, rows in the leaves.
//!
//! ```text
//!   layout.rs    which columns a tree stores, and its key
//!   block.rs     rows in memory, column by column
//!   leaf/        leaf pages
//!   inner.rs     inner pages
//!   overflow.rs  values too long for a leaf
//!   builder.rs   a tree bottom-up from sorted rows
//!   btree.rs     an open tree, counts
//!   descent.rs   ways from the root, and to right neighbours
//!   modify.rs    insert, replace, mark, delete
//!   new_row.rs   a row that comes, as a record, and its key
//!   row_edit.rs  the leaf and the slot of a row that changes
//!   row_locks.rs locks of entries that come, and of gaps that entries come to and leave
//!   unique.rs    duplicates
//!   long_values.rs  long values of rows that change
//!   group.rs     changes of several pages, made whole or not at all
//!   split.rs     leaves that become too full: encoded anew or split
//!   rested.rs    leaves that nobody changes any more: encoded anew
//!   post.rs      parents that learn of new pages
//!   merge.rs     pages that become too empty
//!   run.rs       ranges of keys as runs of leaves
//!   probe.rs     what tests count and switch
//!   planted.rs   faults that tests plant
//!   prefixes.rs  leaves of many beginnings of keys
//!   sample.rs    leaves here and there, for statistics
//!   versions/    rows in other versions than the newest, for a view
//!   gallop.rs    searching near where one is
//!   current.rs   the newest version of a row
//!   cursor.rs    rows one by one, as values
//!   latched_entry.rs newest versions, to be locked
//!   by_key.rs    rows of a short range, one by one, on their pages
//!   check.rs     whether a tree is what it should be
//! ```

#[cfg(test)]
pub(crate) mod arbitrary;
pub mod block;
mod btree;
pub mod builder;
mod by_key;
#[cfg(test)]
mod change_bench;
mod check;
#[cfg(test)]
mod check_tests;
mod current;
mod cursor;
mod descent;
pub mod gallop;
mod group;
pub mod inner;
mod insert_together;
mod latched_entry;
pub mod layout;
pub mod leaf;
mod long_values;
mod merge;
mod modify;
mod new_row;
pub mod overflow;
pub mod page_change;
mod page_difference;
mod planted;
mod post;
mod prefixes;
mod probe;
mod rested;
#[cfg(test)]
mod rested_tests;
mod row_edit;
mod row_locks;
mod run;
mod sample;
#[cfg(test)]
mod shape_tests;
mod split;
#[cfg(test)]
mod stress_tests;
#[cfg(test)]
mod tests;
mod unique;
mod versions;

pub use btree::{Tree, TreeOverflow};
pub use builder::{TreeBuilder, TreeShape};
pub use by_key::{Pages, RowOnPage, VisitEnd};
pub use check::TreeReport;
pub(crate) use current::CurrentRow;
pub use cursor::RowCursor;
pub use group::Room;
pub(crate) use group::{FirstRecord, group_bytes_max};
pub(crate) use latched_entry::CurrentEntry;
pub use layout::{ColumnSource, Physical, StoredColumn, TreeLayout};
pub use modify::{Change, Rest, fsp};
pub use prefixes::{Batching, PrefixLeaf, PrefixRun};
pub use run::{LeafRun, LeafSlice, Skipped};
#[cfg(test)]
pub(crate) use versions::FakeUndo;
pub(crate) use versions::History;
pub use versions::{Before, BeforeRow, LeafPage, Skip, UndoSource};
