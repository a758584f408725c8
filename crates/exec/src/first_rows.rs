//! The rows that are the first ones with their key, of more rows than memory has room for: keys that do not fit are
//! spread over files by their hash, and those of one file after the other are compared (as a grace hash join does).

use crate::ops::spill::{LEVELS, PartitionWriter, SpillSpace, hashes};
use arrow_array::{ArrayRef, RecordBatch, UInt64Array, cast::AsArray, types::UInt64Type};
use arrow_row::{RowConverter, SortField};
use arrow_schema::{DataType, Field, Schema, SchemaRef};
use datafusion_common::{DataFusionError, Result};
use datafusion_execution::memory_pool::{MemoryConsumer, MemoryPool, MemoryReservation};
use std::{collections::HashSet, sync::Arc};

/// Bytes of a key in a set, beside its own.
const KEY_BYTES: usize = 64;

/// The keys of some rows, and the number of the first of these rows.
pub type Keys = (Vec<ArrayRef>, u64);

/// The rows that are the first ones with their key.
pub struct FirstRows {
    memory: MemoryReservation,
    /// One bit for each row.
    words: Vec<u64>,
}

impl FirstRows {
    /// Returns true if no earlier row has the key of this one.
    pub fn contains(&self, row: usize) -> bool {
        self.words.get(row / 64).is_some_and(|word| word >> (row % 64) & 1 == 1)
    }

    fn insert(&mut self, row: u64) {
        let word = (row / 64) as usize;
        if word >= self.words.len() {
            self.words.resize((word + 1).next_multiple_of(1024), 0);
            self.memory.resize(self.words.len() * size_of::<u64>());
        }
        self.words[word] |= 1 << (row % 64);
    }
}

/// The search for them.
pub struct KeySearch<'a> {
    pub pool: &'a Arc<dyn MemoryPool>,
    /// What keys may take in memory, in bytes.
    pub memory_bytes_max: usize,
    pub space: &'a SpillSpace,
}

pub type KeyBatches<'a> = Box<dyn Iterator<Item = Result<Keys>> + 'a>;
type NumberedBatches<'a> = Box<dyn Iterator<Item = Result<RecordBatch>> + 'a>;

impl KeySearch<'_> {
    /// `open` reads the keys from the beginning. Errors: of the file system; `ResourcesExhausted` if keys are too many
    /// for files, too.
    pub fn first_rows<'k>(&self, open: &dyn Fn() -> Result<KeyBatches<'k>>) -> Result<FirstRows> {
        let memory = MemoryConsumer::new("first rows").register(self.pool);
        let mut first = FirstRows { memory, words: Vec::new() };
        let numbered = || -> Result<NumberedBatches<'k>> { Ok(Box::new(open()?.map(|keys| numbered(keys?)))) };
        self.mark(&numbered, 0, &mut first)?;
        Ok(first)
    }

    /// Marks the first rows of keys. `level`: how often the keys have been spread over files.
    fn mark<'k>(
        &self,
        open: &dyn Fn() -> Result<NumberedBatches<'k>>,
        level: usize,
        first: &mut FirstRows,
    ) -> Result<()> {
        // Those that were marked before memory ended are right.
        if self.mark_in_memory(open()?, first)? {
            return Ok(());
        }
        if level == LEVELS {
            return Err(DataFusionError::ResourcesExhausted("keys of rows found".into()));
        }
        let mut writer: Option<PartitionWriter> = None;
        for batch in open()? {
            let batch = batch?;
            let writer = writer.get_or_insert_with(|| PartitionWriter::new(self.space, &batch.schema(), level));
            writer.write(&batch, &hashes(&batch.columns()[..batch.num_columns() - 1])?)?;
        }
        let Some(writer) = writer else { return Ok(()) };
        for file in writer.finish()?.into_iter().flatten() {
            self.mark(&|| -> Result<NumberedBatches<'static>> { Ok(Box::new(file.open()?)) }, level + 1, first)?;
        }
        Ok(())
    }

    /// Returns false if the keys do not fit into memory.
    fn mark_in_memory(&self, batches: NumberedBatches<'_>, first: &mut FirstRows) -> Result<bool> {
        let memory = MemoryConsumer::new("keys of rows found").with_can_spill(true).register(self.pool);
        let mut seen: HashSet<Box<[u8]>> = HashSet::new();
        let mut converter = None;
        for batch in batches {
            let batch = batch?;
            let Some((numbers, keys)) = batch.columns().split_last() else { continue };
            let converter = match &mut converter {
                Some(converter) => converter,
                None => {
                    let fields = keys.iter().map(|key| SortField::new(key.data_type().clone())).collect();
                    converter.insert(RowConverter::new(fields)?)
                }
            };
            let mut added_bytes = 0;
            for (key, number) in
                converter.convert_columns(keys)?.iter().zip(numbers.as_primitive::<UInt64Type>().values())
            {
                let key: &[u8] = key.as_ref();
                if !seen.contains(key) {
                    added_bytes += key.len() + KEY_BYTES;
                    seen.insert(key.into());
                    first.insert(*number);
                }
            }
            if memory.size() + added_bytes > self.memory_bytes_max || memory.try_grow(added_bytes).is_err() {
                return Ok(false);
            }
        }
        Ok(true)
    }
}

/// Keys with the numbers of their rows as the last column.
fn numbered((mut columns, first): Keys) -> Result<RecordBatch> {
    let rows = columns.first().map_or(0, |column| column.len()) as u64;
    columns.push(Arc::new(UInt64Array::from_iter_values(first..first + rows)));
    let field = |(at, column): (usize, &ArrayRef)| Field::new(at.to_string(), column.data_type().clone(), true);
    let schema: SchemaRef = Arc::new(Schema::new(columns.iter().enumerate().map(field).collect::<Vec<_>>()));
    debug_assert_eq!(schema.fields().last().map(|f| f.data_type()), Some(&DataType::UInt64));
    Ok(RecordBatch::try_new(schema, columns)?)
}
