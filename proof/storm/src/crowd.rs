//! All threads on a few keys, as fast as they can; every admission is logged, and every interval of the log is checked
//! against the limit's bound.

use std::fmt::Write as _;

use tollgate::{Clock, Limit, Limiter, Micros, NamedLimit, Window};

/// More threads than processors, so that some lose theirs in the middle of a decision.
const THREADS: u64 = 8;

/// A limit, and how its log is checked.
struct Watched {
    limit: Limit,
    bound: Bound,
}

/// What no interval may exceed.
enum Bound {
    /// A burst, and so much in so many microseconds.
    Bucket(u64, u64, u64),
    /// So much in each aligned window of so many microseconds.
    Window(u64, u64),
    /// So much in any span of so many microseconds.
    Span(u64, u64),
}

fn watched() -> Result<Vec<Watched>, tollgate::LimitError> {
    let (milli, tenth) = (Micros::MILLISECOND, Micros::from_millis(100));
    let watched = |limit, bound| Watched { limit, bound };
    Ok(vec![
        watched(Limit::token_bucket(10, 7, milli)?, Bound::Bucket(10, 7, 1_000)),
        watched(Limit::gcra(3, 1_000, Micros::SECOND)?, Bound::Bucket(3, 1_000, 1_000_000)),
        watched(Limit::leaky_bucket(5, 100_003, Micros::SECOND)?, Bound::Bucket(5, 100_003, 1_000_000)),
        watched(Limit::fixed_window(500, Window::Every(tenth))?, Bound::Window(500, 100_000)),
        // Its own bound: the limit, and once more for a whole window.
        watched(Limit::sliding_window(500, tenth)?, Bound::Span(1_000, 100_000)),
        watched(Limit::sliding_window_buckets(500, tenth, 10)?, Bound::Span(500, 100_000)),
        watched(Limit::sliding_window_log(500, tenth)?, Bound::Span(500, 100_000)),
    ])
}

pub(crate) fn run(operations: u64) -> Result<String, String> {
    let limiter = Limiter::builder().clock(Clock::monotonic()).build().map_err(|error| error.to_string())?;
    let watched = watched().map_err(|error| error.to_string())?;
    let named: Vec<NamedLimit> =
        watched.iter().map(|watched| limiter.limit(&watched.limit.to_string(), watched.limit)).collect();
    let each = operations / THREADS;
    let logs: Result<Vec<_>, _> = std::thread::scope(|scope| {
        let run = |thread| {
            let (limiter, named) = (&limiter, &named);
            scope.spawn(move || one_thread(limiter, named, thread, each))
        };
        let running: Vec<_> = (0..THREADS).map(run).collect();
        running.into_iter().map(|thread| thread.join().map_err(|_| "a thread panicked")).collect()
    });
    let logs = logs?;
    let mut report = format!(
        "{} operations of {THREADS} threads on {} keys:\n\n| limit | admitted | too much |\n|---|---|---|\n",
        each * THREADS,
        named.len()
    );
    for (number, watched) in watched.iter().enumerate() {
        let mut log: Vec<u64> = logs.iter().flat_map(|log| &log[number]).copied().collect();
        log.sort_unstable();
        let wrong = watched.bound.exceeded(&log);
        let _ = writeln!(report, "| {} | {} | {wrong} |", watched.limit, log.len());
        if wrong > 0 || log.is_empty() {
            return Err(format!("{report}\n{}: {wrong} of {} admissions too much", watched.limit, log.len()));
        }
    }
    Ok(report)
}

/// The instants of what was admitted, for each key.
fn one_thread(limiter: &Limiter, named: &[NamedLimit], thread: u64, operations: u64) -> Vec<Vec<u64>> {
    let mut logs = vec![Vec::new(); named.len()];
    for (operation, turn) in (0..operations).zip((0..named.len()).cycle()) {
        let limit = &named[turn];
        // Now and then two at once, in an order of each thread's own.
        let verdict = if operation % 64 == 0 {
            let other = &named[(turn + 1) % named.len()];
            let hits = if thread.is_multiple_of(2) {
                [limit.hit("few"), other.hit("few")]
            } else {
                [other.hit("few"), limit.hit("few")]
            };
            let Ok(verdict) = limiter.try_charge(&hits) else { continue };
            if verdict.is_granted() {
                let at = |hit: usize| verdict.results()[hit].decision().at.get();
                let (own, its) = if thread.is_multiple_of(2) { (0, 1) } else { (1, 0) };
                logs[turn].push(at(own));
                logs[(turn + 1) % named.len()].push(at(its));
            }
            continue;
        } else {
            limiter.try_charge(&[limit.hit("few")])
        };
        if let Ok(verdict) = verdict
            && verdict.is_granted()
        {
            logs[turn].push(verdict.results()[0].decision().at.get());
        }
    }
    logs
}

impl Bound {
    /// How many admissions, of cost 1 each and in the order of time, are too much.
    fn exceeded(&self, log: &[u64]) -> usize {
        match *self {
            Self::Bucket(burst, count, period) => {
                let (mut owed, mut last, mut wrong) = (0_u128, 0, 0);
                for at in log {
                    owed = owed.saturating_sub(u128::from(at - last) * u128::from(count));
                    owed += u128::from(period);
                    wrong += usize::from(owed > u128::from(burst) * u128::from(period));
                    last = *at;
                }
                wrong
            }
            Self::Window(limit, length) => {
                let windows = log.chunk_by(|a, b| a / length == b / length);
                windows.map(|window| window.len().saturating_sub(usize::try_from(limit).unwrap_or(0))).sum()
            }
            Self::Span(limit, length) => {
                let limit = usize::try_from(limit).unwrap_or(0);
                log.windows(limit + 1).filter(|span| span[limit] - span[0] < length).count()
            }
        }
    }
}
