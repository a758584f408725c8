//! Keys of passwords: HKDF (RFC 5869) and PBKDF2 (RFC 8018), both with HMAC (RFC 2104) of SHA-512.

use sha2::{Digest, Sha512};

/// Bytes of a block of SHA-512, and of its digest.
const BLOCK: usize = 128;
const DIGEST: usize = 64;

/// HMAC of parts one behind the other.
fn hmac(key: &[u8], parts: &[&[u8]]) -> [u8; DIGEST] {
    let mut block = [0; BLOCK];
    match key.len() {
        ..=BLOCK => block[..key.len()].copy_from_slice(key),
        _ => block[..DIGEST].copy_from_slice(&Sha512::digest(key)),
    }
    let mut inner = Sha512::new_with_prefix(block.map(|b| b ^ 0x36));
    parts.iter().for_each(|part| inner.update(part));
    let mut outer = Sha512::new_with_prefix(block.map(|b| b ^ 0x5C));
    outer.update(inner.finalize());
    outer.finalize().into()
}

/// `bytes` bytes, at most those of one digest.
pub fn hkdf(password: &[u8], salt: &[u8], info: &[u8], bytes: usize) -> Vec<u8> {
    let key = hmac(salt, &[password]);
    hmac(&key, &[info, &[1]])[..bytes.min(DIGEST)].to_vec()
}

/// `bytes` bytes, at most those of one digest.
pub fn pbkdf2(password: &[u8], salt: &[u8], iterations: u32, bytes: usize) -> Vec<u8> {
    let mut last = hmac(password, &[salt, &1u32.to_be_bytes()]);
    let mut key = last;
    for _ in 1..iterations {
        last = hmac(password, &[&last]);
        key.iter_mut().zip(last).for_each(|(a, b)| *a ^= b);
    }
    key[..bytes.min(DIGEST)].to_vec()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// RFC 4231, test cases 1 and 6.
    #[test]
    fn hmac_is_that_of_the_standard() {
        let hex = |bytes: &[u8]| bytes[..8].iter().map(|b| format!("{b:02x}")).collect::<String>();
        assert_eq!(hex(&hmac(&[0x0B; 20], &[b"Hi", b" There"])), "87aa7cdea5ef619d");
        let text = b"Test Using Larger Than Block-Size Key - Hash Key First";
        assert_eq!(hex(&hmac(&[0xAA; 131], &[text])), "80b24263c7c1a3eb");
    }
}
