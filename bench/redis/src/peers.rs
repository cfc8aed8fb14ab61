//! The usual scripts, called as their users call them.

use crate::keys::{client, usual};
use crate::limits::{BURST, DAY, WEEK};
use crate::plain::{Step, is_granted};
use crate::wire::{Said, write_command};

pub(crate) const TOKEN_BUCKET: &str = include_str!("scripts/token_bucket.lua");
pub(crate) const GCRA: &str = include_str!("scripts/gcra.lua");
pub(crate) const LOG: &str = include_str!("scripts/log.lua");
pub(crate) const EXACT_LOG: &str = include_str!("scripts/exact_log.lua");
pub(crate) const TELLING_LOG: &str = include_str!("scripts/telling_log.lua");
pub(crate) const BARE: &str = include_str!("scripts/bare.lua");
pub(crate) const LIMITADOR_READ: &str = include_str!("scripts/limitador_read.lua");
pub(crate) const LIMITADOR_COUNT: &str = include_str!("scripts/limitador_count.lua");

/// Capacity, tokens a second, cost.
pub(crate) fn token_bucket_arguments() -> Vec<String> {
    // A whole number of nanotokens a second, in which a decimal fraction is written without floats.
    let nanos = BURST * 1_000_000_000 / WEEK;
    vec![BURST.to_string(), format!("0.{nanos:09}"), "1".into()]
}

/// Burst, so many in a period, the period in seconds, cost.
pub(crate) fn gcra_arguments() -> Vec<String> {
    vec![BURST.to_string(), BURST.to_string(), WEEK.to_string(), "1".into()]
}

/// The window in seconds, and the limit.
pub(crate) fn log_arguments(limit: u64) -> Vec<String> {
    vec![DAY.to_string(), limit.to_string()]
}

/// A call of a script that the server knows by this digest.
pub(crate) fn call(digest: String, arguments: Vec<String>) -> Step {
    let encode = move |key, to: &mut Vec<u8>| {
        let name = usual(key);
        let mut words: Vec<&str> = vec!["EVALSHA", &digest, "1", &name];
        words.extend(arguments.iter().map(String::as_str));
        write_command(to, &words);
    };
    Step { encode: Box::new(encode), admits: is_granted }
}

/// limitador's two calls: it looks whether there is room, and counts if there is.
pub(crate) fn limitador(read: String, count: String) -> Vec<Step> {
    let look = move |key, to: &mut Vec<u8>| {
        write_command(to, &["EVALSHA", &read, "1", &counter(key)]);
    };
    let (limit, window) = (format!("namespace:{{api}},counters_of_limit:{}", limit()), WEEK.to_string());
    let add = move |key, to: &mut Vec<u8>| {
        write_command(to, &["EVALSHA", &count, "2", &counter(key), &limit, &window, "1"]);
    };
    vec![
        Step { encode: Box::new(look), admits: has_room },
        Step { encode: Box::new(add), admits: is_granted },
    ]
}

/// What limitador calls a counter: the limit and the key's parts, as JSON.
fn counter(key: u32) -> String {
    let parts = format!("{{\"user\":\"{}\"}}", client(key));
    let limit = limit();
    format!(
        "namespace:{{api}},counter:{{\"limit\":{limit},\"set_variables\":{parts},\"remaining\":null,\"expires_in\":null}}"
    )
}

fn limit() -> String {
    format!("{{\"namespace\":\"api\",\"seconds\":{WEEK},\"conditions\":[],\"variables\":[\"user\"]}}")
}

/// Whether one more fits on a counter's value. Nothing is said of one that is not there.
fn has_room(said: &Said) -> Result<bool, String> {
    let Said::Text(text) = said else { return Err(format!("not a counter's value: {said:?}")) };
    if text.is_empty() {
        return Ok(true);
    }
    let value = String::from_utf8_lossy(text).parse::<u64>();
    value.map(|value| value < BURST).map_err(|error| format!("not a counter's value: {text:?}: {error}"))
}

#[test]
fn a_rate_is_a_decimal_fraction() {
    assert_eq!(token_bucket_arguments()[1], "0.000165343");
}

#[test]
fn limitador_calls_its_counters_as_it_does() {
    assert_eq!(
        counter(7),
        "namespace:{api},counter:{\"limit\":{\"namespace\":\"api\",\"seconds\":604800,\"conditions\":[],\"variables\":[\"user\"]},\
         \"set_variables\":{\"user\":\"user:000007\"},\"remaining\":null,\"expires_in\":null}"
    );
}

#[test]
fn a_counter_has_room_below_its_limit() {
    let said = |text: &str| Said::Text(text.as_bytes().to_vec());
    assert_eq!(
        [said(""), said("99"), said("100")].map(|said| has_room(&said).ok()),
        [Some(true), Some(true), Some(false)]
    );
    assert!(has_room(&said("many")).is_err() && has_room(&Said::Number(1)).is_err());
}
