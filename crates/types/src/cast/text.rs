//! Conversion to text and byte strings.

use super::CastWarning;
use crate::{
    BytesKind, Collation, ErrorCode, SqlType, Value,
    charset::{self, Charset},
    collation,
    store::usual_text,
    temporal,
};
use std::borrow::Cow;

/// The text of any value but NULL, before it is cut.
fn text_of(value: &Value, from: Option<SqlType>, collation: Collation) -> Result<String, Option<CastWarning>> {
    let fsp_of = |micros: i64| match from {
        Some(SqlType::DateTime { fsp } | SqlType::Timestamp { fsp } | SqlType::Time { fsp }) => fsp,
        _ if micros % temporal::MICROS_PER_SECOND == 0 => 0,
        _ => 6,
    };
    match value {
        Value::DateTime(t) | Value::Time(t) => Ok(value.to_text(fsp_of(*t)).unwrap_or_default()),
        Value::Bytes(b) => {
            let charset = collation.character_set();
            let text = charset::decode(charset, b).map(|text| text.into_owned());
            text.ok_or_else(|| {
                let valid = std::str::from_utf8(b).map_or_else(|e| e.valid_up_to(), |_| 0);
                let bytes: String = b.iter().skip(valid).take(3).map(|x| format!("{x:02X}")).collect();
                let message = format!("Invalid {} character string: '{bytes}'", charset.name());
                CastWarning::new(ErrorCode::InvalidCharacterString, message)
            })
        }
        Value::Double(_) | Value::Float(_) => Ok(usual_text(value)),
        _ => Ok(value.to_text(0).unwrap_or_default()),
    }
}

pub(super) fn to_text(
    value: &Value,
    from: Option<SqlType>,
    length: u32,
    collation: Collation,
) -> (Value, Option<CastWarning>) {
    let mut text = match text_of(value, from, collation) {
        Ok(text) => text,
        Err(warning) => return (Value::Null, warning),
    };
    if let Cow::Owned(kept) = collation.character_set().kept(&text) {
        text = kept;
    }
    let kept = collation::prefix(&text, length as usize).len();
    if kept == text.len() {
        return (Value::Text(text), None);
    }
    let warning = CastWarning::truncated(&format!("CHAR({length})"), &text);
    text.truncate(kept);
    (Value::Text(text), warning)
}

pub(super) fn to_bytes(
    value: &Value,
    from: Option<SqlType>,
    kind: BytesKind,
    length: u32,
) -> (Value, Option<CastWarning>) {
    let mut bytes = match value {
        Value::Bytes(b) => b.clone(),
        Value::Text(text) => {
            let charset = from.and_then(|ty| ty.collation()).map_or(Charset::Utf8mb4, Collation::character_set);
            charset::encode(charset, text).into_owned()
        }
        _ => match text_of(value, from, Collation::Binary) {
            Ok(text) => text.into_bytes(),
            Err(warning) => return (Value::Null, warning),
        },
    };
    let mut warning = None;
    if bytes.len() > length as usize {
        let text = value.to_text(6).unwrap_or_default();
        warning = CastWarning::truncated(&format!("BINARY({length})"), &text);
        bytes.truncate(length as usize);
    } else if kind == BytesKind::Binary {
        bytes.resize(length as usize, 0);
    }
    (Value::Bytes(bytes), warning)
}
