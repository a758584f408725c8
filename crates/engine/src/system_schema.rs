//! The names that are taken for `information_schema`, `performance_schema` and `mysql`. What their tables hold is made
//! elsewhere.

pub const NAME: &str = "information_schema";
pub const PERFORMANCE: &str = "performance_schema";
pub const MYSQL: &str = "mysql";

/// The schema that a name stands for. Case does not matter, except for `mysql`, whose name is that of a directory in
/// MySQL.
pub fn of_name(database: &str) -> Option<&'static str> {
    let without_case = [NAME, PERFORMANCE].into_iter().find(|name| name.eq_ignore_ascii_case(database));
    without_case.or((database == MYSQL).then_some(MYSQL))
}

/// Returns true for the schemas that every account may read. For `mysql` an account needs rights, as for databases.
pub fn is_for_all(database: &str) -> bool {
    of_name(database).is_some_and(|name| name != MYSQL)
}

/// Returns true if the name is one of these schemas'.
pub fn is_name(database: &str) -> bool {
    of_name(database).is_some()
}
