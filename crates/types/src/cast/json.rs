//! Conversion of JSON documents to other types: of scalars to what they are or read as, of all else to zero or NULL
//! with warning 3156.

use super::{CastWarning, CastWarnings, cast_dated, decimal_prefix, double_prefix, integer_prefix, number, text};
use crate::{
    ErrorCode, SqlType, Value,
    json::{self, JsonNode, JsonView, scalar_of},
    temporal::DateModes,
};

/// The document as a value of another type.
pub(super) fn from_document(document: &[u8], to: SqlType, modes: DateModes) -> (Value, CastWarnings) {
    let view = JsonView::new(document);
    let (value, warning) = match to {
        SqlType::Json => (Value::Json(document.to_vec()), None),
        SqlType::Null => (Value::Null, None),
        SqlType::Unsigned(number) => return from_document(document, number.plain(), modes),
        SqlType::Bool => {
            let (x, warning) = double_of(view);
            (Value::Bool(x != 0.0), warning)
        }
        SqlType::Int { width, unsigned } => integer(view, width, unsigned),
        SqlType::Year => match number_of(view, "INTEGER") {
            (number, None) => return super::cast(&number, to),
            (number, warning) => (super::cast(&number, to).0, warning),
        },
        SqlType::Decimal { precision, scale } => {
            let (number, warning) = number_of(view, "DECIMAL");
            let (value, of_cast) = number::to_decimal(&number, precision, scale);
            (value, warning.or(of_cast))
        }
        SqlType::Float => {
            let (x, warning) = double_of(view);
            (Value::Float((x as f32).clamp(f32::MIN, f32::MAX)), warning)
        }
        SqlType::Double => {
            let (x, warning) = double_of(view);
            (Value::Double(x), warning)
        }
        SqlType::Date | SqlType::DateTime { .. } | SqlType::Timestamp { .. } | SqlType::Time { .. } => {
            return moment(view, to, modes);
        }
        SqlType::Text { length, collation, .. } => text::to_text(&printed(view), None, length, collation),
        SqlType::Bytes { kind, length } => text::to_bytes(&printed(view), None, kind, length),
        SqlType::Enum(_) | SqlType::Set(_) | SqlType::Bit { .. } => return super::cast(&printed(view), to),
    };
    (value, warning.into())
}

fn printed(view: JsonView<'_>) -> Value {
    Value::Text(json::to_text(view))
}

/// 3156: `to` is MySQL's name of the wanted type.
fn invalid(to: &str) -> Option<CastWarning> {
    let message = format!("Invalid JSON value for CAST to {to} from column json at row 1");
    CastWarning::new(ErrorCode::InvalidJsonValueForCast, message)
}

/// The document as a double, with warning 3156 if it is none.
pub(super) fn double_of(view: JsonView<'_>) -> (f64, Option<CastWarning>) {
    let (number, warning) = number_of(view, "DOUBLE");
    (number::to_double(&number).0, warning)
}

/// The number that a scalar is or begins with, and 0 with warning 3156 for all else.
fn number_of(view: JsonView<'_>, to: &str) -> (Value, Option<CastWarning>) {
    match view.node() {
        JsonNode::Int(i) => (Value::Int(i), None),
        JsonNode::UInt(u) => (Value::UInt(u), None),
        JsonNode::Double(x) => (Value::Double(x), None),
        JsonNode::Decimal(d) => (Value::Decimal(d), None),
        JsonNode::Bool(b) => (Value::Int(b.into()), None),
        JsonNode::Text(text) => {
            let (number, is_clean) = match to {
                "INTEGER" => {
                    let (number, is_clean) = integer_prefix(text);
                    (Value::Decimal(crate::Decimal::new(number, 0)), is_clean)
                }
                "DECIMAL" => {
                    let (number, is_clean) = decimal_prefix(text);
                    (Value::Decimal(number), is_clean)
                }
                _ => {
                    let (number, is_clean) = double_prefix(text);
                    (Value::Double(number), is_clean)
                }
            };
            (number, if is_clean { None } else { invalid(to) })
        }
        _ => (Value::Int(0), invalid(to)),
    }
}

fn integer(view: JsonView<'_>, width: crate::IntWidth, unsigned: bool) -> (Value, Option<CastWarning>) {
    let (number, warning) = number_of(view, "INTEGER");
    let (value, of_cast) = number::to_int(&number, width, unsigned);
    let of_cast = of_cast.filter(|_| !matches!(number, Value::Int(_) | Value::UInt(_))).and_then(|_| {
        let message = "Out of range JSON value for CAST to INTEGER from column json at row 1";
        CastWarning::new(ErrorCode::NumericJsonValueOutOfRange, message)
    });
    (value, warning.or(of_cast))
}

/// A date or time, or a text of one, in the wanted type.
fn moment(view: JsonView<'_>, to: SqlType, modes: DateModes) -> (Value, CastWarnings) {
    let value = match view.node() {
        JsonNode::Date(d) => Value::Date(d),
        JsonNode::DateTime(t) | JsonNode::Timestamp(t) => Value::DateTime(t),
        JsonNode::Time(t) => Value::Time(t),
        JsonNode::Text(text) => Value::Text(text.to_owned()),
        _ => Value::Null,
    };
    match cast_dated(&value, to, modes).0 {
        Value::Null => (Value::Null, invalid("DATE/TIME/DATETIME/TIMESTAMP").into()),
        moment => (moment, CastWarnings::default()),
    }
}

/// A value as a document: a text is a JSON string. A document that is too long becomes NULL, which the limits of
/// texts leave no room for.
pub(super) fn to_document(value: &Value, from: Option<SqlType>) -> Value {
    json::encode(&scalar_of(value, from)).map_or(Value::Null, Value::Json)
}
