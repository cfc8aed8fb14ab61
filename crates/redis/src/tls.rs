//! TLS to the store: whom we trust. When a connection is made is not known here.

use std::path::PathBuf;
use std::sync::Arc;

use rustls::pki_types::pem::PemObject;
use rustls::pki_types::{CertificateDer, ServerName};
use rustls::{ClientConfig, RootCertStore};
use tokio_rustls::TlsConnector;

use crate::{Roots, Settings, small_file};

/// How TLS is spoken to one host.
pub(crate) struct Tls {
    pub(crate) name: ServerName<'static>,
    trusted: Trusted,
}

enum Trusted {
    /// These, for good.
    Known(Arc<RootCertStore>),
    /// Those that are in this file by then.
    File(PathBuf),
}

impl Tls {
    /// # Errors
    /// A sentence, when there is no certificate to trust, or the host is no name that a certificate could have. Files are not read yet.
    pub(crate) fn new(host: &str, settings: &Settings) -> Result<Self, String> {
        let trusted = match &settings.roots {
            Roots::System => {
                let mut store = RootCertStore::empty();
                let (_, _) = store.add_parsable_certificates(rustls_native_certs::load_native_certs().certs);
                Trusted::Known(some(store, "")?)
            }
            Roots::Pem(text) => Trusted::Known(certificates(text, "")?),
            Roots::File(path) => Trusted::File(path.clone()),
        };
        let name = ServerName::try_from(host.to_owned());
        let name = name
            .map_err(|_| "the host in the address of the store is no name that a certificate could have")?;
        Ok(Self { name, trusted })
    }

    /// Whether something of it is in files, which may change.
    pub(crate) const fn is_in_files(&self) -> bool {
        matches!(self.trusted, Trusted::File(_))
    }

    /// TLS as it is spoken now: files are read, which blocks the thread. By ring, named here: no provider is installed for the process.
    ///
    /// # Errors
    /// A sentence, when a file cannot be read or holds nothing that can be used.
    pub(crate) fn connector(&self) -> Result<TlsConnector, String> {
        let store = match &self.trusted {
            Trusted::Known(store) => Arc::clone(store),
            Trusted::File(path) => {
                let text = small_file::read("the file with the certificates to trust the store by", path)?;
                certificates(&text, &format!(" in {}", path.display()))?
            }
        };
        let provider = Arc::new(rustls::crypto::ring::default_provider());
        let config = ClientConfig::builder_with_provider(provider).with_safe_default_protocol_versions();
        let config = config.map_err(|error| error.to_string())?;
        let config = config.with_root_certificates(store).with_no_client_auth();
        Ok(TlsConnector::from(Arc::new(config)))
    }
}

/// The certificates in a text, which comes from somewhere.
fn certificates(text: &[u8], from: &str) -> Result<Arc<RootCertStore>, String> {
    let mut store = RootCertStore::empty();
    for certificate in CertificateDer::pem_slice_iter(text) {
        let certificate = certificate.map_err(|error| {
            format!("the certificates to trust the store by{from} are not in PEM: {error}")
        })?;
        let added = store.add(certificate);
        added.map_err(|error| format!("a certificate to trust the store by{from} is not valid: {error}"))?;
    }
    some(store, from)
}

fn some(store: RootCertStore, from: &str) -> Result<Arc<RootCertStore>, String> {
    if store.is_empty() {
        return Err(format!(
            "there is no certificate to trust the store by{from}: install the system's, or name a file with one"
        ));
    }
    Ok(Arc::new(store))
}
