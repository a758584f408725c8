//! Random numbers of the tables, and the values that are put into statements.

use super::Table;
use muster_engine::types::{Value, temporal::date_code};
use rand::{Rng, SeedableRng, rngs::SmallRng};

/// A source of random numbers.
pub struct Random {
    random: SmallRng,
}

impl Random {
    /// Equal seeds give equal numbers.
    pub fn new(seed: u64) -> Random {
        Random { random: SmallRng::seed_from_u64(crate::random::next(seed)) }
    }

    /// A number from `low` to `high`, both included.
    pub fn number(&mut self, low: i64, high: i64) -> i64 {
        self.random.random_range(low..=high)
    }

    /// A number from 1 to `most`, of which the low ones come most often: half of all are in the first eighth.
    pub fn skewed(&mut self, most: u64) -> i64 {
        let unit: f64 = self.random.random();
        ((most as f64 * unit.powi(3)) as i64 + 1).min(most as i64)
    }

    pub fn pick<'a>(&mut self, list: &[&'a str]) -> &'a str {
        list[self.random.random_range(0..list.len())]
    }
}

/// The code of a day of 2022, 2023 or 2024.
pub fn day(random: &mut Random) -> i32 {
    date_code(random.number(2022, 2024) as i32, random.number(1, 12) as u32, random.number(1, 28) as u32)
}

/// The statement with a value for each name in braces: `{user}`, `{product}`, `{order}`, `{category}`, `{project}`,
/// `{assignee}`, `{day}` and `{week}` (the bounds of a BETWEEN), `{number}` (three digits), `{ids}` (500 products).
pub fn with_values(sql: &str, scale: f64, random: &mut Random) -> String {
    let mut text = String::with_capacity(sql.len() + 16);
    let mut rest = sql;
    while let Some((before, behind)) = rest.split_once('{') {
        let (name, behind) = behind.split_once('}').unwrap_or((behind, ""));
        text.push_str(before);
        text.push_str(&value(name, scale, random));
        rest = behind;
    }
    text + rest
}

fn value(name: &str, scale: f64, random: &mut Random) -> String {
    let id = |table: Table, random: &mut Random| random.number(1, table.rows(scale) as i64).to_string();
    match name {
        "user" => id(Table::Users, random),
        // Among those that have comments and were bought.
        "product" => random.skewed(Table::Products.rows(scale)).to_string(),
        "order" => id(Table::Orders, random),
        "category" => random.number(1, 200).to_string(),
        "project" => random.number(1, 50).to_string(),
        "assignee" => random.number(1, 300).to_string(),
        "day" => {
            let day = Value::Date(day(random)).to_text(0).unwrap_or_default();
            format!("'{day} 00:00:00' AND '{day} 23:59:59'")
        }
        "week" => {
            let (month, day) = (random.number(1, 12), random.number(1, 21));
            format!("'2023-{month:02}-{day:02}' AND '2023-{month:02}-{:02}'", day + 7)
        }
        "number" => random.number(100, 999).to_string(),
        "ids" => (0..500).map(|_| id(Table::Products, random)).collect::<Vec<_>>().join(","),
        other => unreachable!("no value {other}"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::pages::PAGES;

    #[test]
    fn all_statements_have_their_values() {
        let mut random = Random::new(1);
        for page in PAGES {
            let text = with_values(page.sql, 1.0, &mut random);
            assert!(!text.contains(['{', '}']), "{text}");
        }
        assert_eq!(with_values("a", 1.0, &mut random), "a");
        let day = with_values("{day}", 1.0, &mut random);
        assert!(day.starts_with("'202") && day.ends_with(" 23:59:59'"), "{day}");
    }

    #[test]
    fn low_numbers_come_most_often() {
        let mut random = Random::new(2);
        let low = (0..10_000).filter(|_| random.skewed(1000) <= 125).count();
        assert!((4700..5300).contains(&low), "{low}");
        assert!((0..10_000).all(|_| (1..=3).contains(&random.skewed(3))));
    }
}
