//! Stored passwords: how MySQL hashes them, and how a given password is checked.
//!
//! - `caching_sha2_password`: `$A$005$` + 20 bytes of salt + 43 characters, the SHA-256 form of Ulrich Drepper's
//!   "Unix crypt using SHA-256 and SHA-512" with 5000 rounds and MySQL's longer salt.
//! - `mysql_native_password`: `*` + hex of SHA1(SHA1(password)).

use muster_types::{Result, SqlError};
use sha2::{Digest, Sha256};

pub const CACHING_SHA2: &str = "caching_sha2_password";
pub const NATIVE: &str = "mysql_native_password";

const PREFIX: &str = "$A$005$";
const SALT_BYTES: usize = 20;
/// Thousands of rounds stand in the prefix as three hex digits.
const ROUNDS: usize = 5000;
const ALPHABET: &[u8; 64] = b"./0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz";

/// The hash to store for a password; empty for an empty one.
pub fn hash(plugin: &str, password: &str) -> Result<String> {
    if password.is_empty() {
        return Ok(String::new());
    }
    match plugin {
        NATIVE => Ok(native(password)),
        CACHING_SHA2 => {
            let mut salt = [0u8; SALT_BYTES];
            getrandom::fill(&mut salt).map_err(SqlError::internal)?;
            for b in &mut salt {
                // Letters and digits only, so that the stored form is text.
                *b = ALPHABET[usize::from(*b) % 62 + 2];
            }
            let digest = sha256_crypt(password.as_bytes(), &salt, ROUNDS);
            Ok(format!("{PREFIX}{}{digest}", String::from_utf8_lossy(&salt)))
        }
        other => Err(SqlError::plugin_not_loaded(other)),
    }
}

/// Returns true if a stored hash has the plugin's form (`IDENTIFIED WITH .. AS '..'`).
pub fn is_well_formed(plugin: &str, stored: &str) -> bool {
    match plugin {
        NATIVE => stored.strip_prefix('*').is_some_and(|h| h.len() == 40 && h.bytes().all(|b| b.is_ascii_hexdigit())),
        CACHING_SHA2 => stored.len() == PREFIX.len() + SALT_BYTES + 43 && stored.starts_with(PREFIX),
        _ => false,
    }
}

/// Returns true if this is the password behind a stored hash; an empty hash takes only an empty password.
pub fn verify(plugin: &str, stored: &str, password: &str) -> bool {
    if stored.is_empty() || password.is_empty() {
        return stored.is_empty() && password.is_empty();
    }
    match plugin {
        NATIVE => same(native(password).as_bytes(), stored.as_bytes()),
        CACHING_SHA2 => {
            let Some(rest) = stored.as_bytes().strip_prefix(PREFIX.as_bytes()) else { return false };
            let Some((salt, digest)) = rest.split_at_checked(SALT_BYTES) else { return false };
            same(sha256_crypt(password.as_bytes(), salt, ROUNDS).as_bytes(), digest)
        }
        _ => false,
    }
}

/// Compares without telling by its time where the first difference is.
fn same(a: &[u8], b: &[u8]) -> bool {
    a.len() == b.len() && a.iter().zip(b).fold(0, |d, (x, y)| d | (x ^ y)) == 0
}

fn native(password: &str) -> String {
    use sha1::Sha1;
    let twice = Sha1::digest(Sha1::digest(password.as_bytes()));
    twice.iter().fold(String::from("*"), |text, b| format!("{text}{b:02X}"))
}

/// SHA-crypt over SHA-256; the digest in crypt's base 64. Step numbers are those of the specification.
fn sha256_crypt(password: &[u8], salt: &[u8], rounds: usize) -> String {
    // 4-8
    let b = Sha256::new().chain_update(password).chain_update(salt).chain_update(password).finalize();
    // 1-3, 9-12
    let mut a = Sha256::new().chain_update(password).chain_update(salt);
    a.update(repeated(&b, password.len()));
    let mut bits = password.len();
    while bits > 0 {
        if bits & 1 == 1 {
            a.update(b)
        } else {
            a.update(password)
        }
        bits >>= 1;
    }
    let mut digest = a.finalize();
    // 13-16: one copy of the password for each of its bytes
    let mut dp = Sha256::new();
    password.iter().for_each(|_| dp.update(password));
    let p = repeated(&dp.finalize(), password.len());
    // 17-20
    let mut ds = Sha256::new();
    (0..16 + usize::from(digest[0])).for_each(|_| ds.update(salt));
    let s = repeated(&ds.finalize(), salt.len());
    // 21
    for round in 0..rounds {
        let mut c = Sha256::new();
        if round % 2 == 1 {
            c.update(&p)
        } else {
            c.update(digest)
        }
        if round % 3 != 0 {
            c.update(&s);
        }
        if round % 7 != 0 {
            c.update(&p);
        }
        if round % 2 == 1 {
            c.update(digest)
        } else {
            c.update(&p)
        }
        digest = c.finalize();
    }
    // 22: three bytes at a time, in the order the specification gives
    let mut text = String::with_capacity(43);
    let mut emit = |b2: u8, b1: u8, b0: u8, count: usize| {
        let mut word = u32::from(b2) << 16 | u32::from(b1) << 8 | u32::from(b0);
        for _ in 0..count {
            text.push(ALPHABET[(word & 0x3f) as usize] as char);
            word >>= 6;
        }
    };
    let (mut x, mut y, mut z) = (0, 10, 20);
    for _ in 0..10 {
        emit(digest[x], digest[y], digest[z], 4);
        (x, y, z) = (z + 1, x + 1, y + 1);
    }
    emit(0, digest[31], digest[30], 3);
    text
}

fn repeated(block: &[u8], length: usize) -> Vec<u8> {
    block.iter().copied().cycle().take(length).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_specifications_vectors() {
        let got = sha256_crypt(b"Hello world!", b"saltstring", 5000);
        assert_eq!(got, "5B8vYYiY.CVt1RlTTf8KbXBH3hsxY/GNooZaBBGWEc5");
    }

    #[test]
    fn mysqls_forms() {
        // The example hash that hashcat publishes for its mode 7401.
        let salt: Vec<u8> = (0..20)
            .map(|i| u8::from_str_radix(&"F9CC98CE08892924F50A213B6BC571A2C11778C5"[2 * i..2 * i + 2], 16).unwrap())
            .collect();
        assert_eq!(sha256_crypt(b"hashcat", &salt, 5000), "bTy95Y99eAME1dwEkHOA1ndHGBWz.1bxSSRkuTXFGV/");
        // The manual's example of PASSWORD('mypass').
        assert_eq!(native("mypass"), "*6C8989366EAF75BB670AD8EA7A7FC1176A95CEF4");
    }

    #[test]
    fn what_was_hashed_verifies() {
        for plugin in [CACHING_SHA2, NATIVE] {
            for password in ["x", "pässword", &"long".repeat(60)] {
                let stored = hash(plugin, password).unwrap();
                assert!(is_well_formed(plugin, &stored), "{stored}");
                assert!(verify(plugin, &stored, password));
                assert!(!verify(plugin, &stored, "other"));
                assert!(!verify(plugin, &stored, ""));
            }
            assert!(verify(plugin, "", ""));
            assert!(!verify(plugin, "", "x"));
        }
    }
}
