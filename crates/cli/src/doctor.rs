//! How a shared store is examined: it is asked and tried, and then what was found is judged. How it is printed is the command's.

mod finding;
mod judge;
mod observations;
mod permission_probe;
mod query;
mod remedies;
mod trial_decisions;

use std::time::Duration;

use tokio::runtime::Builder;
use tollgate_redis::{Address, Inspector, Naming, NotInspected, Settings};

pub(crate) use finding::{Finding, Grade};

/// A store, as a gateway would use it.
#[derive(Debug)]
pub(crate) struct Patient {
    pub(crate) address: Address,
    pub(crate) settings: Settings,
    pub(crate) naming: Naming,
    /// Whether names are made with a secret of the operator's.
    pub(crate) has_secret: bool,
}

/// How long the questions may take, all in all. Those that are left then are answered with "not known".
const ASKING_TIME_MAX: Duration = Duration::from_secs(4);

/// Examines a store, within seconds whatever the server does, and leaves nothing in it.
///
/// # Errors
/// A sentence, when the settings are of no use, or there is no runtime.
pub(crate) fn examine(patient: &Patient) -> Result<Vec<Finding>, String> {
    let runtime = Builder::new_current_thread().enable_all().build();
    let runtime = runtime.map_err(|error| format!("no runtime: {error}"))?;
    let findings = runtime.block_on(examined(patient));
    // The look-up of a name cannot be stopped, and is not waited for.
    runtime.shutdown_background();
    findings
}

async fn examined(patient: &Patient) -> Result<Vec<Finding>, String> {
    match Inspector::connect(&patient.address, &patient.settings).await {
        Ok(inspector) => Ok(judge::judge(&query::ask(inspector, patient).await)),
        Err(NotInspected::Unreachable(error)) => {
            Ok(vec![judge::unreachable(&patient.address.to_string(), &error)])
        }
        Err(other) => Err(other.to_string()),
    }
}
