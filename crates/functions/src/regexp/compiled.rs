//! Compiled patterns, how they are searched for, and the few that each thread remembers.

use super::{
    pattern_error::{illegal_argument, internal, too_big},
    translate::{LineEnds, Modes, Translation, translate},
};
use muster_types::Result;
use regex::{Captures, Match, Regex, RegexBuilder};
use std::{cell::RefCell, rc::Rc};

/// Most bytes of a compiled pattern, and of the states that its search remembers.
const COMPILED_BYTES_MAX: usize = 1 << 20;

/// Number of patterns that a thread remembers: those of the calls of a statement.
const REMEMBERED: usize = 8;

/// A pattern as MySQL's functions search for it.
#[derive(Debug)]
pub struct Pattern {
    regex: Regex,
    final_line: Option<LineEnds>,
    has_line_start: bool,
    is_lazy: bool,
    group_count: usize,
    names: Vec<(String, usize)>,
}

thread_local! {
    /// The patterns used last, the latest at the end.
    static LATEST: RefCell<Vec<((String, Modes), Rc<Pattern>)>> = const { RefCell::new(Vec::new()) };
}

impl Pattern {
    /// The compiled pattern; the thread compiles it once as long as it has no more than a few in use. Errors: MySQL's.
    pub fn of(text: &str, modes: Modes) -> Result<Rc<Pattern>> {
        LATEST.with_borrow_mut(|latest| {
            if let Some(((t, m), pattern)) = latest.last()
                && t == text
                && *m == modes
            {
                return Ok(pattern.clone());
            }
            if let Some(i) = latest.iter().rposition(|((t, m), _)| t == text && *m == modes) {
                let remembered = latest.remove(i);
                let pattern = remembered.1.clone();
                latest.push(remembered);
                return Ok(pattern);
            }
            let pattern = Rc::new(Pattern::compile(text, modes)?);
            if latest.len() == REMEMBERED {
                latest.remove(0);
            }
            latest.push(((text.to_string(), modes), pattern.clone()));
            Ok(pattern)
        })
    }

    fn compile(text: &str, modes: Modes) -> Result<Pattern> {
        if text.is_empty() {
            return Err(illegal_argument());
        }
        let translation = translate(text, modes)?;
        let mut builder = RegexBuilder::new(&translation.pattern);
        builder.case_insensitive(modes.ignores_case);
        builder.size_limit(COMPILED_BYTES_MAX).dfa_size_limit(COMPILED_BYTES_MAX);
        let regex = builder.build().map_err(|e| match e {
            regex::Error::CompiledTooBig(_) => too_big(),
            _ => internal(),
        })?;
        let Translation { final_line, has_line_start, is_lazy, group_count, names, .. } = translation;
        Ok(Pattern { regex, final_line, has_line_start, is_lazy, group_count, names })
    }

    pub fn is_match(&self, text: &str) -> bool {
        self.regex.is_match(text) || self.without_last_line_end(text).is_some_and(|start| self.regex.is_match(start))
    }

    /// The text without its last line terminator, if the end that the pattern asks for is also in front of that.
    fn without_last_line_end<'t>(&self, text: &'t str) -> Option<&'t str> {
        let start = match self.final_line? {
            LineEnds::Unix => text.strip_suffix('\n')?,
            LineEnds::All => text.strip_suffix("\r\n").or_else(|| text.strip_suffix(ends_line))?,
        };
        Some(start)
    }

    /// The first match that begins at byte `from` or behind it.
    pub fn find_at<'t>(&self, text: &'t str, from: usize) -> Option<Found<'t>> {
        let find = |searched: &'t str| {
            let whole = self.regex.find_at(searched, from)?;
            Some(Found { searched, whole })
        };
        // There is no line behind the last line terminator.
        let is_no_line = |found: &Found<'_>| {
            let start = found.whole.start();
            self.has_line_start && start > 0 && start == text.len() && text.ends_with(ends_line)
        };
        let whole = find(text).filter(|found| !is_no_line(found));
        let start = self.without_last_line_end(text).filter(|start| from <= start.len());
        let Some(shorter) = start.and_then(find) else { return whole };
        match whole {
            Some(whole) => {
                let (start, other) = (whole.whole.start(), shorter.whole.start());
                let is_first = start < other || start == other && !self.is_lazy;
                Some(if is_first { whole } else { shorter })
            }
            None => Some(shorter),
        }
    }

    /// The groups of a match, which a search for the match alone does not look for.
    pub fn groups<'t>(&self, found: &Found<'t>) -> Option<Captures<'t>> {
        self.regex.captures_at(found.searched, found.whole.start())
    }

    /// The match number `occurrence`, counted from 1, of those that begin at byte `from` or behind it.
    pub fn occurrence<'t>(&self, text: &'t str, from: usize, occurrence: i64) -> Option<Match<'t>> {
        let mut matches = Matches { pattern: self, text, from: Some(from) };
        matches.nth(usize::try_from(occurrence.max(1) - 1).unwrap_or(usize::MAX)).map(|found| found.whole)
    }

    /// The matches that begin at byte `from` or behind it, one behind the other.
    pub fn matches<'p, 't>(&'p self, text: &'t str, from: usize) -> Matches<'p, 't> {
        Matches { pattern: self, text, from: Some(from) }
    }

    /// Number of groups without the whole match.
    pub fn group_count(&self) -> usize {
        self.group_count
    }

    pub fn group_named(&self, name: &str) -> Option<usize> {
        self.names.iter().find(|(other, _)| other == name).map(|(_, number)| *number)
    }
}

/// A match.
#[derive(Debug, Clone, Copy)]
pub struct Found<'t> {
    /// The text, or its part in front of the last line end, in which the match was found.
    searched: &'t str,
    pub whole: Match<'t>,
}

/// Returns true for the characters that end a line in ICU.
fn ends_line(c: char) -> bool {
    matches!(c, '\n'..='\r' | '\u{85}' | '\u{2028}' | '\u{2029}')
}

/// Matches of a text. Behind a match that is not empty there may be an empty one, as in ICU.
pub struct Matches<'p, 't> {
    pattern: &'p Pattern,
    text: &'t str,
    from: Option<usize>,
}

impl<'t> Iterator for Matches<'_, 't> {
    type Item = Found<'t>;

    fn next(&mut self) -> Option<Found<'t>> {
        let found = self.pattern.find_at(self.text, self.from.take()?)?;
        let range = found.whole.range();
        self.from = match range.is_empty() {
            false => Some(range.end),
            true => self.text[range.end..].chars().next().map(|c| range.end + c.len_utf8()),
        };
        Some(found)
    }
}
