//! Any two texts under any collation: comparisons, sort keys and LIKE agree. Called by the suite with random texts, and
//! by `fuzz/`.

use super::{Collation, LikePattern, prefix};
use std::cmp::Ordering;

/// Compares two texts of the bytes, in front of the first NUL and behind it, under each collation.
pub fn collations(bytes: &[u8]) {
    let end = bytes.iter().position(|b| *b == 0).unwrap_or(bytes.len());
    let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
    let (a, b) = (text(&bytes[..end]), text(bytes.get(end + 1..).unwrap_or_default()));
    for collation in Collation::all() {
        let charset = collation.character_set();
        let (a, b) = (charset.kept(&a), charset.kept(&b));
        ordered(*collation, &a, &b);
        padded(*collation, &a);
        prefixes(*collation, &a, &b);
        if collation.ascii_folds_case() && a.is_ascii() {
            assert!(collation.equals(&a.to_ascii_lowercase(), &a.to_ascii_uppercase()), "{} {a:?}", collation.name());
        }
    }
}

/// An order is one: the same from both sides, and that of the sort keys.
fn ordered(collation: Collation, a: &str, b: &str) {
    let order = collation.compare(a, b);
    let shown = || format!("{} {a:?} {b:?}", collation.name());
    assert_eq!(order, collation.compare(b, a).reverse(), "{}", shown());
    assert_eq!(order, collation.sort_key(a).cmp(&collation.sort_key(b)), "{}", shown());
    assert_eq!(order == Ordering::Equal, collation.equals(a, b), "{}", shown());
    assert_eq!(collation.compare(a, a), Ordering::Equal, "{}", shown());
    if collation.is_binary() && order == Ordering::Equal {
        assert_eq!(a.trim_end_matches(' '), b.trim_end_matches(' '), "{}", shown());
    }
}

/// Spaces at the end count for nothing, or make a text greater.
fn padded(collation: Collation, text: &str) {
    let wanted = if collation.pad_space() { Ordering::Equal } else { Ordering::Less };
    let longer = format!("{text}  ");
    assert_eq!(collation.compare(text, &longer), wanted, "{} {text:?}", collation.name());
}

/// A text is like itself, and like each of its beginnings; the key of a beginning begins its key.
fn prefixes(collation: Collation, text: &str, other: &str) {
    let escaped = |text: &str| text.chars().flat_map(|c| ['|', c]).collect::<String>();
    let is_like = |text: &str, pattern: String| LikePattern::new(&pattern, Some('|'), collation).matches(text);
    let count = text.chars().count();
    let start = prefix(text, other.len() % (count + 1));
    assert!(is_like(text, escaped(text)), "{} {text:?}", collation.name());
    assert!(is_like(text, escaped(start) + "%"), "{} {text:?}", collation.name());
    assert!(is_like(text, format!("%{}", escaped(&text[start.len()..]))), "{} {text:?}", collation.name());
    let mut key = Vec::new();
    collation.append_common_sort_key(start, &mut key);
    assert!(collation.sort_key(text).starts_with(&key), "{} {start:?} of {text:?}", collation.name());
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::{collection::vec, prelude::*, sample::select, test_runner::TestRunner};

    /// Texts of letters that weigh as others do, as several, as nothing, or differently together.
    fn texts() -> impl Strategy<Value = String> {
        let pieces = [
            "a",
            "A",
            "b",
            " ",
            "ch",
            "c",
            "h",
            "dz",
            "dzs",
            "ss",
            "ß",
            "ä",
            "a\u{308}",
            "Æ",
            "ae",
            "\u{200d}",
            "\u{7f}",
            "\t",
            "ll",
            "İ",
            "i",
            "I",
            "ı",
            "日",
            "か",
            "が",
            "カ",
            "\u{1F600}",
            "\0",
            "z",
            "0",
            "-",
        ];
        vec(select(pieces.to_vec()), 0..12).prop_map(|pieces| pieces.concat())
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(64))]

        #[test]
        fn any_letters(text in texts()) {
            collations(text.as_bytes());
        }

        #[test]
        fn any_texts(a: String, b: String) {
            collations(format!("{a}\0{b}").as_bytes());
        }
    }

    /// Some minutes of random texts.
    #[test]
    #[ignore = "takes minutes"]
    fn fuzz_of_collations() {
        let mut runner = TestRunner::new(ProptestConfig::with_cases(100_000));
        let outcome = runner.run(&(texts(), any::<String>()), |(letters, text)| {
            collations(letters.as_bytes());
            collations(text.as_bytes());
            Ok(())
        });
        outcome.expect("comparisons, sort keys and LIKE agree");
    }
}
