//! The rows of the table of arguments: a column of each kind that functions take. One value in sixteen is NULL.

use crate::random;
use muster_engine::types::{
    BytesKind, Collation, Decimal, SqlType, Value,
    temporal::{MICROS_PER_SECOND, date_code, datetime_of},
};

/// Rows that are made together.
const PIECE_ROWS: u64 = 4096;
/// One value in so many is NULL.
const NULL_EVERY: u64 = 16;

const ASCII_WORDS: &[&str] = &[
    "Blue",
    "green",
    "RED",
    "yellow",
    "order",
    "Customer",
    "invoice",
    "42",
    "delivery",
    "the",
    "quick",
    "brown",
    "fox",
    "jumps",
    "over",
    "lazy",
    "dog",
    "North",
    "South",
    "99 bottles",
];
const OTHER_WORDS: &[&str] = &[
    "Größe",
    "naïve",
    "Ελλάδα",
    "日本語",
    "straße",
    "Ångström",
    "ñandú",
    "русский",
    "żółć",
    "çelik",
    "Ærø",
    "word",
    "42",
];

/// The types of the columns, in the schema's order.
pub(crate) fn columns() -> Vec<SqlType> {
    let text = |length| SqlType::varchar(length, Collation::DEFAULT);
    vec![
        SqlType::INT,
        SqlType::INT,
        SqlType::INT,
        SqlType::BIGINT,
        SqlType::Decimal { precision: 14, scale: 4 },
        SqlType::Double,
        SqlType::Double,
        text(80),
        text(80),
        SqlType::Bytes { kind: BytesKind::VarBinary, length: 32 },
        SqlType::Date,
        SqlType::DateTime { fsp: 0 },
        SqlType::Time { fsp: 0 },
        text(20),
        text(15),
        text(36),
        text(60),
    ]
}

/// Hands out all rows, piece by piece, until `send` returns false. Equal for equal numbers of rows.
pub(crate) fn pieces(rows: u64, send: &mut dyn FnMut(&[Vec<Value>]) -> bool) {
    let row = |id: u64| Numbers { state: id << 8 }.row(id);
    let starts = (1..=rows).step_by(PIECE_ROWS as usize);
    starts
        .map(|start| (start..(start + PIECE_ROWS).min(rows + 1)).map(row).collect::<Vec<_>>())
        .all(|piece| send(&piece));
}

/// The random numbers of a row.
struct Numbers {
    state: u64,
}

impl Numbers {
    fn next(&mut self) -> u64 {
        self.state += 1;
        random::next(self.state)
    }

    /// A number from `low` to `high`, both included.
    fn number(&mut self, low: i64, high: i64) -> i64 {
        low + (self.next() % (high - low + 1).unsigned_abs()) as i64
    }

    fn words(&mut self, words: &[&str], most: i64) -> String {
        let count = self.number(1, most);
        let chosen: Vec<&str> = (0..count).map(|_| words[(self.next() % words.len() as u64) as usize]).collect();
        chosen.join(" ")
    }

    fn date(&mut self) -> i32 {
        date_code(self.number(1990, 2029) as i32, self.number(1, 12) as u32, self.number(1, 28) as u32)
    }

    fn moment(&mut self) -> i64 {
        datetime_of(self.date(), self.number(0, 24 * 3600 - 1) * MICROS_PER_SECOND)
    }

    fn row(&mut self, id: u64) -> Vec<Value> {
        let moment = Value::DateTime(self.moment()).to_text(0).unwrap_or_default();
        let uuid = format!("{:016x}{:016x}", self.next(), self.next());
        let (high, rest) = uuid.split_at(8);
        let uuid = format!("{high}-{}-{}-{}-{}", &rest[..4], &rest[4..8], &rest[8..12], &rest[12..]);
        let mut row = vec![
            Value::Int(id as i64),
            Value::Int(self.number(0, 9)),
            Value::Int(self.number(-1_000_000, 1_000_000)),
            Value::Int(self.number(-1_000_000_000_000_000, 1_000_000_000_000_000)),
            Value::Decimal(Decimal::new(self.number(-1_000_000_000, 1_000_000_000).into(), 4)),
            // Sums of these are exact in any order.
            Value::Double(self.number(-10_000_000, 10_000_000) as f64 / 1024.0),
            Value::Double(self.number(0, 1 << 20) as f64 / f64::from(1 << 20)),
            Value::Text(self.words(ASCII_WORDS, 6)),
            Value::Text(self.words(OTHER_WORDS, 6)),
            Value::Bytes(format!("{:016x}", self.next())[..self.number(4, 16) as usize].into()),
            Value::Date(self.date()),
            Value::DateTime(self.moment()),
            Value::Time(self.number(-200 * 3600, 200 * 3600) * MICROS_PER_SECOND),
            Value::Text(moment),
            Value::Text(format!("{}.{}.{}.{}", id % 224, id / 256 % 256, self.number(0, 255), self.number(0, 255))),
            Value::Text(uuid),
            Value::Text(self.words(ASCII_WORDS, 5).replace(' ', ",")),
        ];
        for value in row.iter_mut().skip(2) {
            if self.next().is_multiple_of(NULL_EVERY) {
                *value = Value::Null;
            }
        }
        row
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rows_are_the_same_every_time_and_have_nulls() {
        let all = |rows| {
            let mut all = Vec::new();
            pieces(rows, &mut |piece| {
                all.extend(piece.to_vec());
                true
            });
            all
        };
        let rows = all(5000);
        assert_eq!(rows.len(), 5000);
        assert_eq!(rows[..4097], all(4097));
        assert!(rows.iter().all(|row| row.len() == columns().len()));
        for column in 2..columns().len() {
            let nulls = rows.iter().filter(|row| row[column].is_null()).count();
            assert!((200..450).contains(&nulls), "{nulls} of column {column}");
        }
        let texts = rows.iter().filter_map(|row| row[7].to_text(0));
        assert!(texts.into_iter().all(|text| text.is_ascii() && text.len() <= 80));
    }
}
