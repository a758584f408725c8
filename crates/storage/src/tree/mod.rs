//! B+trees: one tree per file, rows in the leaves.
//!
//! ```text
//!   layout.rs    which columns a tree stores, and its key
//!   block.rs     rows in memory, column by column
//!   leaf/        leaf pages
//!   inner.rs     inner pages
//!   overflow.rs  values too long for a leaf
//!   builder.rs   a tree bottom-up from sorted rows
//! ```

#[cfg(test)]
pub(crate) mod arbitrary;
pub mod block;
pub mod builder;
pub mod inner;
pub mod layout;
pub mod leaf;
pub mod overflow;

pub use builder::{TreeBuilder, TreeShape};
pub use layout::{ColumnSource, Physical, StoredColumn, TreeLayout};
