use super::*;
use proptest::prelude::*;

fn like(value: &str, pattern: &str) -> bool {
    LikePattern::new(pattern, Some('\\'), Collation::DEFAULT).matches(value)
}

#[test]
fn wildcards() {
    for (value, pattern, want) in [
        ("", "", true),
        ("", "%", true),
        ("", "_", false),
        ("abc", "abc", true),
        ("abc", "ABC", true),
        ("abc", "ab", false),
        ("abc", "a%", true),
        ("abc", "%c", true),
        ("abc", "%B%", true),
        ("abc", "a%c%", true),
        ("abab", "%ab", true),
        ("aba", "ab%ba", false),
        ("abc", "a_c", true),
        ("a_c", "a\\_c", true),
        ("abc", "a\\_c", false),
        ("a%", "a\\%", true),
        ("a\\", "a\\", true),
        ("a ", "a", false),
        ("é", "e", true),
        ("É%x", "é%X", true),
        ("ae", "ä", false),
        ("ß", "ss", false),
        ("日本語", "日_語", true),
        ("日本語", "%本%", true),
        ("the special packages requests", "%special%requests%", true),
        ("the requests special", "%special%requests%", false),
    ] {
        assert_eq!(like(value, pattern), want, "{value:?} LIKE {pattern:?}");
    }
}

#[test]
fn escapes() {
    let pattern = LikePattern::new("a|%%|", Some('|'), Collation::Utf8mb4Bin);
    assert!(pattern.matches("a%xx|"));
    assert_eq!(pattern.literal_prefix(), "a%");
    let none = LikePattern::new("a\\%", None, Collation::Utf8mb4Bin);
    assert!(none.matches("a\\b"));
    assert!(!none.is_literal());
}

#[test]
fn binary_collations_tell_case_apart_and_bytes_count_singly() {
    for c in [Collation::Utf8mb4Bin, Collation::Binary] {
        assert!(!LikePattern::new("%B%", None, c).matches("abc"));
        assert!(LikePattern::new("%b%", None, c).matches("abc"));
    }
    let p = LikePattern::new("__", None, Collation::Binary);
    assert!(p.matches_bytes(b"\xFF\xFE"));
    assert!(p.matches_bytes("é".as_bytes()));
    assert!(!p.matches_bytes(b"x"));
}

/// By definition: `%` tried at every length.
fn slow(tokens: &[Token], value: &[char], c: Collation) -> bool {
    match tokens.split_first() {
        None => value.is_empty(),
        Some((Token::Any, rest)) => (0..=value.len()).any(|n| slow(rest, &value[n..], c)),
        Some((t, rest)) => match value.split_first() {
            Some((v, more)) => {
                (*t == Token::One || matches!(t, Token::Char(p) if c.chars_equal(*p, *v))) && slow(rest, more, c)
            }
            None => false,
        },
    }
}

proptest! {
    #[test]
    fn agrees_with_the_definition(value in "[abABéß %]{0,12}", pattern in "[aAbé%_]{0,7}", which in 0usize..5) {
        let c = [
            Collation::Utf8mb4_0900AiCi,
            Collation::Utf8mb4Bin,
            Collation::Utf8mb4GeneralCi,
            Collation::Latin1SwedishCi,
            Collation::Binary,
        ][which];
        let p = LikePattern::new(&pattern, None, c);
        let chars: Vec<char> = value.chars().collect();
        prop_assert_eq!(p.matches(&value), slow(&p.tokens, &chars, c));
        let ascii = value.replace(['é', 'ß'], "a");
        let chars: Vec<char> = ascii.chars().collect();
        prop_assert_eq!(p.matches(&ascii), slow(&p.tokens, &chars, c));
    }
}
