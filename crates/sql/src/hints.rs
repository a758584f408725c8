//! Optimizer hints: the text of `/*+ ... */` (manual 10.9.3). What they mean: `bind::hints`.

use crate::Query;
use muster_types::{ErrorCode, SqlError, Value};
use sqlparser::ast::{self, SetExpr};

/// One hint, as written: `BKA(@qb t1, t2)`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct OptimizerHint {
    /// In upper case.
    pub name: String,
    /// `@qb` in front of the arguments.
    pub query_block: Option<String>,
    pub arguments: Vec<HintArgument>,
}

/// A table, an index, a strategy; of SET_VAR a variable and its value.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct HintArgument {
    pub name: String,
    /// `table@qb`.
    pub query_block: Option<String>,
    /// True if it stands in quotes (not in backticks).
    pub is_text: bool,
}

/// The hints of MySQL 8.4 and Muster's own.
const KNOWN: &[&str] = &[
    "BKA",
    "NO_BKA",
    "BNL",
    "NO_BNL",
    "DERIVED_CONDITION_PUSHDOWN",
    "NO_DERIVED_CONDITION_PUSHDOWN",
    "GROUP_INDEX",
    "NO_GROUP_INDEX",
    "HASH_JOIN",
    "NO_HASH_JOIN",
    "ICP",
    "NO_ICP",
    "INDEX",
    "NO_INDEX",
    "INDEX_MERGE",
    "NO_INDEX_MERGE",
    "JOIN_FIXED_ORDER",
    "JOIN_INDEX",
    "NO_JOIN_INDEX",
    "JOIN_ORDER",
    "JOIN_PREFIX",
    "JOIN_SUFFIX",
    "MAX_EXECUTION_TIME",
    "MERGE",
    "NO_MERGE",
    "MERGE_JOIN",
    "NO_MERGE_JOIN",
    "MRR",
    "NO_MRR",
    "NO_RANGE_OPTIMIZATION",
    "ORDER_INDEX",
    "NO_ORDER_INDEX",
    "QB_NAME",
    "RESOURCE_GROUP",
    "SEMIJOIN",
    "NO_SEMIJOIN",
    "SET_VAR",
    "SKIP_SCAN",
    "NO_SKIP_SCAN",
    "STREAM_AGGREGATE",
    "NO_STREAM_AGGREGATE",
    "SUBQUERY",
];

/// The milliseconds of `/*+ MAX_EXECUTION_TIME(n) */`, which counts only in the first SELECT of a statement.
pub fn max_execution_time(query: &Query) -> Option<u64> {
    let hint = first_hints(query).into_iter().find(|h| h.name == "MAX_EXECUTION_TIME")?;
    hint.arguments.first()?.name.parse().ok()
}

/// `/*+ SET_VAR(name = value) */` of the first SELECT: variables that have these values for the statement, in order.
/// A number with K, M or G is multiplied out.
pub fn set_variables(query: &Query) -> Vec<(String, Value)> {
    let hints = first_hints(query).into_iter().filter(|h| h.name == "SET_VAR");
    hints
        .filter_map(|hint| match <[HintArgument; 2]>::try_from(hint.arguments) {
            Ok([variable, value]) => Some((variable.name.to_ascii_lowercase(), variable_value(value))),
            Err(_) => None,
        })
        .collect()
}

fn variable_value(value: HintArgument) -> Value {
    if value.is_text {
        return Value::Text(value.name);
    }
    let (digits, factor) = match value.name.char_indices().last() {
        Some((at, 'k' | 'K')) => (&value.name[..at], 1 << 10),
        Some((at, 'm' | 'M')) => (&value.name[..at], 1 << 20),
        Some((at, 'g' | 'G')) => (&value.name[..at], 1 << 30),
        _ => (value.name.as_str(), 1),
    };
    match digits.parse::<i64>().ok().and_then(|n| n.checked_mul(factor)) {
        Some(n) => Value::Int(n),
        None => match digits.parse::<u64>() {
            Ok(n) if factor == 1 => Value::UInt(n),
            _ => Value::Text(value.name),
        },
    }
}

fn first_hints(query: &Query) -> Vec<OptimizerHint> {
    let (mut found, mut warnings) = (Vec::new(), Vec::new());
    if let Some(select) = first_select(&query.ast.body) {
        select.optimizer_hints.iter().for_each(|h| collect(&h.text, &mut found, &mut warnings));
    }
    found
}

fn first_select(mut body: &SetExpr) -> Option<&ast::Select> {
    loop {
        body = match body {
            SetExpr::Select(select) => return Some(select),
            SetExpr::Query(query) => &query.body,
            SetExpr::SetOperation { left, .. } => left,
            _ => return None,
        }
    }
}

/// Adds the hints of one comment to `found`. What is no hint is left out with a warning.
pub(crate) fn collect(text: &str, found: &mut Vec<OptimizerHint>, warnings: &mut Vec<SqlError>) {
    let mut rest = text.trim_start();
    while !rest.is_empty() {
        let (after, hint) = one_hint(rest);
        match hint {
            Some(hint) => found.push(hint),
            None => {
                let near: String = rest.chars().take(80).collect();
                let message = format!("Optimizer hint syntax error near '{}' at line 1", near.trim_end());
                warnings.push(SqlError::new(ErrorCode::Parse, message));
            }
        }
        if after.len() == rest.len() {
            return;
        }
        rest = after;
    }
}

/// The text behind the first hint of a text, and the hint if it is one.
fn one_hint(text: &str) -> (&str, Option<OptimizerHint>) {
    let end = text.find(|c: char| !c.is_ascii_alphanumeric() && c != '_').unwrap_or(text.len());
    let name = text[..end].to_ascii_uppercase();
    let rest = text[end..].trim_start();
    let Some(body) = rest.strip_prefix('(') else { return (rest, None) };
    let (tokens, rest) = tokens(body);
    let hint = tokens.and_then(|tokens| hint(name, &tokens));
    (rest.trim_start(), hint.filter(|h| KNOWN.contains(&h.name.as_str())))
}

#[derive(Debug, Clone, PartialEq, Eq)]
enum Token {
    Word(String),
    Text(String),
    /// A word right behind `@`.
    Block(String),
    Comma,
    Equals,
}

/// The tokens up to the closing parenthesis, and what is behind it; none if the text ends before.
fn tokens(body: &str) -> (Option<Vec<Token>>, &str) {
    let mut tokens = Vec::new();
    let mut rest = body;
    loop {
        rest = rest.trim_start();
        let Some(first) = rest.chars().next() else { return (None, rest) };
        let after = &rest[first.len_utf8()..];
        match first {
            ')' => return (Some(tokens), after),
            ',' => tokens.push(Token::Comma),
            '=' => tokens.push(Token::Equals),
            '\'' | '"' => {
                let Some((text, after)) = quoted(after, first) else { return (None, "") };
                tokens.push(Token::Text(text));
                rest = after;
                continue;
            }
            '@' => {
                let (word, after) = word(after);
                tokens.push(Token::Block(word));
                rest = after;
                continue;
            }
            _ => {
                let (word, after) = word(rest);
                if word.is_empty() {
                    return (None, "");
                }
                tokens.push(Token::Word(word));
                rest = after;
                continue;
            }
        }
        rest = after;
    }
}

/// A name, in backticks or bare.
fn word(text: &str) -> (String, &str) {
    if let Some(inside) = text.strip_prefix('`') {
        return quoted(inside, '`').unwrap_or_default();
    }
    let is_end = |c: char| c.is_whitespace() || "(),=@`'\"".contains(c);
    let end = text.find(is_end).unwrap_or(text.len());
    (text[..end].to_string(), &text[end..])
}

/// Text up to the quote, which is doubled inside, and what is behind it.
fn quoted(text: &str, quote: char) -> Option<(String, &str)> {
    let mut found = String::new();
    let mut rest = text;
    loop {
        let (inside, after) = rest.split_once(quote)?;
        found.push_str(inside);
        match after.strip_prefix(quote) {
            Some(more) => {
                found.push(quote);
                rest = more;
            }
            None => return Some((found, after)),
        }
    }
}

fn hint(name: String, tokens: &[Token]) -> Option<OptimizerHint> {
    let (query_block, mut tokens) = match tokens {
        [Token::Block(block), rest @ ..] => (Some(block.clone()), rest),
        _ => (None, tokens),
    };
    let mut arguments: Vec<HintArgument> = Vec::new();
    let argument = |name: &String, is_text| HintArgument { name: name.clone(), query_block: None, is_text };
    let mut separated = true;
    while let [token, rest @ ..] = tokens {
        match token {
            Token::Word(word) => arguments.push(argument(word, false)),
            Token::Text(text) => arguments.push(argument(text, true)),
            Token::Block(block) if !separated && query_block.is_none() => {
                let last = arguments.last_mut().filter(|a| a.query_block.is_none())?;
                last.query_block = Some(block.clone());
            }
            Token::Equals if name == "SET_VAR" && arguments.len() == 1 => {}
            Token::Comma if !separated => {}
            _ => return None,
        }
        separated = matches!(token, Token::Comma | Token::Equals);
        tokens = rest;
    }
    let complete = arguments.is_empty() || !separated;
    complete.then_some(OptimizerHint { name, query_block, arguments })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(text: &str) -> (Vec<OptimizerHint>, Vec<SqlError>) {
        let (mut found, mut warnings) = (Vec::new(), Vec::new());
        collect(text, &mut found, &mut warnings);
        (found, warnings)
    }

    #[test]
    fn hints_are_read_and_others_warned_of() {
        let (found, warnings) =
            read(" bka(@qb1 t1, `t``2`) NO_ICP(t@`q 1` idx, i2) nonsense(1) JOIN_FIXED_ORDER() JOIN_ORDER(a@x, b) ");
        let names: Vec<&str> = found.iter().map(|h| h.name.as_str()).collect();
        assert_eq!(names, ["BKA", "NO_ICP", "JOIN_FIXED_ORDER", "JOIN_ORDER"]);
        let shown = |h: &OptimizerHint| -> Vec<(String, Option<String>)> {
            h.arguments.iter().map(|a| (a.name.clone(), a.query_block.clone())).collect()
        };
        let plain = |name: &str| (name.to_string(), None);
        let at = |name: &str, block: &str| (name.to_string(), Some(block.to_string()));
        assert_eq!(found[0].query_block.as_deref(), Some("qb1"));
        assert_eq!(shown(&found[0]), [plain("t1"), plain("t`2")]);
        assert_eq!(shown(&found[1]), [at("t", "q 1"), plain("idx"), plain("i2")]);
        assert_eq!(shown(&found[3]), [at("a", "x"), plain("b")]);
        assert_eq!(warnings.len(), 1);
        assert!(warnings[0].message.contains("near 'nonsense(1) JOIN_FIXED"), "{warnings:?}");
    }

    #[test]
    fn what_is_half_a_hint_is_none() {
        for text in
            ["BKA(t1", "BKA", "BKA(t1,)", "BKA(,t1)", "BKA(@q t1@q)", "MRR(t = 1)", "(", "SET_VAR(a='b)", "NO_ICP(((("]
        {
            let (found, warnings) = read(text);
            assert!(found.is_empty() && !warnings.is_empty(), "{text}: {found:?}");
        }
    }

    #[test]
    fn hints_of_the_first_select() {
        let query = |sql: &str| match crate::parse(sql) {
            Ok(crate::Statement::Query(query)) => query,
            other => panic!("{other:?}"),
        };
        let limit = |sql: &str| max_execution_time(&query(sql));
        assert_eq!(limit("SELECT /*+ MAX_EXECUTION_TIME(1000) */ 1"), Some(1000));
        assert_eq!(limit("(SELECT /*+ NO_ICP(t) max_execution_time(5) */ 1) UNION SELECT 2"), Some(5));
        assert_eq!(limit("SELECT 1 FROM (SELECT /*+ MAX_EXECUTION_TIME(1) */ 1) t"), None);
        assert_eq!(limit("SELECT /*+ MAX_EXECUTION_TIME(x) */ 1"), None);
        let sql = "SELECT /*+ SET_VAR(Sort_Buffer_Size = 16M) SET_VAR(optimizer_switch='mrr=off,semijoin=off')
                   SET_VAR(big_tables=ON) */ 1";
        let expected = [
            ("sort_buffer_size".to_string(), Value::Int(16 << 20)),
            ("optimizer_switch".to_string(), Value::Text("mrr=off,semijoin=off".into())),
            ("big_tables".to_string(), Value::Text("ON".into())),
        ];
        assert_eq!(set_variables(&query(sql)), expected);
    }
}
