//! DBT-3 (TPC-H) data, from the `tpchgen` crate, which writes what the TPC's own `dbgen` does; skewed by wish
//! (`skew.rs`).

mod skew;

pub use skew::{NoSuchSkew, Skew};

use crate::batch::BatchBuilder;
use arrow_array::RecordBatch;
use std::io::{self, Write};
use tpchgen::generators::*;

/// Rows of one batch.
const BATCH_ROWS: usize = 8192;

/// The eight tables, those referred to first.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Table {
    Region,
    Nation,
    Part,
    Supplier,
    Partsupp,
    Customer,
    Orders,
    Lineitem,
}

impl Table {
    pub const ALL: [Table; 8] = [
        Table::Region,
        Table::Nation,
        Table::Part,
        Table::Supplier,
        Table::Partsupp,
        Table::Customer,
        Table::Orders,
        Table::Lineitem,
    ];

    pub fn name(self) -> &'static str {
        match self {
            Table::Region => "region",
            Table::Nation => "nation",
            Table::Part => "part",
            Table::Supplier => "supplier",
            Table::Partsupp => "partsupp",
            Table::Customer => "customer",
            Table::Orders => "orders",
            Table::Lineitem => "lineitem",
        }
    }

    /// Rows at a scale factor; for lineitem about.
    pub fn rows(self, scale: f64) -> u64 {
        let rows = |base: f64| (base * scale) as u64;
        match self {
            Table::Region => 5,
            Table::Nation => 25,
            Table::Part => rows(200_000.0),
            Table::Supplier => rows(10_000.0),
            Table::Partsupp => rows(800_000.0),
            Table::Customer => rows(150_000.0),
            Table::Orders => rows(1_500_000.0),
            Table::Lineitem => rows(6_001_215.0),
        }
    }

    /// Calls `take` with the rows in key order, a batch at a time, until it answers false.
    pub fn batches(self, scale: f64, take: &mut dyn FnMut(RecordBatch) -> bool) {
        match self {
            Table::Region => chunks(RegionGenerator::new(scale, 1, 1).iter(), regions, take),
            Table::Nation => chunks(NationGenerator::new(scale, 1, 1).iter(), nations, take),
            Table::Part => chunks(PartGenerator::new(scale, 1, 1).iter(), parts, take),
            Table::Supplier => chunks(SupplierGenerator::new(scale, 1, 1).iter(), suppliers, take),
            Table::Partsupp => chunks(PartSuppGenerator::new(scale, 1, 1).iter(), partsupps, take),
            Table::Customer => chunks(CustomerGenerator::new(scale, 1, 1).iter(), customers, take),
            Table::Orders => chunks(OrderGenerator::new(scale, 1, 1).iter(), orders, take),
            Table::Lineitem => chunks(LineItemGenerator::new(scale, 1, 1).iter(), lineitems, take),
        }
    }

    /// Writes the table as `dbgen`'s .tbl file.
    pub fn write_tbl(self, scale: f64, out: &mut dyn Write) -> io::Result<()> {
        match self {
            Table::Region => RegionGenerator::new(scale, 1, 1).iter().try_for_each(|r| writeln!(out, "{r}")),
            Table::Nation => NationGenerator::new(scale, 1, 1).iter().try_for_each(|r| writeln!(out, "{r}")),
            Table::Part => PartGenerator::new(scale, 1, 1).iter().try_for_each(|r| writeln!(out, "{r}")),
            Table::Supplier => SupplierGenerator::new(scale, 1, 1).iter().try_for_each(|r| writeln!(out, "{r}")),
            Table::Partsupp => PartSuppGenerator::new(scale, 1, 1).iter().try_for_each(|r| writeln!(out, "{r}")),
            Table::Customer => CustomerGenerator::new(scale, 1, 1).iter().try_for_each(|r| writeln!(out, "{r}")),
            Table::Orders => OrderGenerator::new(scale, 1, 1).iter().try_for_each(|r| writeln!(out, "{r}")),
            Table::Lineitem => LineItemGenerator::new(scale, 1, 1).iter().try_for_each(|r| writeln!(out, "{r}")),
        }
    }
}

fn chunks<R>(
    mut rows: impl Iterator<Item = R>,
    batch: impl Fn(&[R]) -> RecordBatch,
    take: &mut dyn FnMut(RecordBatch) -> bool,
) {
    let mut chunk = Vec::with_capacity(BATCH_ROWS);
    loop {
        chunk.extend(rows.by_ref().take(BATCH_ROWS));
        if chunk.is_empty() || !take(batch(&chunk)) {
            return;
        }
        chunk.clear();
    }
}

fn regions(rows: &[Region]) -> RecordBatch {
    BatchBuilder::new(rows).int(|r| r.r_regionkey as i32).text(|r| r.r_name).text(|r| r.r_comment).finish()
}

fn nations(rows: &[Nation]) -> RecordBatch {
    BatchBuilder::new(rows)
        .int(|r| r.n_nationkey as i32)
        .text(|r| r.n_name)
        .int(|r| r.n_regionkey as i32)
        .text(|r| r.n_comment)
        .finish()
}

fn parts(rows: &[Part]) -> RecordBatch {
    BatchBuilder::new(rows)
        .int(|r| r.p_partkey as i32)
        .text(|r| r.p_name.to_string())
        .text(|r| r.p_mfgr.to_string())
        .text(|r| r.p_brand.to_string())
        .text(|r| r.p_type)
        .int(|r| r.p_size)
        .text(|r| r.p_container)
        .decimal(15, 2, |r| r.p_retailprice.into_inner())
        .text(|r| r.p_comment)
        .finish()
}

fn suppliers(rows: &[Supplier]) -> RecordBatch {
    BatchBuilder::new(rows)
        .int(|r| r.s_suppkey as i32)
        .text(|r| r.s_name.to_string())
        .text(|r| r.s_address.to_string())
        .int(|r| r.s_nationkey as i32)
        .text(|r| r.s_phone.to_string())
        .decimal(15, 2, |r| r.s_acctbal.into_inner())
        .text(|r| r.s_comment.clone())
        .finish()
}

fn partsupps(rows: &[PartSupp]) -> RecordBatch {
    BatchBuilder::new(rows)
        .int(|r| r.ps_partkey as i32)
        .int(|r| r.ps_suppkey as i32)
        .int(|r| r.ps_availqty)
        .decimal(15, 2, |r| r.ps_supplycost.into_inner())
        .text(|r| r.ps_comment)
        .finish()
}

fn customers(rows: &[Customer]) -> RecordBatch {
    BatchBuilder::new(rows)
        .int(|r| r.c_custkey as i32)
        .text(|r| r.c_name.to_string())
        .text(|r| r.c_address.to_string())
        .int(|r| r.c_nationkey as i32)
        .text(|r| r.c_phone.to_string())
        .decimal(15, 2, |r| r.c_acctbal.into_inner())
        .text(|r| r.c_mktsegment)
        .text(|r| r.c_comment)
        .finish()
}

fn orders(rows: &[Order]) -> RecordBatch {
    BatchBuilder::new(rows)
        .int(|r| r.o_orderkey as i32)
        .int(|r| r.o_custkey as i32)
        .text(|r| r.o_orderstatus.as_str())
        .decimal(15, 2, |r| r.o_totalprice.into_inner())
        .date(|r| r.o_orderdate.to_unix_epoch())
        .text(|r| r.o_orderpriority)
        .text(|r| r.o_clerk.to_string())
        .int(|r| r.o_shippriority)
        .text(|r| r.o_comment)
        .finish()
}

fn lineitems(rows: &[LineItem]) -> RecordBatch {
    BatchBuilder::new(rows)
        .int(|r| r.l_orderkey as i32)
        .int(|r| r.l_partkey as i32)
        .int(|r| r.l_suppkey as i32)
        .int(|r| r.l_linenumber)
        .decimal(15, 2, |r| r.l_quantity * 100)
        .decimal(15, 2, |r| r.l_extendedprice.into_inner())
        .decimal(15, 2, |r| r.l_discount.into_inner())
        .decimal(15, 2, |r| r.l_tax.into_inner())
        .text(|r| r.l_returnflag)
        .text(|r| r.l_linestatus)
        .date(|r| r.l_shipdate.to_unix_epoch())
        .date(|r| r.l_commitdate.to_unix_epoch())
        .date(|r| r.l_receiptdate.to_unix_epoch())
        .text(|r| r.l_shipinstruct)
        .text(|r| r.l_shipmode)
        .text(|r| r.l_comment)
        .finish()
}
