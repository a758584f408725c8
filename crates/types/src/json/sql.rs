//! SQL values as JSON scalars.

use super::{JsonValue, JsonValue as Tree, TextError, opaque, text, view::JsonView};
use crate::{BytesKind, SqlType, Value, sql_type::bit_bytes};

/// The JSON scalar that a SQL value becomes as a part of a document; a document stays one, and a text is a string.
/// `ty`: the type of the value, if it is known. NULL becomes `null`.
pub fn scalar_of(value: &Value, ty: Option<SqlType>) -> JsonValue {
    match (value, ty) {
        (Value::Null, _) => Tree::Null,
        (Value::Json(bytes), _) => Tree::of_view(JsonView::new(bytes)),
        (Value::UInt(bits), Some(SqlType::Bit { width })) => {
            Tree::Opaque { field_type: opaque::BIT, bytes: bit_bytes(*bits, width) }
        }
        (Value::UInt(_), Some(ty @ (SqlType::Enum(_) | SqlType::Set(_)))) => {
            ty.shown(value).and_then(|shown| shown.to_text(0)).map_or(Tree::Null, Tree::Text)
        }
        (Value::Bool(b), _) => Tree::Bool(*b),
        (Value::Int(i), _) => Tree::Int(*i),
        (Value::UInt(u), _) => Tree::UInt(*u),
        (Value::Decimal(d), _) => Tree::Decimal(*d),
        (Value::Float(x), _) => Tree::Double(f64::from(*x)),
        (Value::Double(x), _) => Tree::Double(*x),
        (Value::Date(d), _) => Tree::Date(*d),
        (Value::DateTime(t), Some(SqlType::Timestamp { .. })) => Tree::Timestamp(*t),
        (Value::DateTime(t), _) => Tree::DateTime(*t),
        (Value::Time(t), _) => Tree::Time(*t),
        (Value::Text(text), _) => Tree::Text(text.clone()),
        (Value::Bytes(bytes), ty) => Tree::Opaque { field_type: bytes_field_type(ty), bytes: bytes.clone() },
    }
}

/// The document that a SQL value becomes by CAST: as [`scalar_of`], but a text is read as JSON.
pub fn scalar_or_document(value: &Value, ty: Option<SqlType>) -> Result<JsonValue, TextError> {
    match value {
        Value::Text(text) => text::parse(text),
        _ => Ok(scalar_of(value, ty)),
    }
}

/// MySQL's number of the type of a byte string.
fn bytes_field_type(ty: Option<SqlType>) -> u8 {
    match ty {
        Some(SqlType::Bytes { kind, .. }) => match kind {
            BytesKind::Binary => opaque::STRING,
            BytesKind::VarBinary => opaque::VARCHAR,
            BytesKind::TinyBlob => opaque::TINY_BLOB,
            BytesKind::Blob => opaque::BLOB,
            BytesKind::MediumBlob => opaque::MEDIUM_BLOB,
            BytesKind::LongBlob => opaque::LONG_BLOB,
        },
        _ => opaque::VARCHAR,
    }
}
