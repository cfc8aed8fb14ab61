//! Whose a key is: the consumers file as a compact table. It decides nothing about limits; what tiers and overrides mean
//! is resolved elsewhere.
//!
//! The file is text, one key a line, comma-separated (RFC 4180), with a header line that names the columns in any order:
//!
//! ```text
//! key_sha256,consumer,tier,organisation,overrides
//! 2c70e12b7a0646f92279f427c7b38e7334d8e5389cff167a1dc30e73f826b683,acme,gold,Acme Inc,
//! # a second key of the same consumer: both spend one budget
//! 8c6976e5b5410415bde908bd4dee15dfb167a9c873fc4bb8a81f6f2ab448a918,acme,gold,Acme Inc,
//! 5e884898da28047151d0e56f8dc6292773603d0d6aabbdd62a11ef721d1542d8,bob,,,"POST /reports: capacity=50 | default: limit=10"
//! ```
//!
//! - `key_sha256` (required): 64 hexadecimal digits, what `printf %s KEY | sha256sum` prints. Not the key in clear.
//! - `consumer` (required): a name. Lines with the same name are keys of the same consumer, and say the same in all other
//!   columns; an empty cell says "none".
//! - `tier`, `organisation`, `overrides` (optional).
//!
//! Lines end in LF or CRLF. A byte-order mark is passed over, and so are blank lines and lines that begin with `#`. Spaces
//! around a cell do not belong to it, unless they are quoted. Line breaks inside quotes are refused.

mod error;
mod header;
mod key_table;
mod line;
mod loader;
mod names;
mod row;
#[cfg(test)]
mod tests;

pub use error::{ConsumerError, ERRORS_LISTED, ERRORS_MAX};
pub use loader::{CONSUMERS_MAX, LINE_BYTES_MAX, Loader, LoaderLimits, TIERS_MAX};
pub use row::NAME_BYTES_MAX;

use key_table::KeyTable;
use names::Names;
use sha2::{Digest, Sha256};

/// The number of no organisation and of no overrides.
const NONE: u32 = u32::MAX;
/// The number of no tier.
const NO_TIER: u16 = u16::MAX;

/// What is known of one consumer, besides its name.
#[derive(Clone, Copy, PartialEq, Eq)]
struct Record {
    organisation: u32,
    overrides: u32,
    tier: u16,
}

/// The consumers of a file. It does not change; a new file makes a new table.
#[derive(Default)]
pub struct Consumers {
    table: KeyTable,
    names: Names,
    /// One for each name.
    records: Vec<Record>,
    tiers: Names,
    organisations: Names,
    overrides: Names,
}

/// One consumer, found by one of its keys.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Consumer<'a> {
    /// Its number in this table, from 0. Another table has other numbers.
    pub index: u32,
    /// Its name.
    pub name: &'a str,
    /// Its tier, if it has one.
    pub tier: Option<&'a str>,
    /// The place of its tier in [`Consumers::tiers`].
    pub tier_index: Option<usize>,
    /// Its organisation, if it has one.
    pub organisation: Option<&'a str>,
    /// Its overrides, if it has some; see [`Consumers::overrides`].
    pub overrides: Option<OverrideId>,
}

/// The number of a text of overrides: its place in [`Consumers::overrides`].
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct OverrideId(u32);

impl OverrideId {
    /// The place, from 0.
    #[must_use]
    pub const fn index(self) -> usize {
        self.0 as usize
    }
}

impl Consumers {
    /// Whose key this is. The key is in clear, any bytes; it is hashed and looked up, without allocation.
    #[must_use]
    pub fn find(&self, key: &[u8]) -> Option<Consumer<'_>> {
        let index = self.table.find(&Sha256::digest(key).into())?;
        let record = self.records.get(index as usize)?;
        let tier = (record.tier != NO_TIER).then_some(record.tier);
        Some(Consumer {
            index,
            name: self.names.text(index),
            tier: tier.map(|tier| self.tiers.text(u32::from(tier))),
            tier_index: tier.map(usize::from),
            organisation: (record.organisation != NONE).then(|| self.organisations.text(record.organisation)),
            overrides: (record.overrides != NONE).then_some(OverrideId(record.overrides)),
        })
    }

    /// How many consumers there are.
    #[must_use]
    pub fn len(&self) -> usize {
        self.names.len()
    }

    /// Whether there are none.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.names.len() == 0
    }

    /// How many keys there are.
    #[must_use]
    pub fn keys(&self) -> usize {
        self.table.len()
    }

    /// Every tier, and the first line that has it, in the order of [`Consumer::tier_index`].
    pub fn tiers(&self) -> impl Iterator<Item = (&str, u32)> {
        self.tiers.iter().map(|(_, text, line)| (text, line))
    }

    /// Every text of overrides, once, and the first line that has it, in the order of [`OverrideId::index`].
    pub fn overrides(&self) -> impl Iterator<Item = (OverrideId, &str, u32)> {
        self.overrides.iter().map(|(number, text, line)| (OverrideId(number), text, line))
    }

    /// How many bytes of memory the table takes.
    #[must_use]
    pub fn bytes(&self) -> usize {
        let names = [&self.names, &self.tiers, &self.organisations, &self.overrides];
        let records = self.records.capacity() * size_of::<Record>();
        size_of::<Self>()
            + self.table.bytes()
            + records
            + names.iter().map(|names| names.bytes()).sum::<usize>()
    }

    fn shrink(&mut self) {
        self.records.shrink_to_fit();
        for names in [&mut self.names, &mut self.tiers, &mut self.organisations, &mut self.overrides] {
            names.shrink();
        }
    }
}

impl std::fmt::Debug for Consumers {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Consumers")
            .field("len", &self.len())
            .field("keys", &self.keys())
            .finish_non_exhaustive()
    }
}
