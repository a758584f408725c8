//! The log buffer: a ring of words, into which many threads copy groups that one thread takes out in order.
//!
//! A position of the log has its place in the ring, so two groups that are in it at the same time never share a word.
//! The first word of a group holds its length, which is not 0; it is stored last, and whoever reads it sees the whole
//! group. Words in which no group was stored yet are 0: the thread that takes groups out clears what may be used again.
//! Words are atomic, so the ring needs no unsafe code; a group is copied at about eight bytes a cycle.

use super::{
    Lsn,
    atomic::{AtomicU64, Ordering},
};

/// Bytes of a word.
const WORD: usize = 8;

#[derive(Debug)]
pub(crate) struct Ring {
    words: Box<[AtomicU64]>,
}

impl Ring {
    /// A ring of zeros. `bytes` is a power of two.
    pub fn new(bytes: u64) -> Ring {
        assert!(bytes.is_power_of_two() && bytes >= WORD as u64);
        Ring { words: (0..bytes / WORD as u64).map(|_| AtomicU64::new(0)).collect() }
    }

    pub fn bytes(&self) -> u64 {
        (self.words.len() * WORD) as u64
    }

    fn word(&self, lsn: Lsn) -> usize {
        (lsn as usize / WORD) & (self.words.len() - 1)
    }

    /// The words from a position on: up to the end of the ring, and from its beginning.
    fn span(&self, lsn: Lsn, bytes: usize) -> (&[AtomicU64], &[AtomicU64]) {
        let (first, count) = (self.word(lsn), bytes / WORD);
        let before_end = count.min(self.words.len() - first);
        (&self.words[first..first + before_end], &self.words[..count - before_end])
    }

    /// Stores a group at its position. The words are 0, and nobody else stores into them.
    pub fn put(&self, lsn: Lsn, group: &[u8]) {
        let (words, wrapped) = self.span(lsn, group.len());
        let (head, tail) = group.split_at(words.len() * WORD);
        for (words, bytes) in [(words, head), (wrapped, tail)] {
            let first = if bytes.as_ptr() == group.as_ptr() { 1 } else { 0 };
            for (word, bytes) in words.iter().zip(bytes.as_chunks::<WORD>().0).skip(first) {
                word.store(u64::from_le_bytes(*bytes), Ordering::Relaxed);
            }
        }
        if let Some(bytes) = group.first_chunk::<WORD>() {
            self.words[self.word(lsn)].store(u64::from_le_bytes(*bytes), Ordering::Release);
        }
    }

    /// Returns true if a whole group is at a position where one begins.
    pub fn is_complete(&self, lsn: Lsn) -> bool {
        self.words[self.word(lsn)].load(Ordering::Acquire) != 0
    }

    /// Copies bytes out. They are those of a group only if [`Ring::is_complete`] said so and nobody clears them.
    pub fn copy(&self, lsn: Lsn, out: &mut [u8]) {
        let (words, wrapped) = self.span(lsn, out.len());
        let (head, tail) = out.split_at_mut(words.len() * WORD);
        for (words, bytes) in [(words, head), (wrapped, tail)] {
            for (word, bytes) in words.iter().zip(bytes.as_chunks_mut::<WORD>().0) {
                *bytes = word.load(Ordering::Relaxed).to_le_bytes();
            }
        }
    }

    /// Makes words 0 again, so that groups can be stored in them.
    pub fn clear(&self, lsn: Lsn, bytes: u64) {
        let (words, wrapped) = self.span(lsn, bytes as usize);
        words.iter().chain(wrapped).for_each(|word| word.store(0, Ordering::Relaxed));
    }
}
