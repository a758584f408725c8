//! The values that a path leads to.

use super::{
    ArrayIndex, DEPTH_MAX, JsonPath, PathLeg,
    view::{JsonNode, JsonView},
};
use std::{collections::HashSet, ops::Range};

/// The values of a document that a path leads to, in the order of the document, each once.
pub fn seek<'a>(view: JsonView<'a>, path: &JsonPath) -> Vec<JsonView<'a>> {
    let mut search = Search { repeats: repeats(path), ..Search::default() };
    search.follow(view, &path.legs);
    search.found
}

/// As [`seek`], where an index leads into arrays only: a value that is no array is not taken for an array of it.
pub fn seek_in_arrays<'a>(view: JsonView<'a>, path: &JsonPath) -> Vec<JsonView<'a>> {
    let mut search = Search { repeats: repeats(path), only_arrays: true, ..Search::default() };
    search.follow(view, &path.legs);
    search.found
}

/// Returns true if a path leads to a value of the document.
pub fn has_match(view: JsonView<'_>, path: &JsonPath) -> bool {
    let mut search = Search { only_first: true, ..Search::default() };
    search.follow(view, &path.legs);
    !search.found.is_empty()
}

/// Returns true for a path that may lead to one value in several ways: by two `**`, or by a `**` and an index that
/// takes what is no array for an array.
fn repeats(path: &JsonPath) -> bool {
    let everywhere = path.legs.iter().filter(|leg| **leg == PathLeg::Everywhere).count();
    everywhere > 1 || everywhere == 1 && path.legs.iter().any(PathLeg::wraps_scalars)
}

#[derive(Default)]
struct Search<'a> {
    found: Vec<JsonView<'a>>,
    /// Places of the values found, for a path that repeats itself.
    seen: HashSet<usize>,
    only_first: bool,
    repeats: bool,
    /// True if an index does not lead into what is no array.
    only_arrays: bool,
}

impl<'a> Search<'a> {
    fn is_done(&self) -> bool {
        self.only_first && !self.found.is_empty()
    }

    fn follow(&mut self, view: JsonView<'a>, legs: &[PathLeg]) {
        if self.is_done() {
            return;
        }
        let Some((leg, rest)) = legs.split_first() else {
            if !self.repeats || self.seen.insert(view.place()) {
                self.found.push(view);
            }
            return;
        };
        match (leg, view.node()) {
            (PathLeg::Member(name), JsonNode::Object(object)) => {
                if let Some(value) = object.get(name) {
                    self.follow(value, rest);
                }
            }
            (PathLeg::AnyMember, JsonNode::Object(object)) => {
                object.iter().for_each(|(_, value)| self.follow(value, rest));
            }
            (PathLeg::AnyElement, JsonNode::Array(array)) => array.iter().for_each(|item| self.follow(item, rest)),
            (PathLeg::Element(index), JsonNode::Array(array)) => {
                if let Some(item) = index.position(array.len()).ok().and_then(|i| array.get(i)) {
                    self.follow(item, rest);
                }
            }
            (PathLeg::Range(from, to), JsonNode::Array(array)) => {
                for item in range(*from, *to, array.len()).filter_map(|i| array.get(i)) {
                    self.follow(item, rest);
                }
            }
            (PathLeg::Everywhere, _) => self.everywhere(view, rest, DEPTH_MAX),
            _ if self.only_arrays => {}
            (PathLeg::Element(index), _) if index.position(1) == Ok(0) => self.follow(view, rest),
            (PathLeg::Range(from, to), _) if !range(*from, *to, 1).is_empty() => self.follow(view, rest),
            _ => {}
        }
    }

    /// The value itself, then what is in it, with what is in that.
    fn everywhere(&mut self, view: JsonView<'a>, legs: &[PathLeg], depth: usize) {
        self.follow(view, legs);
        if depth == 0 || self.is_done() {
            return;
        }
        match view.node() {
            JsonNode::Array(array) => array.iter().for_each(|item| self.everywhere(item, legs, depth - 1)),
            JsonNode::Object(object) => object.iter().for_each(|(_, value)| self.everywhere(value, legs, depth - 1)),
            _ => {}
        }
    }
}

/// The positions of a range in an array of `length` elements.
pub(super) fn range(from: ArrayIndex, to: ArrayIndex, length: usize) -> Range<usize> {
    let start = from.position(length).unwrap_or(0).min(length);
    let end = to.position(length).map_or(0, |last| last.saturating_add(1)).min(length);
    start..end.max(start)
}
