//! The filter that the keys of a build side give for the probe side: bounds, and the set of the keys. It is published
//! before the probe side is read, so that rows without partners are dropped where they are read, at the latest before
//! they go to disk themselves.

use super::{
    bloom::{BITS_PER_KEY, Bloom},
    key_bits::KeyBits,
};
use crate::{
    expr::{
        Physical,
        kernel::{Kernel, KernelExpr},
    },
    ops::spill::hashes,
};
use arrow_array::{ArrayRef, BooleanArray};
use arrow_buffer::{BooleanBuffer, BooleanBufferBuilder};
use arrow_schema::DataType;
use datafusion_common::{Result, ScalarValue};
use datafusion_execution::memory_pool::MemoryReservation;
use datafusion_expr::{Accumulator, ColumnarValue, Operator};
use datafusion_functions_aggregate_common::min_max::{MaxAccumulator, MinAccumulator};
use datafusion_physical_expr::{
    conjunction,
    expressions::{BinaryExpr, Literal},
};
use std::sync::Arc;

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

/// The filter knows this of the keys of a build side beside their bounds.
#[derive(Default)]
pub struct KeySet {
    /// The values that a part of the key has, where a bitmap can say it and it says no to many.
    parts: Vec<Option<KeyBits>>,
    /// The hashes of whole keys; `None` if a bitmap knows the keys, or if there was no memory.
    bloom: Option<Arc<Bloom>>,
}

impl KeySet {
    /// `keys`: of batches of a build side with so many rows in all; `bounds`: of these keys. `memory`: makes empty
    /// reservations.
    pub fn new(
        keys: &[Vec<ArrayRef>],
        bounds: &mut Bounds,
        rows: usize,
        memory: impl Fn() -> MemoryReservation,
    ) -> Result<KeySet> {
        let (ends, mut parts) = (bounds.ends()?, Vec::new());
        for (at, part_ends) in ends.iter().enumerate() {
            let mut bits = KeyBits::new(part_ends.clone(), rows, memory())?;
            if let Some(bits) = &mut bits {
                keys.iter().try_for_each(|parts| bits.add(&parts[at]))?;
            }
            parts.push(bits.filter(|bits| ends.len() == 1 || bits.is_sparse()));
        }
        if let [Some(_)] = &parts[..] {
            return Ok(KeySet { parts, bloom: None });
        }
        let bloom = Bloom::new((rows * BITS_PER_KEY / 8).next_power_of_two(), memory());
        if let Some(bloom) = &bloom {
            for keys in keys {
                hashes(keys)?.into_iter().for_each(|hash| bloom.add(hash));
            }
        }
        Ok(KeySet { parts, bloom: bloom.and_then(|bloom| bloom.fit(rows)).map(Arc::new) })
    }

    pub fn of_hashes(bloom: Option<Arc<Bloom>>) -> KeySet {
        KeySet { parts: Vec::new(), bloom }
    }
}

/// TRUE for rows of the probe side that may have a partner. `keys`: of the probe side.
pub fn filter(keys: &[Physical], mut bounds: Bounds, set: KeySet) -> Result<Physical> {
    let ends = bounds.ends()?;
    if set.bloom.is_some() || set.parts.iter().any(Option::is_some) {
        return Ok(KernelExpr::build(MayMatch { ends, set }, keys.to_vec(), DataType::Boolean, false));
    }
    let mut tests: Vec<Physical> = Vec::new();
    for (key, ends) in keys.iter().zip(ends) {
        for (op, end) in [Operator::GtEq, Operator::LtEq].into_iter().zip(ends) {
            tests.push(Arc::new(BinaryExpr::new(key.clone(), op, Arc::new(Literal::new(end)))));
        }
    }
    Ok(conjunction(tests))
}

/// The test that a key may be one of the build side's.
struct MayMatch {
    ends: Vec<[ScalarValue; 2]>,
    set: KeySet,
}

impl Kernel for MayMatch {
    fn label(&self) -> String {
        format!("keys_{:p}", self.ends.as_ptr())
    }

    fn call(&self, args: &[ColumnarValue], rows: usize) -> Result<ArrayRef> {
        let keys = args.iter().map(|arg| arg.to_array(rows)).collect::<Result<Vec<_>>>()?;
        let mut found: Option<BooleanBuffer> = None;
        for (bits, keys) in self.set.parts.iter().zip(&keys) {
            if let Some(bits) = bits {
                let here = bits.contains(keys.as_ref())?;
                found = Some(found.map_or_else(|| here.clone(), |found| &found & &here));
            }
        }
        let found = match (&self.set.bloom, found) {
            (None, found) => found.unwrap_or_else(|| BooleanBuffer::new_set(rows)),
            (Some(bloom), None) => contained(bloom, &keys)?,
            (Some(bloom), Some(found)) if found.count_set_bits() * 2 < rows => {
                let picked = BooleanArray::new(found.clone(), None);
                let keys = keys.iter().map(|keys| arrow_select::filter::filter(keys, &picked));
                let of_picked = contained(bloom, &keys.collect::<Result<Vec<_>, _>>()?)?;
                let mut both = BooleanBufferBuilder::new(rows);
                both.append_n(rows, false);
                let places = found.set_indices().enumerate().filter(|(i, _)| of_picked.value(*i));
                places.for_each(|(_, place)| both.set_bit(place, true));
                both.finish()
            }
            (Some(bloom), Some(found)) => &found & &contained(bloom, &keys)?,
        };
        Ok(Arc::new(BooleanArray::new(found, None)))
    }

    fn ends(&self, arg: usize) -> Option<[ScalarValue; 2]> {
        self.ends.get(arg).cloned()
    }
}

fn contained(bloom: &Bloom, keys: &[ArrayRef]) -> Result<BooleanBuffer> {
    let hashes = hashes(keys)?;
    Ok(BooleanBuffer::collect_bool(hashes.len(), |i| bloom.may_contain(hashes[i])))
}

#[cfg(test)]
mod tests {
    use super::*;
    use arrow_array::{Int64Array, RecordBatch, StringViewArray, cast::AsArray};
    use datafusion_execution::memory_pool::{GreedyMemoryPool, MemoryConsumer, MemoryPool};
    use datafusion_physical_expr::expressions::Column;
    use proptest::prelude::*;
    use std::collections::HashSet;

    type Key = (Option<i64>, Option<i64>);

    /// Columns of the two parts: numbers, the second one perhaps as texts.
    fn columns(keys: &[Key], text: bool) -> Vec<ArrayRef> {
        let second: ArrayRef = match text {
            true => Arc::new(StringViewArray::from_iter(keys.iter().map(|key| key.1.map(|n| format!("number {n}"))))),
            false => Arc::new(Int64Array::from_iter(keys.iter().map(|key| key.1))),
        };
        vec![Arc::new(Int64Array::from_iter(keys.iter().map(|key| key.0))), second]
    }

    /// For each probe key, whether the filter lets it pass. The key has `parts` parts.
    fn passed(build: &[Key], probe: &[Key], parts: usize, text: bool, memory_bytes: usize) -> Vec<bool> {
        let pool: Arc<dyn MemoryPool> = Arc::new(GreedyMemoryPool::new(memory_bytes));
        let batches: Vec<Vec<ArrayRef>> = build.chunks(7).map(|keys| columns(keys, text)[..parts].to_vec()).collect();
        let columns = &columns(probe, text)[..parts];
        let types: Vec<DataType> = columns.iter().map(|column| column.data_type().clone()).collect();
        let mut bounds = Bounds::new(&types).unwrap();
        batches.iter().for_each(|keys| bounds.add(keys).unwrap());
        let memory = || MemoryConsumer::new("join filter").register(&pool);
        let set = KeySet::new(&batches, &mut bounds, build.len(), memory).unwrap();
        let keys: Vec<Physical> = (0..parts).map(|i| Arc::new(Column::new(&format!("k{i}"), i)) as Physical).collect();
        let filter = filter(&keys, bounds, set).unwrap();
        let named = columns.iter().enumerate().map(|(i, column)| (format!("k{i}"), column.clone()));
        let batch = RecordBatch::try_from_iter_with_nullable(named.map(|(name, column)| (name, column, true))).unwrap();
        let passed = filter.evaluate(&batch).unwrap().into_array(probe.len()).unwrap();
        let passed = passed.as_boolean();
        let passed = (0..probe.len()).map(|i| arrow_array::Array::is_valid(passed, i) && passed.value(i)).collect();
        drop((filter, keys));
        assert_eq!(pool.reserved(), 0);
        passed
    }

    fn keys(most: usize) -> impl Strategy<Value = Vec<Key>> {
        let part = || prop::option::weighted(0.9, prop_oneof![4 => 0i64..400, 1 => any::<i64>()]);
        prop::collection::vec((part(), part()), 1..most)
    }

    proptest! {
        /// In any memory a key of the build side passes; numbers are known exactly where there is memory.
        #[test]
        fn rows_with_partners_pass(build in keys(60), probe in keys(60), text in any::<bool>(), parts in 1usize..3) {
            let probe: Vec<Key> = probe.into_iter().chain(build.iter().copied()).collect();
            let near = build.iter().all(|key| key.0.is_none_or(|n| (0..400).contains(&n)));
            let first: HashSet<i64> = build.iter().filter_map(|key| key.0).collect();
            for memory_bytes in [1 << 20, 1 << 11, 0] {
                let passed = passed(&build, &probe, parts, text, memory_bytes);
                for (key, passed) in probe.iter().zip(passed) {
                    let has_partner = match parts {
                        1 => key.0.is_some_and(|n| first.contains(&n)),
                        _ => key.0.is_some() && key.1.is_some() && build.contains(key),
                    };
                    prop_assert!(passed || !has_partner, "{:?}", key);
                    let known = near && memory_bytes == 1 << 20 && !first.is_empty();
                    let is_first = key.0.is_some_and(|n| first.contains(&n));
                    prop_assert!(!(known && passed) || parts == 2 || is_first, "{:?}", key);
                }
            }
        }
    }

    #[test]
    fn pairs_that_are_no_keys_are_dropped() {
        let build: Vec<Key> = (0..1000).map(|i| (Some(7 * i), Some(i % 10))).collect();
        let probe: Vec<Key> = (0..70_000).map(|i| (Some(i % 7000), Some(i / 7000))).collect();
        for text in [false, true] {
            let passed = passed(&build, &probe, 2, text, 1 << 20);
            let count = passed.iter().filter(|passed| **passed).count();
            assert!((1000..1500).contains(&count), "{count} of 1000 pairs pass");
        }
    }
}
