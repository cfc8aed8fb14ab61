//! The shared store as settings have it: opened, with a runtime for its connections. What is asked of it is the limiter's.

use std::sync::Arc;
use std::time::Duration;

use tokio::runtime::{Builder, Runtime};
use tokio::time::{MissedTickBehavior, interval};
use tollgate_redis::{Address, Cause, Health, Identity, Naming, Roots, Settings, Standing, Store};

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
    let Some((address, settings, naming)) = parts(at)? else { return Ok(None) };
    let runtime = Builder::new_multi_thread().worker_threads(1).thread_name("store").enable_all().build();
    let runtime = runtime.map_err(|error| format!("no runtime for the store: {error}"))?;
    let store = {
        let _entered = runtime.enter();
        Store::open(address, settings).map_err(|error| error.to_string())?
    };
    Ok(Some(Opened { runtime, store, naming }))
}

/// What a store is opened with, if there is one: its files are read, and nothing else is done.
///
/// # Errors
/// A sentence, without the address: it may hold a password.
pub(crate) fn parts(at: &StoreAt) -> Result<Option<(Address, Settings, Naming)>, String> {
    let Some(url) = &at.url else { return Ok(None) };
    let address: Address = url.parse().map_err(|error| format!("`store.url` is no address: {error}"))?;
    // What connections are made with is read anew for each: here it is only seen whether it can be.
    let roots = match &at.ca {
        None => Roots::System,
        Some(file) => read("store.ca", file).map(|_| Roots::File(file.into()))?,
    };
    if let Some(file) = &at.password {
        // It may be the password itself, by mistake: so it is not repeated.
        let found = std::fs::metadata(file).map_err(|error| error.to_string());
        let is_file =
            found.and_then(|found| found.is_file().then_some(()).ok_or("it is not a plain file".into()));
        is_file.map_err(|why: String| {
            format!("`store.password` names no file that can be read ({why}): write the name of a file in which the password is")
        })?;
        if address.has_password() {
            return Err("`store.url` has a password, and `store.password` names a file with one: leave out one of them".into());
        }
    }
    let naming = match &at.secret {
        None => Naming::without_secret(),
        Some(file) => {
            let secret = read("store.secret", file)?;
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
fn identity(at: &StoreAt) -> Result<Option<Identity>, String> {
    let (has, missing) = match (&at.certificate, &at.key) {
        (None, None) => return Ok(None),
        (Some(certificate), Some(key)) => {
            read("store.certificate", certificate)?;
            read("store.key", key)?;
            return Ok(Some(Identity { certificate: certificate.into(), key: key.into() }));
        }
        (Some(_), None) => ("store.certificate", "store.key"),
        (None, Some(_)) => ("store.key", "store.certificate"),
    };
    Err(format!(
        "`{has}` is of no use without `{missing}`: give both, or none for a store that wants no certificate"
    ))
}

fn read(setting: &str, file: &str) -> Result<Vec<u8>, String> {
    std::fs::read(file).map_err(|error| format!("`{setting}` cannot be read: {file}: {error}"))
}

/// Writes a line about the namespace of the limits: with what other services must not share, or a warning that they do.
pub(super) fn tell_namespace(namespace: &str, logs: &Logs) {
    if namespace.is_empty() {
        logs.within(|| {
            tracing::warn!(
                "limits in the shared store have no namespace, because the policy has no title: another service without one \
                 shares those of the same name. Set `store.namespace`"
            );
        });
        return;
    }
    logs.within(|| tracing::info!(namespace, "limits in the shared store are in a namespace"));
}

/// How often it is looked at whether the store serves: its failures have one line, however many there are.
const LOOK: Duration = Duration::from_millis(200);

/// While it serves, failing calls have at most one line in so many looks: ten seconds.
const LOOKS_PER_LINE: u32 = 50;

/// Writes a line when the store does not serve any more, and one when it serves again; and one now and then while it serves and
/// calls fail all the same, as they do without a right or on a key that holds something else.
pub(super) async fn tell(live: Arc<Live>, logs: Arc<Logs>) {
    let mut looks = interval(LOOK);
    looks.set_missed_tick_behavior(MissedTickBehavior::Skip);
    // It has just begun to connect, and gets a moment for that.
    looks.tick().await;
    let (mut served, mut before, mut quiet) = (true, Vec::new(), 0_u32);
    loop {
        looks.tick().await;
        let Some(health) = live.load().guard.gate().limiter().store_health() else { return };
        let serves = health.up && health.breaker == Standing::Closed;
        quiet = quiet.saturating_sub(1);
        if serves != served {
            // Most calls may have failed because others did before them: that is not why.
            let cause = most(&before, &health.failed, |cause| !is_of_others(cause))
                .or_else(|| most(&before, &health.failed, |_| true));
            logs.within(|| say(serves, &health, cause));
        }
        // Since it serves again, only what is wrong with its answers: the rest is why it did not serve.
        let cause = most(&before, &health.failed, |cause| served || is_of_an_answer(cause));
        if let Some(cause) = cause.filter(|_| serves && quiet == 0) {
            quiet = LOOKS_PER_LINE;
            logs.within(|| warn(cause, &health));
        }
        (served, before) = (serves, health.failed);
    }
}

/// Whether a call was not sent because of others: the breaker was open, or too many were on their way.
const fn is_of_others(cause: Cause) -> bool {
    matches!(cause, Cause::Open | Cause::TooManyInFlight)
}

/// Whether the server has answered, and it was no decision.
const fn is_of_an_answer(cause: Cause) -> bool {
    matches!(cause, Cause::Foreign | Cause::ForeignKind | Cause::Disagrees)
}

/// Of some causes, why most calls failed since the last look; `None` if none did.
fn most(before: &[(Cause, u64)], now: &[(Cause, u64)], is_asked: impl Fn(Cause) -> bool) -> Option<Cause> {
    let counted =
        |cause: Cause| before.iter().find(|(known, _)| *known == cause).map_or(0, |(_, count)| *count);
    let asked = now.iter().filter(|(cause, _)| is_asked(*cause));
    let grown = asked.map(|(cause, count)| (count.saturating_sub(counted(*cause)), cause));
    grown.filter(|(more, _)| *more > 0).max_by_key(|(more, _)| *more).map(|(_, cause)| *cause)
}

/// The server serves, and yet calls fail.
fn warn(cause: Cause, health: &Health) {
    // What is wrong with an answer, and what to do about it, it says itself.
    let why = health.no_decision.as_deref().filter(|_| is_of_an_answer(cause));
    let cause = cause.name();
    tracing::warn!(cause, why, "calls to the shared store fail: for them `when_store_fails` holds");
}

fn say(serves: bool, health: &Health, cause: Option<Cause>) {
    if serves {
        tracing::info!("the shared store answers: its budgets are in force again");
        return;
    }
    let why = health
        .trouble
        .as_ref()
        .map_or_else(|| cause.map_or("unknown", Cause::name).into(), ToString::to_string);
    tracing::warn!(
        why,
        "the shared store gives no decisions: each limit does what its `when_store_fails` says"
    );
}

#[test]
fn the_cause_of_most_failures_since_the_last_look_is_told() {
    let [one, other, ..] = Cause::all().collect::<Vec<_>>()[..] else { panic!("there are causes") };
    assert_eq!(most(&[], &[(one, 0), (other, 0)], |_| true), None);
    assert_eq!(most(&[(one, 9)], &[(one, 10), (other, 2)], |_| true), Some(other));
    assert_eq!(most(&[(one, 9)], &[(one, 10), (other, 2)], |cause| cause == one), Some(one));
    assert_eq!(most(&[(one, 9), (other, 2)], &[(one, 9), (other, 2)], |_| true), None);
}
