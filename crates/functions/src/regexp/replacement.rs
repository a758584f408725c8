//! The replacement of REGEXP_REPLACE: text with `$1`, `${name}` and escaped characters.

use super::{
    compiled::{Found, Pattern},
    pattern_error::{index_out_of_bounds, invalid_group_name},
};
use muster_types::Result;
use regex::Captures;

/// A piece of a replacement.
#[derive(Debug, PartialEq)]
enum Piece {
    Text(String),
    Group(usize),
}

/// A replacement for the matches of one pattern.
#[derive(Debug)]
pub struct Replacement {
    pieces: Vec<Piece>,
}

impl Replacement {
    /// Reads a replacement. Errors: 3686 for a group that the pattern does not have, 3887 for a name that it does not
    /// have.
    pub fn parse(text: &str, pattern: &Pattern) -> Result<Replacement> {
        let chars: Vec<char> = text.chars().collect();
        let mut pieces = Vec::new();
        let mut literal = String::new();
        let mut at = 0;
        while let Some(c) = chars.get(at).copied() {
            at += 1;
            match c {
                '\\' => at += escaped(&chars[at..], &mut literal),
                '$' => {
                    let (group, length) = group(&chars[at..], pattern)?;
                    at += length;
                    pieces.push(Piece::Text(std::mem::take(&mut literal)));
                    pieces.push(Piece::Group(group));
                }
                c => literal.push(c),
            }
        }
        pieces.push(Piece::Text(literal));
        pieces.retain(|piece| *piece != Piece::Text(String::new()));
        Ok(Replacement { pieces })
    }

    /// The groups of a match, as far as the replacement has them.
    pub fn groups<'t>(&self, pattern: &Pattern, found: &Found<'t>) -> Groups<'t> {
        let has_groups = self.pieces.iter().any(|piece| matches!(piece, Piece::Group(1..)));
        Groups { whole: found.whole.as_str(), others: if has_groups { pattern.groups(found) } else { None } }
    }

    pub fn append(&self, groups: &Groups<'_>, out: &mut String) {
        for piece in &self.pieces {
            out.push_str(groups.text(piece));
        }
    }

    /// Bytes that the replacement of a match takes.
    pub fn bytes(&self, groups: &Groups<'_>) -> usize {
        self.pieces.iter().map(|piece| groups.text(piece).len()).sum()
    }
}

/// A match with its groups.
pub struct Groups<'t> {
    whole: &'t str,
    others: Option<Captures<'t>>,
}

impl Groups<'_> {
    /// The text that a piece of the replacement becomes.
    fn text<'a>(&'a self, piece: &'a Piece) -> &'a str {
        match piece {
            Piece::Text(text) => text,
            Piece::Group(0) => self.whole,
            Piece::Group(group) => {
                let found = self.others.as_ref().and_then(|others| others.get(*group));
                found.map_or("", |found| found.as_str())
            }
        }
    }
}

/// Appends what a backslash and the characters behind it stand for, and returns how many of these there are.
fn escaped(rest: &[char], literal: &mut String) -> usize {
    let digits = match rest.first() {
        None => return 0,
        Some('u') => 4,
        Some('U') => 8,
        Some(c) => {
            literal.push(*c);
            return 1;
        }
    };
    let number = rest.get(1..=digits).map(|digits| digits.iter().collect::<String>());
    match number.and_then(|n| char::from_u32(u32::from_str_radix(&n, 16).ok()?)) {
        Some(c) => {
            literal.push(c);
            digits + 1
        }
        None => {
            literal.extend(rest.first());
            1
        }
    }
}

/// The group that is meant by what follows a dollar sign, and how many characters name it.
fn group(rest: &[char], pattern: &Pattern) -> Result<(usize, usize)> {
    match rest.first() {
        Some('{') => {
            let length = rest.iter().position(|c| *c == '}').ok_or_else(invalid_group_name)?;
            let name: String = rest[1..length].iter().collect();
            let group = pattern.group_named(&name).filter(|_| !name.is_empty()).ok_or_else(invalid_group_name)?;
            Ok((group, length + 1))
        }
        Some(first) => {
            let digit = |c: &char| c.to_digit(10).map(|d| d as usize);
            let mut group = digit(first).ok_or_else(invalid_group_name)?;
            if group > pattern.group_count() {
                return Err(index_out_of_bounds());
            }
            let mut length = 1;
            // Further digits belong to the number as long as there is such a group.
            while let Some(digit) = rest.get(length).and_then(digit)
                && group * 10 + digit <= pattern.group_count()
            {
                group = group * 10 + digit;
                length += 1;
            }
            Ok((group, length))
        }
        None => Err(invalid_group_name()),
    }
}
