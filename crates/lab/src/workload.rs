//! A workload: its schema, its data as a stream of batches, its queries.

use crate::{dbt3, ssb};
use arrow_array::RecordBatch;
use std::{
    io::{self, Write},
    sync::mpsc,
};

/// Batches made ahead of the loader.
const BATCHES_AHEAD: usize = 8;
/// Units (rows, orders) of one SSB batch.
const SSB_UNITS: u64 = 4096;

/// A named query.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Query {
    pub name: &'static str,
    pub sql: &'static str,
}

/// A table of a workload at a scale.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct WorkloadTable {
    pub name: &'static str,
    /// For a progress bar; lineitem and lineorder have about this many.
    pub rows: u64,
    source: Source,
}

#[derive(Debug, Clone, Copy, PartialEq)]
enum Source {
    Dbt3(dbt3::Table, f64),
    Ssb(ssb::Table, ssb::Scale),
}

/// The workloads Muster knows.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Workload {
    Dbt3,
    Ssb,
}

impl Workload {
    pub const ALL: [Workload; 2] = [Workload::Dbt3, Workload::Ssb];

    /// Also the name of its database.
    pub fn name(self) -> &'static str {
        match self {
            Workload::Dbt3 => "dbt3",
            Workload::Ssb => "ssb",
        }
    }

    pub fn from_name(name: &str) -> Option<Workload> {
        Workload::ALL.into_iter().find(|w| w.name() == name)
    }

    /// CREATE TABLE statements, with the indexes.
    pub fn schema(self) -> &'static str {
        match self {
            Workload::Dbt3 => include_str!("dbt3/schema.sql"),
            Workload::Ssb => include_str!("ssb/schema.sql"),
        }
    }

    pub fn queries(self) -> &'static [Query] {
        match self {
            Workload::Dbt3 => crate::queries::DBT3,
            Workload::Ssb => crate::queries::SSB,
        }
    }

    /// The tables at a scale factor; `None` if there is no such scale (0 < scale <= 1000). The SSB date table is
    /// complete at every scale.
    pub fn tables(self, scale: f64) -> Option<Vec<WorkloadTable>> {
        if !(scale > 0.0 && scale <= 1000.0) {
            return None;
        }
        match self {
            Workload::Dbt3 => Some(
                (dbt3::Table::ALL.into_iter())
                    .map(|t| WorkloadTable { name: t.name(), rows: t.rows(scale), source: Source::Dbt3(t, scale) })
                    .collect(),
            ),
            Workload::Ssb => {
                let scale = ssb::Scale::new(scale, false)?;
                let rows = |t: ssb::Table| t.units(scale) * if t == ssb::Table::Lineorder { 4 } else { 1 };
                let table =
                    |t: ssb::Table| WorkloadTable { name: t.name(), rows: rows(t), source: Source::Ssb(t, scale) };
                Some(ssb::Table::ALL.into_iter().map(table).collect())
            }
        }
    }
}

impl WorkloadTable {
    /// Returns true if `rows` is the exact count (orders have a random number of lines).
    pub fn rows_are_exact(&self) -> bool {
        !matches!(self.source, Source::Dbt3(dbt3::Table::Lineitem, _) | Source::Ssb(ssb::Table::Lineorder, _))
    }

    /// The rows as batches, columns in the schema's order and types, made on a thread of its own.
    pub fn batches(&self) -> impl Iterator<Item = RecordBatch> + Send + use<> {
        let (sender, receiver) = mpsc::sync_channel(BATCHES_AHEAD);
        let source = self.source;
        std::thread::spawn(move || {
            // The receiver is gone when the load was stopped.
            let mut send = |batch| sender.send(batch).is_ok();
            match source {
                Source::Dbt3(table, scale) => table.batches(scale, &mut send),
                Source::Ssb(table, scale) => {
                    let units = table.units(scale);
                    let mut starts = (0..units).step_by(SSB_UNITS as usize);
                    while starts.next().is_some_and(|s| send(table.batch(scale, s..(s + SSB_UNITS).min(units)))) {}
                }
            }
        });
        receiver.into_iter()
    }

    /// Writes the rows as text: values each followed by `|`, one row a line.
    pub fn write_tbl(&self, out: &mut dyn Write) -> io::Result<()> {
        match self.source {
            Source::Dbt3(table, scale) => table.write_tbl(scale, out),
            Source::Ssb(table, scale) => {
                let units = table.units(scale);
                let mut text = String::new();
                for start in (0..units).step_by(SSB_UNITS as usize) {
                    text.clear();
                    table.write_tbl(scale, start..(start + SSB_UNITS).min(units), &mut text);
                    out.write_all(text.as_bytes())?;
                }
                Ok(())
            }
        }
    }
}
