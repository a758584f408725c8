//! SOUNDEX: what a word sounds like, as its first letter and digits.

use super::characters::Characters;
use crate::Call;
use muster_types::{Result, Value};

/// The digit of each letter; 0 for vowels and what is like them.
const CODES: &[u8; 26] = b"01230120022455012623010202";

/// Fewest characters of a result that is not empty.
const LENGTH: usize = 4;

/// A letter that has no accent has a digit, any other character beyond ASCII is a vowel.
fn code(c: char) -> u8 {
    match c.to_ascii_uppercase() {
        letter @ 'A'..='Z' => CODES[letter as usize - 'A' as usize],
        _ => b'0',
    }
}

fn is_letter(c: char) -> bool {
    c.is_ascii_alphabetic() || !c.is_ascii() && c >= '\u{C0}'
}

pub fn soundex(_: &mut Call, args: &[Value]) -> Result<Value> {
    let text = Characters::of(args, 0);
    let characters: Vec<char> = match text.is_binary {
        true => text.bytes.iter().map(|b| *b as char).filter(char::is_ascii_alphabetic).collect(),
        false => String::from_utf8_lossy(&text.bytes).chars().filter(|c| is_letter(*c)).collect(),
    };
    let Some((first, rest)) = characters.split_first() else { return Ok(text.value(Vec::new())) };
    let mut result = first.to_ascii_uppercase().to_string();
    let mut last = code(*first);
    for c in rest {
        let digit = code(*c);
        if digit != b'0' {
            // The same sound again is not heard, also with a vowel between.
            if digit != last {
                result.push(digit as char);
            }
            last = digit;
        }
    }
    while result.chars().count() < LENGTH {
        result.push('0');
    }
    Ok(text.value(result.into_bytes()))
}
