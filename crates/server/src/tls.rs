//! TLS: a self-signed certificate, made at first start and kept in the data directory.

use muster_types::{ErrorCode, Result, SqlError};
use std::{fs, io::Write, os::unix::fs::OpenOptionsExt, path::Path, sync::Arc};
use tokio_rustls::{
    TlsAcceptor,
    rustls::{
        ServerConfig,
        crypto::ring,
        pki_types::{CertificateDer, PrivateKeyDer, PrivatePkcs8KeyDer},
    },
};

const CERTIFICATE: &str = "server-cert.der";
const KEY: &str = "server-key.der";

/// The acceptor for a data directory; makes key and certificate when they are not there.
pub fn acceptor(directory: &Path) -> Result<TlsAcceptor> {
    let failed = |what: &str, e: &dyn std::fmt::Display| {
        SqlError::new(ErrorCode::Unknown, format!("{}: TLS {what}: {e}", directory.display()))
    };
    let (certificate, key) = (directory.join(CERTIFICATE), directory.join(KEY));
    if !certificate.exists() || !key.exists() {
        let made = rcgen::generate_simple_self_signed(vec!["localhost".to_string(), "127.0.0.1".to_string()])
            .map_err(|e| failed("certificate", &e))?;
        write_private(&key, &made.signing_key.serialize_der()).map_err(|e| failed("key", &e))?;
        fs::write(&certificate, made.cert.der()).map_err(|e| failed("certificate", &e))?;
    }
    let chain = vec![CertificateDer::from(fs::read(&certificate).map_err(|e| failed("certificate", &e))?)];
    let key = PrivateKeyDer::Pkcs8(PrivatePkcs8KeyDer::from(fs::read(&key).map_err(|e| failed("key", &e))?));
    let config = ServerConfig::builder_with_provider(Arc::new(ring::default_provider()))
        .with_safe_default_protocol_versions()
        .and_then(|builder| builder.with_no_client_auth().with_single_cert(chain, key))
        .map_err(|e| failed("certificate", &e))?;
    Ok(TlsAcceptor::from(Arc::new(config)))
}

/// Readable by the owner only, from the first byte on.
fn write_private(path: &Path, bytes: &[u8]) -> std::io::Result<()> {
    let mut file = fs::OpenOptions::new().write(true).create(true).truncate(true).mode(0o600).open(path)?;
    file.write_all(bytes)?;
    file.sync_all()
}
