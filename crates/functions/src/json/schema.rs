//! `JSON_SCHEMA_VALID` and `JSON_SCHEMA_VALIDATION_REPORT`: documents beside a schema of draft 4 (json-schema.org).
//!
//! MySQL reads a document once, with RapidJSON, and reports what fails first. So the order of checks is RapidJSON's:
//! the type of a value, what is within it, its other keywords, and at last `enum`, `allOf`, `anyOf`, `oneOf` and `not`.
//! A keyword whose value makes no sense is none; `format` and other keywords that are not named here say nothing.

use super::argument::document;
use crate::{Call, regexp};
use muster_types::{
    ErrorCode, Result, SqlError, Value,
    json::{self, ArrayView, JsonNode, JsonObject, JsonValue, JsonView, ObjectView},
};
use std::{cell::Cell, cmp::Ordering, collections::HashSet};

/// References that lead to each other, after which a schema takes everything.
const REFERENCES_MAX: usize = 64;
/// Schemas within each other that a value is checked against. A schema that refers to itself for the same value has no
/// end (MySQL's server falls over it).
const DEPTH_MAX: usize = 200;
/// Checks for each byte of a document, and for any document. References can double the checks with each step.
const CHECKS_PER_BYTE: u64 = 100;
const CHECKS_MIN: u64 = 100_000;

/// A path within a schema or a document, from its end to its root.
#[derive(Clone, Copy)]
enum Pointer<'p> {
    Root,
    /// A path as a reference has it.
    Written(&'p str),
    Member(&'p Pointer<'p>, &'p str),
    Element(&'p Pointer<'p>, usize),
}

impl Pointer<'_> {
    /// The path as the fragment of a URI (RFC 6901).
    fn text(&self) -> String {
        match self {
            Pointer::Root => "#".into(),
            Pointer::Written(text) => (*text).to_owned(),
            Pointer::Element(parent, i) => format!("{}/{i}", parent.text()),
            Pointer::Member(parent, name) => {
                let mut text = parent.text();
                text.push('/');
                for byte in name.replace('~', "~0").replace('/', "~1").bytes() {
                    match byte {
                        b'-' | b'.' | b'_' | b'~' => text.push(byte.into()),
                        _ if byte.is_ascii_alphanumeric() => text.push(byte.into()),
                        _ => text.push_str(&format!("%{byte:02X}")),
                    }
                }
                text
            }
        }
    }
}

/// The keyword that a document has failed, and where.
struct Failure {
    keyword: &'static str,
    schema: String,
    document: String,
}

type Checked = std::result::Result<(), Failure>;

/// A schema within the schema.
#[derive(Clone, Copy)]
struct Place<'a, 'p> {
    members: ObjectView<'a>,
    path: &'p Pointer<'p>,
}

impl Place<'_, '_> {
    fn fail(&self, keyword: &'static str, document: &Pointer) -> Checked {
        Err(Failure { keyword, schema: self.path.text(), document: document.text() })
    }

    /// Fails unless a condition holds.
    fn need(&self, holds: bool, keyword: &'static str, document: &Pointer) -> Checked {
        if holds { Ok(()) } else { self.fail(keyword, document) }
    }

    fn count(&self, keyword: &str) -> Option<u64> {
        match self.members.get(keyword)?.node() {
            JsonNode::Int(n) => u64::try_from(n).ok(),
            JsonNode::UInt(n) => Some(n),
            _ => None,
        }
    }

    fn is_true(&self, keyword: &str) -> bool {
        matches!(self.members.get(keyword).map(JsonView::node), Some(JsonNode::Bool(true)))
    }
}

/// Checks documents against a schema.
struct Validator<'a> {
    root: JsonView<'a>,
    /// Schemas within each other at the moment.
    depth: Cell<usize>,
    checks_left: Cell<u64>,
    /// True once there was no end to be seen: all further checks pass, and the result does not count.
    is_endless: Cell<bool>,
}

impl<'a> Validator<'a> {
    /// `bytes`: the length of the document.
    fn new(root: JsonView<'a>, bytes: usize) -> Validator<'a> {
        let checks = CHECKS_MIN.saturating_add(CHECKS_PER_BYTE.saturating_mul(bytes as u64));
        let (depth, checks_left, is_endless) = (Cell::new(0), Cell::new(checks), Cell::new(false));
        Validator { root, depth, checks_left, is_endless }
    }

    /// The fault of the document. Error: 3157 for a schema that leads too deep into itself.
    fn failure(&self, document: JsonView) -> Result<Option<Failure>> {
        let failure = self.check(self.root, &Pointer::Root, document, &Pointer::Root).err();
        if self.is_endless.get() { Err(json::JsonLimit::TooDeep.error()) } else { Ok(failure) }
    }

    /// Checks a value against the schema at a place, within the limits.
    fn check(&self, schema: JsonView<'a>, path: &Pointer, value: JsonView, at: &Pointer) -> Checked {
        if self.depth.get() >= DEPTH_MAX || self.checks_left.get() == 0 {
            self.is_endless.set(true);
        }
        if self.is_endless.get() {
            return Ok(());
        }
        self.checks_left.set(self.checks_left.get() - 1);
        self.depth.set(self.depth.get() + 1);
        let checked = self.check_referred(schema, path, value, at);
        self.depth.set(self.depth.get() - 1);
        checked
    }

    /// Checks a value against a schema, which may be a reference to another one.
    fn check_referred(&self, schema: JsonView<'a>, path: &Pointer, value: JsonView, at: &Pointer) -> Checked {
        let (mut schema, mut written) = (schema, None);
        for _ in 0..REFERENCES_MAX {
            let JsonNode::Object(members) = schema.node() else { return Ok(()) };
            let Some(JsonNode::Text(reference)) = members.get("$ref").map(JsonView::node) else {
                let path = written.map_or(*path, Pointer::Written);
                return self.check_here(Place { members, path: &path }, value, at);
            };
            let Some(target) = self.resolve(reference) else { return Ok(()) };
            (schema, written) = (target, Some(reference));
        }
        Ok(())
    }

    /// The schema that a local reference leads to.
    fn resolve(&self, reference: &str) -> Option<JsonView<'a>> {
        let mut found = self.root;
        for token in reference.strip_prefix('#')?.split('/').skip(1) {
            let name = unescaped(token);
            found = match found.node() {
                JsonNode::Object(members) => members.get(&name)?,
                JsonNode::Array(items) => items.get(name.parse().ok()?)?,
                _ => return None,
            };
        }
        Some(found)
    }

    fn is_valid(&self, schema: JsonView<'a>, path: &Pointer, value: JsonView, at: &Pointer) -> bool {
        self.check(schema, path, value, at).is_ok()
    }

    fn check_here(&self, schema: Place<'a, '_>, value: JsonView, at: &Pointer) -> Checked {
        let node = value.node();
        schema.need(has_type(schema, &node), "type", at)?;
        match node {
            JsonNode::Object(members) => self.check_object(schema, members, value, at)?,
            JsonNode::Array(items) => self.check_array(schema, items, at)?,
            JsonNode::Int(_) | JsonNode::UInt(_) | JsonNode::Double(_) | JsonNode::Decimal(_) => {
                check_number(schema, value, at)?;
            }
            JsonNode::Null | JsonNode::Bool(_) => {}
            _ => check_text(schema, &json::scalar_text(value).unwrap_or_default(), at)?,
        }
        self.check_combined(schema, value, at)
    }

    fn check_object(&self, schema: Place<'a, '_>, members: ObjectView, value: JsonView, at: &Pointer) -> Checked {
        for (name, member) in members.iter() {
            self.check_member(schema, name, member, &Pointer::Member(at, name))?;
        }
        if let Some(JsonNode::Array(names)) = schema.members.get("required").map(JsonView::node) {
            let is_there = |name: JsonView| !matches!(name.node(), JsonNode::Text(name) if members.get(name).is_none());
            schema.need(names.iter().all(is_there), "required", at)?;
        }
        let count = members.len() as u64;
        schema.need(schema.count("minProperties").is_none_or(|least| count >= least), "minProperties", at)?;
        schema.need(schema.count("maxProperties").is_none_or(|most| count <= most), "maxProperties", at)?;
        let Some(JsonNode::Object(dependencies)) = schema.members.get("dependencies").map(JsonView::node) else {
            return Ok(());
        };
        for (name, needed) in dependencies.iter().filter(|(name, _)| members.get(name).is_some()) {
            let path = Pointer::Member(schema.path, "dependencies");
            let holds = match needed.node() {
                JsonNode::Array(names) => {
                    names.iter().all(|name| !matches!(name.node(), JsonNode::Text(name) if members.get(name).is_none()))
                }
                _ => self.is_valid(needed, &Pointer::Member(&path, name), value, at),
            };
            schema.need(holds, "dependencies", at)?;
        }
        Ok(())
    }

    /// Checks a member by the schemas of patterns that its name matches and by that of its name; one with neither by
    /// that of additional members.
    fn check_member(&self, schema: Place<'a, '_>, name: &str, value: JsonView, at: &Pointer) -> Checked {
        let keyword = |keyword: &str| schema.members.get(keyword).map(JsonView::node);
        let mut matched = Vec::new();
        if let Some(JsonNode::Object(patterns)) = keyword("patternProperties") {
            matched.extend(patterns.iter().filter(|(pattern, _)| regexp::finds(pattern, name) == Some(true)));
        }
        let by_pattern = |matched: &[(&'a str, JsonView<'a>)]| {
            let path = Pointer::Member(schema.path, "patternProperties");
            matched.iter().all(|(pattern, s)| self.is_valid(*s, &Pointer::Member(&path, pattern), value, at))
        };
        // RapidJSON checks such a value at no schema of its own.
        let fail = || Err(Failure { keyword: "patternProperties", schema: "#".into(), document: at.text() });
        let named = match keyword("properties") {
            Some(JsonNode::Object(properties)) => properties.get(name),
            _ => None,
        };
        if let Some(own) = named {
            let path = Pointer::Member(schema.path, "properties");
            let path = Pointer::Member(&path, name);
            return match matched.is_empty() {
                true => self.check(own, &path, value, at),
                false if by_pattern(&matched) && self.is_valid(own, &path, value, at) => Ok(()),
                false => fail(),
            };
        }
        match keyword("additionalProperties") {
            Some(JsonNode::Object(_)) => {
                let path = Pointer::Member(schema.path, "additionalProperties");
                let Some(other) = schema.members.get("additionalProperties") else { return Ok(()) };
                match matched.is_empty() {
                    true => self.check(other, &path, value, at),
                    false if by_pattern(&matched) || self.is_valid(other, &path, value, at) => Ok(()),
                    false => fail(),
                }
            }
            Some(JsonNode::Bool(false)) if matched.is_empty() => schema.fail("additionalProperties", at),
            _ if by_pattern(&matched) => Ok(()),
            _ => fail(),
        }
    }

    fn check_array(&self, schema: Place<'a, '_>, items: ArrayView, at: &Pointer) -> Checked {
        let path = Pointer::Member(schema.path, "items");
        let more = schema.members.get("additionalItems");
        let is_unique = schema.is_true("uniqueItems");
        let mut seen = HashSet::new();
        for (i, item) in items.iter().enumerate() {
            let place = Pointer::Element(at, i);
            match schema.members.get("items").map(|own| (own, own.node())) {
                Some((own, JsonNode::Object(_))) => self.check(own, &path, item, &place)?,
                Some((_, JsonNode::Array(list))) => match (list.get(i), more.map(JsonView::node)) {
                    (Some(own), _) => self.check(own, &Pointer::Element(&path, i), item, &place)?,
                    (None, Some(JsonNode::Object(_))) => {
                        let path = Pointer::Member(schema.path, "additionalItems");
                        more.map_or(Ok(()), |more| self.check(more, &path, item, &place))?;
                    }
                    (None, Some(JsonNode::Bool(false))) => schema.fail("additionalItems", &place)?,
                    _ => {}
                },
                _ => {}
            }
            schema.need(!is_unique || seen.insert(json::group_key(item)), "uniqueItems", &place)?;
        }
        let count = items.len() as u64;
        schema.need(schema.count("minItems").is_none_or(|least| count >= least), "minItems", at)?;
        schema.need(schema.count("maxItems").is_none_or(|most| count <= most), "maxItems", at)
    }

    /// `enum`, `allOf`, `anyOf`, `oneOf` and `not`.
    fn check_combined(&self, schema: Place<'a, '_>, value: JsonView, at: &Pointer) -> Checked {
        if let Some(JsonNode::Array(values)) = schema.members.get("enum").map(JsonView::node) {
            let is_equal = |other: JsonView| json::compare(other, value) == Ordering::Equal;
            schema.need(values.iter().any(is_equal), "enum", at)?;
        }
        let valid = |keyword: &'static str| {
            let list = match schema.members.get(keyword).map(JsonView::node) {
                Some(JsonNode::Array(list)) if !list.is_empty() => list,
                _ => return None,
            };
            let path = Pointer::Member(schema.path, keyword);
            let is_valid = |(i, s): (usize, JsonView<'a>)| self.is_valid(s, &Pointer::Element(&path, i), value, at);
            Some((list.iter().enumerate().filter(|one| is_valid(*one)).count(), list.len()))
        };
        schema.need(valid("allOf").is_none_or(|(valid, all)| valid == all), "allOf", at)?;
        schema.need(valid("anyOf").is_none_or(|(valid, _)| valid > 0), "anyOf", at)?;
        schema.need(valid("oneOf").is_none_or(|(valid, _)| valid == 1), "oneOf", at)?;
        match schema.members.get("not") {
            Some(not) if matches!(not.node(), JsonNode::Object(_)) => {
                let path = Pointer::Member(schema.path, "not");
                schema.need(!self.is_valid(not, &path, value, at), "not", at)
            }
            _ => Ok(()),
        }
    }
}

fn has_type(schema: Place, node: &JsonNode) -> bool {
    let is_of = |name: JsonView| match (name.node(), node) {
        (JsonNode::Text("null"), JsonNode::Null)
        | (JsonNode::Text("boolean"), JsonNode::Bool(_))
        | (JsonNode::Text("object"), JsonNode::Object(_))
        | (JsonNode::Text("array"), JsonNode::Array(_))
        | (JsonNode::Text("integer" | "number"), JsonNode::Int(_) | JsonNode::UInt(_))
        | (JsonNode::Text("number"), JsonNode::Double(_) | JsonNode::Decimal(_)) => true,
        (JsonNode::Text("string"), node) => !matches!(
            node,
            JsonNode::Null
                | JsonNode::Bool(_)
                | JsonNode::Object(_)
                | JsonNode::Array(_)
                | JsonNode::Int(_)
                | JsonNode::UInt(_)
                | JsonNode::Double(_)
                | JsonNode::Decimal(_)
        ),
        _ => false,
    };
    match schema.members.get("type").map(|ty| (ty, ty.node())) {
        None => true,
        Some((_, JsonNode::Array(names))) => names.iter().any(is_of),
        Some((name, _)) => is_of(name),
    }
}

fn number_of(view: JsonView) -> Option<f64> {
    Some(match view.node() {
        JsonNode::Int(n) => n as f64,
        JsonNode::UInt(n) => n as f64,
        JsonNode::Double(x) => x,
        JsonNode::Decimal(d) => d.to_f64(),
        _ => return None,
    })
}

fn check_number(schema: Place, value: JsonView, at: &Pointer) -> Checked {
    let bound = |keyword: &str| schema.members.get(keyword).filter(|bound| number_of(*bound).is_some());
    for (keyword, exclusive, wrong) in
        [("minimum", "exclusiveMinimum", Ordering::Less), ("maximum", "exclusiveMaximum", Ordering::Greater)]
    {
        let Some(bound) = bound(keyword) else { continue };
        let order = json::compare(value, bound);
        let holds = order != wrong && !(order == Ordering::Equal && schema.is_true(exclusive));
        schema.need(holds, keyword, at)?;
    }
    let Some(step) = bound("multipleOf").filter(|step| number_of(*step).is_some_and(|x| x > 0.0)) else {
        return Ok(());
    };
    let whole = |view: JsonView| match view.node() {
        JsonNode::Int(n) => Some(i128::from(n)),
        JsonNode::UInt(n) => Some(i128::from(n)),
        _ => None,
    };
    let is_multiple = match (whole(value), whole(step)) {
        (Some(n), Some(step)) => n % step == 0,
        _ => {
            let (x, step) = (number_of(value).unwrap_or_default().abs(), number_of(step).unwrap_or(1.0));
            // RapidJSON's arithmetic: 0.3 is no multiple of 0.1.
            x - (x / step).floor() * step <= 0.0
        }
    };
    schema.need(is_multiple, "multipleOf", at)
}

fn check_text(schema: Place, text: &str, at: &Pointer) -> Checked {
    let length = text.chars().count() as u64;
    schema.need(schema.count("minLength").is_none_or(|least| length >= least), "minLength", at)?;
    schema.need(schema.count("maxLength").is_none_or(|most| length <= most), "maxLength", at)?;
    match schema.members.get("pattern").map(JsonView::node) {
        Some(JsonNode::Text(pattern)) => schema.need(regexp::finds(pattern, text).unwrap_or(true), "pattern", at),
        _ => Ok(()),
    }
}

/// A part of a reference without its escapes.
fn unescaped(token: &str) -> String {
    let mut bytes = Vec::with_capacity(token.len());
    let mut rest = token.as_bytes();
    while let Some((first, behind)) = rest.split_first() {
        let code = behind.get(..2).and_then(|digits| std::str::from_utf8(digits).ok());
        match code.and_then(|digits| u8::from_str_radix(digits, 16).ok()) {
            Some(byte) if *first == b'%' => {
                bytes.push(byte);
                rest = &behind[2..];
            }
            _ => {
                bytes.push(*first);
                rest = behind;
            }
        }
    }
    String::from_utf8_lossy(&bytes).replace("~1", "/").replace("~0", "~")
}

/// Returns true if a schema refers to another document.
fn has_remote_reference(view: JsonView) -> bool {
    match view.node() {
        JsonNode::Array(items) => items.iter().any(has_remote_reference),
        JsonNode::Object(members) => members.iter().any(|(name, value)| match value.node() {
            JsonNode::Text(text) if name == "$ref" => !text.starts_with('#'),
            _ => has_remote_reference(value),
        }),
        _ => false,
    }
}

/// The fault of the document; `None` if it has none. Errors: 3853 for a schema that is no object, 1235 for one that
/// refers to another document, 3157 for one that leads too deep into itself.
fn failure(call: &Call, args: &[Value]) -> Result<Option<Failure>> {
    let (schema, document) = (document(call, args, 0)?, document(call, args, 1)?);
    let root = JsonView::new(&schema);
    if !matches!(root.node(), JsonNode::Object(_)) {
        let message = format!("Invalid JSON type in argument 1 to function {}; an object is required.", call.name);
        return Err(SqlError::new(ErrorCode::InvalidJsonType, message));
    }
    if has_remote_reference(root) {
        return Err(SqlError::unsupported("references in JSON Schema"));
    }
    Validator::new(root, document.len()).failure(JsonView::new(&document))
}

/// `JSON_SCHEMA_VALID(schema, document)`.
pub(super) fn valid(call: &mut Call, args: &[Value]) -> Result<Value> {
    Ok(Value::Bool(failure(call, args)?.is_none()))
}

/// `JSON_SCHEMA_VALIDATION_REPORT(schema, document)`.
pub(super) fn report(call: &mut Call, args: &[Value]) -> Result<Value> {
    let text = |text: String| JsonValue::Text(text);
    let members = match failure(call, args)? {
        None => vec![("valid".to_owned(), JsonValue::Bool(true))],
        Some(Failure { keyword, schema, document }) => {
            let reason = format!(
                "The JSON document location '{document}' failed requirement '{keyword}' at JSON Schema location \
                 '{schema}'"
            );
            vec![
                ("valid".to_owned(), JsonValue::Bool(false)),
                ("reason".to_owned(), text(reason)),
                ("schema-location".to_owned(), text(schema)),
                ("document-location".to_owned(), text(document)),
                ("schema-failed-keyword".to_owned(), text(keyword.to_owned())),
            ]
        }
    };
    super::argument::value(call, &JsonValue::Object(JsonObject::of_members(members)))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn outcome(schema: &str, document: &str) -> Result<bool> {
        let bytes = |text: &str| json::parse_to_bytes(text).expect("the text is JSON");
        let (schema, document) = (bytes(schema), bytes(document));
        let failure = Validator::new(JsonView::new(&schema), document.len()).failure(JsonView::new(&document));
        Ok(failure?.is_none())
    }

    #[test]
    fn schemas_that_lead_into_themselves_are_an_error() {
        for schema in [
            r##"{"allOf": [{"$ref": "#"}]}"##,
            r##"{"not": {"$ref": "#"}}"##,
            r##"{"anyOf": [{"$ref": "#"}, {"$ref": "#"}], "oneOf": [{"$ref": "#"}]}"##,
            r##"{"dependencies": {"a": {"$ref": "#"}}}"##,
        ] {
            let error = outcome(schema, r#"{"a": 1}"#).expect_err(schema);
            assert_eq!(error.code, ErrorCode::JsonDocumentTooDeep, "{schema}");
        }
        assert_eq!(outcome(r##"{"$ref": "#"}"##, "1"), Ok(true));
    }

    #[test]
    fn schemas_that_double_their_checks_end() {
        let step = |i: usize| format!(r##""s{i}": {{"allOf": [{{"$ref": "#/s{0}"}}, {{"$ref": "#/s{0}"}}]}}"##, i + 1);
        let steps: Vec<String> = (0..60).map(step).collect();
        let schema = format!(r##"{{"allOf": [{{"$ref": "#/s0"}}], {}, "s60": {{}}}}"##, steps.join(", "));
        assert!(outcome(&schema, "1").is_err());
    }

    #[test]
    fn schemas_follow_deep_documents() {
        let document = format!("{}1{}", r#"{"a": "#.repeat(90), "}".repeat(90));
        let schema = r##"{"properties": {"a": {"$ref": "#"}}, "minProperties": 1}"##;
        assert_eq!(outcome(schema, &document), Ok(true));
    }
}
