//! User attributes: the JSON object of `ATTRIBUTE` and `COMMENT`.

use muster_types::{ErrorCode, Result, SqlError};
use serde_json::{Map, Value};

/// The member that COMMENT sets.
const COMMENT: &str = "comment";

fn invalid() -> SqlError {
    SqlError::new(ErrorCode::InvalidUserAttribute, "The user attribute must be a valid JSON object")
}

fn object(text: &str) -> Result<Map<String, Value>> {
    match serde_json::from_str(text) {
        Ok(Value::Object(members)) => Ok(members),
        _ => Err(invalid()),
    }
}

/// The attribute with another one merged into it (RFC 7396). Error 3982 for a text that is no JSON object.
pub fn merged(old: &str, patch: &str) -> Result<String> {
    let mut members = if old.is_empty() { Map::new() } else { object(old)? };
    merge(&mut members, object(patch)?);
    Ok(text(&Value::Object(members)))
}

/// The attribute with a comment.
pub fn with_comment(old: &str, comment: &str) -> Result<String> {
    let patch = Value::Object(Map::from_iter([(COMMENT.to_owned(), Value::String(comment.to_owned()))]));
    merged(old, &patch.to_string())
}

fn merge(members: &mut Map<String, Value>, patch: Map<String, Value>) {
    for (name, value) in patch {
        match (value, members.get_mut(&name)) {
            (Value::Null, _) => {
                members.remove(&name);
            }
            (Value::Object(patch), Some(Value::Object(known))) => merge(known, patch),
            (Value::Object(patch), _) => {
                let mut made = Map::new();
                merge(&mut made, patch);
                members.insert(name, Value::Object(made));
            }
            (value, _) => {
                members.insert(name, value);
            }
        }
    }
}

/// JSON as MySQL prints it: members by the length of their names, then by their bytes, and a space behind each comma
/// and colon.
pub fn text(value: &Value) -> String {
    match value {
        Value::Object(members) => {
            let mut sorted: Vec<_> = members.iter().collect();
            sorted.sort_by_key(|(name, _)| (name.len(), name.as_bytes()));
            let member = |(name, value): &(&String, &Value)| format!("{}: {}", Value::from(name.as_str()), text(value));
            format!("{{{}}}", sorted.iter().map(member).collect::<Vec<_>>().join(", "))
        }
        Value::Array(items) => format!("[{}]", items.iter().map(text).collect::<Vec<_>>().join(", ")),
        other => other.to_string(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn attributes_are_merged() {
        let commented = with_comment("", "hello").unwrap();
        assert_eq!(commented, r#"{"comment": "hello"}"#);
        let whole = merged(&commented, r#"{"a": 1, "b": {"c": 2, "d": null}}"#).unwrap();
        assert_eq!(whole, r#"{"a": 1, "b": {"c": 2}, "comment": "hello"}"#);
        assert_eq!(merged(&whole, r#"{"b": null}"#).unwrap(), r#"{"a": 1, "comment": "hello"}"#);
        assert_eq!(merged("", "[1]").unwrap_err().code, ErrorCode::InvalidUserAttribute);
    }
}
