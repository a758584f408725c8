//! Unsorted rows in memory, and their order.

use super::block::Block;

/// A row of a buffer.
#[derive(Debug, Clone, Copy)]
pub struct BufferedRow {
    /// Eight bytes of the key behind those that all keys share, big endian, padded with zeros.
    prefix: u64,
    pub block: u32,
    pub row: u32,
}

/// Bytes of the array that is sorted, for each row.
pub const ENTRY_BYTES: usize = size_of::<BufferedRow>();

/// See the module.
#[derive(Default)]
pub struct Buffer {
    pub blocks: Vec<Block>,
    rows: usize,
}

impl Buffer {
    pub fn push(&mut self, block: Block) {
        self.rows += block.rows();
        self.blocks.push(block);
    }

    pub fn rows(&self) -> usize {
        self.rows
    }

    /// The rows in the order of their keys; with a limit, so many of the first.
    pub fn order(&self, limit: Option<usize>) -> Vec<BufferedRow> {
        let keys = self.keys_in_common();
        let mut entries = Vec::with_capacity(self.rows);
        for (number, block) in self.blocks.iter().enumerate() {
            for row in 0..block.rows() {
                let prefix = prefix_of(&block.key(row)[keys.shared_bytes..]);
                entries.push(BufferedRow { prefix, block: number as u32, row: row as u32 });
            }
        }
        let key = |e: &BufferedRow| &self.blocks[e.block as usize].key(e.row as usize)[keys.shared_bytes..];
        let compare = |a: &BufferedRow, b: &BufferedRow| {
            let by_prefix = a.prefix.cmp(&b.prefix);
            if keys.prefix_decides { by_prefix } else { by_prefix.then_with(|| key(a).cmp(key(b))) }
        };
        if let Some(last) = limit.and_then(|n| n.checked_sub(1))
            && last + 1 < entries.len()
        {
            entries.select_nth_unstable_by(last, compare);
            entries.truncate(last + 1);
        }
        entries.sort_unstable_by(compare);
        entries
    }

    fn keys_in_common(&self) -> KeysInCommon {
        let mut keys = self.blocks.iter().flat_map(|b| (0..b.rows()).map(|row| b.key(row)));
        let Some(first) = keys.next() else { return KeysInCommon { shared_bytes: 0, prefix_decides: true } };
        let mut shared_bytes = first.len();
        let mut one_length = true;
        for key in keys {
            one_length &= key.len() == first.len();
            if key.get(..shared_bytes) != Some(&first[..shared_bytes]) {
                shared_bytes = first.iter().zip(key).take_while(|(a, b)| a == b).count();
            }
        }
        KeysInCommon { shared_bytes, prefix_decides: one_length && first.len() <= shared_bytes + size_of::<u64>() }
    }
}

/// The bytes that all keys of a buffer begin with.
struct KeysInCommon {
    /// Number of leading bytes that all keys have in common.
    shared_bytes: usize,
    /// The eight bytes behind them are all that differs.
    prefix_decides: bool,
}

fn prefix_of(key: &[u8]) -> u64 {
    match key.first_chunk::<8>() {
        Some(bytes) => u64::from_be_bytes(*bytes),
        None => {
            let mut bytes = [0; 8];
            bytes[..key.len()].copy_from_slice(key);
            u64::from_be_bytes(bytes)
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use arrow_array::{BinaryArray, RecordBatch, RecordBatchOptions};
    use arrow_schema::Schema;
    use proptest::prelude::*;
    use std::sync::Arc;

    fn buffer(blocks: &[Vec<Vec<u8>>]) -> Buffer {
        let mut buffer = Buffer::default();
        for keys in blocks {
            let options = RecordBatchOptions::new().with_row_count(Some(keys.len()));
            let batch = RecordBatch::try_new_with_options(Arc::new(Schema::empty()), Vec::new(), &options).unwrap();
            buffer.push(Block::new(batch, BinaryArray::from_iter_values(keys)));
        }
        buffer
    }

    proptest! {
        #[test]
        fn rows_come_in_the_order_of_their_keys(
            shared in prop::collection::vec(any::<u8>(), 0..12),
            blocks in prop::collection::vec(prop::collection::vec(prop::collection::vec(0u8..3, 0..12), 0..20), 0..5),
            fixed_length in any::<bool>(),
            limit in prop::option::of(1usize..40),
        ) {
            let mut blocks = blocks;
            for key in blocks.iter_mut().flatten() {
                if fixed_length {
                    key.resize(8, 1);
                }
                key.splice(0..0, shared.iter().copied());
            }
            let mut want: Vec<&[u8]> = blocks.iter().flatten().map(|k| &k[..]).collect();
            want.sort();
            want.truncate(limit.unwrap_or(usize::MAX));
            let buffer = buffer(&blocks);
            let order = buffer.order(limit);
            let got: Vec<&[u8]> = order.iter().map(|e| buffer.blocks[e.block as usize].key(e.row as usize)).collect();
            prop_assert_eq!(got, want);
        }
    }
}
