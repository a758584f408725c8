//! Arguments as documents and paths.

use crate::Call;
use muster_types::{
    ErrorCode, Result, SqlError, Value,
    json::{self, JsonPath, JsonValue, JsonView},
};
use std::borrow::Cow;

/// The document that an argument is, which is not NULL. Errors: 3141 for a text that is no JSON, 3144 for a byte
/// string, 3146 for all else.
pub(super) fn document<'a>(call: &Call, args: &'a [Value], i: usize) -> Result<Cow<'a, [u8]>> {
    match args.get(i) {
        Some(Value::Json(document)) => Ok(Cow::Borrowed(document)),
        Some(Value::Text(text)) => {
            json::parse_to_bytes(text).map(Cow::Owned).map_err(|error| error.in_argument(i + 1, call.name))
        }
        Some(Value::Bytes(_)) => Err(binary_text()),
        _ => Err(no_json(call, i)),
    }
}

/// As [`document`]; `None` for NULL.
pub(super) fn document_or_null<'a>(call: &Call, args: &'a [Value], i: usize) -> Result<Option<Cow<'a, [u8]>>> {
    if args[i].is_null() { Ok(None) } else { document(call, args, i).map(Some) }
}

/// As [`document`], as a tree.
pub(super) fn tree(call: &Call, args: &[Value], i: usize) -> Result<JsonValue> {
    match args.get(i) {
        Some(Value::Json(document)) => Ok(JsonValue::of_view(JsonView::new(document))),
        Some(Value::Text(text)) => json::parse(text).map_err(|error| error.in_argument(i + 1, call.name)),
        Some(Value::Bytes(_)) => Err(binary_text()),
        _ => Err(no_json(call, i)),
    }
}

/// As [`tree`]; `None` for NULL.
pub(super) fn tree_or_null(call: &Call, args: &[Value], i: usize) -> Result<Option<JsonValue>> {
    if args[i].is_null() { Ok(None) } else { tree(call, args, i).map(Some) }
}

/// 3144.
pub(super) fn binary_text() -> SqlError {
    SqlError::new(
        ErrorCode::InvalidJsonCharset,
        "Cannot create a JSON value from a string with CHARACTER SET 'binary'.",
    )
}

fn no_json(call: &Call, i: usize) -> SqlError {
    let message = format!(
        "Invalid data type for JSON data in argument {} to function {}; a JSON string or JSON type is required.",
        i + 1,
        call.name
    );
    SqlError::new(ErrorCode::InvalidTypeForJson, message)
}

/// 3064.
pub(super) fn wrong_type(call: &Call, i: usize) -> SqlError {
    let message = format!("Incorrect type for argument {} in function {}.", i + 1, call.name);
    SqlError::new(ErrorCode::IncorrectType, message)
}

/// The path that an argument is; `None` for NULL. Error 3143.
pub(super) fn path(args: &[Value], i: usize) -> Result<Option<JsonPath>> {
    match args.get(i) {
        None | Some(Value::Null) => Ok(None),
        Some(value) => JsonPath::parse(&value.to_text(0).unwrap_or_default()).map(Some),
    }
}

/// As [`path`], for a path that leads to one place. Error 3149 for another one.
pub(super) fn single_path(args: &[Value], i: usize) -> Result<Option<JsonPath>> {
    match path(args, i)? {
        Some(path) if path.finds_many() => Err(SqlError::new(
            ErrorCode::InvalidJsonPathWildcard,
            "In this situation, path expressions may not contain the * and ** tokens or an array range.",
        )),
        path => Ok(path),
    }
}

/// A value as a part of a document.
pub(super) fn part(call: &Call, args: &[Value], i: usize) -> JsonValue {
    args.get(i).map_or(JsonValue::Null, |value| json::scalar_of(value, call.types.get(i).copied().flatten()))
}

/// A tree as a value. Error 3157 for one that is too deep; NULL with a warning for one that is too long.
pub(super) fn value(call: &mut Call, tree: &JsonValue) -> Result<Value> {
    let document = json::encode(tree).map_err(|limit| limit.error())?;
    Ok(if call.has_room(document.len())? { Value::Json(document) } else { Value::Null })
}

/// The word of an argument: true for `one`, false for `all`. Error 3154 for others.
pub(super) fn is_one(call: &Call, args: &[Value], i: usize) -> Result<bool> {
    let word = call.text(args, i).unwrap_or_default();
    match () {
        _ if word.eq_ignore_ascii_case("one") => Ok(true),
        _ if word.eq_ignore_ascii_case("all") => Ok(false),
        _ => {
            let message = format!("The oneOrAll argument to {} may take these values: 'one' or 'all'.", call.name);
            Err(SqlError::new(ErrorCode::JsonBadOneOrAll, message))
        }
    }
}
