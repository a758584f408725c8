//! Pages of a tree as bytes: what a leaf, an inner page and an overflow page hold, and how their bytes change.
//!
//! ```text
//!   layout.rs           which columns a tree stores, and its key
//!   former_layout.rs    layouts that rows had before columns were added, dropped or moved
//!   block.rs            rows in memory, column by column
//!   leaf/               leaf pages
//!   inner.rs            inner pages
//!   overflow.rs         values too long for a leaf
//!   page_change.rs      a change of a page, which writers and redo make by the same function
//!   page_difference.rs  a page as its difference from another one
//!   gallop.rs           searching near the place of the last search
//! ```
//!
//! Nothing here knows a tree, a latch or a transaction.

pub mod block;
pub mod former_layout;
pub mod gallop;
pub mod inner;
pub mod layout;
pub mod leaf;
pub mod overflow;
pub mod page_change;
pub(super) mod page_difference;
