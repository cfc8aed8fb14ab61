//! The store on real clusters and behind real Sentinels.
#![cfg(test)]

mod cluster;
mod sentinel;
mod support;
