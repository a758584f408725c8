//! Paths: `$`, then legs such as `.name`, `.*`, `[3]`, `[last-1]`, `[1 to last]`, `[*]` and `**` (MySQL's manual 13.5,
//! "JSON Path Syntax"). What is wrong is told by the byte at which MySQL's parser stops.

use super::text;
use crate::{ErrorCode, SqlError};

/// A position of an array, from either end.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ArrayIndex {
    /// From the first element, which is 0.
    First(u32),
    /// From the last element, which is 0.
    Last(u32),
}

impl ArrayIndex {
    /// The position in an array of `length` elements, or how far in front of it the position would lie.
    pub fn position(self, length: usize) -> Result<usize, usize> {
        match self {
            ArrayIndex::First(n) => Ok(n as usize),
            ArrayIndex::Last(n) => (n as usize + 1..=length)
                .next()
                .map_or_else(|| Err(n as usize + 1 - length), |_| Ok(length - 1 - n as usize)),
        }
    }
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub enum PathLeg {
    Member(String),
    /// `.*`
    AnyMember,
    Element(ArrayIndex),
    /// `[1 to 3]`
    Range(ArrayIndex, ArrayIndex),
    /// `[*]`
    AnyElement,
    /// `**`: the value itself and all that is in it.
    Everywhere,
}

impl PathLeg {
    /// Returns true for a leg that treats a value that is no array as an array of it.
    pub fn wraps_scalars(&self) -> bool {
        matches!(self, PathLeg::Element(_) | PathLeg::Range(..))
    }

    fn finds_many(&self) -> bool {
        !matches!(self, PathLeg::Member(_) | PathLeg::Element(_))
    }
}

#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct JsonPath {
    pub legs: Vec<PathLeg>,
}

impl JsonPath {
    /// The path of a text. Error 3143.
    pub fn parse(text: &str) -> Result<JsonPath, SqlError> {
        let mut parser = Parser { text, at: 0 };
        match parser.path() {
            Some(path) => Ok(path),
            None => {
                let message =
                    format!("Invalid JSON path expression. The error is around character position {}.", parser.at);
                Err(SqlError::new(ErrorCode::InvalidJsonPath, message))
            }
        }
    }

    /// Returns true for a path with wildcards or ranges, which may lead to several values.
    pub fn finds_many(&self) -> bool {
        self.legs.iter().any(PathLeg::finds_many)
    }

    /// The path as JSON_SEARCH tells it.
    pub fn to_text(&self) -> String {
        let mut out = String::from("$");
        for leg in &self.legs {
            match leg {
                PathLeg::Member(name) => {
                    out.push('.');
                    if is_identifier(name) { out.push_str(name) } else { out.push_str(&super::quoted(name)) }
                }
                PathLeg::AnyMember => out.push_str(".*"),
                PathLeg::Element(index) => out.push_str(&format!("[{}]", index_text(*index))),
                PathLeg::Range(from, to) => out.push_str(&format!("[{} to {}]", index_text(*from), index_text(*to))),
                PathLeg::AnyElement => out.push_str("[*]"),
                PathLeg::Everywhere => out.push_str("**"),
            }
        }
        out
    }
}

fn index_text(index: ArrayIndex) -> String {
    match index {
        ArrayIndex::First(n) => n.to_string(),
        ArrayIndex::Last(0) => "last".into(),
        ArrayIndex::Last(n) => format!("last-{n}"),
    }
}

/// Returns true for a name that a path may have without quotation marks: an identifier of ECMAScript.
fn is_identifier(name: &str) -> bool {
    let starts = |c: char| c.is_alphabetic() || matches!(c, '$' | '_');
    let goes_on = |c: char| starts(c) || c.is_alphanumeric() || matches!(c, '\u{200C}' | '\u{200D}');
    name.chars().next().is_some_and(starts) && name.chars().all(goes_on)
}

/// Reads a path; where a method answers `None`, `at` is where the error is.
struct Parser<'a> {
    text: &'a str,
    at: usize,
}

fn is_space(byte: u8) -> bool {
    matches!(byte, b' ' | b'\t' | b'\n' | b'\r' | 0x0B | 0x0C)
}

impl Parser<'_> {
    fn peek(&self) -> Option<u8> {
        self.text.as_bytes().get(self.at).copied()
    }

    /// Goes past the next byte, and answers whether it is this one.
    fn next_is(&mut self, byte: u8) -> Option<()> {
        let next = self.peek()?;
        self.at += 1;
        (next == byte).then_some(())
    }

    fn skip_space(&mut self) {
        while self.peek().is_some_and(is_space) {
            self.at += 1;
        }
    }

    fn path(&mut self) -> Option<JsonPath> {
        self.skip_space();
        self.next_is(b'$')?;
        self.skip_space();
        let mut legs = Vec::new();
        while let Some(next) = self.peek() {
            legs.push(match next {
                b'[' => self.array_leg()?,
                b'.' => self.member_leg()?,
                b'*' => self.everywhere_leg()?,
                _ => return None,
            });
            self.skip_space();
        }
        (legs.last() != Some(&PathLeg::Everywhere)).then_some(JsonPath { legs })
    }

    fn everywhere_leg(&mut self) -> Option<PathLeg> {
        self.at += 1;
        self.next_is(b'*')?;
        (self.peek()? != b'*').then_some(PathLeg::Everywhere)
    }

    fn member_leg(&mut self) -> Option<PathLeg> {
        self.at += 1;
        self.skip_space();
        let rest = &self.text[self.at..];
        match self.peek()? {
            b'*' => {
                self.at += 1;
                Some(PathLeg::AnyMember)
            }
            b'"' => {
                let mut bytes = rest.bytes().enumerate().skip(1);
                let mut end = rest.len();
                while let Some((i, byte)) = bytes.next() {
                    match byte {
                        b'\\' => drop(bytes.next()),
                        b'"' => {
                            end = i + 1;
                            break;
                        }
                        _ => {}
                    }
                }
                self.at += end;
                text::unescape(&rest[..end]).ok().map(PathLeg::Member)
            }
            _ => {
                let is_end = |byte: u8| is_space(byte) || matches!(byte, b'[' | b'.' | b'*');
                let end = rest.bytes().position(is_end).unwrap_or(rest.len());
                self.at += end;
                let name = text::unescape(&format!("\"{}\"", &rest[..end])).ok()?;
                is_identifier(&name).then_some(PathLeg::Member(name))
            }
        }
    }

    fn array_leg(&mut self) -> Option<PathLeg> {
        self.at += 1;
        self.skip_space();
        let leg = if self.peek()? == b'*' {
            self.at += 1;
            PathLeg::AnyElement
        } else {
            let from = self.index()?;
            let end = self.at;
            self.skip_space();
            let rest = &self.text.as_bytes()[self.at..];
            if self.at > end && rest.len() > 3 && rest.starts_with(b"to") && is_space(rest[2]) {
                self.at += 2;
                self.skip_space();
                let to = self.index()?;
                let never = match (from, to) {
                    (ArrayIndex::First(a), ArrayIndex::First(b)) => a > b,
                    (ArrayIndex::Last(a), ArrayIndex::Last(b)) => a < b,
                    _ => false,
                };
                if never {
                    return None;
                }
                PathLeg::Range(from, to)
            } else {
                PathLeg::Element(from)
            }
        };
        self.skip_space();
        self.next_is(b']')?;
        Some(leg)
    }

    fn index(&mut self) -> Option<ArrayIndex> {
        if !self.text[self.at..].starts_with("last") {
            return self.number().map(ArrayIndex::First);
        }
        self.at += 4;
        let end = self.at;
        self.skip_space();
        if self.peek() != Some(b'-') {
            self.at = end;
            return Some(ArrayIndex::Last(0));
        }
        self.at += 1;
        self.skip_space();
        self.number().map(ArrayIndex::Last)
    }

    fn number(&mut self) -> Option<u32> {
        let rest = &self.text[self.at..];
        let digits = rest.bytes().take_while(u8::is_ascii_digit).count();
        let number = rest[..digits].parse().ok()?;
        self.at += digits;
        Some(number)
    }
}
