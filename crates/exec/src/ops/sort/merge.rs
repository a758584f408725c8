//! Rows of several sources, each in order, as one sequence: a heap of the sources by their next keys.

use super::{
    block::Block,
    buffer::{Buffer, BufferedRow},
    run::{RunReader, SortedRun},
};
use crate::{ops::compact::compact, runtime::BATCH_ROWS};
use arrow_array::{Array, BinaryArray, RecordBatch, RecordBatchOptions, builder::BinaryBuilder};
use arrow_schema::SchemaRef;
use arrow_select::interleave::interleave;
use datafusion_common::Result;

/// Rows in order, from memory or from disk.
pub enum MergeInput {
    Buffer(Buffer, Vec<BufferedRow>),
    Run(SortedRun),
}

/// A source and where it stands.
#[allow(clippy::large_enum_variant, reason = "one for each run of a merge")]
enum Cursor {
    Buffer {
        first_block: usize,
        order: Vec<BufferedRow>,
        at: usize,
    },
    /// `block`: among those held.
    Run {
        reader: RunReader,
        block: usize,
        row: usize,
    },
}

/// The rows that a merge delivers at a time.
#[derive(Debug, Clone, Copy)]
pub struct Delivery {
    pub rows: usize,
    /// A batch ends with the row that reaches so many.
    pub bytes: usize,
    /// True if the keys are wanted too.
    pub keys: bool,
}

impl Delivery {
    pub fn new(block_bytes: usize, keys: bool) -> Delivery {
        Delivery { rows: BATCH_ROWS, bytes: block_bytes, keys }
    }
}

/// See the module.
pub struct Merge {
    schema: SchemaRef,
    delivery: Delivery,
    /// Rows still wanted.
    left: usize,
    /// The buffers come first, then the blocks of runs whose rows are wanted for the next batch or later.
    blocks: Vec<Block>,
    buffer_blocks: usize,
    cursors: Vec<Cursor>,
    /// Cursors that have rows, as a heap: no parent's key is greater than its children's.
    heap: Vec<usize>,
}

impl Merge {
    /// `limit`: of the rows delivered in all. Errors of the file system.
    pub fn new(schema: SchemaRef, sources: Vec<MergeInput>, limit: Option<usize>, delivery: Delivery) -> Result<Merge> {
        let mut merge = Merge {
            schema,
            delivery,
            left: limit.unwrap_or(usize::MAX),
            blocks: Vec::new(),
            buffer_blocks: 0,
            cursors: Vec::with_capacity(sources.len()),
            heap: Vec::new(),
        };
        let mut runs = Vec::new();
        for source in sources {
            match source {
                MergeInput::Buffer(buffer, order) => {
                    let first_block = merge.blocks.len();
                    merge.blocks.extend(buffer.blocks);
                    if !order.is_empty() {
                        merge.cursors.push(Cursor::Buffer { first_block, order, at: 0 });
                    }
                }
                MergeInput::Run(run) => runs.push(run),
            }
        }
        merge.buffer_blocks = merge.blocks.len();
        for run in runs {
            let mut reader = RunReader::open(&run)?;
            if let Some(block) = next_block(&mut reader)? {
                merge.cursors.push(Cursor::Run { reader, block: merge.blocks.len(), row: 0 });
                merge.blocks.push(block);
            }
        }
        merge.heap = (0..merge.cursors.len()).collect();
        (0..merge.heap.len()).rev().for_each(|at| merge.sift_down(at));
        Ok(merge)
    }

    /// The next rows, and their keys if they are wanted; `None` at the end. Errors of the file system.
    pub fn next(&mut self) -> Result<Option<(RecordBatch, Option<BinaryArray>)>> {
        let mut picked: Vec<(usize, usize)> = Vec::new();
        let mut bytes = 0;
        while picked.len() < self.delivery.rows.min(self.left) && bytes < self.delivery.bytes {
            let Some(first) = self.heap.first().copied() else { break };
            let (block, row) = self.position(first);
            picked.push((block, row));
            bytes += self.blocks[block].row_bytes(row);
            if !self.advance(first)? {
                self.heap.swap_remove(0);
            }
            self.sift_down(0);
        }
        if picked.is_empty() {
            return Ok(None);
        }
        self.left -= picked.len();
        let columns = (0..self.schema.fields().len()).map(|column| {
            let arrays: Vec<&dyn Array> = self.blocks.iter().map(|b| b.batch.column(column).as_ref()).collect();
            interleave(&arrays, &picked)
        });
        let columns = columns.collect::<Result<_, _>>()?;
        let options = RecordBatchOptions::new().with_row_count(Some(picked.len()));
        let batch = compact(&RecordBatch::try_new_with_options(self.schema.clone(), columns, &options)?)?;
        let keys = self.delivery.keys.then(|| self.keys_of(&picked));
        self.drop_read_blocks();
        Ok(Some((batch, keys)))
    }

    fn keys_of(&self, rows: &[(usize, usize)]) -> BinaryArray {
        let keys = || rows.iter().map(|(block, row)| self.blocks[*block].key(*row));
        let mut builder = BinaryBuilder::with_capacity(rows.len(), keys().map(<[u8]>::len).sum());
        keys().for_each(|key| builder.append_value(key));
        builder.finish()
    }

    /// Block and row of a cursor that has rows.
    fn position(&self, cursor: usize) -> (usize, usize) {
        match &self.cursors[cursor] {
            Cursor::Buffer { first_block, order, at } => {
                let entry = order[*at];
                (first_block + entry.block as usize, entry.row as usize)
            }
            Cursor::Run { block, row, .. } => (*block, *row),
        }
    }

    fn key(&self, cursor: usize) -> &[u8] {
        let (block, row) = self.position(cursor);
        self.blocks[block].key(row)
    }

    /// Goes to the cursor's next row; whether there is one.
    fn advance(&mut self, cursor: usize) -> Result<bool> {
        match &mut self.cursors[cursor] {
            Cursor::Buffer { order, at, .. } => {
                *at += 1;
                Ok(*at < order.len())
            }
            Cursor::Run { reader, block, row } => {
                *row += 1;
                if *row < self.blocks[*block].rows() {
                    return Ok(true);
                }
                let Some(next) = next_block(reader)? else { return Ok(false) };
                (*block, *row) = (self.blocks.len(), 0);
                self.blocks.push(next);
                Ok(true)
            }
        }
    }

    fn sift_down(&mut self, mut at: usize) {
        loop {
            let children = 2 * at + 1..(2 * at + 3).min(self.heap.len());
            let Some(least) = children.min_by_key(|child| self.key(self.heap[*child])) else { return };
            if self.key(self.heap[at]) <= self.key(self.heap[least]) {
                return;
            }
            self.heap.swap(at, least);
            at = least;
        }
    }

    /// Blocks of runs whose rows have all been delivered.
    fn drop_read_blocks(&mut self) {
        if self.blocks.len() == self.buffer_blocks {
            return;
        }
        let mut of_runs: Vec<Option<Block>> = self.blocks.drain(self.buffer_blocks..).map(Some).collect();
        for cursor in &self.heap {
            if let Cursor::Run { block, .. } = &mut self.cursors[*cursor]
                && let Some(current) = of_runs.get_mut(*block - self.buffer_blocks).and_then(Option::take)
            {
                *block = self.blocks.len();
                self.blocks.push(current);
            }
        }
    }
}

/// The next block that has rows.
fn next_block(reader: &mut RunReader) -> Result<Option<Block>> {
    while let Some(block) = reader.next()? {
        if block.rows() > 0 {
            return Ok(Some(block));
        }
    }
    Ok(None)
}
