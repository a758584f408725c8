//! What statements ask the variables for each time, worked out once for a set of values.

use super::{Variables, flags};
use muster_sql::Isolation;
use muster_types::{SqlModes, Value, temporal::DateModes, time_zone::TimeZone};
use std::time::Duration;

/// The meaning of some variables, as long as all values stay the same.
#[derive(Debug, Clone)]
pub struct Settings {
    /// `sql_mode`.
    pub modes: SqlModes,
    pub time_zone: TimeZone,
    /// The time that `timestamp` sets, in microseconds since 1970-01-01 00:00:00 UTC; `None`: the clock's.
    pub timestamp_micros: Option<i64>,
    /// `sql_mode` makes values that do not fit an error.
    pub is_strict: bool,
    /// What `sql_mode` says about dates that the calendar does not have.
    pub date_modes: DateModes,
    /// `sql_mode` has NO_AUTO_VALUE_ON_ZERO.
    pub zero_is_a_value: bool,
    /// `transaction_isolation`.
    pub isolation: Isolation,
    /// `max_allowed_packet`.
    pub packet_bytes_max: usize,
    /// `read_only` or `super_read_only`.
    pub server_is_read_only: bool,
    /// `transaction_read_only`.
    pub transactions_are_read_only: bool,
    /// `completion_type`: COMMIT and ROLLBACK open another transaction, or end the session, unless they say otherwise.
    pub completion_chains: bool,
    pub completion_releases: bool,
    /// `wait_timeout`: how long the client may be silent.
    pub silence_max: Duration,
    /// `auto_increment_increment` and `auto_increment_offset`.
    pub auto_increment: (u64, u64),
    /// The number that the next row gets, if `insert_id` says so.
    pub insert_id: Option<u64>,
    /// `foreign_key_checks`.
    pub checks_foreign_keys: bool,
    /// `optimizer_trace` has `enabled=on`.
    pub traces_optimizer: bool,
}

impl Settings {
    pub fn of(variables: &Variables) -> Settings {
        let modes = SqlModes::from_text(&variables.text("sql_mode")).unwrap_or_default();
        let time_zone = TimeZone::from_name(&variables.text("time_zone")).unwrap_or(TimeZone::System);
        Settings {
            modes,
            time_zone,
            timestamp_micros: match variables.get("timestamp") {
                Value::Double(seconds) if seconds > 0.0 => Some((seconds * 1e6).round() as i64),
                _ => None,
            },
            is_strict: modes.is_strict(),
            date_modes: DateModes::of_sql_mode(&variables.text("sql_mode")).in_zone(time_zone),
            zero_is_a_value: modes.has(SqlModes::NO_AUTO_VALUE_ON_ZERO),
            isolation: match variables.text("transaction_isolation").as_str() {
                "READ-UNCOMMITTED" => Isolation::ReadUncommitted,
                "READ-COMMITTED" => Isolation::ReadCommitted,
                "SERIALIZABLE" => Isolation::Serializable,
                _ => Isolation::RepeatableRead,
            },
            packet_bytes_max: variables.unsigned("max_allowed_packet") as usize,
            server_is_read_only: variables.is_on("read_only") || variables.is_on("super_read_only"),
            transactions_are_read_only: variables.is_on("transaction_read_only"),
            completion_chains: variables.text("completion_type") == "CHAIN",
            completion_releases: variables.text("completion_type") == "RELEASE",
            silence_max: Duration::from_secs(variables.unsigned("wait_timeout")),
            auto_increment: (
                variables.unsigned("auto_increment_increment"),
                variables.unsigned("auto_increment_offset"),
            ),
            insert_id: Some(variables.unsigned("insert_id")).filter(|id| *id > 0),
            checks_foreign_keys: variables.is_on("foreign_key_checks"),
            traces_optimizer: flags::is_on(&variables.text("optimizer_trace"), "enabled"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn settings_follow_the_values() {
        let mut variables = Variables::global(&[]);
        assert!(variables.settings().is_strict && !variables.settings().server_is_read_only);
        assert_eq!(variables.settings().isolation, Isolation::RepeatableRead);
        let before = variables.clone();
        variables.put("sql_mode", Value::Text("NO_AUTO_VALUE_ON_ZERO".into()));
        variables.put("transaction_isolation", Value::Text("READ-COMMITTED".into()));
        variables.put("timestamp", Value::Double(1.5));
        let settings = variables.settings();
        assert!(!settings.is_strict && settings.zero_is_a_value);
        let in_zone = |modes: DateModes| modes.in_zone(settings.time_zone);
        assert_eq!(before.settings().date_modes, in_zone(DateModes::DEFAULT));
        assert_eq!(settings.date_modes, in_zone(DateModes::of_sql_mode("")));
        assert_eq!((settings.isolation, settings.timestamp_micros), (Isolation::ReadCommitted, Some(1_500_000)));
        // The last reader of a set changes it in its place.
        variables.put("read_only", Value::Int(1));
        assert!(variables.settings().server_is_read_only);
        assert!(before.settings().is_strict && before.settings().timestamp_micros.is_none());
    }
}
