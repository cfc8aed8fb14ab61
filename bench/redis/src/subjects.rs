//! Everybody who is measured: ours first, then the usual scripts. What a subject is stands in `subject.rs`.

use tollgate_core::Limit;

use crate::fill::Filling;
use crate::keys::Which;
use crate::logs::Logs;
use crate::plain::Step;
use crate::server::Server;
use crate::subject::{Client, Subject, subject};
use crate::wire::Said;
use crate::{ours, peers};

/// The names of our limits: three of them are charged together.
const NAMES: &[&str] = &[ours::NAME, "per tenant", "in all"];
const ONE: &[&str] = &[ours::NAME];

/// Everybody, with databases of their own. The server learns their scripts.
pub(crate) fn all(server: &Server) -> Result<Vec<Subject>, String> {
    let mut all = our_buckets(server)?;
    all.extend(our_logs(server)?);
    all.extend(usual_buckets(server)?);
    all.extend(usual_logs(server)?);
    all.extend(exact_logs(server)?);
    all.push(limitador(server)?);
    all.extend(bare(server)?);
    Ok(all)
}

/// Our token bucket alone.
pub(crate) fn bucket(server: &Server) -> Result<Subject, String> {
    Ok(subject("tollgate token bucket", "", 1, our_calls(server, ours::token_bucket()?, ONE)?))
}

fn our_buckets(server: &Server) -> Result<Vec<Subject>, String> {
    let (bucket, gcra) = (ours::token_bucket()?, ours::gcra()?);
    let by_store = "`Store::ask` on the same keys, with the core's answer; one connection";
    let store = Client::Store(bucket, ours::NAME);
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

fn our_logs(server: &Server) -> Result<[Subject; 3], String> {
    let log = ours::log()?;
    let names = ["tollgate log", "tollgate log, granted", "tollgate log, refused"];
    let filling = Filling::Logs(Logs::OURS);
    logs(names, "exact to the microsecond", 4, filling, || our_calls(server, log, ONE))
}

fn usual_logs(server: &Server) -> Result<[Subject; 3], String> {
    let names = ["ZSET log", "ZSET log, granted", "ZSET log, refused"];
    let note = "ZREMRANGEBYSCORE, ZCARD, ZADD, EXPIRE; counts whole seconds";
    logs(names, note, 7, Filling::Logs(Logs::USUAL), || {
        usual_calls(server, peers::LOG, peers::log_arguments())
    })
}

/// As the usual ones, but as exact as ours.
fn exact_logs(server: &Server) -> Result<[Subject; 3], String> {
    let names = ["exact ZSET log", "exact ZSET log, granted", "exact ZSET log, refused"];
    let note = "the same, with scores in microseconds";
    logs(names, note, 9, Filling::Logs(Logs::EXACT), || {
        usual_calls(server, peers::EXACT_LOG, peers::log_arguments())
    })
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

/// The same logs three times: all of them, those with room, and those that are full.
fn logs(
    names: [&'static str; 3],
    note: &'static str,
    database: u32,
    filling: Filling,
    client: impl Fn() -> Result<Client, String>,
) -> Result<[Subject; 3], String> {
    let [all, granted, refused] = names;
    let shared = |which, allowed, name| {
        let subject = subject(name, "", database, client()?);
        Ok::<_, String>(Subject { which, granted: allowed, filling: Filling::Shared, ..subject })
    };
    Ok([
        Subject { granted: 42..=58, filling, ..subject(all, note, database, client()?) },
        shared(Which::Odd, 97..=100, granted)?,
        shared(Which::Even, 0..=0, refused)?,
    ])
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
