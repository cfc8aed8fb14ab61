//! Scripts put together from files: a clock, a driver, and the algorithms that a call needs. It does not say what to send.
//!
//! A Lua function is made anew each time a script runs, which costs more than what it does. So the files are not functions
//! but sections, named as the functions of the Rust file whose twin they are, and a driver names the section that stands in a
//! place. There are few scripts: one per driver and set of algorithms, each put together once.

use std::sync::OnceLock;

use tollgate_core::{Algorithm, Limit};

use crate::Script;

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
pub(crate) struct Kinds(u8);

/// What a script does.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Driver {
    /// One hit on one key.
    Charge,
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
}

/// Where the time comes from.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Clock {
    /// The server.
    Server,
    /// The last argument.
    #[cfg_attr(not(feature = "given-time"), expect(dead_code, reason = "only tests give the time"))]
    Given,
}

/// How many sets of kinds there are, and how many drivers: `Few` is one for each number of keys.
const SETS: usize = 16;
const DRIVERS: usize = 8;

/// The most keys for which a script is written out. More are asked about in a loop, which takes longer for each.
pub(crate) const FEW_MAX: u8 = 4;

static SERVER: [OnceLock<Script>; SETS * DRIVERS] = [const { OnceLock::new() }; SETS * DRIVERS];
static GIVEN: [OnceLock<Script>; SETS * DRIVERS] = [const { OnceLock::new() }; SETS * DRIVERS];

/// The script for a driver and the kinds that the call is about.
pub(crate) fn script(driver: Driver, kinds: Kinds, clock: Clock) -> &'static Script {
    let place = driver.place() * SETS + usize::from(kinds.0);
    let scripts = match clock {
        Clock::Server => &SERVER,
        Clock::Given => &GIVEN,
    };
    let cell = scripts.get(place).expect("a set of four kinds is below 16");
    cell.get_or_init(|| {
        let text = Assembly { driver, kinds, clock }.text();
        let digest = redis::Script::new(&text).get_hash().to_string();
        Script { text, digest }
    })
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

    /// Its own sections, and others that it uses.
    const fn files(self) -> &'static [&'static str] {
        const STATE: &str = include_str!("scripts/state.lua");
        match self {
            Self::Debt => &[include_str!("scripts/debt.lua"), STATE],
            Self::FixedWindow => {
                &[include_str!("scripts/fixed_window.lua"), include_str!("scripts/window.lua"), STATE]
            }
            Self::SlidingWindow => &[include_str!("scripts/sliding_window.lua"), STATE],
            Self::List => &[include_str!("scripts/list.lua"), STATE],
        }
    }

    /// How a script tells it from the others.
    const fn condition(self) -> &'static str {
        match self {
            Self::Debt => "tag <= 19",
            Self::FixedWindow => "tag == 20",
            Self::SlidingWindow => "tag == 21",
            Self::List => "tag >= 22",
        }
    }

    fn section(self, name: &str) -> Option<&'static str> {
        self.files().iter().find_map(|file| section(file, name))
    }
}

impl Kinds {
    pub(crate) fn of<'a>(limits: impl IntoIterator<Item = &'a Limit>) -> Self {
        let bits = limits.into_iter().filter_map(Limit::algorithm).map(|algorithm| Kind::of(algorithm) as u8);
        Self(bits.fold(0, |all, bit| all | bit))
    }

    fn iter(self) -> impl Iterator<Item = Kind> {
        KINDS.into_iter().filter(move |kind| self.0 & *kind as u8 != 0)
    }
}

/// What a script is made of.
struct Assembly {
    driver: Driver,
    kinds: Kinds,
    clock: Clock,
}

impl Assembly {
    fn text(&self) -> String {
        let clock = match self.clock {
            Clock::Server => include_str!("scripts/clock_server.lua"),
            Clock::Given => include_str!("scripts/clock_given.lua"),
        };
        let mut text = String::new();
        for file in [include_str!("scripts/head.lua"), clock] {
            self.add(&mut text, file, self.kinds);
        }
        self.include(&mut text, "main", self.kinds);
        text
    }

    const fn driver_file(&self) -> &'static str {
        match self.driver {
            Driver::Charge => include_str!("scripts/charge.lua"),
            Driver::Few(_) => include_str!("scripts/few.lua"),
            Driver::Batch | Driver::Peek => include_str!("scripts/batch.lua"),
            Driver::Verbs => include_str!("scripts/verbs.lua"),
            Driver::Reset => include_str!("scripts/reset.lua"),
        }
    }

    /// Adds lines of code, and in the place of each line that names a section, that section.
    fn add(&self, text: &mut String, lines: &str, kinds: Kinds) {
        for line in lines.lines().map(str::trim) {
            if let Some(name) = line.strip_prefix("--> ") {
                self.include(text, name, kinds);
            } else if !line.is_empty() && !line.starts_with("--") {
                text.push_str(line);
                text.push('\n');
            }
        }
    }

    fn include(&self, text: &mut String, name: &str, kinds: Kinds) {
        if let Some(lines) = section(self.driver_file(), name) {
            self.include_of_driver(text, name, lines);
            return;
        }
        if name == "numbers" {
            for kind in kinds.iter() {
                self.add(text, kind.section(name).unwrap_or_default(), Kinds(kind as u8));
            }
            return;
        }
        self.choose(text, name, kinds);
    }

    fn include_of_driver(&self, text: &mut String, name: &str, lines: &str) {
        let is_list = self.kinds.0 & Kind::List as u8 != 0;
        match (self.driver, name) {
            // A peek is a batch that is not committed.
            (Driver::Peek, "commit") => {}
            // Where there is but one kind, nobody asks which.
            (_, "kind") if self.kinds.iter().count() == 1 => {}
            // Only lists are changed in place.
            (_, "again") if !is_list => {}
            (Driver::Few(keys), "each" | "commit") => {
                for key in 1..=keys {
                    self.add(text, &lines.replace('@', &key.to_string()), self.kinds);
                }
            }
            (Driver::Few(keys), "main") => self.add(text, &repeated(lines, keys), self.kinds),
            _ => self.add(text, lines, self.kinds),
        }
    }

    /// A section of the one kind that there is, or of that which a key turns out to have.
    fn choose(&self, text: &mut String, name: &str, kinds: Kinds) {
        let is_choice = kinds.iter().count() > 1;
        for (place, kind) in kinds.iter().enumerate() {
            if is_choice {
                let word = if place == 0 { "if" } else { "elseif" };
                text.push_str(&format!("{word} {} then\n", kind.condition()));
            }
            self.add(text, kind.section(name).unwrap_or_default(), Kinds(kind as u8));
        }
        if is_choice {
            text.push_str("end\n");
        }
    }
}

/// What stands in `@(…)`, once for each key, with its number for `@`.
fn repeated(lines: &str, keys: u8) -> String {
    let mut text = String::new();
    let mut rest = lines;
    while let Some((before, pattern, after)) = rest
        .split_once("@(")
        .and_then(|(before, after)| Some((before, after.split_once(')')?)))
        .map(|(before, (pattern, after))| (before, pattern, after))
    {
        text.push_str(before);
        (1..=keys).for_each(|key| text.push_str(&pattern.replace('@', &key.to_string())));
        rest = after;
    }
    text.push_str(rest);
    text
}

/// The lines of a section: from the line `---- name` to the next such line.
fn section<'a>(file: &'a str, name: &str) -> Option<&'a str> {
    let mut sections = file.split("\n---- ").skip(1);
    sections.find_map(|section| section.strip_prefix(name)?.strip_prefix('\n'))
}
