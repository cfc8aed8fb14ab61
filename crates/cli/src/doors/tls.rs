//! The certificate of a listener, which can be replaced while it serves, and its TLS settings.

use std::fmt;
use std::sync::{Arc, Mutex, PoisonError};

use arc_swap::ArcSwap;
use rustls::pki_types::pem::PemObject;
use rustls::pki_types::{CertificateDer, PrivateKeyDer};
use rustls::server::WebPkiClientVerifier;
use rustls::{RootCertStore, ServerConfig};
use tokio_rustls::TlsAcceptor;

use crate::files;
use crate::reload::FileHashes;
use crate::settings::Tls;

/// The largest file with certificates or a key. A larger one is refused.
const FILE_BYTES_MAX: usize = 1 << 20;

/// The certificate in force. Handshakes use the one that is in force when they begin; connections keep theirs.
pub struct Certificate {
    files: Tls,
    loaded: Mutex<CertifiedKeyPair>,
    config: ArcSwap<ServerConfig>,
}

/// A chain of certificates and its key.
#[derive(PartialEq, Eq)]
struct CertifiedKeyPair {
    chain: Vec<CertificateDer<'static>>,
    key: PrivateKeyDer<'static>,
    /// The authorities of clients' certificates. Empty: clients show none.
    authorities: Vec<CertificateDer<'static>>,
}

impl Certificate {
    /// Reads the certificate and its key, and notes what was read.
    ///
    /// # Errors
    /// A sentence with the file.
    pub(crate) fn load(files: &Tls, seen: &mut FileHashes) -> Result<Self, String> {
        if !files::is_there(&files.key) {
            // It may be the key itself, by mistake: so it is not repeated.
            let setting = files.key_setting;
            return Err(format!(
                "`{setting}` names a file that does not exist: set it to the file with the key"
            ));
        }
        let pair = CertifiedKeyPair::read(files, seen)?;
        let config = ArcSwap::from_pointee(pair.config(files)?);
        Ok(Self { files: files.clone(), loaded: Mutex::new(pair), config })
    }

    /// Reads the files again. Says whether they hold another certificate or key, which is then in force.
    ///
    /// # Errors
    /// A sentence with the file. What was in force stays in force.
    pub(crate) fn reload(&self, seen: &mut FileHashes) -> Result<bool, String> {
        let pair = CertifiedKeyPair::read(&self.files, seen)?;
        let mut loaded = self.loaded.lock().unwrap_or_else(PoisonError::into_inner);
        // A new configuration forgets the sessions that clients could resume, so an old one stays while it can.
        if pair == *loaded {
            return Ok(false);
        }
        self.config.store(Arc::new(pair.config(&self.files)?));
        *loaded = pair;
        Ok(true)
    }

    /// For the next handshake.
    pub(crate) fn acceptor(&self) -> TlsAcceptor {
        TlsAcceptor::from(self.config.load_full())
    }
}

impl CertifiedKeyPair {
    fn read(files: &Tls, seen: &mut FileHashes) -> Result<Self, String> {
        // Both are noted, also if one is wrong: either may be what is mended.
        let (certificate, key) = (read(&files.certificate, seen), read(&files.key, seen));
        let client_ca = files.client_ca.as_ref().map(|file| (file, read(file, seen)));
        seen.look_at_the_unread();
        let (chain, key) = (certificates(&files.certificate, &certificate?)?, key?);
        let authorities = match client_ca {
            Some((file, authorities)) => certificates(file, &authorities?)?,
            None => Vec::new(),
        };
        let key = PrivateKeyDer::from_pem_slice(&key);
        let key = key.map_err(|error| format!("{} has no PEM private key: {error}", files.key))?;
        Ok(Self { chain, key, authorities })
    }

    fn config(&self, files: &Tls) -> Result<ServerConfig, String> {
        let provider = Arc::new(rustls::crypto::ring::default_provider());
        let config =
            ServerConfig::builder_with_provider(Arc::clone(&provider)).with_safe_default_protocol_versions();
        let config = config.map_err(|error| error.to_string())?;
        let config = match &files.client_ca {
            None => config.with_no_client_auth(),
            Some(file) => {
                let unusable = |error: String| format!("{file} has no usable CA certificates: {error}");
                let mut roots = RootCertStore::empty();
                for authority in &self.authorities {
                    roots.add(authority.clone()).map_err(|error| unusable(error.to_string()))?;
                }
                let verifier = WebPkiClientVerifier::builder_with_provider(roots.into(), provider);
                let verifier = verifier.build().map_err(|error| unusable(error.to_string()))?;
                config.with_client_cert_verifier(verifier)
            }
        };
        let config = config.with_single_cert(self.chain.clone(), self.key.clone_key());
        let apart = |error| format!("{} and {} do not match: {error}", files.certificate, files.key);
        let mut config = config.map_err(apart)?;
        config.alpn_protocols = vec![b"h2".to_vec(), b"http/1.1".to_vec()];
        // A request that is replayed would be charged twice.
        config.max_early_data_size = 0;
        Ok(config)
    }
}

/// The certificates of a file, at least one.
fn certificates(file: &str, bytes: &[u8]) -> Result<Vec<CertificateDer<'static>>, String> {
    let chain = CertificateDer::pem_slice_iter(bytes).collect::<Result<Vec<_>, _>>();
    let chain = chain.map_err(|error| format!("{file} has no PEM certificates: {error}"))?;
    if chain.is_empty() {
        return Err(format!("{file} has no PEM certificates"));
    }
    Ok(chain)
}

fn read(name: &str, seen: &mut FileHashes) -> Result<Vec<u8>, String> {
    let most = u64::try_from(FILE_BYTES_MAX).unwrap_or(u64::MAX).saturating_add(1);
    let mut bytes = Vec::new();
    let read = files::feed_up_to(name, most, &mut |piece| bytes.extend_from_slice(piece));
    let read = read.and_then(|()| {
        let fits = bytes.len() <= FILE_BYTES_MAX;
        fits.then_some(()).ok_or_else(|| format!("it has more than {FILE_BYTES_MAX} bytes"))
    });
    // A caller may retry after an error.
    seen.note_whole(name, read.is_ok().then_some(&bytes));
    read.map(|()| bytes).map_err(|why| format!("{name} cannot be read: {why}"))
}

impl fmt::Debug for Certificate {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Certificate({})", self.files.certificate)
    }
}
