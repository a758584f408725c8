//! Parts of documents, and what they are.

use super::argument::{document, document_or_null, path, single_path, value};
use crate::Call;
use muster_types::{
    Result, Value,
    json::{self, JsonNode, JsonPath, JsonValue, JsonView},
};

/// What the paths lead to: the value itself for one path to one place, an array of the values for others.
fn found(view: JsonView, paths: &[JsonPath]) -> Option<Vec<u8>> {
    let found: Vec<JsonView> = paths.iter().flat_map(|path| json::seek(view, path)).collect();
    let is_single = matches!(paths, [path] if !path.finds_many());
    match found.as_slice() {
        [] => None,
        [one] if is_single => Some(one.to_bytes()),
        // Parts of a document are no deeper than it is; the array takes the place of what is around them.
        several => json::encode(&JsonValue::Array(several.iter().map(|part| JsonValue::of_view(*part)).collect())).ok(),
    }
}

/// `JSON_EXTRACT(document, path, ..)`. Arguments behind the first that is NULL are not looked at.
pub(super) fn extract(call: &mut Call, args: &[Value]) -> Result<Value> {
    let Some(document) = document_or_null(call, args, 0)? else { return Ok(Value::Null) };
    let mut paths = Vec::with_capacity(args.len() - 1);
    for i in 1..args.len() {
        let Some(path) = path(args, i)? else { return Ok(Value::Null) };
        paths.push(path);
    }
    Ok(found(JsonView::new(&document), &paths).map_or(Value::Null, Value::Json))
}

/// `JSON_KEYS(document [, path])`: the names of an object. An index leads into arrays only.
pub(super) fn keys(call: &mut Call, args: &[Value]) -> Result<Value> {
    let Some(document) = document_or_null(call, args, 0)? else { return Ok(Value::Null) };
    let view = JsonView::new(&document);
    let view = match (single_path(args, 1)?, args.len()) {
        (None, 1) => Some(view),
        (None, _) => None,
        (Some(path), _) => json::seek_in_arrays(view, &path).first().copied(),
    };
    match view.map(JsonView::node) {
        Some(JsonNode::Object(object)) => {
            let names = object.iter().map(|(name, _)| JsonValue::Text(name.to_owned())).collect();
            value(call, &JsonValue::Array(names))
        }
        _ => Ok(Value::Null),
    }
}

/// `JSON_LENGTH(document [, path])`. With a path it is the length of what JSON_EXTRACT gives, which tells the errors.
pub(super) fn length(call: &mut Call, args: &[Value]) -> Result<Value> {
    if args.len() > 1 {
        call.name = "json_extract";
    }
    let Some(document) = document_or_null(call, args, 0)? else { return Ok(Value::Null) };
    let view = JsonView::new(&document);
    Ok(match (path(args, 1)?, args.len()) {
        (None, 1) => Value::Int(view.count() as i64),
        (None, _) => Value::Null,
        (Some(path), _) => {
            found(view, &[path]).map_or(Value::Null, |found| Value::Int(JsonView::new(&found).count() as i64))
        }
    })
}

pub(super) fn depth(call: &mut Call, args: &[Value]) -> Result<Value> {
    let document = document(call, args, 0)?;
    Ok(Value::Int(JsonView::new(&document).depth() as i64))
}

pub(super) fn type_name(call: &mut Call, args: &[Value]) -> Result<Value> {
    let document = document(call, args, 0)?;
    Ok(Value::Text(JsonView::new(&document).type_name().to_owned()))
}

/// `JSON_VALID(value)`: what is neither a text nor a document is not valid. Error 3157 for a text that is too deep.
pub(super) fn valid(_: &mut Call, args: &[Value]) -> Result<Value> {
    Ok(Value::Bool(match &args[0] {
        Value::Json(_) => true,
        Value::Text(text) => match json::parse(text) {
            Ok(_) => true,
            Err(json::TextError::Syntax { .. }) => false,
            Err(json::TextError::Limit(limit)) => return Err(limit.error()),
        },
        _ => false,
    }))
}

/// `JSON_STORAGE_SIZE(document)`: bytes of its binary form.
pub(super) fn storage_size(call: &mut Call, args: &[Value]) -> Result<Value> {
    Ok(Value::Int(document(call, args, 0)?.len() as i64))
}

/// `JSON_STORAGE_FREE(document)`: documents are written anew when they change, so that nothing in them is free.
pub(super) fn storage_free(call: &mut Call, args: &[Value]) -> Result<Value> {
    document(call, args, 0)?;
    Ok(Value::Int(0))
}
