//! Facts about all values of a text column that allow comparing their bytes instead of their sort keys.

use super::Collation;
use serde::{Deserialize, Serialize};

/// The known properties of all values of a text column. They decide where bytes may be compared instead of sort keys.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct TextTraits {
    /// No byte above 0x7F.
    pub ascii: bool,
    /// Bit i: the letter 'A' + i occurs in upper case. Complete until some letter occurs in both cases; from then on
    /// the other letters decide nothing and may be missing.
    pub upper: u32,
    /// Bit i: the letter 'a' + i occurs in lower case; complete as long as `upper` is.
    pub lower: u32,
    /// Some value ends with a space.
    pub trailing_space: bool,
    /// Some value has a control character (collations may ignore it).
    pub control: bool,
}

impl Default for TextTraits {
    /// The traits of no values at all.
    fn default() -> Self {
        TextTraits { ascii: true, upper: 0, lower: 0, trailing_space: false, control: false }
    }
}

const ALL_LETTERS: u32 = (1 << 26) - 1;

impl TextTraits {
    /// Takes one more value in.
    pub fn add(&mut self, value: &[u8]) {
        self.trailing_space |= value.last() == Some(&b' ');
        // One pass that the compiler vectorises finds what kinds of bytes there are; letters are looked at one by one
        // only while one may be new.
        let (mut high, mut control, mut upper, mut lower) = (0u8, false, false, false);
        for &b in value {
            high |= b;
            control |= (b < 0x20) | (b == 0x7F);
            upper |= b.wrapping_sub(b'A') < 26;
            lower |= b.wrapping_sub(b'a') < 26;
        }
        self.ascii &= high < 0x80;
        self.control |= control;
        let undecided = self.upper & self.lower == 0;
        if undecided && ((upper && self.upper != ALL_LETTERS) || (lower && self.lower != ALL_LETTERS)) {
            self.add_letters(value);
        }
    }

    fn add_letters(&mut self, value: &[u8]) {
        // Bits 0 to 63 stand for the bytes 0x40 to 0x7F.
        let mut seen = 0u64;
        for &b in value {
            seen |= ((b & 0xC0 == 0x40) as u64) << (b & 63);
        }
        self.upper |= (seen >> 1) as u32 & ALL_LETTERS;
        self.lower |= (seen >> 33) as u32 & ALL_LETTERS;
    }

    /// The traits of one value.
    pub fn of(value: &[u8]) -> TextTraits {
        let mut traits = TextTraits::default();
        traits.add(value);
        traits
    }

    /// Returns true if a value with the traits `other` changes nothing of what these decide.
    pub fn covers(self, other: TextTraits) -> bool {
        let decided = self.upper & self.lower != 0;
        let letters = decided || (other.upper & !self.upper == 0 && other.lower & !self.lower == 0);
        letters
            && (other.ascii || !self.ascii)
            && (self.trailing_space || !other.trailing_space)
            && (self.control || !other.control)
    }

    /// The same traits with all letters of each case of which there is one, so that the next letters are no news.
    pub fn with_all_letters(self) -> TextTraits {
        let all = |letters: u32| if letters == 0 { 0 } else { ALL_LETTERS };
        TextTraits { upper: all(self.upper), lower: all(self.lower), ..self }
    }

    /// The traits as one number. Each trait that a value adds sets a bit.
    pub fn to_bits(self) -> u64 {
        let flag = |set: bool, bit: u32| u64::from(set) << bit;
        u64::from(self.upper)
            | u64::from(self.lower) << 26
            | flag(!self.ascii, 52)
            | flag(self.trailing_space, 53)
            | flag(self.control, 54)
    }

    /// The traits of a number of [`TextTraits::to_bits`].
    pub fn from_bits(bits: u64) -> TextTraits {
        let flag = |bit: u32| bits >> bit & 1 == 1;
        TextTraits {
            ascii: !flag(52),
            upper: bits as u32 & ALL_LETTERS,
            lower: (bits >> 26) as u32 & ALL_LETTERS,
            trailing_space: flag(53),
            control: flag(54),
        }
    }

    /// The traits of the values of both.
    pub fn merge(a: TextTraits, b: TextTraits) -> TextTraits {
        TextTraits {
            ascii: a.ascii && b.ascii,
            upper: a.upper | b.upper,
            lower: a.lower | b.lower,
            trailing_space: a.trailing_space || b.trailing_space,
            control: a.control || b.control,
        }
    }

    /// Returns true if any two values with these traits have equal sort keys exactly if they have equal bytes.
    pub fn bytes_decide_equality(self, collation: Collation) -> bool {
        let pads_alike = !(collation.pad_space() && self.trailing_space);
        if collation.is_binary() {
            return pads_alike;
        }
        let one_case = self.ascii && self.upper & self.lower == 0;
        let weighs_all = collation.weighs_characters_singly() || !self.control;
        one_case && weighs_all && pads_alike && collation.ascii_folds_case()
    }

    /// Returns true if any two values with these traits compare as their bytes do.
    pub fn bytes_decide_order(self, collation: Collation) -> bool {
        let pads_alike = !collation.pad_space() || (!self.trailing_space && !self.control);
        pads_alike && (collation.orders_bytes() || (self.ascii && self.lower == 0 && collation.orders_upper_case()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(values: &[&str]) -> TextTraits {
        let mut traits = TextTraits::default();
        values.iter().for_each(|v| traits.add(v.as_bytes()));
        traits
    }

    #[test]
    fn what_covers_what() {
        let digits_and_lower = of(&["abc", "12"]);
        assert!(digits_and_lower.covers(of(&["cab1"])) && !digits_and_lower.covers(of(&["abd"])));
        assert!(digits_and_lower.with_all_letters().covers(of(&["xyz"])));
        for other in ["A", "é", "a ", "\n"] {
            assert!(!digits_and_lower.with_all_letters().covers(of(&[other])), "{other:?}");
        }
        // Letters decide nothing any more once one occurs in both cases.
        assert!(of(&["aA"]).covers(of(&["xyzQ"])));
        assert!(!of(&["aA"]).covers(of(&["é"])) && of(&["aAé \t"]).covers(of(&["ÉÜ \n"])));
    }

    #[test]
    fn numbers_stand_for_traits() {
        for values in [&[][..], &["aZ", "q"], &["é"], &["a "], &["\t"], &["É \n ", "xyzXYZ"]] {
            let traits = of(values);
            assert_eq!(TextTraits::from_bits(traits.to_bits()), traits);
        }
        assert_eq!(of(&["aB"]).to_bits() | of(&["é "]).to_bits(), of(&["aB", "é "]).to_bits());
    }

    #[test]
    fn letters_are_found() {
        let t = of(&["aZ", "@[`{~"]);
        assert_eq!((t.lower, t.upper, t.ascii, t.control, t.trailing_space), (1, 1 << 25, true, false, false));
        let t = of(&["zA \u{7f}é "]);
        assert_eq!((t.lower, t.upper, t.ascii, t.control, t.trailing_space), (1 << 25, 1, false, true, true));
        let all = of(&["abcdefghijklmnopqrstuvwxyz"]);
        assert_eq!((all.lower, all.upper), (ALL_LETTERS, 0));
        // The shortcut for letters already known does not lose new ones of the other case.
        assert_eq!(TextTraits::merge(all, of(&["Q"])).upper, 1 << 16);
        let mut more = all;
        more.add(b"Qq");
        assert_eq!(more.upper, 1 << 16);
    }

    #[test]
    fn bytes_decide_only_where_they_do() {
        let c = Collation::DEFAULT;
        assert!(of(&["AIR", "mk sq"]).bytes_decide_equality(c));
        assert!(!of(&["AIR", "air"]).bytes_decide_equality(c));
        assert!(!of(&["é"]).bytes_decide_equality(c));
        assert!(!of(&["a\u{1}"]).bytes_decide_equality(c));
        assert!(of(&["a "]).bytes_decide_equality(c));
        assert!(!of(&["a "]).bytes_decide_equality(Collation::Utf8mb4Bin));
        assert!(!of(&["a_"]).bytes_decide_order(Collation::Utf8mb4GeneralCi));
    }
}
