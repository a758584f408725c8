//! What SHOW WARNINGS has to tell of one statement.

use muster_exec::{Warning, Warnings};
use muster_storage::mutex::Mutex;
use muster_types::{ErrorCode, SqlError};
use std::sync::Arc;

#[derive(Default)]
pub struct Diagnostics {
    /// Filled while rows are computed, and drained into `collected` when somebody asks.
    pub warnings: Arc<Warnings>,
    collected: Mutex<Vec<Warning>>,
    /// Each with the number of warnings that came before it.
    notes: Mutex<Vec<(usize, Warning)>>,
    error: Mutex<Option<SqlError>>,
}

/// How bad a condition is, as SHOW WARNINGS names it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Level {
    Note,
    Warning,
    Error,
}

impl Diagnostics {
    pub fn note(&self, code: ErrorCode, message: impl Into<String>) {
        let before = self.collected.lock().len() + self.warnings.count();
        let mut notes = self.notes.lock();
        if notes.len() < self.warnings.shown_max().max(Warnings::MAX) {
            notes.push((before, Warning { code, message: message.into() }));
        }
    }

    /// The error that the statement ended with.
    pub fn set_error(&self, error: SqlError) {
        *self.error.lock() = Some(error);
    }

    /// The error, then notes and warnings in the order in which they came, at most `max_error_count` of all.
    pub fn all(&self) -> Vec<(Level, Warning)> {
        let mut collected = self.collected.lock();
        collected.extend(self.warnings.take());
        let error = self.error.lock().as_ref().map(|e| Warning { code: e.code, message: e.message.clone() });
        let mut all: Vec<(Level, Warning)> = error.into_iter().map(|w| (Level::Error, w)).collect();
        let notes = self.notes.lock();
        let mut notes = notes.iter().peekable();
        for (at, warning) in collected.iter().enumerate() {
            while let Some((_, note)) = notes.next_if(|(before, _)| *before <= at) {
                all.push((Level::Note, note.clone()));
            }
            all.push((Level::Warning, warning.clone()));
        }
        all.extend(notes.map(|(_, note)| (Level::Note, note.clone())));
        all.truncate(self.warnings.shown_max());
        all
    }

    /// `@@warning_count` and `@@error_count` as the next statement reads them.
    pub fn counts(&self) -> (u64, u64) {
        let mut collected = self.collected.lock();
        collected.extend(self.warnings.take());
        let errors = usize::from(self.error.lock().is_some());
        let all = errors + self.notes.lock().len() + collected.len();
        (all as u64 + self.warnings.dropped(), errors as u64)
    }
}
