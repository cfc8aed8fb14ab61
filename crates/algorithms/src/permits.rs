//! Permits that several processes share: what the store keeps of them, and what each process may use of them.
//!
//! The store keeps a [`Ledger`] for each key: one [`Record`] for each process that holds permits of it or wants some, however many they
//! are. A process sends a [`Request`] and gets an [`Exchanged`]; the same call acquires, releases and renews. Each process has a [`Holder`]
//! for each key, which knows what it may use without a call.
//!
//! Nothing here reads a clock or sends anything. A ledger has the time of the store, a holder that of its process; the two are never
//! compared, and only have to run at rates that differ by less than one thousandth.
//!
//! ```
//! use tollgate_algorithms::Micros;
//! use tollgate_algorithms::permits::{Holder, Ledger, Settings};
//! let settings = Settings { limit: 3, lease: Micros::from_secs(2) };
//! let (mut ledger, mut ada, mut bob) = (Ledger::default(), Holder::default(), Holder::default());
//! // Two requests arrive at Ada's process.
//! let request = ada.send(Micros::ZERO, (1, 1), 2, settings);
//! let reply = ledger.exchange(&request, Micros::from_secs(900), false);
//! ada.answer(Micros::from_millis(1), &reply, Micros::ZERO);
//! assert!(ada.take(Micros::from_millis(1)) && ada.take(Micros::from_millis(1)));
//! // Two at Bob's: there is one permit left.
//! let request = bob.send(Micros::ZERO, (2, 1), 2, settings);
//! let reply = ledger.exchange(&request, Micros::from_secs(901), false);
//! bob.answer(Micros::from_millis(1), &reply, Micros::ZERO);
//! assert!(bob.take(Micros::from_millis(1)) && !bob.take(Micros::from_millis(1)));
//! // Ada's process is stopped. When it goes on, its permits are void, and the store has given them to others.
//! assert!(!ada.is_valid(Micros::from_secs(10)));
//! ```

mod holder;
mod ledger;

pub use holder::{Holder, Settings};
pub use ledger::{Exchanged, Ledger, RECORDS_MAX, Record, Request, Result};

/// The largest number of permits of a key.
pub const LEVEL_MAX: u32 = (1 << 24) - 1;
