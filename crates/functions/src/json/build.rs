//! Documents made of values, and JSON strings.

use super::argument::{binary_text, document, part, value, wrong_type};
use crate::Call;
use muster_types::{
    ErrorCode, Result, SqlError, Value,
    json::{self, JsonNode, JsonObject, JsonValue, JsonView},
};

/// `JSON_ARRAY(value, ..)`.
pub(super) fn array(call: &mut Call, args: &[Value]) -> Result<Value> {
    let items = (0..args.len()).map(|i| part(call, args, i)).collect();
    value(call, &JsonValue::Array(items))
}

/// `JSON_OBJECT(name, value, ..)`. Errors: 3158 for a name that is NULL, 3144 for a byte string.
pub(super) fn object(call: &mut Call, args: &[Value]) -> Result<Value> {
    let mut members = Vec::with_capacity(args.len() / 2);
    for i in (0..args.len()).step_by(2) {
        let name = match &args[i] {
            Value::Null => {
                let message = "JSON documents may not contain NULL member names.";
                return Err(SqlError::new(ErrorCode::JsonDocumentNullKey, message));
            }
            Value::Bytes(_) => return Err(binary_text()),
            _ => call.text(args, i).unwrap_or_default(),
        };
        members.push((name, part(call, args, i + 1)));
    }
    value(call, &JsonValue::Object(JsonObject::of_members(members)))
}

/// `JSON_QUOTE(text)`. Error 3064 for what is no text.
pub(super) fn quote(call: &mut Call, args: &[Value]) -> Result<Value> {
    match &args[0] {
        Value::Text(text) => {
            let quoted = json::quoted(text);
            Ok(if call.has_room(quoted.len())? { Value::Text(quoted) } else { Value::Null })
        }
        Value::Bytes(_) => Err(binary_text()),
        _ => Err(wrong_type(call, 0)),
    }
}

/// `JSON_UNQUOTE(value)`: a JSON string or a text in quotation marks without them, all else as text.
pub(super) fn unquote(call: &mut Call, args: &[Value]) -> Result<Value> {
    match &args[0] {
        Value::Json(document) => {
            let view = JsonView::new(document);
            Ok(Value::Text(json::scalar_text(view).unwrap_or_else(|| json::to_text(view))))
        }
        Value::Text(text) if text.len() >= 2 && text.starts_with('"') && text.ends_with('"') => {
            let text = json::unescape(text).map_err(|error| error.in_argument(1, call.name))?;
            Ok(Value::Text(text))
        }
        Value::Text(text) => Ok(Value::Text(text.clone())),
        Value::Bytes(_) => Err(binary_text()),
        _ => Err(wrong_type(call, 0)),
    }
}

/// `JSON_PRETTY(document)`.
pub(super) fn pretty(call: &mut Call, args: &[Value]) -> Result<Value> {
    let document = document(call, args, 0)?;
    let view = JsonView::new(&document);
    let text = match view.node() {
        JsonNode::Array(_) | JsonNode::Object(_) => json::pretty(view),
        _ => json::to_text(view),
    };
    Ok(if call.has_room(text.len())? { Value::Text(text) } else { Value::Null })
}
