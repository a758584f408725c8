//! The modes of `block_encryption_mode`, over the block cipher (NIST SP 800-38A).

use aes::{
    Aes128, Aes192, Aes256,
    cipher::{BlockCipherDecrypt, BlockCipherEncrypt, KeyInit},
};

/// Bytes of a block, whatever the key.
pub const BLOCK_BYTES: usize = 16;

type Block = [u8; BLOCK_BYTES];

/// How blocks are chained.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Chaining {
    Ecb,
    Cbc,
    /// Feedback of so many bits: 1, 8 or 128.
    Cfb(u8),
    Ofb,
}

/// A value of `block_encryption_mode`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct BlockMode {
    key_bits: u16,
    chaining: Chaining,
}

/// The block cipher with a key of one of the three lengths.
enum Cipher {
    Of128(Box<Aes128>),
    Of192(Box<Aes192>),
    Of256(Box<Aes256>),
}

impl Cipher {
    fn new(key: &[u8]) -> Option<Cipher> {
        Some(match key.len() {
            16 => Cipher::Of128(Box::new(Aes128::new_from_slice(key).ok()?)),
            24 => Cipher::Of192(Box::new(Aes192::new_from_slice(key).ok()?)),
            _ => Cipher::Of256(Box::new(Aes256::new_from_slice(key).ok()?)),
        })
    }

    fn encrypt(&self, block: Block) -> Block {
        let mut block = block.into();
        match self {
            Cipher::Of128(cipher) => cipher.encrypt_block(&mut block),
            Cipher::Of192(cipher) => cipher.encrypt_block(&mut block),
            Cipher::Of256(cipher) => cipher.encrypt_block(&mut block),
        }
        block.into()
    }

    fn decrypt(&self, block: Block) -> Block {
        let mut block = block.into();
        match self {
            Cipher::Of128(cipher) => cipher.decrypt_block(&mut block),
            Cipher::Of192(cipher) => cipher.decrypt_block(&mut block),
            Cipher::Of256(cipher) => cipher.decrypt_block(&mut block),
        }
        block.into()
    }
}

fn xor(a: Block, b: &[u8]) -> Block {
    let mut result = a;
    result.iter_mut().zip(b).for_each(|(x, y)| *x ^= y);
    result
}

impl BlockMode {
    /// The mode by the name that the variable has, in any case: `aes-128-ecb`.
    pub fn from_name(name: &str) -> Option<BlockMode> {
        let name = name.to_ascii_lowercase();
        let (key_bits, chaining) = name.strip_prefix("aes-")?.split_once('-')?;
        let key_bits = match key_bits {
            "128" => 128,
            "192" => 192,
            "256" => 256,
            _ => return None,
        };
        let chaining = match chaining {
            "ecb" => Chaining::Ecb,
            "cbc" => Chaining::Cbc,
            "cfb1" => Chaining::Cfb(1),
            "cfb8" => Chaining::Cfb(8),
            "cfb128" => Chaining::Cfb(128),
            "ofb" => Chaining::Ofb,
            _ => return None,
        };
        Some(BlockMode { key_bits, chaining })
    }

    pub fn key_bytes(self) -> usize {
        usize::from(self.key_bits) / 8
    }

    pub fn needs_initial_vector(self) -> bool {
        self.chaining != Chaining::Ecb
    }

    /// Encrypts; the text is padded to whole blocks (PKCS #7) if the mode works by blocks. `key` has
    /// [`Self::key_bytes`].
    pub fn encrypt(self, key: &[u8], initial_vector: Block, text: &[u8]) -> Option<Vec<u8>> {
        let cipher = Cipher::new(key)?;
        let (Chaining::Ecb | Chaining::Cbc) = self.chaining else {
            return Some(self.stream(&cipher, initial_vector, text, true));
        };
        let padding = BLOCK_BYTES - text.len() % BLOCK_BYTES;
        let mut out = text.to_vec();
        out.resize(text.len() + padding, padding as u8);
        let mut before = initial_vector;
        for block in out.as_chunks_mut::<BLOCK_BYTES>().0 {
            let chained = if self.chaining == Chaining::Cbc { xor(*block, &before) } else { *block };
            *block = cipher.encrypt(chained);
            before = *block;
        }
        Some(out)
    }

    /// Decrypts; `None` if the padding shows that the text was not encrypted with this key.
    pub fn decrypt(self, key: &[u8], initial_vector: Block, text: &[u8]) -> Option<Vec<u8>> {
        let cipher = Cipher::new(key)?;
        let (Chaining::Ecb | Chaining::Cbc) = self.chaining else {
            return Some(self.stream(&cipher, initial_vector, text, false));
        };
        if text.is_empty() || !text.len().is_multiple_of(BLOCK_BYTES) {
            return None;
        }
        let mut out = text.to_vec();
        let mut before = initial_vector;
        for block in out.as_chunks_mut::<BLOCK_BYTES>().0 {
            let encrypted = *block;
            let chained = cipher.decrypt(encrypted);
            *block = if self.chaining == Chaining::Cbc { xor(chained, &before) } else { chained };
            before = encrypted;
        }
        let padding = usize::from(*out.last()?);
        let text = out.len().checked_sub(padding)?;
        let is_padding = (1..=BLOCK_BYTES).contains(&padding) && out[text..].iter().all(|b| usize::from(*b) == padding);
        out.truncate(text);
        is_padding.then_some(out)
    }

    /// The modes that need no padding: the text is combined with what the cipher makes of what came before.
    fn stream(self, cipher: &Cipher, initial_vector: Block, text: &[u8], encrypts: bool) -> Vec<u8> {
        let mut register = initial_vector;
        let mut out = Vec::with_capacity(text.len());
        match self.chaining {
            Chaining::Cfb(1) => {
                for byte in text {
                    out.push(bits(cipher, &mut register, *byte, encrypts));
                }
            }
            Chaining::Cfb(8) => {
                for byte in text {
                    let result = byte ^ cipher.encrypt(register)[0];
                    register.rotate_left(1);
                    register[BLOCK_BYTES - 1] = if encrypts { result } else { *byte };
                    out.push(result);
                }
            }
            chaining => {
                for part in text.chunks(BLOCK_BYTES) {
                    let key_stream = cipher.encrypt(register);
                    let result = &xor(key_stream, part)[..part.len()];
                    out.extend_from_slice(result);
                    let fed_back: &[u8] = match (chaining, encrypts) {
                        (Chaining::Ofb, _) => &key_stream,
                        (_, true) => result,
                        (_, false) => part,
                    };
                    register[..fed_back.len()].copy_from_slice(fed_back);
                }
            }
        }
        out
    }
}

/// One byte of the mode with a feedback of one bit.
fn bits(cipher: &Cipher, register: &mut Block, byte: u8, encrypts: bool) -> u8 {
    let mut result = 0;
    for bit in (0..8).rev() {
        let given = byte >> bit & 1;
        let made = given ^ cipher.encrypt(*register)[0] >> 7;
        let fed_back = if encrypts { made } else { given };
        *register = (u128::from_be_bytes(*register) << 1 | u128::from(fed_back)).to_be_bytes();
        result |= made << bit;
    }
    result
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A key of 128 bits as MySQL folds `key` into it.
    const KEY: [u8; 16] = *b"key\0\0\0\0\0\0\0\0\0\0\0\0\0";

    #[test]
    fn every_mode_leads_back() {
        for chaining in ["ecb", "cbc", "cfb1", "cfb8", "cfb128", "ofb"] {
            for bits in ["128", "192", "256"] {
                let mode = BlockMode::from_name(&format!("AES-{bits}-{chaining}")).unwrap();
                let key = &b"0123456789abcdef0123456789ABCDEF"[..mode.key_bytes()];
                for length in [0, 1, 15, 16, 17, 48, 100] {
                    let text: Vec<u8> = (0..length).collect();
                    let encrypted = mode.encrypt(key, *b"0123456789abcdef", &text).unwrap();
                    assert_eq!(mode.decrypt(key, *b"0123456789abcdef", &encrypted), Some(text), "{mode:?} {length}");
                }
            }
        }
        assert_eq!(BlockMode::from_name("aes-512-ecb"), None);
    }

    #[test]
    fn results_are_those_of_mysql() {
        for (mode, want) in [("aes-128-ecb", "15E36637363712FC2E699B9C95B75393"), ("aes-128-cfb8", "34A65A63")] {
            let mode = BlockMode::from_name(mode).unwrap();
            let encrypted = mode.encrypt(&KEY, *b"0123456789abcdef", b"text").unwrap();
            assert_eq!(encrypted.iter().map(|b| format!("{b:02X}")).collect::<String>(), want);
        }
    }
}
