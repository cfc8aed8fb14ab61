//! Tollgate's state in Redis or Valkey: one script call per decision, the same answers as the core. Not the front door.
//!
//! [`Naming`] makes the key under which a budget lives, [`Ask`] is a question to the store, and its [`Call`] is what goes to
//! the server: a script, keys and arguments. [`Reply::read`] makes core's decisions of what comes back. [`Link`] carries
//! calls to one server and never takes longer than its budget. [`Store`] is all of this together.

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
mod health;
mod lane;
mod link;
mod link_error;
mod name;
mod pipe;
mod reply;
mod resp;
mod script;
mod settings;
mod shared;
mod shared_breaker;
pub mod state;
mod store;
mod targets;

pub use address::{Address, AddressError};
pub use ask::{Ask, Hit};
pub use breaker::Standing;
pub use call::{Argument, Call, Script};
pub use cause::Cause;
pub use error::StoreError;
pub use health::Health;
pub use link::{Link, OpenError};
pub use link_error::{LinkError, MESSAGE_BYTES_MAX};
pub use name::{LAYOUT, Name, Naming};
pub use reply::Reply;
pub use settings::{CONNECTIONS_MAX, IN_FLIGHT_MAX, Roots, Settings, TIME_MAX, TIME_MIN};
pub use store::Store;
