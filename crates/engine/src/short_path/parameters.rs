//! The literals of a statement as its parameters, so that statements which differ in literals only share a plan.

use super::{text_numbers::plain_number, text_variables};
use muster_types::{Collation, Decimal, SqlModes, SqlType, TextKind, Value};

/// Longer statements are not looked at, without their values.
const TEXT_BYTES_MAX: usize = 1024;
/// The same with their values.
const WHOLE_BYTES_MAX: usize = 8 << 10;
/// Statements with more values are not looked at.
pub const VALUES_MAX: usize = 128;
/// A list of more integers behind IN is one parameter; one of still more is not.
const LIST_MIN: usize = 16;
const LIST_MAX: usize = 2000;
/// An integer of so many digits is a BIGINT, whatever digits they are; decimals of so many are of one type, too.
const DIGITS_MAX: usize = 18;

/// What may stand before a literal that is taken for a parameter.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Before {
    /// `=`, `<`, `>`, BETWEEN, AND, LIKE; in the list of an IN and in an INSERT also what stands before each value, in
    /// what an UPDATE sets also `+`, `-` and `*`.
    Value,
    Other,
}

/// The kind of a statement, as its first word says.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Verb {
    Select,
    /// INSERT and REPLACE of rows.
    Insert,
    /// INSERT and REPLACE of the rows of a query.
    InsertSelect,
    Update,
    Delete,
}

impl Verb {
    fn of(sql: &str) -> Option<Verb> {
        let verbs = [
            ("SELECT", Verb::Select),
            ("INSERT", Verb::Insert),
            ("REPLACE", Verb::Insert),
            ("UPDATE", Verb::Update),
            ("DELETE", Verb::Delete),
        ];
        let word = &sql[..end_of_word(sql.as_bytes(), 0)];
        verbs.into_iter().find(|(name, _)| word.eq_ignore_ascii_case(name)).map(|(_, verb)| verb)
    }

    /// Returns true for words behind which there are literals that are parameters.
    fn has_values_behind(self, word: &str) -> bool {
        let words: &[&str] = match self {
            Verb::Select | Verb::Delete | Verb::InsertSelect => &["WHERE"],
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

/// Adds the class of a value to the key of its statement: a plan is good for all values of a class. `None` for values
/// that no plan is made for. `is_prepared`: the
/// statement is a prepared one, in which texts next to numbers have another meaning.
pub fn add_class(value: &Value, is_prepared: bool, key: &mut Vec<u8>) -> Option<()> {
    // Where a text stands decides whether it means the number that it is.
    if let Some(number) = plain_number(value, is_prepared) {
        key.push(if is_prepared { b'?' } else { b'\'' });
        return add_class(&number, is_prepared, key);
    }
    let class = match value {
        Value::Null => b'n',
        Value::Int(_) => b'i',
        Value::UInt(_) => b'u',
        Value::Decimal(decimal) => {
            key.push(b'd');
            is_short(*decimal).then_some(decimal.scale)?
        }
        Value::Double(_) => b'f',
        Value::Text(_) => b't',
        Value::Date(_) => b'D',
        Value::DateTime(_) => b'M',
        _ => return None,
    };
    key.push(class);
    Some(())
}

/// The type of a parameter with values of the class of this one.
pub fn type_of(value: &Value, collation: Collation) -> SqlType {
    match value {
        Value::Null => SqlType::Null,
        Value::Int(_) => SqlType::BIGINT,
        Value::UInt(_) => SqlType::BIGINT_UNSIGNED,
        Value::Decimal(decimal) => SqlType::Decimal { precision: DIGITS_MAX as u8, scale: decimal.scale },
        Value::Double(_) => SqlType::Double,
        Value::Date(_) => SqlType::Date,
        Value::DateTime(_) => SqlType::DateTime { fsp: 6 },
        _ => SqlType::Text { kind: TextKind::LongText, length: u32::MAX, collation },
    }
}

fn is_short(decimal: Decimal) -> bool {
    decimal.scale as usize <= DIGITS_MAX && decimal.fits(DIGITS_MAX as u8)
}

/// The integers of a long list behind IN, which is one `?` in the text of its statement.
#[derive(Debug, Clone, PartialEq)]
pub struct ValueList {
    /// The parameter that it is; its value is one of the members.
    pub index: usize,
    pub members: Vec<Value>,
}

/// Writes the statement into `text` with a `?` for each number and each string that something behind WHERE is compared
/// with, or that UPDATE and INSERT put into a column, and their values into `values`. Literals elsewhere may be names,
/// positions or limits, and stay. The first long list of a SELECT goes into `list`. Returns false for what is none of
/// these statements or cannot be told apart at a glance: comments, double quotes, user variables, several statements.
pub fn parameterize(
    sql: &str,
    modes: SqlModes,
    text: &mut String,
    values: &mut Vec<Value>,
    list: &mut Option<ValueList>,
) -> bool {
    text.clear();
    values.clear();
    *list = None;
    let sql = sql.trim_ascii();
    let Some(verb) = Verb::of(sql) else { return false };
    // A list may make a SELECT longer, which is not counted.
    if verb != Verb::Select && sql.len() > WHOLE_BYTES_MAX {
        return false;
    }
    let mut reader = Reader {
        sql,
        modes,
        verb,
        before: Before::Other,
        has_values: false,
        place: Place::Elsewhere,
        is_behind_in: false,
        depth: 0,
        list_depth: None,
    };
    // Bytes of the list, which does not make the statement a long one.
    let (mut at, mut listed) = (0, 0);
    while at < sql.len() {
        if at - listed > WHOLE_BYTES_MAX || !is_small(text, values.len()) {
            return false;
        }
        if list.is_none()
            && let Some((end, members)) = reader.long_list(at)
        {
            let index = values.len();
            values.extend(members.first().cloned());
            text.push_str("(?)");
            *list = Some(ValueList { index, members });
            listed = end - at;
            at = end;
            continue;
        }
        let Some(Piece { end, value }) = reader.piece(at) else { return false };
        match value {
            Some(value) => {
                values.push(value);
                text.push('?');
            }
            None => text.push_str(&sql[at..end]),
        }
        at = end;
    }
    at - listed <= WHOLE_BYTES_MAX && is_small(text, values.len())
}

/// Where in a statement a piece stands.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Place {
    /// What an UPDATE puts into columns.
    Set,
    /// Behind the word IN, and in its list.
    In,
    Elsewhere,
}

/// A piece of a text up to `end`, with its value if it is a parameter.
struct Piece {
    end: usize,
    value: Option<Value>,
}

/// Reads a statement piece by piece.
struct Reader<'a> {
    sql: &'a str,
    modes: SqlModes,
    verb: Verb,
    before: Before,
    /// True behind the word that values stand behind.
    has_values: bool,
    place: Place,
    /// True between the word IN and what follows it.
    is_behind_in: bool,
    /// How many parentheses are open.
    depth: u32,
    /// Within a select list, whose literals name result columns: how many parentheses were open where it began.
    list_depth: Option<u32>,
}

impl Reader<'_> {
    /// The integers of a long list that begins at `at`, and the position behind it.
    fn long_list(&mut self, at: usize) -> Option<(usize, Vec<Value>)> {
        let may_be = self.is_behind_in && self.has_values && self.verb == Verb::Select && self.list_depth.is_none();
        let rest = self.sql[at..].strip_prefix('(').filter(|_| may_be)?;
        let (list, _) = rest.split_once(')')?;
        if list.bytes().filter(|b| *b == b',').take(LIST_MAX).count() < LIST_MIN {
            return None;
        }
        let is_integer = |text: &str| {
            let digits = text.strip_prefix('-').unwrap_or(text);
            !digits.is_empty() && digits.len() < DIGITS_MAX && digits.bytes().all(|b| b.is_ascii_digit())
        };
        let member = |text: &str| Some(text.trim_ascii()).filter(|text| is_integer(text)).and_then(number);
        let members = list.split(',').take(LIST_MAX + 1).map(member).collect::<Option<Vec<_>>>()?;
        if members.len() > LIST_MAX {
            return None;
        }
        (self.before, self.place, self.is_behind_in) = (Before::Other, Place::Elsewhere, false);
        Some((at + list.len() + 2, members))
    }

    /// The piece that begins at `at`; `None` if it cannot be told what it is.
    fn piece(&mut self, at: usize) -> Option<Piece> {
        let bytes = self.sql.as_bytes();
        let byte = bytes[at];
        let next = bytes.get(at + 1).copied();
        match byte {
            b'(' => self.depth += 1,
            b')' => {
                self.depth = self.depth.saturating_sub(1);
                self.list_depth = self.list_depth.filter(|depth| *depth <= self.depth);
            }
            _ => {}
        }
        let is_value = self.has_values && self.before == Before::Value && self.list_depth.is_none();
        self.is_behind_in &= byte.is_ascii_whitespace();
        let mut value = None;
        let (end, before) = match byte {
            b' ' | b'\t' | b'\n' | b'\r' => (at + 1, self.before),
            b'\'' => {
                let end = self.end_of_string(at)?;
                if is_value {
                    value = Some(Value::Text(self.string(at, end)?));
                }
                (end, Before::Other)
            }
            b'0'..=b'9' => {
                let end = end_of_number(bytes, at);
                value = number(&self.sql[at..end]).filter(|_| is_value);
                (end, Before::Other)
            }
            b'-' if is_value && next.is_some_and(|b| b.is_ascii_digit()) => {
                let end = end_of_number(bytes, at + 1);
                value = number(&self.sql[at..end]);
                (end, Before::Other)
            }
            b'`' => {
                let length = bytes[at + 1..].iter().position(|b| *b == b'`')?;
                (at + length + 2, Before::Other)
            }
            b'=' | b'<' | b'>' => (at + 1, Before::Value),
            b'@' if next == Some(b'@') => {
                let length = bytes[at + 2..].iter().position(|b| !text_variables::is_of_name(*b));
                (length.map_or(bytes.len(), |length| at + 2 + length), Before::Other)
            }
            b'?' | b'@' | b'#' | b';' | b'"' | b'\\' => return None,
            b'-' if next == Some(b'-') => return None,
            b'/' if next == Some(b'*') => return None,
            b'(' | b',' if self.verb == Verb::Insert || self.place == Place::In => (at + 1, Before::Value),
            b'+' | b'-' | b'*' if self.place == Place::Set => (at + 1, Before::Value),
            _ if is_of_word(byte) => {
                let end = end_of_word(bytes, at);
                let before = self.word(&self.sql[at..end]);
                (end, before)
            }
            b')' if self.place == Place::In => {
                self.place = Place::Elsewhere;
                (at + 1, Before::Other)
            }
            _ => (at + 1, Before::Other),
        };
        self.before = before;
        Some(Piece { end, value })
    }

    /// What a word means for what stands behind it.
    fn word(&mut self, word: &str) -> Before {
        let is = |name: &str| word.eq_ignore_ascii_case(name);
        if self.verb == Verb::Insert && !self.has_values && is("SELECT") {
            self.verb = Verb::InsertSelect;
        }
        if self.list_depth.is_none() && is("SELECT") {
            self.list_depth = Some(self.depth);
        } else if self.list_depth == Some(self.depth) && is("FROM") {
            self.list_depth = None;
        }
        self.has_values |= self.verb.has_values_behind(word);
        self.is_behind_in = is("IN");
        self.place = match self.place {
            _ if is("IN") => Place::In,
            _ if is("SET") && self.verb == Verb::Update => Place::Set,
            Place::Set if !is("WHERE") => Place::Set,
            _ => Place::Elsewhere,
        };
        if is("BETWEEN") || is("AND") || is("LIKE") { Before::Value } else { Before::Other }
    }

    /// The position behind the string that begins at `at`; `None` if it has no end.
    fn end_of_string(&self, at: usize) -> Option<usize> {
        let bytes = self.sql.as_bytes();
        let mut end = at + 1;
        loop {
            match bytes.get(end)? {
                b'\\' if !self.modes.has(SqlModes::NO_BACKSLASH_ESCAPES) => end += 2,
                b'\'' if bytes.get(end + 1) == Some(&b'\'') => end += 2,
                b'\'' => return Some(end + 1),
                _ => end += 1,
            }
        }
    }

    fn string(&self, at: usize, end: usize) -> Option<String> {
        let inner = &self.sql[at + 1..end - 1];
        match inner.bytes().any(|b| matches!(b, b'\\' | b'\'')) {
            true => muster_sql::literal_text(&self.sql[at..end], self.modes),
            false => Some(inner.to_owned()),
        }
    }
}

fn is_of_word(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || matches!(byte, b'_' | b'$') || byte >= 0x80
}

fn end_of_word(bytes: &[u8], at: usize) -> usize {
    bytes[at..].iter().position(|b| !is_of_word(*b)).map_or(bytes.len(), |length| at + length)
}

/// The position behind digits, a point and digits; or behind all that could go on with them.
fn end_of_number(bytes: &[u8], at: usize) -> usize {
    bytes[at..].iter().position(|b| !is_of_word(*b) && *b != b'.').map_or(bytes.len(), |length| at + length)
}

/// The value of a literal that is a number of few digits, with or without a point.
pub(super) fn number(literal: &str) -> Option<Value> {
    if literal.len() > DIGITS_MAX {
        return None;
    }
    match literal.split_once('.') {
        None => literal.parse().ok().map(Value::Int),
        Some((whole, fraction)) if !fraction.is_empty() && fraction.bytes().all(|b| b.is_ascii_digit()) => {
            let unscaled = format!("{whole}{fraction}").parse().ok()?;
            Some(Value::Decimal(Decimal::new(unscaled, fraction.len() as u8)))
        }
        Some(_) => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn literals_that_something_is_compared_with_are_parameters() {
        let parameters = |sql: &str| {
            let (mut text, mut values) = (String::new(), Vec::new());
            parameterize(sql, SqlModes::NONE, &mut text, &mut values, &mut None).then_some((text, values))
        };
        let some = |text: &str, values: Vec<Value>| Some((text.to_owned(), values));
        let text = |s: &str| Value::Text(s.to_owned());
        let decimal = |unscaled, scale| Value::Decimal(Decimal::new(unscaled, scale));
        assert_eq!(
            parameters("select 1, 'x' from t where id=5 and `a'b` = 'it' and c between 1 and 20 order by 2 limit 3 "),
            some(
                "select 1, 'x' from t where id=? and `a'b` = ? and c between ? and ? order by 2 limit 3",
                vec![Value::Int(5), text("it"), Value::Int(1), Value::Int(20)]
            )
        );
        assert_eq!(
            parameters("select (select a from u where b = 1), c from t where c in (select d = 2 from v where d = 3)"),
            some(
                "select (select a from u where b = 1), c from t where c in (select d = 2 from v where d = ?)",
                vec![Value::Int(3)]
            )
        );
        assert_eq!(
            parameters("update t2 set a = a+1, b=7, c = 'x' where id = 3"),
            some(
                "update t2 set a = a+?, b=?, c = ? where id = ?",
                vec![Value::Int(1), Value::Int(7), text("x"), Value::Int(3)]
            )
        );
        assert_eq!(
            parameters("INSERT INTO t (a, b) VALUES (1, 'x', NULL, -2, 1.5, 3-4, 'it''s', 'a\\n\\'')"),
            some(
                "INSERT INTO t (a, b) VALUES (?, ?, NULL, ?, ?, ?-4, ?, ?)",
                vec![
                    Value::Int(1),
                    text("x"),
                    Value::Int(-2),
                    decimal(15, 1),
                    Value::Int(3),
                    text("it's"),
                    text("a\n'")
                ]
            )
        );
        assert_eq!(
            parameters("SELECT a FROM t WHERE a = -5 AND b in (1, -2.50 ,'x') AND c = 5.5 ORDER BY FIELD(a, 1, 2)"),
            some(
                "SELECT a FROM t WHERE a = ? AND b in (?, ? ,?) AND c = ? ORDER BY FIELD(a, 1, 2)",
                vec![Value::Int(-5), Value::Int(1), decimal(-250, 2), text("x"), decimal(55, 1)]
            )
        );
        assert_eq!(
            parameters("UPDATE t SET a = a - -1, b = b*2.5 - 3, c = 1 WHERE a - 1 = 2"),
            some(
                "UPDATE t SET a = a - ?, b = b*? - ?, c = ? WHERE a - 1 = ?",
                vec![Value::Int(-1), decimal(25, 1), Value::Int(3), Value::Int(1), Value::Int(2)]
            )
        );
        assert_eq!(
            parameters("SELECT a FROM t WHERE a LIKE 'x%' ESCAPE '|' AND b not like '_' LIMIT 5"),
            some("SELECT a FROM t WHERE a LIKE ? ESCAPE '|' AND b not like ? LIMIT 5", vec![text("x%"), text("_")])
        );
        assert_eq!(
            parameters("DELETE FROM t WHERE id=5 LIMIT 1"),
            some("DELETE FROM t WHERE id=? LIMIT 1", vec![Value::Int(5)])
        );
    }

    #[test]
    fn values_of_rows_are_parameters_and_those_that_a_query_selects_are_not() {
        let parameters = |sql: &str| {
            let (mut text, mut values) = (String::new(), Vec::new());
            parameterize(sql, SqlModes::NONE, &mut text, &mut values, &mut None).then_some((text, values))
        };
        let some = |text: &str, values: Vec<Value>| Some((text.to_owned(), values));
        let text = |s: &str| Value::Text(s.to_owned());
        assert_eq!(
            parameters("REPLACE t VALUES (1, 'x'), (2, DEFAULT)"),
            some("REPLACE t VALUES (?, ?), (?, DEFAULT)", vec![Value::Int(1), text("x"), Value::Int(2)])
        );
        assert_eq!(
            parameters("insert into t (a, b) select f(1), 'x' from u where c = 5 and d in (6, 7)"),
            some(
                "insert into t (a, b) select f(1), 'x' from u where c = ? and d in (?, ?)",
                vec![Value::Int(5), Value::Int(6), Value::Int(7)]
            )
        );
    }

    #[test]
    fn other_literals_stay_and_other_statements_are_left_alone() {
        let parameters = |sql: &str| {
            let (mut text, mut values) = (String::new(), Vec::new());
            parameterize(sql, SqlModes::NONE, &mut text, &mut values, &mut None).then_some((text, values))
        };
        for same in [
            "SELECT a FROM t WHERE a = 1e3",
            "SELECT a FROM t WHERE a = 0x1F",
            "SELECT a FROM t WHERE a = _latin1'x'",
            "SELECT a FROM t WHERE a = DATE '2001-01-01'",
            "SELECT a FROM t WHERE a = 1234567890123456789",
            "SELECT a = 5 FROM t",
            "SELECT a FROM t WHERE a = 5.",
            "SELECT a FROM t WHERE a = - 5",
            "SELECT a FROM t WHERE a IN (SELECT f(1, 2))",
        ] {
            assert_eq!(parameters(same), Some((same.to_owned(), vec![])));
        }
        for not in [
            "REPLACED INTO t VALUES (1)",
            "SELECT 1; SELECT 2",
            "SELECT /*+ NO_ICP(t) */ a FROM t WHERE a = 1",
            "SELECT a FROM t WHERE a = 1 -- x",
            "SELECT a FROM t WHERE a = 'open",
            "SELECT a FROM t WHERE a = @a",
            "SELECT a FROM t WHERE a = ?",
        ] {
            assert_eq!(parameters(not), None, "{not}");
        }
    }

    #[test]
    fn a_long_list_of_integers_is_one_parameter() {
        let parameters = |sql: &str| {
            let (mut text, mut values, mut list) = (String::new(), Vec::new(), None);
            let is_short = parameterize(sql, SqlModes::NONE, &mut text, &mut values, &mut list);
            is_short.then_some((text, values, list))
        };
        let numbers = |count: i64| (0..count).map(|n| (n - 3).to_string()).collect::<Vec<_>>().join(", ");
        let sql = format!("SELECT a FROM t WHERE b = 7 AND id IN ( {} ) AND c IN (1, 2) LIMIT 5", numbers(500));
        let (text, values, list) = parameters(&sql).unwrap();
        assert_eq!(text, "SELECT a FROM t WHERE b = ? AND id IN (?) AND c IN (?, ?) LIMIT 5");
        assert_eq!(values, [7, -3, 1, 2].map(Value::Int));
        let list = list.unwrap();
        assert_eq!((list.index, list.members.len(), &list.members[499]), (1, 500, &Value::Int(496)));
        // Few, other members, a row, another place, another statement: none, and too many values for a plan mostly.
        let lists = |sql: &str| parameters(sql).and_then(|(.., list)| list);
        let (few, many, most) = (numbers(16), numbers(20), numbers(2001));
        for sql in [
            format!("SELECT a FROM t WHERE id IN ({few})"),
            format!("SELECT a FROM t WHERE id IN ({most})"),
            format!("SELECT a FROM t WHERE id IN ({many}, 'x')"),
            format!("SELECT a FROM t WHERE id IN ({many}, 1.5)"),
            format!("SELECT a FROM t WHERE id IN ({many}, ?)"),
            format!("SELECT a FROM t WHERE id IN (({many}), ({many}))"),
            format!("SELECT a FROM t WHERE id = f({many})"),
            format!("SELECT a IN ({many}) FROM t"),
            format!("DELETE FROM t WHERE id IN ({many})"),
        ] {
            assert_eq!(lists(&sql), None, "{sql}");
        }
        assert_eq!(lists(&format!("SELECT a FROM t WHERE id in({many})")).unwrap().members.len(), 20);
    }
}
