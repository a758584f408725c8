//! Literals of texts, where sqlparser reads others than MySQL does: it knows escapes that MySQL has not (`\a`, `\f`),
//! and takes the text behind `_latin1'a'` or `N'a'` for an alias, where MySQL joins both (manual 11.1.1).

use super::{encoding::literal_text, is_introducer, source::SourceText};
use sqlparser::{
    keywords::Keyword,
    tokenizer::{Token, Whitespace, Word},
};

/// Replaces such tokens.
pub(super) fn reread(source: &mut SourceText) {
    for at in 0..source.tokens.len() {
        reread_escapes(source, at);
    }
    let significant = source.significant();
    let mut first: Option<usize> = None;
    for (i, &at) in significant.iter().enumerate() {
        let before = i.checked_sub(1).map(|before| significant[before]);
        match (&source.tokens[at].token, first) {
            (Token::SingleQuotedString(more) | Token::DoubleQuotedString(more), Some(first)) => {
                let more = more.clone();
                if let Some(text) = text_of(&mut source.tokens[first].token) {
                    text.push_str(&more);
                    source.tokens[at].token = Token::Whitespace(Whitespace::Space);
                    source.ends[first] = source.ends[at];
                    source.tokens[first].span.end = source.tokens[at].span.end;
                }
            }
            (Token::NationalStringLiteral(_), _) => first = Some(at),
            (Token::SingleQuotedString(_) | Token::DoubleQuotedString(_), None) => {
                first = before.filter(|before| is_bare_introducer(&source.tokens[*before].token)).map(|_| at);
            }
            _ => first = None,
        }
    }
}

fn reread_escapes(source: &mut SourceText, at: usize) {
    let (text, modes) = (source.readable, source.modes);
    let written = &text[source.starts[at]..source.ends[at]];
    let Some(kept) = text_of(&mut source.tokens[at].token) else { return };
    if !written.contains("\\a") && !written.contains("\\f") {
        return;
    }
    let quoted = written.find(['\'', '"']).map(|quote| &written[quote..]);
    if let Some(read) = quoted.and_then(|quoted| literal_text(quoted, modes)) {
        *kept = read;
    }
}

/// The text of a literal.
fn text_of(token: &mut Token) -> Option<&mut String> {
    match token {
        Token::SingleQuotedString(text) | Token::DoubleQuotedString(text) | Token::NationalStringLiteral(text) => {
            Some(text)
        }
        _ => None,
    }
}

/// Returns true for `_latin1`.
fn is_bare_introducer(token: &Token) -> bool {
    matches!(token, Token::Word(Word { value, quote_style: None, keyword: Keyword::NoKeyword }) if is_introducer(value))
}
