//! `caching_sha2_password` (MySQL manual 8.4.1.2): the account keeps a salted hash that only the password itself can be
//! checked against. The first login sends the password, under TLS or RSA; later ones prove that they know it by
//! XOR(SHA256(password), SHA256(SHA256(SHA256(password)), nonce)), checked against a digest kept in memory.

use super::Nonce;
use crate::{ConnectionError, packet::PacketStream};
use muster_engine::accounts::{Account, password};
use mysql_common::{packets::AuthMoreData, proto::MySerialize};
use parking_lot::Mutex;
use rsa::{Oaep, RsaPrivateKey, pkcs8::EncodePublicKey, pkcs8::LineEnding};
use sha2::{Digest, Sha256};
use std::{
    collections::HashMap,
    sync::{Arc, OnceLock},
};

pub const NAME: &str = "caching_sha2_password";

const FAST_AUTH_OK: u8 = 3;
const FULL_AUTH: u8 = 4;
const PUBLIC_KEY_REQUEST: u8 = 2;
const RSA_BITS: usize = 2048;
/// Digests kept; beyond it all are forgotten, which costs one full exchange each.
const CACHE_MAX: usize = 10_000;

/// SHA256(SHA256(password)) of users that have logged in, valid for the hash that was stored then; and the RSA key of
/// this server, made when a client first asks.
#[derive(Default)]
pub struct Keys {
    digests: Mutex<HashMap<(String, String), (String, [u8; 32])>>,
    rsa: OnceLock<Option<Arc<RsaPrivateKey>>>,
}

impl Keys {
    fn digest(&self, account: &Account) -> Option<[u8; 32]> {
        let digests = self.digests.lock();
        let (stored, digest) = digests.get(&(account.user.clone(), account.host.clone()))?;
        (*stored == account.authentication_string).then_some(*digest)
    }

    fn remember(&self, account: &Account, password: &[u8]) {
        let mut digests = self.digests.lock();
        if digests.len() >= CACHE_MAX {
            digests.clear();
        }
        let digest = Sha256::digest(Sha256::digest(password)).into();
        let key = (account.user.clone(), account.host.clone());
        digests.insert(key, (account.authentication_string.clone(), digest));
    }

    /// The key, made on first use in a blocking thread (it takes a good part of a second).
    async fn rsa(self: &Keys) -> Option<Arc<RsaPrivateKey>> {
        if let Some(key) = self.rsa.get() {
            return key.clone();
        }
        let made = tokio::task::spawn_blocking(|| RsaPrivateKey::new(&mut rsa::rand_core::OsRng, RSA_BITS).ok()).await;
        self.rsa.get_or_init(|| made.ok().flatten().map(Arc::new)).clone()
    }
}

/// The plugin's exchange after the client's first answer.
pub async fn verify(
    packets: &mut PacketStream,
    keys: &Keys,
    account: &Account,
    nonce: &Nonce,
    answer: &[u8],
) -> Result<bool, ConnectionError> {
    // A lone zero byte is how some clients send an empty answer.
    let answer = if answer == [0] { &[][..] } else { answer };
    if answer.is_empty() {
        return Ok(account.authentication_string.is_empty());
    }
    if let Some(digest) = keys.digest(account)
        && fast_proof_holds(&digest, nonce, answer)
    {
        more_data(packets, &[FAST_AUTH_OK]).await?;
        return Ok(true);
    }
    // A wrong password goes the whole way too: the client cannot tell why.
    more_data(packets, &[FULL_AUTH]).await?;
    packets.flush().await?;
    let Some(password) = read_password(packets, keys, nonce).await? else { return Ok(false) };
    let stored = account.authentication_string.clone();
    let text = String::from_utf8_lossy(&password).into_owned();
    // 5,000 rounds of hashing are too long for an I/O thread.
    let right = tokio::task::spawn_blocking(move || !stored.is_empty() && password::verify(NAME, &stored, &text)).await;
    let right = right.unwrap_or(false);
    if right {
        keys.remember(account, &password);
    }
    Ok(right)
}

fn fast_proof_holds(digest: &[u8; 32], nonce: &Nonce, answer: &[u8]) -> bool {
    let Ok(answer) = <[u8; 32]>::try_from(answer) else { return false };
    let mask: [u8; 32] = Sha256::new().chain_update(digest).chain_update(nonce).finalize().into();
    let stage1: [u8; 32] = std::array::from_fn(|i| answer[i] ^ mask[i]);
    <[u8; 32]>::from(Sha256::digest(stage1)) == *digest
}

async fn more_data(packets: &mut PacketStream, data: &[u8]) -> Result<(), ConnectionError> {
    let mut payload = Vec::new();
    AuthMoreData::new(data).serialize(&mut payload);
    packets.write(&payload).await
}

/// The password in the clear under TLS, else encrypted with this server's RSA key. `None` when it cannot be read.
async fn read_password(
    packets: &mut PacketStream,
    keys: &Keys,
    nonce: &Nonce,
) -> Result<Option<Vec<u8>>, ConnectionError> {
    let mut answer = packets.read().await?;
    if !packets.is_secure() {
        let Some(key) = keys.rsa().await else { return Ok(None) };
        if answer == [PUBLIC_KEY_REQUEST] {
            let Ok(pem) = key.to_public_key().to_public_key_pem(LineEnding::LF) else { return Ok(None) };
            more_data(packets, pem.as_bytes()).await?;
            packets.flush().await?;
            answer = packets.read().await?;
        }
        let Ok(masked) = key.decrypt(Oaep::new::<sha1::Sha1>(), &answer) else { return Ok(None) };
        answer = masked.iter().zip(nonce.iter().cycle()).map(|(a, b)| a ^ b).collect();
    }
    Ok(answer.strip_suffix(&[0]).map(<[u8]>::to_vec))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn fast_proof() {
        let nonce = *b"abcdefghijklmnopqrst";
        let stage1: [u8; 32] = Sha256::digest(b"secret").into();
        let digest: [u8; 32] = Sha256::digest(stage1).into();
        let mask: [u8; 32] = Sha256::new().chain_update(digest).chain_update(nonce).finalize().into();
        let answer: Vec<u8> = stage1.iter().zip(mask).map(|(a, b)| a ^ b).collect();
        assert!(fast_proof_holds(&digest, &nonce, &answer));
        assert!(!fast_proof_holds(&digest, b"abcdefghijklmnopqrsu", &answer));
        assert!(!fast_proof_holds(&digest, &nonce, &answer[1..]));
    }
}
