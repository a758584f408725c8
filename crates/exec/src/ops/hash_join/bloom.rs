//! A Bloom filter of the keys of a build side, whose blocks are words.

use datafusion_execution::memory_pool::MemoryReservation;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};

/// Bits for each key: two or three of a hundred other keys pass.
pub const BITS_PER_KEY: usize = 12;
/// Bits per key at least. With fewer bits too many other keys would pass.
const BITS_PER_KEY_MIN: usize = 5;
/// Bits that a key sets, all in one word.
const KEY_BITS: usize = 4;
const WORD_BITS: usize = u64::BITS as usize;
/// Smaller filters are not worth their while.
const WORDS_MIN: usize = 128;

/// A set of hashes that may say yes to others too, never no to one of its own: a Bloom filter whose blocks are words
/// (Putze, Sanders, Singler: Cache-, Hash- and Space-Efficient Bloom Filters, 2007).
///
/// How many keys come is known only at the end, so it begins as large as it may be; halves of it laid over each other
/// are the filter of half the size.
pub struct Bloom {
    /// A power of two of them.
    words: Vec<AtomicU64>,
    memory: MemoryReservation,
}

impl Bloom {
    /// Makes a filter of at most so many bytes, or `None` if there is no memory. `memory`: an empty reservation.
    pub fn new(most_bytes: usize, memory: MemoryReservation) -> Option<Bloom> {
        let most = most_bytes / size_of::<u64>();
        let sizes = std::iter::successors(Some(1 << most.max(1).ilog2()), |words| Some(words / 2));
        let mut sizes = sizes.take_while(|words| *words >= WORDS_MIN);
        let words = sizes.find(|words| memory.try_grow(words * size_of::<u64>()).is_ok())?;
        Some(Bloom { words: (0..words).map(|_| AtomicU64::new(0)).collect(), memory })
    }

    /// The word of a hash, and its bits there.
    fn place(&self, hash: u64) -> (&AtomicU64, u64) {
        let bits = (0..KEY_BITS).fold(0, |bits, i| bits | 1 << (hash >> (6 * i) & 63));
        (&self.words[(hash >> 32) as usize & (self.words.len() - 1)], bits)
    }

    pub fn add(&self, hash: u64) {
        let (word, bits) = self.place(hash);
        word.fetch_or(bits, Relaxed);
    }

    pub fn may_contain(&self, hash: u64) -> bool {
        let (word, bits) = self.place(hash);
        word.load(Relaxed) & bits == bits
    }

    /// Shrinks the set to as many bytes as so many keys need; `None` if they are too many for it.
    pub fn fit(mut self, keys: usize) -> Option<Bloom> {
        while self.words.len() / 2 >= WORDS_MIN && self.words.len() / 2 * WORD_BITS >= keys * BITS_PER_KEY {
            let upper = self.words.split_off(self.words.len() / 2);
            for (word, bits) in self.words.iter_mut().zip(upper) {
                *word.get_mut() |= bits.into_inner();
            }
        }
        self.words.shrink_to_fit();
        self.memory.resize(self.words.len() * size_of::<u64>());
        (self.words.len() * WORD_BITS >= keys * BITS_PER_KEY_MIN).then_some(self)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ops::spill::hashes;
    use arrow_array::{ArrayRef, Int64Array};
    use datafusion_execution::memory_pool::{GreedyMemoryPool, MemoryConsumer, MemoryPool};
    use std::sync::Arc;

    fn numbers(from: i64, to: i64) -> Vec<ArrayRef> {
        vec![Arc::new(Int64Array::from_iter_values(from..to))]
    }

    #[test]
    fn a_filter_knows_its_keys_and_few_others_at_any_size() {
        let pool: Arc<dyn MemoryPool> = Arc::new(GreedyMemoryPool::new(1 << 20));
        let memory = || MemoryConsumer::new("filter").register(&pool);
        for keys in [10, 1000, 50_000, 200_000] {
            let bloom = Bloom::new(512 << 10, memory()).unwrap();
            assert_eq!(pool.reserved(), 512 << 10);
            hashes(&numbers(0, keys)).unwrap().into_iter().for_each(|hash| bloom.add(hash));
            let bloom = bloom.fit(keys as usize).unwrap();
            assert!(
                pool.reserved() <= (keys as usize * 3).clamp(WORDS_MIN * 8, 512 << 10),
                "{keys}: {}",
                pool.reserved()
            );
            let test = |from, to| {
                let hashes = hashes(&numbers(from, to)).unwrap();
                hashes.into_iter().filter(|hash| bloom.may_contain(*hash)).count()
            };
            assert_eq!(test(0, keys), keys as usize);
            let others = test(1_000_000, 1_100_000);
            assert!(others < 4_000, "{keys}: {others} of 100,000 others pass");
        }
        assert!(Bloom::new(512 << 10, memory()).unwrap().fit(2_000_000).is_none(), "too many keys");
        assert!(Bloom::new(100, memory()).is_none());
        assert_eq!(pool.reserved(), 0);
    }
}
