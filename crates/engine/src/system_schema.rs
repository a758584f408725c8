//! The name that is taken for `information_schema`. What its tables hold is made elsewhere.

pub const NAME: &str = "information_schema";

/// Returns true if the name is the schema's; case does not matter.
pub fn is_name(database: &str) -> bool {
    database.eq_ignore_ascii_case(NAME)
}
