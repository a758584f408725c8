//! Regular expressions: what the functions find agrees among them, and for patterns of simple parts with the model.

use super::{
    Choices,
    backtracking::{Groups, Pattern},
    call, two_texts,
};
use muster_types::Value;

/// Tries that a search of the model may take; a pattern that takes more is left out.
const STEPS: usize = 20_000;
/// Characters of a text, at most.
const TEXT_CHARACTERS: usize = 10;
/// Parts of a pattern inside each other, at most.
const DEPTH: usize = 4;

/// Looks for a pattern in a text, then for one that the bytes decide on.
pub fn regular_expressions(bytes: &[u8]) {
    any_texts(bytes);
    as_the_model_finds(&mut Choices::new(bytes));
}

/// The functions agree on what is found, on its place, and on whether something is.
fn any_texts(bytes: &[u8]) {
    let (pattern, text) = two_texts(bytes);
    let args = [Value::Text(text), Value::Text(pattern)];
    let is_found = call("REGEXP_LIKE", &[], &args);
    let place = call("REGEXP_INSTR", &[], &args);
    let found = call("REGEXP_SUBSTR", &[], &args);
    // The whole match in its own place.
    let replaced = call("REGEXP_REPLACE", &[], &[args[0].clone(), args[1].clone(), Value::Text("$0".into())]);
    if let (Some(is_found), Some(place), Some(found)) = (is_found, place, found) {
        let is_true = |value: &Value| !matches!(value, Value::Int(0) | Value::Bool(false) | Value::Null);
        assert_eq!(is_true(&is_found), is_true(&place));
        assert_eq!(is_true(&is_found), !found.is_null());
        assert_eq!(replaced.as_ref(), Some(&args[0]), "{args:?}");
    }
}

fn as_the_model_finds(choices: &mut Choices) {
    let mut group_count = 0;
    let pattern = Pattern::chosen(choices, DEPTH, &mut group_count);
    let text: Vec<char> =
        (0..choices.below(TEXT_CHARACTERS + 1)).map(|_| choices.one_of(&['a', 'b', 'A', 'ä', 'c'])).collect();
    let Some(matches) = matches(&pattern, &text) else { return };
    let subject: String = text.iter().collect();
    let args = [Value::Text(subject.clone()), Value::Text(pattern.text())];
    let shown = format!("'{}' in '{subject}'", pattern.text());
    let part = |(start, end): (usize, usize)| text[start..end].iter().collect::<String>();
    let first = matches.first().and_then(|groups| groups[0]);

    assert_eq!(call("REGEXP_LIKE", &[], &args), Some(Value::Bool(first.is_some())), "{shown}");
    let place = first.map_or(0, |(start, _)| start as i64 + 1);
    assert_eq!(call("REGEXP_INSTR", &[], &args), Some(Value::Int(place)), "{shown}");
    let found = first.map_or(Value::Null, |whole| Value::Text(part(whole)));
    assert_eq!(call("REGEXP_SUBSTR", &[], &args), Some(found), "{shown}");

    let group = if group_count > 0 { 1 + choices.below(group_count) } else { 0 };
    let (mut replaced, mut copied) = (String::new(), 0);
    for groups in &matches {
        let (start, end) = groups[0].unwrap_or_default();
        replaced.push_str(&part((copied, start)));
        replaced.push_str(&format!("<{}>", groups[group].map_or(String::new(), part)));
        copied = end;
    }
    replaced.push_str(&part((copied, text.len())));
    let wanted = if subject.is_empty() { String::new() } else { replaced };
    let replacement = Value::Text(format!("<${group}>"));
    let args = [args[0].clone(), args[1].clone(), replacement];
    assert_eq!(call("REGEXP_REPLACE", &[], &args), Some(Value::Text(wanted)), "{shown}, group {group}");
}

/// All matches, one behind the other; behind one that is empty the search goes on with the next character. `None` if
/// that takes too many steps.
fn matches(pattern: &Pattern, text: &[char]) -> Option<Vec<Groups>> {
    let (mut all, mut from, mut steps) = (Vec::new(), 0, STEPS);
    while from <= text.len() {
        let found = pattern.search(text, from, &mut steps);
        if steps == 0 {
            return None;
        }
        let Some(groups) = found else { break };
        let (start, end) = groups[0].unwrap_or_default();
        from = if end > start { end } else { end + 1 };
        all.push(groups);
    }
    Some(all)
}
