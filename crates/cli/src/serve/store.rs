//! Opens the shared store from settings, with a runtime for its connections.

use tokio::runtime::{Builder, Runtime};
use tollgate_redis::{Address, Identity, Naming, Roots, Settings, Store};

use crate::files;
use crate::settings::StoreSettings;
use crate::telemetry::logs::Logs;

/// A shared store that was opened.
#[derive(Debug)]
pub(super) struct OpenedStore {
    /// Where its connections live: workers come and go, and serve nothing else.
    pub(super) runtime: Runtime,
    pub(super) store: Store,
    pub(super) naming: Naming,
}

/// Opens the store, if there is one. Whether a server is there makes no difference: limits know what to do without.
///
/// # Errors
/// A sentence, without the address: it may hold a password.
pub(super) fn open(at: &StoreSettings) -> Result<Option<OpenedStore>, String> {
    let Some((address, settings, naming)) = parts(at)? else { return Ok(None) };
    let runtime = Builder::new_multi_thread().worker_threads(1).thread_name("store").enable_all().build();
    let runtime = runtime.map_err(|error| format!("cannot create a runtime for the store: {error}"))?;
    let store = {
        let _entered = runtime.enter();
        Store::open(address, settings).map_err(|error| error.to_string())?
    };
    Ok(Some(OpenedStore { runtime, store, naming }))
}

/// What a store is opened with, if there is one: its files are read, and nothing else is done.
///
/// # Errors
/// A sentence, without the address: it may hold a password.
pub(crate) fn parts(at: &StoreSettings) -> Result<Option<(Address, Settings, Naming)>, String> {
    let Some(url) = &at.url else { return Ok(None) };
    let address: Address =
        url.parse().map_err(|error| format!("`store.url` is not a valid address: {error}"))?;
    // What connections are made with is read anew for each: here it is only seen whether it can be.
    let roots = match &at.ca {
        None => Roots::System,
        Some(file) => read("store.ca", file).map(|_| Roots::File(file.into()))?,
    };
    if let Some(file) = &at.password {
        // It may be the password itself, by mistake: so it is not repeated.
        let found = std::fs::metadata(file).map_err(|error| error.to_string());
        let is_file =
            found.and_then(|found| found.is_file().then_some(()).ok_or("it is not a regular file".into()));
        is_file.map_err(|why: String| {
            format!("`store.password` names a file that cannot be read ({why}): set it to the file with the password")
        })?;
        if address.has_password() {
            return Err("both `store.url` and `store.password` give a password: remove one of them".into());
        }
    }
    let naming = match &at.secret {
        None => Naming::without_secret(),
        Some(file) => {
            let secret = read_secret("store.secret", file)?;
            if secret.trim_ascii().is_empty() {
                return Err(format!(
                    "`store.secret` is empty: write a secret into {file}, or `none` for no secret"
                ));
            }
            Naming::of_secret(secret.trim_ascii())
        }
    };
    let settings = Settings {
        budget: at.budget,
        connections: at.connections,
        in_flight_max: at.in_flight,
        roots,
        identity: identity(at)?,
        password: at.password.as_ref().map(Into::into),
        ..Settings::default()
    };
    Ok(Some((address, settings, naming)))
}

/// Our certificate and its key, if they are named.
fn identity(at: &StoreSettings) -> Result<Option<Identity>, String> {
    let (has, missing) = match (&at.certificate, &at.key) {
        (None, None) => return Ok(None),
        (Some(certificate), Some(key)) => {
            read("store.certificate", certificate)?;
            read_secret("store.key", key)?;
            return Ok(Some(Identity { certificate: certificate.into(), key: key.into() }));
        }
        (Some(_), None) => ("store.certificate", "store.key"),
        (None, Some(_)) => ("store.key", "store.certificate"),
    };
    Err(format!(
        "`{has}` has no effect without `{missing}`: set both, or neither if the store requires no client certificate"
    ))
}

/// As [`read`], without what stands in place of a name if there is no such file: it may be the secret itself.
fn read_secret(setting: &str, file: &str) -> Result<Vec<u8>, String> {
    if files::is_there(file) {
        return read(setting, file);
    }
    Err(format!("`{setting}` names a file that does not exist: set it to the file with the secret"))
}

fn read(setting: &str, file: &str) -> Result<Vec<u8>, String> {
    std::fs::read(file).map_err(|error| format!("`{setting}` cannot be read: {file}: {error}"))
}

/// Writes a line about the namespace of the limits: with what other services must not share, or a warning that they do.
pub(super) fn tell_namespace(namespace: &str, logs: &Logs) {
    if namespace.is_empty() {
        logs.within(|| {
            tracing::warn!(
                "the shared store has no namespace, because the policy has no title: services without a namespace share limits of \
                 the same name. Set `store.namespace`"
            );
        });
        return;
    }
    logs.within(|| tracing::info!(namespace, "the shared store has a namespace"));
}
