//! The `?` of a prepared statement in its last LIMIT. What it asks for decides what is planned, so a plan is made for
//! each number: it stands in the text, as it does where the statement is a text.

use muster_types::Value;
use std::fmt::Write;

/// Writes a prepared statement with the numbers of its LIMIT into `text`, and returns the values that are left for its
/// other `?`. `None` if it has no such `?`, or a value that is no number of rows.
pub fn with_limits<'v>(prepared: &str, values: &'v [Value], text: &mut String) -> Option<&'v [Value]> {
    let places = limit_places(prepared)?;
    let (others, limits) = values.split_at_checked(values.len().checked_sub(places.len())?)?;
    text.clear();
    let mut behind = 0;
    for (place, limit) in places.iter().zip(limits) {
        text.push_str(&prepared[behind..*place]);
        // Writing to a String cannot fail.
        let _ = match limit {
            Value::Int(rows @ 0..) => write!(text, "{rows}"),
            Value::UInt(rows) => write!(text, "{rows}"),
            _ => return None,
        };
        behind = place + 1;
    }
    text.push_str(&prepared[behind..]);
    Some(others)
}

/// The positions of the last `?` of a text and the one before it, as far as they stand in a LIMIT.
fn limit_places(text: &str) -> Option<Vec<usize>> {
    let last = text.rfind('?')?;
    let before = text[..last].trim_ascii_end();
    if without_word(before, "LIMIT").is_some() {
        return Some(vec![last]);
    }
    let first = without_word(before, "OFFSET").or_else(|| before.strip_suffix(','))?.trim_ascii_end();
    let (places, before) = match first.strip_suffix('?') {
        Some(before) => (vec![before.len(), last], before),
        None => {
            let before = first.trim_end_matches(|c: char| c.is_ascii_digit());
            (vec![last], Some(before).filter(|before| before.len() < first.len())?)
        }
    };
    without_word(before.trim_ascii_end(), "LIMIT").map(|_| places)
}

/// The text before a word that it ends with.
fn without_word<'t>(text: &'t str, word: &str) -> Option<&'t str> {
    let at = text.len().checked_sub(word.len())?;
    let (before, end) = text.split_at_checked(at)?;
    let is_alone = !before.ends_with(|c: char| c.is_alphanumeric() || matches!(c, '_' | '$'));
    (is_alone && end.eq_ignore_ascii_case(word)).then_some(before)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn limited(prepared: &str, values: &[i64]) -> Option<(String, usize)> {
        let values: Vec<Value> = values.iter().copied().map(Value::Int).collect();
        let mut text = String::new();
        with_limits(prepared, &values, &mut text).map(|left| left.len()).map(|left| (text, left))
    }

    #[test]
    fn limits_stand_in_the_text() {
        for (prepared, values, text, left) in [
            ("SELECT a FROM t WHERE b = ? LIMIT ?", &[7, 5][..], "SELECT a FROM t WHERE b = ? LIMIT 5", 1),
            ("SELECT a FROM t limit ?,? FOR UPDATE", &[2, 3], "SELECT a FROM t limit 2,3 FOR UPDATE", 0),
            ("SELECT a FROM t LIMIT ?\nOFFSET ?", &[9, 0], "SELECT a FROM t LIMIT 9\nOFFSET 0", 0),
            ("SELECT a FROM t LIMIT 10 OFFSET ?", &[20], "SELECT a FROM t LIMIT 10 OFFSET 20", 0),
            ("SELECT a FROM t LIMIT ? OFFSET 10", &[20], "SELECT a FROM t LIMIT 20 OFFSET 10", 0),
            ("SELECT a FROM t LIMIT 30 , ?", &[20], "SELECT a FROM t LIMIT 30 , 20", 0),
        ] {
            assert_eq!(limited(prepared, values), Some((text.to_owned(), left)), "{prepared}");
        }
    }

    #[test]
    fn other_parameters_stay() {
        for (prepared, values) in [
            ("SELECT a FROM t WHERE b = ?", &[7][..]),
            ("SELECT a FROM t WHERE b IN (?, ?)", &[7, 8]),
            ("SELECT a FROM t WHERE b IN (5, ?)", &[7]),
            ("SELECT a FROM t WHERE t.xlimit ?", &[7]),
            ("SELECT a FROM t LIMIT ?", &[-1]),
            ("SELECT a FROM t LIMIT ?", &[]),
            ("SELECT a FROM t LIMIT 5", &[]),
        ] {
            assert_eq!(limited(prepared, values), None, "{prepared}");
        }
        let mut text = String::new();
        assert_eq!(with_limits("SELECT a FROM t LIMIT ?", &[Value::Null], &mut text), None);
    }
}
