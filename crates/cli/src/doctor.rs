//! Examines a shared store: queries it, tries it out, then judges the observations.

mod finding;
mod judge;
mod observations;
mod permission_probe;
mod query;
mod remedies;
mod trial_decisions;

use std::time::Duration;

use tokio::runtime::Builder;
use tollgate_redis::{Address, InspectError, Inspector, Naming, Settings};

pub(crate) use finding::{Finding, Grade};

/// A store with the settings that a gateway would use.
#[derive(Debug)]
pub(crate) struct ExaminedStore {
    pub(crate) address: Address,
    pub(crate) settings: Settings,
    pub(crate) naming: Naming,
    /// Whether key names are hashed with the operator's secret.
    pub(crate) has_secret: bool,
}

/// Total time for queries. Those left over after it are reported as "not known".
const ASKING_TIME_MAX: Duration = Duration::from_secs(4);

/// Examines a store. It returns within seconds whatever the server does, and leaves no keys behind.
///
/// # Errors
/// A message, if the settings are invalid or no runtime can be created.
pub(crate) fn examine(patient: &ExaminedStore) -> Result<Vec<Finding>, String> {
    let runtime = Builder::new_current_thread().enable_all().build();
    let runtime = runtime.map_err(|error| format!("cannot create a runtime: {error}"))?;
    let findings = runtime.block_on(examined(patient));
    // A DNS lookup cannot be cancelled; do not wait for it.
    runtime.shutdown_background();
    findings
}

async fn examined(patient: &ExaminedStore) -> Result<Vec<Finding>, String> {
    match Inspector::connect(&patient.address, &patient.settings).await {
        Ok(inspector) => Ok(judge::judge(&query::ask(inspector, patient).await)),
        Err(InspectError::Unreachable(error)) => {
            Ok(vec![judge::unreachable(&patient.address.to_string(), &error)])
        }
        Err(other) => Err(other.to_string()),
    }
}
