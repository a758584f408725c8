//! LIKE: `%` any characters, `_` exactly one, anything else the same character under the collation.
//!
//! MySQL matches character by character (manual 14.8.1), so 'ä' LIKE 'ae' is false even where 'ä' = 'ae', and spaces
//! at the end count. Patterns of literal pieces between `%` are searched as bytes: exactly where the collation is
//! binary, in lower case where only the case of ASCII letters matters, which is so whenever pattern and value are
//! ASCII.

use super::Collation;
use memchr::memmem;

/// A pattern, ready to match many values.
#[derive(Debug, Clone)]
pub struct LikePattern {
    tokens: Vec<Token>,
    collation: Collation,
    search: Option<Search>,
    literal_prefix: String,
    /// True if the pattern is a byte string, whose tokens are bytes.
    is_of_bytes: bool,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Token {
    Char(char),
    /// `_`
    One,
    /// `%`
    Any,
}

/// A pattern without `_`: `first % middle[0] % middle[1] % .. % last`, or only `first`, which is then the whole value.
#[derive(Debug, Clone)]
struct Search {
    first: Vec<u8>,
    middle: Vec<memmem::Finder<'static>>,
    /// `None`: there is no `%` at all.
    last: Option<Vec<u8>>,
    /// The pieces are in lower case and so must the value be; only for ASCII values.
    fold_case: bool,
}

/// Values up to this many bytes are put into lower case without allocating.
const STACK_BYTES: usize = 256;

impl LikePattern {
    /// `escape`: the character that takes the meaning from the next one; MySQL's default is a backslash, and `None`
    /// is `ESCAPE ''`.
    pub fn new(pattern: &str, escape: Option<char>, collation: Collation) -> LikePattern {
        let tokens = tokens_of(pattern.chars(), escape);
        let literal_prefix =
            tokens.iter().map_while(|t| if let Token::Char(c) = t { Some(*c) } else { None }).collect();
        let search = Search::new(&tokens, collation);
        LikePattern { tokens, collation, search, literal_prefix, is_of_bytes: false }
    }

    /// A pattern for byte strings: `_` is one byte. An `escape` beyond ASCII is no byte, and escapes nothing.
    pub fn of_bytes(pattern: &[u8], escape: Option<char>) -> LikePattern {
        let escape = escape.filter(char::is_ascii);
        let tokens = tokens_of(pattern.iter().map(|byte| char::from(*byte)), escape);
        let search = Search::of_bytes(&tokens);
        LikePattern { tokens, collation: Collation::Binary, search, literal_prefix: String::new(), is_of_bytes: true }
    }

    /// The text that every matching value begins with, up to the collation's idea of equal characters.
    pub fn literal_prefix(&self) -> &str {
        &self.literal_prefix
    }

    /// Returns true if the pattern has no wildcard.
    pub fn is_literal(&self) -> bool {
        self.tokens.iter().all(|t| matches!(t, Token::Char(_)))
    }

    /// Returns true if the pattern is its [literal prefix](Self::literal_prefix) and then anything: `'abc%'`.
    pub fn is_prefix(&self) -> bool {
        matches!(self.tokens.as_slice(), [first @ .., Token::Any] if first.iter().all(|t| matches!(t, Token::Char(_))))
    }

    pub fn matches(&self, value: &str) -> bool {
        match &self.search {
            _ if self.is_of_bytes => self.matches_bytes(value.as_bytes()),
            Some(search) if !search.fold_case => search.matches(value.as_bytes()),
            Some(search) if value.is_ascii() => search.matches_folded(value.as_bytes()),
            _ => wildcard_match(&self.tokens, value.chars(), |p, v| self.collation.chars_equal(p, v)),
        }
    }

    /// Byte strings: `_` is one byte.
    pub fn matches_bytes(&self, value: &[u8]) -> bool {
        match &self.search {
            Some(search) if !search.fold_case => search.matches(value),
            _ if self.is_of_bytes => bytes_match(&self.tokens, value),
            _ => {
                let mut tokens = Vec::with_capacity(self.tokens.len());
                for token in &self.tokens {
                    match token {
                        Token::Char(c) => {
                            tokens.extend(c.encode_utf8(&mut [0; 4]).bytes().map(|b| Token::Char(b as char)));
                        }
                        other => tokens.push(*other),
                    }
                }
                bytes_match(&tokens, value)
            }
        }
    }
}

/// The tokens of a pattern. `escape`: as [`LikePattern::new`] has it.
fn tokens_of(mut pattern: impl Iterator<Item = char>, escape: Option<char>) -> Vec<Token> {
    let mut tokens = Vec::new();
    while let Some(c) = pattern.next() {
        let token = match c {
            // An escape character at the very end stands for itself.
            _ if Some(c) == escape => Token::Char(pattern.next().unwrap_or(c)),
            '%' if tokens.last() == Some(&Token::Any) => continue,
            '%' => Token::Any,
            '_' => Token::One,
            _ => Token::Char(c),
        };
        tokens.push(token);
    }
    tokens
}

/// Matches bytes against tokens each of which stands for bytes.
fn bytes_match(tokens: &[Token], value: &[u8]) -> bool {
    wildcard_match(tokens, value.iter().map(|b| char::from(*b)), |p, v| p == v)
}

impl Search {
    /// The search for a pattern of bytes.
    fn of_bytes(tokens: &[Token]) -> Option<Search> {
        let mut pieces = vec![Vec::new()];
        for token in tokens {
            match token {
                Token::Any => pieces.push(Vec::new()),
                Token::Char(c) => pieces.last_mut()?.push(u8::try_from(*c).ok()?),
                Token::One => return None,
            }
        }
        Some(Search::of_pieces(pieces, false))
    }

    /// The search for what stands between the `%` of a pattern.
    fn of_pieces(mut pieces: Vec<Vec<u8>>, fold_case: bool) -> Search {
        let last = if pieces.len() > 1 { pieces.pop() } else { None };
        let middle = pieces[1..].iter().map(|p| memmem::Finder::new(p).into_owned()).collect();
        Search { first: pieces.swap_remove(0), middle, last, fold_case }
    }

    fn new(tokens: &[Token], collation: Collation) -> Option<Search> {
        let exact = collation.is_binary();
        if !exact && !collation.ascii_folds_case() {
            return None;
        }
        // Controls are left out because collations ignore them, so that any two match.
        let searchable = |c: char| exact || (c.is_ascii() && !c.is_ascii_control());
        let mut pieces = vec![Vec::new()];
        for token in tokens {
            match token {
                Token::Any => pieces.push(Vec::new()),
                Token::Char(c) if searchable(*c) => {
                    let c = if exact { *c } else { c.to_ascii_lowercase() };
                    pieces.last_mut()?.extend_from_slice(c.encode_utf8(&mut [0; 4]).as_bytes());
                }
                _ => return None,
            }
        }
        Some(Search::of_pieces(pieces, !exact))
    }

    fn matches(&self, value: &[u8]) -> bool {
        let Some(last) = &self.last else {
            return value == self.first;
        };
        let Some(mut rest) = value.strip_prefix(self.first.as_slice()) else {
            return false;
        };
        match rest.strip_suffix(last.as_slice()) {
            Some(before) => rest = before,
            None => return false,
        }
        for finder in &self.middle {
            match finder.find(rest) {
                Some(at) => rest = &rest[at + finder.needle().len()..],
                None => return false,
            }
        }
        true
    }

    fn matches_folded(&self, value: &[u8]) -> bool {
        // Both ends can be looked at without copying the value.
        let Some(last) = &self.last else {
            return value.eq_ignore_ascii_case(&self.first);
        };
        if value.len() < self.first.len() + last.len() {
            return false;
        }
        let (first, rest) = value.split_at(self.first.len());
        let (rest, end) = rest.split_at(rest.len() - last.len());
        if !first.eq_ignore_ascii_case(&self.first) || !end.eq_ignore_ascii_case(last) {
            return false;
        }
        if self.middle.is_empty() {
            return true;
        }
        if rest.len() <= STACK_BYTES {
            let mut buffer = [0; STACK_BYTES];
            let lower = &mut buffer[..rest.len()];
            lower.copy_from_slice(rest);
            lower.make_ascii_lowercase();
            self.middle_matches(lower)
        } else {
            self.middle_matches(&rest.to_ascii_lowercase())
        }
    }

    fn middle_matches(&self, mut rest: &[u8]) -> bool {
        self.middle.iter().all(|finder| match finder.find(rest) {
            Some(at) => {
                rest = &rest[at + finder.needle().len()..];
                true
            }
            None => false,
        })
    }
}

/// Greedy matching: on a mismatch, only the latest `%` takes one character more, which is enough because an earlier one
/// could only leave less for it.
fn wildcard_match<I>(tokens: &[Token], mut value: I, equal: impl Fn(char, char) -> bool) -> bool
where
    I: Iterator<Item = char> + Clone,
{
    let mut at = 0;
    let mut retry: Option<(usize, I)> = None;
    loop {
        let mut ahead = value.clone();
        let matched = match (tokens.get(at), ahead.next()) {
            (Some(Token::Any), _) => {
                at += 1;
                retry = Some((at, value.clone()));
                if at == tokens.len() {
                    return true;
                }
                continue;
            }
            (None, None) => return true,
            (Some(_), None) => return false,
            (None, Some(_)) => false,
            (Some(Token::One), Some(_)) => true,
            (Some(Token::Char(p)), Some(v)) => equal(*p, v),
        };
        if matched {
            at += 1;
            value = ahead;
            continue;
        }
        let Some((after_any, from)) = &mut retry else {
            return false;
        };
        from.next();
        at = *after_any;
        value = from.clone();
    }
}

#[cfg(test)]
#[path = "like_tests.rs"]
mod tests;
