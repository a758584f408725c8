//! JSON_SEARCH: the paths of strings that are like a pattern.

use super::argument::{document_or_null, is_one, path, value};
use crate::Call;
use muster_types::{
    Collation, Result, SqlError, Value,
    collation::LikePattern,
    json::{self, ArrayIndex, JsonNode, JsonPath, JsonValue, JsonView, PathLeg},
};
use std::collections::HashMap;

/// `JSON_SEARCH(document, one_or_all, pattern [, escape [, path ..]])`. An index of a path leads into arrays only.
pub(super) fn search(call: &mut Call, args: &[Value]) -> Result<Value> {
    let escape = escape(call, args)?;
    let Some(document) = document_or_null(call, args, 0)? else { return Ok(Value::Null) };
    if args[1].is_null() {
        return Ok(Value::Null);
    }
    let only_first = is_one(call, args, 1)?;
    let mut paths = Vec::new();
    for i in 4..args.len() {
        let Some(path) = path(args, i)? else { return Ok(Value::Null) };
        paths.push(path);
    }
    if paths.is_empty() {
        paths.push(JsonPath::default());
    }
    let Some(pattern) = call.text(args, 2) else { return Ok(Value::Null) };
    let pattern = LikePattern::new(&pattern, escape, Collation::Utf8mb4Bin);
    let mut search = Search { pattern, only_first, legs: Vec::new(), found: Vec::new() };
    let root = JsonView::new(&document);
    for path in paths {
        let places = json::seek_in_arrays(root, &path);
        // A path to one place is told as it was given, `$[last]` too.
        let ways = if path.finds_many() { ways_to(root, &places) } else { vec![path.legs] };
        for (place, legs) in places.into_iter().zip(ways) {
            search.legs = legs;
            search.visit(place);
        }
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
    /// The way from the document to the value that is looked at.
    legs: Vec<PathLeg>,
    found: Vec<String>,
}

impl Search {
    fn visit(&mut self, view: JsonView) {
        if self.only_first && !self.found.is_empty() {
            return;
        }
        if let JsonNode::Text(text) = view.node() {
            if self.pattern.matches(text) {
                let path = JsonPath { legs: self.legs.clone() }.to_text();
                if !self.found.contains(&path) {
                    self.found.push(path);
                }
            }
            return;
        }
        for (leg, part) in parts_of(view) {
            if self.legs.len() < json::DEPTH_MAX {
                self.legs.push(leg);
                self.visit(part);
                self.legs.pop();
            }
        }
    }
}

/// The elements of an array or the members of an object, each with the step that leads to it.
fn parts_of(view: JsonView<'_>) -> Vec<(PathLeg, JsonView<'_>)> {
    match view.node() {
        JsonNode::Array(items) => {
            let leg = |i| PathLeg::Element(ArrayIndex::First(i as u32));
            items.iter().enumerate().map(|(i, item)| (leg(i), item)).collect()
        }
        JsonNode::Object(members) => {
            members.iter().map(|(name, value)| (PathLeg::Member(name.to_owned()), value)).collect()
        }
        _ => Vec::new(),
    }
}

/// The ways from a document to places in it.
fn ways_to(root: JsonView<'_>, places: &[JsonView<'_>]) -> Vec<Vec<PathLeg>> {
    let wanted: HashMap<usize, usize> = places.iter().enumerate().map(|(i, view)| (view.place(), i)).collect();
    let mut ways = vec![Vec::new(); places.len()];
    note_ways(root, &wanted, &mut Vec::new(), &mut ways);
    ways
}

fn note_ways(view: JsonView<'_>, wanted: &HashMap<usize, usize>, legs: &mut Vec<PathLeg>, ways: &mut [Vec<PathLeg>]) {
    if let Some(i) = wanted.get(&view.place()) {
        ways[*i].clone_from(legs);
    }
    for (leg, part) in parts_of(view) {
        if legs.len() < json::DEPTH_MAX {
            legs.push(leg);
            note_ways(part, wanted, legs, ways);
            legs.pop();
        }
    }
}
