//! Text, bytes, paths and order. The answers are MySQL 8.0.33's; more of them are in the files `json_*.slt` of the
//! engine's tests.

use super::*;
use crate::{Decimal, Value};
use std::cmp::Ordering;

fn bytes(text: &str) -> Vec<u8> {
    parse_to_bytes(text).unwrap_or_else(|error| panic!("{text}: {error:?}"))
}

fn printed(text: &str) -> String {
    to_text(JsonView::new(&bytes(text)))
}

#[test]
fn texts_are_read_and_printed() {
    for (text, want) in [
        (r#" {"b":1,"aa":2,"a":3,"b":4} "#, r#"{"a": 3, "b": 4, "aa": 2}"#),
        ("[1,[],{},null , true,false]", "[1, [], {}, null, true, false]"),
        ("1E5", "100000.0"),
        ("-0", "0"),
        ("-0.0", "-0.0"),
        ("1e15", "1e15"),
        ("123456789012345678901234567890", "1.2345678901234566e29"),
        ("4.9e-324", "5e-324"),
        ("1e-400", "0.0"),
        (r#""\"\\\/\b\f\n\r\t\u0001\u00e9\ud83d\ude00""#, "\"\\\"\\\\/\\b\\f\\n\\r\\t\\u0001é😀\""),
    ] {
        assert_eq!(printed(text), want, "{text}");
    }
    for (text, name) in
        [("4294967295", "INTEGER"), ("4294967296", "UNSIGNED INTEGER"), ("18446744073709551616", "DOUBLE")]
    {
        assert_eq!(JsonView::new(&bytes(text)).type_name(), name, "{text}");
    }
}

#[test]
fn errors_stand_where_mysql_sees_them() {
    for (text, what, position) in [
        ("", "The document is empty.", 0),
        ("nulx", "Invalid value.", 3),
        ("truex", "The document root must not be followed by other values.", 4),
        ("-x", "Invalid value.", 1),
        ("1.x", "Miss fraction part in number.", 2),
        ("1e+", "Miss exponent in number.", 3),
        ("[1e400]", "Number too big to be stored in double.", 1),
        ("\"abc", "Missing a closing quotation mark in string.", 4),
        ("\"a\\qb\"", "Invalid escape character in string.", 2),
        ("\"a\\ud800b\"", "The surrogate pair in string is invalid.", 2),
        ("{\"a\" 1}", "Missing a colon after a name of object member.", 5),
        ("{\"a\":1", "Missing a comma or '}' after an object member.", 6),
        ("[1 2]", "Missing a comma or ']' after an array element.", 3),
    ] {
        assert_eq!(parse(text), Err(TextError::Syntax { what, position }), "{text}");
    }
    assert!(parse(&("[".repeat(100) + &"]".repeat(100))).is_ok());
    assert_eq!(parse(&"[".repeat(100_000)), Err(TextError::Limit(JsonLimit::TooDeep)));
}

#[test]
fn bytes_are_as_long_as_mysqls() {
    for (text, size) in
        [("[1,2]", 11), (r#"{"a":1}"#, 13), ("\"abc\"", 5), ("[100000]", 12), ("null", 2), ("[true]", 8)]
    {
        assert_eq!(bytes(text).len(), size, "{text}");
    }
    let decimal = JsonValue::Decimal(Decimal::parse("1.23456789012").unwrap());
    let items = JsonValue::Array(vec![JsonValue::Date(0), decimal]);
    assert_eq!(encode(&items).unwrap().len(), 31);
}

#[test]
fn large_documents_keep_what_small_ones_in_them_are() {
    let long = "x".repeat(70_000);
    let text = format!(r#"{{"deep":[[[{{"a":"{long}","b":[1,70000]}}]]],"small":[2]}}"#);
    let document = bytes(&text);
    let view = JsonView::new(&document);
    assert_eq!(to_text(view), to_text(JsonView::new(&encode(&JsonValue::of_view(view)).unwrap())));
    let path = JsonPath::parse("$.deep[0][0][0].b[1]").unwrap();
    let found = seek(view, &path);
    assert!(matches!(found[0].node(), JsonNode::Int(70_000)));
    let many: Vec<String> = (0..70_000).map(|i| format!("\"k{i:05}\":{i}")).collect();
    let document = bytes(&format!("{{{}}}", many.join(",")));
    let found = seek(JsonView::new(&document), &JsonPath::parse("$.k69999").unwrap());
    assert!(matches!(found[0].node(), JsonNode::Int(69_999)));
}

#[test]
fn decimals_and_moments_come_back() {
    for text in ["0", "-1.5", "99999999999999999999999999999999999.999999999999999999999999999999", "0.000000001"] {
        let value = JsonValue::Decimal(Decimal::parse(text).unwrap());
        let document = encode(&value).unwrap();
        assert_eq!(to_text(JsonView::new(&document)), text);
    }
    let value = scalar_of(&Value::Time(-36_672_000_000), None);
    assert_eq!(to_text(JsonView::new(&encode(&value).unwrap())), "\"-10:11:12.000000\"");
}

#[test]
fn paths_find_each_value_once() {
    for (document, path, want) in [
        (r#"{"a":[{"a":2},3]}"#, "$**.a", r#"[{"a": 2}, 3] 2"#),
        (r#"{"a":[{"a":2},3]}"#, "$**[0]", r#"{"a": [{"a": 2}, 3]} {"a": 2} 2 3"#),
        ("[[1,[2]],3]", "$**[last]", "3 [2] 1 2"),
        ("[1,2,3]", "$[last-1 to last]", "2 3"),
        ("5", "$[0 to 3]", "5"),
        ("5", "$[last-1]", ""),
        ("5", "$[*]", ""),
        ("{\"a b\":1}", " $ . \"a b\" ", "1"),
        ("{\"a\":{\"b\":2},\"c\":{\"b\":3}}", "$.*.b", "2 3"),
    ] {
        let document = bytes(document);
        let found = seek(JsonView::new(&document), &JsonPath::parse(path).unwrap());
        let texts: Vec<String> = found.into_iter().map(to_text).collect();
        assert_eq!(texts.join(" "), want, "{path}");
    }
    for (path, position) in [
        ("", 0),
        (" ", 1),
        ("a", 1),
        ("$.", 2),
        ("$a", 1),
        ("$[4294967296]", 2),
        ("$[last+1]", 7),
        ("$[2 to 1]", 8),
        ("$[1to 2]", 4),
        ("$.a b", 4),
        ("$.a-b", 5),
        ("$**", 3),
        ("$***.a", 3),
    ] {
        let message = JsonPath::parse(path).unwrap_err().message;
        assert!(message.ends_with(&format!("position {position}.")), "{path}: {message}");
    }
}

#[test]
fn values_are_ordered_by_type_and_value() {
    let rising = [
        "null",
        "-5",
        "1",
        "1.5",
        "18446744073709551615",
        "1e20",
        r#""a""#,
        r#""b""#,
        r#"{"a":1}"#,
        r#"{"b":0}"#,
        r#"{"a":1,"b":2}"#,
        "[1,2]",
        "[3]",
        "false",
        "true",
    ];
    for (i, a) in rising.iter().enumerate() {
        for (j, b) in rising.iter().enumerate() {
            let (a, b) = (bytes(a), bytes(b));
            let (a, b) = (JsonView::new(&a), JsonView::new(&b));
            assert_eq!(compare(a, b), i.cmp(&j), "{} {}", to_text(a), to_text(b));
            assert_eq!(group_key(a) == group_key(b), i == j);
            let are_scalars =
                [a, b].iter().all(|view| !matches!(view.node(), JsonNode::Array(_) | JsonNode::Object(_)));
            if are_scalars {
                assert_eq!(order_key(a).cmp(&order_key(b)), i.cmp(&j));
            }
        }
    }
    let (one, same) = (bytes("1"), bytes("1.0"));
    assert_eq!(compare(JsonView::new(&one), JsonView::new(&same)), Ordering::Equal);
    assert_eq!(group_key(JsonView::new(&one)), group_key(JsonView::new(&same)));
}
