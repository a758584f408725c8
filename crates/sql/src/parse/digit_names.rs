//! Names that begin with digits, and numbers right next to names, told apart as MySQL's lexer does (`sql_lex.cc`,
//! `MY_LEX_NUMBER_IDENT`, `MY_LEX_REAL`, `MY_LEX_IDENT_SEP`):
//!
//! ```text
//!   a.5   a.1.5     names behind a point
//!   5a    0x4g      names
//!   1.5a  1e5a      a number, and a name or word behind it
//! ```

use super::source::SourceText;
use sqlparser::tokenizer::{Token, TokenWithSpan};

/// A stretch of a text of digits, letters and points.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Lexeme {
    Name,
    Number,
    Hexadecimal,
    Point,
    /// A number with an exponent that has no digits.
    Broken,
}

/// Replaces the tokens of such stretches that sqlparser reads in another way.
pub(super) fn separate(source: &mut SourceText) {
    let mut at = 0;
    while at < source.tokens.len() {
        let Some((text, behind)) = stretch(source, at) else {
            at += 1;
            continue;
        };
        let lexemes = lexemes(text, follows_name(source, at));
        let tokens: Vec<(Token, usize)> = lexemes.iter().map(|(kind, part)| (token(*kind, part), part.len())).collect();
        let is_same = tokens.len() == behind - at
            && tokens.iter().zip(&source.tokens[at..behind]).all(|((token, _), known)| *token == known.token);
        let count = tokens.len();
        if !is_same {
            replace(source, at, behind, tokens);
        }
        at += count.max(1);
    }
}

/// The text that begins at a token with a digit, as far as digits, letters and points reach, and the token behind it.
/// `None` for a token that is nothing but a number of digits.
fn stretch<'a>(source: &SourceText<'a>, at: usize) -> Option<(&'a str, usize)> {
    let text = source.readable;
    let start = source.starts[at];
    let bytes = text.as_bytes();
    let is_digit = |at: usize| bytes.get(at).is_some_and(u8::is_ascii_digit);
    let begins = match &source.tokens[at].token {
        Token::Number(..) | Token::HexStringLiteral(_) => true,
        Token::Word(word) => word.quote_style.is_none(),
        _ => false,
    };
    if !begins || !(is_digit(start) || bytes.get(start) == Some(&b'.') && is_digit(start + 1)) {
        return None;
    }
    let mut end = start;
    while let Some(b) = bytes.get(end) {
        let is_sign = matches!(b, b'+' | b'-')
            && matches!(bytes[end - 1], b'e' | b'E')
            && is_digit(end + 1)
            && bytes[start..end - 1].iter().all(|b| b.is_ascii_digit() || *b == b'.');
        if !is_name_byte(*b) && *b != b'.' && !is_sign {
            break;
        }
        end += 1;
    }
    let count = source.starts[at..].iter().take_while(|start| **start < end).count();
    let behind = at + count;
    // The end of a text has a token of no length.
    let is_whole = source.ends[behind - 1] == end;
    let is_plain = count == 1 && bytes[start..end].iter().all(u8::is_ascii_digit) && !follows_name(source, at);
    (is_whole && !is_plain).then(|| (&text[start..end], behind))
}

/// Returns true if a point stands right in front of a token, and a name right in front of that.
fn follows_name(source: &SourceText, at: usize) -> bool {
    let Some(name) = at.checked_sub(2) else { return false };
    let is_name = matches!(
        &source.tokens[name].token,
        Token::Word(word) if word.quote_style.is_none() && !word.value.starts_with('@')
    );
    is_name
        && source.tokens[at - 1].token == Token::Period
        && source.ends[name] == source.starts[at - 1]
        && source.ends[at - 1] == source.starts[at]
}

fn is_name_byte(b: u8) -> bool {
    b.is_ascii_alphanumeric() || b == b'_' || b == b'$' || b >= 0x80
}

/// The lexemes of a stretch; `is_name`: it begins with a name, whatever it looks like.
fn lexemes(text: &str, mut is_name: bool) -> Vec<(Lexeme, &str)> {
    let bytes = text.as_bytes();
    let end_of = |from: usize, wanted: fn(&u8) -> bool| from + bytes[from..].iter().take_while(|b| wanted(b)).count();
    let (mut found, mut at) = (Vec::new(), 0);
    while at < bytes.len() {
        let name_end = end_of(at, |b| is_name_byte(*b));
        let (kind, end) = match bytes[at] {
            b'.' if !is_name && bytes.get(at + 1).is_some_and(u8::is_ascii_digit) => fraction(bytes, at),
            b'.' => (Lexeme::Point, at + 1),
            _ if is_name => (Lexeme::Name, name_end),
            b'0'..=b'9' => number(bytes, at, name_end),
            _ => (Lexeme::Name, name_end),
        };
        found.push((kind, &text[at..end]));
        // A point between two names belongs to neither.
        is_name = match kind {
            Lexeme::Name => bytes.get(end) == Some(&b'.') && bytes.get(end + 1).is_some_and(|b| is_name_byte(*b)),
            Lexeme::Point => is_name,
            Lexeme::Number | Lexeme::Hexadecimal | Lexeme::Broken => false,
        };
        at = end;
    }
    found
}

/// What begins with a digit, and its end; `name_end`: where it ends if it is a name.
fn number(bytes: &[u8], at: usize, name_end: usize) -> (Lexeme, usize) {
    let digits = |from: usize| from + bytes[from..].iter().take_while(|b| b.is_ascii_digit()).count();
    let hexadecimal = bytes[at..].starts_with(b"0x") && name_end > at + 2;
    if hexadecimal && bytes[at + 2..name_end].iter().all(u8::is_ascii_hexdigit) {
        return (Lexeme::Hexadecimal, name_end);
    }
    let end = digits(at);
    match exponent_end(bytes, end) {
        Some(exponent) => (Lexeme::Number, exponent),
        None if end < name_end => (Lexeme::Name, name_end),
        None if bytes.get(end) == Some(&b'.') => fraction(bytes, end),
        None => (Lexeme::Number, end),
    }
}

/// A number whose point stands at `at`, and its end. Behind its digits an `e` begins an exponent, or there is no
/// number.
fn fraction(bytes: &[u8], at: usize) -> (Lexeme, usize) {
    let end = at + 1 + bytes[at + 1..].iter().take_while(|b| b.is_ascii_digit()).count();
    match exponent_end(bytes, end) {
        Some(end) => (Lexeme::Number, end),
        None if matches!(bytes.get(end), Some(b'e' | b'E')) => (Lexeme::Broken, bytes.len()),
        None => (Lexeme::Number, end),
    }
}

/// The end of an exponent that begins at `at`.
fn exponent_end(bytes: &[u8], at: usize) -> Option<usize> {
    let rest = bytes.get(at..)?.strip_prefix(b"e").or_else(|| bytes.get(at..)?.strip_prefix(b"E"))?;
    let sign = usize::from(matches!(rest.first(), Some(b'+' | b'-')));
    let digits = rest[sign..].iter().take_while(|b| b.is_ascii_digit()).count();
    (digits > 0).then_some(at + 1 + sign + digits)
}

fn token(kind: Lexeme, text: &str) -> Token {
    match kind {
        Lexeme::Name => Token::make_word(text, None),
        Lexeme::Number => Token::Number(text.to_string(), false),
        Lexeme::Hexadecimal => Token::HexStringLiteral(text[2..].to_string()),
        Lexeme::Point => Token::Period,
        Lexeme::Broken => Token::Char('1'),
    }
}

/// Puts tokens, each with its length in bytes, in place of those from `at` to `behind`.
fn replace(source: &mut SourceText, at: usize, behind: usize, tokens: Vec<(Token, usize)>) {
    let (mut start, span) = (source.starts[at], source.tokens[at].span);
    let (mut column, line) = (span.start.column, span.start.line);
    let (mut starts, mut ends, mut spanned) = (Vec::new(), Vec::new(), Vec::new());
    for (token, bytes) in tokens {
        let characters = source.readable[start..start + bytes].chars().count() as u64;
        let span = sqlparser::tokenizer::Span::new(
            sqlparser::tokenizer::Location::new(line, column),
            sqlparser::tokenizer::Location::new(line, column + characters),
        );
        spanned.push(TokenWithSpan { token, span });
        starts.push(start);
        ends.push(start + bytes);
        (start, column) = (start + bytes, column + characters);
    }
    source.tokens.splice(at..behind, spanned);
    source.starts.splice(at..behind, starts);
    source.ends.splice(at..behind, ends);
}

#[cfg(test)]
mod tests {
    use super::{Lexeme::*, *};

    #[test]
    fn digits_are_names_or_numbers() {
        for (text, want) in [
            ("5", vec![(Number, "5")]),
            ("1.5", vec![(Number, "1.5")]),
            ("1.5a", vec![(Number, "1.5"), (Name, "a")]),
            ("1.a", vec![(Number, "1."), (Name, "a")]),
            (".5a", vec![(Number, ".5"), (Name, "a")]),
            ("1e5a", vec![(Number, "1e5"), (Name, "a")]),
            ("1E+5", vec![(Number, "1E+5")]),
            ("1ea", vec![(Name, "1ea")]),
            ("5a.5", vec![(Name, "5a"), (Point, "."), (Name, "5")]),
            ("0x4F", vec![(Hexadecimal, "0x4F")]),
            ("0x4g", vec![(Name, "0x4g")]),
            ("0x", vec![(Name, "0x")]),
            ("1.5e", vec![(Broken, "1.5e")]),
        ] {
            assert_eq!(lexemes(text, false), want, "{text}");
        }
        assert_eq!(lexemes("1.5e1", true), [(Name, "1"), (Point, "."), (Name, "5e1")]);
        assert_eq!(lexemes("0x41", true), [(Name, "0x41")]);
    }
}
