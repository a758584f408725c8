//! Logging in: the exchange of each authentication plugin.

pub mod caching_sha2;
pub mod native;

use crate::{ConnectionError, packet::PacketStream};
use muster_engine::{Database, accounts::Account};
use mysql_common::{
    packets::{AuthPlugin, AuthSwitchRequest},
    proto::MySerialize,
};

/// Random bytes of a challenge, none of them zero.
pub const NONCE_BYTES: usize = 20;
pub type Nonce = [u8; NONCE_BYTES];

/// A fresh challenge. Fails only when the system has no randomness.
pub fn nonce() -> Result<Nonce, ConnectionError> {
    let mut nonce = [0; NONCE_BYTES];
    getrandom::fill(&mut nonce).map_err(|e| ConnectionError::Io(std::io::Error::other(e.to_string())))?;
    // Printable: clients take the challenge as a string.
    nonce.iter_mut().for_each(|b| *b = b'!' + *b % 94);
    Ok(nonce)
}

/// The client's proof of its identity.
pub struct Proof<'a> {
    pub user: &'a str,
    pub host: &'a str,
    /// The plugin it used, and its answer to `nonce`.
    pub plugin: &'a str,
    pub answer: &'a [u8],
    pub nonce: Nonce,
}

/// Finishes a login. True when the client has proved to be the user; an unknown user goes through the same exchange.
pub async fn check(
    packets: &mut PacketStream,
    database: &Database,
    keys: &caching_sha2::Keys,
    proof: Proof<'_>,
) -> Result<bool, ConnectionError> {
    let account = database.authentication(proof.user, proof.host);
    let known = account.is_some();
    let account = account.unwrap_or_else(|| Account {
        user: proof.user.to_string(),
        host: proof.host.to_string(),
        plugin: caching_sha2::NAME.to_string(),
        authentication_string: String::new(),
    });
    let (mut answer, mut nonce) = (proof.answer.to_vec(), proof.nonce);
    if account.plugin != proof.plugin {
        nonce = self::nonce()?;
        let plugin = AuthPlugin::from_bytes(account.plugin.as_bytes());
        let mut payload = Vec::new();
        AuthSwitchRequest::new(plugin.as_bytes(), [&nonce[..], &[0]].concat()).serialize(&mut payload);
        packets.write(&payload).await?;
        packets.flush().await?;
        answer = packets.read().await?;
    }
    let proved = match account.plugin.as_str() {
        native::NAME => native::verify(&account.authentication_string, &nonce, &answer),
        _ => caching_sha2::verify(packets, keys, &account, &nonce, &answer).await?,
    };
    Ok(known && proved)
}
