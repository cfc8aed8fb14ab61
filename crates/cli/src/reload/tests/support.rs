//! A folder with a policy in force, and a reloader for it.

use std::fs;
use std::io::Write;
use std::path::PathBuf;

use serde_json::Value;
use tokio::sync::mpsc::UnboundedReceiver;
use tokio::sync::oneshot;
use tokio::task::JoinHandle;
use tollgate::{Clock, Limiter};
use tollgate_algorithms::Micros;
use tollgate_engine::{PolicyLimits, RequestHead, Scratch};
use tollgate_testing::folder;

use super::super::*;
use crate::doors::gateway::upstream::Addresses;
use crate::settings::{Log, Protocol, Settings, Upstream, UpstreamLimit};

/// Long enough for a busy machine.
pub(super) const PATIENCE: Duration = Duration::from_secs(60);

/// A policy with so much on `/reports`, and five on another path if it has a name.
pub(super) fn policy(limit: u64, other: &str) -> String {
    let route = |name: &str, limit: u64| {
        format!(
            "  - path: /{name}\n    rate_limit: {{ name: {name}, algorithm: fixed_window, limit: {limit}, window: 1 h }}\n"
        )
    };
    let more = if other.is_empty() { String::new() } else { route(other, 5) };
    format!("tollgate: 1\nroutes:\n{}{more}", route("reports", limit))
}

pub(super) struct Folder(folder::Folder);

impl Folder {
    pub(super) fn at(&self, name: &str) -> PathBuf {
        self.0.at().join(name)
    }

    /// Puts a file in place, whole: a test that is held up in the middle would see half of one.
    pub(super) fn write(&self, name: &str, text: &str) {
        let beside = self.at(name).with_extension("beside");
        fs::write(&beside, text).unwrap();
        fs::rename(beside, self.at(name)).unwrap();
    }

    pub(super) async fn start(self) -> World<Reloader> {
        self.start_at("policy.yaml").await
    }

    /// Loads what is in a file, as `serve` does.
    pub(super) async fn start_at(self, name: &str) -> World<Reloader> {
        let file = self.at(name).display().to_string();
        let upstream = Upstream {
            tls: false,
            host: "127.0.0.1".into(),
            port: 9,
            protocol: Protocol::Http1,
            ca: None,
            idle_max: 1,
            lookup: None,
            adaptive: UpstreamLimit::default(),
        };
        let settings = Settings { reload_poll: None, ..Settings::new(file.as_str(), upstream) };
        let metrics = Metrics::new();
        let (out, lines) = mpsc::unbounded_channel();
        let logs = Logs::start(&Log::default(), &metrics, Clock::monotonic(), Out(out)).unwrap();
        let loaded = load(&file).unwrap_or_else(|refused| panic!("{}", refused.sentence()));
        // Time stands still, so that nothing is granted anew.
        let clock = Clock::manual(Micros::from_secs(1_000_000));
        let limiter = Limiter::builder().clock(clock.clock()).build().unwrap();
        let limits = PolicyLimits::new(limiter, loaded.policy, loaded.directory);
        let live =
            Arc::new(PolicyHandle::new(ActivePolicy::new(limits, settings.answers, &metrics, 1), &metrics));
        let logs = Arc::new(logs);
        let common = GatewayContext {
            upstream: Arc::new(Addresses::new(&settings.upstream)),
            guards: Arc::default(),
            settings: Arc::new(settings),
            live: Arc::clone(&live),
            metrics: Arc::clone(&metrics),
            logs,
            certificate: None,
        };
        let reloader = Reloader::new(&common, None, loaded.seen);
        let outcomes = reloader.outcomes();
        World { folder: self, live, metrics, outcomes, lines, reloader }
    }
}

/// A folder, and what is in force of it.
pub(super) struct World<R> {
    folder: Folder,
    pub(super) live: Arc<PolicyHandle>,
    pub(super) metrics: Arc<Metrics>,
    outcomes: latest::Receiver<ReloadOutcome>,
    lines: UnboundedReceiver<Value>,
    reloader: R,
}

/// A reloader that runs.
pub(super) struct Running {
    /// By which it is asked.
    ask: mpsc::Sender<()>,
    stop: oneshot::Sender<()>,
    ended: JoinHandle<()>,
}

impl World<()> {
    /// A folder with nothing in it.
    pub(super) fn empty() -> Folder {
        Folder(folder::Folder::new("reload"))
    }

    pub(super) async fn with(policy: &str) -> World<Reloader> {
        let folder = Self::empty();
        folder.write("policy.yaml", policy);
        folder.start().await
    }
}

impl World<Reloader> {
    pub(super) fn run(self) -> World<Running> {
        let (ask, asked) = mpsc::channel(1);
        self.begin(ask, asked)
    }

    pub(super) fn run_asked(self, asked: Receiver<()>) -> World<Running> {
        self.begin(mpsc::channel(1).0, asked)
    }

    pub(super) fn run_by_poll(mut self, every: Duration) -> World<Running> {
        self.reloader.poll = Some(every);
        self.reloader = self.reloader.without_watching();
        self.run()
    }

    fn begin(self, ask: mpsc::Sender<()>, asked: Receiver<()>) -> World<Running> {
        let (stop, stopped) = oneshot::channel::<()>();
        let ended = tokio::spawn(self.reloader.run(asked, async { drop(stopped.await) }));
        let Self { folder, live, metrics, outcomes, lines, reloader: _ } = self;
        World { folder, live, metrics, outcomes, lines, reloader: Running { ask, stop, ended } }
    }
}

impl<R> World<R> {
    pub(super) fn at(&self, name: &str) -> PathBuf {
        self.folder.at(name)
    }

    pub(super) fn write(&self, name: &str, text: &str) {
        self.folder.write(name, text);
    }

    /// What `/reports` has, of what is in force.
    pub(super) fn limit(&self) -> u64 {
        let live = self.live.load();
        let (_, limit) = live.limits.policy().limit_named("reports").unwrap();
        limit.numbers.burst()
    }

    /// How many of so many requests are granted.
    pub(super) fn granted(&self, path: &str, requests: usize) -> usize {
        granted(&self.live, path, requests)
    }

    /// Waits for a reload.
    pub(super) async fn until(&mut self, is: impl FnMut(&ReloadOutcome) -> bool) -> ReloadOutcome {
        let waited = timeout(PATIENCE, self.outcomes.wait_for(is)).await.map(|seen| seen.unwrap().clone());
        waited.unwrap_or_else(|_| panic!("{:?}", self.outcomes.borrow()))
    }

    pub(super) async fn until_generation(&mut self, generation: u64) -> ReloadOutcome {
        self.until(|outcome| outcome.generation >= generation).await
    }

    /// The next line with this message.
    pub(super) async fn line(&mut self, message: &str) -> Value {
        loop {
            let line = timeout(PATIENCE, self.lines.recv()).await.expect(message).expect(message);
            if line["message"] == message {
                return line;
            }
        }
    }
}

impl World<Running> {
    /// Asks for a reload.
    pub(super) async fn ask(&self) {
        self.reloader.ask.send(()).await.unwrap();
    }

    pub(super) fn into_parts(self) -> (oneshot::Sender<()>, JoinHandle<()>) {
        (self.reloader.stop, self.reloader.ended)
    }
}

/// How many of so many requests are granted by what is in force at each.
pub(super) fn granted(live: &PolicyHandle, path: &str, requests: usize) -> usize {
    let headers = http::HeaderMap::new();
    let ask = || {
        let head = RequestHead::new("GET", path, &headers).with_peer("203.0.113.9".parse().unwrap());
        let outcome = live.load().enforcer.try_check(&head, &mut Scratch::default()).unwrap();
        matches!(outcome, tollgate_engine::Outcome::Admitted(_))
    };
    (0..requests).filter(|_| ask()).count()
}

/// Gives lines to whoever waits for them.
struct Out(mpsc::UnboundedSender<Value>);

impl Write for Out {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let line = serde_json::from_slice(bytes).expect("a line is JSON");
        self.0.send(line).map_err(|_| io::ErrorKind::BrokenPipe)?;
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}
