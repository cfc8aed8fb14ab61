//! Scripts assembled from files: a clock, a driver, and the algorithms that a call needs.
//!
//! A Lua function is made anew each time a script runs, which costs more than what it does. So the files are not functions
//! but sections, named as the functions of the Rust file whose twin they are, and a driver names the section that stands in a
//! place. There are few scripts: one per driver and set of algorithms, each put together once.

mod assembly;
#[cfg(test)]
mod tests;

use std::sync::OnceLock;

use tollgate_algorithms::{Algorithm, Limit};

use crate::Script;
use assembly::Assembly;

/// The algorithms that have one file in common, as a bit each.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Kind {
    Debt = 1,
    FixedWindow = 2,
    SlidingWindow = 4,
    List = 8,
}

const KINDS: [Kind; 4] = [Kind::Debt, Kind::FixedWindow, Kind::SlidingWindow, Kind::List];

/// A set of kinds, as bits.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
pub(crate) struct KindSet(u8);

/// What a script does.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Driver {
    /// One hit on one key.
    Charge,
    /// Several such calls, each by itself.
    Many,
    /// Enforced hits on so many keys, two to four, all or none.
    Few(u8),
    /// Any hits, all or none.
    Batch,
    /// What a batch would say.
    Peek,
    /// As much as fits, a cost after the fact, a refund.
    Verbs,
    /// Forget.
    Reset,
    /// Permits that several processes share.
    Exchange,
    /// A slot of a queue that several processes share.
    Reserve,
}

/// Where the time comes from.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Clock {
    /// The server.
    Server,
    /// The last argument. Nothing that ships knows this one.
    #[cfg(any(test, feature = "given-time"))]
    Given,
}

const CLOCKS: &[Clock] = &[
    Clock::Server,
    #[cfg(any(test, feature = "given-time"))]
    Clock::Given,
];

/// How many sets of kinds there are, and how many drivers: `Few` is one for each number of keys.
const SETS: usize = 16;
const DRIVERS: usize = 11;

/// The most keys for which a script is written out. More are asked about in a loop, which takes longer for each.
pub(crate) const FEW_MAX: u8 = 4;

static SERVER: [OnceLock<Script>; SETS * DRIVERS] = [const { OnceLock::new() }; SETS * DRIVERS];
#[cfg(any(test, feature = "given-time"))]
static GIVEN: [OnceLock<Script>; SETS * DRIVERS] = [const { OnceLock::new() }; SETS * DRIVERS];

/// The script for a driver and the kinds that the call is about.
pub(crate) fn script(driver: Driver, kinds: KindSet, clock: Clock) -> &'static Script {
    cell(driver, kinds, clock).get_or_init(|| {
        let text = Assembly { driver, kinds, clock }.text();
        let digest = digest(&text);
        Script { text, digest }
    })
}

/// The SHA-1 of a script's text in lower-case hexadecimal digits: the name by which a server knows it.
pub(crate) fn digest(text: &str) -> String {
    sha1_smol::Sha1::from(text).digest().to_string()
}

/// The script that answers several calls of this one; none if it is not one hit on one key.
pub(crate) fn many(charge: &Script) -> Option<&'static Script> {
    for clock in CLOCKS {
        for kinds in KINDS.map(|kind| KindSet(kind as u8)) {
            let made = cell(Driver::Charge, kinds, *clock).get();
            if made.is_some_and(|made| std::ptr::eq(made, charge)) {
                return Some(script(Driver::Many, kinds, *clock));
            }
        }
    }
    None
}

fn cell(driver: Driver, kinds: KindSet, clock: Clock) -> &'static OnceLock<Script> {
    let place = driver.place() * SETS + usize::from(kinds.0);
    let scripts = match clock {
        Clock::Server => &SERVER,
        #[cfg(any(test, feature = "given-time"))]
        Clock::Given => &GIVEN,
    };
    scripts.get(place).expect("a set of four kinds is below 16")
}

impl Driver {
    const fn place(self) -> usize {
        match self {
            Self::Charge => 0,
            Self::Batch => 1,
            Self::Peek => 2,
            Self::Verbs => 3,
            Self::Reset => 4,
            Self::Few(keys) => match keys {
                0..=2 => 5,
                3 => 6,
                4.. => 7,
            },
            Self::Many => 8,
            Self::Exchange => 9,
            Self::Reserve => 10,
        }
    }
}

impl Kind {
    pub(crate) const fn of(algorithm: Algorithm) -> Self {
        match algorithm {
            Algorithm::TokenBucket | Algorithm::LeakyBucket | Algorithm::Gcra => Self::Debt,
            Algorithm::FixedWindow => Self::FixedWindow,
            Algorithm::SlidingWindow => Self::SlidingWindow,
            Algorithm::SlidingWindowBuckets | Algorithm::SlidingWindowLog => Self::List,
        }
    }
}

impl KindSet {
    pub(crate) fn of<'a>(limits: impl IntoIterator<Item = &'a Limit>) -> Self {
        let bits = limits.into_iter().filter_map(Limit::algorithm).map(|algorithm| Kind::of(algorithm) as u8);
        Self(bits.fold(0, |all, bit| all | bit))
    }

    fn iter(self) -> impl Iterator<Item = Kind> {
        KINDS.into_iter().filter(move |kind| self.0 & *kind as u8 != 0)
    }
}
