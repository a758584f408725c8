//! Bytes in any character set; the worst outcome is that they have no text. Called by the suite with random bytes, and
//! by `fuzz/`.

use super::{Charset, decode, encode, valid_up_to};

/// Reads the bytes in each character set. A text that they have is written so that it is read again.
pub fn character_sets(bytes: &[u8]) {
    for charset in Charset::all() {
        let valid = valid_up_to(*charset, bytes);
        assert!(valid <= bytes.len());
        assert_eq!(decode(*charset, bytes).is_some(), valid == bytes.len(), "{}", charset.name());
        let text = decode(*charset, &bytes[..valid]).expect("the bytes in front of the first wrong one have a text");
        let written = encode(*charset, &text);
        assert_eq!(decode(*charset, &written).as_deref(), Some(&*text), "{}", charset.name());
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

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
}
