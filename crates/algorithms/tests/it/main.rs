//! What the core promises, seen from outside: one binary, one module per subject.
#![cfg(test)]

mod adversary; // who reaches each algorithm's bound, and not one hit more
mod behaviour; // single decisions that are easy to get wrong
mod calendar; // day, week and month, against a calendar counted out day by day
mod choosing; // the table on the front page
mod errors; // every sentence of every error
mod gate; // the release gate's cases that concern the pure algorithms, by number
mod key; // the one helper that touches the API
