//! Leaves with slots that nobody changes any more, for whoever encodes them anew. A list of frames; each is in it once
//! at most, since the frame says whether it is.
//!
//! ```text
//!   Quiet --note--> Changed --look--> Waiting --look--> Quiet, and handed out
//!                      ^                 |
//!                      +------change-----+
//! ```
//!
//! A page that has left its frame is forgotten; whoever reads it again and finds slots notes it again.

use super::{BufferPool, PageGuard, PageGuardMut, frames::PageKey};
use crate::{FileId, file::HEADER_PAGE, mutex::Mutex};
use std::sync::atomic::{AtomicU8, Ordering::Relaxed};

/// The frame is not in the list.
const QUIET: u8 = 0;
/// Its page was changed, or met for the first time, since the list was last looked through.
const CHANGED: u8 = 1;
/// Its page was not changed between the last two looks.
const WAITING: u8 = 2;

/// The state of one frame.
#[derive(Debug, Default)]
pub(super) struct Rest(AtomicU8);

/// The frames that are noted.
#[derive(Debug, Default)]
pub(super) struct RestList {
    frames: Mutex<Vec<u32>>,
}

impl BufferPool {
    fn note_changed(&self, frame: u32) {
        let rest = &self.frames.get(frame).rest.0;
        if rest.load(Relaxed) != CHANGED && rest.swap(CHANGED, Relaxed) == QUIET {
            self.rested.frames.lock().push(frame);
        }
    }

    fn note_met(&self, frame: u32) {
        let rest = &self.frames.get(frame).rest.0;
        if rest.load(Relaxed) == QUIET && rest.compare_exchange(QUIET, CHANGED, Relaxed, Relaxed).is_ok() {
            self.rested.frames.lock().push(frame);
        }
    }

    /// Looks through the pages that were noted. Takes off the list and returns those that nobody has changed between
    /// this call and the one before.
    pub fn take_rested(&self) -> Vec<(FileId, u32)> {
        let mut rested = Vec::new();
        self.rested.frames.lock().retain(|&frame| {
            let f = self.frames.get(frame);
            // A writer that comes between changes the state, or finds the frame off the list and adds it again.
            let is_rested = f.rest.0.compare_exchange(WAITING, QUIET, Relaxed, Relaxed).is_ok();
            if !is_rested {
                f.rest.0.store(WAITING, Relaxed);
            } else if f.key() != PageKey::NONE && f.key().page_no() != HEADER_PAGE {
                // The page may be another one than was noted, but the header of a file has no rows.
                rested.push((f.key().file(), f.key().page_no()));
            }
            !is_rested
        });
        rested
    }
}

impl PageGuardMut {
    /// Notes that the page has slots and was changed just now: [`BufferPool::take_rested`].
    pub fn note_changed(&self) {
        self.pool().note_changed(self.frame());
    }
}

impl PageGuard {
    /// Notes that the page has slots, for when it rests.
    #[inline]
    pub fn note_met(&self) {
        self.pool().note_met(self.frame());
    }
}
