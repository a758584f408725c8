//! Documents as text.

use super::view::{JsonNode, JsonView};
use crate::{temporal, value::format_double};
use base64::{Engine, engine::general_purpose::STANDARD as BASE64};
use std::fmt::Write;

/// Digits of fractional seconds of dates and times in JSON.
const FSP: u8 = 6;

/// A document as MySQL prints it.
pub fn to_text(view: JsonView<'_>) -> String {
    let mut out = String::new();
    append(view, super::DEPTH_MAX, &mut out);
    out
}

/// A text as a JSON string, with quotation marks.
pub fn quoted(text: &str) -> String {
    let mut out = String::with_capacity(text.len() + 2);
    push_quoted(text, &mut out);
    out
}

fn append(view: JsonView<'_>, rest: usize, out: &mut String) {
    match view.node() {
        JsonNode::Array(array) if rest > 0 => {
            out.push('[');
            for (i, item) in array.iter().enumerate() {
                out.push_str(if i == 0 { "" } else { ", " });
                append(item, rest - 1, out);
            }
            out.push(']');
        }
        JsonNode::Object(object) if rest > 0 => {
            out.push('{');
            for (i, (name, value)) in object.iter().enumerate() {
                out.push_str(if i == 0 { "" } else { ", " });
                push_quoted(name, out);
                out.push_str(": ");
                append(value, rest - 1, out);
            }
            out.push('}');
        }
        scalar => push_scalar(scalar, true, out),
    }
}

/// A document with every element on a line of its own, two spaces further in for each container.
pub fn pretty(view: JsonView<'_>) -> String {
    let mut out = String::new();
    append_pretty(view, 0, &mut out);
    out
}

fn append_pretty(view: JsonView<'_>, depth: usize, out: &mut String) {
    let line = |depth: usize, out: &mut String| {
        out.push('\n');
        out.extend(std::iter::repeat_n("  ", depth));
    };
    let is_open = depth < super::DEPTH_MAX;
    match view.node() {
        JsonNode::Array(array) if is_open && !array.is_empty() => {
            out.push('[');
            for (i, item) in array.iter().enumerate() {
                out.push_str(if i == 0 { "" } else { "," });
                line(depth + 1, out);
                append_pretty(item, depth + 1, out);
            }
            line(depth, out);
            out.push(']');
        }
        JsonNode::Object(object) if is_open && !object.is_empty() => {
            out.push('{');
            for (i, (name, value)) in object.iter().enumerate() {
                out.push_str(if i == 0 { "" } else { "," });
                line(depth + 1, out);
                push_quoted(name, out);
                out.push_str(": ");
                append_pretty(value, depth + 1, out);
            }
            line(depth, out);
            out.push('}');
        }
        JsonNode::Array(_) if is_open => out.push_str("[]"),
        JsonNode::Object(_) if is_open => out.push_str("{}"),
        other => push_scalar(other, true, out),
    }
}

/// The text of a scalar; of a string, a date or an opaque value without quotation marks. `None` for containers.
pub fn scalar_text(view: JsonView<'_>) -> Option<String> {
    match view.node() {
        JsonNode::Array(_) | JsonNode::Object(_) => None,
        scalar => {
            let mut out = String::new();
            push_scalar(scalar, false, &mut out);
            Some(out)
        }
    }
}

fn push_scalar(node: JsonNode<'_>, quotes: bool, out: &mut String) {
    let mark = if quotes { "\"" } else { "" };
    // Writing to a String cannot fail.
    let _ = match node {
        JsonNode::Null => out.write_str("null"),
        JsonNode::Bool(b) => out.write_str(if b { "true" } else { "false" }),
        JsonNode::Int(i) => write!(out, "{i}"),
        JsonNode::UInt(u) => write!(out, "{u}"),
        JsonNode::Double(x) => {
            let text = format_double(x);
            // A double stays one when its text is read again.
            let point = if text.contains(['.', 'e', 'n', 'i']) { "" } else { ".0" };
            write!(out, "{text}{point}")
        }
        JsonNode::Decimal(d) => write!(out, "{d}"),
        JsonNode::Text(text) if quotes => {
            push_quoted(text, out);
            Ok(())
        }
        JsonNode::Text(text) => out.write_str(text),
        JsonNode::Date(d) => write!(out, "{mark}{}{mark}", temporal::format_date(d)),
        JsonNode::DateTime(t) | JsonNode::Timestamp(t) => {
            write!(out, "{mark}{}{mark}", temporal::format_datetime(t, FSP))
        }
        JsonNode::Time(t) => write!(out, "{mark}{}{mark}", temporal::format_time(t, FSP)),
        JsonNode::Opaque { field_type, bytes } => {
            push_opaque(field_type, bytes, quotes, out);
            Ok(())
        }
        // Deeper than a document can be.
        JsonNode::Array(_) | JsonNode::Object(_) => out.write_str("null"),
    };
}

/// The digits come in lines of 76, as all base64 of MySQL.
fn push_opaque(field_type: u8, bytes: &[u8], quotes: bool, out: &mut String) {
    let digits = BASE64.encode(bytes);
    let lines: Vec<&str> =
        digits.as_bytes().chunks(76).map(|line| std::str::from_utf8(line).unwrap_or_default()).collect();
    let text = format!("base64:type{field_type}:{}", lines.join("\n"));
    if quotes { push_quoted(&text, out) } else { out.push_str(&text) }
}

fn push_quoted(text: &str, out: &mut String) {
    out.push('"');
    let mut plain = 0;
    for (at, byte) in text.bytes().enumerate() {
        let escape = match byte {
            b'"' => "\\\"",
            b'\\' => "\\\\",
            0x08 => "\\b",
            0x0C => "\\f",
            b'\n' => "\\n",
            b'\r' => "\\r",
            b'\t' => "\\t",
            ..0x20 => "",
            _ => continue,
        };
        out.push_str(&text[plain..at]);
        out.push_str(escape);
        if escape.is_empty() {
            let _ = write!(out, "\\u{byte:04x}");
        }
        plain = at + 1;
    }
    out.push_str(&text[plain..]);
    out.push('"');
}
