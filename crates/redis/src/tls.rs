//! TLS to the store: trusted CAs, and the client certificate.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use rustls::pki_types::pem::PemObject;
use rustls::pki_types::{CertificateDer, PrivateKeyDer, ServerName};
use rustls::{ClientConfig, RootCertStore};
use tokio_rustls::TlsConnector;

use crate::{Identity, Roots, Settings, read_file};

/// How TLS is spoken to the servers of one address.
pub(crate) struct Tls {
    trusted: Trusted,
    identity: Option<Identity>,
}

enum Trusted {
    /// These, for good.
    Known(Arc<RootCertStore>),
    /// Those that are in this file by then.
    File(PathBuf),
}

impl Tls {
    /// # Errors
    /// A sentence, when there is no certificate to trust, or a host is no name that a certificate could have. Files are not read yet.
    pub(crate) fn new(hosts: &[&str], settings: &Settings) -> Result<Self, String> {
        let trusted = match &settings.roots {
            Roots::System => {
                let mut store = RootCertStore::empty();
                let (_, _) = store.add_parsable_certificates(rustls_native_certs::load_native_certs().certs);
                Trusted::Known(some(store, "")?)
            }
            Roots::Pem(text) => Trusted::Known(certificates(text, "")?),
            Roots::File(path) => Trusted::File(path.clone()),
        };
        hosts.iter().try_for_each(|host| server_name(host).map(|_| ()))?;
        Ok(Self { trusted, identity: settings.identity.clone() })
    }

    /// Whether something of it is in files, which may change.
    pub(crate) const fn is_in_files(&self) -> bool {
        matches!(self.trusted, Trusted::File(_)) || self.identity.is_some()
    }

    /// TLS as it is spoken now: files are read, which blocks the thread. By ring, named here: no provider is installed for the process.
    ///
    /// # Errors
    /// A sentence, when a file cannot be read or holds nothing that can be used.
    pub(crate) fn connector(&self) -> Result<TlsConnector, String> {
        let store = match &self.trusted {
            Trusted::Known(store) => Arc::clone(store),
            Trusted::File(path) => {
                let text = read_file::read("the store's CA file", path)?;
                certificates(&text, &format!(" in {}", path.display()))?
            }
        };
        let provider = Arc::new(rustls::crypto::ring::default_provider());
        let config = ClientConfig::builder_with_provider(provider).with_safe_default_protocol_versions();
        let config = config.map_err(|error| error.to_string())?;
        let config = config.with_root_certificates(store);
        let config = match &self.identity {
            None => config.with_no_client_auth(),
            Some(identity) => {
                let (chain, key) = (chain(&identity.certificate)?, key(&identity.key)?);
                config.with_client_auth_cert(chain, key).map_err(|error| {
                    let (certificate, key) = (identity.certificate.display(), identity.key.display());
                    format!(
                        "the store client certificate in {certificate} does not match the key in {key}: {error}"
                    )
                })?
            }
        };
        Ok(TlsConnector::from(Arc::new(config)))
    }
}

/// The name that the certificate of a host has to have.
///
/// # Errors
/// A sentence, if no certificate could have such a name.
pub(crate) fn server_name(host: &str) -> Result<ServerName<'static>, String> {
    let name = ServerName::try_from(host.to_owned());
    name.map_err(|_| "the host in the store address is not a valid name for a certificate".into())
}

/// Our certificate, and those above it.
fn chain(path: &Path) -> Result<Vec<CertificateDer<'static>>, String> {
    let text = read_file::read("the store client certificate file", path)?;
    let chain: Result<Vec<_>, _> = CertificateDer::pem_slice_iter(&text).collect();
    let chain = chain
        .map_err(|error| format!("the store client certificate in {} is not PEM: {error}", path.display()))?;
    if chain.is_empty() {
        return Err(format!("there is no client certificate in {}", path.display()));
    }
    Ok(chain)
}

fn key(path: &Path) -> Result<PrivateKeyDer<'static>, String> {
    let text = read_file::read("the store client key file", path)?;
    PrivateKeyDer::from_pem_slice(&text)
        .map_err(|error| format!("there is no client key in {}: {error}", path.display()))
}

/// The certificates in a text, which comes from somewhere.
fn certificates(text: &[u8], from: &str) -> Result<Arc<RootCertStore>, String> {
    let mut store = RootCertStore::empty();
    for certificate in CertificateDer::pem_slice_iter(text) {
        let certificate =
            certificate.map_err(|error| format!("the store's CA certificates{from} are not PEM: {error}"))?;
        let added = store.add(certificate);
        added.map_err(|error| format!("a CA certificate of the store{from} is not valid: {error}"))?;
    }
    some(store, from)
}

fn some(store: RootCertStore, from: &str) -> Result<Arc<RootCertStore>, String> {
    if store.is_empty() {
        return Err(format!(
            "there is no CA certificate for the store{from}: install the system's, or set a CA file"
        ));
    }
    Ok(Arc::new(store))
}
