//! EXTRACTVALUE and UPDATEXML (MySQL's manual 14.11 "XML Functions").
//!
//! ```text
//!   document.rs   a fragment of XML as nodes in the order of the text
//!   path.rs       the syntax of the part of XPath 1.0 that MySQL has
//!   evaluate.rs   the value of an expression for a document
//! ```
//!
//! A fragment need not have one root, names may have colons, and entities are text: a crate for whole documents and
//! all of XPath would answer otherwise.

mod document;
mod evaluate;
mod path;

use crate::{Call, Function, ResultType, Takes::Text, Typing};
use document::Document;
use evaluate::{PathValue, evaluate};
use muster_types::{ErrorCode, Result, Value};

pub const FUNCTIONS: &[Function] = &[
    Function::new("EXTRACTVALUE", &[Text, Text], returns, extract_value),
    Function::new("UPDATEXML", &[Text, Text, Text], returns, update_xml),
];

/// MySQL looks at no argument.
const CHARACTERS: u64 = 1 << 24;

fn returns(_: &Typing) -> ResultType {
    ResultType::Text(CHARACTERS)
}

/// The document of the first argument; `None` with warning 1525 for what is not well-formed.
fn document(call: &mut Call, text: &str) -> Option<Document> {
    match Document::parse(text) {
        Ok(document) => Some(document),
        Err(error) => {
            call.warn(ErrorCode::WrongValue, format!("Incorrect XML value: '{error}'"));
            None
        }
    }
}

/// `EXTRACTVALUE(xml, path)`: the texts right below the nodes that the path finds, with a space between them, or the
/// value of another expression.
fn extract_value(call: &mut Call, args: &[Value]) -> Result<Value> {
    let (xml, path) = (call.text(args, 0).unwrap_or_default(), call.text(args, 1).unwrap_or_default());
    let path = path::parse(&path)?;
    let Some(document) = document(call, &xml) else { return Ok(Value::Null) };
    let value = evaluate(&path, &document, call.collation, call.warnings)?;
    Ok(value.into_text(&document).map_or(Value::Null, Value::Text))
}

/// `UPDATEXML(xml, path, new)`: the text with `new` in place of the only node that the path finds; the text itself if
/// there is no such node or more than one; NULL for an expression that finds no nodes.
fn update_xml(call: &mut Call, args: &[Value]) -> Result<Value> {
    let (xml, path) = (call.text(args, 0).unwrap_or_default(), call.text(args, 1).unwrap_or_default());
    let new = call.text(args, 2).unwrap_or_default();
    let path = path::parse(&path)?;
    let Some(document) = document(call, &xml) else { return Ok(Value::Null) };
    let value = evaluate(&path, &document, call.collation, call.warnings)?;
    let PathValue::Nodes(nodes) = value else { return Ok(Value::Null) };
    let [node] = nodes[..] else { return Ok(Value::Text(xml)) };
    if node == 0 {
        return Ok(Value::Text(new));
    }
    let span = document.nodes[node].span.clone();
    Ok(Value::Text([&xml[..span.start], &new, &xml[span.end..]].concat()))
}
