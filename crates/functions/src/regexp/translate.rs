//! A pattern in ICU's syntax, which is MySQL's, becomes one of the crate `regex`.
//!
//! The translation reads the whole pattern and reports what is wrong with it as MySQL does. What the crate has not,
//! because it cannot be matched in linear time, is error 3690: back-references, look-ahead and look-behind, atomic
//! groups, possessive quantifiers, `\G`, `\X` and characters by name. These constructs mean something else in the two
//! syntaxes, so they are written out:
//!
//! ```text
//!   .            every character but a line terminator, of which ICU has seven and the sequence \r\n
//!   ^ $ \Z       the end of a text is also in front of its last line terminator
//!   \h \v \R     spaces, line terminators
//!   [[:alpha:]]  of all of Unicode
//!   \Q..\E       literal text
//! ```

use super::{
    class,
    pattern_error::{
        bad_back_reference, bad_escape, bad_interval, invalid_flag, invalid_group_name, maximum_less_than_minimum,
        mismatched_parenthesis, number_too_big, syntax, unimplemented,
    },
};
use muster_types::Result;

/// Line terminators as part of a character class.
pub(super) const LINE_TERMINATORS: &str = r"\n\x0B\x0C\r\x{85}\x{2028}\x{2029}";

/// The match modes that a pattern begins with (the last argument of the functions), and that `(?flags)` change.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
pub struct Modes {
    pub ignores_case: bool,
    /// `^` and `$` are the ends of lines.
    pub multi_line: bool,
    /// `.` is also a line terminator.
    pub dot_all: bool,
    /// Only `\n` ends a line.
    pub unix_lines: bool,
    /// Spaces and comments in the pattern count for nothing.
    pub comments: bool,
}

/// A translated pattern.
#[derive(Debug)]
pub struct Translation {
    pub pattern: String,
    /// How lines end if the pattern asks for the end of the text, which is also in front of the last line terminator.
    pub final_line: Option<LineEnds>,
    /// True if the pattern asks for the beginning of a line, which is not behind the last line terminator of the text.
    pub has_line_start: bool,
    /// True if a quantifier takes as little as it can.
    pub is_lazy: bool,
    /// Groups of the pattern, also those that the search never comes to.
    pub group_count: usize,
    /// Names of groups, with their numbers.
    pub names: Vec<(String, usize)>,
}

/// Which characters end a line.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum LineEnds {
    Unix,
    All,
}

/// A group that is open.
struct OpenGroup {
    /// The modes behind the group.
    modes: Modes,
    /// True for look-ahead and look-behind, which no quantifier may follow.
    is_assertion: bool,
}

pub(super) struct Translator {
    pub chars: Vec<char>,
    /// Position of the next character.
    pub at: usize,
    pub out: String,
    pub modes: Modes,
    groups: Vec<OpenGroup>,
    /// Number of capture groups so far.
    captures: u32,
    names: Vec<(String, usize)>,
    /// The largest first digit of a back-reference.
    back_reference: u32,
    final_line: Option<LineEnds>,
    has_line_start: bool,
    is_lazy: bool,
    /// True if a quantifier may follow.
    is_quantifiable: bool,
    /// The first construct that the crate does not have was met.
    is_unimplemented: bool,
}

/// The meaning of a backslash and the characters behind it.
pub(super) enum Escape {
    Literal(char),
    /// A set of characters, in the crate's syntax; also valid within brackets.
    Class(String),
    /// A position, in the crate's syntax.
    Assertion(&'static str),
    /// The end of the text or in front of its last line terminator.
    TextEnd,
    LineBreak,
    BackReference(u32),
    NamedReference(String),
    /// `\Q`: literal text follows.
    Quote,
    Unimplemented,
}

/// Translates a pattern. Errors: MySQL's (3685 and following).
pub fn translate(pattern: &str, modes: Modes) -> Result<Translation> {
    let mut translator = Translator {
        chars: pattern.chars().collect(),
        at: 0,
        out: String::with_capacity(pattern.len() + 16),
        modes,
        groups: Vec::new(),
        captures: 0,
        names: Vec::new(),
        back_reference: 0,
        final_line: None,
        has_line_start: false,
        is_lazy: false,
        is_quantifiable: false,
        is_unimplemented: false,
    };
    while let Some(c) = translator.next() {
        translator.term(c)?;
    }
    if !translator.groups.is_empty() {
        return Err(mismatched_parenthesis());
    }
    if translator.back_reference > translator.captures {
        return Err(bad_back_reference());
    }
    if translator.back_reference > 0 || translator.is_unimplemented {
        return Err(unimplemented());
    }
    let Translator { out: pattern, final_line, has_line_start, is_lazy, captures, names, .. } = translator;
    Ok(Translation { pattern, final_line, has_line_start, is_lazy, group_count: captures as usize, names })
}

impl Translator {
    pub fn peek(&self) -> Option<char> {
        self.chars.get(self.at).copied()
    }

    pub fn next(&mut self) -> Option<char> {
        let c = self.peek()?;
        self.at += 1;
        Some(c)
    }

    pub fn take(&mut self, c: char) -> bool {
        let is_next = self.peek() == Some(c);
        self.at += usize::from(is_next);
        is_next
    }

    /// Error 3688 at the character read last.
    pub fn syntax_here(&self) -> muster_types::SqlError {
        let read = &self.chars[..self.at];
        let last = read.len().saturating_sub(1);
        let line = read[..last].iter().filter(|c| **c == '\n').count() + 1;
        let start = read[..last].iter().rposition(|c| *c == '\n').map_or(0, |i| i + 1);
        syntax(line, read.len() - start)
    }

    /// Error 3688 at the next character, or at the last one if there is none.
    pub fn syntax_next(&mut self) -> muster_types::SqlError {
        self.at = (self.at + 1).min(self.chars.len());
        self.syntax_here()
    }

    /// A term that begins with this character, or a quantifier of the one before.
    fn term(&mut self, c: char) -> Result<()> {
        match c {
            '*' | '+' | '?' | '{' => return self.quantifier(c),
            '\\' => return self.escaped(),
            '(' => return self.open_group(),
            ')' => {
                let Some(group) = self.groups.pop() else { return Err(mismatched_parenthesis()) };
                self.modes = group.modes;
                self.out.push(')');
                self.is_quantifiable = !group.is_assertion;
                return Ok(());
            }
            '|' => {
                self.out.push('|');
                self.is_quantifiable = false;
                return Ok(());
            }
            '[' => class::set(self)?,
            '.' => self.any_character(),
            '^' if self.modes.multi_line => {
                self.has_line_start = true;
                self.out.push_str(self.line_assertion("(?mR:^)", "(?m:^)"));
            }
            '^' => self.out.push_str(r"(?:\A)"),
            '$' => self.end_of_text_or_line(),
            '}' => return Err(self.syntax_here()),
            c if self.modes.comments && c.is_whitespace() => return Ok(()),
            '#' if self.modes.comments => {
                while self.next().is_some_and(|c| c != '\n') {}
                return Ok(());
            }
            c => push_literal(&mut self.out, c),
        }
        self.is_quantifiable = true;
        Ok(())
    }

    fn line_assertion(&self, all: &'static str, unix: &'static str) -> &'static str {
        if self.modes.unix_lines { unix } else { all }
    }

    fn end_of_text_or_line(&mut self) {
        if self.modes.multi_line {
            let end = self.line_assertion("(?mR:$)", "(?m:$)");
            return self.out.push_str(end);
        }
        self.end_of_text();
    }

    fn end_of_text(&mut self) {
        self.out.push_str(r"(?:\z)");
        self.final_line = Some(if self.modes.unix_lines { LineEnds::Unix } else { LineEnds::All });
    }

    fn any_character(&mut self) {
        match (self.modes.dot_all, self.modes.unix_lines) {
            // The two characters of a line's end are one.
            (true, _) => self.out.push_str(r"(?:\r\n|(?s:.))"),
            (false, true) => self.out.push_str(r"[^\n]"),
            (false, false) => self.out.push_str(&format!("[^{LINE_TERMINATORS}]")),
        }
    }

    /// `*`, `+`, `?`, `{n}`, `{n,}` and `{n,m}`, lazy with a question mark behind.
    fn quantifier(&mut self, c: char) -> Result<()> {
        if !self.is_quantifiable {
            return Err(self.syntax_here());
        }
        match c {
            '{' => self.interval()?,
            c => self.out.push(c),
        }
        if self.take('?') {
            self.out.push('?');
            self.is_lazy = true;
        } else if self.take('+') {
            self.is_unimplemented = true;
        }
        self.is_quantifiable = false;
        Ok(())
    }

    fn interval(&mut self) -> Result<()> {
        let Some(least) = self.number()? else { return Err(bad_interval()) };
        self.out.push_str(&format!("{{{least}"));
        if self.take(',') {
            self.out.push(',');
            if let Some(most) = self.number()? {
                if most < least {
                    return Err(maximum_less_than_minimum());
                }
                self.out.push_str(&most.to_string());
            }
        }
        if !self.take('}') {
            return Err(bad_interval());
        }
        self.out.push('}');
        Ok(())
    }

    /// A decimal number, if there is one.
    fn number(&mut self) -> Result<Option<u32>> {
        let mut number = None;
        while let Some(digit) = self.peek().and_then(|c| c.to_digit(10)) {
            self.at += 1;
            let shifted = number.unwrap_or(0u32).checked_mul(10).and_then(|n| n.checked_add(digit));
            number = Some(shifted.filter(|n| *n <= i32::MAX as u32).ok_or_else(number_too_big)?);
        }
        Ok(number)
    }

    fn escaped(&mut self) -> Result<()> {
        self.is_quantifiable = true;
        match self.escape()? {
            Escape::Literal(c) => push_literal(&mut self.out, c),
            Escape::Class(class) => self.out.push_str(&class),
            Escape::Assertion(position) => {
                self.out.push_str(position);
                self.is_quantifiable = false;
            }
            Escape::TextEnd => {
                self.end_of_text();
                self.is_quantifiable = false;
            }
            Escape::LineBreak => self.out.push_str(&format!(r"(?:\r\n|[{LINE_TERMINATORS}])")),
            Escape::BackReference(digit) => self.back_reference = self.back_reference.max(digit),
            Escape::NamedReference(name) if !self.has_group_named(&name) => return Err(invalid_group_name()),
            Escape::NamedReference(_) | Escape::Unimplemented => self.is_unimplemented = true,
            Escape::Quote => {
                while let Some(c) = self.next() {
                    if c == '\\' && self.take('E') {
                        break;
                    }
                    push_literal(&mut self.out, c);
                }
            }
        }
        Ok(())
    }

    /// Reads the characters behind a backslash.
    pub fn escape(&mut self) -> Result<Escape> {
        let Some(c) = self.next() else { return Err(bad_escape()) };
        let class = |text: &str| Ok(Escape::Class(text.to_string()));
        Ok(match c {
            'd' | 'D' | 's' | 'S' | 'w' | 'W' => return class(&format!("\\{c}")),
            'h' => return class(r"[\t\p{Zs}]"),
            'H' => return class(r"[^\t\p{Zs}]"),
            'v' => return class(&format!("[{LINE_TERMINATORS}]")),
            'V' => return class(&format!("[^{LINE_TERMINATORS}]")),
            'p' | 'P' => Escape::Class(class::property(self, c == 'P')?),
            'A' => Escape::Assertion(r"\A"),
            'z' => Escape::Assertion(r"\z"),
            'b' => Escape::Assertion(r"\b"),
            'B' => Escape::Assertion(r"\B"),
            'Z' => Escape::TextEnd,
            'R' => Escape::LineBreak,
            'G' | 'X' => Escape::Unimplemented,
            'N' => {
                // The name of a character, in braces.
                let rest = &self.chars[self.at..];
                self.at += rest.iter().position(|c| *c == '}').filter(|_| rest[0] == '{').map_or(0, |end| end + 1);
                Escape::Unimplemented
            }
            'Q' => Escape::Quote,
            'k' => Escape::NamedReference(self.reference_name()?),
            '1'..='9' => Escape::BackReference(c as u32 - '0' as u32),
            _ => Escape::Literal(self.escaped_character(c)?),
        })
    }

    /// The character that an escape sequence beginning with `c` stands for; unknown letters stand for themselves.
    pub fn escaped_character(&mut self, c: char) -> Result<char> {
        Ok(match c {
            'a' => '\x07',
            'e' => '\x1B',
            'f' => '\x0C',
            'n' => '\n',
            'r' => '\r',
            't' => '\t',
            'c' => match self.next() {
                Some(control) => char::from_u32(control as u32 & 0x1F).ok_or_else(bad_escape)?,
                None => 'c',
            },
            '0' => self.digits(8, 1, 3)?,
            'u' => self.digits(16, 4, 4)?,
            'U' => self.digits(16, 8, 8)?,
            'x' if self.take('{') => {
                let c = self.digits(16, 1, 6)?;
                if !self.take('}') {
                    return Err(bad_escape());
                }
                c
            }
            'x' => self.digits(16, 1, 2)?,
            c => c,
        })
    }

    /// The character whose number follows in `least` to `most` digits.
    fn digits(&mut self, radix: u32, least: usize, most: usize) -> Result<char> {
        let (mut number, mut count) = (0u32, 0);
        while let Some(digit) = self.peek().and_then(|c| c.to_digit(radix)).filter(|_| count < most) {
            number = number.checked_mul(radix).and_then(|n| n.checked_add(digit)).ok_or_else(bad_escape)?;
            count += 1;
            self.at += 1;
        }
        if count < least {
            return Err(bad_escape());
        }
        char::from_u32(number).ok_or_else(bad_escape)
    }

    /// The name in `\k<name>`.
    fn reference_name(&mut self) -> Result<String> {
        if !self.take('<') {
            return Err(invalid_group_name());
        }
        self.group_name()
    }

    /// The name of a group up to `>`.
    fn group_name(&mut self) -> Result<String> {
        let mut name = String::new();
        loop {
            match self.next() {
                Some('>') if !name.is_empty() => return Ok(name),
                Some(c) if c.is_ascii_alphabetic() || c.is_ascii_digit() && !name.is_empty() => name.push(c),
                Some(c) if c.is_ascii_digit() => return Err(self.syntax_here()),
                _ => return Err(invalid_group_name()),
            }
        }
    }

    fn has_group_named(&self, name: &str) -> bool {
        self.names.iter().any(|(other, _)| other == name)
    }

    /// `(` and what follows it up to the first term of the group.
    fn open_group(&mut self) -> Result<()> {
        let modes = self.modes;
        self.is_quantifiable = false;
        if !self.take('?') {
            self.captures += 1;
            self.out.push('(');
            self.groups.push(OpenGroup { modes, is_assertion: false });
            return Ok(());
        }
        let mut is_assertion = false;
        match self.next() {
            Some(':') => self.out.push_str("(?:"),
            Some('#') => {
                return match self.chars[self.at..].iter().position(|c| *c == ')') {
                    Some(length) => {
                        self.at += length + 1;
                        Ok(())
                    }
                    None => Err(mismatched_parenthesis()),
                };
            }
            Some('>') => self.unimplemented_group(),
            Some('=' | '!') => {
                self.unimplemented_group();
                is_assertion = true;
            }
            Some('<') if matches!(self.peek(), Some('=' | '!')) => {
                self.at += 1;
                self.unimplemented_group();
                is_assertion = true;
            }
            Some('<') => {
                let name = self.group_name()?;
                if self.has_group_named(&name) {
                    return Err(invalid_group_name());
                }
                self.out.push_str(&format!("(?P<{name}>"));
                self.captures += 1;
                self.names.push((name, self.captures as usize));
            }
            Some(c) if c.is_ascii_alphabetic() || c == '-' => return self.flags(c, modes),
            Some(_) => return Err(self.syntax_here()),
            None => return Err(self.syntax_next()),
        }
        self.groups.push(OpenGroup { modes, is_assertion });
        Ok(())
    }

    /// The rest of the pattern is still checked.
    fn unimplemented_group(&mut self) {
        self.is_unimplemented = true;
        self.out.push_str("(?:");
    }

    /// `(?flags)` and `(?flags:`; `outside` are the modes behind the group that the latter opens.
    fn flags(&mut self, first: char, outside: Modes) -> Result<()> {
        let (mut on, mut next) = (true, Some(first));
        loop {
            match next {
                Some('-') if on => on = false,
                Some('i') => self.modes.ignores_case = on,
                Some('d') => self.modes.unix_lines = on,
                Some('m') => self.modes.multi_line = on,
                Some('s') => self.modes.dot_all = on,
                Some('x') => self.modes.comments = on,
                // Unicode's word boundaries, and a flag that ICU takes and ignores.
                Some('w') => self.is_unimplemented |= on,
                Some('u') => {}
                Some(')') => {
                    self.out.push_str(if self.modes.ignores_case { "(?i)" } else { "(?-i)" });
                    return Ok(());
                }
                Some(':') => {
                    self.out.push_str(if self.modes.ignores_case { "(?i:" } else { "(?-i:" });
                    self.groups.push(OpenGroup { modes: outside, is_assertion: false });
                    return Ok(());
                }
                Some(_) => return Err(self.syntax_here()),
                None => return Err(invalid_flag()),
            }
            next = self.next();
        }
    }
}

/// Appends a character that stands for itself.
pub(super) fn push_literal(out: &mut String, c: char) {
    if c.is_alphanumeric() || c == ' ' {
        out.push(c);
    } else {
        out.push_str(&format!("\\x{{{:X}}}", c as u32));
    }
}
