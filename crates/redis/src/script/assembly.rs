//! Assembles the text of a script: puts the sections of the algorithms where the driver names them.

use super::{Clock, Driver, Kind, KindSet};

impl Kind {
    /// Its own sections, and others that it uses.
    const fn files(self) -> &'static [&'static str] {
        const STATE: &str = include_str!("../scripts/state.lua");
        match self {
            Self::Debt => &[include_str!("../scripts/debt.lua"), STATE],
            Self::FixedWindow => {
                &[include_str!("../scripts/fixed_window.lua"), include_str!("../scripts/window.lua"), STATE]
            }
            Self::SlidingWindow => &[include_str!("../scripts/sliding_window.lua"), STATE],
            Self::List => &[include_str!("../scripts/list.lua"), STATE],
        }
    }

    /// How a script tells it from the others.
    const fn condition(self) -> &'static str {
        match self {
            Self::Debt => "tag == 49",
            Self::FixedWindow => "tag == 50",
            Self::SlidingWindow => "tag == 51",
            Self::List => "tag >= 52",
        }
    }

    fn section(self, name: &str) -> Option<&'static str> {
        self.files().iter().find_map(|file| section(file, name))
    }

    /// What the numbers of a limit are called, and the form in which they are sent: as its section `limit` reads them.
    fn limit(self) -> Option<(Vec<&'static str>, &'static str)> {
        let (names, rest) = self.section("limit")?.split_once(", rest = unpack('>")?;
        let (form, _) = rest.split_once('\'')?;
        Some((names.split(", ").collect(), form))
    }
}

/// What each of a few keys has for itself, besides the numbers of its limit.
const OWN: [&str; 5] = ["key", "state", "told", "after", "lasts"];

const fn is_in_word(sign: char) -> bool {
    sign.is_ascii_alphanumeric() || sign == '_'
}

/// What a script is made of.
pub(super) struct Assembly {
    pub(super) driver: Driver,
    pub(super) kinds: KindSet,
    pub(super) clock: Clock,
}

impl Assembly {
    pub(super) fn text(&self) -> String {
        let clock = match self.clock {
            Clock::Server => include_str!("../scripts/clock_server.lua"),
            #[cfg(any(test, feature = "given-time"))]
            Clock::Given => include_str!("../scripts/clock_given.lua"),
        };
        let mut text = String::new();
        self.add(&mut text, clock, self.kinds);
        self.include(&mut text, "main", self.kinds);
        let mut head = String::new();
        self.add(&mut head, include_str!("../scripts/head.lua"), self.kinds);
        let is_used = |line: &&str| line.split(' ').nth(1).is_none_or(|name| text.contains(name));
        let used: Vec<&str> = head.lines().filter(is_used).collect();
        used.join("\n") + "\n" + &text
    }

    /// Its own sections, and others that it uses.
    const fn driver_files(&self) -> &'static [&'static str] {
        const CHARGE: &str = include_str!("../scripts/charge.lua");
        match self.driver {
            Driver::Charge => &[CHARGE],
            Driver::Many => &[include_str!("../scripts/many.lua"), CHARGE],
            Driver::Few(_) => &[include_str!("../scripts/few.lua")],
            Driver::Batch | Driver::Peek => &[include_str!("../scripts/batch.lua")],
            Driver::Verbs => &[include_str!("../scripts/verbs.lua")],
            Driver::Reset => &[include_str!("../scripts/reset.lua")],
            Driver::Exchange => &[include_str!("../scripts/exchange.lua")],
            Driver::Reserve => &[include_str!("../scripts/reserve.lua")],
        }
    }

    /// Adds lines of code, and in the place of each line that names a section, that section.
    fn add(&self, text: &mut String, lines: &str, kinds: KindSet) {
        for line in lines.lines().map(str::trim) {
            if let Some(name) = line.strip_prefix("--> ") {
                self.include(text, name, kinds);
            } else if !line.is_empty() && !line.starts_with("--") {
                text.push_str(line);
                text.push('\n');
            }
        }
    }

    fn include(&self, text: &mut String, name: &str, kinds: KindSet) {
        if let Some(lines) = self.section_of_driver(name) {
            self.include_of_driver(text, name, lines);
            return;
        }
        match (self.driver, name) {
            (_, "numbers") => {
                for kind in kinds.iter() {
                    self.add(text, kind.section(name).unwrap_or_default(), KindSet(kind as u8));
                }
            }
            (Driver::Few(keys), "limits") => text.push_str(&self.limits(keys)),
            // They have been read with those of all other keys.
            (Driver::Few(_), "limit") if self.one_kind().is_some() => {}
            // Only a cost after the fact is not decided by the numbers that are sent with it.
            (driver, "unlike" | "met") if driver != Driver::Verbs => {}
            // A peek keeps nothing alive.
            (Driver::Peek, "renewed") => {}
            _ => self.choose(text, name, kinds),
        }
    }

    fn section_of_driver(&self, name: &str) -> Option<&'static str> {
        self.driver_files().iter().find_map(|file| section(file, name))
    }

    fn include_of_driver(&self, text: &mut String, name: &str, lines: &str) {
        match (self.driver, name) {
            // A peek is a batch that is not committed.
            (Driver::Peek, "commit") => {}
            // Where there is but one kind, nobody asks which.
            (_, "kind" | "back") if self.one_kind().is_some() => {}
            // Only lists are changed in a place that has to be looked for.
            (_, "again") if !self.has_lists() => {}
            (Driver::Few(keys), "each" | "commit") => {
                for key in 1..=keys {
                    let mut own = String::new();
                    self.add(&mut own, lines, self.kinds);
                    text.push_str(&self.of_key(&own, key));
                }
            }
            (Driver::Few(keys), "tell") => self.add(text, &repeated(lines, keys), self.kinds),
            _ => self.add(text, lines, self.kinds),
        }
    }

    fn has_lists(&self) -> bool {
        self.kinds.0 & Kind::List as u8 != 0
    }

    fn one_kind(&self) -> Option<Kind> {
        let mut kinds = self.kinds.iter();
        kinds.next().filter(|_| kinds.next().is_none())
    }

    /// The numbers of the limits of all keys, read at once, if they have the same form.
    fn limits(&self, keys: u8) -> String {
        let Some((names, form)) = self.one_kind().and_then(Kind::limit) else { return String::new() };
        let names: Vec<_> =
            (1..=keys).flat_map(|key| names.iter().map(move |name| format!("{name}{key}"))).collect();
        format!("local {} = unpack('>{}', argument)\n", names.join(", "), form.repeat(keys.into()))
    }

    /// Code about one of several keys: what the key has for itself goes by names with the key's number.
    fn of_key(&self, code: &str, key: u8) -> String {
        let of_limit = self.one_kind().and_then(Kind::limit).map_or(Vec::new(), |(names, _)| names);
        let is_own = |word: &str| OWN.contains(&word) || of_limit.contains(&word);
        let number = key.to_string();
        let mut text = String::new();
        for piece in code.replace('@', &number).split_inclusive(|sign: char| !is_in_word(sign)) {
            let word = piece.trim_end_matches(|sign| !is_in_word(sign));
            text.push_str(word);
            if is_own(word) {
                text.push_str(&number);
            }
            text.push_str(piece.get(word.len()..).unwrap_or_default());
        }
        text
    }

    /// A section of the one kind that there is, or of that which a key turns out to have.
    fn choose(&self, text: &mut String, name: &str, kinds: KindSet) {
        let is_choice = kinds.iter().count() > 1;
        for (place, kind) in kinds.iter().enumerate() {
            if is_choice {
                let word = if place == 0 { "if" } else { "elseif" };
                text.push_str(&format!("{word} {} then\n", kind.condition()));
            }
            let lines = kind.section(name);
            debug_assert!(lines.is_some(), "{kind:?} has no section `{name}`");
            self.add(text, lines.unwrap_or_default(), KindSet(kind as u8));
        }
        if is_choice {
            text.push_str("end\n");
        }
    }
}

/// What stands in `@(…)`, once for each key, with its number for `@`.
pub(super) fn repeated(lines: &str, keys: u8) -> String {
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
pub(super) fn section<'a>(file: &'a str, name: &str) -> Option<&'a str> {
    let mut sections = file.split("\n---- ").skip(1);
    sections.find_map(|section| section.strip_prefix(name)?.strip_prefix('\n'))
}
