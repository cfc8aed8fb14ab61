//! The flags of `import`. How a file is converted is not here.

use clap::{Args, ValueEnum};

const IMPORT_EXAMPLES: &str = "\
Examples:
  tollgate import --from envoy config.yaml > tollgate.yaml
  tollgate import --from limitador limits.yaml
  tollgate import --from nginx /etc/nginx/nginx.conf

The policy is printed. What could not be converted, and what was assumed, is told on standard
error and in comments.

Exit codes:
  0  everything is converted
  1  something is not, or the file has errors
  2  called wrongly, or the file cannot be read";

/// Arguments of `import`.
#[derive(Clone, PartialEq, Eq, Debug, Args)]
#[command(after_help = IMPORT_EXAMPLES)]
pub struct ImportArgs {
    /// What the file is for: envoy (envoyproxy/ratelimit), limitador or nginx
    #[arg(long, value_enum, value_name = "SOFTWARE", hide_possible_values = true)]
    pub from: ImportSource,
    /// The file, or - for standard input
    #[arg(value_name = "FILE")]
    pub file: String,
}

/// Software whose limits can be converted.
#[derive(Clone, Copy, PartialEq, Eq, Debug, ValueEnum)]
pub enum ImportSource {
    /// envoyproxy/ratelimit.
    Envoy,
    /// Limitador.
    Limitador,
    /// nginx.
    Nginx,
}
