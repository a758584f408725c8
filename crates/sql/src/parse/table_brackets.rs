//! Brackets around tables in FROM, which MySQL takes around any of them and sqlparser only around joins.
//!
//! `(t1 x)` and `((t1))` lose their parentheses, `{ OJ a LEFT OUTER JOIN b ON .. }` gets round ones, and the commas of
//! `(a, b JOIN c ON ..)` become CROSS JOIN, with parentheses around what binds tighter than a comma.

use super::source::SourceText;
use sqlparser::{
    keywords::Keyword,
    tokenizer::{Token, Whitespace, Word},
};

/// A pair of parentheses where a table may stand: places of tokens.
struct Pair {
    open: usize,
    close: usize,
}

/// Rewrites the brackets of all FROM clauses.
pub(super) fn rewrite(source: &mut SourceText) {
    // What stands in brackets behind `UPDATE` is columns there.
    let first = source.significant().first().copied();
    if first.is_some_and(|at| ["GRANT", "REVOKE"].contains(&&*source.word(at))) {
        return;
    }
    braces(source);
    for pair in pairs(source).into_iter().rev() {
        unwrap_single(source, &pair);
    }
    let mut commas = Vec::new();
    let mut wrapped = Vec::new();
    for pair in pairs(source) {
        find_commas(source, &pair, &mut commas, &mut wrapped);
    }
    let crosses = commas.into_iter().map(|at| (at + 1, Token::make_keyword("JOIN"))).collect::<Vec<_>>();
    for (at, _) in &crosses {
        source.tokens[at - 1].token = Token::make_keyword("CROSS");
    }
    // From the end, so that places stay; of two at one place the later one is inserted first.
    let mut inserted = crosses;
    inserted.extend(wrapped);
    inserted.sort_by_key(|(at, token)| (*at, *token == Token::LParen));
    for (at, token) in inserted.into_iter().rev() {
        source.insert(at, token);
    }
}

/// `{ OJ joins }` becomes `(joins)`; the word may be any name.
fn braces(source: &mut SourceText) {
    let significant = source.significant();
    let mut open = Vec::new();
    for (n, &at) in significant.iter().enumerate() {
        match source.tokens[at].token {
            Token::LBrace => {
                let before = n.checked_sub(1).map(|n| significant[n]);
                let word = significant.get(n + 1).copied();
                let is_table = before.is_some_and(|before| precedes_table(source, before))
                    && word.is_some_and(|at| matches!(source.tokens[at].token, Token::Word(_)));
                open.push(word.filter(|_| is_table).map(|word| (at, word)));
            }
            Token::RBrace => {
                if let Some((start, word)) = open.pop().flatten() {
                    source.tokens[start].token = Token::LParen;
                    source.tokens[word].token = Token::Whitespace(Whitespace::Space);
                    source.tokens[at].token = Token::RParen;
                }
            }
            _ => {}
        }
    }
}

/// Returns true for a token behind which a table may stand, if it is one of a FROM clause.
fn precedes_table(source: &SourceText, at: usize) -> bool {
    matches!(source.tokens[at].token, Token::Comma | Token::LParen)
        || matches!(source.keyword(at), Keyword::FROM | Keyword::JOIN | Keyword::STRAIGHT_JOIN | Keyword::UPDATE)
}

/// The parentheses that stand in the place of a table, in the order in which they open.
fn pairs(source: &SourceText) -> Vec<Pair> {
    /// The state within one pair of parentheses.
    #[derive(Default)]
    struct Level {
        /// The position among the pairs that are found.
        found: Option<usize>,
        in_from: bool,
    }
    let significant = source.significant();
    let mut found: Vec<Pair> = Vec::new();
    let mut levels = vec![Level::default()];
    for (n, &at) in significant.iter().enumerate() {
        let before = |k: usize| n.checked_sub(k).map(|n| significant[n]);
        let is_nested = levels.len() > 1;
        let Some(level) = levels.last_mut() else { return found };
        match &source.tokens[at].token {
            Token::LParen => {
                let follows = before(1).is_some_and(|before| match source.tokens[before].token {
                    Token::Comma => level.in_from,
                    Token::LParen => level.found.is_some(),
                    _ => precedes_table(source, before),
                });
                // Not the index names of `USE INDEX FOR JOIN (a, b)`.
                let names_indexes = before(2).is_some_and(|at| source.keyword(at) == Keyword::FOR);
                let is_table = follows && !names_indexes;
                if is_table {
                    found.push(Pair { open: at, close: at });
                }
                let number = is_table.then(|| found.len() - 1);
                levels.push(Level { found: number, in_from: is_table });
            }
            Token::RParen if is_nested => {
                if let Some(pair) = levels.pop().and_then(|level| level.found) {
                    found[pair].close = at;
                }
            }
            Token::Word(_) => match source.keyword(at) {
                Keyword::FROM | Keyword::UPDATE => level.in_from = true,
                Keyword::SELECT
                | Keyword::WHERE
                | Keyword::GROUP
                | Keyword::HAVING
                | Keyword::ORDER
                | Keyword::LIMIT
                | Keyword::SET
                | Keyword::UNION
                | Keyword::EXCEPT
                | Keyword::INTERSECT => level.in_from = false,
                _ => {}
            },
            _ => {}
        }
    }
    found.retain(|pair| pair.close > pair.open);
    found
}

/// The significant tokens within a pair that are in no further parentheses, those that open and close included.
fn within(source: &SourceText, pair: &Pair) -> Vec<usize> {
    let mut depth = 0usize;
    let mut found = Vec::new();
    for at in pair.open + 1..pair.close {
        match source.tokens[at].token {
            Token::Whitespace(_) => continue,
            Token::RParen => depth = depth.saturating_sub(1),
            _ => {}
        }
        if depth == 0 {
            found.push(at);
        }
        if source.tokens[at].token == Token::LParen {
            depth += 1;
        }
    }
    found
}

/// Returns true if the tokens are a query, or one in parentheses.
fn is_query(source: &SourceText, tokens: &[usize]) -> bool {
    let Some(&first) = tokens.first() else { return true };
    match &source.tokens[first].token {
        Token::Word(Word { quote_style: None, .. }) => {
            matches!(source.keyword(first), Keyword::SELECT | Keyword::WITH | Keyword::VALUES | Keyword::TABLE)
        }
        Token::Word(_) => false,
        // `((SELECT ..) UNION ..)` is a query, `((SELECT ..) x)` a table.
        Token::LParen => match tokens.get(2).map(|at| (source.keyword(*at), &source.tokens[*at].token)) {
            None => true,
            Some((Keyword::UNION | Keyword::EXCEPT | Keyword::INTERSECT | Keyword::ORDER | Keyword::LIMIT, _)) => true,
            Some(_) => false,
        },
        _ => true,
    }
}

fn is_join(source: &SourceText, at: usize) -> bool {
    matches!(source.keyword(at), Keyword::JOIN | Keyword::STRAIGHT_JOIN)
}

/// Takes the parentheses of a single table away.
fn unwrap_single(source: &mut SourceText, pair: &Pair) {
    let tokens = within(source, pair);
    // `((SELECT ..) x)` is none that MySQL takes.
    if tokens.first().is_some_and(|at| source.tokens[*at].token == Token::LParen) {
        return;
    }
    let has_several = tokens.iter().any(|at| source.tokens[*at].token == Token::Comma || is_join(source, *at));
    if has_several || is_query(source, &tokens) {
        return;
    }
    for at in [pair.open, pair.close] {
        source.tokens[at].token = Token::Whitespace(Whitespace::Space);
    }
}

/// Finds the commas of a list of tables in parentheses, and where parentheses go around its joins.
fn find_commas(source: &SourceText, pair: &Pair, commas: &mut Vec<usize>, wrapped: &mut Vec<(usize, Token)>) {
    let tokens = within(source, pair);
    if is_query(source, &tokens) {
        return;
    }
    let parts: Vec<&[usize]> = tokens.split(|at| source.tokens[*at].token == Token::Comma).collect();
    if parts.len() < 2 {
        return;
    }
    commas.extend(tokens.iter().filter(|at| source.tokens[**at].token == Token::Comma));
    for part in parts {
        if let (Some(first), Some(last)) = (part.first(), part.last())
            && part.iter().any(|at| is_join(source, *at))
        {
            wrapped.extend([(*first, Token::LParen), (last + 1, Token::RParen)]);
        }
    }
}
