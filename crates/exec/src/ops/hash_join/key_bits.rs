//! The keys of a build side as a bitmap: one bit for each number from the least key to the greatest. It says exactly
//! which keys there are, and a test is one load.

use arrow_array::{Array, ArrayRef, ArrowPrimitiveType, PrimitiveArray, cast::AsArray, types::*};
use arrow_buffer::BooleanBuffer;
use arrow_schema::DataType;
use datafusion_common::{Result, ScalarValue, internal_err};
use datafusion_execution::memory_pool::MemoryReservation;

/// A bitmap of at most so many bits is worth its memory however few keys there are: it stays in the second-level cache.
const BITS_MIN: u64 = 1 << 20;
/// A larger bitmap has at most so many bits for each row of the build side.
const BITS_PER_ROW: u64 = 64;
const WORD_BITS: u64 = u64::BITS as u64;

/// See the module.
pub struct KeyBits {
    /// The least key, as [`word`] has it.
    least: u64,
    /// Numbers that have a bit.
    range: u64,
    /// One bit more than there are numbers; the last is for all other numbers, and never set.
    words: Vec<u64>,
    _memory: MemoryReservation,
}

/// A key as a word: differences of words are differences of keys, with and without a sign.
macro_rules! with_words {
    ($array:expr, $keys:ident, $word:ident => $do:expr) => {
        match $array.data_type() {
            DataType::Int8 => with_words!(@ Int8Type, i64, $array, $keys, $word => $do),
            DataType::Int16 => with_words!(@ Int16Type, i64, $array, $keys, $word => $do),
            DataType::Int32 => with_words!(@ Int32Type, i64, $array, $keys, $word => $do),
            DataType::Int64 => with_words!(@ Int64Type, i64, $array, $keys, $word => $do),
            DataType::UInt8 => with_words!(@ UInt8Type, u64, $array, $keys, $word => $do),
            DataType::UInt16 => with_words!(@ UInt16Type, u64, $array, $keys, $word => $do),
            DataType::UInt32 => with_words!(@ UInt32Type, u64, $array, $keys, $word => $do),
            DataType::UInt64 => with_words!(@ UInt64Type, u64, $array, $keys, $word => $do),
            DataType::Date32 => with_words!(@ Date32Type, i64, $array, $keys, $word => $do),
            ty => return internal_err!("keys of type {ty} in a bitmap"),
        }
    };
    (@ $type:ty, $wide:ty, $array:expr, $keys:ident, $word:ident => $do:expr) => {{
        let $keys = $array.as_primitive::<$type>();
        let $word = |key: <$type as ArrowPrimitiveType>::Native| key as $wide as u64;
        $do
    }};
}

impl KeyBits {
    /// A bitmap without keys, for keys between `ends` of a build side of so many rows; `None` if the keys are no whole
    /// numbers, are too far apart, or if there is no memory. `memory`: an empty reservation.
    pub fn new(ends: [ScalarValue; 2], rows: usize, memory: MemoryReservation) -> Result<Option<KeyBits>> {
        let (Some(least), Some(greatest)) = (word(&ends[0])?, word(&ends[1])?) else { return Ok(None) };
        let most = (rows as u64).saturating_mul(BITS_PER_ROW).max(BITS_MIN);
        let Some(range) = greatest.wrapping_sub(least).checked_add(1).filter(|range| *range <= most) else {
            return Ok(None);
        };
        let words = (range / WORD_BITS + 1) as usize;
        if memory.try_grow(words * size_of::<u64>()).is_err() {
            return Ok(None);
        }
        Ok(Some(KeyBits { least, range, words: vec![0; words], _memory: memory }))
    }

    /// Takes in keys, which lie between the ends. NULLs are no keys.
    pub fn add(&mut self, keys: &ArrayRef) -> Result<()> {
        with_words!(keys, keys, word => self.add_words(keys, word));
        Ok(())
    }

    fn add_words<T: ArrowPrimitiveType>(&mut self, keys: &PrimitiveArray<T>, word: impl Fn(T::Native) -> u64) {
        let (least, range) = (self.least, self.range);
        for (i, key) in keys.values().iter().enumerate() {
            let place = word(*key).wrapping_sub(least);
            if keys.is_valid(i) && place < range {
                self.words[(place / WORD_BITS) as usize] |= 1 << (place % WORD_BITS);
            }
        }
    }

    /// Returns true if at most half of the numbers between the ends are keys.
    pub fn is_sparse(&self) -> bool {
        let keys: u64 = self.words.iter().map(|word| u64::from(word.count_ones())).sum();
        keys <= self.range / 2
    }

    /// Which keys of the array it has.
    pub fn contains(&self, keys: &dyn Array) -> Result<BooleanBuffer> {
        Ok(with_words!(keys, keys, word => self.contains_words(keys, word)))
    }

    fn contains_words<T: ArrowPrimitiveType>(
        &self,
        keys: &PrimitiveArray<T>,
        word: impl Fn(T::Native) -> u64,
    ) -> BooleanBuffer {
        let (least, range, words, values) = (self.least, self.range, &self.words[..], &keys.values()[..]);
        let found = BooleanBuffer::collect_bool(values.len(), |i| {
            let place = word(values[i]).wrapping_sub(least).min(range);
            words[(place / WORD_BITS) as usize] >> (place % WORD_BITS) & 1 == 1
        });
        match keys.nulls() {
            Some(nulls) => &found & nulls.inner(),
            None => found,
        }
    }
}

/// The word of a key; `None` for NULL and for values that are no whole numbers.
fn word(key: &ScalarValue) -> Result<Option<u64>> {
    let whole = key.data_type().is_integer() || matches!(key, ScalarValue::Date32(_));
    if key.is_null() || !whole {
        return Ok(None);
    }
    let key = key.to_array()?;
    Ok(Some(with_words!(key, keys, word => word(keys.value(0)))))
}

#[cfg(test)]
mod tests {
    use super::*;
    use arrow_array::{Date32Array, Int8Array, Int32Array, Int64Array, StringViewArray, UInt64Array};
    use datafusion_execution::memory_pool::{GreedyMemoryPool, MemoryConsumer, MemoryPool};
    use proptest::prelude::*;
    use std::sync::Arc;

    fn memory(bytes: usize) -> (Arc<dyn MemoryPool>, MemoryReservation) {
        let pool: Arc<dyn MemoryPool> = Arc::new(GreedyMemoryPool::new(bytes));
        let memory = MemoryConsumer::new("join filter").register(&pool);
        (pool, memory)
    }

    fn value(array: &ArrayRef, i: usize) -> Option<ScalarValue> {
        array.is_valid(i).then(|| ScalarValue::try_from_array(array, i).unwrap())
    }

    /// The bitmap of the keys that are not NULL says yes to them, and to no others.
    fn check(keys: ArrayRef, others: ArrayRef) {
        let mut known: Vec<ScalarValue> = (0..keys.len()).filter_map(|i| value(&keys, i)).collect();
        known.sort_by(|a, b| a.partial_cmp(b).unwrap());
        let (Some(least), Some(greatest)) = (known.first(), known.last()) else { return };
        let ends = [least.clone(), greatest.clone()];
        let Some(mut bits) = KeyBits::new(ends, keys.len(), memory(64 << 20).1).unwrap() else {
            let [least, greatest] = [least, greatest].map(|key| word(key).unwrap().unwrap());
            assert!(greatest.wrapping_sub(least) >= BITS_MIN, "{least} {greatest}");
            return;
        };
        bits.add(&keys).unwrap();
        for array in [&keys, &others] {
            let found = bits.contains(array.as_ref()).unwrap();
            for i in 0..array.len() {
                let value = value(array, i);
                assert_eq!(found.value(i), value.as_ref().is_some_and(|v| known.contains(v)), "{value:?}");
            }
        }
    }

    /// Numbers near `base`, and some that are far away.
    fn numbers(base: i64) -> impl Strategy<Value = Vec<Option<i64>>> {
        let near = (-70i64..200).prop_map(move |n| base.saturating_add(n));
        let number = prop_oneof![8 => near, 1 => (-100_000i64..100_000).prop_map(move |n| base.saturating_add(n)), 1 => any::<i64>()];
        prop::collection::vec(prop::option::weighted(0.9, number), 0..150)
    }

    proptest! {
        #[test]
        fn it_has_its_keys_and_no_others(
            (keys, others) in prop_oneof![Just(0), Just(i64::MIN), Just(i64::MAX), Just(-1_000_000)]
                .prop_flat_map(|base| (numbers(base), numbers(base))),
        ) {
            let near = |numbers: &[Option<i64>]| numbers.iter().map(|n| n.filter(|n| (-300..300).contains(n))).collect::<Vec<_>>();
            let small = |numbers: &[Option<i64>]| Int8Array::from_iter(near(numbers).iter().map(|n| n.map(|n| n as i8)));
            let dates = |numbers: &[Option<i64>]| Date32Array::from_iter(near(numbers).iter().map(|n| n.map(|n| n as i32)));
            let unsigned = |numbers: &[Option<i64>]| UInt64Array::from_iter(numbers.iter().map(|n| n.map(|n| n as u64)));
            check(Arc::new(small(&keys)), Arc::new(small(&others)));
            check(Arc::new(dates(&keys)), Arc::new(dates(&others)));
            check(Arc::new(unsigned(&keys)), Arc::new(unsigned(&others)));
            check(Arc::new(Int64Array::from(keys)), Arc::new(Int64Array::from(others)));
        }
    }

    #[test]
    fn what_is_too_large_or_no_number_has_none() {
        let int = |n: i64| ScalarValue::Int64(Some(n));
        let none = |ends: [ScalarValue; 2], rows, bytes| KeyBits::new(ends, rows, memory(bytes).1).unwrap().is_none();
        assert!(!none([int(0), int(1 << 19)], 1, 1 << 20));
        assert!(none([int(0), int(1 << 21)], 1, 1 << 20), "few keys far apart");
        assert!(!none([int(0), int(1 << 21)], 1 << 16, 1 << 20));
        assert!(none([int(0), int(1 << 21)], 1 << 16, 1 << 10), "no memory");
        assert!(none([int(i64::MIN), int(i64::MAX)], usize::MAX, 1 << 20), "every number");
        assert!(none([ScalarValue::Int64(None), ScalarValue::Int64(None)], 10, 1 << 20), "no key");
        let text = |t: &str| ScalarValue::Utf8View(Some(t.into()));
        assert!(none([text("a"), text("b")], 10, 1 << 20));
        let (pool, reservation) = memory(1 << 20);
        let bits = KeyBits::new([int(-5), int(5)], 3, reservation).unwrap().unwrap();
        assert_eq!(pool.reserved(), 8);
        assert!(bits.contains(&StringViewArray::from(vec!["a"])).is_err());
        assert_eq!(bits.contains(&Int32Array::from(vec![0])).unwrap().count_set_bits(), 0);
        drop(bits);
        assert_eq!(pool.reserved(), 0);
    }
}
