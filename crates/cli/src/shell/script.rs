//! The statements of a script, read one after the other, so that a dump needs no more memory than its longest
//! statement.
//!
//! A statement ends at the delimiter outside of quotes and comments, or at `\G` or `\g`. The script's own command is
//! `DELIMITER`, on a line of its own between statements, with which dumps enclose stored programs. A script is bytes:
//! dumps have values of any character set.

use std::io::{self, BufRead};

/// A statement of a script, without the delimiter.
#[derive(Debug, PartialEq, Eq)]
pub struct ScriptStatement {
    pub text: Vec<u8>,
    /// The number of the line in which its first word stands, from 1.
    pub line: u64,
    /// True if it ends with `\G`.
    pub vertical: bool,
}

/// The place of the reader within the text.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Inside {
    Text,
    /// A quoted text or name.
    Quotes(u8),
    /// `/* */`.
    Comment,
}

/// A reader of statements.
pub struct Script<R> {
    input: R,
    delimiter: Vec<u8>,
    /// The line that is being read, the place in it, and its number.
    current: Vec<u8>,
    at: usize,
    number: u64,
}

/// The statement that is being read.
struct Begun {
    text: Vec<u8>,
    /// The line of its first word, once there is one.
    line: Option<u64>,
    inside: Inside,
    /// Comments `/*! ..` that are open: their content belongs to the statement, delimiters too.
    open: u32,
}

impl<R: BufRead> Script<R> {
    pub fn new(input: R) -> Script<R> {
        Script { input, delimiter: b";".to_vec(), current: Vec::new(), at: 0, number: 0 }
    }

    /// The next statement; `None` at the end. What is not ended there is a statement, too. Errors: those of reading.
    pub fn next(&mut self) -> io::Result<Option<ScriptStatement>> {
        let mut begun = Begun { text: Vec::new(), line: None, inside: Inside::Text, open: 0 };
        loop {
            if self.at == self.current.len() && !self.read_line()? {
                let end = |line| Begun::finished(begun.text, line, false);
                return Ok(begun.line.map(end));
            }
            if begun.line.is_none() && begun.inside == Inside::Text && self.take_delimiter_command() {
                continue;
            }
            while self.at < self.current.len() {
                if let Some(vertical) = self.take(&mut begun)
                    && let Some(line) = begun.line
                {
                    return Ok(Some(Begun::finished(begun.text, line, vertical)));
                }
            }
        }
    }

    fn read_line(&mut self) -> io::Result<bool> {
        self.current.clear();
        self.at = 0;
        self.number += 1;
        Ok(self.input.read_until(b'\n', &mut self.current)? > 0)
    }

    /// Obeys `DELIMITER` at the start of a line. Returns false if something else stands there.
    fn take_delimiter_command(&mut self) -> bool {
        if self.at > 0 {
            return false;
        }
        let line = self.current.trim_ascii();
        let (word, rest) = line.split_at(line.iter().position(u8::is_ascii_whitespace).unwrap_or(line.len()));
        let wanted = rest.trim_ascii().split(u8::is_ascii_whitespace).next().unwrap_or_default();
        if !word.eq_ignore_ascii_case(b"DELIMITER") || wanted.is_empty() {
            return false;
        }
        self.delimiter = wanted.to_vec();
        self.at = self.current.len();
        true
    }

    /// Takes what comes next into a statement. Returns `Some` at its end, true for `\G`.
    fn take(&mut self, begun: &mut Begun) -> Option<bool> {
        let rest = &self.current[self.at..];
        let (taken, is_word) = match begun.inside {
            Inside::Quotes(quote) => match rest {
                [b'\\', _, ..] if quote != b'`' => (2, true),
                _ => {
                    if rest[0] == quote {
                        begun.inside = Inside::Text;
                    }
                    (1, true)
                }
            },
            Inside::Comment => match rest.starts_with(b"*/") {
                true => {
                    begun.inside = Inside::Text;
                    (2, false)
                }
                false => (1, false),
            },
            Inside::Text if begun.open == 0 && rest.starts_with(&self.delimiter) => {
                self.at += self.delimiter.len();
                return Some(false);
            }
            Inside::Text if begun.open == 0 && (rest.starts_with(b"\\G") || rest.starts_with(b"\\g")) => {
                self.at += 2;
                return Some(rest[1] == b'G');
            }
            Inside::Text => begun.enter(rest),
        };
        if is_word {
            begun.line.get_or_insert(self.number);
        }
        if begun.line.is_some() {
            begun.text.extend_from_slice(&rest[..taken]);
        }
        self.at += taken;
        None
    }
}

impl Begun {
    /// Passes what stands at the start of `rest`, outside of quotes and comments. Returns its bytes, and true if it is
    /// part of a statement, not space or a comment.
    fn enter(&mut self, rest: &[u8]) -> (usize, bool) {
        let is_line_comment = match rest {
            [b'#', ..] => true,
            [b'-', b'-', next, ..] => next.is_ascii_whitespace() || *next < b' ',
            [b'-', b'-'] => true,
            _ => false,
        };
        match rest {
            _ if is_line_comment => (rest.len(), false),
            [quote @ (b'\'' | b'"' | b'`'), ..] => {
                self.inside = Inside::Quotes(*quote);
                (1, true)
            }
            [b'/', b'*', b'!', ..] => {
                self.open += 1;
                (3, true)
            }
            [b'*', b'/', ..] if self.open > 0 => {
                self.open -= 1;
                (2, true)
            }
            [b'/', b'*', ..] => {
                self.inside = Inside::Comment;
                (2, false)
            }
            [byte, ..] => (1, !byte.is_ascii_whitespace()),
            [] => (0, false),
        }
    }

    fn finished(mut text: Vec<u8>, line: u64, vertical: bool) -> ScriptStatement {
        text.truncate(text.trim_ascii_end().len());
        ScriptStatement { text, line, vertical }
    }
}

/// Bytes of a statement in which the words stand that say what it makes.
const HEAD_BYTES: usize = 512;

/// Returns true if a statement makes, changes or drops a procedure, a function, a trigger or an event.
pub fn is_stored_program(text: &[u8]) -> bool {
    let head = String::from_utf8_lossy(&text[..text.len().min(HEAD_BYTES)]).to_ascii_uppercase();
    let mut plain = String::with_capacity(head.len());
    let mut rest = head.as_str();
    while let Some(at) = rest.find("/*!") {
        plain.push_str(&rest[..at]);
        plain.push(' ');
        rest = rest[at + 3..].trim_start_matches(|c: char| c.is_ascii_digit());
    }
    plain.push_str(rest);
    let plain = plain.replace("*/", " ");
    let mut words = plain.split_whitespace();
    if !words.next().is_some_and(|word| ["CREATE", "ALTER", "DROP"].contains(&word)) {
        return false;
    }
    let is_before = |word: &&str| {
        ["OR", "REPLACE", "AGGREGATE", "DEFINER", "="].contains(word)
            || word.starts_with("DEFINER=")
            || word.contains('@')
    };
    words
        .find(|word| !is_before(word))
        .is_some_and(|word| ["PROCEDURE", "FUNCTION", "TRIGGER", "EVENT"].contains(&word))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn statements(text: &str) -> Vec<(String, u64, bool)> {
        let mut script = Script::new(text.as_bytes());
        let mut all = Vec::new();
        while let Some(ScriptStatement { text, line, vertical }) = script.next().unwrap() {
            all.push((String::from_utf8(text).unwrap(), line, vertical));
        }
        all
    }

    #[track_caller]
    fn check(text: &str, wanted: &[(&str, u64)]) {
        let found: Vec<(String, u64)> = statements(text).into_iter().map(|(text, line, _)| (text, line)).collect();
        let wanted: Vec<(String, u64)> = wanted.iter().map(|(text, line)| (text.to_string(), *line)).collect();
        assert_eq!(found, wanted, "{text}");
    }

    #[test]
    fn statements_end_at_semicolons_outside_of_quotes_and_comments() {
        check("select 1; select\n 2 ;", &[("select 1", 1), ("select\n 2", 1)]);
        check("-- a; b\n\n# c;\n/* d; */ select 1;", &[("select 1", 4)]);
        check(
            "select ';', \";\", `;`, '\\';', 'it''s;';x",
            &[("select ';', \";\", `;`, '\\';', 'it''s;'", 1), ("x", 1)],
        );
        check("select 1 -- x;\n, 2;", &[("select 1 -- x;\n, 2", 1)]);
        check("select 1--1; select `\\`;", &[("select 1--1", 1), ("select `\\`", 1)]);
        check("a /* ; \n ; */ b;\nc", &[("a /* ; \n ; */ b", 1), ("c", 3)]);
        check(";;\n ; select 1", &[("select 1", 2)]);
        check("", &[]);
        check("-- nothing", &[]);
        check("select 'open;\nend", &[("select 'open;\nend", 1)]);
    }

    #[test]
    fn conditional_comments_are_part_of_statements() {
        check(
            "/*!40101 SET NAMES utf8; */;\n/*!50003 a '*/' ; /*!50017 b*/ */;c;",
            &[("/*!40101 SET NAMES utf8; */", 1), ("/*!50003 a '*/' ; /*!50017 b*/ */", 2), ("c", 2)],
        );
        check("/*M!999999\\- enable the sandbox mode */ \nselect 1;", &[("select 1", 2)]);
    }

    #[test]
    fn the_delimiter_changes_between_statements() {
        let text = "DELIMITER ;;\nCREATE TRIGGER t BEGIN\n a; b; END ;;\ndelimiter ;\nselect 1;\nselect\nDELIMITER\n;";
        check(text, &[("CREATE TRIGGER t BEGIN\n a; b; END", 2), ("select 1", 5), ("select\nDELIMITER", 6)]);
    }

    #[test]
    fn other_ends() {
        let wanted = [("select 1".to_owned(), 1, true), ("select 2".to_owned(), 1, false), ("x".to_owned(), 1, false)];
        assert_eq!(statements("select 1\\G select 2 \\g x"), wanted);
    }

    #[test]
    fn stored_programs_are_known_by_their_heads() {
        for text in [
            "/*!50003 CREATE*/ /*!50017 DEFINER=`root`@`localhost`*/ /*!50003 TRIGGER `t` BEFORE INSERT ON `u` ..*/",
            "CREATE DEFINER=`a`@`%` PROCEDURE `p`()\nBEGIN\nEND",
            "/*!50106 CREATE*/ /*!50117 DEFINER=`r`@`h`*/ /*!50106 EVENT `e` ON SCHEDULE ..*/",
            "create or replace definer = r@h function f() returns int return 1",
            "/*!50003 DROP PROCEDURE IF EXISTS `p` */",
        ] {
            assert!(is_stored_program(text.as_bytes()), "{text}");
        }
        for text in
            ["CREATE TABLE `trigger` (a INT)", "INSERT INTO event VALUES (1)", "CREATE VIEW event AS SELECT 1", ""]
        {
            assert!(!is_stored_program(text.as_bytes()), "{text}");
        }
    }
}
