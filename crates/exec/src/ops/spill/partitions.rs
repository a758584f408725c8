//! Rows spread over files by a hash of their keys: those with equal keys are in one file.
//!
//! A partition that is still too large to be worked on at once is spread again, with another hash at each level.

use super::{SpillFile, SpillSpace, SpillWriter};
use crate::ops::compact::used_bytes;
use arrow_array::{ArrayRef, RecordBatch, UInt32Array};
use arrow_schema::SchemaRef;
use arrow_select::take::take_record_batch;
use datafusion_common::{
    Result,
    hash_utils::{RandomState, create_hashes},
};

/// Bits of a hash that name a file; each level takes others.
const PARTITION_BITS: usize = 4;
/// Files that rows are spread over.
pub const PARTITIONS: usize = 1 << PARTITION_BITS;
/// Number of times that rows are partitioned at most. A partition that is still too large has few keys.
pub const LEVELS: usize = 6;
/// The seed of the hashes. It differs from the seed of the hashes that spread rows over threads.
const SEED: u64 = 0x6d75_7374_6572;

/// Writes rows to their files.
pub struct PartitionWriter {
    space: SpillSpace,
    schema: SchemaRef,
    writers: [Option<SpillWriter>; PARTITIONS],
    level: usize,
}

impl PartitionWriter {
    /// `level`: how often the rows have been spread before.
    pub fn new(space: &SpillSpace, schema: &SchemaRef, level: usize) -> PartitionWriter {
        PartitionWriter { space: space.clone(), schema: schema.clone(), writers: [const { None }; PARTITIONS], level }
    }

    /// Takes rows and the [`hashes`] of their keys. Errors of the file system.
    pub fn write(&mut self, batch: &RecordBatch, hashes: &[u64]) -> Result<()> {
        let mut rows: [Vec<u32>; PARTITIONS] = [const { Vec::new() }; PARTITIONS];
        let number = |hash: u64| (hash >> (self.level * PARTITION_BITS)) as usize % PARTITIONS;
        hashes.iter().enumerate().for_each(|(row, hash)| rows[number(*hash)].push(row as u32));
        let portions = used_bytes(batch)?.div_ceil(self.space.block_bytes).max(1);
        let most = batch.num_rows().div_ceil(portions).max(1);
        for (writer, rows) in self.writers.iter_mut().zip(rows) {
            for portion in rows.chunks(most) {
                let part = take_record_batch(batch, &UInt32Array::from_iter_values(portion.iter().copied()))?;
                let writer = match writer {
                    Some(writer) => writer,
                    None => writer.insert(SpillWriter::create(&self.space, &self.schema)?),
                };
                writer.write(&part)?;
            }
        }
        Ok(())
    }

    /// The files, in the order of hashes; `None` where there are no rows. Errors of the file system.
    pub fn finish(self) -> Result<[Option<SpillFile>; PARTITIONS]> {
        let mut files = [const { None }; PARTITIONS];
        for (file, writer) in files.iter_mut().zip(self.writers) {
            *file = writer.map(SpillWriter::finish).transpose()?;
        }
        Ok(files)
    }
}

/// Hashes of keys that tell rows apart: equal keys have equal ones, whatever the batch.
pub fn hashes(keys: &[ArrayRef]) -> Result<Vec<u64>> {
    let mut hashes = vec![0; keys.first().map_or(0, |key| key.len())];
    create_hashes(keys, &RandomState::with_seed(SEED), &mut hashes)?;
    hashes.iter_mut().for_each(|hash| *hash = mixed(*hash));
    Ok(hashes)
}

/// Each bit depends on all bits of the hash: the last step of MurmurHash3.
fn mixed(mut hash: u64) -> u64 {
    hash = (hash ^ hash >> 33).wrapping_mul(0xff51_afd7_ed55_8ccd);
    hash = (hash ^ hash >> 33).wrapping_mul(0xc4ce_b9fe_1a85_ec53);
    hash ^ hash >> 33
}

#[cfg(test)]
mod tests {
    use super::*;
    use arrow_array::{Int64Array, cast::AsArray, types::Int64Type};
    use std::sync::Arc;

    #[test]
    fn each_level_spreads_rows_anew_and_equal_keys_meet() {
        let temp = tempfile::tempdir().unwrap();
        let space = SpillSpace { temp_dir: temp.path().to_path_buf(), block_bytes: 4096, counters: Arc::default() };
        let numbers: ArrayRef = Arc::new(Int64Array::from_iter_values((0..20_000).map(|i| i % 5000)));
        let batch = RecordBatch::try_from_iter([("n", numbers.clone())]).unwrap();
        let spread = |batches: Vec<RecordBatch>, level| {
            let mut writer = PartitionWriter::new(&space, &batch.schema(), level);
            batches.iter().for_each(|b| writer.write(b, &hashes(b.columns()).unwrap()).unwrap());
            writer.finish().unwrap().map(|file| file.unwrap())
        };
        let read = |file: &SpillFile| file.open().unwrap().map(Result::unwrap).collect::<Vec<_>>();
        let first = spread(vec![batch.clone()], 0);
        let mut home = vec![None; 5000];
        for (i, file) in first.iter().enumerate() {
            assert!((800..1800).contains(&file.rows) && file.batch_bytes < 8192, "{} {}", file.rows, file.batch_bytes);
            for n in read(file).iter().flat_map(|b| b.column(0).as_primitive::<Int64Type>().values().to_vec()) {
                assert_eq!(*home[n as usize].get_or_insert(i), i);
            }
        }
        assert_eq!(first.iter().map(|f| f.rows).sum::<usize>(), 20_000);
        let second = spread(read(&first[3]), 1);
        assert!(second.iter().all(|f| f.rows < 200), "{:?}", second.each_ref().map(|f| f.rows));
    }
}
