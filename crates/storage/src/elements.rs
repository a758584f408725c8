//! Columns of arrays, of which an index has an entry for each element: multi-valued indexes.
//!
//! Such a column has documents ([`muster_types::json`]) that are arrays of scalars of one type. A row makes as many
//! entries in the index as its array has elements that differ, and none for NULL and for an empty array.

use crate::{Result, StorageError};
use muster_types::{
    SqlType, Value,
    json::{JsonNode, JsonView},
};

/// The elements of an array as values of their type. Error: `WrongType` for what is no such array.
pub(crate) fn elements_of(array: &Value, ty: SqlType) -> Result<Vec<Value>> {
    let wrong = || StorageError::WrongType { value: "what is no array of scalars of one type".into() };
    let document = match array {
        Value::Null => return Ok(Vec::new()),
        Value::Json(document) => document,
        _ => return Err(wrong()),
    };
    let JsonNode::Array(items) = JsonView::new(document).node() else { return Err(wrong()) };
    items.iter().map(|item| scalar(item.node(), ty).ok_or_else(wrong)).collect()
}

fn scalar(node: JsonNode<'_>, ty: SqlType) -> Option<Value> {
    Some(match node {
        JsonNode::Int(n) if ty.is_unsigned() => Value::UInt(u64::try_from(n).ok()?),
        JsonNode::Int(n) => Value::Int(n),
        JsonNode::UInt(n) if ty.is_unsigned() => Value::UInt(n),
        JsonNode::UInt(n) => Value::Int(i64::try_from(n).ok()?),
        JsonNode::Double(x) => Value::Double(x),
        JsonNode::Decimal(d) => Value::Decimal(d),
        JsonNode::Text(text) => Value::Text(text.to_owned()),
        JsonNode::Date(d) => Value::Date(d),
        JsonNode::DateTime(t) | JsonNode::Timestamp(t) => Value::DateTime(t),
        JsonNode::Time(t) => Value::Time(t),
        JsonNode::Opaque { bytes, .. } => Value::Bytes(bytes.to_owned()),
        JsonNode::Null | JsonNode::Bool(_) | JsonNode::Array(_) | JsonNode::Object(_) => return None,
    })
}
