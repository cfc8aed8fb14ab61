//! Passwords, certificates and CAs of a connection. Files are read for each new connection, because they may change.

use std::fmt;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use tokio::task::spawn_blocking;
use tokio_rustls::TlsConnector;

use crate::failed::ConnectionFailure;
use crate::single_flight::SingleFlight;
use crate::tls::Tls;
use crate::{Address, Cause, OpenError, Settings, read_file};

/// Where secrets come from.
pub(crate) struct Secrets {
    sources: Arc<Sources>,
    /// What they are for good, if nothing is in files.
    known: Option<LoadedSecrets>,
    /// A file may hang, as a host's name may: one look at them at a time.
    reading: SingleFlight<Result<LoadedSecrets, ConnectionFailure>>,
}

/// Secrets as they are at a moment.
#[derive(Clone, Default)]
pub(crate) struct LoadedSecrets {
    /// The words after `AUTH`: the user, if one is named, and the password.
    pub(crate) credentials: Option<(Option<Arc<str>>, Arc<str>)>,
    pub(crate) tls: Option<TlsConnector>,
}

struct Sources {
    user: Option<Arc<str>>,
    password: Password,
    tls: Option<Tls>,
}

enum Password {
    None,
    Known(Arc<str>),
    File(PathBuf),
}

impl Secrets {
    /// Reads all of them for the first time, which blocks the thread.
    ///
    /// # Errors
    /// When a file cannot be read or holds nothing that can be used, or there is not one password where there should be.
    pub(crate) fn new(address: &Address, settings: &Settings) -> Result<Self, OpenError> {
        let password = password(address, settings).map_err(|why| OpenError::Password(why.into()))?;
        let tls = address.has_tls().then(|| Tls::new(&address.hosts(), settings));
        let tls = tls.transpose().map_err(OpenError::Tls)?;
        let sources = Sources { user: address.named_user().map(Arc::from), password, tls };
        let read = sources.read()?;
        let known = (!sources.are_in_files()).then_some(read);
        Ok(Self { sources: Arc::new(sources), known, reading: SingleFlight::new() })
    }

    /// What they are now. Files are read on a thread that may block.
    pub(crate) async fn fresh(&self) -> Result<LoadedSecrets, ConnectionFailure> {
        if let Some(known) = &self.known {
            return Ok(known.clone());
        }
        let begin = || {
            let sources = Arc::clone(&self.sources);
            async {
                let failed =
                    |error: &dyn fmt::Display| ConnectionFailure::new(Cause::File, &error.to_string());
                let read = spawn_blocking(move || sources.read()).await.map_err(|error| failed(&error))?;
                read.map_err(|error| failed(&error))
            }
        };
        let given_up =
            || Err(ConnectionFailure::new(Cause::File, "the secret files were not read completely"));
        self.reading.join(begin).await.unwrap_or_else(given_up)
    }
}

/// Where the password comes from, of which there is at most one.
fn password(address: &Address, settings: &Settings) -> Result<Password, &'static str> {
    match (address.password(), &settings.password) {
        (Some(_), Some(_)) => Err("both the store address and a file have a password: remove one of them"),
        (Some(password), None) => Ok(Password::Known(password.into())),
        (None, Some(path)) => Ok(Password::File(path.clone())),
        (None, None) if address.named_user().is_some() => Err(
            "the store address has a user without a password: write `user:password@`, or set the file with the password",
        ),
        (None, None) => Ok(Password::None),
    }
}

impl Sources {
    const fn are_in_files(&self) -> bool {
        let tls = match &self.tls {
            Some(tls) => tls.is_in_files(),
            None => false,
        };
        tls || matches!(self.password, Password::File(_))
    }

    fn read(&self) -> Result<LoadedSecrets, OpenError> {
        let password = match &self.password {
            Password::None => None,
            Password::Known(password) => Some(Arc::clone(password)),
            Password::File(path) => Some(password_in(path).map_err(OpenError::Password)?),
        };
        let credentials = password.map(|password| (self.user.clone(), password));
        let tls = self.tls.as_ref().map(Tls::connector);
        let tls = tls.transpose().map_err(OpenError::Tls)?;
        Ok(LoadedSecrets { credentials, tls })
    }
}

/// The password in a file, without the space around it: editors end files with a line's end.
fn password_in(path: &Path) -> Result<Arc<str>, String> {
    let bytes = read_file::read("the store password file", path)?;
    let (trimmed, file) = (bytes.trim_ascii(), path.display());
    if trimmed.is_empty() {
        return Err(format!("the store password file is empty: {file}"));
    }
    let text = str::from_utf8(trimmed);
    text.map(Arc::from).map_err(|_| format!("the store password in {file} is not UTF-8"))
}

impl fmt::Debug for Secrets {
    /// Without any.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Secrets").finish_non_exhaustive()
    }
}
