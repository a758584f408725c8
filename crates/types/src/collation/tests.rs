use super::*;
use crate::tables::character;
use proptest::prelude::*;

/// Latin with accents, Greek, Cyrillic, CJK, kana, Hangul, emoji, punctuation, digits, marks, controls, odd spaces.
fn alphabet() -> impl Strategy<Value = String> {
    let one = prop_oneof![
        5 => "[a-zA-Z0-9]",
        3 => "[ -~]",
        3 => "[\u{c0}-\u{24f}]",
        2 => "(ch|Ch|cH|CH|aa|dz|dzs|ddzs|lj|nj|ll|cs|ssz)",
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
    #![proptest_config(ProptestConfig { cases: 300, ..ProptestConfig::default() })]

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
            // Letters that the character set lacks weigh as much as each other.
            let [value, prefix] = [&value, &prefix].map(|text| c.character_set().kept(text));
            let pattern = LikePattern::new(&format!("{prefix}%"), None, *c);
            prop_assert!(pattern.is_prefix());
            let mut common = Vec::new();
            c.append_common_sort_key(pattern.literal_prefix(), &mut common);
            let in_range = c.sort_key(&value).starts_with(&common);
            prop_assert!(in_range || !pattern.matches(&value), "{c:?}");
            let ends_with_space = prefix.chars().last().is_some_and(|last| c.chars_equal(last, ' '));
            if c.weighs_characters_singly() && !(c.pad_space() && ends_with_space) {
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
        for c in [Collation::Utf8mb4Bin, Collation::Utf8mb4GeneralCi, Collation::Latin1SwedishCi, Collation::Koi8rBin] {
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
        (Utf8mb4_0900AsCs, "a", "A", false),
        (Utf8mb4_0900AsCi, "a", "A", true),
        (Utf8mb4_0900AsCi, "a", "ä", false),
        (Utf8mb4_0900Bin, "a", "a ", false),
        (Utf8mb4UnicodeCi, "ß", "SS ", true),
        (Utf8mb4UnicodeCi, "😀", "😁", true),
        (Utf8mb4Unicode520Ci, "😀", "😁", false),
        (Utf8mb4Unicode520Ci, "ø", "o", true),
        (Utf8mb4UnicodeCi, "ø", "o", false),
        (Latin1German2Ci, "ä", "AE", true),
        (Latin1GeneralCs, "a", "A", false),
        (Latin1Bin, "a", "a ", true),
        (Utf8mb4DePb0900AiCi, "Ä", "ae", true),
        (Utf8mb4Da0900AiCi, "aa", "Å", true),
        (Utf8mb4Tr0900AiCi, "I", "i", false),
        (Cp1251GeneralCi, "Я", "я", true),
        (GbkChineseCi, "中", "国", false),
    ] {
        assert_eq!(c.equals(a, b), want, "{a:?} {b:?} {c:?}");
    }
    let order = |c: Collation, a: &str, b: &str| assert_eq!(c.compare(a, b), Ordering::Less, "{a:?} {b:?} {c:?}");
    order(Utf8mb4Cs0900AiCi, "h", "ch");
    order(Utf8mb4Cs0900AiCi, "ch", "i");
    order(Utf8mb4Cs0900AiCi, "cz", "ch");
    order(Utf8mb4Es0900AiCi, "nz", "ñ");
    order(Utf8mb4Sv0900AiCi, "z", "å");
    order(Utf8mb4Da0900AsCs, "A", "a");
    order(Utf8mb4_0900AsCs, "a", "A");
    order(Utf8mb4_0900AsCs, "A", "á");
    order(Utf8mb4Ru0900AiCi, "я", "a");
    order(Latin1Bin, "€", "À");
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
        assert!(c.name() == "binary" || c.name().starts_with(c.charset()));
        assert_eq!(serde_json::from_str::<Collation>(&serde_json::to_string(c).unwrap()).unwrap(), *c);
    }
    assert!(Collation::all().is_sorted_by_key(|c| c.name()));
    assert_eq!(Collation::from_name("utf8_bin"), Some(Collation::Utf8mb3Bin));
    assert_eq!(Collation::default_of_charset("UTF8MB4"), Some(Collation::Utf8mb4_0900AiCi));
    assert_eq!(Collation::binary_of_charset(Charset::Utf8mb4), Collation::Utf8mb4Bin);
    assert_eq!(Collation::binary_of_charset(Charset::Gbk), Collation::GbkBin);
    assert_eq!(Collation::from_name("latin2_czech_cs"), None);
    assert!(serde_json::from_str::<Collation>("\"latin2_czech_cs\"").is_err());
}

#[test]
fn keys_of_0900_ai_ci_need_no_table_for_ascii() {
    for code in 0..128 {
        let text = character(code).to_string();
        let uca = Collation::DEFAULT.uca().unwrap();
        let (mut by_table, mut without) = (Vec::new(), Vec::new());
        uca.append_sort_key(&text, &mut by_table);
        super::uca::append_ascii_sort_key(&text, &mut without);
        assert_eq!(by_table, without, "{text:?}");
    }
}

#[test]
fn weights_above_a_space_begin_behind_the_marks_of_pad_space() {
    for c in Collation::all().iter().filter(|c| c.pad_space()) {
        for code in (0..0x3000).chain([0x4E00, 0xAC00, 0xFFFD, 0x1F600]).filter_map(char::from_u32) {
            let text = code.to_string();
            if c.compare(&text, "") == Ordering::Greater {
                assert!(c.sort_key(&text)[0] > 3, "{c:?} {code:?}");
            }
        }
    }
}

#[test]
fn properties_of_ascii_are_those_of_the_weights() {
    let expected = |c: Collation| {
        let printable = 0x20..0x7F;
        printable.clone().all(|a: u8| {
            printable.clone().all(|b: u8| {
                let [x, y] = [a, b].map(|b| format!("a{}.", b as char));
                c.equals(&x, &y) == a.eq_ignore_ascii_case(&b)
            })
        })
    };
    for c in Collation::all() {
        assert!(!c.ascii_folds_case() || expected(*c), "{c:?}");
    }
    for c in [Collation::DEFAULT, Collation::Utf8mb4GeneralCi, Collation::Latin1SwedishCi, Collation::Utf8mb4UnicodeCi]
    {
        assert!(c.ascii_folds_case(), "{c:?}");
    }
}

#[test]
fn weights_are_those_of_mysql() {
    let bytes = |hex: &str| -> Vec<u8> {
        (0..hex.len()).step_by(2).map(|at| u8::from_str_radix(&hex[at..at + 2], 16).unwrap()).collect()
    };
    let mut known: Vec<&str> = Vec::new();
    for line in include_str!("../tables/weights.txt").lines() {
        let mut fields = line.split(' ');
        let [name, text, weights] = [(); 3].map(|()| fields.next().unwrap());
        let (collation, text) = (Collation::from_name(name).unwrap(), String::from_utf8(bytes(text)).unwrap());
        assert_eq!(collation.weight_string(&text), bytes(weights), "{name} {text:?}");
        if known.last() != Some(&name) {
            known.push(name);
        }
    }
    known.sort_unstable();
    assert_eq!(known, Collation::all().iter().map(|c| c.name()).collect::<Vec<_>>());
}

/// All names that a pattern like `latin1_{bin,general_ci}` stands for.
fn names_of(pattern: &str) -> Vec<String> {
    let Some((start, rest)) = pattern.split_once('{') else { return vec![pattern.to_owned()] };
    let (choices, rest) = rest.split_once('}').unwrap();
    choices.split(',').flat_map(|choice| names_of(&format!("{start}{choice}{rest}"))).collect()
}

#[test]
fn the_documentation_lists_all_collations() {
    let section =
        include_str!("../../../../docs/sql.md").split("\n## ").find(|section| section.starts_with("Collations"));
    let table = section.unwrap().lines().filter(|line| line.starts_with("| ")).skip(1);
    let mut listed: Vec<String> = table.flat_map(|row| row.split('`').skip(1).step_by(2)).flat_map(names_of).collect();
    listed.sort();
    let all: Vec<&str> = Collation::all().iter().map(|c| c.name()).collect();
    assert_eq!(listed, all);
}

#[test]
fn prefixes_are_characters() {
    assert_eq!(prefix("äöü", 2), "äö");
    assert_eq!(prefix("ab", 5), "ab");
}
