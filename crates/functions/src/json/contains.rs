//! What is in a document.

use super::argument::{document, document_or_null, is_one, part, path, single_path};
use crate::Call;
use muster_types::{
    Result, Value,
    json::{self, ArrayView, JsonNode, JsonView, group_key},
};
use std::collections::HashSet;

/// `JSON_CONTAINS(document, candidate [, path])`; NULL for a path that leads nowhere. Arguments behind the first that
/// is NULL are not looked at.
pub(super) fn contains(call: &mut Call, args: &[Value]) -> Result<Value> {
    let Some(target) = document_or_null(call, args, 0)? else { return Ok(Value::Null) };
    let Some(candidate) = document_or_null(call, args, 1)? else { return Ok(Value::Null) };
    let target = JsonView::new(&target);
    let target = match (single_path(args, 2)?, args.len()) {
        (None, 2) => Some(target),
        (None, _) => None,
        (Some(path), _) => json::seek(target, &path).first().copied(),
    };
    Ok(target.map_or(Value::Null, |target| Value::Bool(holds(target, JsonView::new(&candidate)))))
}

/// An array holds a value that one of its elements is or holds, and an array of such values; an object holds one whose
/// members its own members hold; a scalar what it is equal to (MySQL: `contains_wr`).
fn holds(target: JsonView, candidate: JsonView) -> bool {
    match (target.node(), candidate.node()) {
        (JsonNode::Array(items), JsonNode::Array(wanted)) => {
            let scalars: HashSet<Vec<u8>> = items.iter().filter(|item| !is_container(*item)).map(group_key).collect();
            let is_scalar_of = |value: JsonView| !is_container(value) && scalars.contains(&group_key(value));
            wanted.iter().all(|value| is_scalar_of(value) || is_in(items, value))
        }
        (JsonNode::Array(items), _) => is_in(items, candidate),
        (JsonNode::Object(members), JsonNode::Object(wanted)) => {
            wanted.iter().all(|(name, value)| members.get(name).is_some_and(|own| holds(own, value)))
        }
        _ => !is_container(target) && json::compare(target, candidate).is_eq(),
    }
}

/// Returns true if an element of an array is the value or holds it; an array is held by arrays only.
fn is_in(items: ArrayView, value: JsonView) -> bool {
    let is_array = |view: JsonView| matches!(view.node(), JsonNode::Array(_));
    items.iter().any(|item| match is_container(item) {
        true => (is_array(item) || !is_array(value)) && holds(item, value),
        false => json::compare(item, value).is_eq(),
    })
}

fn is_container(view: JsonView) -> bool {
    matches!(view.node(), JsonNode::Array(_) | JsonNode::Object(_))
}

/// `JSON_CONTAINS_PATH(document, one_or_all, path, ..)`. Paths behind the one that decides are not looked at.
pub(super) fn contains_path(call: &mut Call, args: &[Value]) -> Result<Value> {
    if args[0].is_null() {
        return Ok(Value::Null);
    }
    let document = document(call, args, 0)?;
    if args[1].is_null() {
        return Ok(Value::Null);
    }
    let is_one = is_one(call, args, 1)?;
    for i in 2..args.len() {
        let Some(path) = path(args, i)? else { return Ok(Value::Null) };
        if json::has_match(JsonView::new(&document), &path) == is_one {
            return Ok(Value::Bool(is_one));
        }
    }
    Ok(Value::Bool(!is_one))
}

/// `value MEMBER OF(document)`: an element of an array that the value is equal to, or what is no array and equal.
pub(super) fn member_of(call: &mut Call, args: &[Value]) -> Result<Value> {
    let value = json::encode(&part(call, args, 0)).map_err(|limit| limit.error())?;
    let (value, document) = (JsonView::new(&value), document(call, args, 1)?);
    let document = JsonView::new(&document);
    let is_equal = |item: JsonView| json::compare(item, value).is_eq();
    Ok(Value::Bool(match document.node() {
        JsonNode::Array(items) => items.iter().any(is_equal),
        _ => is_equal(document),
    }))
}

/// `JSON_OVERLAPS(a, b)`: two arrays with an element in common, two objects with a member in common, an array that has
/// the other value as an element, or two equal scalars.
pub(super) fn overlaps(call: &mut Call, args: &[Value]) -> Result<Value> {
    let Some(a) = document_or_null(call, args, 0)? else { return Ok(Value::Null) };
    let Some(b) = document_or_null(call, args, 1)? else { return Ok(Value::Null) };
    let (a, b) = (JsonView::new(&a), JsonView::new(&b));
    Ok(Value::Bool(match (a.node(), b.node()) {
        (JsonNode::Array(a), JsonNode::Array(b)) => {
            let own: HashSet<Vec<u8>> = a.iter().map(group_key).collect();
            b.iter().any(|item| own.contains(&group_key(item)))
        }
        (JsonNode::Object(a), JsonNode::Object(b)) => {
            b.iter().any(|(name, value)| a.get(name).is_some_and(|own| json::compare(own, value).is_eq()))
        }
        (JsonNode::Array(items), _) => items.iter().any(|item| json::compare(item, b).is_eq()),
        (_, JsonNode::Array(items)) => items.iter().any(|item| json::compare(item, a).is_eq()),
        _ => json::compare(a, b).is_eq(),
    }))
}
