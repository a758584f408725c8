//! Changing a tree: each change latches the pages that it changes, has done all that can fail, and then changes them as
//! one group of the log.
//!
//! ```text
//!   modify.rs           insert, replace, mark, delete
//!   insert_together.rs  several rows that come to one leaf
//!   new_row.rs          a row that comes, as a record, and its key
//!   row_edit.rs         the leaf and the slot of a row that changes
//!   row_locks.rs        locks of entries that come, and of gaps that entries come to and leave
//!   unique.rs           duplicates
//!   long_values.rs      long values of rows that change
//!   group.rs            changes of several pages, made whole or not at all
//!   split.rs            leaves that become too full: encoded anew or split
//!   renew.rs            leaves of former row layouts: encoded anew in the newest one
//!   rested.rs           leaves that nobody changes any more: encoded anew
//!   post.rs             parents that learn of new pages
//!   merge.rs            pages that become too empty
//! ```

#[cfg(test)]
pub(super) mod change_bench;
pub(super) mod group;
pub(super) mod insert_together;
pub(super) mod long_values;
pub(super) mod merge;
pub(super) mod modify;
pub(super) mod new_row;
pub(super) mod post;
pub(super) mod renew;
pub(super) mod rested;
#[cfg(test)]
pub(super) mod rested_tests;
pub(super) mod row_edit;
pub(super) mod row_locks;
pub(super) mod split;
pub(super) mod unique;
