//! A real server that collapses under concurrency, behind the gateway, with and without an adaptive limit. `cargo xtask sim collapse` runs
//! it: the drawing goes into the file that is named, and a table is printed.
#![expect(clippy::print_stdout, clippy::print_stderr, reason = "it prints what it finds")]
#![expect(
    clippy::arithmetic_side_effects,
    clippy::cast_precision_loss,
    clippy::cast_possible_truncation,
    clippy::as_conversions,
    clippy::float_arithmetic,
    clippy::indexing_slicing,
    reason = "a report's numbers are small, and real requests take real time"
)]

mod chart;
mod load;
mod report;
mod run;
mod server;

fn main() -> std::io::Result<()> {
    tokio::runtime::Runtime::new()?.block_on(report::write(std::env::args().nth(1)))
}
