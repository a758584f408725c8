//! Texts, binary forms and paths that nobody has written with care. Called by the suite with random bytes, and by
//! `fuzz/`.

use super::{JsonPath, JsonValue, JsonView, compare, encode, group_key, order_key, parse, pretty, seek, to_text};

/// Reads bytes as the text of a document, as a path, and as the binary form of a document. What a text makes must come
/// back from its own text and its own bytes; damaged bytes must not make a reader panic.
pub fn documents(bytes: &[u8]) {
    let (text, path) = match bytes.iter().position(|byte| *byte == 0xFF) {
        Some(at) => (&bytes[..at], &bytes[at + 1..]),
        None => (bytes, bytes),
    };
    let (text, path) = (String::from_utf8_lossy(text), String::from_utf8_lossy(path));
    let path = JsonPath::parse(&path).ok();
    if let Some(path) = &path {
        assert_eq!(JsonPath::parse(&path.to_text()).as_ref(), Ok(path), "a path comes back from its text");
    }
    if let Ok(value) = parse(&text) {
        let encoded = encode(&value).expect("the parser knows the limits, and the text is short");
        let view = JsonView::new(&encoded);
        assert_eq!(JsonValue::of_view(view), value, "a document comes back from its bytes");
        let printed = to_text(view);
        let again = encode(&parse(&printed).expect("what is printed is JSON")).expect("it is as deep as it was");
        if !has_doubles(&value) {
            assert_eq!(to_text(JsonView::new(&again)), printed, "a text comes back from what it makes");
            assert!(compare(view, JsonView::new(&again)).is_eq());
        }
        look_at(view, path.as_ref());
    }
    look_at(JsonView::new(bytes), path.as_ref());
}

/// A double may come back as its neighbour, since numbers are read at normal precision.
fn has_doubles(value: &JsonValue) -> bool {
    match value {
        JsonValue::Double(_) => true,
        JsonValue::Array(items) => items.iter().any(has_doubles),
        JsonValue::Object(object) => object.members().iter().any(|(_, value)| has_doubles(value)),
        _ => false,
    }
}

fn look_at(view: JsonView<'_>, path: Option<&JsonPath>) {
    let _ = (to_text(view).len(), pretty(view).len(), view.depth(), view.count(), view.type_name());
    let _ = (group_key(view), order_key(view));
    assert!(compare(view, view).is_eq());
    for found in path.map(|path| seek(view, path)).unwrap_or_default() {
        let copy = found.to_bytes();
        assert_eq!(to_text(JsonView::new(&copy)), to_text(found), "a part is a document of its own");
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::{collection::vec, prelude::*};

    const PIECES: &[&str] = &[
        "{",
        "}",
        "[",
        "]",
        ",",
        ":",
        "\"a\"",
        "\"b\":",
        "1",
        "-",
        "0",
        ".5",
        "e3",
        "null",
        "true",
        "\"",
        "\\u00e9",
        "\\",
        " ",
        "\u{fffd}",
        "$",
        ".a",
        "[*]",
        "**",
        ".*",
        "[last",
        "-1]",
        "[1 to ",
        "2]",
        "é",
        "\n",
        "18446744073709551616",
    ];

    proptest! {
        #[test]
        fn any_pieces(pieces in vec(0..PIECES.len(), 0..30), path in vec(0..PIECES.len(), 0..6)) {
            let join = |pieces: &[usize]| pieces.iter().flat_map(|i| PIECES[*i].bytes()).collect::<Vec<u8>>();
            documents(&[join(&pieces), vec![0xFF], join(&path)].concat());
        }

        #[test]
        fn any_bytes(bytes in vec(any::<u8>(), 0..120)) {
            documents(&bytes);
        }

        /// Documents with single bytes changed.
        #[test]
        fn damaged_documents(at in 0usize..200, byte in any::<u8>()) {
            let text = r#"{"a":[1,2.5,"text",null,{"b":[true,false,[]]}],"bb":{"c":-70000,"d":18446744073709551615}}"#;
            let mut bytes = encode(&parse(text).unwrap()).unwrap();
            let at = at % bytes.len();
            bytes[at] = byte;
            look_at(JsonView::new(&bytes), JsonPath::parse("$**[0]").ok().as_ref());
        }
    }
}
