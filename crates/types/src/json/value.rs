//! A document as a tree.

use super::view::{JsonNode, JsonView};
use crate::Decimal;
use std::cmp::Ordering;

/// A JSON value. Dates and times are those of [`crate::Value`].
#[derive(Debug, Clone, PartialEq)]
pub enum JsonValue {
    Null,
    Bool(bool),
    Int(i64),
    UInt(u64),
    Double(f64),
    Decimal(Decimal),
    Text(String),
    Date(i32),
    DateTime(i64),
    Timestamp(i64),
    Time(i64),
    /// A value of a type that JSON lacks: MySQL's number of the type ([`super::opaque`]), and the bytes.
    Opaque {
        field_type: u8,
        bytes: Vec<u8>,
    },
    Array(Vec<JsonValue>),
    Object(JsonObject),
}

/// The members of an object, ordered by the lengths of their names and equally long names by bytes.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct JsonObject {
    members: Vec<(String, JsonValue)>,
}

/// The order of names in an object.
pub(super) fn name_order(a: &[u8], b: &[u8]) -> Ordering {
    a.len().cmp(&b.len()).then_with(|| a.cmp(b))
}

impl JsonObject {
    /// The object of these members; of several with one name the last one counts.
    pub fn of_members(mut members: Vec<(String, JsonValue)>) -> JsonObject {
        // The sort is stable, so that the last one of equal names stands last.
        members.sort_by(|a, b| name_order(a.0.as_bytes(), b.0.as_bytes()));
        let mut kept: Vec<(String, JsonValue)> = Vec::with_capacity(members.len());
        for (name, value) in members {
            match kept.last_mut() {
                Some(last) if last.0 == name => last.1 = value,
                _ => kept.push((name, value)),
            }
        }
        JsonObject { members: kept }
    }

    pub fn members(&self) -> &[(String, JsonValue)] {
        &self.members
    }

    pub fn into_members(self) -> Vec<(String, JsonValue)> {
        self.members
    }

    pub fn len(&self) -> usize {
        self.members.len()
    }

    pub fn is_empty(&self) -> bool {
        self.members.is_empty()
    }

    fn position(&self, name: &str) -> Result<usize, usize> {
        self.members.binary_search_by(|(other, _)| name_order(other.as_bytes(), name.as_bytes()))
    }

    pub fn get(&self, name: &str) -> Option<&JsonValue> {
        self.position(name).ok().map(|i| &self.members[i].1)
    }

    pub fn get_mut(&mut self, name: &str) -> Option<&mut JsonValue> {
        self.position(name).ok().map(|i| &mut self.members[i].1)
    }

    /// Sets a member, which is added if there is none of this name.
    pub fn set(&mut self, name: String, value: JsonValue) {
        match self.position(&name) {
            Ok(i) => self.members[i].1 = value,
            Err(i) => self.members.insert(i, (name, value)),
        }
    }

    pub fn remove(&mut self, name: &str) -> Option<JsonValue> {
        self.position(name).ok().map(|i| self.members.remove(i).1)
    }

    pub fn values_mut(&mut self) -> impl Iterator<Item = &mut JsonValue> {
        self.members.iter_mut().map(|(_, value)| value)
    }
}

impl JsonValue {
    /// The tree of a document in its binary form.
    pub fn of_view(view: JsonView<'_>) -> JsonValue {
        JsonValue::of_view_within(view, super::DEPTH_MAX)
    }

    /// `depth`: containers that may still be opened; a damaged document may have more than one can have.
    fn of_view_within(view: JsonView<'_>, depth: usize) -> JsonValue {
        match view.node() {
            JsonNode::Null => JsonValue::Null,
            JsonNode::Bool(b) => JsonValue::Bool(b),
            JsonNode::Int(i) => JsonValue::Int(i),
            JsonNode::UInt(u) => JsonValue::UInt(u),
            JsonNode::Double(x) => JsonValue::Double(x),
            JsonNode::Decimal(d) => JsonValue::Decimal(d),
            JsonNode::Text(text) => JsonValue::Text(text.to_owned()),
            JsonNode::Date(d) => JsonValue::Date(d),
            JsonNode::DateTime(t) => JsonValue::DateTime(t),
            JsonNode::Timestamp(t) => JsonValue::Timestamp(t),
            JsonNode::Time(t) => JsonValue::Time(t),
            JsonNode::Opaque { field_type, bytes } => JsonValue::Opaque { field_type, bytes: bytes.to_vec() },
            _ if depth == 0 => JsonValue::Null,
            JsonNode::Array(array) => {
                JsonValue::Array(array.iter().map(|item| JsonValue::of_view_within(item, depth - 1)).collect())
            }
            JsonNode::Object(object) => {
                let members = object.iter();
                let members =
                    members.map(|(name, value)| (name.to_owned(), JsonValue::of_view_within(value, depth - 1)));
                JsonValue::Object(JsonObject::of_members(members.collect()))
            }
        }
    }

    /// Returns true for arrays and objects.
    pub fn is_container(&self) -> bool {
        matches!(self, JsonValue::Array(_) | JsonValue::Object(_))
    }

    /// The elements of an array, or the value as the only one.
    pub fn into_elements(self) -> Vec<JsonValue> {
        match self {
            JsonValue::Array(items) => items,
            other => vec![other],
        }
    }
}
