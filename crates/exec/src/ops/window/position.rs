//! Functions of a row's place in its partition.

use super::blocks::Block;
use arrow_array::{ArrayRef, Float64Array, UInt64Array};
use std::{ops::Range, sync::Arc};

/// Each row's number in its partition, from 1.
pub fn row_numbers(block: &Block) -> ArrayRef {
    of_rows(block.partitions.iter().flat_map(|partition| 1..=partition.len() as u64))
}

/// One more than the number of rows before the row's peers.
pub fn ranks(block: &Block) -> ArrayRef {
    of_rows(of_peers(block, |peers, partition, _| (peers.start - partition.start) as u64 + 1))
}

/// The number of the row's group of peers, from 1.
pub fn dense_ranks(block: &Block) -> ArrayRef {
    of_rows(of_peers(block, |_, _, group| group))
}

/// The share of the other rows that come before the row's peers.
pub fn percent_ranks(block: &Block) -> ArrayRef {
    let share = |peers: &Range<usize>, partition: &Range<usize>, _| match partition.len() - 1 {
        0 => 0.0,
        others => (peers.start - partition.start) as f64 / others as f64,
    };
    Arc::new(Float64Array::from_iter_values(of_peers(block, share)))
}

/// The share of the rows that come no later than the row's peers.
pub fn cumulative_distributions(block: &Block) -> ArrayRef {
    let share = |peers: &Range<usize>, partition: &Range<usize>, _| {
        (peers.end - partition.start) as f64 / partition.len() as f64
    };
    Arc::new(Float64Array::from_iter_values(of_peers(block, share)))
}

/// The numbers of so many buckets, the first of which have one row more where they cannot all be as large.
pub fn buckets(block: &Block, count: u64) -> ArrayRef {
    let of_partition = |partition: &Range<usize>| {
        let rows = partition.len() as u64;
        let (size, larger) = (rows / count, rows % count);
        let in_larger = larger * (size + 1);
        (0..rows).map(move |row| match row < in_larger {
            true => row / (size + 1) + 1,
            false => larger + (row - in_larger) / size.max(1) + 1,
        })
    };
    of_rows(block.partitions.iter().flat_map(of_partition))
}

/// For each row the one so many rows before or after it in the partition.
pub fn shifted(block: &Block, offset: u64, forward: bool) -> impl Iterator<Item = Option<usize>> {
    let offset = usize::try_from(offset).unwrap_or(usize::MAX);
    block.partitions.iter().flat_map(move |partition| {
        let partition = partition.clone();
        partition.clone().map(move |row| {
            let at = if forward { row.checked_add(offset) } else { row.checked_sub(offset) };
            at.filter(|at| partition.contains(at))
        })
    })
}

fn of_rows(values: impl Iterator<Item = u64>) -> ArrayRef {
    Arc::new(UInt64Array::from_iter_values(values))
}

/// A value for each row: of its peers, its partition, and the number of the peers in it, from 1.
fn of_peers<T: Copy>(block: &Block, value: impl Fn(&Range<usize>, &Range<usize>, u64) -> T) -> impl Iterator<Item = T> {
    let mut partitions = block.partitions.iter();
    let (mut partition, mut group) = (partitions.next().cloned().unwrap_or_default(), 0);
    block.peers.iter().flat_map(move |peers| {
        if peers.start >= partition.end {
            partition = partitions.next().cloned().unwrap_or(peers.clone());
            group = 0;
        }
        group += 1;
        std::iter::repeat_n(value(peers, &partition, group), peers.len())
    })
}
