//! Which limit a command is about: an algorithm with its numbers, a limit as text, or a limit of the policy by its name.

use tollgate::algorithms::Mode;
use tollgate::{Algorithm, ConcurrencyLimit, Hit, Limit, LimitError, Micros, NamedLimit, Window};
use tollgate_engine::CountedBy;

use super::Shared;
use super::arguments::{Arguments, Refusal, shown};
use super::commands::{Argument, Subcommand, after, key, optional, text, whole};

/// The subcommands of every command that is about a limit.
pub(super) const SELECTIONS: &[Subcommand] = &[
    quota("GCRA", "Cells period/count apart; CL.THROTTLE with burst = max_burst + 1 has the same budget"),
    quota("TOKEN_BUCKET", "Tokens up to burst, refilled at count per period of seconds"),
    quota("LEAKY_BUCKET", "A level up to burst, drained at count per period of seconds"),
    window("FIXED_WINDOW", "At most limit in each aligned window of seconds"),
    window("SLIDING_WINDOW", "About limit in any window of seconds, from two counters"),
    window("SLIDING_WINDOW_LOG", "Exactly limit in any window of seconds"),
    Subcommand {
        name: "SLIDING_WINDOW_BUCKETS",
        summary: "Never more than limit in any window of seconds",
        arguments: &[key(), whole("limit"), whole("window"), whole("buckets")],
    },
    Subcommand {
        name: "TEXT",
        summary: "A limit as text, such as '10 per second, burst 20' or 'fixed_window: 5 per calendar day'",
        arguments: &[key(), text("limit")],
    },
    Subcommand {
        name: "NAMED",
        summary: "A limit of the policy, with its numbers, mode and failure rule",
        arguments: &[key(), text("name"), optional(after("TIER", text("tier")))],
    },
];

const QUOTA: &[Argument] = &[key(), whole("burst"), whole("count"), whole("period")];
const WINDOW: &[Argument] = &[key(), whole("limit"), whole("window")];

const fn quota(name: &'static str, summary: &'static str) -> Subcommand {
    Subcommand { name, summary, arguments: QUOTA }
}

const fn window(name: &'static str, summary: &'static str) -> Subcommand {
    Subcommand { name, summary, arguments: WINDOW }
}

/// The limit that a command is about, and the key.
pub(super) struct Selected<'a> {
    pub(super) key: &'a [u8],
    pub(super) by: By,
    pub(super) mode: Mode,
}

/// How it is counted.
pub(super) enum By {
    Rate(NamedLimit),
    Concurrency(ConcurrencyLimit),
}

impl<'a> Selected<'a> {
    /// Reads a subcommand, the key and the numbers.
    pub(super) fn parse(shared: &Shared, arguments: &mut Arguments<'a>) -> Result<Self, Refusal> {
        let name = arguments.required("the kind of limit, such as GCRA or NAMED,")?;
        if name.eq_ignore_ascii_case(b"NAMED") {
            return named(shared, arguments);
        }
        let is_it = |algorithm: &Algorithm| algorithm.name().as_bytes().eq_ignore_ascii_case(name);
        let algorithm = Algorithm::ALL.into_iter().find(is_it);
        let is_text = name.eq_ignore_ascii_case(b"TEXT");
        if algorithm.is_none() && !is_text {
            let found = shown(name);
            return Err(Refusal::invalid(format_args!("unknown kind of limit '{found}': try HELP")));
        }
        let key = arguments.required("key")?;
        let limit = match algorithm {
            Some(algorithm) => numbers(algorithm, arguments)?,
            None => arguments.text("limit")?.parse().map_err(Refusal::invalid)?,
        };
        let limit = shared.caller_limits.get(limit);
        Ok(Self { key, by: By::Rate(limit), mode: Mode::Enforced })
    }

    /// The limit, if it is none on permits.
    pub(super) fn rate(&self) -> Result<&NamedLimit, Refusal> {
        match &self.by {
            By::Rate(limit) => Ok(limit),
            By::Concurrency(limit) => Err(Refusal::invalid(format_args!(
                "'{}' limits what is in progress: use TG.ACQUIRE",
                limit.name()
            ))),
        }
    }

    /// A hit on the key of its limit.
    pub(super) fn hit<'b>(&'b self, limit: &'b NamedLimit) -> Hit<'b> {
        let hit = limit.hit(self.key);
        match self.mode {
            Mode::Enforced => hit,
            Mode::Shadow => hit.shadow(),
        }
    }
}

/// A limit of the policy.
pub(super) fn named<'a>(shared: &Shared, arguments: &mut Arguments<'a>) -> Result<Selected<'a>, Refusal> {
    let key = arguments.required("key")?;
    let name = arguments.text("name")?;
    let tier = if arguments.word("TIER") { Some(arguments.text("tier")?) } else { None };
    let policy = (shared.policy)();
    let policy = policy.ok_or_else(|| Refusal::invalid("there is no policy, and so no limit has a name"))?;
    let found = policy.limit_by_name(name, tier).map_err(Refusal::invalid)?;
    let by = match found.counted {
        CountedBy::Rate(limit) => By::Rate(limit),
        CountedBy::Concurrency(limit) => By::Concurrency(limit),
        CountedBy::Queue(_) => {
            return Err(Refusal::invalid(format_args!(
                "'{name}' is a queue: requests of this protocol cannot wait in it"
            )));
        }
        _ => return Err(Refusal::invalid(format_args!("'{name}' cannot be used here"))),
    };
    Ok(Selected { key, by, mode: found.mode })
}

fn numbers(algorithm: Algorithm, arguments: &mut Arguments<'_>) -> Result<Limit, Refusal> {
    let limit = match algorithm {
        Algorithm::TokenBucket => {
            let (burst, count, period) = quota_numbers(arguments)?;
            Limit::token_bucket(burst, count, period)
        }
        Algorithm::LeakyBucket => {
            let (burst, count, period) = quota_numbers(arguments)?;
            Limit::leaky_bucket(burst, count, period)
        }
        Algorithm::Gcra => {
            let (burst, count, period) = quota_numbers(arguments)?;
            Limit::gcra(burst, count, period)
        }
        Algorithm::FixedWindow => {
            let (limit, window) = window_numbers(arguments)?;
            Limit::fixed_window(limit, Window::Every(window))
        }
        Algorithm::SlidingWindow => {
            let (limit, window) = window_numbers(arguments)?;
            Limit::sliding_window(limit, window)
        }
        Algorithm::SlidingWindowLog => {
            let (limit, window) = window_numbers(arguments)?;
            Limit::sliding_window_log(limit, window)
        }
        Algorithm::SlidingWindowBuckets => {
            let (limit, window) = window_numbers(arguments)?;
            let buckets = u32::try_from(arguments.whole("buckets")?).unwrap_or(u32::MAX);
            Limit::sliding_window_buckets(limit, window, buckets)
        }
    };
    limit.map_err(|error: LimitError| Refusal::invalid(error))
}

fn quota_numbers(arguments: &mut Arguments<'_>) -> Result<(u64, u64, Micros), Refusal> {
    Ok((arguments.whole("burst")?, arguments.whole("count")?, period(arguments.whole("period")?)))
}

fn window_numbers(arguments: &mut Arguments<'_>) -> Result<(u64, Micros), Refusal> {
    Ok((arguments.whole("limit")?, period(arguments.whole("window")?)))
}

/// Seconds as a period. One that is too long is found by the limit's constructor, as any longer than it can count.
pub(super) fn period(seconds: u64) -> Micros {
    Micros::from_secs(seconds)
}
