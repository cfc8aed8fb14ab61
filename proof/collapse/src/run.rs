//! One run: the server alone, then behind a gateway with and without an adaptive limit, at three times its capacity.

use std::io;
use std::net::SocketAddr;
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::Duration;

use tokio::time::{Instant, sleep_until};
use tollgate_cli::serve::start;
use tollgate_cli::settings::{Protocol, Settings, Upstream, UpstreamLimit};
use tollgate_policy::numbers::MethodName;
use tollgate_testing::folder::Folder;

use crate::load::{Counts, offer, saturate};
use crate::server::{self, AT_ONCE, CAPACITY};

/// How many times its capacity is offered during the overload.
pub(crate) const OVERLOAD: f64 = 3.0;
/// And before and after.
const CALM: f64 = 0.5;

/// How long the parts of a run take, in seconds.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Plan {
    /// The server alone, at its best.
    pub(crate) peak: u64,
    /// Before the overload.
    pub(crate) before: u64,
    /// The overload.
    pub(crate) overload: u64,
    /// Of that, what is not judged, because the limit has to be found first.
    pub(crate) settles: u64,
    /// After the overload.
    pub(crate) after: u64,
}

/// What came of one second.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Second {
    pub(crate) good: u64,
    pub(crate) refused: u64,
    pub(crate) failed: u64,
    /// The adaptive limit at its end.
    pub(crate) limit: Option<u64>,
}

/// The goodput of the server alone: as many clients as it can work for at once, each with one request after the other.
pub(crate) async fn peak(plan: &Plan) -> io::Result<f64> {
    let (address, counts) = (server::start(1).await?, Arc::new(Counts::default()));
    saturate(address, AT_ONCE, Instant::now() + Duration::from_secs(plan.peak), &counts).await;
    Ok(counts.good.load(Ordering::Relaxed) as f64 / plan.peak as f64)
}

/// The goodput behind a gateway, second by second.
pub(crate) async fn overloaded(plan: &Plan, method: Option<MethodName>) -> io::Result<Vec<Second>> {
    let gateway = Gateway::start(server::start(2).await?, method)?;
    let counts = Arc::new(Counts::default());
    let begin = Instant::now();
    let at = |second| begin + Duration::from_secs(second);
    let all = plan.before + plan.overload + plan.after;
    let offering = {
        let (address, counts) = (gateway.address, Arc::clone(&counts));
        let [before, overload, after] = [plan.before, plan.before + plan.overload, all].map(at);
        tokio::spawn(async move {
            for (times, until, seed) in [(CALM, before, 3), (OVERLOAD, overload, 4), (CALM, after, 5)] {
                offer(address, (times * CAPACITY, until), &counts, seed).await;
            }
        })
    };
    let (mut seconds, mut last) = (Vec::new(), [0; 3]);
    for second in 1..=all {
        sleep_until(at(second)).await;
        let now = [&counts.good, &counts.refused, &counts.failed].map(|count| count.load(Ordering::Relaxed));
        let [good, refused, failed] = [0, 1, 2].map(|kind: usize| now[kind] - last[kind]);
        last = now;
        seconds.push(Second { good, refused, failed, limit: gateway.limit() });
    }
    let _ = offering.await;
    Ok(seconds)
}

/// The mean goodput of the overload, without the time in which the limit is found.
pub(crate) fn judged(plan: &Plan, seconds: &[Second]) -> f64 {
    mean(plan, seconds, |second| second.good)
}

/// The mean of a number in the same seconds.
pub(crate) fn mean(plan: &Plan, seconds: &[Second], of: impl Fn(&Second) -> u64) -> f64 {
    let count = (plan.overload - plan.settles) as usize;
    let part = seconds.iter().skip((plan.before + plan.settles) as usize).take(count);
    part.map(|second| of(second) as f64).sum::<f64>() / count as f64
}

/// A gateway that runs in this process.
struct Gateway {
    address: SocketAddr,
    metrics: Arc<tollgate_cli::telemetry::metrics::Metrics>,
    stopper: tollgate_cli::serve::Stopper,
    _folder: Folder,
}

impl Gateway {
    fn start(upstream: SocketAddr, method: Option<MethodName>) -> io::Result<Self> {
        let folder = Folder::new("collapse");
        let policy = folder.put("policy.yaml", b"tollgate: 1\nroutes: [{ path: /work, rate_limit: none }]\n");
        let upstream = Upstream {
            tls: false,
            host: upstream.ip().to_string(),
            port: upstream.port(),
            protocol: Protocol::Http1,
            ca: None,
            idle_max: 1_000,
            lookup: None,
            adaptive: UpstreamLimit { method, ..UpstreamLimit::default() },
        };
        let mut settings = Settings::new(policy, upstream);
        settings.listen = vec![([127, 0, 0, 1], 0).into()];
        settings.operations = None;
        settings.workers = Some(1);
        let running = start(settings, io::sink()).map_err(|why| io::Error::other(format!("{why:?}")))?;
        let (address, metrics) = (running.addresses()[0], Arc::clone(running.metrics()));
        let stopper = running.stopper();
        std::thread::spawn(move || running.run());
        Ok(Self { address, metrics, stopper, _folder: folder })
    }

    fn limit(&self) -> Option<u64> {
        let page = self.metrics.encode();
        let line = page.lines().find(|line| line.starts_with("tollgate_adaptive_limit{"))?;
        line.rsplit(' ').next()?.parse().ok()
    }
}

impl Drop for Gateway {
    fn drop(&mut self) {
        self.stopper.stop();
    }
}
