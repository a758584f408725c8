//! Documents with values put in, replaced and taken out.

use super::argument::{part, single_path, tree_or_null, value};
use crate::Call;
use muster_types::{
    ErrorCode, Result, SqlError, Value,
    json::{ArrayIndex, JsonPath, JsonValue, PathLeg},
};

/// Changes one place of a document after the other: `change` gets the document, a path and the value that comes with
/// it. NULL if the document or a path is NULL.
fn change_each(
    call: &mut Call,
    args: &[Value],
    mut change: impl FnMut(&mut JsonValue, &JsonPath, JsonValue) -> Result<()>,
) -> Result<Value> {
    let Some(mut document) = tree_or_null(call, args, 0)? else { return Ok(Value::Null) };
    for i in (1..args.len()).step_by(2) {
        let Some(path) = single_path(args, i)? else { return Ok(Value::Null) };
        change(&mut document, &path, part(call, args, i + 1))?;
    }
    value(call, &document)
}

pub(super) fn set(call: &mut Call, args: &[Value]) -> Result<Value> {
    change_each(call, args, |document, path, new| {
        put(document, &path.legs, new, true, true);
        Ok(())
    })
}

pub(super) fn insert(call: &mut Call, args: &[Value]) -> Result<Value> {
    change_each(call, args, |document, path, new| {
        put(document, &path.legs, new, true, false);
        Ok(())
    })
}

pub(super) fn replace(call: &mut Call, args: &[Value]) -> Result<Value> {
    change_each(call, args, |document, path, new| {
        put(document, &path.legs, new, false, true);
        Ok(())
    })
}

/// The value that a path of single steps leads to. An index takes what is no array for an array of it.
fn place<'a>(value: &'a mut JsonValue, legs: &[PathLeg]) -> Option<&'a mut JsonValue> {
    let Some((leg, rest)) = legs.split_first() else { return Some(value) };
    let next = match (leg, value) {
        (PathLeg::Member(name), JsonValue::Object(object)) => object.get_mut(name)?,
        (PathLeg::Element(index), JsonValue::Array(items)) => {
            let i = index.position(items.len()).ok()?;
            items.get_mut(i)?
        }
        (PathLeg::Element(index), scalar) if index.position(1) == Ok(0) => scalar,
        _ => return None,
    };
    place(next, rest)
}

/// Puts a value at a place: `replaces` one that is there, `adds` a member or an element where the last step leads
/// beyond what its container has.
fn put(document: &mut JsonValue, legs: &[PathLeg], new: JsonValue, adds: bool, replaces: bool) {
    if let Some(found) = place(document, legs) {
        if replaces {
            *found = new;
        }
        return;
    }
    let Some((last, before)) = legs.split_last().filter(|_| adds) else { return };
    let Some(parent) = place(document, before) else { return };
    match (last, parent) {
        (PathLeg::Member(name), JsonValue::Object(object)) => object.set(name.clone(), new),
        (PathLeg::Element(index), parent) => {
            let is_before = index.position(if let JsonValue::Array(items) = parent { items.len() } else { 1 }).is_err();
            let mut items = std::mem::replace(parent, JsonValue::Null).into_elements();
            items.insert(if is_before { 0 } else { items.len() }, new);
            *parent = JsonValue::Array(items);
        }
        _ => {}
    }
}

/// `JSON_ARRAY_APPEND(document, path, value, ..)`: a value that is no array becomes the first element of one.
pub(super) fn array_append(call: &mut Call, args: &[Value]) -> Result<Value> {
    change_each(call, args, |document, path, new| {
        if let Some(found) = place(document, &path.legs) {
            let mut items = std::mem::replace(found, JsonValue::Null).into_elements();
            items.push(new);
            *found = JsonValue::Array(items);
        }
        Ok(())
    })
}

/// As [`place`], where an index leads into arrays only.
fn place_in_arrays<'a>(value: &'a mut JsonValue, legs: &[PathLeg]) -> Option<&'a mut JsonValue> {
    let next = match (legs.first(), value) {
        (None, value) => return Some(value),
        (Some(leg @ PathLeg::Member(_)), value) => place(value, std::slice::from_ref(leg))?,
        (Some(leg), value @ JsonValue::Array(_)) => place(value, std::slice::from_ref(leg))?,
        _ => return None,
    };
    place_in_arrays(next, &legs[1..])
}

/// `JSON_ARRAY_INSERT(document, path, value, ..)`: elements from the place on move on. An index leads into arrays only.
/// Error 3165 for a path that does not end with an index.
pub(super) fn array_insert(call: &mut Call, args: &[Value]) -> Result<Value> {
    change_each(call, args, |document, path, new| {
        let Some((PathLeg::Element(index), before)) = path.legs.split_last() else {
            let message = "A path expression is not a path to a cell in an array.";
            return Err(SqlError::new(ErrorCode::InvalidJsonPathArrayCell, message));
        };
        if let Some(JsonValue::Array(items)) = place_in_arrays(document, before) {
            let at = match index {
                ArrayIndex::First(n) => (*n as usize).min(items.len()),
                ArrayIndex::Last(n) => items.len().saturating_sub(*n as usize + 1),
            };
            items.insert(at, new);
        }
        Ok(())
    })
}

/// `JSON_REMOVE(document, path, ..)`. Error 3153 for the document itself, when all paths have been read.
pub(super) fn remove(call: &mut Call, args: &[Value]) -> Result<Value> {
    let Some(mut document) = tree_or_null(call, args, 0)? else { return Ok(Value::Null) };
    let mut paths = Vec::with_capacity(args.len() - 1);
    for i in 1..args.len() {
        let Some(path) = single_path(args, i)? else { return Ok(Value::Null) };
        paths.push(path);
    }
    if paths.iter().any(|path| path.legs.is_empty()) {
        let message = "The path expression '$' is not allowed in this context.";
        return Err(SqlError::new(ErrorCode::JsonVacuousPath, message));
    }
    for path in &paths {
        take_out(&mut document, &path.legs);
    }
    value(call, &document)
}

/// Removes what a path leads to. An index at its end that takes a member for an array removes the member.
fn take_out(document: &mut JsonValue, legs: &[PathLeg]) {
    let Some((last, before)) = legs.split_last() else { return };
    let is_removed = match (last, place(document, before)) {
        (PathLeg::Member(name), Some(JsonValue::Object(object))) => object.remove(name).is_some(),
        (PathLeg::Element(index), Some(JsonValue::Array(items))) => match index.position(items.len()) {
            Ok(i) if i < items.len() => {
                items.remove(i);
                true
            }
            _ => false,
        },
        (PathLeg::Element(index), Some(_)) if index.position(1) == Ok(0) => false,
        _ => true,
    };
    if !is_removed && matches!(last, PathLeg::Element(index) if index.position(1) == Ok(0)) {
        let is_array = matches!(place(document, before), Some(JsonValue::Array(_)));
        if !is_array {
            take_out(document, before);
        }
    }
}
