//! The service as Envoy calls it: matching, charging, refunds, bounds and files.

mod bounds;
mod charging;
mod files;
mod limitador;
mod matching;
mod refunds;
mod support;
