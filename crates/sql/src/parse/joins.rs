//! The assignment of each ON to its JOIN.
//!
//! MySQL leaves out the ON of an inner join where it likes, and then all joins group from the left: `a JOIN b LEFT JOIN
//! c ON ..` extends the rows of `a JOIN b`. An ON belongs to the nearest join before it that has none yet, so that in
//! `a LEFT JOIN b JOIN c ON .. ON ..` the second one is that of `a` with `b JOIN c`. sqlparser knows one of the two
//! ways at a time. It is told to group from the left, and parentheses are put around what an ON has to reach over.

use super::source::SourceText;
use sqlparser::{keywords::Keyword, tokenizer::Token};

/// The joins of one FROM clause up to some token.
#[derive(Default)]
struct Joins {
    /// The tokens that end the JOINs still without ON, and how many joins there were with each.
    open: Vec<(usize, usize)>,
    count: usize,
}

/// Puts parentheses around `b JOIN c ON ..` where it is the right side of a join whose ON follows.
pub(super) fn group(source: &mut SourceText) {
    let significant = source.significant();
    let mut clauses = vec![Joins::default()];
    let mut inserted: Vec<(usize, Token)> = Vec::new();
    for (n, &at) in significant.iter().enumerate() {
        match source.tokens[at].token {
            Token::LParen => clauses.push(Joins::default()),
            Token::RParen if clauses.len() > 1 => drop(clauses.pop()),
            _ => {}
        }
        let Some(clause) = clauses.last_mut() else { continue };
        match source.keyword(at) {
            Keyword::SELECT | Keyword::FROM => *clause = Joins::default(),
            Keyword::JOIN | Keyword::STRAIGHT_JOIN => {
                clause.count += 1;
                let before: Vec<Keyword> = significant[..n].iter().rev().take(3).map(|i| source.keyword(*i)).collect();
                match before[..] {
                    [Keyword::FOR, ..] => clause.count -= 1,
                    [Keyword::NATURAL, ..]
                    | [Keyword::INNER | Keyword::LEFT | Keyword::RIGHT, Keyword::NATURAL, ..]
                    | [Keyword::OUTER, Keyword::LEFT | Keyword::RIGHT, Keyword::NATURAL] => {}
                    _ => clause.open.push((at, clause.count)),
                }
            }
            Keyword::ON | Keyword::USING => {
                let Some((join, number)) = clause.open.pop() else { continue };
                if number < clause.count {
                    inserted.extend([(join + 1, Token::LParen), (at, Token::RParen)]);
                }
            }
            _ => {}
        }
    }
    // From the end, so that places stay. No two stand at one place.
    inserted.sort_by_key(|(at, _)| *at);
    for (at, token) in inserted.into_iter().rev() {
        source.insert(at, token);
    }
}
