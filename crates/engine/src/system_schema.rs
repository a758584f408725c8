//! The names that are taken for `information_schema`, `performance_schema` and `mysql`. What their tables hold is made
//! elsewhere.

pub const NAME: &str = "information_schema";
pub const PERFORMANCE: &str = "performance_schema";
pub const MYSQL: &str = "mysql";

/// The schema that a name stands for; case does not matter.
pub fn of_name(database: &str) -> Option<&'static str> {
    [NAME, PERFORMANCE, MYSQL].into_iter().find(|name| name.eq_ignore_ascii_case(database))
}

/// Returns true if the name is one of these schemas'.
pub fn is_name(database: &str) -> bool {
    of_name(database).is_some()
}
