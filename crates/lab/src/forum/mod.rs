//! A forum with uneven data, and queries whose good plans depend on knowing that: values that half of the rows have,
//! columns that say the same, columns that are NULL mostly or always. What an average says is wrong for each of them.
//!
//! ```text
//!   Table       users, categories, posts, comments    tables.rs
//!   QUERIES     one file each in queries/forum
//! ```

mod tables;

pub use tables::Table;

use crate::{
    NoSuchScale, Query,
    data_set::{DataSet, RowSource},
};

macro_rules! queries {
    ($($name:literal)*) => {
        &[$(Query { name: $name, sql: include_str!(concat!("../../queries/forum/", $name, ".sql")) }),*]
    };
}

/// Each is named for what makes it hard.
pub const QUERIES: &[Query] = queries!(
    "frequent-value" "rare-value" "anti-join-of-nullable" "mostly-null" "always-null" "beyond-the-histogram"
    "correlated-columns" "correlated-index" "frequent-prefix" "rare-prefix" "frequent-key-by-name" "rare-key-by-name"
    "count-for-each-row" "few-rows-of-grouped-view" "first-rows-of-join" "last-rows-of-rare-value"
);

/// The tables at a scale (0 < scale <= 100): 1 is 500,000 comments.
pub fn data_set(scale: f64) -> Result<DataSet, NoSuchScale> {
    let tables = Table::ALL.map(|table| (table.name(), table.rows(scale), RowSource::Forum(table, scale)));
    DataSet::at_scale("forum", include_str!("schema.sql"), scale, tables)
}
