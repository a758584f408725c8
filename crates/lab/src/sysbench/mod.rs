//! The tables of sysbench's OLTP tests (`oltp_common.lua` of sysbench 1.0.20), with rows of the same columns, widths
//! and distribution as its `prepare` inserts, so that its read tests run against a loaded directory.

pub mod special;

use crate::{
    batch::BatchBuilder,
    data_set::{DataSet, DataTable, RowSource},
};
use arrow_array::RecordBatch;
use rand::{Rng, SeedableRng, rngs::SmallRng};
use special::special;
use std::{
    io::{self, Write},
    ops::Range,
};

/// Rows of one batch.
pub(crate) const BATCH_ROWS: u64 = 4096;
/// The database that sysbench uses when it is told no other.
const DATABASE: &str = "sbtest";
/// Groups of eleven digits in `c` (119 characters) and `pad` (59 characters).
const C_GROUPS: usize = 10;
const PAD_GROUPS: usize = 5;
const GROUP_DIGITS: usize = 11;

/// The table `sbtestN` with rows 1 to `rows`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Table {
    /// N, from 1.
    pub number: u32,
    pub rows: u64,
}

struct Row {
    id: i32,
    k: i32,
    c: String,
    pad: String,
}

/// How many tables, or rows of a table, can be made: ids are of type INTEGER.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum NoSuchSize {
    #[error("the number of tables must be from 1 to 10000, not {0}")]
    Tables(u32),
    #[error("the number of rows must be from 0 to 2147483647, not {0}")]
    Rows(u64),
}

/// `tables` tables of `rows` rows each.
pub fn data_set(tables: u32, rows: u64) -> Result<DataSet, NoSuchSize> {
    if !(1..=10_000).contains(&tables) {
        return Err(NoSuchSize::Tables(tables));
    }
    if i32::try_from(rows).is_err() {
        return Err(NoSuchSize::Rows(rows));
    }
    let numbers = 1..=tables;
    let schema: String = numbers.clone().map(|n| include_str!("schema.sql").replace("{N}", &n.to_string())).collect();
    let table = |number| DataTable {
        name: format!("sbtest{number}").into(),
        rows,
        source: RowSource::Sysbench(Table { number, rows }),
    };
    Ok(DataSet { name: DATABASE, schema: schema.into(), tables: numbers.map(table).collect() })
}

impl Table {
    /// The rows of a range of positions, from 0, in the schema's order of columns. Equal for equal tables and ranges.
    pub fn batch(self, positions: Range<u64>) -> RecordBatch {
        let rows = self.made(positions);
        BatchBuilder::new(&rows).int(|r| r.id).int(|r| r.k).text(|r| r.c.as_str()).text(|r| r.pad.as_str()).finish()
    }

    /// Writes the rows of a range of positions as text: values each followed by `|`, one row a line.
    pub fn write_tbl(self, positions: Range<u64>, out: &mut dyn Write) -> io::Result<()> {
        self.made(positions).iter().try_for_each(|r| writeln!(out, "{}|{}|{}|{}|", r.id, r.k, r.c, r.pad))
    }

    fn made(self, positions: Range<u64>) -> Vec<Row> {
        let mut random = SmallRng::seed_from_u64(u64::from(self.number) << 32 | positions.start);
        let row = |position| Row {
            id: position as i32 + 1,
            k: special(&mut random, 1, self.rows as u32) as i32,
            c: digits(&mut random, C_GROUPS),
            pad: digits(&mut random, PAD_GROUPS),
        };
        positions.map(row).collect()
    }
}

/// Groups of random digits with dashes between them.
fn digits(random: &mut impl Rng, groups: usize) -> String {
    let mut text = String::with_capacity(groups * (GROUP_DIGITS + 1));
    for group in 0..groups {
        if group > 0 {
            text.push('-');
        }
        // A hundred thousand millions: a number of eleven digits, leading zeros kept.
        let number: u64 = random.random_range(0..100_000_000_000);
        text.push_str(&format!("{number:0GROUP_DIGITS$}"));
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rows_have_the_widths_of_sysbench() {
        let table = Table { number: 1, rows: 10 };
        for (i, row) in table.made(0..10).iter().enumerate() {
            assert_eq!(row.id, i as i32 + 1);
            assert_eq!((row.c.len(), row.pad.len()), (119, 59));
            assert!(row.c.split('-').chain(row.pad.split('-')).all(|g| g.len() == 11 && g.parse::<u64>().is_ok()));
        }
    }

    #[test]
    fn tables_and_batches_differ_and_repeat() {
        let first = |number, start| Table { number, rows: 10_000 }.made(start..start + 1).remove(0).c;
        assert_ne!(first(1, 0), first(2, 0));
        assert_ne!(first(1, 0), first(1, BATCH_ROWS));
        assert_eq!(first(1, 0), first(1, 0));
    }

    #[test]
    fn sizes_are_bounded() {
        assert_eq!(data_set(0, 1), Err(NoSuchSize::Tables(0)));
        assert_eq!(data_set(1, 1 << 31), Err(NoSuchSize::Rows(1 << 31)));
        assert_eq!(data_set(2, 5).map(|d| d.tables.len()), Ok(2));
    }
}
