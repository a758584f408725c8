//! Which characters are equal one by one, for the characters of most alphabets: a class for each, so that LIKE need not
//! look up weights.

use super::{Collation, uca::Uca};
use std::{collections::HashMap, sync::OnceLock};

/// Characters below this one have classes.
const CHARACTERS: u32 = 0x2000;
/// At least as many as there are collations.
const COLLATIONS: usize = 320;

/// The classes of each collation of the Unicode Collation Algorithm that has been asked for them.
static CLASSES: [OnceLock<Box<[u16]>>; COLLATIONS] = [const { OnceLock::new() }; COLLATIONS];

/// Two characters below [`CHARACTERS`] are equal if and only if their classes are. They are found out when a collation
/// is asked for the first time, which takes some milliseconds. Empty for a collation without a place.
pub(super) fn of(collation: Collation, uca: Uca) -> &'static [u16] {
    CLASSES.get(collation as usize).map_or(&[], |classes| classes.get_or_init(|| found(uca)))
}

fn found(uca: Uca) -> Box<[u16]> {
    let mut known: HashMap<Vec<Vec<u32>>, u16> = HashMap::new();
    let mut class = |number: u32| {
        let weights = char::from_u32(number).map(|c| uca.weights_of_character(c)).unwrap_or_default();
        let next = known.len() as u16;
        *known.entry(weights).or_insert(next)
    };
    (0..CHARACTERS).map(&mut class).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn characters_of_a_class_are_equal_and_no_others() {
        assert!(Collation::all().len() <= COLLATIONS);
        for name in ["utf8mb4_0900_ai_ci", "utf8mb4_0900_as_cs", "utf8mb4_unicode_ci", "utf8mb4_tr_0900_ai_ci"] {
            let collation = Collation::from_name(name).expect("the collation is there");
            let uca = collation.uca().expect("a collation of the algorithm");
            let classes = of(collation, uca);
            let letters: Vec<char> =
                (0..CHARACTERS).step_by(37).chain(0x40..0x80).chain(0xC0..0x100).filter_map(char::from_u32).collect();
            for a in &letters {
                for b in &letters {
                    let is_same = classes[*a as usize] == classes[*b as usize];
                    assert_eq!(is_same, uca.chars_equal(*a, *b), "{a:?} {b:?} {name}");
                }
            }
        }
    }
}
