//! A database that is made by a generator: its schema, and its tables' rows as streams of batches.

use crate::{
    NoSuchScale, Workload,
    batch::{batch_of_values, write_values},
    dbt3, forum, functions, pages, ssb, sysbench, tpcc,
};
use arrow_array::RecordBatch;
use muster_engine::types::{SqlType, Value};
use std::{
    borrow::Cow,
    io::{self, Write},
    ops::Range,
    sync::mpsc,
};

/// Batches made ahead of the loader.
const BATCHES_AHEAD: usize = 8;
/// Units (rows, orders) of one SSB batch.
const SSB_UNITS: u64 = 4096;

/// A database and the tables that a generator fills.
#[derive(Debug, Clone, PartialEq)]
pub struct DataSet {
    /// The name of the database.
    pub name: &'static str,
    /// CREATE TABLE statements, with the indexes.
    pub schema: Cow<'static, str>,
    /// The tables, those referred to first.
    pub tables: Vec<DataTable>,
}

/// A table whose rows a generator makes.
#[derive(Debug, Clone, PartialEq)]
pub struct DataTable {
    pub name: Cow<'static, str>,
    /// For a progress bar; lineitem and lineorder have about this many.
    pub rows: u64,
    pub(crate) source: RowSource,
}

/// What makes the rows of a table.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) enum RowSource {
    Dbt3(dbt3::Table, f64),
    Dbt3Skewed(dbt3::Table, f64, dbt3::Skew),
    Ssb(ssb::Table, ssb::Scale),
    Sysbench(sysbench::Table),
    Tpcc(tpcc::Table, tpcc::Scale),
    Pages(pages::Table, f64),
    Forum(forum::Table, f64),
    /// The arguments of functions, in so many rows.
    Operands(u64),
}

impl DataSet {
    /// Tables of a generator at a scale (0 < scale <= 100): for each its name, about how many rows it has, and what
    /// makes them.
    pub(crate) fn at_scale(
        name: &'static str,
        schema: &'static str,
        scale: f64,
        tables: impl IntoIterator<Item = (&'static str, u64, RowSource)>,
    ) -> Result<DataSet, NoSuchScale> {
        if !(scale > 0.0 && scale <= 100.0) {
            return Err(NoSuchScale(scale));
        }
        let table =
            |(name, rows, source): (&'static str, u64, RowSource)| DataTable { name: name.into(), rows, source };
        Ok(DataSet { name, schema: schema.into(), tables: tables.into_iter().map(table).collect() })
    }

    /// DBT-3 with uneven part keys and dates that depend on each other, in a database of its own.
    pub fn dbt3_skewed(scale: f64, skew: dbt3::Skew) -> Result<DataSet, NoSuchScale> {
        let mut data = Workload::Dbt3.data_set(scale)?;
        data.name = "dbt3_skewed";
        for table in &mut data.tables {
            if let RowSource::Dbt3(generator, scale) = table.source {
                table.source = RowSource::Dbt3Skewed(generator, scale, skew);
            }
        }
        Ok(data)
    }
}

impl DataTable {
    /// Returns true if `rows` is the exact count (orders have a random number of lines).
    pub fn rows_are_exact(&self) -> bool {
        !matches!(
            self.source,
            RowSource::Dbt3(dbt3::Table::Lineitem, _)
                | RowSource::Dbt3Skewed(dbt3::Table::Lineitem, ..)
                | RowSource::Ssb(ssb::Table::Lineorder, _)
                | RowSource::Tpcc(tpcc::Table::OrderLine, _)
                | RowSource::Pages(pages::Table::OrderLines, _)
        )
    }

    /// The rows as batches, columns in the schema's order and types, made on a thread of its own.
    pub fn batches(&self) -> impl Iterator<Item = RecordBatch> + Send + use<> {
        let (sender, receiver) = mpsc::sync_channel(BATCHES_AHEAD);
        let source = self.source;
        std::thread::spawn(move || {
            // The receiver is gone when the load was stopped.
            let mut send = |batch| sender.send(batch).is_ok();
            match source {
                RowSource::Dbt3(table, scale) => table.batches(scale, &mut send),
                RowSource::Dbt3Skewed(table, scale, skew) => skew.batches(table, scale, &mut send),
                RowSource::Ssb(table, scale) => {
                    pieces(table.units(scale), SSB_UNITS).all(|units| send(table.batch(scale, units)));
                }
                RowSource::Sysbench(table) => {
                    pieces(table.rows, sysbench::BATCH_ROWS).all(|rows| send(table.batch(rows)));
                }
                RowSource::Tpcc(table, scale) => table.batches(scale, &mut send),
                RowSource::Pages(table, scale) => {
                    send_pieces(&table.columns(), &mut send, &|rows| table.pieces(scale, rows));
                }
                RowSource::Forum(table, scale) => {
                    send_pieces(&table.columns(), &mut send, &|rows| table.pieces(scale, rows));
                }
                RowSource::Operands(count) => {
                    send_pieces(&functions::columns(), &mut send, &|rows| functions::pieces(count, rows));
                }
            }
        });
        receiver.into_iter()
    }

    /// Writes the rows as text: values each followed by `|`, one row a line.
    pub fn write_tbl(&self, out: &mut dyn Write) -> io::Result<()> {
        match self.source {
            RowSource::Dbt3(table, scale) => table.write_tbl(scale, out),
            RowSource::Dbt3Skewed(table, scale, skew) => skew.write_tbl(table, scale, out),
            RowSource::Ssb(table, scale) => {
                let mut text = String::new();
                for units in pieces(table.units(scale), SSB_UNITS) {
                    text.clear();
                    table.write_tbl(scale, units, &mut text);
                    out.write_all(text.as_bytes())?;
                }
                Ok(())
            }
            RowSource::Sysbench(table) => {
                pieces(table.rows, sysbench::BATCH_ROWS).try_for_each(|rows| table.write_tbl(rows, out))
            }
            RowSource::Tpcc(table, scale) => table.write_tbl(scale, out),
            RowSource::Pages(table, scale) => write_pieces(out, &|send| table.pieces(scale, send)),
            RowSource::Forum(table, scale) => write_pieces(out, &|send| table.pieces(scale, send)),
            RowSource::Operands(count) => write_pieces(out, &|send| functions::pieces(count, send)),
        }
    }
}

/// Takes rows; false ends the rows.
type SendRows<'a> = &'a mut dyn FnMut(&[Vec<Value>]) -> bool;

/// Hands out rows that come piece by piece as batches.
fn send_pieces(columns: &[SqlType], send: &mut dyn FnMut(RecordBatch) -> bool, pieces: &dyn Fn(SendRows)) {
    pieces(&mut |rows| send(batch_of_values(columns, rows)));
}

/// Writes rows that come piece by piece.
fn write_pieces(out: &mut dyn Write, pieces: &dyn Fn(SendRows)) -> io::Result<()> {
    let mut written = Ok(());
    pieces(&mut |rows| {
        written = write_values(rows, out);
        written.is_ok()
    });
    written
}

/// The numbers below `end` in ranges of `size`, the last one shorter.
fn pieces(end: u64, size: u64) -> impl Iterator<Item = Range<u64>> {
    (0..end).step_by(size as usize).map(move |start| start..(start + size).min(end))
}
