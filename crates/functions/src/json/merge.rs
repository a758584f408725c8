//! Documents made of several.

use super::argument::{tree_or_null, value};
use crate::Call;
use muster_types::{
    Result, Value,
    json::{JsonObject, JsonValue},
};

/// `JSON_MERGE_PRESERVE(document, document, ..)`, and JSON_MERGE. Arguments behind the first that is NULL are not
/// looked at.
pub(super) fn preserve(call: &mut Call, args: &[Value]) -> Result<Value> {
    let Some(mut merged) = tree_or_null(call, args, 0)? else { return Ok(Value::Null) };
    for i in 1..args.len() {
        let Some(next) = tree_or_null(call, args, i)? else { return Ok(Value::Null) };
        merged = both(merged, next);
    }
    value(call, &merged)
}

/// Objects with the members of both, all else as one array.
fn both(a: JsonValue, b: JsonValue) -> JsonValue {
    match (a, b) {
        (JsonValue::Object(mut a), JsonValue::Object(b)) => {
            for (name, value) in b.into_members() {
                let merged = match a.remove(&name) {
                    Some(own) => both(own, value),
                    None => value,
                };
                a.set(name, merged);
            }
            JsonValue::Object(a)
        }
        (a, b) => {
            let mut items = a.into_elements();
            items.extend(b.into_elements());
            JsonValue::Array(items)
        }
    }
}

/// `JSON_MERGE_PATCH(document, patch, ..)` (RFC 7396). A document that is not known makes the result NULL, unless a
/// patch behind it replaces all of it.
pub(super) fn patch(call: &mut Call, args: &[Value]) -> Result<Value> {
    let mut patched = None;
    for i in 0..args.len() {
        patched = match (patched, tree_or_null(call, args, i)?) {
            (_, None) => None,
            (_, Some(new)) if i == 0 || !matches!(new, JsonValue::Object(_)) => Some(new),
            (None, Some(_)) => None,
            (Some(document), Some(new)) => Some(patch_with(document, new)),
        };
    }
    match patched {
        Some(patched) => value(call, &patched),
        None => Ok(Value::Null),
    }
}

fn patch_with(document: JsonValue, patch: JsonValue) -> JsonValue {
    let JsonValue::Object(patch) = patch else { return patch };
    let mut object = match document {
        JsonValue::Object(object) => object,
        _ => JsonObject::default(),
    };
    for (name, value) in patch.into_members() {
        match value {
            JsonValue::Null => drop(object.remove(&name)),
            value => {
                let own = object.remove(&name).unwrap_or(JsonValue::Null);
                object.set(name, patch_with(own, value));
            }
        }
    }
    JsonValue::Object(object)
}
