//! The filter that the keys of a build side on disk give for the probe side: bounds, and a Bloom filter. It is
//! published before the probe side is read, so that rows without partners are dropped where they are read, at the
//! latest before they go to disk themselves.

use crate::{
    expr::{
        Physical,
        kernel::{Kernel, KernelExpr},
    },
    ops::spill::hashes,
};
use arrow_array::{ArrayRef, BooleanArray};
use arrow_schema::DataType;
use datafusion_common::{Result, ScalarValue};
use datafusion_execution::memory_pool::MemoryReservation;
use datafusion_expr::{Accumulator, ColumnarValue, Operator};
use datafusion_functions_aggregate_common::min_max::{MaxAccumulator, MinAccumulator};
use datafusion_physical_expr::{
    conjunction,
    expressions::{BinaryExpr, Literal},
};
use std::sync::{
    Arc,
    atomic::{AtomicU64, Ordering::Relaxed},
};

/// Bits for each key: two or three of a hundred other keys pass.
const BITS_PER_KEY: usize = 12;
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

/// The least and the greatest of keys.
pub struct Bounds(Vec<(MinAccumulator, MaxAccumulator)>);

impl Bounds {
    /// `types`: of the parts of the key.
    pub fn new(types: &[DataType]) -> Result<Bounds> {
        let bounds = types.iter().map(|ty| Ok((MinAccumulator::try_new(ty)?, MaxAccumulator::try_new(ty)?)));
        bounds.collect::<Result<_>>().map(Bounds)
    }

    pub fn add(&mut self, keys: &[ArrayRef]) -> Result<()> {
        for ((least, greatest), key) in self.0.iter_mut().zip(keys) {
            least.update_batch(std::slice::from_ref(key))?;
            greatest.update_batch(std::slice::from_ref(key))?;
        }
        Ok(())
    }

    /// The least and the greatest value of each part of the key: NULL if there was no other value.
    pub fn ends(&mut self) -> Result<Vec<[ScalarValue; 2]>> {
        self.0.iter_mut().map(|(least, greatest)| Ok([least.evaluate()?, greatest.evaluate()?])).collect()
    }

    /// Takes in what another has seen.
    pub fn merge(&mut self, mut other: Bounds) -> Result<()> {
        for ((least, greatest), ends) in self.0.iter_mut().zip(other.ends()?) {
            least.update_batch(&[ends[0].to_array()?])?;
            greatest.update_batch(&[ends[1].to_array()?])?;
        }
        Ok(())
    }
}

/// TRUE for rows of the probe side that may have a partner. `keys`: of the probe side.
pub fn filter(keys: &[Physical], mut bounds: Bounds, bloom: Option<Arc<Bloom>>) -> Result<Physical> {
    let mut tests: Vec<Physical> = Vec::new();
    for (key, ends) in keys.iter().zip(bounds.ends()?) {
        for (op, end) in [Operator::GtEq, Operator::LtEq].into_iter().zip(ends) {
            tests.push(Arc::new(BinaryExpr::new(key.clone(), op, Arc::new(Literal::new(end)))));
        }
    }
    let test = |bloom| KernelExpr::build(MayContain(bloom), keys.to_vec(), DataType::Boolean, false);
    tests.extend(bloom.map(test));
    Ok(conjunction(tests))
}

/// The test that a key may be in a set.
struct MayContain(Arc<Bloom>);

impl Kernel for MayContain {
    fn label(&self) -> String {
        format!("bloom_{:p}", Arc::as_ptr(&self.0))
    }

    fn call(&self, args: &[ColumnarValue], rows: usize) -> Result<ArrayRef> {
        let keys = args.iter().map(|arg| arg.to_array(rows)).collect::<Result<Vec<_>>>()?;
        let found: BooleanArray = hashes(&keys)?.into_iter().map(|hash| Some(self.0.may_contain(hash))).collect();
        Ok(Arc::new(found))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use arrow_array::{Int64Array, cast::AsArray};
    use datafusion_execution::memory_pool::{GreedyMemoryPool, MemoryConsumer, MemoryPool};

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
            let bloom = Arc::new(bloom.fit(keys as usize).unwrap());
            assert!(
                pool.reserved() <= (keys as usize * 3).clamp(WORDS_MIN * 8, 512 << 10),
                "{keys}: {}",
                pool.reserved()
            );
            let test = |from, to| {
                let keys = numbers(from, to).into_iter().map(ColumnarValue::Array).collect::<Vec<_>>();
                MayContain(bloom.clone()).call(&keys, (to - from) as usize).unwrap().as_boolean().true_count()
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
