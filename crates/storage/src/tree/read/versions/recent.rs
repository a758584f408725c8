//! The version that was found last behind many newer ones. A row that is changed all the time is asked for again and
//! again by readers of old views, and by each of its entries in a secondary tree that their leaves hold.

use super::Seen;
use crate::{ReadView, mutex::Mutex, read_view::Sight};

/// A version that was found behind fewer undo records is found again as fast.
const STEPS_MIN: usize = 16;

/// The version that was found last, of a clustered tree.
#[derive(Default)]
pub(in crate::tree) struct LastVersion(Mutex<Option<KnownVersion>>);

struct KnownVersion {
    /// Where the search began: the position of an undo record, of which there is never another one.
    roll_pointer: u64,
    sight: Sight,
    seen: Seen,
}

impl LastVersion {
    /// What a view sees behind the version with this roll pointer, if it is known.
    pub fn get(&self, roll_pointer: u64, view: &ReadView) -> Option<Seen> {
        let known = self.0.try_lock()?;
        let known = known.as_ref().filter(|known| known.roll_pointer == roll_pointer && known.sight.is_of(view))?;
        Some(known.seen.clone())
    }

    /// Keeps what a view saw after so many undo records.
    pub fn keep(&self, roll_pointer: u64, view: &ReadView, seen: &Seen, steps: usize) {
        if steps < STEPS_MIN || matches!(seen, Seen::MustWait) {
            return;
        }
        if let Some(mut known) = self.0.try_lock() {
            *known = Some(KnownVersion { roll_pointer, sight: view.sight(), seen: seen.clone() });
        }
    }
}
