//! Reloads the policy and the certificate when files change: swaps in what is valid, and logs what is not.

mod changes;
pub mod file_hashes;
mod file_watcher;
pub mod load;
mod settings_and_certificate;
mod unenforced;

use std::future::{Future, pending};
use std::io;
use std::sync::Arc;
use std::time::Duration;

use tokio::signal::unix::{SignalKind, signal};
use tokio::sync::mpsc::{self, Receiver};
use tokio::sync::watch as latest;
use tokio::time::{Instant, Interval, MissedTickBehavior, interval_at, sleep, timeout};
use tollgate::Limiter;
use tollgate::adaptive::AdaptiveConfig;
use tollgate_engine::PolicyLimits;
use tollgate_policy::{ConsumerIndex, Policy};
use tollgate_tower::ResponseConfig;

use self::file_watcher::FolderWatch;
use crate::active_policy::{ActivePolicy, PolicyHandle};
use crate::doors::gateway::GatewayContext;
use crate::settings::Startup;
use crate::telemetry::logs::Logs;
use crate::telemetry::metrics::Metrics;
use changes::changes;
pub use file_hashes::FileHashes;
use load::load_after;
pub use load::{LoadFailure, LoadedPolicy, load};
use settings_and_certificate::{ReloadCheck, SettingsAndCertificate};
pub(crate) use unenforced::warn_unenforced;

/// Files are read after this long without events: a write causes many events, and a half-written file is not a document.
pub const DEBOUNCE: Duration = Duration::from_millis(200);
/// Files are read after this long even if events keep coming.
pub const SETTLE_MAX: Duration = Duration::from_secs(2);
/// A missing file may come back (an editor's rename, a swapped link), and counts as missing only after this long.
pub const GONE_FOR: Duration = Duration::from_secs(1);

/// The result of the last reload.
#[derive(Clone, PartialEq, Eq, Default, Debug)]
pub struct ReloadOutcome {
    /// Number of reloads, successful or not.
    pub attempts: u64,
    /// What is in force.
    pub generation: u64,
    /// Why the last one failed; `None` if it succeeded.
    pub refused: Option<String>,
}

/// Keeps the policy in force up to date with its files.
///
/// It compares files by content after events in their folders, periodically, and on request. It loads them, on a separate
/// thread, only if they differ from the last attempt, so an invalid document is reported once, and the
/// next valid one recovers. Limits keep their state, because the new policy uses the same limiter. The policy and the certificate are
/// replaced independently: if one is invalid, the other is still replaced.
#[derive(Debug)]
pub struct Reloader {
    policy: String,
    /// The setting `store.namespace`: what a policy's own file says of it now counts after a restart.
    namespace: Option<String>,
    /// The limit of the upstream.
    upstream: Option<AdaptiveConfig>,
    answers: ResponseConfig,
    beside: SettingsAndCertificate,
    poll: Option<Duration>,
    watching: bool,
    live: Arc<PolicyHandle>,
    metrics: Arc<Metrics>,
    logs: Arc<Logs>,
    /// The files of the last attempt.
    seen: FileHashes,
    outcome: latest::Sender<ReloadOutcome>,
}

impl Reloader {
    /// Creates a reloader. `seen` is what the policy was loaded from.
    #[must_use]
    pub fn new(common: &GatewayContext, startup: Option<Startup>, mut seen: FileHashes) -> Self {
        let GatewayContext { settings, live, metrics, logs, certificate, guards, .. } = common;
        let first = ReloadOutcome { generation: live.load().generation, ..ReloadOutcome::default() };
        let beside =
            SettingsAndCertificate { certificate: certificate.clone(), guards: Arc::clone(guards), startup };
        seen.join(beside.look(&seen).seen);
        Self {
            policy: settings.policy.clone(),
            namespace: settings.store.namespace.clone(),
            upstream: settings.upstream.adaptive.config(),
            answers: settings.answers,
            beside,
            poll: settings.reload_poll,
            watching: true,
            live: Arc::clone(live),
            metrics: Arc::clone(metrics),
            logs: Arc::clone(logs),
            seen,
            outcome: latest::channel(first).0,
        }
    }

    /// Creates a reloader that only polls, for file systems without events.
    #[must_use]
    pub fn without_watching(self) -> Self {
        Self { watching: false, ..self }
    }

    /// The results of reloads, as they happen.
    #[must_use]
    pub fn outcomes(&self) -> latest::Receiver<ReloadOutcome> {
        self.outcome.subscribe()
    }

    /// Reloads until `shutdown`. A request always loads, even if no file has changed.
    pub async fn run(mut self, asked: Receiver<()>, shutdown: impl Future<Output = ()>) {
        tokio::select! {
            () = shutdown => {}
            () = self.keep(asked) => {}
        }
    }

    async fn keep(&mut self, mut asked: Receiver<()>) {
        let (happened, mut events) = mpsc::channel(1);
        let mut watch = FolderWatch::default();
        let mut poll = self.poll.map(ticks);
        loop {
            // Before the first wait, and when other folders are watched: what happened before that was not seen.
            while self.watch(&mut watch, &happened) {
                self.compare().await;
            }
            tokio::select! {
                Some(()) = events.recv() => tokio::select! {
                    () = settle(&mut events) => self.compare().await,
                    // Whoever asks does not wait.
                    Some(()) = asked.recv() => self.reload().await,
                },
                Some(()) = asked.recv() => self.reload().await,
                () = tick(&mut poll) => self.compare_at_rest().await,
            }
        }
    }

    /// Watches the folders of the last loaded files. Returns true if they differ from before.
    fn watch(&self, watch: &mut FolderWatch, happened: &mpsc::Sender<()>) -> bool {
        if !self.watching {
            return false;
        }
        let renewed = watch.renew(self.seen.names(), happened);
        if renewed != Ok(false) {
            self.metrics.reloads.watching.set(u64::from(renewed.is_ok()));
        }
        renewed.unwrap_or_else(|why| {
            self.logs.within(|| tracing::warn!(why, "some files cannot be watched"));
            true
        })
    }

    /// Loads if a file differs from the last attempt.
    async fn compare(&mut self) {
        let mut now = self.look().await;
        if now.misses(&self.seen) {
            sleep(GONE_FOR).await;
            now = self.look().await;
        }
        if now != self.seen {
            self.reload().await;
        }
    }

    /// Like [`compare`](Self::compare), but without events: waits until two readings agree, in case a file is being written.
    async fn compare_at_rest(&mut self) {
        let mut now = self.look().await;
        if now == self.seen {
            return;
        }
        let rest = async {
            loop {
                sleep(DEBOUNCE).await;
                let next = self.look().await;
                if next == std::mem::replace(&mut now, next.clone()) {
                    break;
                }
            }
        };
        // At the latest now.
        let _ = timeout(SETTLE_MAX, rest).await;
        self.compare().await;
    }

    /// The current contents of the files.
    async fn look(&self) -> FileHashes {
        let seen = self.seen.clone();
        let unchanged = self.seen.clone();
        tokio::task::spawn_blocking(move || seen.again()).await.unwrap_or(unchanged)
    }

    /// Loads, and puts what is valid in force.
    async fn reload(&mut self) {
        let (policy, before, beside) = (self.policy.clone(), self.seen.clone(), self.beside.clone());
        let (live, metrics, answers) = (Arc::clone(&self.live), Arc::clone(&self.metrics), self.answers);
        let (namespace, upstream) = (self.namespace.clone(), self.upstream);
        let run = move || {
            let ReloadCheck {
                renewed,
                tokens_renewed,
                limits_renewed,
                needs_restart,
                mut wrong,
                seen: others,
            } = beside.look(&before);
            let (changed, mut seen) = match load_after(&policy, &before) {
                Ok(LoadedPolicy { policy, directory, seen }) => {
                    let old = live.load();
                    let limiter = old.limits.limiter().clone();
                    let limits = policy_limits(limiter, (policy, directory), namespace.as_deref(), upstream);
                    let changed = changes(&old.limits, &limits);
                    let next = ActivePolicy::new(limits, answers, &metrics, old.generation.saturating_add(1));
                    live.swap(next, &metrics);
                    (Some(changed), seen)
                }
                Err(refused) => {
                    wrong.insert(0, refused.sentence());
                    (None, refused.seen)
                }
            };
            seen.join(others);
            Reloaded { changed, renewed, tokens_renewed, limits_renewed, needs_restart, wrong, seen }
        };
        let reloaded = match tokio::task::spawn_blocking(run).await {
            Ok(reloaded) => reloaded,
            // Nothing in it panics; if something does, what is in force stays so, as with a bad document.
            Err(_) => Reloaded {
                wrong: vec!["loading it failed: report this document".into()],
                changed: None,
                renewed: false,
                tokens_renewed: false,
                limits_renewed: false,
                needs_restart: Vec::new(),
                seen: self.look().await,
            },
        };
        self.tell(&reloaded);
        self.seen = reloaded.seen;
    }

    /// Logs the result of a reload.
    fn tell(&self, reloaded: &Reloaded) {
        let Reloaded { changed, renewed, tokens_renewed, limits_renewed, needs_restart, wrong, .. } =
            reloaded;
        let generation = self.live.load().generation;
        if changed.is_some() || *renewed || *tokens_renewed || *limits_renewed {
            let certificate = renewed.then_some("renewed");
            let tokens = tokens_renewed.then_some("renewed");
            let limits = limits_renewed.then_some("renewed");
            let needs_restart = (!needs_restart.is_empty()).then(|| needs_restart.join(", "));
            self.logs.within(|| {
                tracing::info!(generation, changed, certificate, tokens, limits, needs_restart, "reloaded");
            });
        }
        if changed.is_some() {
            warn_unenforced(self.live.load().limits.policy(), &self.logs);
        }
        let refused = (!wrong.is_empty()).then(|| wrong.join("; "));
        if let Some(why) = &refused {
            self.metrics.reloads.failed.inc();
            let what = if changed.is_some() {
                "partly reloaded: the rest stays as it was"
            } else {
                "not reloaded: the previous policy stays in force"
            };
            self.logs.within(|| tracing::error!(why, "{what}"));
        } else {
            self.metrics.reloads.ok.inc();
        }
        self.outcome.send_modify(|last| {
            *last = ReloadOutcome { attempts: last.attempts.saturating_add(1), generation, refused };
        });
    }
}

/// The result of one reload.
struct Reloaded {
    /// The changes of the policy, if it was replaced.
    changed: Option<String>,
    /// Whether the certificate was replaced.
    renewed: bool,
    /// Whether some endpoint's tokens were replaced.
    tokens_renewed: bool,
    /// Whether the limits for Envoy were replaced.
    limits_renewed: bool,
    /// The settings that a restart would change.
    needs_restart: Vec<String>,
    /// The errors.
    wrong: Vec<String>,
    /// All files that were read.
    seen: FileHashes,
}

/// The limits of a policy for a gateway, in the namespace of the settings or of the policy's title.
///
/// Only responses change charges afterwards.
pub fn policy_limits(
    limiter: Limiter,
    (policy, directory): (Arc<Policy>, Option<Arc<ConsumerIndex>>),
    namespace: Option<&str>,
    upstream: Option<AdaptiveConfig>,
) -> PolicyLimits {
    let namespace = namespace.map_or_else(|| policy.namespace_of_title(), str::to_owned);
    // Of one name and one configuration, so that a reload keeps what was learnt.
    let upstream = upstream.map(|config| limiter.adaptive(UPSTREAM, config));
    let limits = PolicyLimits::new(limiter, policy, directory).in_namespace(&namespace).non_refundable();
    match upstream {
        Some(limit) => limits.with_upstream_limit(limit),
        None => limits,
    }
}

/// The name of the upstream's limit, in logs and metrics.
pub const UPSTREAM: &str = "upstream";

/// Waits until there were no events for a while.
async fn settle(events: &mut Receiver<()>) {
    let quiet = async { while let Ok(Some(())) = timeout(DEBOUNCE, events.recv()).await {} };
    // At the latest now.
    let _ = timeout(SETTLE_MAX, quiet).await;
}

fn ticks(every: Duration) -> Interval {
    let every = every.max(DEBOUNCE);
    let mut ticks = interval_at(Instant::now() + every, every);
    ticks.set_missed_tick_behavior(MissedTickBehavior::Delay);
    ticks
}

async fn tick(poll: &mut Option<Interval>) {
    match poll {
        Some(ticks) => drop(ticks.tick().await),
        None => pending().await,
    }
}

/// A receiver of `SIGHUP`. From now on, the signal does not end the process.
///
/// # Errors
/// If the handler cannot be installed.
pub fn hang_ups() -> io::Result<Receiver<()>> {
    let mut signals = signal(SignalKind::hangup())?;
    let (ask, asked) = mpsc::channel(1);
    tokio::spawn(async move {
        // One that waits stands for all.
        while signals.recv().await.is_some() && !ask.is_closed() {
            let _ = ask.try_send(());
        }
    });
    Ok(asked)
}

#[cfg(test)]
mod tests;
