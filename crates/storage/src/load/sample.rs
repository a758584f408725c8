//! Statistics of the rows that a table has now, from some of its leaves.
//!
//! ```text
//!   leaves     the first, the last, and as many evenly between them as are wanted; all of a small tree
//!   keys       neighbours in a leaf that differ, as a share of all neighbours, give the distinct keys of the tree
//!   columns    values that only one of the leaves has, and values that several have, give the distinct values
//! ```
//!
//! The estimator for columns is Duj1 (Haas and Stokes, "Estimating the Number of Classes in a Finite Population",
//! 1998). A value counts once for each leaf that has it, since neighbours are alike.

use super::{
    hyper_log_log::{hash_bytes, hash_u64, hash_u128},
    prefix_counts::PrefixCounter,
    row_sampler::RowSampler,
    statistics::{cut_bound, less},
};
use crate::{
    ColumnStats, Counters, IndexStats, Result, Table, TableStatistics,
    key::ByteRange,
    tree::{
        ColumnSource, Tree, TreeLayout,
        page::block::{BlockValues, ColumnBlock, RowBlock},
    },
};
use muster_types::{SqlType, Value, collation::TextTraits, distribution::Distribution};
use std::{
    collections::{BTreeMap, HashMap},
    sync::Arc,
};

/// What was read of a tree.
struct TreeSample {
    rows: u64,
    /// True if all of it was read.
    is_whole: bool,
    /// Distinct values of the first declared parts of the key, of the first two, and so on.
    distinct: Vec<f64>,
}

/// What was read of a column.
#[derive(Default)]
struct ColumnSample {
    /// By hash of a value, the last leaf that has it, and whether others have it too.
    values: HashMap<u64, (u64, bool)>,
    /// Number of values of each leaf, summed up.
    values_of_leaves: u64,
    nulls: u64,
    bounds: Option<(Value, Value)>,
}

/// Reads `leaves_max` leaves of each tree of a table, at most. `known`: what was known before; of texts it says what no
/// sample can. Errors: those of reading pages.
pub fn sample(table: &Table, known: &TableStatistics, leaves_max: usize) -> Result<TableStatistics> {
    let counters = table.counters();
    let rows = table.row_count();
    let mut columns: Vec<ColumnSample> = table.schema().columns.iter().map(|_| ColumnSample::default()).collect();
    let mut trees = Vec::with_capacity(table.trees().len());
    let mut sampler = RowSampler::new();
    for tree in table.trees() {
        trees.push(sample_tree(tree, leaves_max, &mut columns, &mut sampler, counters)?);
    }
    let types: Vec<SqlType> = table.schema().columns.iter().map(|column| column.ty).collect();
    let of_rows = if trees[0].is_whole { trees[0].rows } else { rows };
    let made = known.distribution.as_ref().filter(|known| known.types == types);
    let histograms = made.map_or_else(BTreeMap::new, |known| known.histograms.clone());
    let distribution = Distribution::new(sampler.finish(&types, of_rows), types, histograms);
    let schemas = table.schema().indexes.iter();
    let indexes = table.trees().iter().zip(&trees).zip(schemas).map(|((tree, sample), schema)| {
        let mut distinct: Vec<f64> = sample.distinct.iter().map(|distinct| distinct.min(rows as f64)).collect();
        if let (true, Some(last)) = (schema.unique, distinct.last_mut()) {
            *last = rows as f64;
        }
        let leaf_pages = tree.file().header().leaf_count.max(1);
        Ok(IndexStats { distinct, leaf_pages, height: tree.height(counters)? })
    });
    let indexes: Vec<IndexStats> = indexes.collect::<Result<_>>()?;
    let columns = columns.into_iter().enumerate().map(|(at, column)| {
        let leads =
            |schema: &crate::IndexSchema| schema.parts.first().is_some_and(|p| p.column == at && p.prefix.is_none());
        let leading = table.schema().indexes.iter().position(leads);
        let of_index = leading.and_then(|index| indexes[index].distinct.first().copied());
        column.finish(rows, &trees[0], of_index, known.columns.get(at))
    });
    Ok(TableStatistics { rows, columns: columns.collect(), indexes, distribution: Some(Arc::new(distribution)) })
}

/// The ranges of the leaves that are read; `None`: all.
fn leaf_ranges(tree: &Tree, leaves_max: usize, counters: &Counters) -> Result<Option<Vec<ByteRange>>> {
    if tree.file().header().leaf_count <= leaves_max as u64 {
        return Ok(None);
    }
    let mut ranges: Vec<ByteRange> = Vec::with_capacity(leaves_max);
    for i in 0..leaves_max {
        let range = tree.leaf_range_at(i as f64 / leaves_max.saturating_sub(1).max(1) as f64, counters)?;
        // Leaves move while they are looked for.
        if ranges.last().is_none_or(|last| last.upper.as_ref().is_some_and(|upper| *upper <= range.lower)) {
            ranges.push(range);
        }
    }
    Ok(Some(ranges))
}

fn sample_tree(
    tree: &Tree,
    leaves_max: usize,
    columns: &mut [ColumnSample],
    sampler: &mut RowSampler,
    counters: &Counters,
) -> Result<TreeSample> {
    let layout = tree.layout();
    let ranges = leaf_ranges(tree, leaves_max, counters)?;
    let is_whole = ranges.is_none();
    let all = || vec![ByteRange { lower: Vec::new(), upper: None }];
    let mut keys = KeySample::new(tree);
    let (mut leaves, mut rows) = (0, 0);
    for range in ranges.unwrap_or_else(all) {
        tree.read_blocks(range, counters, |block| {
            leaves += 1;
            rows += block.rows() as u64;
            if layout.index == 0 {
                sampler.pass(block.rows(), |row| row_of(layout, block, row, columns.len()));
            }
            for (stored, values) in layout.columns.iter().zip(&block.columns) {
                if let ColumnSource::Table { column, prefix: None } = stored.source {
                    columns[column].widen_by(values, &stored.ty);
                    if layout.index == 0 {
                        columns[column].count(values, leaves);
                    }
                }
            }
            keys.add(tree, block)
        })?;
    }
    let distinct = if is_whole { keys.seen() } else { keys.estimate(tree.row_count()) };
    Ok(TreeSample { rows, is_whole, distinct })
}

/// The values of a row of the clustered tree, by column; long ones are not read.
fn row_of(layout: &TreeLayout, block: &RowBlock, row: usize, columns: usize) -> Vec<Option<Value>> {
    let mut read = vec![None; columns];
    for (stored, values) in layout.columns.iter().zip(&block.columns) {
        if let ColumnSource::Table { column, .. } = stored.source
            && !values.is_overflow(row)
        {
            read[column] = Some(values.value(row, &stored.ty, None));
        }
    }
    read
}

/// What was read of a tree's keys, in their order.
struct KeySample {
    /// Of all leaves.
    overall: PrefixCounter,
    parts: usize,
    leaves: u64,
    /// Neighbours in leaves, and for each number of leading parts how many of them differ there.
    neighbours: u64,
    changes: Vec<u64>,
    /// The first keys of leaves that differ from the last key of the leaf that was read before.
    jumps: Vec<u64>,
}

impl KeySample {
    fn new(tree: &Tree) -> KeySample {
        let layout = tree.layout();
        let parts = layout.declared_parts;
        let overall = PrefixCounter::new(&layout.key, parts);
        KeySample { overall, parts, leaves: 0, neighbours: 0, changes: vec![0; parts], jumps: vec![0; parts] }
    }

    fn add(&mut self, tree: &Tree, block: &RowBlock) -> Result<()> {
        let layout = tree.layout();
        if self.parts == 0 || block.rows() == 0 {
            return Ok(());
        }
        let (mut key, mut values) = (Vec::new(), Vec::with_capacity(self.parts));
        let mut first = Vec::new();
        let before = self.overall.counts().to_vec();
        for row in 0..block.rows() {
            values.clear();
            let parts = layout.key.parts[..self.parts].iter();
            values
                .extend(parts.map(|part| block.columns[part.column].value(row, &layout.columns[part.column].ty, None)));
            key.clear();
            layout.key.append_values(&values, &mut key)?;
            self.overall.add(&key);
            if row == 0 {
                first = self.overall.counts().to_vec();
            }
        }
        for (part, after) in self.overall.counts().iter().enumerate() {
            self.changes[part] += after - first[part];
            self.jumps[part] += if self.leaves > 0 { first[part] - before[part] } else { 0 };
        }
        self.neighbours += block.rows() as u64 - 1;
        self.leaves += 1;
        Ok(())
    }

    fn seen(&self) -> Vec<f64> {
        self.overall.counts().iter().map(|n| *n as f64).collect()
    }

    /// Distinct keys of a tree of so many rows.
    fn estimate(&self, rows: u64) -> Vec<f64> {
        let estimate = |((seen, changes), jumps): ((f64, &u64), &u64)| {
            // A key that goes on from most leaves to the next one that was read has been met.
            if jumps * 2 < self.leaves || self.neighbours == 0 {
                return seen;
            }
            let share = *changes as f64 / self.neighbours as f64;
            (1.0 + rows.saturating_sub(1) as f64 * share).max(seen)
        };
        self.seen().into_iter().zip(&self.changes).zip(&self.jumps).map(estimate).collect()
    }
}

impl ColumnSample {
    /// Counts the values of a leaf.
    fn count(&mut self, values: &ColumnBlock, leaf: u64) {
        for row in 0..values.len() {
            if values.is_null(row) {
                self.nulls += 1;
                continue;
            }
            // Of a long value its place is looked at: no two are alike then.
            let hash = match &values.values {
                BlockValues::Int(ints) => hash_u64(ints[row] as u64),
                BlockValues::Wide(wide) => hash_u128(wide[row] as u128),
                BlockValues::Wide256(wide) => hash_bytes(&wide[row].to_le_bytes()),
                BlockValues::Bytes { .. } => hash_bytes(values.bytes(row)),
            };
            let (last, is_in_several) = self.values.entry(hash).or_insert((0, false));
            if *last != leaf {
                self.values_of_leaves += 1;
                *is_in_several = *last != 0;
                *last = leaf;
            }
        }
    }

    fn widen_by(&mut self, values: &ColumnBlock, ty: &SqlType) {
        for row in 0..values.len() {
            if !values.is_null(row) && !values.is_overflow(row) {
                self.widen(values.value(row, ty, None));
            }
        }
    }

    fn widen(&mut self, value: Value) {
        match &mut self.bounds {
            None => self.bounds = Some((value.clone(), value)),
            Some((min, _)) if less(&value, min) => *min = value,
            Some((_, max)) if less(max, &value) => *max = value,
            Some(_) => {}
        }
    }

    /// The statistics of the column in a table of so many rows. `of_index`: distinct values, NULL among them, as an
    /// index that the column begins has them.
    fn finish(
        mut self,
        rows: u64,
        clustered: &TreeSample,
        of_index: Option<f64>,
        known: Option<&ColumnStats>,
    ) -> ColumnStats {
        // Of texts without traits everything has to be expected.
        let text = known.map_or(TextTraits::from_bits(u64::MAX), |known| known.text);
        let has_ends = clustered.is_whole || of_index.is_some();
        for bound in known.filter(|_| !has_ends).into_iter().flat_map(|known| [&known.min, &known.max]).flatten() {
            self.widen(bound.clone());
        }
        let (min, max) =
            self.bounds.take().map_or((None, None), |(min, max)| (Some(cut_bound(min)), Some(cut_bound(max))));
        let share = if clustered.is_whole { 1.0 } else { (clustered.rows as f64 / rows.max(1) as f64).min(1.0) };
        let nulls = match clustered.rows {
            0 => 0.0,
            read => self.nulls as f64 / read as f64 * rows as f64,
        };
        let null_count = (nulls.round() as u64).min(rows);
        let distinct = match of_index {
            Some(distinct) => distinct - if self.nulls > 0 { 1.0 } else { 0.0 },
            None => self.distinct(share),
        };
        ColumnStats { distinct: distinct.clamp(0.0, (rows - null_count) as f64), null_count, min, max, text }
    }

    /// Distinct values of all rows, of which this share was read.
    fn distinct(&self, share: f64) -> f64 {
        let seen = self.values.len() as f64;
        let once = self.values.values().filter(|(_, is_in_several)| !is_in_several).count() as f64;
        let read = self.values_of_leaves as f64;
        if share >= 1.0 || read == 0.0 {
            return seen;
        }
        (read * seen / (read - once + once * share)).max(seen)
    }
}

#[cfg(test)]
#[path = "sample_tests.rs"]
mod tests;
