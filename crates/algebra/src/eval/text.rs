//! Functions over text. Positions and lengths count characters; over byte strings they count bytes.

use crate::ScalarFunction;
use muster_types::{
    CastWarning, Collation, ErrorCode, SqlType, Value, cast_from,
    charset::{self, Charset},
    collation,
};

/// Longest result of a function: MySQL's `max_allowed_packet`, of which this is the default.
pub const RESULT_BYTES_MAX: usize = 64 << 20;

/// A value as text; `None` for NULL. `from`: its type, which says how many fractional digits it prints.
pub fn to_text(value: &Value, from: Option<SqlType>) -> Option<String> {
    match cast_from(value, from, SqlType::varchar(u32::MAX, Collation::DEFAULT)).0 {
        Value::Text(s) => Some(s),
        _ if value.is_null() => None,
        // Bytes that are no text.
        _ => value.to_text(0),
    }
}

/// The arguments of a text function, none of them NULL.
pub(super) struct TextArgs<'a> {
    pub values: &'a [Value],
    pub types: &'a [Option<SqlType>],
    pub collation: Collation,
}

impl TextArgs<'_> {
    /// Whether bytes are counted. Each byte then stands as the character of its number until the result is made.
    fn is_binary(&self) -> bool {
        self.values.iter().any(|v| matches!(v, Value::Bytes(_)))
    }

    fn text(&self, i: usize) -> Option<String> {
        let value = self.values.get(i)?;
        if !self.is_binary() {
            return to_text(value, self.types[i]);
        }
        let bytes = match value {
            Value::Bytes(b) => b.clone(),
            other => to_text(other, self.types[i])?.into_bytes(),
        };
        Some(bytes.into_iter().map(|b| b as char).collect())
    }

    fn int(&self, i: usize) -> Option<i64> {
        match cast_from(self.values.get(i)?, None, SqlType::BIGINT).0 {
            Value::Int(n) => Some(n),
            _ => None,
        }
    }

    /// The bytes of an argument in its own character set.
    fn bytes(&self, i: usize) -> Option<Vec<u8>> {
        if let Value::Bytes(b) = self.values.get(i)? {
            return Some(b.clone());
        }
        let text = to_text(&self.values[i], self.types[i])?;
        let charset = self.types[i].and_then(|t| Charset::from_name(t.collation()?.charset()));
        Some(charset::encode(charset.unwrap_or(Charset::Utf8mb4), &text).into_owned())
    }
}

/// `None` for functions of other topics, or without the arguments they need.
pub(super) fn call(function: ScalarFunction, args: &TextArgs<'_>, warn: &mut dyn FnMut(CastWarning)) -> Option<Value> {
    use ScalarFunction::*;
    let all = || (0..args.values.len()).map(|i| args.text(i)).collect::<Option<Vec<String>>>();
    let text = match function {
        Length => return Some(Value::Int(args.bytes(0)?.len() as i64)),
        CharLength => return Some(Value::Int(args.text(0)?.chars().count() as i64)),
        Ascii => return Some(Value::Int(args.bytes(0)?.first().copied().unwrap_or(0) as i64)),
        Locate => {
            let from = if args.values.len() > 2 { args.int(2)? } else { 1 };
            let exact = args.is_binary();
            let collation = if exact { Collation::Binary } else { args.collation };
            return Some(Value::Int(locate(&args.text(0)?, &args.text(1)?, from, collation)));
        }
        WeightString => {
            let mut key = Vec::new();
            match &args.values[0] {
                Value::Bytes(b) => key.extend_from_slice(b),
                _ => args.collation.append_sort_key(&args.text(0)?, &mut key),
            }
            return Some(Value::Bytes(key));
        }
        Hex => hex(args)?,
        Substring => {
            let length = if args.values.len() > 2 { args.int(2)? } else { i64::MAX };
            substring(&args.text(0)?, args.int(1)?, length).to_string()
        }
        Left => collation::prefix(&args.text(0)?, usize::try_from(args.int(1)?).unwrap_or(0)).to_string(),
        Right => match args.int(1)? {
            n @ 1.. => {
                let text = args.text(0)?;
                let start = (text.chars().count() as i64).saturating_sub(n).max(0);
                substring(&text, start + 1, n).to_string()
            }
            _ => String::new(),
        },
        Concat | ConcatWs => {
            let mut parts = all()?;
            let separator = if function == ConcatWs { parts.remove(0) } else { String::new() };
            let bytes = parts.iter().map(|p| p.len() + separator.len()).sum();
            match fits(bytes, "concat", warn) {
                true => parts.join(&separator),
                false => return Some(Value::Null),
            }
        }
        Upper if !args.is_binary() => map_case(&args.text(0)?, |c| single(c.to_uppercase()).unwrap_or(c)),
        Lower if !args.is_binary() => map_case(&args.text(0)?, |c| single(c.to_lowercase()).unwrap_or(c)),
        Upper | Lower => args.text(0)?,
        Trim | LTrim | RTrim => {
            let remove = if args.values.len() > 1 { args.text(1)? } else { " ".into() };
            trim(&args.text(0)?, &remove, function != RTrim, function != LTrim).to_string()
        }
        LPad | RPad => {
            let (text, pad) = (args.text(0)?, if args.values.len() > 2 { args.text(2)? } else { " ".into() });
            let Ok(length) = usize::try_from(args.int(1)?) else { return Some(Value::Null) };
            let missing = length.saturating_sub(text.chars().count());
            if missing == 0 {
                collation::prefix(&text, length).to_string()
            } else if pad.is_empty() {
                String::new()
            } else if !fits(length.saturating_mul(4), if function == LPad { "lpad" } else { "rpad" }, warn) {
                return Some(Value::Null);
            } else {
                let pad: String = pad.chars().cycle().take(missing).collect();
                if function == LPad { pad + &text } else { text + &pad }
            }
        }
        Replace => {
            let parts = all()?;
            let [text, from, to] = parts.as_slice() else { return None };
            if from.is_empty() {
                text.clone()
            } else if !fits(text.len().saturating_add(text.matches(from.as_str()).count() * to.len()), "replace", warn)
            {
                return Some(Value::Null);
            } else {
                text.replace(from.as_str(), to)
            }
        }
        Repeat => {
            let (text, count) = (args.text(0)?, usize::try_from(args.int(1)?).unwrap_or(0));
            match fits(text.len().saturating_mul(count), "repeat", warn) {
                true => text.repeat(count),
                false => return Some(Value::Null),
            }
        }
        Reverse => args.text(0)?.chars().rev().collect(),
        _ => return None,
    };
    Some(match args.is_binary() && function != Hex {
        true => Value::Bytes(text.chars().map(|c| c as u8).collect()),
        false => Value::Text(text),
    })
}

fn fits(bytes: usize, function: &str, warn: &mut dyn FnMut(CastWarning)) -> bool {
    if bytes > RESULT_BYTES_MAX {
        let message =
            format!("Result of {function}() was larger than max_allowed_packet ({RESULT_BYTES_MAX}) - truncated");
        warn(CastWarning { code: ErrorCode::AllowedPacketOverflowed, message });
    }
    bytes <= RESULT_BYTES_MAX
}

/// The only character of a case mapping; MySQL knows no others.
fn single(mut mapped: impl Iterator<Item = char>) -> Option<char> {
    let first = mapped.next();
    if mapped.next().is_some() { None } else { first }
}

fn map_case(text: &str, map: impl Fn(char) -> char) -> String {
    text.chars().map(map).collect()
}

/// `start` counts from 1, or from the end when negative; 0 and what lies outside give nothing.
pub fn substring(text: &str, start: i64, length: i64) -> &str {
    let chars = text.chars().count() as i64;
    let skip = if start > 0 { start - 1 } else { chars.saturating_add(start) };
    if start == 0 || skip < 0 || skip >= chars || length <= 0 {
        return "";
    }
    let from = text.char_indices().nth(skip as usize).map_or(text.len(), |(i, _)| i);
    collation::prefix(&text[from..], usize::try_from(length).unwrap_or(usize::MAX))
}

fn trim<'a>(mut text: &'a str, remove: &str, leading: bool, trailing: bool) -> &'a str {
    if remove.is_empty() {
        return text;
    }
    while let Some(rest) = text.strip_prefix(remove).filter(|_| leading) {
        text = rest;
    }
    while let Some(rest) = text.strip_suffix(remove).filter(|_| trailing) {
        text = rest;
    }
    text
}

/// Position in characters, from 1, of `needle` at or behind position `from`; 0 if there is none.
fn locate(needle: &str, haystack: &str, from: i64, collation: Collation) -> i64 {
    let (needle, haystack): (Vec<char>, Vec<char>) = (needle.chars().collect(), haystack.chars().collect());
    let Some(start) = usize::try_from(from).ok().and_then(|f| f.checked_sub(1)).filter(|s| *s <= haystack.len()) else {
        return 0;
    };
    if needle.is_empty() {
        return start as i64 + 1;
    }
    let found = haystack[start..]
        .windows(needle.len())
        .position(|window| window.iter().zip(&needle).all(|(a, b)| collation.chars_equal(*a, *b)));
    found.map_or(0, |i| (start + i) as i64 + 1)
}

/// Numbers as hexadecimal numbers, text as the hexadecimal digits of its bytes.
fn hex(args: &TextArgs<'_>) -> Option<String> {
    Some(match &args.values[0] {
        Value::Int(_) | Value::UInt(_) | Value::Bool(_) | Value::Decimal(_) | Value::Float(_) | Value::Double(_) => {
            format!("{:X}", super::arithmetic::bits(&args.values[0]))
        }
        _ => args.bytes(0)?.iter().map(|b| format!("{b:02X}")).collect(),
    })
}
