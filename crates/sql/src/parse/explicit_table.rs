//! `TABLE t` as a query: it becomes `SELECT * FROM t`, which MySQL documents to mean the same (15.2.16).

use super::source::SourceText;
use muster_types::Result;
use sqlparser::{
    keywords::Keyword,
    tokenizer::{Token, Word},
};

/// Puts the words of a SELECT in place of each TABLE that begins a query. Error 1064 for a clause behind the name that
/// only SELECT has.
pub(super) fn rewrite(source: &mut SourceText) -> Result<()> {
    let significant = source.significant();
    if !significant.iter().any(|at| source.keyword(*at) == Keyword::TABLE) {
        return Ok(());
    }
    // From the end, so that places stay.
    for (n, &at) in significant.iter().enumerate().rev() {
        if source.keyword(at) != Keyword::TABLE || !begins_query(source, &significant[..n]) {
            continue;
        }
        if let Some(end) = behind_name(source, &significant[n + 1..])
            && !may_follow(source, end)
        {
            return Err(source.error_at(source.starts[end]));
        }
        source.tokens[at].token = Token::make_keyword("SELECT");
        source.insert(at + 1, Token::make_keyword("FROM"));
        source.insert(at + 1, Token::Mul);
    }
    Ok(())
}

/// Returns true if a query may begin behind these tokens.
fn begins_query(source: &SourceText, before: &[usize]) -> bool {
    let before = without_explain(source, before);
    let Some((&last, front)) = before.split_last() else { return true };
    let first = source.word(before[0]);
    let inserts = matches!(first.as_str(), "INSERT" | "REPLACE");
    match &source.tokens[last].token {
        Token::LParen => return true,
        // The column list of INSERT and the common tables of WITH end so.
        Token::RParen => return inserts || first == "WITH",
        Token::Word(Word { quote_style: None, .. }) => {}
        Token::Word(_) => return inserts,
        _ => return false,
    }
    let sets = |at: &usize| ["UNION", "EXCEPT", "INTERSECT"].contains(&source.word(*at).as_str());
    match source.word(last).as_str() {
        "UNION" | "EXCEPT" | "INTERSECT" => true,
        "ALL" | "DISTINCT" => front.last().is_some_and(sets),
        "AS" => matches!(first.as_str(), "CREATE" | "ALTER"),
        "INTO" | "IGNORE" | "LOW_PRIORITY" | "HIGH_PRIORITY" | "DELAYED" | "INSERT" | "REPLACE" => false,
        // The name of the table that is filled.
        _ => inserts,
    }
}

/// The tokens behind `EXPLAIN [ANALYZE] [FORMAT = name] [INTO @name]`.
fn without_explain<'a>(source: &SourceText, tokens: &'a [usize]) -> &'a [usize] {
    let is = |n: usize, name: &str| tokens.get(n).is_some_and(|at| source.word(*at) == name);
    if !["EXPLAIN", "DESCRIBE", "DESC"].iter().any(|name| is(0, name)) {
        return tokens;
    }
    let mut n = 1;
    n += is(n, "ANALYZE") as usize;
    if is(n, "FORMAT") {
        n += 3;
    }
    if is(n, "INTO") {
        // `@name` is one token, `@'name'` two.
        n += if is(n + 1, "") || is(n + 1, "@") { 3 } else { 2 };
    }
    tokens.get(n..).unwrap_or(&[])
}

/// The place behind the name `t` or `d.t`; `None` at the end of the text.
fn behind_name(source: &SourceText, rest: &[usize]) -> Option<usize> {
    let qualified = rest.get(1).is_some_and(|at| source.tokens[*at].token == Token::Period);
    rest.get(if qualified { 3 } else { 1 }).copied()
}

/// Returns true if this token may stand behind `TABLE t`.
fn may_follow(source: &SourceText, at: usize) -> bool {
    match &source.tokens[at].token {
        Token::RParen | Token::SemiColon => true,
        Token::CustomBinaryOperator(name) => name == super::source::ON_DUPLICATE,
        _ => matches!(
            source.keyword(at),
            Keyword::ORDER
                | Keyword::LIMIT
                | Keyword::UNION
                | Keyword::EXCEPT
                | Keyword::INTERSECT
                | Keyword::INTO
                | Keyword::FOR
                | Keyword::LOCK
        ),
    }
}
