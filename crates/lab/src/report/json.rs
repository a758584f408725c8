//! Reports as JSON: a list of experiments, fields as [`super::Report`] has them.

use super::Report;
use serde::{Serializer, ser::SerializeMap};

/// Indented, with a line end.
pub fn json(reports: &[Report]) -> String {
    let text = serde_json::to_string_pretty(reports).expect("reports have text keys and finite numbers");
    text + "\n"
}

/// Pairs as an object, in their order.
pub(super) fn as_map<S: Serializer>(pairs: &[(&'static str, f64)], out: S) -> Result<S::Ok, S::Error> {
    let mut map = out.serialize_map(Some(pairs.len()))?;
    for (name, value) in pairs {
        map.serialize_entry(name, value)?;
    }
    map.end()
}

#[cfg(test)]
mod tests {
    use super::super::fixture;
    use super::*;

    #[test]
    fn all_numbers_are_there() {
        let read: serde_json::Value = serde_json::from_str(&json(&[fixture::report()])).unwrap();
        let strategy = &read[0]["strategies"][1];
        assert_eq!((read[0]["name"].as_str(), strategy["name"].as_str()), (Some("test"), Some("MRR <big>")));
        assert_eq!(strategy["cold"]["device_ms"]["disk"], 1000.0);
        assert_eq!(strategy["cold"]["ms"]["median"], 30.0);
        assert_eq!(strategy["warm"]["counters"]["Handler_read_key"], 7);
        assert_eq!(strategy["cold"]["pages_by_index"]["t.PRIMARY"], 95);
    }
}
