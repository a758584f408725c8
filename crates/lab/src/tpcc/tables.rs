//! The nine tables: names, columns, and the pieces in which their rows are made.

use super::{Scale, scale::DISTRICTS};
use crate::batch::{batch_of_values, write_values};
use arrow_array::RecordBatch;
use muster_engine::types::{Collation, SqlType};
use std::io;

/// Rows of one batch at most.
const BATCH_ROWS: usize = 8192;
/// Pieces in which the items are made, and the stock of one warehouse.
pub const ITEM_PIECES: u32 = 10;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Table {
    Item,
    Warehouse,
    District,
    Customer,
    History,
    Stock,
    Orders,
    NewOrders,
    OrderLine,
}

const SMALL: SqlType = SqlType::Int { width: muster_engine::types::IntWidth::Small, unsigned: false };
const TINY: SqlType = SqlType::TINYINT;
const INT: SqlType = SqlType::INT;
const DATETIME: SqlType = SqlType::DateTime { fsp: 0 };
const TEXT: SqlType = SqlType::varchar(500, Collation::DEFAULT);

const fn decimal(precision: u8, scale: u8) -> SqlType {
    SqlType::Decimal { precision, scale }
}

impl Table {
    /// All tables, those referred to first.
    pub const ALL: [Table; 9] = [
        Table::Item,
        Table::Warehouse,
        Table::District,
        Table::Customer,
        Table::History,
        Table::Stock,
        Table::Orders,
        Table::NewOrders,
        Table::OrderLine,
    ];

    pub fn name(self) -> &'static str {
        match self {
            Table::Item => "item",
            Table::Warehouse => "warehouse",
            Table::District => "district",
            Table::Customer => "customer",
            Table::History => "history",
            Table::Stock => "stock",
            Table::Orders => "orders",
            Table::NewOrders => "new_orders",
            Table::OrderLine => "order_line",
        }
    }

    /// The types of the columns, in the schema's order. Texts are of any length here.
    fn columns(self) -> Vec<SqlType> {
        let address = [TEXT; 6];
        match self {
            Table::Item => vec![INT, INT, TEXT, decimal(5, 2), TEXT],
            Table::Warehouse => [&[SMALL], &address[..], &[decimal(4, 4), decimal(12, 2)]].concat(),
            Table::District => [&[TINY, SMALL], &address[..], &[decimal(4, 4), decimal(12, 2), INT]].concat(),
            Table::Customer => [
                &[INT, TINY, SMALL, TEXT, TEXT, TEXT, TEXT, TEXT, TEXT, TEXT, TEXT, TEXT, DATETIME, TEXT][..],
                &[decimal(12, 2), decimal(4, 4), decimal(12, 2), decimal(12, 2), SMALL, SMALL, TEXT],
            ]
            .concat(),
            Table::History => vec![INT, TINY, SMALL, TINY, SMALL, DATETIME, decimal(6, 2), TEXT],
            Table::Stock => [&[INT, SMALL, SMALL], &[TEXT; 10][..], &[decimal(8, 0), SMALL, SMALL, TEXT]].concat(),
            Table::Orders => vec![INT, TINY, SMALL, INT, DATETIME, TINY, TINY, TINY],
            Table::NewOrders => vec![INT, TINY, SMALL],
            Table::OrderLine => vec![INT, TINY, SMALL, TINY, INT, SMALL, DATETIME, TINY, decimal(6, 2), TEXT],
        }
    }

    /// Rows of the initial population; those of order_line are random, about this many.
    pub fn rows(self, scale: Scale) -> u64 {
        let (warehouses, items) = (u64::from(scale.warehouses), u64::from(scale.items));
        let districts = warehouses * u64::from(DISTRICTS);
        match self {
            Table::Item => items,
            Table::Warehouse => warehouses,
            Table::District => districts,
            Table::Customer | Table::History | Table::Orders => districts * u64::from(scale.customers),
            Table::Stock => warehouses * items,
            Table::NewOrders => districts * u64::from(scale.customers - scale.delivered()),
            Table::OrderLine => districts * u64::from(scale.customers) * 10,
        }
    }

    /// Pieces whose rows are made together, numbered from 0 in the order of the primary key.
    pub(super) fn pieces(self, scale: Scale) -> u32 {
        match self {
            Table::Item => ITEM_PIECES,
            Table::Warehouse | Table::District => scale.warehouses,
            Table::Stock => scale.warehouses * ITEM_PIECES,
            _ => scale.warehouses * DISTRICTS,
        }
    }

    /// Hands out all rows as batches until `send` returns false.
    pub(crate) fn batches(self, scale: Scale, send: &mut dyn FnMut(RecordBatch) -> bool) {
        let columns = self.columns();
        for piece in 0..self.pieces(scale) {
            let rows = self.piece(scale, piece);
            for rows in rows.chunks(BATCH_ROWS) {
                if !send(batch_of_values(&columns, rows)) {
                    return;
                }
            }
        }
    }

    /// Writes all rows as text: values each followed by `|`, one row a line, NULL as `\N`.
    pub(crate) fn write_tbl(self, scale: Scale, out: &mut dyn io::Write) -> io::Result<()> {
        for piece in 0..self.pieces(scale) {
            write_values(&self.piece(scale, piece), out)?;
        }
        Ok(())
    }
}
