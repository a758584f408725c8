//! JSON text to trees (RFC 8259). What is wrong is told in RapidJSON's words, at the byte where it would tell it.

use super::{DEPTH_MAX, JsonLimit, JsonObject, JsonValue, binary, number::number};
use crate::SqlError;

/// The reason why a text is no JSON document.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum TextError {
    /// Not JSON: what is wrong, and at which byte.
    Syntax {
        what: &'static str,
        position: usize,
    },
    Limit(JsonLimit),
}

impl TextError {
    pub(super) fn new(what: &'static str, position: usize) -> TextError {
        TextError::Syntax { what, position }
    }

    /// 3141, or 3157 for a text that is too deep. `function` as MySQL prints it; arguments count from 1.
    pub fn in_argument(self, argument: usize, function: &str) -> SqlError {
        match self {
            TextError::Limit(limit) => limit.error(),
            TextError::Syntax { what, position } => {
                let message = format!(
                    "Invalid JSON text in argument {argument} to function {function}: \"{what}\" at position {position}."
                );
                SqlError::new(crate::ErrorCode::InvalidJsonTextInParam, message)
            }
        }
    }
}

/// The document that a text has. Error: the text is no JSON, or the document is too deep.
pub fn parse(text: &str) -> Result<JsonValue, TextError> {
    let mut parser = Parser { bytes: text.as_bytes(), text, at: 0 };
    parser.skip_space();
    if parser.peek().is_none() {
        return Err(TextError::new("The document is empty.", parser.at));
    }
    let value = parser.value(0)?;
    parser.skip_space();
    match parser.peek() {
        None => Ok(value),
        Some(_) => Err(TextError::new("The document root must not be followed by other values.", parser.at)),
    }
}

/// The document that a text has, in its binary form.
pub fn parse_to_bytes(text: &str) -> Result<Vec<u8>, TextError> {
    binary::encode(&parse(text)?).map_err(TextError::Limit)
}

/// The text of a JSON string with its quotation marks; the error's position counts from the first one.
pub fn unescape(quoted: &str) -> Result<String, TextError> {
    let mut parser = Parser { bytes: quoted.as_bytes(), text: quoted, at: 0 };
    if parser.peek() != Some(b'"') {
        return Err(TextError::new("Invalid value.", 0));
    }
    let text = parser.string()?;
    match parser.peek() {
        None => Ok(text),
        Some(_) => Err(TextError::new("The document root must not be followed by other values.", parser.at)),
    }
}

struct Parser<'a> {
    bytes: &'a [u8],
    text: &'a str,
    at: usize,
}

impl Parser<'_> {
    /// The next byte; a NUL ends the text.
    fn peek(&self) -> Option<u8> {
        self.bytes.get(self.at).copied().filter(|byte| *byte != 0)
    }

    fn take(&mut self, byte: u8) -> bool {
        let is_there = self.peek() == Some(byte);
        self.at += usize::from(is_there);
        is_there
    }

    fn skip_space(&mut self) {
        while matches!(self.peek(), Some(b' ' | b'\t' | b'\n' | b'\r')) {
            self.at += 1;
        }
    }

    /// `depth`: containers around the value.
    fn value(&mut self, depth: usize) -> Result<JsonValue, TextError> {
        match self.peek() {
            Some(b'{' | b'[') if depth >= DEPTH_MAX => Err(TextError::Limit(JsonLimit::TooDeep)),
            Some(b'{') => self.object(depth),
            Some(b'[') => self.array(depth),
            Some(b'"') => Ok(JsonValue::Text(self.string()?)),
            Some(b'n') => self.word("null", JsonValue::Null),
            Some(b't') => self.word("true", JsonValue::Bool(true)),
            Some(b'f') => self.word("false", JsonValue::Bool(false)),
            _ => {
                let (value, end) = number(self.bytes, self.at)?;
                self.at = end;
                Ok(value)
            }
        }
    }

    fn word(&mut self, word: &str, value: JsonValue) -> Result<JsonValue, TextError> {
        for byte in word.bytes() {
            if !self.take(byte) {
                return Err(TextError::new("Invalid value.", self.at));
            }
        }
        Ok(value)
    }

    fn array(&mut self, depth: usize) -> Result<JsonValue, TextError> {
        self.at += 1;
        self.skip_space();
        let mut items = Vec::new();
        if self.take(b']') {
            return Ok(JsonValue::Array(items));
        }
        loop {
            items.push(self.value(depth + 1)?);
            self.skip_space();
            if self.take(b']') {
                return Ok(JsonValue::Array(items));
            }
            if !self.take(b',') {
                return Err(TextError::new("Missing a comma or ']' after an array element.", self.at));
            }
            self.skip_space();
        }
    }

    fn object(&mut self, depth: usize) -> Result<JsonValue, TextError> {
        self.at += 1;
        self.skip_space();
        let mut members = Vec::new();
        if self.take(b'}') {
            return Ok(JsonValue::Object(JsonObject::default()));
        }
        loop {
            if self.peek() != Some(b'"') {
                return Err(TextError::new("Missing a name for object member.", self.at));
            }
            let name = self.string()?;
            self.skip_space();
            if !self.take(b':') {
                return Err(TextError::new("Missing a colon after a name of object member.", self.at));
            }
            self.skip_space();
            members.push((name, self.value(depth + 1)?));
            self.skip_space();
            if self.take(b'}') {
                return Ok(JsonValue::Object(JsonObject::of_members(members)));
            }
            if !self.take(b',') {
                return Err(TextError::new("Missing a comma or '}' after an object member.", self.at));
            }
            self.skip_space();
        }
    }

    /// The string whose quotation mark comes next.
    fn string(&mut self) -> Result<String, TextError> {
        self.at += 1;
        let mut out = String::new();
        let mut plain = self.at;
        loop {
            match self.bytes.get(self.at) {
                Some(b'"') => {
                    out.push_str(&self.text[plain..self.at]);
                    self.at += 1;
                    return Ok(out);
                }
                Some(b'\\') => {
                    out.push_str(&self.text[plain..self.at]);
                    out.push(self.escape()?);
                    plain = self.at;
                }
                None | Some(0) => {
                    return Err(TextError::new("Missing a closing quotation mark in string.", self.at));
                }
                Some(..0x20) => return Err(TextError::new("Invalid encoding in string.", self.at)),
                Some(_) => self.at += 1,
            }
        }
    }

    /// The character of an escape, whose backslash comes next.
    fn escape(&mut self) -> Result<char, TextError> {
        let start = self.at;
        let plain = match self.bytes.get(start + 1) {
            Some(escaped @ (b'"' | b'\\' | b'/')) => char::from(*escaped),
            Some(b'b') => '\u{8}',
            Some(b'f') => '\u{c}',
            Some(b'n') => '\n',
            Some(b'r') => '\r',
            Some(b't') => '\t',
            Some(b'u') => return self.code_point(start),
            _ => return Err(TextError::new("Invalid escape character in string.", start)),
        };
        self.at += 2;
        Ok(plain)
    }

    /// `\uXXXX`, or two of them for a character beyond 16 bits.
    fn code_point(&mut self, start: usize) -> Result<char, TextError> {
        let invalid = TextError::new("The surrogate pair in string is invalid.", start);
        let first = self.four_digits(start)?;
        let code = match first {
            0xD800..=0xDBFF => {
                if self.bytes.get(self.at..self.at + 2) != Some(b"\\u") {
                    return Err(invalid);
                }
                match self.four_digits(start)? {
                    second @ 0xDC00..=0xDFFF => 0x10000 + ((first - 0xD800) << 10) + (second - 0xDC00),
                    _ => return Err(invalid),
                }
            }
            other => other,
        };
        char::from_u32(code).ok_or(invalid)
    }

    /// The number of `\uXXXX`, which comes next.
    fn four_digits(&mut self, start: usize) -> Result<u32, TextError> {
        let digits = self.bytes.get(self.at + 2..self.at + 6).unwrap_or_default();
        let number = digits.iter().try_fold(0, |number, digit| Some(number << 4 | char::from(*digit).to_digit(16)?));
        match number {
            Some(number) if digits.len() == 4 => {
                self.at += 6;
                Ok(number)
            }
            _ => Err(TextError::new("Incorrect hex digit after \\u escape in string.", start)),
        }
    }
}
