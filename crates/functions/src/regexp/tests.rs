//! Translations, and what is wrong with patterns. MySQL 8.0.33 gave the answers.

use super::{
    compiled::Pattern,
    replacement::Replacement,
    translate::{Modes, translate},
};

const INSENSITIVE: Modes =
    Modes { ignores_case: true, multi_line: false, dot_all: false, unix_lines: false, comments: false };

fn is_match(text: &str, pattern: &str) -> bool {
    Pattern::of(pattern, INSENSITIVE).unwrap_or_else(|e| panic!("{pattern}: {e:?}")).is_match(text)
}

#[test]
fn patterns_mean_what_they_mean_in_icu() {
    for (text, pattern, want) in [
        ("Michael!", ".*", true),
        ("a", "^[a-d]", true),
        ("a\nb", "a.b", false),
        ("a\u{2028}b", "a.b", false),
        ("a\n", "a$", true),
        ("a\n\n", "a$", false),
        ("a\r\n", "a$", true),
        ("a", "[[.a.]]", true),
        ("a", "(?#comment)a", true),
        ("a b", r"(?x)a\ b", true),
        ("a b", "(?x)[a b] b", false),
        ("a", r"\x61", true),
        ("a", r"\u0061", true),
        ("a", r"\0141", true),
        ("A", r"\Qa\E", true),
        ("a", r"\q", false),
        ("é", "[[:alpha:]]", true),
        ("A", "[[:lower:]]", true),
        ("$", "[[:punct:]]", false),
        ("1", "[[:^alpha:]]", true),
        ("é", "E", false),
        ("é", "É", true),
        ("\t", r"\h", true),
        ("\n", r"\R", true),
        ("a", "[a&&b]", false),
        ("a", "[[a-z]--[b]]", true),
        ("&", "[a&&&]", false),
        ("]", "[]]", true),
        ("-", "[a-]", true),
        ("b", "[[a-c]&[b-d]]", true),
        ("-", "[[a-c]-[b-d]]", false),
        ("-", "[a-b-c]", true),
        ("a", "[a--b]", true),
        ("q", r"[\q]", true),
        ("b", "[:alpha:]", true),
        ("a", "(?-i)A", false),
        ("ab", "((?-i)a)B", true),
        ("a", "^*", true),
        ("a", "$*", true),
        ("x", "|", true),
        ("a", r"\E", false),
    ] {
        assert_eq!(is_match(text, pattern), want, "{text:?} {pattern:?}");
    }
}

#[test]
fn wrong_patterns_have_mysqls_errors() {
    for (pattern, code, part) in [
        ("", 3685, "Illegal"),
        ("[", 3696, "unclosed"),
        ("(", 3691, "parenthesis"),
        ("a)b", 3691, "parenthesis"),
        ("*", 3688, "line 1, character 1."),
        ("a**", 3688, "line 1, character 3."),
        ("a|*", 3688, "line 1, character 3."),
        ("(*a)", 3688, "line 1, character 2."),
        ("{1}a", 3688, "line 1, character 1."),
        ("a}", 3688, "line 1, character 2."),
        ("a\nb*\n**", 3688, "line 3, character 2."),
        (r"\b*", 3688, "line 1, character 3."),
        ("(?P<n>a)", 3688, "line 1, character 3."),
        ("(?<1>a)", 3688, "line 1, character 4."),
        ("(?", 3688, "line 1, character 2."),
        (r"[a-\d]", 3688, "line 1, character 5."),
        ("[a&&]", 3688, "line 1, character 5."),
        ("[&&a]", 3688, "line 1, character 3."),
        ("(?i", 3900, "flag"),
        ("a{2,1}", 3693, "minumum"),
        ("a{,1}", 3692, "interval"),
        ("a{1", 3692, "interval"),
        ("a{9999999999}", 4007, "too large"),
        (r"\", 3689, "escape"),
        (r"\x{110000}", 3689, "escape"),
        (r"\0", 3689, "escape"),
        ("[z-a]", 3697, "range"),
        ("[[:foo:]]", 3685, "Illegal"),
        (r"\p{Foo}", 3685, "Illegal"),
        (r"\pL", 3685, "Illegal"),
        (r"\2", 3694, "back-reference"),
        (r"\k<n>", 3887, "name"),
        ("(?<n>a)(?<n>b)", 3887, "name"),
        (r"(a)\1", 3690, "not implemented"),
        ("a(?=b)", 3690, "not implemented"),
        ("(?<=b)a", 3690, "not implemented"),
        ("a++", 3690, "not implemented"),
        ("(?=a)*", 3688, "line 1, character 6."),
        (r"\N{LATIN SMALL LETTER A}", 3690, "not implemented"),
        ("(((a{1000}){1000}){1000})", 3700, "exceeds"),
    ] {
        let error = Pattern::of(pattern, INSENSITIVE).expect_err(pattern);
        assert_eq!(error.code.number(), code, "{pattern}: {}", error.message);
        assert!(error.message.contains(part), "{pattern}: {}", error.message);
    }
}

#[test]
fn any_pattern_is_translated_or_refused() {
    let alphabet: Vec<char> = r"ab[](){}*+?|^$.\-&:=!<>#pPQExu01,dsiné".chars().collect();
    let mut seed = 1u64;
    for _ in 0..20_000 {
        let mut pattern = String::new();
        for _ in 0..10 {
            seed = seed.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
            pattern.push(alphabet[(seed >> 33) as usize % alphabet.len()]);
        }
        let Ok(translation) = translate(&pattern, INSENSITIVE) else { continue };
        let compiled = regex::Regex::new(&translation.pattern);
        assert!(
            !matches!(compiled, Err(regex::Error::Syntax(_))),
            "{pattern:?} became {:?}: {compiled:?}",
            translation.pattern
        );
    }
}

#[test]
fn empty_matches_follow_others() {
    let starts = |pattern: &str, text: &str| {
        let pattern = Pattern::of(pattern, INSENSITIVE).unwrap();
        pattern.matches(text, 0).map(|m| m.whole.start()).collect::<Vec<_>>()
    };
    assert_eq!(starts("b*", "abc"), [0, 1, 2, 3]);
    assert_eq!(starts("x*", "é"), [0, 2]);
    assert_eq!(starts("$", "a\n"), [1, 2]);
    let found = |pattern: &str| {
        let pattern = Pattern::of(pattern, Modes { dot_all: true, ..INSENSITIVE }).unwrap();
        pattern.find_at("a\n", 0).unwrap().whole.as_str().to_string()
    };
    assert_eq!(found("a.*$"), "a\n");
    assert_eq!(found("a.*?$"), "a");
    let lines = Pattern::of("^", Modes { multi_line: true, ..INSENSITIVE }).unwrap();
    assert_eq!(lines.matches("a\nb\n\n", 0).map(|m| m.whole.start()).collect::<Vec<_>>(), [0, 2, 4]);
}

/// Groups that a pattern never comes to are there all the same, and empty.
#[test]
fn groups_that_are_never_reached_count() {
    for (pattern, replacement) in [("(?:(b)){0,0}c", "<$1>"), ("(?:(?<x>b)){0,0}c", "<${x}>")] {
        let pattern = Pattern::of(pattern, Modes::default()).unwrap();
        let replacement = Replacement::parse(replacement, &pattern).unwrap();
        let mut out = String::new();
        replacement.append(&replacement.groups(&pattern, &pattern.find_at("abc", 0).unwrap()), &mut out);
        assert_eq!(out, "<>");
    }
}
