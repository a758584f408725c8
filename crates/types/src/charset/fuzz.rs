//! Bytes and texts in any character set, beside what a character set is by its single characters. Called by the suite
//! with random bytes, and by `fuzz/`.

use super::{Charset, decode, encode, valid_up_to};
use crate::{
    SqlType, Value, cast,
    store::{StoredType, store},
};

/// Characters that columns of each character set hold.
const COLUMN_CHARACTERS: u32 = 8;

/// Reads the bytes in each character set, and converts the text that they are in UTF-8.
pub fn character_sets(bytes: &[u8]) {
    let text = String::from_utf8_lossy(bytes);
    for charset in Charset::all() {
        read(*charset, bytes);
        converted(*charset, &text);
        stored(*charset, &text);
    }
}

/// A text that bytes have is written so that it is read again; where each character is one byte, the text of the bytes
/// is that of each byte.
fn read(charset: Charset, bytes: &[u8]) {
    let valid = valid_up_to(charset, bytes);
    assert!(valid <= bytes.len());
    let text = decode(charset, bytes);
    assert_eq!(text.is_some(), valid == bytes.len(), "{}", charset.name());
    if charset.max_bytes() == 1 && charset != Charset::Binary {
        let singly: Option<String> = bytes.chunks(1).map(|byte| decode(charset, byte)).collect();
        assert_eq!(text.as_deref(), singly.as_deref(), "{} {bytes:02X?}", charset.name());
    }
    let text = decode(charset, &bytes[..valid]).expect("the bytes in front of the first wrong one have a text");
    assert!(charset.has_all(&text), "{} {text:?}", charset.name());
    let written = encode(charset, &text);
    assert_eq!(decode(charset, &written).as_deref(), Some(&*text), "{}", charset.name());
}

/// CONVERT .. USING: what the character set does not have is a question mark.
fn converted(charset: Charset, text: &str) {
    let singly: String = text.chars().map(|c| if charset.has(c) { c } else { '?' }).collect();
    assert_eq!(charset.kept(text), singly, "{}", charset.name());
    assert_eq!(charset.has_all(text), singly == text, "{}", charset.name());
    let encoded = encode(charset, text);
    let bytes: Vec<u8> = text.chars().flat_map(|c| encode(charset, c.encode_utf8(&mut [0; 4])).into_owned()).collect();
    assert_eq!(encoded, bytes, "{} {text:?}", charset.name());
    if charset == Charset::Binary {
        return;
    }
    let ty = SqlType::varchar(u32::MAX, charset.default_collation());
    let (value, warnings) = cast(&Value::Text(text.to_owned()), ty);
    assert_eq!((value, warnings.is_empty()), (Value::Text(singly), true), "{}", charset.name());
}

/// A column holds its characters, and no more of them than it says but for spaces at the end.
fn stored(charset: Charset, text: &str) {
    if charset == Charset::Binary {
        return;
    }
    let ty = SqlType::varchar(COLUMN_CHARACTERS, charset.default_collation());
    let outcome = store(&Value::Text(text.to_owned()), StoredType::new(ty));
    let first: String = text.chars().take(COLUMN_CHARACTERS as usize).collect();
    let fits = text[first.len()..].chars().all(|c| c == ' ');
    let kept = Value::Text(charset.kept(&first).into_owned());
    match outcome {
        Ok(value) => {
            assert!(fits && charset.has_all(&first), "{} {text:?}", charset.name());
            assert_eq!(value, kept, "{}", charset.name());
        }
        Err(unfit) => {
            assert!(!fits || !charset.has_all(&first), "{} {text:?} {unfit:?}", charset.name());
            assert_eq!(unfit.instead, Some(kept), "{} {text:?}", charset.name());
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::{collection::vec, prelude::*, test_runner::TestRunner};

    proptest! {
        #[test]
        fn any_bytes(bytes: Vec<u8>) {
            character_sets(&bytes);
        }

        #[test]
        fn any_text(text: String) {
            character_sets(text.as_bytes());
        }
    }

    /// Some minutes of random bytes and texts.
    #[test]
    #[ignore = "takes minutes"]
    fn fuzz_of_character_sets() {
        let mut runner = TestRunner::new(ProptestConfig::with_cases(200_000));
        let outcome = runner.run(&(vec(any::<u8>(), 0..40), any::<String>()), |(bytes, text)| {
            character_sets(&bytes);
            character_sets(text.as_bytes());
            Ok(())
        });
        outcome.expect("all inputs agree with the single characters");
    }
}
