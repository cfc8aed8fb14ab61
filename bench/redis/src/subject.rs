//! Somebody who is measured: where its keys are, and how it is asked. Who that is stands in `subjects.rs`.

use std::ops::RangeInclusive;

use tollgate_algorithms::Limit;

use crate::figures::Figures;
use crate::fill::Filling;
use crate::keys::{Keys, Which};
use crate::plain::{Step, Way};
use crate::server::Server;
use crate::{plain, store, together};

/// How a subject is asked.
pub(crate) enum Client {
    /// By the plain client, as all scripts are.
    Plain(Vec<Step>),
    /// By a plain connection, several charges of a limit in each call.
    Together(Limit),
    /// By our own, for a limit and its name.
    Store(Limit, &'static str),
}

/// Somebody who is measured.
pub(crate) struct Subject {
    pub(crate) name: &'static str,
    /// What a reader of its figures should know; nothing if it has been said of another.
    pub(crate) note: &'static str,
    pub(crate) database: u32,
    pub(crate) client: Client,
    pub(crate) filling: Filling,
    /// How many keys it has for each client.
    pub(crate) keys_each: u64,
    /// How many keys it has besides.
    pub(crate) keys_more: u64,
    /// Which of its keys are asked for.
    pub(crate) which: Which,
    /// Whether it is on the curve.
    pub(crate) is_drawn: bool,
    /// Per cent that have to be granted, or something else was measured.
    pub(crate) granted: RangeInclusive<u64>,
}

/// Somebody whose keys are charged once each before, and who grants nearly all.
pub(crate) const fn subject(
    name: &'static str,
    note: &'static str,
    database: u32,
    client: Client,
) -> Subject {
    Subject {
        name,
        note,
        database,
        client,
        filling: Filling::Charged,
        keys_each: 1,
        keys_more: 0,
        which: Which::All,
        is_drawn: false,
        granted: 99..=100,
    }
}

impl Subject {
    /// Asks for all keys.
    pub(crate) fn load(&self, server: &Server, in_flight: usize, keys: Keys) -> Result<Figures, String> {
        let way = Way { server, database: self.database, in_flight };
        match &self.client {
            Client::Plain(steps) => plain::load(way, &keys, steps),
            Client::Together(limit) => together::load(way, &keys, limit),
            Client::Store(limit, name) => store::load(way, keys, *limit, name),
        }
    }
}
