//! Tables that lose their power while rows change in place, files are loaded and dropped, and logs are repeated: what
//! was acknowledged is there after each start, nothing is there by half, and every tree is whole.
//!
//! ```text
//!   catalog.rs           which tables there are, in a small file
//!   definitions.rs       tables are made, dropped and loaded
//!   change.rs            one random change of a row, and what it does to the model
//!   open_transaction.rs  a transaction with its changes, savepoints, commit and rollback
//!   known.rs             what is known of the tables: rows for certain, and commits that may be lost
//!   evidence.rs          what is told of a life after which something is wrong
//!   life.rs              one life of a directory: from its start to the loss of power
//!   tests.rs             many lives, and what they met
//! ```
//!
//! Tables and rows are drawn as for the tests in [`super::table_model`]. One thread changes rows; those of the log, of
//! the checkpoints and of the cleaner are at work beside it. So a seed gives the same changes each time, while the
//! moment in which the power goes may differ by some operations.

mod catalog;
mod change;
mod definitions;
mod evidence;
mod known;
mod life;
mod open_transaction;
mod tests;
