//! The six tables: names, columns and rows. Few users, products and orders are in most of what refers to them.

use super::values::{Random, day};
use muster_engine::types::{
    Collation, Decimal, SqlType, Value,
    temporal::{MICROS_PER_SECOND, datetime_of},
};
use std::ops::Range;

/// Rows that are made together.
const PIECE_ROWS: u64 = 4096;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Table {
    Users,
    Products,
    Orders,
    Comments,
    Tickets,
    OrderLines,
}

const TINY: SqlType = SqlType::TINYINT;
const INT: SqlType = SqlType::INT;
const DATETIME: SqlType = SqlType::DateTime { fsp: 0 };
const TEXT: SqlType = SqlType::varchar(400, Collation::DEFAULT);

const fn decimal(precision: u8) -> SqlType {
    SqlType::Decimal { precision, scale: 2 }
}

impl Table {
    /// All tables; the one whose number of rows is random comes last.
    pub const ALL: [Table; 6] =
        [Table::Users, Table::Products, Table::Orders, Table::Comments, Table::Tickets, Table::OrderLines];

    pub fn name(self) -> &'static str {
        match self {
            Table::Users => "users",
            Table::Products => "products",
            Table::Orders => "orders",
            Table::Comments => "comments",
            Table::Tickets => "tickets",
            Table::OrderLines => "order_lines",
        }
    }

    /// Rows at a scale; order lines are random, about this many.
    pub fn rows(self, scale: f64) -> u64 {
        let base = match self {
            Table::Users => 50_000.0,
            Table::Products => 20_000.0,
            Table::Orders => 150_000.0,
            Table::Comments => 100_000.0,
            Table::Tickets => 80_000.0,
            Table::OrderLines => return Table::Orders.rows(scale) * 5 / 2,
        };
        ((base * scale) as u64).max(1)
    }

    /// The types of the columns, in the schema's order. Texts are of any length here.
    pub(crate) fn columns(self) -> Vec<SqlType> {
        match self {
            Table::Users => vec![INT, TEXT, TEXT, DATETIME],
            Table::Products => vec![INT, TEXT, INT, decimal(10), INT],
            Table::Orders => vec![INT, INT, TEXT, DATETIME, decimal(12)],
            Table::OrderLines => vec![INT, INT, INT, INT, decimal(10)],
            Table::Comments => vec![INT, INT, INT, DATETIME, TINY, TEXT],
            Table::Tickets => vec![INT, INT, INT, TINY, TINY, DATETIME, DATETIME, TEXT],
        }
    }

    /// Hands out all rows, piece by piece, until `send` returns false. Equal for equal scales.
    pub(crate) fn pieces(self, scale: f64, send: &mut dyn FnMut(&[Vec<Value>]) -> bool) {
        let units = match self {
            Table::OrderLines => Table::Orders.rows(scale),
            other => other.rows(scale),
        };
        let starts = (0..units).step_by(PIECE_ROWS as usize);
        starts.map(|start| start..(start + PIECE_ROWS).min(units)).all(|piece| send(&self.piece(scale, piece)));
    }

    /// The rows of some units, from 0: orders for order lines, else rows.
    fn piece(self, scale: f64, units: Range<u64>) -> Vec<Vec<Value>> {
        let mut random = Random::new((self as u64 + 1) << 40 | units.start);
        let ids = units.map(|unit| unit as i64 + 1);
        match self {
            Table::OrderLines => ids.flat_map(|order| lines(&mut random, scale, order)).collect(),
            _ => ids.map(|id| self.row(&mut random, scale, id)).collect(),
        }
    }

    fn row(self, random: &mut Random, scale: f64, id: i64) -> Vec<Value> {
        let mut row = vec![Value::Int(id)];
        match self {
            Table::Users => row.extend([text(format!("user{id}@example.org")), text(format!("Name {id}"))]),
            Table::Products => {
                row.push(text(format!("Product {id} {}", random.pick(&["red", "green", "blue", "black"]))));
                row.extend([Value::Int(random.number(1, 200)), money(random, 100, 99_999)]);
                row.push(Value::Int(random.number(0, 500)));
                return row;
            }
            Table::Orders => {
                row.push(Value::Int(random.skewed(Table::Users.rows(scale))));
                let status = if random.number(1, 20) > 3 { "done" } else { random.pick(&["open", "new", "sent"]) };
                row.extend([text(status), moment(random), money(random, 100, 99_999)]);
                return row;
            }
            Table::Comments => {
                row.push(Value::Int(random.skewed(Table::Products.rows(scale))));
                row.push(Value::Int(random.skewed(Table::Users.rows(scale))));
                let words = "Some words ".repeat(random.number(1, 20) as usize);
                row.extend([moment(random), Value::Int(random.number(1, 5)), text(words.trim_end())]);
                return row;
            }
            Table::Tickets => {
                let assignee = random.number(1, 300);
                row.push(Value::Int(random.number(1, 50)));
                row.push(if random.number(1, 5) == 1 { Value::Null } else { Value::Int(assignee) });
                row.extend([Value::Int(random.number(0, 4)), Value::Int(random.number(1, 5)), moment(random)]);
                row.extend([moment(random), text(format!("Title {id}"))]);
                return row;
            }
            Table::OrderLines => return row,
        }
        row.push(moment(random));
        row
    }
}

/// One to four lines.
fn lines(random: &mut Random, scale: f64, order: i64) -> Vec<Vec<Value>> {
    let products = Table::Products.rows(scale);
    let line = |no: i64, random: &mut Random| {
        let product = Value::Int(random.skewed(products));
        vec![Value::Int(order), Value::Int(no), product, Value::Int(random.number(1, 5)), money(random, 100, 9_999)]
    };
    (1..=random.number(1, 4)).map(|no| line(no, random)).collect()
}

fn text(text: impl Into<String>) -> Value {
    Value::Text(text.into())
}

/// A second of the three years.
fn moment(random: &mut Random) -> Value {
    let seconds = random.number(0, 24 * 3600 - 1);
    Value::DateTime(datetime_of(day(random), seconds * MICROS_PER_SECOND))
}

fn money(random: &mut Random, low: i64, high: i64) -> Value {
    Value::Decimal(Decimal::new(random.number(low, high).into(), 2))
}
