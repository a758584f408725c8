//! The tables: names, columns and rows.

use crate::pages::Random;
use muster_engine::types::{Collation, SqlType, Value, temporal::date_code};
use std::ops::Range;

/// Rows that are made together.
const PIECE_ROWS: u64 = 4096;
/// Statuses of users: half of all are `active`, the others have one of these.
const STATUSES: i64 = 999;
const CATEGORIES: u64 = 1000;
/// The category that a third of all posts have.
const FREQUENT_CATEGORY: i64 = 7;
/// Sites that posts link to: most of all to the first.
const SITES: i64 = 400;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Table {
    Users,
    Categories,
    Posts,
    Comments,
}

const TINY: SqlType = SqlType::TINYINT;
const INT: SqlType = SqlType::INT;
const TEXT: SqlType = SqlType::varchar(80, Collation::DEFAULT);

impl Table {
    pub const ALL: [Table; 4] = [Table::Users, Table::Categories, Table::Posts, Table::Comments];

    pub fn name(self) -> &'static str {
        match self {
            Table::Users => "users",
            Table::Categories => "categories",
            Table::Posts => "posts",
            Table::Comments => "comments",
        }
    }

    /// Rows at a scale.
    pub fn rows(self, scale: f64) -> u64 {
        let rows_of = |base: f64| ((base * scale) as u64).max(1);
        match self {
            Table::Users => rows_of(50_000.0),
            Table::Categories => CATEGORIES,
            Table::Posts => rows_of(100_000.0),
            Table::Comments => rows_of(500_000.0),
        }
    }

    /// The types of the columns, in the schema's order.
    pub(crate) fn columns(self) -> Vec<SqlType> {
        match self {
            Table::Users => vec![INT, TEXT, TEXT, INT, INT, INT, INT, INT, INT],
            Table::Categories => vec![INT, TEXT],
            Table::Posts => vec![INT, INT, INT, SqlType::Date, TEXT],
            Table::Comments => vec![INT, INT, INT, TINY],
        }
    }

    /// Hands out all rows, piece by piece, until `send` returns false. Equal for equal scales.
    pub(crate) fn pieces(self, scale: f64, send: &mut dyn FnMut(&[Vec<Value>]) -> bool) {
        let rows = self.rows(scale);
        let starts = (0..rows).step_by(PIECE_ROWS as usize);
        starts.map(|start| start..(start + PIECE_ROWS).min(rows)).all(|piece| send(&self.piece(scale, piece)));
    }

    fn piece(self, scale: f64, units: Range<u64>) -> Vec<Vec<Value>> {
        let mut random = Random::new((self as u64 + 101) << 40 | units.start);
        units.map(|unit| self.row(&mut random, scale, unit as i64 + 1)).collect()
    }

    fn row(self, random: &mut Random, scale: f64, id: i64) -> Vec<Value> {
        let mut row = vec![Value::Int(id)];
        let one_in = |random: &mut Random, n: i64| random.number(1, n) == 1;
        match self {
            Table::Users => {
                let is_active = one_in(random, 2);
                let status = if is_active { "active".into() } else { format!("s{}", random.number(1, STATUSES)) };
                row.extend([text(format!("user{id}")), text(status)]);
                // A postcode belongs to one city, a region to one country.
                let (postcode, region) = (random.number(0, 4999), random.number(0, 1999));
                row.extend([postcode / 10, postcode, region / 20, region].map(Value::Int));
                row.push(if one_in(random, 20) { Value::Int(random.number(1, 5)) } else { Value::Null });
                row.push(Value::Null);
            }
            Table::Categories if id == FREQUENT_CATEGORY => row.push(text("Everything")),
            Table::Categories => row.push(text(format!("Category {id}"))),
            Table::Posts => {
                row.push(Value::Int(random.number(1, Table::Users.rows(scale) as i64)));
                row.push(match random.number(1, 6) {
                    1 | 2 => Value::Int(FREQUENT_CATEGORY),
                    3 => Value::Null,
                    _ => Value::Int(random.number(1, CATEGORIES as i64)),
                });
                row.push(Value::Date(date_code(2024, random.number(1, 12) as u32, random.number(1, 28) as u32)));
                let site = if one_in(random, 3) { random.number(1, SITES) } else { 0 };
                row.push(text(format!("https://site{site}.example/{id}")));
            }
            Table::Comments => {
                row.push(Value::Int(random.skewed(Table::Posts.rows(scale))));
                row.push(Value::Int(random.skewed(Table::Users.rows(scale))));
                row.push(Value::Int(random.number(1, 5)));
            }
        }
        row
    }
}

fn text(text: impl Into<String>) -> Value {
    Value::Text(text.into())
}
