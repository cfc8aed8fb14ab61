//! Tollgate's state in Redis or Valkey: at most one script call per decision, with the same results as in memory.
//!
//! [`Naming`] creates key names. [`Ask`] is a command to the store, and its [`Call`] is what the server gets:
//! a script, keys and arguments. [`Reply::read`] decodes the reply into decisions. [`Link`] carries
//! calls to one server within a time budget. [`Store`] combines all of these.
//!
//! ```
//! use tollgate_algorithms::{Limit, Micros, Mode};
//! use tollgate_redis::{Ask, Hit, Naming, Reply, StateKind, Value};
//! let limit = Limit::token_bucket(5, 1, Micros::from_secs(10))?;
//! let name = Naming::new(*b"sixteen secrets!").name("per client", b"ada");
//! let hits = [Hit { limit: &limit, name: &name, cost: 2, mode: Mode::Enforced }];
//! let ask = Ask::Charge(&hits);
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
mod ask;
mod backoff;
mod breaker;
mod call;
mod calling;
mod cause;
mod connect;
mod driver;
mod error;
mod failed;
mod group;
mod health;
mod inspector;
mod kind;
mod lane;
mod link;
mod link_error;
mod lookup;
mod mark;
mod name;
mod pipe;
mod recent;
mod remembered;
mod reply;
mod resp;
mod script;
mod secrets;
mod settings;
mod shared;
mod shared_breaker;
mod single;
mod small_file;
pub mod state;
mod store;
mod targets;
mod tls;
mod together;
mod up;
mod value;
mod warm_up;
mod wrote;

pub use address::{Address, AddressError};
pub use ask::{Ask, Hit};
pub use breaker::Standing;
pub use call::{Argument, Call, Script, Writes};
pub use cause::Cause;
pub use error::StoreError;
pub use health::Health;
pub use inspector::{Inspector, NotInspected, QUESTION_TIME_MAX, Told};
pub use kind::StateKind;
pub use link::{Link, OpenError};
pub use link_error::{LinkError, MESSAGE_BYTES_MAX};
pub use lookup::Lookup;
pub use mark::{Era, STEP};
pub use name::{KeyName, LAYOUT, Name, Naming};
pub use remembered::REMEMBERED_MAX;
pub use reply::Reply;
pub use settings::{CONNECTIONS_MAX, IN_FLIGHT_MAX, Identity, Roots, Settings, TIME_MAX, TIME_MIN};
pub use store::{Charged, Store};
pub use together::TOGETHER_MAX;
pub use value::Value;
