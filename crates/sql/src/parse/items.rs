//! The text of SELECT items: MySQL names a result column by its expression as written.

use super::source::SourceText;
use sqlparser::{keywords::Keyword, tokenizer::Token};

/// Returns the written texts of select items in order, for each SELECT keyword by its line and column.
pub(crate) fn select_items(source: &SourceText) -> Vec<((u64, u64), Vec<String>)> {
    let significant = source.significant();
    let mut found = Vec::new();
    for (n, &at) in significant.iter().enumerate() {
        if source.keyword(at) != Keyword::SELECT {
            continue;
        }
        let place = source.tokens[at].span.start;
        found.push(((place.line, place.column), items_after(source, &significant[n + 1..])));
    }
    found
}

fn items_after(source: &SourceText, rest: &[usize]) -> Vec<String> {
    let skipped = rest.iter().take_while(|i| is_modifier(source, **i)).count();
    let mut items = Vec::new();
    let mut depth = 0usize;
    // First and last token of the item under way.
    let mut item: Option<(usize, usize)> = None;
    for &i in &rest[skipped..] {
        match &source.tokens[i].token {
            Token::LParen => depth += 1,
            Token::RParen if depth == 0 => break,
            Token::RParen => depth -= 1,
            Token::SemiColon if depth == 0 => break,
            Token::Comma if depth == 0 => {
                items.extend(item.take().map(|(a, b)| text(source, a, b)));
                continue;
            }
            Token::Word(_) if depth == 0 && ends_items(source.keyword(i)) => break,
            _ => {}
        }
        item = Some((item.map_or(i, |(a, _)| a), i));
    }
    items.extend(item.map(|(a, b)| text(source, a, b)));
    items
}

fn text(source: &SourceText, first: usize, last: usize) -> String {
    source.text[source.starts[first]..source.ends[last]].to_string()
}

fn is_modifier(source: &SourceText, at: usize) -> bool {
    if matches!(source.keyword(at), Keyword::ALL | Keyword::DISTINCT | Keyword::STRAIGHT_JOIN) {
        return true;
    }
    let Token::Word(w) = &source.tokens[at].token else { return false };
    let word = w.value.to_ascii_uppercase();
    w.quote_style.is_none()
        && matches!(
            word.as_str(),
            "DISTINCTROW"
                | "HIGH_PRIORITY"
                | "SQL_SMALL_RESULT"
                | "SQL_BIG_RESULT"
                | "SQL_BUFFER_RESULT"
                | "SQL_NO_CACHE"
                | "SQL_CALC_FOUND_ROWS"
        )
}

fn ends_items(keyword: Keyword) -> bool {
    matches!(
        keyword,
        Keyword::FROM
            | Keyword::WHERE
            | Keyword::GROUP
            | Keyword::HAVING
            | Keyword::ORDER
            | Keyword::LIMIT
            | Keyword::UNION
            | Keyword::INTERSECT
            | Keyword::EXCEPT
            | Keyword::INTO
            | Keyword::FOR
            | Keyword::WINDOW
    )
}
