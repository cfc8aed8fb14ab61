//! The gateway's certificate, and what is agreed on with clients. Bytes are encrypted elsewhere.

use std::sync::Arc;

use rustls::ServerConfig;
use rustls::pki_types::pem::PemObject;
use rustls::pki_types::{CertificateDer, PrivateKeyDer};
use tokio_rustls::TlsAcceptor;

use crate::settings::Tls;

/// Reads the certificate and its key.
///
/// # Errors
/// A sentence with the file.
pub(crate) fn acceptor(tls: &Tls) -> Result<TlsAcceptor, String> {
    let unreadable = |error| format!("{} holds no certificates in PEM: {error}", tls.certificate);
    let chain = CertificateDer::pem_file_iter(&tls.certificate).map_err(unreadable)?;
    let chain: Vec<_> = chain.collect::<Result<_, _>>().map_err(unreadable)?;
    if chain.is_empty() {
        return Err(format!("{} holds no certificates in PEM: there is none in it", tls.certificate));
    }
    let key = PrivateKeyDer::from_pem_file(&tls.key);
    let key = key.map_err(|error| format!("{} holds no private key in PEM: {error}", tls.key))?;
    let provider = Arc::new(rustls::crypto::ring::default_provider());
    let config = ServerConfig::builder_with_provider(provider).with_safe_default_protocol_versions();
    let config = config.map_err(|error| error.to_string())?.with_no_client_auth();
    let config = config.with_single_cert(chain, key);
    let mut config =
        config.map_err(|error| format!("{} and {} do not go together: {error}", tls.certificate, tls.key))?;
    config.alpn_protocols = vec![b"h2".to_vec(), b"http/1.1".to_vec()];
    // A request that is replayed would be charged twice.
    config.max_early_data_size = 0;
    Ok(TlsAcceptor::from(Arc::new(config)))
}
