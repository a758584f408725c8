//! The name that is taken for `information_schema`, and the numbers of its tables. What they hold is made elsewhere.

use muster_algebra::TableId;

pub const NAME: &str = "information_schema";

/// Tables of the schema are numbered from here on, where no stored table gets to.
pub const FIRST_TABLE: TableId = TableId(1 << 62);

/// Returns true if the name is the schema's; case does not matter.
pub fn is_name(database: &str) -> bool {
    database.eq_ignore_ascii_case(NAME)
}

/// Returns true if the number is that of a table of the schema.
pub fn is_table(id: TableId) -> bool {
    id >= FIRST_TABLE
}
