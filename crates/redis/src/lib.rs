//! Tollgate's state in Redis or Valkey: one script call per decision, the same answers as the core. Not the front door.
//!
//! [`Naming`] makes the key under which a budget lives, [`Ask`] is a question to the store, and its [`Call`] is what goes to
//! the server: a script, keys and arguments. [`Reply::read`] makes core's decisions of what comes back.

mod ask;
mod call;
mod calling;
mod error;
mod name;
mod reply;
mod script;
pub mod state;
mod targets;

pub use ask::{Ask, Hit};
pub use call::{Argument, Call, Script};
pub use error::StoreError;
pub use name::{LAYOUT, Name, Naming};
pub use reply::Reply;
