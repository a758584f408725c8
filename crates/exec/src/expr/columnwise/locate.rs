//! LOCATE, INSTR and POSITION of a constant text.

use super::{
    CallShape, ColumnFunction,
    operand::{constant_int, constant_text},
};
use arrow_array::{Array, Int64Array};
use muster_eval::text::{locate, locate_where};
use muster_types::{Collation, SqlType};
use std::sync::Arc;

/// The place of a constant text in a column, from its beginning or a constant position.
pub(super) fn of(call: &CallShape) -> Option<ColumnFunction> {
    let needle = constant_text(call.constants.first())?;
    let SqlType::Text { collation, .. } = *call.types.get(1)? else { return None };
    let from = match call.constants.get(2) {
        None => 1,
        from => constant_int(from)?,
    };
    if call.result != SqlType::BIGINT {
        return None;
    }
    let is_plain_needle = collation.ascii_folds_case() && is_plain(&needle) && from == 1;
    let key = (from == 1 && collation.cuts_keys_with_texts()).then(|| collation.sort_key(&needle));
    // A text of no weight, such as an empty one, can stand before any character.
    let key = key.filter(|key| !key.is_empty());
    Some(Box::new(move |args, _| {
        let texts = args[1].texts()?;
        let mut first = key.as_ref().map(|key| FirstCharacters::new(collation, key));
        let mut position = |text: &str| match (is_plain_needle && is_plain(text), &mut first) {
            (true, _) => find_ignoring_case(text.as_bytes(), needle.as_bytes()),
            (_, Some(first)) => locate_where(needle.as_bytes(), text, from, collation, |c| first.can_be(c)),
            _ => locate(needle.as_bytes(), text, from, collation),
        };
        let positions = texts.iter().map(|text| text.map_or(0, &mut position)).collect();
        Some(Arc::new(Int64Array::new(positions, texts.nulls().cloned())))
    }))
}

/// Which characters a text that is equal to another one can begin with, where the sort key of a text begins with that
/// of its first character.
struct FirstCharacters<'a> {
    collation: Collation,
    /// The sort key of the other text.
    key: &'a [u8],
    /// Characters that were asked for, each in the place of its lowest bits.
    known: Vec<Option<(char, bool)>>,
}

impl FirstCharacters<'_> {
    const PLACES: usize = 1 << 10;

    fn new(collation: Collation, key: &[u8]) -> FirstCharacters<'_> {
        FirstCharacters { collation, key, known: vec![None; Self::PLACES] }
    }

    fn can_be(&mut self, c: char) -> bool {
        let place = c as usize % Self::PLACES;
        match self.known[place] {
            Some((known, can)) if known == c => can,
            _ => {
                let can = self.key.starts_with(&self.collation.sort_key(c.encode_utf8(&mut [0; 4])));
                self.known[place] = Some((c, can));
                can
            }
        }
    }
}

/// ASCII without control characters, which some collations ignore: such characters weigh the same only in the two cases
/// of one letter.
fn is_plain(text: &str) -> bool {
    text.as_bytes().iter().all(|byte| (0x20..0x7F).contains(byte))
}

/// Position of the needle, from 1, under letters of both cases; 0 if it is not there.
fn find_ignoring_case(text: &[u8], needle: &[u8]) -> i64 {
    let Some(first) = needle.first() else { return 1 };
    let (lower, upper) = (first.to_ascii_lowercase(), first.to_ascii_uppercase());
    let Some(last) = text.len().checked_sub(needle.len()) else { return 0 };
    let begins = |at: usize| {
        let byte = text[at];
        (byte == lower || byte == upper) && text[at..at + needle.len()].eq_ignore_ascii_case(needle)
    };
    (0..=last).find(|at| begins(*at)).map_or(0, |at| at as i64 + 1)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn plain_texts_are_found_where_the_collation_finds_them() {
        for text in ["", "a", "The quick brown FOX", "fofox", "xx fo", "@[`{"] {
            for needle in ["", "fox", "FOX", "o", "quick brown fox jumps", "`", "@"] {
                let want = locate(needle.as_bytes(), text, 1, Collation::DEFAULT);
                assert_eq!(find_ignoring_case(text.as_bytes(), needle.as_bytes()), want, "{needle} in {text}");
            }
        }
    }
}
