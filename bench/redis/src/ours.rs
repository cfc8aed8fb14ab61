//! Our limits, and our calls for the plain client. Our own client is in `store.rs`.

use tollgate_algorithms::{Limit, LimitError, Micros, Mode};
use tollgate_redis::{Call, Command, Hit, KeyName, Naming, StateKind};

use crate::keys::client;
use crate::limits::{BURST, DAY, WEEK};
use crate::plain::{Step, is_granted};
use crate::wire::write_command;

/// Names under a secret, as they should be.
pub(crate) const NAMING: Naming = Naming::new(*b"a secret of ours");

/// The name of the one limit.
pub(crate) const NAME: &str = "per client";

/// As many a week as the burst.
pub(crate) fn token_bucket() -> Result<Limit, String> {
    Limit::token_bucket(BURST, BURST, Micros::from_secs(WEEK)).map_err(said)
}

/// The same numbers.
pub(crate) fn gcra() -> Result<Limit, String> {
    Limit::gcra(BURST, BURST, Micros::from_secs(WEEK)).map_err(said)
}

/// So many in any day.
pub(crate) fn log(limit: u64) -> Result<Limit, String> {
    Limit::sliding_window_log(limit, Micros::from_secs(DAY)).map_err(said)
}

fn said(error: LimitError) -> String {
    error.to_string()
}

/// One charge for a key, under each of some limits at once, written out. The limits' names differ.
pub(crate) fn charge(limit: Limit, names: &'static [&'static str]) -> Step {
    let encode = move |key, to: &mut Vec<u8>| {
        let client = client(key);
        let names: Vec<_> = names.iter().map(|name| NAMING.name(name, client.as_bytes())).collect();
        let hit = |name| Hit { limit: &limit, name, cost: 1, mode: Mode::Enforced };
        // The usual case is written without a list, as an application has it.
        match names.as_slice() {
            [name] => write_call(to, &Command::Charge(&[hit(name)]).call()),
            more => write_call(to, &Command::Charge(&more.iter().map(hit).collect::<Vec<_>>()).call()),
        }
    };
    Step { encode: Box::new(encode), admits: is_granted }
}

/// What a charge at least takes of the server, for the same keys: a script that reads them and writes them back.
pub(crate) fn bare(digest: String, names: &'static [&'static str]) -> Step {
    let (count, expiry) = (names.len().to_string(), (WEEK * 1_000).to_string());
    let encode = move |key, to: &mut Vec<u8>| {
        let client = client(key);
        let names: Vec<_> = names.iter().map(|name| NAMING.name(name, client.as_bytes())).collect();
        let keys: Vec<_> = names.iter().map(|name| name.of(StateKind::Debt)).collect();
        let mut words: Vec<&[u8]> = vec![b"EVALSHA", digest.as_bytes(), count.as_bytes()];
        words.extend(keys.iter().map(KeyName::as_bytes));
        words.push(expiry.as_bytes());
        write_command(to, &words);
    };
    Step { encode: Box::new(encode), admits: is_granted }
}

/// The script that such a charge runs.
pub(crate) fn script(limit: &Limit, names: &[&str]) -> &'static str {
    let names: Vec<_> = names.iter().map(|name| NAMING.name(name, b"")).collect();
    let hit = |name| Hit { limit, name, cost: 1, mode: Mode::Enforced };
    &Command::Charge(&names.iter().map(hit).collect::<Vec<_>>()).call().script.text
}

/// A call as it is sent.
pub(crate) fn write_call(to: &mut Vec<u8>, call: &Call) {
    let count = call.names.len().to_string();
    let mut words: Vec<&[u8]> = vec![b"EVALSHA", call.script.digest.as_bytes(), count.as_bytes()];
    words.extend(call.names.iter().map(KeyName::as_bytes));
    words.extend(call.arguments.iter().map(|argument| argument.as_slice()));
    write_command(to, &words);
}
