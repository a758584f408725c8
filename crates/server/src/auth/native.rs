//! `mysql_native_password`: the server keeps SHA1(SHA1(password)), the client sends
//! SHA1(password) XOR SHA1(nonce, SHA1(SHA1(password))).

use super::Nonce;
use sha1::{Digest, Sha1};

pub const NAME: &str = "mysql_native_password";

/// `stored`: `*` and 40 hexadecimal digits; empty for an account without password.
pub fn verify(stored: &str, nonce: &Nonce, answer: &[u8]) -> bool {
    // A lone zero byte is how some clients send an empty answer.
    let answer = answer.strip_suffix(&[0]).filter(|a| a.is_empty()).unwrap_or(answer);
    if stored.is_empty() {
        return answer.is_empty();
    }
    let (Some(stage2), Ok(answer)) = (decode(stored), <[u8; 20]>::try_from(answer)) else { return false };
    let mask: [u8; 20] = Sha1::new().chain_update(nonce).chain_update(stage2).finalize().into();
    let stage1: [u8; 20] = std::array::from_fn(|i| answer[i] ^ mask[i]);
    <[u8; 20]>::from(Sha1::digest(stage1)) == stage2
}

fn decode(stored: &str) -> Option<[u8; 20]> {
    let hex = stored.strip_prefix('*').filter(|h| h.len() == 40 && h.is_ascii())?;
    let mut bytes = [0; 20];
    for (i, b) in bytes.iter_mut().enumerate() {
        *b = u8::from_str_radix(&hex[2 * i..2 * i + 2], 16).ok()?;
    }
    Some(bytes)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_client_that_knows_the_password_is_let_in() {
        let nonce = *b"abcdefghijklmnopqrst";
        let stage1: [u8; 20] = Sha1::digest(b"secret").into();
        let stage2: [u8; 20] = Sha1::digest(stage1).into();
        let stored: String = "*".to_string() + &stage2.iter().map(|b| format!("{b:02X}")).collect::<String>();
        let mask: [u8; 20] = Sha1::new().chain_update(nonce).chain_update(stage2).finalize().into();
        let answer: Vec<u8> = stage1.iter().zip(mask).map(|(a, b)| a ^ b).collect();
        assert!(verify(&stored, &nonce, &answer));
        assert!(!verify(&stored, b"abcdefghijklmnopqrsu", &answer));
        assert!(!verify(&stored, &nonce, b""));
        assert!(verify("", &nonce, b"") && verify("", &nonce, &[0]) && !verify("", &nonce, &answer));
    }
}
