//! Tollgate's state in Redis or Valkey: at most one script call per decision, with the same results as in memory.
//!
//! [`Naming`] creates key names. [`Command`] is a command to the store, and its [`Call`] is what the server gets:
//! a script, keys and arguments. [`Reply::read`] decodes the reply into decisions. [`Link`] carries
//! calls to one server within a time budget. [`Store`] combines all of these.
//!
//! ```
//! use tollgate_algorithms::{Limit, Micros, Mode};
//! use tollgate_redis::{Command, Hit, Naming, Reply, StateKind, Value};
//! let limit = Limit::token_bucket(5, 1, Micros::from_secs(10))?;
//! let name = Naming::new(*b"sixteen secrets!").name("per client", b"ada");
//! let hits = [Hit { limit: &limit, name: &name, cost: 2, mode: Mode::Enforced }];
//! let ask = Command::Charge(&hits);
//!
//! let call = ask.call();
//! assert!(call.names[..] == [name.of(StateKind::Debt)] && call.script.text.contains("'TIME'"));
//!
//! // What a server answers at the instant 1,000,000: twice that, and 1 for a grant. The key was not there.
//! let Reply::Decided { granted, decisions } = Reply::read(&ask, &Value::BulkString(vec![0, 0, 0, 0, 0x1e, 0x84, 0x81]))? else {
//!     panic!("it was not a reset")
//! };
//! assert!(granted && decisions[0].remaining == 3 && decisions[0].at == Micros::SECOND);
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
#![cfg_attr(docsrs, feature(doc_cfg))]

mod address;
mod backoff;
mod boot_clock;
mod breaker;
mod call;
mod cause;
mod cluster;
mod coalesce;
mod command;
mod config_tag;
mod connect;
mod dns;
mod driver;
mod encode;
mod error;
mod exchange;
mod failed;
mod health;
mod inspector;
mod link;
mod link_error;
mod link_state;
mod name;
mod permits;
mod read_file;
mod recent;
mod reconnect;
mod refusal_cache;
mod reply;
mod reply_waiters;
mod reserve;
mod resp;
mod script;
mod script_targets;
mod secrets;
mod send_queue;
mod sentinel;
mod servers;
mod settings;
mod shared;
mod shared_breaker;
mod single_flight;
pub mod state;
mod state_kind;
mod store;
mod tls;
mod value;
mod warm_up;
mod write_check;

pub use address::{Address, AddressError, HOSTS_MAX};
pub use breaker::BreakerState;
pub use call::{Argument, Call, Script, Writes};
pub use cause::Cause;
pub use coalesce::TOGETHER_MAX;
pub use command::{Command, Hit};
pub use config_tag::{ConfigTag, STEP};
pub use dns::Lookup;
pub use error::StoreError;
pub use exchange::{EXCHANGES_MAX, Exchange, ExchangeReply, ledger_of, ledger_value};
pub use health::Health;
pub use inspector::{InspectError, Inspector, QUESTION_TIME_MAX, QueryReply};
pub use link::{Link, OpenError};
pub use link_error::{LinkError, MESSAGE_BYTES_MAX};
pub use name::{KeyName, LAYOUT, Name, Naming};
pub use permits::{Denied, Held, LEASE, Patience, PermitKey, PermitPool, Validity, WAITERS_MAX};
pub use refusal_cache::REMEMBERED_MAX;
pub use reply::Reply;
pub use reserve::{SlotAsk, SlotReply, slots_value};
pub use settings::{CONNECTIONS_MAX, IN_FLIGHT_MAX, Identity, Roots, Settings, TIME_MAX, TIME_MIN};
pub use state_kind::StateKind;
pub use store::{ChargeResult, GroupsCharge, InGroups, Store};
pub use value::Value;
