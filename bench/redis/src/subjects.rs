//! Everybody who is measured: ours first, then the usual scripts. What a subject is stands in `subject.rs`.

use tollgate_algorithms::Limit;

use crate::fill::Filling;
use crate::keys::Which;
use crate::limits::LOG_LIMIT;
use crate::logs::Logs;
use crate::plain::Step;
use crate::server::Server;
use crate::subject::{Client, Subject, subject};
use crate::wire::Said;
use crate::{ours, peers, together};

/// The names of our limits: three of them are charged together.
const NAMES: &[&str] = &[ours::NAME, "per tenant", "in all"];
const ONE: &[&str] = &[ours::NAME];

/// Everybody, with databases of their own. The server learns their scripts.
pub(crate) fn all(server: &Server) -> Result<Vec<Subject>, String> {
    let mut all = our_buckets(server)?;
    let [our_logs, usual_logs @ ..] = &LOG_KINDS;
    all.extend(our_logs.thrice(server)?);
    all.extend(our_logs_together(server)?);
    all.extend(usual_buckets(server)?);
    for logs in usual_logs {
        all.extend(logs.thrice(server)?);
    }
    all.push(limitador(server)?);
    all.extend(bare(server)?);
    Ok(all)
}

/// Who has one key for each client, and a figure asked for its bytes: our token bucket, and the usual ones.
pub(crate) fn buckets(server: &Server) -> Result<Vec<Subject>, String> {
    let ours = subject("tollgate token bucket", "", 1, our_calls(server, ours::token_bucket()?, ONE)?);
    Ok(std::iter::once(ours).chain(usual_buckets(server)?).collect())
}

fn our_buckets(server: &Server) -> Result<Vec<Subject>, String> {
    let (bucket, gcra) = (ours::token_bucket()?, ours::gcra()?);
    let by_store = "`Store::ask` on the same keys, with the core's answer; one connection";
    let store = Client::Store(bucket, ours::NAME);
    let of_together =
        "the same keys; 16 decisions in each script call, as our own client sends what waits together";
    Ok(vec![
        Subject {
            is_drawn: true,
            ..subject("tollgate token bucket", "by the plain client", 1, our_calls(server, bucket, ONE)?)
        },
        Subject {
            is_drawn: true,
            filling: Filling::Shared,
            ..subject("tollgate token bucket, own client", by_store, 1, store)
        },
        Subject {
            filling: Filling::Shared,
            ..subject("tollgate token bucket, 16 a call", of_together, 1, together_calls(server, bucket)?)
        },
        subject("tollgate GCRA", "by the plain client", 2, our_calls(server, gcra, ONE)?),
        Subject {
            keys_each: 3,
            ..subject(
                "tollgate, three limits",
                "three token buckets, all or none",
                3,
                our_calls(server, bucket, NAMES)?,
            )
        },
    ])
}

/// A kind of log: who, what is to be known of it, its database, how it is filled and called under a limit.
struct LogKind {
    names: [&'static str; 3],
    note: &'static str,
    database: u32,
    logs: Logs,
    calls: fn(&Server, u64) -> Result<Client, String>,
}

const LOG_KINDS: [LogKind; 4] = [
    LogKind {
        names: ["tollgate log", "tollgate log, granted", "tollgate log, refused"],
        note: "exact to the microsecond, and tells all that a client is told",
        database: 4,
        logs: Logs::OURS,
        calls: |server, limit| our_calls(server, ours::log(limit)?, ONE),
    },
    LogKind {
        names: ["ZSET log", "ZSET log, granted", "ZSET log, refused"],
        note: "ZREMRANGEBYSCORE, ZCARD, ZADD, EXPIRE; counts whole seconds, says yes or no",
        database: 7,
        logs: Logs::USUAL,
        calls: |server, limit| usual_calls(server, peers::LOG, peers::log_arguments(limit)),
    },
    // As exact as ours, but for charges of one microsecond, which are one.
    LogKind {
        names: ["exact ZSET log", "exact ZSET log, granted", "exact ZSET log, refused"],
        note: "the same, with scores in microseconds",
        database: 9,
        logs: Logs::EXACT,
        calls: |server, limit| usual_calls(server, peers::EXACT_LOG, peers::log_arguments(limit)),
    },
    // What a sorted set takes to do what ours does.
    LogKind {
        names: ["ZSET log that tells", "ZSET log that tells, granted", "ZSET log that tells, refused"],
        note: "the same, with a name for each charge, and it tells what remains, how long to wait, and when all is as new, as ours does",
        database: 10,
        logs: Logs::TELLING,
        calls: |server, limit| usual_calls(server, peers::TELLING_LOG, peers::log_arguments(limit)),
    },
];

/// All logs under one limit. The server learns their scripts.
pub(crate) fn logs_of(server: &Server, limit: u64) -> Result<Vec<Subject>, String> {
    LOG_KINDS.iter().map(|kind| kind.all(server, limit)).collect()
}

impl LogKind {
    /// All of its keys: those with room, and those that are full.
    fn all(&self, server: &Server, limit: u64) -> Result<Subject, String> {
        let [name, ..] = self.names;
        let filling = Filling::Logs(self.logs, limit);
        let subject = subject(name, self.note, self.database, (self.calls)(server, limit)?);
        Ok(Subject { granted: 42..=58, filling, ..subject })
    }

    /// The same logs three times: all of them, those with room, and those that are full.
    fn thrice(&self, server: &Server) -> Result<[Subject; 3], String> {
        let [_, granted, refused] = self.names;
        let shared = |which, allowed, name| {
            let subject = subject(name, "", self.database, (self.calls)(server, LOG_LIMIT)?);
            Ok::<_, String>(Subject { which, granted: allowed, filling: Filling::Shared, ..subject })
        };
        Ok([
            self.all(server, LOG_LIMIT)?,
            // Some of them are full by the end: the faster the machine, the more.
            shared(Which::Odd, 90..=100, granted)?,
            shared(Which::Even, 0..=0, refused)?,
        ])
    }
}

/// Our logs again, several in a call, and as our own client asks for them; with keys of their own, because so many grants would
/// fill the others.
fn our_logs_together(server: &Server) -> Result<[Subject; 2], String> {
    let log = ours::log(LOG_LIMIT)?;
    let full = |name, database, client| {
        let filling = Filling::Logs(Logs::OURS, LOG_LIMIT);
        Subject { granted: 42..=58, filling, ..subject(name, "", database, client) }
    };
    Ok([
        full("tollgate log, own client", 12, Client::Store(log, ours::NAME)),
        full("tollgate log, 16 a call", 11, together_calls(server, log)?),
    ])
}

/// The least that one limit and three limits take, on the keys of ours.
fn bare(server: &Server) -> Result<[Subject; 2], String> {
    let digest = learn(server, peers::BARE)?;
    let bare = |name, note, names| {
        let client = Client::Plain(vec![ours::bare(digest.clone(), names)]);
        Subject { filling: Filling::Shared, keys_each: 3, ..subject(name, note, 3, client) }
    };
    let note = "no limiter: the time, GET and SET with a fixed expiry, of the same keys";
    Ok([bare("bare, one key", note, ONE), bare("bare, three keys", "", NAMES)])
}

fn usual_buckets(server: &Server) -> Result<[Subject; 2], String> {
    let bucket = usual_calls(server, peers::TOKEN_BUCKET, peers::token_bucket_arguments())?;
    let gcra = usual_calls(server, peers::GCRA, peers::gcra_arguments())?;
    let of_bucket = "HMGET, HMSET, EXPIRE; the server's time, where most copies take the client's";
    let of_gcra = "GET, SET; the script of redis-gcra and redis_rate";
    Ok([
        Subject { is_drawn: true, ..subject("HMSET token bucket", of_bucket, 5, bucket) },
        Subject { is_drawn: true, ..subject("float GCRA", of_gcra, 6, gcra) },
    ])
}

fn limitador(server: &Server) -> Result<Subject, String> {
    let [read, count] = [peers::LIMITADOR_READ, peers::LIMITADOR_COUNT].map(|text| learn(server, text));
    let client = Client::Plain(peers::limitador(read?, count?));
    let note = "fixed windows in two calls a decision, not exact by its own words; by the plain client, so that its own costs nothing";
    // It keeps a set of all its counters.
    Ok(Subject { is_drawn: true, keys_more: 1, ..subject("limitador's scripts", note, 8, client) })
}

/// Calls of our script for some limits at once.
fn our_calls(server: &Server, limit: Limit, names: &'static [&'static str]) -> Result<Client, String> {
    learn(server, ours::script(&limit, names))?;
    Ok(Client::Plain(vec![ours::charge(limit, names)]))
}

/// Calls of our script for several charges of one limit each.
fn together_calls(server: &Server, limit: Limit) -> Result<Client, String> {
    learn(server, together::script(&limit)?)?;
    Ok(Client::Together(limit))
}

/// Calls of a usual script.
fn usual_calls(server: &Server, text: &str, arguments: Vec<String>) -> Result<Client, String> {
    let step: Step = peers::call(learn(server, text)?, arguments);
    Ok(Client::Plain(vec![step]))
}

/// The server learns a script, and says the digest to call it by.
fn learn(server: &Server, text: &str) -> Result<String, String> {
    match server.connect(0)?.tell(&[b"SCRIPT", b"LOAD", text.as_bytes()])? {
        Said::Text(digest) => String::from_utf8(digest).map_err(|error| error.to_string()),
        Said::Number(_) => Err("the server has no digest for a script".into()),
    }
}
