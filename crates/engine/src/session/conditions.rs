//! What is to be told of a session's statement: its error and its warnings.

use crate::statement::Diagnostics;
use std::sync::Arc;

#[derive(Clone, Default)]
pub struct Conditions {
    pub diagnostics: Arc<Diagnostics>,
    /// Warnings and errors of the statement before the last: `@@warning_count` is read by a statement of its own.
    pub counts_before: (u64, u64),
}

impl Conditions {
    /// Begins a statement, of which nothing is to be told yet.
    pub fn begin(&mut self) {
        self.counts_before = self.diagnostics.counts();
        self.diagnostics = Arc::default();
    }

    /// The same for a statement that ends without anything to be told, as cheaply as can be.
    pub fn pass(&mut self) {
        self.counts_before = self.diagnostics.counts();
        if self.counts_before != (0, 0) || Arc::strong_count(&self.diagnostics) > 1 {
            self.diagnostics = Arc::default();
        }
    }
}
