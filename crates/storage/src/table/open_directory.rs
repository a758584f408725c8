//! The directory as its tables need it.

use crate::{
    Counters,
    open_files::{KeptOpen, OpenFiles},
    transaction::TransactionSystem,
};
use std::sync::Arc;

/// The parts of an open directory that a table uses.
pub(crate) struct OpenDirectory {
    pub system: Arc<TransactionSystem>,
    pub files: Arc<OpenFiles>,
    pub counters: Arc<Counters>,
    /// Goes last: with it the directory may be closed.
    pub _open: KeptOpen,
}
