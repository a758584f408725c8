//! System variables in the text of a statement (`@@sql_mode`). Their values are a part of the statement's key in the
//! cache: a plan has them as literals, as the general path has.

use muster_sql::VariableScope;
use muster_types::Value;

/// Variables that are others from statement to statement, or in each session: a plan for each value would push out
/// all others.
const OF_THE_MOMENT: [&str; 7] =
    ["error_count", "identity", "insert_id", "last_insert_id", "pseudo_thread_id", "timestamp", "warning_count"];

/// A variable that a text asks for.
#[derive(Debug, Clone, PartialEq)]
pub struct TextVariable {
    pub scope: Option<VariableScope>,
    /// In lower case.
    pub name: String,
    pub value: Value,
}

/// The variables that a text asks for, with their values, which `value` gives. `None` if one is unknown or of the
/// moment.
pub fn variables_of(
    text: &str,
    value: impl Fn(Option<VariableScope>, &str) -> Option<Value>,
) -> Option<Vec<TextVariable>> {
    let mut all: Vec<TextVariable> = Vec::new();
    for (_, behind) in text.match_indices("@@").map(|(at, mark)| text.split_at(at + mark.len())) {
        let end = behind.bytes().position(|b| !is_of_name(b)).unwrap_or(behind.len());
        let written = behind[..end].to_ascii_lowercase();
        let (scope, name) = match written.split_once('.') {
            Some(("global", name)) => (Some(VariableScope::Global), name),
            Some(("session" | "local", name)) => (Some(VariableScope::Session), name),
            _ => (None, written.as_str()),
        };
        if OF_THE_MOMENT.contains(&name) {
            return None;
        }
        if !all.iter().any(|known| known.scope == scope && known.name == name) {
            all.push(TextVariable { scope, name: name.to_owned(), value: value(scope, name)? });
        }
    }
    Some(all)
}

/// Returns true for bytes of a variable's name with its scope.
pub(super) fn is_of_name(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || matches!(byte, b'_' | b'$' | b'.')
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn variables_are_found_with_their_scopes() {
        let value = |_: Option<VariableScope>, name: &str| (name != "nothing").then(|| Value::Text(name.to_owned()));
        let found = |text: &str| {
            let all = variables_of(text, value)?;
            Some(all.into_iter().map(|v| (v.scope, v.name)).collect::<Vec<_>>())
        };
        let (session, global) = (Some(VariableScope::Session), Some(VariableScope::Global));
        assert_eq!(found("SELECT 1"), Some(vec![]));
        assert_eq!(
            found("SELECT @@a, @@SESSION.B,@@local.c+@@global.d e, @@a, @@x.y"),
            Some(vec![
                (None, "a".to_owned()),
                (session, "b".to_owned()),
                (session, "c".to_owned()),
                (global, "d".to_owned()),
                (None, "x.y".to_owned()),
            ])
        );
        assert_eq!(found("SELECT @@nothing"), None);
        assert_eq!(found("SELECT @@a, @@Warning_Count"), None);
        assert_eq!(found("SELECT @@session.last_insert_id"), None);
    }
}
