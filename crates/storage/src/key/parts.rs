//! The ends of the parts of a key in its bytes.

use super::{KeyCodec, KeyPartCodec};

impl KeyPartCodec {
    /// Bytes of the part that `key` begins with; `None` if it does not end within `key`.
    pub fn len_in(&self, key: &[u8]) -> Option<usize> {
        let flip = if self.descending { 0xFF } else { 0 };
        let mut at = 0;
        if self.nullable {
            at = 1;
            if *key.first()? == flip {
                return Some(at);
            }
        }
        if let Some(width) = self.kind.fixed_width() {
            return (key.len() >= at + width).then_some(at + width);
        }
        loop {
            at += key[at..].iter().position(|b| *b == flip)?;
            if *key.get(at + 1)? == flip {
                return Some(at + 2);
            }
            at += 2;
        }
    }
}

impl KeyCodec {
    /// How many parts `key` has, if it ends where a part does.
    pub fn whole_parts(&self, key: &[u8]) -> Option<usize> {
        let (mut at, mut parts) = (0, 0);
        while at < key.len() {
            at += self.parts.get(parts)?.len_in(&key[at..])?;
            parts += 1;
        }
        Some(parts)
    }
}
