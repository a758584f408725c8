//! JSON_SEARCH: the paths of strings that are like a pattern.

use super::argument::{document, is_one, path, value};
use crate::Call;
use muster_types::{
    Collation, Result, SqlError, Value,
    collation::LikePattern,
    json::{self, ArrayIndex, JsonNode, JsonPath, JsonValue, JsonView, PathLeg},
};

/// `JSON_SEARCH(document, one_or_all, pattern [, escape [, path ..]])`.
pub(super) fn search(call: &mut Call, args: &[Value]) -> Result<Value> {
    if args[0].is_null() {
        return Ok(Value::Null);
    }
    let document = document(call, args, 0)?;
    if args[1].is_null() {
        return Ok(Value::Null);
    }
    let only_first = is_one(call, args, 1)?;
    let Some(pattern) = call.text(args, 2) else { return Ok(Value::Null) };
    let escape = escape(call, args)?;
    let mut paths = Vec::new();
    for i in 4..args.len() {
        let Some(path) = path(args, i)? else { return Ok(Value::Null) };
        paths.push(path);
    }
    if paths.is_empty() {
        paths.push(JsonPath::default());
    }
    let pattern = LikePattern::new(&pattern, escape, Collation::Utf8mb4Bin);
    let mut search = Search { pattern, only_first, places: Vec::new(), legs: Vec::new(), found: Vec::new() };
    let root = JsonView::new(&document);
    for path in &paths {
        search.places = json::seek(root, path).iter().map(|view| view.place()).collect();
        search.visit(root, false);
    }
    let mut found = search.found.into_iter().map(JsonValue::Text);
    match (found.next(), found.len()) {
        (None, _) => Ok(Value::Null),
        (Some(one), 0) => value(call, &one),
        (Some(first), _) => value(call, &JsonValue::Array(std::iter::once(first).chain(found).collect())),
    }
}

/// The escape character, a backslash without one. Error 1210 for a text of several characters.
fn escape(call: &Call, args: &[Value]) -> Result<Option<char>> {
    let text = call.text(args, 3).unwrap_or_default();
    let mut characters = text.chars();
    match (characters.next(), characters.next()) {
        (None, _) => Ok(Some('\\')),
        (escape, None) => Ok(escape),
        _ => Err(SqlError::wrong_arguments("ESCAPE")),
    }
}

struct Search {
    pattern: LikePattern,
    only_first: bool,
    /// Where the values lie in which strings are looked for.
    places: Vec<usize>,
    /// The way from the document to the value that is looked at.
    legs: Vec<PathLeg>,
    found: Vec<String>,
}

impl Search {
    /// `is_inside`: within a value in which strings are looked for.
    fn visit(&mut self, view: JsonView, is_inside: bool) {
        if self.only_first && !self.found.is_empty() {
            return;
        }
        let is_inside = is_inside || self.places.contains(&view.place());
        match view.node() {
            JsonNode::Text(text) if is_inside && self.pattern.matches(text) => {
                let path = JsonPath { legs: self.legs.clone() }.to_text();
                if !self.found.contains(&path) {
                    self.found.push(path);
                }
            }
            JsonNode::Array(items) => {
                for (i, item) in items.iter().enumerate() {
                    self.step(PathLeg::Element(ArrayIndex::First(i as u32)), item, is_inside);
                }
            }
            JsonNode::Object(members) => {
                for (name, value) in members.iter() {
                    self.step(PathLeg::Member(name.to_owned()), value, is_inside);
                }
            }
            _ => {}
        }
    }

    fn step(&mut self, leg: PathLeg, view: JsonView, is_inside: bool) {
        if self.legs.len() >= json::DEPTH_MAX {
            return;
        }
        self.legs.push(leg);
        self.visit(view, is_inside);
        self.legs.pop();
    }
}
