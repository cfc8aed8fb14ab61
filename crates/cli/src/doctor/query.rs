//! Queries a server, one command after the other, and returns the replies as plain data.

use std::time::Duration;

use tokio::time::Instant;
use tollgate_redis::{Cause, Inspector, LinkError, QueryReply};

use super::observations::{Clock, Fields, Observations, Observed, SlowEvent};
use super::{ASKING_TIME_MAX, ExaminedStore, permission_probe, trial_decisions};
use crate::files;

/// The settings that are looked at. None of them is a secret: passwords are settings, too, and are not asked for.
const CONFIG: [&str; 9] = [
    "appendfsync",
    "lua-time-limit",
    "maxclients",
    "min-replicas-to-write",
    "save",
    "slowlog-log-slower-than",
    "slowlog-max-len",
    "stop-writes-on-bgsave-error",
    "timeout",
];

/// The clock is read so many times; the reading with the shortest round trip counts.
const CLOCK_READINGS: usize = 7;

/// Maximum number of slow-log entries read; servers keep 128 by default.
const SLOW_MAX: &str = "1024";

/// A connection on which there is a time to ask.
struct QueryConnection {
    inspector: Inspector,
    until: Instant,
}

/// Asks everything, and tries it out.
pub(super) async fn ask(inspector: Inspector, patient: &ExaminedStore) -> Observations {
    let sends_password = patient.settings.password.is_some();
    let user = patient.address.user().or(sends_password.then_some("default")).map(str::to_owned);
    let mut asker = QueryConnection { inspector, until: Instant::now() + ASKING_TIME_MAX };
    let info = asker.info().await;
    let config = asker.config().await;
    let clock = asker.clock().await;
    let slow = asker.slow(&clock).await;
    let events = asker.events(&clock).await;
    let may_flush = asker.may_flush(user.as_deref().unwrap_or("default")).await;
    let [name, _] = trial_decisions::names(&patient.naming);
    let rights = permission_probe::rights(&mut asker.inspector, &name.to_string()).await;
    let (decided, latency) = trial_decisions::try_out(patient).await;
    let budget = patient.settings.budget;
    let at = patient.address.to_string();
    let has_secret = patient.has_secret;
    Observations {
        at,
        user,
        has_secret,
        budget,
        info,
        config,
        clock,
        rights,
        may_flush,
        slow,
        events,
        decided,
        latency,
    }
}

impl QueryConnection {
    async fn ask(&mut self, words: &[&str]) -> Observed<QueryReply> {
        if Instant::now() >= self.until {
            return Err("the server is too slow: no time was left for this query".into());
        }
        self.inspector.ask(words).await.map_err(|error| why(&error))
    }

    async fn info(&mut self) -> Observed<Fields> {
        let said = self.ask(&["INFO"]).await?;
        let text = said.text().ok_or("`INFO` returned no text")?;
        Ok(fields(text))
    }

    /// A setting that this server does not have is left out.
    async fn config(&mut self) -> Observed<Fields> {
        let mut fields = Fields::default();
        for name in CONFIG {
            let said = self.ask(&["CONFIG", "GET", name]).await?;
            if let [name, value] = said.list() {
                fields.put(name.text().unwrap_or_default(), value.text().unwrap_or_default());
            }
        }
        Ok(fields)
    }

    async fn clock(&mut self) -> Observed<Clock> {
        let mut best: Option<Clock> = None;
        for _ in 0..CLOCK_READINGS {
            let (ours, asked) = (files::wall_clock(), Instant::now());
            let said = self.ask(&["TIME"]).await?;
            let half = micros(asked.elapsed() / 2);
            let [seconds, rest] = said.list() else { return Err("`TIME` returned no time".into()) };
            let (Some(seconds), Some(rest)) = (seconds.number(), rest.number()) else {
                return Err("`TIME` returned no time".into());
            };
            let theirs = seconds.saturating_mul(1_000_000).saturating_add(rest);
            let middle = i64::try_from(ours.get()).unwrap_or(i64::MAX).saturating_add(half);
            let clock = Clock { ahead: theirs.saturating_sub(middle), error: half.saturating_add(1) };
            if best.is_none_or(|best| clock.error < best.error) {
                best = Some(clock);
            }
        }
        best.ok_or_else(|| "the clock could not be read".into())
    }

    /// The commands that held the server.
    async fn slow(&mut self, clock: &Observed<Clock>) -> Observed<Vec<SlowEvent>> {
        let said = self.ask(&["SLOWLOG", "GET", SLOW_MAX]).await?;
        let entries = entries(&said, "SLOWLOG GET")?;
        let since = ServerTime::of(clock)?;
        let command = |entry: &QueryReply| match entry.list() {
            [_, at, took, words, ..] => {
                let what = words.list().first()?.text()?.to_owned();
                let took = Duration::from_micros(u64::try_from(took.number()?).ok()?);
                Some(SlowEvent { what, took, ago: since.ago(at.number()?) })
            }
            _ => None,
        };
        Ok(entries.iter().filter_map(command).collect())
    }

    /// What else held the server, if it watches for that.
    async fn events(&mut self, clock: &Observed<Clock>) -> Observed<Vec<SlowEvent>> {
        let said = self.ask(&["LATENCY", "LATEST"]).await?;
        let entries = entries(&said, "LATENCY LATEST")?;
        let since = ServerTime::of(clock)?;
        let event = |entry: &QueryReply| match entry.list() {
            [what, at, took, ..] => {
                let took = Duration::from_millis(u64::try_from(took.number()?).ok()?);
                Some(SlowEvent { what: what.text()?.to_owned(), took, ago: since.ago(at.number()?) })
            }
            _ => None,
        };
        Ok(entries.iter().filter_map(event).collect())
    }

    /// Only asked, not tried.
    async fn may_flush(&mut self, user: &str) -> Observed<bool> {
        let said = self.ask(&["ACL", "DRYRUN", user, "FLUSHALL"]).await?;
        match said.text() {
            Some("OK") => Ok(true),
            Some(refusal) if refusal.contains("no permissions") => Ok(false),
            Some(_) | None => Err("it returned an unexpected reply".into()),
        }
    }
}

/// What a list has in it. What is no list is not an empty one.
fn entries<'t>(said: &'t QueryReply, question: &str) -> Observed<&'t [QueryReply]> {
    if matches!(said, QueryReply::List(_)) {
        Ok(said.list())
    } else {
        Err(format!("`{question}` returned no list"))
    }
}

/// The server's time now, in whole seconds.
struct ServerTime(i64);

impl ServerTime {
    fn of(clock: &Observed<Clock>) -> Observed<Self> {
        let clock = clock.as_ref().map_err(|why| format!("its age is unknown without `TIME`: {why}"))?;
        let ours = i64::try_from(files::wall_clock().get()).unwrap_or(i64::MAX);
        Ok(Self(ours.saturating_add(clock.ahead) / 1_000_000))
    }

    fn ago(&self, at: i64) -> Duration {
        Duration::from_secs(u64::try_from(self.0.saturating_sub(at)).unwrap_or(0))
    }
}

/// The fields of `INFO`. A section's line is kept as a field without a value: an empty section says something, too.
fn fields(text: &str) -> Fields {
    let lines = text.lines().map(str::trim_end);
    lines
        .filter_map(|line| if line.starts_with("# ") { Some((line, "")) } else { line.split_once(':') })
        .collect()
}

fn micros(time: Duration) -> i64 {
    i64::try_from(time.as_micros()).unwrap_or(i64::MAX)
}

/// Why something is not known, in a few words.
fn why(error: &LinkError) -> String {
    if error.cause() == Cause::NoPerm { "permission denied".into() } else { error.to_string() }
}

#[test]
fn sections_are_kept_as_well_as_fields() {
    let said = fields("# Memory\r\nused_memory:7\r\nexecutable:/a:b\r\n\r\n# Keyspace\r\nnonsense\r\n");
    let expected = [("# Memory", ""), ("used_memory", "7"), ("executable", "/a:b"), ("# Keyspace", "")];
    assert_eq!(said, expected.into_iter().collect());
}
