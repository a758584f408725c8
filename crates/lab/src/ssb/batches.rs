//! The tables as Arrow batches, column for column of `schema.sql`.

use super::{Scale, Table, date, lineorder, part, party};
use crate::batch::BatchBuilder;
use arrow_array::RecordBatch;
use std::ops::Range;

impl Table {
    /// The units in `range` (see [`Table::units`]) as one batch.
    pub fn batch(self, scale: Scale, range: Range<u64>) -> RecordBatch {
        match self {
            Table::Part => parts(&part::rows(range).collect::<Vec<_>>()),
            Table::Supplier => suppliers(&party::suppliers(scale, range).collect::<Vec<_>>()),
            Table::Customer => customers(&party::customers(scale, range).collect::<Vec<_>>()),
            Table::Date => dates(&date::rows(range).collect::<Vec<_>>()),
            Table::Lineorder => lineorders(&lineorder::rows(scale, range).collect::<Vec<_>>()),
        }
    }
}

fn parts(rows: &[part::Part]) -> RecordBatch {
    BatchBuilder::new(rows)
        .int(|r| r.key as i32)
        .text(|r| r.name())
        .text(|r| r.manufacturer())
        .text(|r| r.category())
        .text(|r| r.brand())
        .text(|r| r.color)
        .text(|r| r.type_name())
        .tinyint(|r| r.size as i8)
        .text(|r| r.container())
        .finish()
}

fn party<R>(batch: BatchBuilder<'_, R>, party: impl Fn(&R) -> &party::Party + Copy) -> BatchBuilder<'_, R> {
    batch
        .int(move |r| party(r).key as i32)
        .text(move |r| party(r).name.clone())
        .text(move |r| party(r).address.clone())
        .text(move |r| party(r).city.clone())
        .text(move |r| party(r).nation)
        .text(move |r| party(r).region)
        .text(move |r| party(r).phone.clone())
}

fn suppliers(rows: &[party::Party]) -> RecordBatch {
    party(BatchBuilder::new(rows), |r| r).finish()
}

fn customers(rows: &[party::Customer]) -> RecordBatch {
    party(BatchBuilder::new(rows), |r| &r.party).text(|r| r.segment).finish()
}

fn dates(rows: &[date::Date]) -> RecordBatch {
    BatchBuilder::new(rows)
        .int(|r| r.key() as i32)
        .text(|r| r.text())
        .text(|r| r.day_of_week())
        .text(|r| r.month_name())
        .smallint(|r| r.year as i16)
        .int(|r| r.year_month_number() as i32)
        .text(|r| r.year_month())
        .tinyint(|r| r.day_in_week() as i8)
        .tinyint(|r| r.day as i8)
        .smallint(|r| r.day_of_year as i16)
        .tinyint(|r| r.month as i8)
        .tinyint(|r| r.week_in_year() as i8)
        .text(|r| r.season())
        .tinyint(|r| r.last_day_in_week() as i8)
        .tinyint(|r| r.last_day_in_month() as i8)
        .tinyint(|r| r.holiday() as i8)
        .tinyint(|r| r.weekday() as i8)
        .finish()
}

fn lineorders(rows: &[lineorder::Lineorder]) -> RecordBatch {
    BatchBuilder::new(rows)
        .bigint(|r| r.order_key)
        .tinyint(|r| r.line_number as i8)
        .int(|r| r.customer_key as i32)
        .int(|r| r.part_key as i32)
        .int(|r| r.supplier_key as i32)
        .int(|r| r.order_date as i32)
        .text(|r| r.priority)
        .text(|_| "0")
        .tinyint(|r| r.quantity as i8)
        .decimal(10, 0, |r| r.extended_price)
        .decimal(10, 0, |r| r.order_total)
        .decimal(10, 0, |r| r.discount)
        .decimal(10, 0, |r| r.revenue)
        .decimal(10, 0, |r| r.supply_cost)
        .tinyint(|r| r.tax as i8)
        .int(|r| r.commit_date as i32)
        .text(|r| r.ship_mode)
        .finish()
}
