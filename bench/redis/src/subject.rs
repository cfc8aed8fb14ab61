//! Who is measured, where its keys are, and how it is asked. How long and in which order is elsewhere.

use std::ops::RangeInclusive;

use crate::figures::Figures;
use crate::fill::Filling;
use crate::keys::Keys;
use crate::plain::{Step, Way};
use crate::server::Server;
use crate::wire::Said;
use crate::{ours, peers, plain, store};

/// How a subject is asked.
pub(crate) enum Client {
    /// By the plain client, as all scripts are.
    Plain(Vec<Step>),
    /// By our own.
    Store,
}

/// Somebody who is measured.
pub(crate) struct Subject {
    pub(crate) name: &'static str,
    /// What a reader of its figures should know.
    pub(crate) note: &'static str,
    pub(crate) database: u32,
    pub(crate) client: Client,
    pub(crate) filling: Filling,
    /// How many keys it has for each client.
    pub(crate) keys_each: u64,
    /// How many keys it has besides.
    pub(crate) keys_more: u64,
    /// Whether it is on the curve.
    pub(crate) is_drawn: bool,
    /// Per cent that have to be granted, or something else was measured.
    pub(crate) granted: RangeInclusive<u64>,
}

/// The names of our limits: three of them are charged together.
const NAMES: [&str; 3] = ["per client", "per tenant", "in all"];
const NEARLY_ALL: RangeInclusive<u64> = 99..=100;
const ABOUT_HALF: RangeInclusive<u64> = 42..=58;

impl Subject {
    /// Asks for all keys.
    pub(crate) fn load(&self, server: &Server, in_flight: usize, keys: Keys) -> Result<Figures, String> {
        let way = Way { server, database: self.database, in_flight };
        match &self.client {
            Client::Plain(steps) => plain::load(way, &keys, steps),
            Client::Store => store::load(way, keys, ours::token_bucket()?, NAMES[0]),
        }
    }
}

/// Everybody, with a database each. The server learns their scripts.
pub(crate) fn all(server: &Server) -> Result<Vec<Subject>, String> {
    Ok([our_subjects(server)?, peer_subjects(server)?].into_iter().flatten().collect())
}

fn our_subjects(server: &Server) -> Result<Vec<Subject>, String> {
    let (bucket, gcra, log) = (ours::token_bucket()?, ours::gcra()?, ours::log()?);
    for (limit, names) in [(bucket, &NAMES[..1]), (bucket, &NAMES), (gcra, &NAMES[..1]), (log, &NAMES[..1])] {
        learn(server, ours::script(&limit, names))?;
    }
    let one: &'static [&'static str] = &NAMES[..1];
    let subject = |name, note, database, client| Subject {
        name,
        note,
        database,
        client,
        filling: Filling::Charged,
        keys_each: 1,
        keys_more: 0,
        is_drawn: true,
        granted: NEARLY_ALL,
    };
    let plainly = |limit, names| Client::Plain(vec![ours::charge(limit, names)]);
    Ok(vec![
        subject("tollgate token bucket", "one limit, by the plain client", 1, plainly(bucket, one)),
        Subject {
            filling: Filling::Shared,
            ..subject(
                "tollgate token bucket, its own client",
                "`Store::ask` on the same keys, with the core's answer; one connection",
                1,
                Client::Store,
            )
        },
        Subject {
            is_drawn: false,
            ..subject("tollgate GCRA", "one limit, by the plain client", 2, plainly(gcra, one))
        },
        Subject {
            keys_each: 3,
            is_drawn: false,
            ..subject(
                "tollgate, three limits",
                "three token buckets, all or none",
                3,
                plainly(bucket, &NAMES),
            )
        },
        Subject {
            filling: Filling::our_logs(log, NAMES[0]),
            granted: ABOUT_HALF,
            is_drawn: false,
            ..subject("tollgate log", "exact to the microsecond", 4, plainly(log, one))
        },
    ])
}

fn peer_subjects(server: &Server) -> Result<Vec<Subject>, String> {
    let called =
        |text, arguments| Ok::<_, String>(Client::Plain(vec![peers::call(learn(server, text)?, arguments)]));
    let subject = |name, note, database, client| Subject {
        name,
        note,
        database,
        client,
        filling: Filling::Charged,
        keys_each: 1,
        keys_more: 0,
        is_drawn: true,
        granted: NEARLY_ALL,
    };
    Ok(vec![
        subject(
            "HMSET token bucket",
            "HMGET, HMSET, EXPIRE; the server's time, where most copies take the client's",
            5,
            called(peers::TOKEN_BUCKET, peers::token_bucket_arguments())?,
        ),
        subject(
            "float GCRA",
            "GET, SET; the script of redis-gcra and redis_rate",
            6,
            called(peers::GCRA, peers::gcra_arguments())?,
        ),
        Subject {
            filling: Filling::usual_logs(),
            granted: ABOUT_HALF,
            is_drawn: false,
            ..subject(
                "ZSET log",
                "ZREMRANGEBYSCORE, ZCARD, ZADD, EXPIRE; counts whole seconds",
                7,
                called(peers::LOG, peers::log_arguments())?,
            )
        },
        Subject {
            // A set of all its counters.
            keys_more: 1,
            ..subject(
                "limitador's scripts",
                "fixed windows in two calls a decision, not exact by its own words; its own client is left out",
                8,
                Client::Plain(peers::limitador(
                    learn(server, peers::LIMITADOR_READ)?,
                    learn(server, peers::LIMITADOR_COUNT)?,
                )),
            )
        },
    ])
}

/// The server learns a script, and says the digest to call it by.
fn learn(server: &Server, text: &str) -> Result<String, String> {
    match server.connect(0)?.tell(&[b"SCRIPT", b"LOAD", text.as_bytes()])? {
        Said::Text(digest) => String::from_utf8(digest).map_err(|error| error.to_string()),
        Said::Number(_) => Err("the server has no digest for a script".into()),
    }
}
