//! The wording of errors that several places raise.

use super::{ErrorCode, SqlError};
use std::fmt;

impl SqlError {
    /// 1235: the construct is known to MySQL and Muster does not have it.
    pub fn unsupported(construct: impl fmt::Display) -> SqlError {
        SqlError::new(ErrorCode::NotSupported, format!("This version of Muster doesn't yet support '{construct}'"))
    }

    /// 1064 near this text.
    pub fn syntax(near: impl fmt::Display, line: u64) -> SqlError {
        SqlError::new(
            ErrorCode::Parse,
            format!(
                "You have an error in your SQL syntax; check the manual that corresponds to your MySQL server version \
                 for the right syntax to use near '{near}' at line {line}"
            ),
        )
    }

    /// 1054: `clause` is MySQL's name of the place, such as "field list" or "where clause".
    pub fn unknown_column(column: impl fmt::Display, clause: &str) -> SqlError {
        SqlError::new(ErrorCode::BadField, format!("Unknown column '{column}' in '{clause}'"))
    }

    pub fn no_such_table(database: &str, table: &str) -> SqlError {
        SqlError::new(ErrorCode::NoSuchTable, format!("Table '{database}.{table}' doesn't exist"))
    }

    /// 3126: an optimizer hint that contradicts or repeats another, as a warning shows it.
    pub fn conflicting_hint(hint: &str) -> SqlError {
        let message = format!("Hint {hint} is ignored as conflicting/duplicated");
        SqlError::new(ErrorCode::ConflictingHint, message)
    }

    /// 3854: bytes that become a text of a character set and are none. Shows the first six of them.
    pub fn cannot_convert_bytes(bytes: &[u8], charset: &str) -> SqlError {
        let mut shown = String::new();
        for byte in bytes.iter().take(6) {
            match byte {
                0x20..0x7F => shown.push(*byte as char),
                _ => shown.push_str(&format!("\\x{byte:02X}")),
            }
        }
        if bytes.len() > 6 {
            shown.push_str("...");
        }
        let message = format!("Cannot convert string '{shown}' from binary to {charset}");
        SqlError::new(ErrorCode::CannotConvertString, message)
    }

    /// 1105: what should not have happened.
    pub fn internal(what: impl fmt::Display) -> SqlError {
        SqlError::new(ErrorCode::Unknown, format!("internal error: {what}"))
    }

    /// 3024: took longer than `max_execution_time`.
    pub fn timed_out() -> SqlError {
        let message = "Query execution was interrupted, maximum statement execution time exceeded";
        SqlError::new(ErrorCode::QueryTimeout, message)
    }

    /// 1317: killed by the client or by KILL.
    pub fn interrupted() -> SqlError {
        SqlError::new(ErrorCode::QueryInterrupted, "Query execution was interrupted")
    }

    /// 1205: a lock that others held for too long.
    pub fn lock_wait_timeout() -> SqlError {
        SqlError::new(ErrorCode::LockWaitTimeout, "Lock wait timeout exceeded; try restarting transaction")
    }

    /// 1213: a circle of those who wait for each other's locks.
    pub fn deadlock() -> SqlError {
        let message = "Deadlock found when trying to get lock; try restarting transaction";
        SqlError::new(ErrorCode::LockDeadlock, message)
    }

    /// 1792: a change within a transaction that only reads.
    pub fn read_only_transaction() -> SqlError {
        let message = "Cannot execute statement in a READ ONLY transaction.";
        SqlError::new(ErrorCode::ReadOnlyTransaction, message)
    }

    /// 1046: a name without a database, and no current one.
    pub fn no_database_selected() -> SqlError {
        SqlError::new(ErrorCode::NoDb, "No database selected")
    }

    /// 1049
    pub fn unknown_database(database: &str) -> SqlError {
        SqlError::new(ErrorCode::BadDb, format!("Unknown database '{database}'"))
    }

    /// 1050
    pub fn table_exists(table: &str) -> SqlError {
        SqlError::new(ErrorCode::TableExists, format!("Table '{table}' already exists"))
    }

    /// 1137: a statement refers twice to a temporary table; `alias`: the name of the first reference.
    pub fn cannot_reopen(alias: &str) -> SqlError {
        SqlError::new(ErrorCode::CantReopenTable, format!("Can't reopen table: '{alias}'"))
    }

    /// 1051: tables that DROP does not find, each as the message names it.
    pub fn unknown_tables(tables: &[String]) -> SqlError {
        SqlError::new(ErrorCode::BadTable, format!("Unknown table '{}'", tables.join(",")))
    }

    /// 1060
    pub fn duplicate_column(column: &str) -> SqlError {
        SqlError::new(ErrorCode::DupFieldName, format!("Duplicate column name '{column}'"))
    }

    /// 1065
    pub fn empty_query() -> SqlError {
        SqlError::new(ErrorCode::EmptyQuery, "Query was empty")
    }

    /// 1066
    pub fn table_not_unique(alias: &str) -> SqlError {
        SqlError::new(ErrorCode::NonUniqTable, format!("Not unique table/alias: '{alias}'"))
    }

    /// 1074: `max`: the greatest length that the column's type has.
    pub fn column_too_long(column: &str, max: u64) -> SqlError {
        let message = format!("Column length too big for column '{column}' (max = {max}); use BLOB or TEXT instead");
        SqlError::new(ErrorCode::TooBigFieldLength, message)
    }

    /// 1115
    pub fn unknown_character_set(name: &str) -> SqlError {
        SqlError::new(ErrorCode::UnknownCharacterSet, format!("Unknown character set: '{name}'"))
    }

    /// 1136: `row` is counted from 1.
    pub fn wrong_value_count(row: impl fmt::Display) -> SqlError {
        let message = format!("Column count doesn't match value count at row {row}");
        SqlError::new(ErrorCode::WrongValueCountOnRow, message)
    }

    /// 1141
    pub fn no_such_grant(user: &str, host: &str) -> SqlError {
        let message = format!("There is no such grant defined for user '{user}' on host '{host}'");
        SqlError::new(ErrorCode::NonExistingGrant, message)
    }

    /// 1356
    pub fn view_invalid(database: &str, view: &str) -> SqlError {
        let message = format!(
            "View '{database}.{view}' references invalid table(s) or column(s) or function(s) or definer/invoker of view \
             lack rights to use them"
        );
        SqlError::new(ErrorCode::ViewInvalid, message)
    }

    /// 1193
    pub fn unknown_system_variable(name: &str) -> SqlError {
        SqlError::new(ErrorCode::UnknownSystemVariable, format!("Unknown system variable '{name}'"))
    }

    /// 1210: `of` is the statement, the clause or the function.
    pub fn wrong_arguments(of: &str) -> SqlError {
        SqlError::new(ErrorCode::WrongArguments, format!("Incorrect arguments to {of}"))
    }

    /// 1222
    pub fn different_column_counts() -> SqlError {
        let message = "The used SELECT statements have a different number of columns";
        SqlError::new(ErrorCode::WrongNumberOfColumnsInSelect, message)
    }

    /// 1253: `charset` as the statement names it.
    pub fn collation_of_other_charset(collation: &str, charset: &str) -> SqlError {
        let message = format!("COLLATION '{collation}' is not valid for CHARACTER SET '{charset}'");
        SqlError::new(ErrorCode::CollationCharsetMismatch, message)
    }

    /// 1273
    pub fn unknown_collation(name: &str) -> SqlError {
        SqlError::new(ErrorCode::UnknownCollation, format!("Unknown collation: '{name}'"))
    }

    /// 1425: digits behind the point.
    pub fn scale_too_big(scale: impl fmt::Display, column: &str, max: impl fmt::Display) -> SqlError {
        let message = format!("Too big scale {scale} specified for column '{column}'. Maximum is {max}.");
        SqlError::new(ErrorCode::TooBigScale, message)
    }

    /// 1426: digits of a number, or of a fraction of a second.
    pub fn precision_too_big(precision: impl fmt::Display, of: &str, max: impl fmt::Display) -> SqlError {
        let message = format!("Too-big precision {precision} specified for '{of}'. Maximum is {max}.");
        SqlError::new(ErrorCode::TooBigPrecision, message)
    }

    /// 1427
    pub fn scale_above_precision(column: &str) -> SqlError {
        let message = format!("For float(M,D), double(M,D) or decimal(M,D), M must be >= D (column '{column}').");
        SqlError::new(ErrorCode::MBiggerThanD, message)
    }

    /// 1524
    pub fn plugin_not_loaded(plugin: &str) -> SqlError {
        SqlError::new(ErrorCode::PluginIsNotLoaded, format!("Plugin '{plugin}' is not loaded"))
    }
}
