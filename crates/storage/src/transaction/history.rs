//! The history: transactions that have ended and are not purged.
//!
//! ```text
//!   small, large    wait, in the order of their ends; helpers purge small ones only
//!   taken           threads are purging them
//!   failed          their tables could not be opened or changed; they wait again when that is tried again
//!   firsts          the positions of the log from which on it is kept for them, least first
//! ```
//!
//! A view sees all that ended before it was published. So of transactions in the order of their ends, each view sees
//! the first ones.

use crate::{ReadView, log::Lsn};
use std::collections::{BTreeMap, VecDeque};

/// A transaction that has ended, or that a crash has ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(crate) struct Ended {
    pub id: u64,
    /// None of its records is before this position.
    pub first: Lsn,
    /// Its last undo record that is not undone and that purge has to look at; 0 if there is none.
    pub last: Lsn,
    /// Rows that it has changed, or undo records that it has; at least as many as it has undo records.
    pub changes: u64,
    /// The number of its end: those that end later have greater ones.
    pub end: u64,
    /// The end of the log when it ended; 0 if that was before the store was opened, so that all views see it.
    pub ended_at: Lsn,
    /// The end of the log when purging it, or rolling it back, first failed; 0 if that has not failed.
    pub failed_at: Lsn,
}

/// Changes up to which a transaction is small.
const SMALL: u64 = 256;

impl Ended {
    /// Returns true if purging it takes a thread next to no time, however much others have written to the log
    /// meanwhile.
    fn is_small(&self) -> bool {
        self.last == 0 || self.changes <= SMALL
    }
}

/// Positions of which the least is wanted, which is a lower bound while one of its neighbours is gone.
#[derive(Debug, Default)]
struct Firsts {
    /// By the position without its last bits: how many there are, and the least that there was.
    buckets: BTreeMap<u64, (usize, Lsn)>,
}

/// Bits of a position that do not tell its bucket.
const BUCKET_BITS: u32 = 16;

impl Firsts {
    fn add(&mut self, position: Lsn) {
        let (count, least) = self.buckets.entry(position >> BUCKET_BITS).or_insert((0, position));
        *count += 1;
        *least = position.min(*least);
    }

    fn remove(&mut self, position: Lsn) {
        if let Some((count, _)) = self.buckets.get_mut(&(position >> BUCKET_BITS)) {
            *count -= 1;
            if *count == 0 {
                self.buckets.remove(&(position >> BUCKET_BITS));
            }
        }
    }

    fn least(&self) -> Option<Lsn> {
        self.buckets.first_key_value().map(|(_, (_, least))| *least)
    }
}

/// The transactions that have ended and are not purged.
#[derive(Debug, Default)]
pub(super) struct History {
    /// How many transactions have ended of which something is kept.
    ends: u64,
    /// The end of the log when the store was opened.
    opened_at: Lsn,
    /// The greatest end of the log at which one of them has ended.
    last_ended_at: Lsn,
    small: VecDeque<Ended>,
    large: VecDeque<Ended>,
    taken: Vec<Ended>,
    failed: Vec<Ended>,
    firsts: Firsts,
}

impl History {
    /// Begins with what a log tells that ends at `opened_at`: transactions in the order of their ends, and the number
    /// of the last end.
    pub fn new(committed: impl Iterator<Item = Ended>, ends: u64, opened_at: Lsn) -> History {
        let mut history = History { ends, opened_at, ..History::default() };
        for ended in committed {
            history.firsts.add(ended.first);
            history.queue_of(&ended).push_back(ended);
        }
        history
    }

    fn queue_of(&mut self, ended: &Ended) -> &mut VecDeque<Ended> {
        if ended.is_small() { &mut self.small } else { &mut self.large }
    }

    /// Adds a transaction that ends now; its number and its position are set.
    pub fn add(&mut self, ended: Ended) {
        self.ends += 1;
        // Whoever ends has looked at the end of the log before it came here.
        self.last_ended_at = self.last_ended_at.max(ended.ended_at);
        let ended = Ended { end: self.ends, ended_at: self.last_ended_at, ..ended };
        self.firsts.add(ended.first);
        self.queue_of(&ended).push_back(ended);
    }

    /// Takes the first transaction that is seen by all; `small`: the first small one.
    pub fn take(&mut self, small: bool, is_seen: impl Fn(u64) -> bool) -> Option<Ended> {
        let end_of = |queue: &VecDeque<Ended>| queue.front().map_or(u64::MAX, |first| first.end);
        let queue = match small || end_of(&self.small) < end_of(&self.large) {
            true => &mut self.small,
            false => &mut self.large,
        };
        let first = queue.pop_front_if(|first| is_seen(first.id))?;
        self.taken.push(first);
        Some(first)
    }

    fn give_back(&mut self, id: u64) {
        self.taken.retain(|ended| ended.id != id);
    }

    /// What a thread had taken is purged.
    pub fn purged(&mut self, ended: &Ended) {
        self.give_back(ended.id);
        self.firsts.remove(ended.first);
    }

    /// What a thread had taken waits again, in its place.
    pub fn wait_again(&mut self, ended: Ended) {
        self.give_back(ended.id);
        let queue = self.queue_of(&ended);
        let before = queue.partition_point(|other| other.end < ended.end);
        queue.insert(before, ended);
    }

    /// What a helper had taken waits for the thread: earlier ones have to go first.
    pub fn leave_to_thread(&mut self, ended: Ended) {
        self.wait_again(Ended { changes: ended.changes.max(SMALL + 1), ..ended });
    }

    /// What a thread had taken could not be purged, and is not to be tried again at once.
    pub fn fail(&mut self, ended: Ended) {
        self.give_back(ended.id);
        self.failed.push(ended);
    }

    /// What has failed waits again with the others.
    pub fn retry_failed(&mut self) {
        std::mem::take(&mut self.failed).into_iter().for_each(|ended| self.wait_again(ended));
    }

    /// Returns true if nothing waits to be purged, apart from what has failed.
    pub fn is_idle(&self) -> bool {
        self.small.is_empty() && self.large.is_empty()
    }

    /// Returns true if purging some of them has failed, and was not tried again since.
    pub fn has_failed(&self) -> bool {
        !self.failed.is_empty()
    }

    pub fn len(&self) -> usize {
        self.small.len() + self.large.len() + self.taken.len() + self.failed.len()
    }

    /// Small ones that wait.
    pub fn small(&self) -> &VecDeque<Ended> {
        &self.small
    }

    /// Returns true if one that ended earlier waits.
    pub fn waits_before(&self, end: u64) -> bool {
        [&self.small, &self.large].into_iter().any(|queue| queue.front().is_some_and(|first| first.end < end))
    }

    /// Returns true if a thread is purging one that ended earlier.
    pub fn is_taken_before(&self, end: u64) -> bool {
        self.taken.iter().any(|other| other.end < end)
    }

    /// Returns true if no thread is purging one.
    pub fn none_is_taken(&self) -> bool {
        self.taken.is_empty()
    }

    /// The position from which on the log is kept for them, or one before it.
    pub fn oldest_needed(&self) -> Option<Lsn> {
        self.firsts.least()
    }

    /// The end of the log when the first of those ended that a view sees and that wait or are being purged.
    pub fn first_ended_at(&self, view: &ReadView) -> Option<Lsn> {
        let fronts = [&self.small, &self.large].into_iter().filter_map(|queue| queue.front());
        let seen = fronts.chain(&self.taken).filter(|ended| view.sees(ended.id));
        seen.map(|ended| ended.ended_at.max(self.opened_at)).min()
    }

    /// The last transaction that waits and had ended at a position of the log. Whoever sees it sees all that ended
    /// before.
    pub fn last_ended_before(&self, position: Lsn) -> Option<u64> {
        let last = |queue: &VecDeque<Ended>| {
            let count = queue.partition_point(|ended| ended.ended_at <= position);
            count.checked_sub(1).and_then(|at| queue.get(at)).map(|ended| (ended.end, ended.id))
        };
        last(&self.small).max(last(&self.large)).map(|(_, id)| id)
    }

    /// The least id; all are looked at.
    pub fn least_id(&self) -> Option<u64> {
        let waiting = self.small.iter().chain(&self.large);
        waiting.chain(&self.taken).chain(&self.failed).map(|ended| ended.id).min()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn ended(id: u64, first: Lsn, changes: u64) -> Ended {
        Ended { id, first, last: first + 1, changes, ended_at: 10 * id, ..Ended::default() }
    }

    #[test]
    fn transactions_are_taken_in_the_order_of_their_ends() {
        let mut history = History::default();
        for (id, changes) in [(4, 1), (2, SMALL + 1), (3, 1), (1, SMALL)] {
            history.add(ended(id, 1 << (20 + id), changes));
        }
        let mut take = |small| history.take(small, |id| id != 1).map(|ended| ended.id);
        assert_eq!([take(true), take(true), take(true)], [Some(4), Some(3), None], "the last one is not seen");
        assert_eq!([take(false), take(false)], [Some(2), None]);
        assert_eq!((history.len(), history.oldest_needed()), (4, Some(1 << 21)));
        let taken = history.taken.clone();
        history.purged(&taken[2]);
        history.leave_to_thread(taken[1]);
        history.fail(taken[0]);
        assert!(history.none_is_taken() && history.waits_before(4) && !history.waits_before(3));
        assert_eq!(history.take(true, |_| true).map(|ended| ended.id), Some(1), "3 is the thread's");
        history.retry_failed();
        let ids: Vec<u64> = std::iter::from_fn(|| history.take(false, |_| true)).map(|ended| ended.id).collect();
        assert_eq!(ids, [4, 3]);
        history.taken.clone().iter().for_each(|ended| history.purged(ended));
        assert_eq!((history.len(), history.oldest_needed(), history.least_id()), (0, None, None));
    }

    #[test]
    fn the_last_that_ended_before_a_position_is_found() {
        let mut history = History::default();
        for (id, changes) in [(1, 1), (2, SMALL + 1), (3, 1), (4, SMALL + 1)] {
            history.add(ended(id, 100, changes));
        }
        let found: Vec<Option<u64>> = [9, 10, 25, 30, 99].map(|at| history.last_ended_before(at)).into();
        assert_eq!(found, [None, Some(1), Some(2), Some(3), Some(4)]);
        let view = |unseen: &[u64]| ReadView::new(unseen.into(), 9);
        assert_eq!(history.first_ended_at(&view(&[])), Some(10));
        assert_eq!([history.first_ended_at(&view(&[1])), history.first_ended_at(&view(&[1, 2]))], [Some(20), None]);
        // Another thread had looked at the end of the log before, and came later.
        history.add(Ended { ended_at: 15, ..ended(5, 100, 1) });
        assert_eq!((history.last_ended_before(39), history.last_ended_before(40)), (Some(3), Some(5)));
    }
}
