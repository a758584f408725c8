//! Functions over text. Positions and lengths count characters; over byte strings they count bytes.

use super::checksum::crc32;
use muster_algebra::{Decoding, ScalarFunction};
use muster_types::{
    CastWarning, Collation, Result, SqlError, SqlType, Value, cast_from,
    charset::{self, Charset},
    collation,
};
use std::{borrow::Cow, sync::LazyLock};

/// A value as text; `None` for NULL. `from`: its type, which says how many fractional digits it prints.
pub fn to_text(value: &Value, from: Option<SqlType>) -> Option<Cow<'_, str>> {
    if let Value::Text(text) = value {
        return Some(Cow::Borrowed(text));
    }
    match cast_from(value, from, SqlType::varchar(u32::MAX, Collation::DEFAULT)).0 {
        Value::Text(s) => Some(s.into()),
        _ if value.is_null() => None,
        // Bytes that are no text.
        _ => value.to_text(0).map(Cow::Owned),
    }
}

/// The name of a function whose result may be much longer than its arguments; `None` for others.
pub fn lengthens(function: ScalarFunction) -> Option<&'static str> {
    use ScalarFunction::*;
    Some(match function {
        Concat => "concat",
        ConcatWs => "concat_ws",
        LPad => "lpad",
        RPad => "rpad",
        Replace => "replace",
        Repeat => "repeat",
        // A part of a document is shorter than the document.
        Library(function) if function.name == "JSON_EXTRACT" => return None,
        Library(function) => function.name,
        _ => return None,
    })
}

/// Returns true for functions whose result is a text or a byte string as their first argument is.
fn is_like_first(function: ScalarFunction) -> bool {
    use ScalarFunction::*;
    match function {
        Library(function) => function.is_like_first,
        other => matches!(other, LPad | RPad | Replace | Trim | LTrim | RTrim),
    }
}

/// Reads byte strings behind a text as texts, of a function that is like its first argument. Error 3854 for one that is
/// none.
pub fn decode_others(function: ScalarFunction, values: &mut [Value]) -> Result<()> {
    if !is_like_first(function) {
        return Ok(());
    }
    let Some((Value::Text(_), others)) = values.split_first_mut() else { return Ok(()) };
    for value in others {
        if let Value::Bytes(bytes) = value {
            match String::from_utf8(std::mem::take(bytes)) {
                Ok(text) => *value = Value::Text(text),
                Err(e) => return Err(SqlError::cannot_convert_bytes(e.as_bytes(), Charset::Utf8mb4.name())),
            }
        }
    }
    Ok(())
}

/// A byte string as a text of a type's character set. Error 3854 for one that is none and must be.
pub fn decoded(value: &Value, ty: SqlType, decoding: Decoding, warn: &mut dyn FnMut(CastWarning)) -> Result<Value> {
    let charset = ty.collation().map_or(Charset::Utf8mb4, Collation::character_set);
    let Value::Bytes(bytes) = value else { return Ok(value.clone()) };
    if let Some(text) = charset::decode(charset, bytes) {
        return Ok(Value::Text(text.into()));
    }
    if decoding == Decoding::Refused {
        return Err(SqlError::cannot_convert_bytes(bytes, charset.name()));
    }
    // The warning is that of a cast.
    cast_from(value, None, ty).1.into_iter().for_each(warn);
    let valid = &bytes[..charset::valid_up_to(charset, bytes)];
    Ok(Value::Text(charset::decode(charset, valid).unwrap_or_default().into()))
}

/// The arguments of a text function, none of them NULL.
pub(super) struct TextArgs<'a> {
    pub values: &'a [Value],
    pub types: &'a [Option<SqlType>],
    pub collation: Collation,
}

impl<'a> TextArgs<'a> {
    /// Returns true if bytes are counted. Each byte then stands as the character of its number until the result is
    /// made.
    fn is_binary(&self) -> bool {
        self.values.iter().any(|v| matches!(v, Value::Bytes(_)))
    }

    fn text(&self, i: usize) -> Option<Cow<'a, str>> {
        let value = self.values.get(i)?;
        if !self.is_binary() {
            return to_text(value, self.types[i]);
        }
        let text = |bytes: &[u8]| bytes.iter().map(|b| *b as char).collect::<String>();
        Some(match value {
            Value::Bytes(bytes) => text(bytes).into(),
            other => text(to_text(other, self.types[i])?.as_bytes()).into(),
        })
    }

    fn int(&self, i: usize) -> Option<i64> {
        match cast_from(self.values.get(i)?, None, SqlType::BIGINT).0 {
            Value::Int(n) => Some(n),
            _ => None,
        }
    }

    /// The first argument in the other case.
    fn changed(&self, append: fn(&str, Charset, &mut String)) -> Option<String> {
        let text = self.text(0)?;
        let mut changed = String::with_capacity(text.len());
        append(&text, self.collation.character_set(), &mut changed);
        Some(changed)
    }

    /// The bytes of an argument in its own character set.
    fn bytes(&self, i: usize) -> Option<Cow<'a, [u8]>> {
        if let Value::Bytes(b) = self.values.get(i)? {
            return Some(Cow::Borrowed(b));
        }
        let charset = self.types[i].and_then(|t| t.collation()).map_or(Charset::Utf8mb4, Collation::character_set);
        Some(match to_text(&self.values[i], self.types[i])? {
            Cow::Borrowed(text) => charset::encode(charset, text),
            Cow::Owned(text) => charset::encode(charset, &text).into_owned().into(),
        })
    }

    /// Bytes that a text function's result takes, at most; 0 for functions of another topic.
    pub fn result_bytes(&self, function: ScalarFunction) -> usize {
        use ScalarFunction::*;
        let length = |i: usize| match self.values.get(i) {
            Some(Value::Text(text)) => text.len(),
            Some(Value::Bytes(bytes)) => bytes.len(),
            Some(_) => self.text(i).map_or(0, |text| text.len()),
            None => 0,
        };
        let all = || (0..self.values.len()).map(length).sum::<usize>();
        let count = || usize::try_from(self.int(1).unwrap_or(0)).unwrap_or(0);
        match function {
            Concat => all(),
            ConcatWs => all() + length(0) * self.values.len().saturating_sub(3),
            LPad | RPad => match self.text(0) {
                // MySQL counts the most bytes that so many characters may have.
                Some(text) if text.chars().count() < count() => {
                    count().saturating_mul(if self.is_binary() { 1 } else { 4 })
                }
                _ => length(0),
            },
            Repeat => length(0).saturating_mul(count()),
            Replace => {
                let (Some(text), Some(from)) = (self.text(0), self.text(1)) else { return 0 };
                let found = if from.is_empty() { 0 } else { text.matches(&*from).count() };
                (length(0) - found * length(1)).saturating_add(found.saturating_mul(length(2)))
            }
            Upper | Lower | Trim | LTrim | RTrim | Reverse | Substring | Left | Right => length(0),
            _ => 0,
        }
    }
}

/// `None` for functions of other topics, or without the arguments they need.
pub(super) fn call(function: ScalarFunction, args: &TextArgs<'_>) -> Option<Value> {
    use ScalarFunction::*;
    let all = || (0..args.values.len()).map(|i| args.text(i)).collect::<Option<Vec<_>>>();
    let text = match function {
        Length => return Some(Value::Int(args.bytes(0)?.len() as i64)),
        CharLength => return Some(Value::Int(args.text(0)?.chars().count() as i64)),
        Ascii => return Some(Value::Int(args.bytes(0)?.first().copied().unwrap_or(0) as i64)),
        Crc32 => return Some(Value::UInt(crc32(args.bytes(0)?.as_ref()).into())),
        Locate => {
            let from = if args.values.len() > 2 { args.int(2)? } else { 1 };
            let needle = match &args.values[0] {
                Value::Bytes(bytes) => Cow::Borrowed(bytes.as_slice()),
                _ => Cow::Owned(to_text(&args.values[0], args.types[0])?.into_owned().into_bytes()),
            };
            return Some(Value::Int(match args.values.get(1)? {
                Value::Bytes(bytes) => locate_bytes(&needle, bytes, from),
                other => locate(&needle, &to_text(other, args.types[1])?, from, args.collation),
            }));
        }
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
            let separator = if function == ConcatWs { parts.remove(0) } else { "".into() };
            parts.join(&*separator)
        }
        Upper if !args.is_binary() => args.changed(append_upper)?,
        Lower if !args.is_binary() => args.changed(append_lower)?,
        Upper | Lower => args.text(0)?.into_owned(),
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
            } else {
                let pad = pad.chars().cycle().take(missing);
                match function {
                    LPad => pad.chain(text.chars()).collect(),
                    _ => text.chars().chain(pad).collect(),
                }
            }
        }
        Replace => {
            let parts = all()?;
            let [text, from, to] = parts.as_slice() else { return None };
            if from.is_empty() { text.to_string() } else { text.replace(&**from, to) }
        }
        Repeat => args.text(0)?.repeat(usize::try_from(args.int(1)?).unwrap_or(0)),
        Reverse => args.text(0)?.chars().rev().collect(),
        _ => return None,
    };
    Some(match args.is_binary() {
        true => Value::Bytes(text.chars().map(|c| c as u8).collect()),
        false => Value::Text(text),
    })
}

/// The only character of a case mapping; MySQL knows no others.
fn single(mut mapped: impl Iterator<Item = char>) -> Option<char> {
    let first = mapped.next();
    if mapped.next().is_some() { None } else { first }
}

/// Appends the text in upper case; letters whose counterpart the character set lacks stay.
pub fn append_upper(text: &str, charset: Charset, out: &mut String) {
    append_case(text, charset, &UPPER, upper, out);
}

/// Appends the text in lower case; letters whose counterpart the character set lacks stay.
pub fn append_lower(text: &str, charset: Charset, out: &mut String) {
    append_case(text, charset, &LOWER, lower, out);
}

fn upper(c: char) -> Option<char> {
    single(c.to_uppercase())
}

fn lower(c: char) -> Option<char> {
    match c {
        // MySQL knows no combining dot.
        'İ' => Some('i'),
        c => single(c.to_lowercase()),
    }
}

/// Characters below this one, which most letters with two cases are, have their other case in a table.
const TABULATED: u32 = 0x2000;

static UPPER: LazyLock<Vec<char>> = LazyLock::new(|| tabulated(upper));
static LOWER: LazyLock<Vec<char>> = LazyLock::new(|| tabulated(lower));

fn tabulated(map: fn(char) -> Option<char>) -> Vec<char> {
    (0..TABULATED).filter_map(char::from_u32).map(|c| map(c).unwrap_or(c)).collect()
}

/// `table`: what `map` makes of the characters below [`TABULATED`], of which each is one.
fn append_case(text: &str, charset: Charset, table: &[char], map: fn(char) -> Option<char>, out: &mut String) {
    let has_all = charset == Charset::Utf8mb4;
    let other_case = |c: char| table.get(c as usize).copied().or_else(|| map(c));
    let mapped = |c: char| other_case(c).filter(|mapped| has_all || charset.has(*mapped)).unwrap_or(c);
    out.extend(text.chars().map(mapped));
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

/// The text without what is to be removed, as often as it stands at its beginning and at its end.
pub fn trim<'a>(mut text: &'a str, remove: &str, leading: bool, trailing: bool) -> &'a str {
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

/// Position in characters, from 1, of `needle` at or behind position `from`; 0 if there is none. As in MySQL, only
/// pieces of as many bytes as the needle has are compared: `e` is not found where `é` is, but `ß` is where `ss` is.
pub fn locate(needle: &[u8], haystack: &str, from: i64, collation: Collation) -> i64 {
    locate_where(needle, haystack, from, collation, |_| true)
}

/// The same where the caller knows which characters a piece that is equal to the needle can begin with.
pub fn locate_where(
    needle: &[u8],
    haystack: &str,
    from: i64,
    collation: Collation,
    mut can_begin: impl FnMut(char) -> bool,
) -> i64 {
    let Some(skip) = usize::try_from(from).ok().and_then(|f| f.checked_sub(1)) else { return 0 };
    let text = std::str::from_utf8(needle);
    let characters = text.map_or(0, |text| text.chars().count());
    let is_single_byte = collation.charset_max_bytes() == 1;
    let begins = |at: usize| {
        let rest = &haystack[at..];
        let piece = match is_single_byte {
            true => Some(collation::prefix(rest, characters)),
            // Characters that are cut have no weight: of those that are not, `é` is found where `e日` is.
            false if !collation.weighs_characters_singly() => whole_characters(rest, needle.len()),
            false => rest.get(..needle.len()),
        };
        let Some(piece) = piece else { return false };
        match text {
            // Spaces at the end count here.
            Ok(text) if collation.weighs_characters_singly() && piece.chars().count() != characters => text == piece,
            Ok(text) => collation.equals(piece, text),
            Err(_) => piece.as_bytes() == needle,
        }
    };
    let starts = haystack.char_indices().map(|(at, c)| (at, Some(c))).chain([(haystack.len(), None)]);
    let found = starts.enumerate().skip(skip).find(|(_, (at, c))| c.is_none_or(&mut can_begin) && begins(*at));
    found.map_or(0, |(position, _)| position as i64 + 1)
}

/// The characters that so many bytes at the beginning of a text hold; `None` for a text of fewer bytes.
fn whole_characters(text: &str, bytes: usize) -> Option<&str> {
    (text.len() >= bytes).then(|| &text[..text.floor_char_boundary(bytes)])
}

/// Position in bytes, from 1, of `needle` at or behind position `from`; 0 if there is none.
fn locate_bytes(needle: &[u8], haystack: &[u8], from: i64) -> i64 {
    let Some(skip) = usize::try_from(from).ok().and_then(|f| f.checked_sub(1)) else { return 0 };
    let found = (skip..=haystack.len()).find(|at| haystack[*at..].starts_with(needle));
    found.map_or(0, |at| at as i64 + 1)
}
