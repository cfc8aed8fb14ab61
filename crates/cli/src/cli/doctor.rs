//! The flags of `doctor`. The settings of the store are those of `serve`.

use clap::Args;

use super::Format;

const DOCTOR_EXAMPLES: &str = "\
Examples:
  tollgate doctor --store redis://localhost:6379
  TOLLGATE_STORE_URL=rediss://gate:secret@redis.internal tollgate doctor --strict
  tollgate doctor --config gateway.yaml --format json

The store is the one of `serve`: --store, TOLLGATE_STORE_URL, or `store` under `serve` in the file, with its
budget, secret and certificates. No key is left in it.

Exit codes:
  0  no faults; with --strict: no warnings either
  1  a fault; with --strict: a fault or a warning
  2  called wrongly, or a file cannot be read";

/// Arguments of `doctor`.
#[derive(Clone, PartialEq, Eq, Debug, Args)]
#[command(after_help = DOCTOR_EXAMPLES)]
pub struct DoctorArgs {
    /// The store: redis(s)://host:port, valkey(s)://… or unix:///path
    #[arg(long, value_name = "URL")]
    pub store: Option<String>,
    /// The file with settings; by default tollgate.yaml, if it is there; `none` is no file
    #[arg(long, value_name = "FILE")]
    pub config: Option<String>,
    /// Fail on warnings, too
    #[arg(long)]
    pub strict: bool,
    /// How to print what was found
    #[arg(long, value_enum, value_name = "FORMAT", default_value = "human")]
    #[arg(help = "How to print what was found: human or json", hide_possible_values = true)]
    pub format: Format,
}
