use super::*;
use icu_collator::{
    Collator,
    options::{AlternateHandling, CollatorOptions, Strength},
};
use proptest::prelude::*;

/// Latin with accents, Greek, Cyrillic, CJK, kana, Hangul, emoji, punctuation, digits, marks, controls, odd spaces.
fn alphabet() -> impl Strategy<Value = String> {
    let one = prop_oneof![
        5 => "[a-zA-Z0-9]",
        3 => "[ -~]",
        // Without Ŀ, ŀ and the middle dot: they are a contraction with a letter l before them.
        3 => "[\u{c0}-\u{13e}\u{141}-\u{24f}]",
        1 => "[\u{1e00}-\u{1eff}]",
        1 => "[α-ωΑ-Ω]",
        1 => "[а-яА-ЯёЁ]",
        1 => "[一-鿿]",
        1 => "[ぁ-ヺ]",
        1 => "[가-힣]",
        1 => "[😀-🙏]",
        1 => "[\u{300}-\u{314}]",
        1 => "[\u{1}-\u{1f}]",
        1 => "[\u{2000}-\u{203f}\u{20a0}-\u{20bf}\u{2100}-\u{215f}\u{ff01}-\u{ff5e}\u{a0}-\u{b6}\u{b8}-\u{bf}\u{fb00}-\u{fb06}]",
    ];
    prop::collection::vec(one, 0..8).prop_map(|parts| parts.concat())
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 4000, ..ProptestConfig::default() })]

    #[test]
    fn uca_agrees_with_icu(a in alphabet(), b in alphabet()) {
        let mut options = CollatorOptions::default();
        options.strength = Some(Strength::Primary);
        options.alternate_handling = Some(AlternateHandling::NonIgnorable);
        let icu = Collator::try_new(Default::default(), options).unwrap();
        prop_assert_eq!(Collation::DEFAULT.compare(&a, &b), icu.compare(&a, &b));
    }

    #[test]
    fn keys_compare_as_texts_do(a in alphabet(), b in alphabet(), spaces in 0usize..3) {
        for c in Collation::all() {
            let padded = format!("{a}{}", " ".repeat(spaces));
            for other in [&b, &padded] {
                prop_assert_eq!(c.sort_key(&a).cmp(&c.sort_key(other)), c.compare(&a, other), "{:?}", c);
            }
            prop_assert_eq!(c.equals(&a, &padded), c.pad_space() || spaces == 0);
        }
    }

    #[test]
    fn texts_with_a_common_start_have_keys_with_one(start in alphabet(), rest in alphabet(), spaces in 0usize..3) {
        let start = format!("{start}{}", " ".repeat(spaces));
        for c in Collation::all() {
            let mut common = Vec::new();
            c.append_common_sort_key(&start, &mut common);
            prop_assert!(c.sort_key(&format!("{start}{rest}")).starts_with(&common), "{c:?}");
        }
    }

    #[test]
    fn like_a_prefix_is_a_range_of_keys(value in "[aAbßéÉ \u{1}\t]{0,6}", prefix in "[aAbßsé \u{1}\t]{0,4}") {
        for c in Collation::all() {
            let pattern = LikePattern::new(&format!("{prefix}%"), None, *c);
            prop_assert!(pattern.is_prefix());
            let mut common = Vec::new();
            c.append_common_sort_key(pattern.literal_prefix(), &mut common);
            let in_range = c.sort_key(&value).starts_with(&common);
            prop_assert!(in_range || !pattern.matches(&value), "{c:?}");
            if c.weighs_characters_singly() && !(c.pad_space() && prefix.ends_with(' ')) {
                prop_assert_eq!(in_range, pattern.matches(&value), "{:?}", c);
            }
        }
    }

    #[test]
    fn cut_texts_stay_in_order(a in alphabet(), b in alphabet(), n in 0usize..5) {
        for c in Collation::all().iter().filter(|c| c.weighs_characters_singly()) {
            let cut = c.compare(super::prefix(&a, n), super::prefix(&b, n));
            prop_assert!(cut == Ordering::Equal || cut == c.compare(&a, &b), "{c:?}");
        }
    }

    #[test]
    fn pad_space_is_comparing_with_spaces_added(a in "[ \u{1}\tab]{0,8}", b in "[ \u{1}\tab]{0,8}") {
        let pad = |s: &str| format!("{s:<8}");
        let want = pad(&a).cmp(&pad(&b));
        for c in [Collation::Utf8mb4Bin, Collation::Utf8mb4GeneralCi, Collation::Latin1SwedishCi] {
            prop_assert_eq!(c.compare(&a, &b), want);
            prop_assert_eq!(c.sort_key(&a).cmp(&c.sort_key(&b)), want);
        }
    }

    #[test]
    fn traits_are_right(a in "[ \u{1}a-cA-C_é]{0,4}", b in "[ \u{1}a-cA-C_é]{0,4}") {
        let mut traits = TextTraits::default();
        traits.add(a.as_bytes());
        traits.add(b.as_bytes());
        for c in Collation::all() {
            if traits.bytes_decide_equality(*c) {
                prop_assert_eq!(c.equals(&a, &b), a == b);
            }
            if traits.bytes_decide_order(*c) {
                prop_assert_eq!(c.compare(&a, &b), a.cmp(&b));
            }
        }
    }
}

#[test]
fn long_runs_of_spaces() {
    let text = |n: usize, end: &str| format!("a{}{end}", " ".repeat(n));
    for c in [Collation::Utf8mb4Bin, Collation::Utf8mb4GeneralCi, Collation::Latin1SwedishCi] {
        for n in [0, 1, 253, 254, 255, 256, 508, 509, 510] {
            for m in [0, 1, 253, 254, 255, 256, 508, 509, 510] {
                for x in ["", "\t", "b"] {
                    for y in ["", "\t", "b"] {
                        let (a, b) = (text(n, x), text(m, y));
                        assert_eq!(c.sort_key(&a).cmp(&c.sort_key(&b)), c.compare(&a, &b), "{n}{x:?} {m}{y:?}");
                    }
                }
            }
        }
    }
}

#[test]
fn what_is_equal() {
    use Collation::*;
    for (c, a, b, want) in [
        (Utf8mb4_0900AiCi, "é", "E", true),
        (Utf8mb4_0900AiCi, "ß", "SS", true),
        (Utf8mb4_0900AiCi, "ﬁ", "fi", true),
        (Utf8mb4_0900AiCi, "Ａ", "a", true),
        (Utf8mb4_0900AiCi, "e\u{301}", "e", true),
        (Utf8mb4_0900AiCi, "a\u{1}", "a", true),
        (Utf8mb4_0900AiCi, "a ", "a", false),
        (Utf8mb4_0900AiCi, "ア", "あ", true),
        (Utf8mb4_0900AiCi, "😀", "😁", false),
        (Utf8mb4GeneralCi, "é", "E ", true),
        (Utf8mb4GeneralCi, "ß", "s", true),
        (Utf8mb4GeneralCi, "ß", "ss", false),
        (Utf8mb4GeneralCi, "ø", "o", false),
        (Utf8mb4GeneralCi, "Ё", "е", true),
        (Utf8mb4GeneralCi, "😀", "😁", true),
        (Latin1SwedishCi, "Ü", "y", true),
        (Latin1SwedishCi, "ä", "æ", true),
        (Latin1SwedishCi, "ä", "a", false),
        (Latin1SwedishCi, "é", "E", true),
        (Utf8mb4Bin, "a", "A", false),
        (Utf8mb4Bin, "a", "a  ", true),
        (Binary, "a", "a  ", false),
    ] {
        assert_eq!(c.equals(a, b), want, "{a:?} {b:?} {c:?}");
    }
    let order = |c: Collation, a: &str, b: &str| assert_eq!(c.compare(a, b), Ordering::Less, "{a:?} {b:?} {c:?}");
    order(Latin1SwedishCi, "z", "å");
    order(Latin1SwedishCi, "å", "ä");
    order(Latin1SwedishCi, "ä", "ö");
    order(Utf8mb4_0900AiCi, "z", "α");
    order(Utf8mb4_0900AiCi, "_", "-");
    order(Utf8mb4_0900AiCi, "9", "a");
}

#[test]
fn names_and_numbers() {
    for c in Collation::all() {
        assert_eq!(Collation::from_name(&c.name().to_uppercase()), Some(*c));
        assert_eq!(Collation::from_id(c.id()), Some(*c));
        assert!(Collation::default_of_charset(c.charset()).is_some());
    }
    assert_eq!(Collation::from_name("utf8mb3_bin"), Some(Collation::Utf8mb4Bin));
    assert_eq!(Collation::default_of_charset("UTF8MB4"), Some(Collation::Utf8mb4_0900AiCi));
    assert_eq!(Collation::from_name("latin1_german1_ci"), None);
}

#[test]
fn prefixes_are_characters() {
    assert_eq!(prefix("äöü", 2), "äö");
    assert_eq!(prefix("ab", 5), "ab");
}
