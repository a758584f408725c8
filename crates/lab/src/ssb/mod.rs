//! Star Schema Benchmark data, value for value what the classic `dbgen` of 2010 writes in a full run
//! (O'Neil, O'Neil, Chen, "Star Schema Benchmark").
//!
//! ```text
//!   Scale        row counts                        scale.rs
//!   Stream       one random column                 stream.rs
//!   part, party (customer and supplier), date, lineorder: one row type each, `rows(scale, range)` yields any range
//!   Display      the row as a line of the .tbl file
//!   batches      the rows as Arrow                 batches.rs
//! ```
//!
//! Every row can be reached by itself: a stream is skipped to where the row starts, so ranges can be made in parallel
//! and join to exactly the sequential result.

pub mod batches;
pub mod date;
pub mod lineorder;
pub mod part;
pub mod party;
pub mod scale;
pub mod stream;
pub mod vocabulary;

pub use scale::Scale;

/// The five tables, in the order the generator makes them.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Table {
    Part,
    Supplier,
    Customer,
    Date,
    Lineorder,
}

impl Table {
    pub const ALL: [Table; 5] = [Table::Part, Table::Supplier, Table::Customer, Table::Date, Table::Lineorder];

    /// Name in the schema.
    pub fn name(self) -> &'static str {
        match self {
            Table::Part => "part",
            Table::Supplier => "supplier",
            Table::Customer => "customer",
            Table::Date => "dim_date",
            Table::Lineorder => "lineorder",
        }
    }

    /// How many units a range counts: rows, for lineorder orders.
    pub fn units(self, scale: Scale) -> u64 {
        match self {
            Table::Part => scale.parts,
            Table::Supplier => scale.suppliers,
            Table::Customer => scale.customers,
            Table::Date => scale.dates,
            Table::Lineorder => scale.orders,
        }
    }

    /// Appends the lines of the units in `range` to `out`, as in the .tbl file.
    pub fn write_tbl(self, scale: Scale, range: std::ops::Range<u64>, out: &mut String) {
        use std::fmt::Write;
        // Writing to a String cannot fail.
        let _ = match self {
            Table::Part => part::rows(range).try_for_each(|r| writeln!(out, "{r}")),
            Table::Supplier => party::suppliers(scale, range).try_for_each(|r| writeln!(out, "{r}")),
            Table::Customer => party::customers(scale, range).try_for_each(|r| writeln!(out, "{r}")),
            Table::Date => date::rows(range).try_for_each(|r| writeln!(out, "{r}")),
            Table::Lineorder => lineorder::rows(scale, range).try_for_each(|r| writeln!(out, "{r}")),
        };
    }
}
