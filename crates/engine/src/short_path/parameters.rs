//! The literals of a statement as its parameters, so that statements which differ in literals only share a plan.

use muster_types::Value;

/// Longer statements are not looked at.
const TEXT_BYTES_MAX: usize = 1024;
/// Statements with more values are not looked at.
const VALUES_MAX: usize = 32;
/// An integer of so many digits is a BIGINT, whatever digits they are.
const INTEGER_DIGITS_MAX: usize = 18;

/// What may stand before a literal that is taken for a parameter.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Before {
    /// `=`, `<`, `>`, BETWEEN, AND; in an INSERT also what stands before each value.
    Comparison,
    Other,
}

/// The kind of a statement, as its first word says.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Verb {
    Select,
    Insert,
    Update,
    Delete,
}

impl Verb {
    fn of(sql: &str) -> Option<Verb> {
        let verbs =
            [("SELECT", Verb::Select), ("INSERT", Verb::Insert), ("UPDATE", Verb::Update), ("DELETE", Verb::Delete)];
        let word = sql.get(..6)?;
        verbs.into_iter().find(|(name, _)| word.eq_ignore_ascii_case(name)).map(|(_, verb)| verb)
    }

    /// Returns true for words behind which there are literals that are parameters.
    fn has_values_behind(self, word: &str) -> bool {
        let words: &[&str] = match self {
            Verb::Select | Verb::Delete => &["WHERE"],
            Verb::Update => &["SET", "WHERE"],
            Verb::Insert => &["VALUES", "VALUE", "SET"],
        };
        words.iter().any(|name| word.eq_ignore_ascii_case(name))
    }
}

/// Returns true if a statement of this text and so many values may have a plan. So the memory of all plans has a bound.
pub fn is_small(text: &str, values: usize) -> bool {
    text.len() <= TEXT_BYTES_MAX && values <= VALUES_MAX
}

/// Writes the statement into `text` with a `?` for each integer and each string that something behind WHERE is compared
/// with, or that UPDATE and INSERT put into a column, and their values into `values`. Literals elsewhere may be names,
/// positions or limits, and stay. Returns false for what is none of these statements or cannot be told apart at a
/// glance: comments, quotes inside of strings, user variables, several statements.
pub fn parameterize(sql: &str, text: &mut String, values: &mut Vec<Value>) -> bool {
    text.clear();
    values.clear();
    let sql = sql.trim_ascii();
    let bytes = sql.as_bytes();
    let Some(verb) = Verb::of(sql).filter(|_| sql.len() <= TEXT_BYTES_MAX) else { return false };
    let (mut at, mut before, mut has_values) = (0, Before::Other, false);
    while let Some(&byte) = bytes.get(at) {
        let end = match byte {
            b' ' | b'\t' | b'\n' | b'\r' => at + 1,
            b'\'' => {
                let Some(end) = end_of_string(bytes, at) else { return false };
                if has_values && before == Before::Comparison {
                    values.push(Value::Text(sql[at + 1..end - 1].to_owned()));
                    text.push('?');
                    (at, before) = (end, Before::Other);
                    continue;
                }
                before = Before::Other;
                end
            }
            b'0'..=b'9' => {
                let end = end_of_word(bytes, at);
                let digits = &sql[at..end];
                let whole = digits.len() <= INTEGER_DIGITS_MAX && bytes.get(end) != Some(&b'.');
                if has_values
                    && before == Before::Comparison
                    && whole
                    && let Ok(integer) = digits.parse()
                {
                    values.push(Value::Int(integer));
                    text.push('?');
                    (at, before) = (end, Before::Other);
                    continue;
                }
                before = Before::Other;
                end
            }
            b'`' => {
                let Some(length) = bytes[at + 1..].iter().position(|b| *b == b'`') else { return false };
                before = Before::Other;
                at + length + 2
            }
            b'=' | b'<' | b'>' => {
                before = Before::Comparison;
                at + 1
            }
            b'(' | b',' if verb == Verb::Insert => {
                before = Before::Comparison;
                at + 1
            }
            b'?' | b'@' | b'#' | b';' | b'"' | b'\\' => return false,
            b'-' if bytes.get(at + 1) == Some(&b'-') => return false,
            b'/' if bytes.get(at + 1) == Some(&b'*') => return false,
            _ if is_of_word(byte) => {
                let end = end_of_word(bytes, at);
                let word = &sql[at..end];
                has_values |= verb.has_values_behind(word);
                let compares = word.eq_ignore_ascii_case("BETWEEN") || word.eq_ignore_ascii_case("AND");
                before = if compares { Before::Comparison } else { Before::Other };
                end
            }
            _ => {
                before = Before::Other;
                at + 1
            }
        };
        text.push_str(&sql[at..end]);
        at = end;
    }
    is_small(text, values.len())
}

fn is_of_word(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || matches!(byte, b'_' | b'$') || byte >= 0x80
}

fn end_of_word(bytes: &[u8], at: usize) -> usize {
    bytes[at..].iter().position(|b| !is_of_word(*b)).map_or(bytes.len(), |length| at + length)
}

/// The position behind the string that begins at `at`; `None` if there are quotes or backslashes in it.
fn end_of_string(bytes: &[u8], at: usize) -> Option<usize> {
    let length = bytes[at + 1..].iter().position(|b| matches!(b, b'\'' | b'\\'))?;
    let end = at + length + 2;
    (bytes[end - 1] == b'\'' && bytes.get(end) != Some(&b'\'')).then_some(end)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn literals_that_something_is_compared_with_are_parameters() {
        let parameters = |sql: &str| {
            let (mut text, mut values) = (String::new(), Vec::new());
            parameterize(sql, &mut text, &mut values).then_some((text, values))
        };
        let some = |text: &str, values: Vec<Value>| Some((text.to_owned(), values));
        let text = |s: &str| Value::Text(s.to_owned());
        assert_eq!(
            parameters("select 1, 'x' from t where id=5 and `a'b` = 'it' and c between 1 and 20 order by 2 limit 3 "),
            some(
                "select 1, 'x' from t where id=? and `a'b` = ? and c between ? and ? order by 2 limit 3",
                vec![Value::Int(5), text("it"), Value::Int(1), Value::Int(20)]
            )
        );
        assert_eq!(
            parameters("update t2 set a = a+1, b=7, c = 'x' where id = 3"),
            some("update t2 set a = a+1, b=?, c = ? where id = ?", vec![Value::Int(7), text("x"), Value::Int(3)])
        );
        assert_eq!(
            parameters("INSERT INTO t (a, b) VALUES (1, 'x', NULL, -2, 1.5)"),
            some("INSERT INTO t (a, b) VALUES (?, ?, NULL, -2, 1.5)", vec![Value::Int(1), text("x")])
        );
        assert_eq!(
            parameters("DELETE FROM t WHERE id=5 LIMIT 1"),
            some("DELETE FROM t WHERE id=? LIMIT 1", vec![Value::Int(5)])
        );
        for same in [
            "SELECT a FROM t WHERE a = 5.5",
            "SELECT a FROM t WHERE a = 1e3",
            "SELECT a FROM t WHERE a = 0x1F",
            "SELECT a FROM t WHERE a = -5",
            "SELECT a FROM t WHERE a = _latin1'x'",
            "SELECT a FROM t WHERE a = DATE '2001-01-01'",
            "SELECT a FROM t WHERE a = 1234567890123456789",
            "SELECT a FROM t WHERE a IN (1, 2)",
            "SELECT a = 5 FROM t",
        ] {
            assert_eq!(parameters(same), some(same, vec![]));
        }
        for not in [
            "REPLACE INTO t VALUES (1)",
            "SELECT 1; SELECT 2",
            "SELECT /*+ NO_ICP(t) */ a FROM t WHERE a = 1",
            "SELECT a FROM t WHERE a = 1 -- x",
            "SELECT a FROM t WHERE a = 'it''s'",
            "SELECT a FROM t WHERE a = 'it\\'s'",
            "SELECT a FROM t WHERE a = 'open",
            "SELECT a FROM t WHERE a = @a",
            "SELECT a FROM t WHERE a = ?",
        ] {
            assert_eq!(parameters(not), None, "{not}");
        }
    }
}
