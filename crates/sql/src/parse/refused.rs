//! Forms of queries that sqlparser reads and MySQL does not have: its error comes before any other.

use super::source::SourceText;
use muster_types::{ErrorCode, Result, SqlError};
use sqlparser::{
    keywords::Keyword,
    tokenizer::{Token, Word},
};

/// Most tokens in front of the word VIEW.
const VIEW_WORDS_MAX: usize = 16;

/// Error 1064 where MySQL's grammar ends, 1221 for `DISTINCT ALL`.
pub(super) fn check(source: &SourceText) -> Result<()> {
    let significant = source.significant();
    let is_query = significant.first().is_some_and(|at| {
        source.tokens[*at].token == Token::LParen || matches!(source.keyword(*at), Keyword::SELECT | Keyword::WITH)
    });
    let words: Vec<Keyword> = significant.iter().take(VIEW_WORDS_MAX).map(|at| source.keyword(*at)).collect();
    let is_view = matches!(words.first(), Some(Keyword::CREATE | Keyword::ALTER)) && words.contains(&Keyword::VIEW);
    for &at in &significant {
        // Half a byte.
        if matches!(&source.tokens[at].token, Token::HexStringLiteral(digits) if digits.len() % 2 == 1)
            && source.readable[source.starts[at]..].starts_with(['x', 'X'])
        {
            return Err(source.error_at(source.starts[at]));
        }
    }
    for pair in significant.windows(2) {
        let (first, second) = (pair[0], pair[1]);
        let refused = match (&source.tokens[first].token, &source.tokens[second].token) {
            // No alias is a variable.
            (Token::Word(_), Token::Word(name)) if source.keyword(first) == Keyword::AS && is_variable(name) => true,
            // `*` stands first in a select list, and no list ends with a comma.
            (Token::Comma, Token::Mul) => true,
            (Token::Comma, Token::Word(_)) if is_query => source.keyword(second) == Keyword::FROM,
            (Token::Word(_), _) if source.keyword(first) == Keyword::LIMIT => !is_count(&source.tokens[second].token),
            // A view's result goes nowhere.
            (_, Token::Word(_)) if is_view => source.keyword(second) == Keyword::INTO,
            // Such a clause was in MySQL up to 5.7.
            (_, Token::Word(_)) if is_query => source.keyword(second) == Keyword::PROCEDURE,
            _ => false,
        };
        if refused {
            return Err(source.error_at(source.starts[second]));
        }
    }
    for words in significant.windows(3) {
        let [a, b, c] = [0, 1, 2].map(|n| source.keyword(words[n]));
        match (a, b, c) {
            (Keyword::LIMIT, ..) if is_operator(&source.tokens[words[2]].token) => {
                return Err(source.error_at(source.starts[words[2]]));
            }
            (Keyword::SELECT, Keyword::DISTINCT, Keyword::ALL) | (Keyword::SELECT, Keyword::ALL, Keyword::DISTINCT) => {
                return Err(SqlError::new(ErrorCode::WrongUsage, "Incorrect usage of ALL and DISTINCT"));
            }
            _ => {}
        }
    }
    Ok(())
}

/// Returns true for what may be a limit: a number, a parameter or a variable of a stored program.
fn is_count(token: &Token) -> bool {
    match token {
        Token::Number(digits, _) => digits.bytes().all(|b| b.is_ascii_digit()),
        Token::Word(word) => !is_variable(word),
        token => matches!(token, Token::Placeholder(_)),
    }
}

/// Returns true for `@name`.
fn is_variable(word: &Word) -> bool {
    word.quote_style.is_none() && word.value.starts_with('@')
}

fn is_operator(token: &Token) -> bool {
    matches!(token, Token::Plus | Token::Minus | Token::Mul | Token::Div | Token::Mod)
}
