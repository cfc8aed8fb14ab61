//! The shared store as settings have it: opened, with a runtime for its connections. What is asked of it is the limiter's.

use std::sync::Arc;
use std::time::Duration;

use tokio::runtime::{Builder, Runtime};
use tokio::time::{MissedTickBehavior, interval};
use tollgate_redis::{Address, Health, Naming, Roots, Settings, Standing, Store};

use crate::gateway::live::Live;
use crate::gateway::logs::Logs;
use crate::settings::StoreAt;

/// A shared store that was opened.
#[derive(Debug)]
pub(super) struct Opened {
    /// Where its connections live: workers come and go, and serve nothing else.
    pub(super) runtime: Runtime,
    pub(super) store: Store,
    pub(super) naming: Naming,
}

/// Opens the store, if there is one. Whether a server is there makes no difference: limits know what to do without.
///
/// # Errors
/// A sentence, without the address: it may hold a password.
pub(super) fn open(at: &StoreAt) -> Result<Option<Opened>, String> {
    let Some(url) = &at.url else { return Ok(None) };
    let address: Address = url.parse().map_err(|error| format!("`store.url` is no address: {error}"))?;
    let roots = match &at.ca {
        None => Roots::System,
        Some(file) => Roots::Pem(read("store.ca", file)?),
    };
    let naming = match &at.secret {
        None => Naming::without_secret(),
        Some(file) => Naming::of_secret(read("store.secret", file)?.trim_ascii()),
    };
    let settings = Settings {
        budget: at.budget,
        connections: at.connections,
        in_flight_max: at.in_flight,
        roots,
        ..Settings::default()
    };
    let runtime = Builder::new_multi_thread().worker_threads(1).thread_name("store").enable_all().build();
    let runtime = runtime.map_err(|error| format!("no runtime for the store: {error}"))?;
    let store = {
        let _entered = runtime.enter();
        Store::open(address, settings).map_err(|error| error.to_string())?
    };
    Ok(Some(Opened { runtime, store, naming }))
}

fn read(setting: &str, file: &str) -> Result<Vec<u8>, String> {
    std::fs::read(file).map_err(|error| format!("`{setting}` cannot be read: {file}: {error}"))
}

/// How often it is looked at whether the store serves: its failures have one line, however many there are.
const LOOK: Duration = Duration::from_millis(200);

/// Writes a line when the store does not serve any more, and one when it serves again.
pub(super) async fn tell(live: Arc<Live>, logs: Arc<Logs>) {
    let mut looks = interval(LOOK);
    looks.set_missed_tick_behavior(MissedTickBehavior::Skip);
    // It has just begun to connect.
    let mut served = true;
    loop {
        looks.tick().await;
        let Some(health) = live.load().guard.gate().limiter().store_health() else { return };
        let serves = health.up && health.breaker == Standing::Closed;
        if serves != served {
            logs.within(|| say(serves, &health));
        }
        served = serves;
    }
}

fn say(serves: bool, health: &Health) {
    if serves {
        tracing::info!("the shared store answers: its budgets are in force again");
        return;
    }
    let why =
        health.trouble.as_ref().map_or_else(|| "it does not answer in time".into(), ToString::to_string);
    tracing::warn!(
        why,
        "the shared store gives no decisions: each limit does what its `when_store_fails` says"
    );
}
