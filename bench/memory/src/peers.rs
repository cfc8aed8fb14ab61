//! The peers: who they are, in which setting, and what to know of their figures. Each has a file that calls
//! it.
//!
//! Every peer that was looked for is here, and builds. Each is in the setting that is best for it in these
//! workloads, and is called in the way that copies least; where its interface takes a key by value, the copy
//! is part of its figures.

mod flux;
mod gcra;
mod governor;
mod limitador;
mod nothing;
mod pingora;
mod throttlecrab;
mod tokio;

use crate::subject::{Candidate, Prepare};
use crate::workload::Workload::{
    self, Batches, Curve, Drained, Granted, Idle, Latency, Refused, Rss, Scattered, Ticked, Together,
    Uniform, Zipf,
};

/// What every peer takes part in.
const COMMON: &[Workload] = &[Refused, Granted, Uniform, Zipf, Rss];

const fn peer(name: &'static str, note: &'static str, prepare: Prepare) -> Candidate {
    Candidate { name, note, takes: COMMON, keys_max: u32::MAX, prepare }
}

/// Whom we are measured against.
pub(crate) fn candidates() -> Vec<Candidate> {
    vec![
        // Takes part in everything: the others are compared with it.
        Candidate {
            takes: &Workload::ALL,
            ..peer("governor String", "its default hasher and clock", governor::default_hasher)
        },
        Candidate {
            takes: &[
                Refused, Granted, Uniform, Zipf, Scattered, Ticked, Batches, Together, Idle, Drained, Curve,
                Rss,
            ],
            ..peer("governor String, fast hasher", "foldhash instead of SipHash", governor::fast_hasher)
        },
        Candidate {
            takes: &[Ticked],
            ..peer(
                "governor String, fast hasher, upkeep clock",
                "a thread reads its clock every millisecond",
                governor::upkeep_clock,
            )
        },
        peer("governor u64", "keys are numbers; its default hasher", governor::numbers),
        peer("governor u64, fast hasher", "keys are numbers; foldhash", governor::numbers_fast_hasher),
        peer("throttlecrab", "its periodic store, sized beforehand, behind a mutex", throttlecrab::prepare),
        peer("pingora-limits", "a sketch, and not exact: 4 rows of a counter per key", pingora::prepare),
        peer("gcra", "takes its key by value and copies it again; foldhash instead of FxHash", gcra::prepare),
        peer("tokio-rate-limit", "", tokio::prepare),
        peer("flux-limiter", "takes its key by value", flux::prepare),
        Candidate {
            keys_max: 1_000_000,
            ..peer(
                "limitador",
                "fixed windows; makes a context for its expressions each time; at most 10^6 keys",
                limitador::prepare,
            )
        },
        Candidate {
            takes: &[Refused, Granted, Uniform, Zipf, Scattered, Latency],
            ..peer("no limiter", "what the loop and reading a key cost by themselves", nothing::prepare)
        },
    ]
}
