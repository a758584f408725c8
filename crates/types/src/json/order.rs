//! How JSON values compare (MySQL's manual 13.5, "Comparison and Ordering of JSON Values").
//!
//! Values of different types are ordered by the types' ranks. A [`group_key`] is equal exactly for equal values. ORDER
//! BY looks at scalars as comparison does, but of containers only at how many elements they have, as in MySQL.

use super::view::{JsonNode, JsonView};
use crate::Decimal;
use std::cmp::Ordering;

/// The place of a type among the others, from the least.
fn rank(node: &JsonNode<'_>) -> u8 {
    match node {
        JsonNode::Null => 0,
        JsonNode::Int(_) | JsonNode::UInt(_) | JsonNode::Double(_) | JsonNode::Decimal(_) => 1,
        JsonNode::Text(_) => 2,
        JsonNode::Object(_) => 3,
        JsonNode::Array(_) => 4,
        JsonNode::Bool(_) => 5,
        JsonNode::Date(_) => 6,
        JsonNode::Time(_) => 7,
        JsonNode::DateTime(_) | JsonNode::Timestamp(_) => 8,
        JsonNode::Opaque { .. } => 9,
    }
}

/// Compares two documents.
pub fn compare(a: JsonView<'_>, b: JsonView<'_>) -> Ordering {
    compare_within(a, b, super::DEPTH_MAX)
}

fn compare_within(a: JsonView<'_>, b: JsonView<'_>, rest: usize) -> Ordering {
    use JsonNode::*;
    let (a, b) = (a.node(), b.node());
    match (a, b) {
        (Int(x), Int(y)) => x.cmp(&y),
        (UInt(x), UInt(y)) => x.cmp(&y),
        (Double(x), Double(y)) => x.partial_cmp(&y).unwrap_or(Ordering::Equal),
        (Decimal(x), Decimal(y)) => x.cmp(&y),
        (Text(x), Text(y)) => x.as_bytes().cmp(y.as_bytes()),
        (Bool(x), Bool(y)) => x.cmp(&y),
        (Date(x), Date(y)) => x.cmp(&y),
        (Time(x), Time(y)) | (DateTime(x) | Timestamp(x), DateTime(y) | Timestamp(y)) => x.cmp(&y),
        (Opaque { field_type: s, bytes: x }, Opaque { field_type: t, bytes: y }) => s.cmp(&t).then_with(|| x.cmp(y)),
        (Array(_), Array(_)) | (Object(_), Object(_)) if rest == 0 => Ordering::Equal,
        (Array(x), Array(y)) => {
            let elements = x.iter().zip(y.iter()).map(|(x, y)| compare_within(x, y, rest - 1));
            elements.into_iter().find(|order| order.is_ne()).unwrap_or_else(|| x.len().cmp(&y.len()))
        }
        (Object(x), Object(y)) => {
            let members = x.iter().zip(y.iter()).map(|((name, x), (other, y))| {
                name.as_bytes().cmp(other.as_bytes()).then_with(|| compare_within(x, y, rest - 1))
            });
            let first = || members.into_iter().find(|order| order.is_ne());
            x.len().cmp(&y.len()).then_with(|| first().unwrap_or(Ordering::Equal))
        }
        _ => match (number_key(&a), number_key(&b)) {
            (Some(x), Some(y)) => x.cmp(&y),
            _ => rank(&a).cmp(&rank(&b)),
        },
    }
}

/// Bytes that are equal exactly for equal documents.
pub fn group_key(view: JsonView<'_>) -> Vec<u8> {
    let mut key = Vec::new();
    append_key(view, super::DEPTH_MAX, true, &mut key);
    key
}

/// Bytes that documents are sorted by.
pub fn order_key(view: JsonView<'_>) -> Vec<u8> {
    let mut key = Vec::new();
    append_key(view, super::DEPTH_MAX, false, &mut key);
    key
}

/// `whole`: the elements of containers count, too.
fn append_key(view: JsonView<'_>, rest: usize, whole: bool, key: &mut Vec<u8>) {
    let node = view.node();
    key.push(rank(&node));
    let signed = |x: i64| (x ^ i64::MIN).to_be_bytes();
    match node {
        JsonNode::Null => {}
        JsonNode::Bool(b) => key.push(b.into()),
        JsonNode::Int(_) | JsonNode::UInt(_) | JsonNode::Double(_) | JsonNode::Decimal(_) => {
            key.extend(number_key(&node).unwrap_or_default());
        }
        JsonNode::Text(text) => push_escaped(text.as_bytes(), key),
        JsonNode::Date(d) => key.extend(signed(d.into())),
        JsonNode::Time(t) | JsonNode::DateTime(t) | JsonNode::Timestamp(t) => key.extend(signed(t)),
        JsonNode::Opaque { field_type, bytes } => {
            key.push(field_type);
            push_escaped(bytes, key);
        }
        JsonNode::Array(array) => {
            key.extend((array.len() as u32).to_be_bytes());
            if whole && rest > 0 {
                array.iter().for_each(|item| append_key(item, rest - 1, whole, key));
            }
        }
        JsonNode::Object(object) => {
            key.extend((object.len() as u32).to_be_bytes());
            if whole && rest > 0 {
                for (name, value) in object.iter() {
                    push_escaped(name.as_bytes(), key);
                    append_key(value, rest - 1, whole, key);
                }
            }
        }
    }
}

/// Bytes with an end that is below all bytes that could follow.
fn push_escaped(bytes: &[u8], key: &mut Vec<u8>) {
    for byte in bytes {
        key.push(*byte);
        if *byte == 0 {
            key.push(0xFF);
        }
    }
    key.extend([0, 0]);
}

/// A number as bytes that compare as numbers of all kinds do: its sign, the exponent of its first digit, its digits.
/// A double counts as the shortest decimal that reads back as it, which is how MySQL compares it with decimals. `None`
/// for what is no number.
fn number_key(node: &JsonNode<'_>) -> Option<Vec<u8>> {
    let (negative, digits, exponent) = match node {
        JsonNode::Int(i) => decimal_digits(Decimal::new((*i).into(), 0)),
        JsonNode::UInt(u) => decimal_digits(Decimal::new((*u).into(), 0)),
        JsonNode::Decimal(d) => decimal_digits(*d),
        JsonNode::Double(x) => double_digits(*x),
        _ => return None,
    };
    if digits.is_empty() {
        return Some(vec![1]);
    }
    // The exponent of a double lies between -324 and 308, that of a decimal between -30 and 76.
    let mut key = (exponent + 0x4000).to_be_bytes().to_vec();
    key.extend(digits.bytes().map(|digit| digit - b'0' + 1));
    key.push(0);
    if negative {
        key.iter_mut().for_each(|byte| *byte = !*byte);
    }
    key.insert(0, if negative { 0 } else { 2 });
    Some(key)
}

/// Sign, digits without zeros at either end, and the exponent of the first one; no digits of zero.
fn decimal_digits(decimal: Decimal) -> (bool, String, i16) {
    let text = decimal.abs().unscaled().to_string();
    let digits = text.trim_start_matches('0');
    let exponent = digits.len() as i16 - 1 - i16::from(decimal.scale);
    (decimal.is_negative(), digits.trim_end_matches('0').to_owned(), exponent)
}

fn double_digits(x: f64) -> (bool, String, i16) {
    let text = format!("{:e}", x.abs());
    let (mantissa, exponent) = text.split_once('e').unwrap_or((&text, "0"));
    let digits: String = mantissa.chars().filter(char::is_ascii_digit).collect();
    (x < 0.0, digits.trim_end_matches('0').to_owned(), exponent.parse().unwrap_or(0))
}
