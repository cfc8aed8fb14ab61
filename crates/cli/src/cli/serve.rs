//! The flags of `serve`. All other settings are in files and variables.

use clap::Args;

const SERVE_EXAMPLES: &str = "\
Examples:
  tollgate serve --policy openapi.yaml --upstream http://127.0.0.1:9000 --listen 127.0.0.1:8080
  tollgate serve --api 127.0.0.1:8081        a decision service, without a gateway
  tollgate serve                             everything from tollgate.yaml, policy and settings
  tollgate serve --config gateway.yaml --policy openapi.yaml
  TOLLGATE_TIMEOUTS_HEADER=5s tollgate serve --print-config

Every other setting stands under `serve` in a Tollgate file, or in a variable: timeouts.header is
TOLLGATE_TIMEOUTS_HEADER. A flag counts before a variable, and a variable before the file.
--print-config shows them all.

Exit codes:
  0  stopped when asked to, or printed
  1  the policy or the file with settings has errors
  2  called wrongly, or a file cannot be read";

/// Arguments of `serve`.
#[derive(Clone, PartialEq, Eq, Debug, Default, Args)]
#[command(after_help = SERVE_EXAMPLES)]
pub struct ServeArgs {
    /// The policy: OpenAPI document or Tollgate file; by default the file with settings
    #[arg(long, value_name = "FILE")]
    pub policy: Option<String>,
    /// Where requests go: http(s)://host:port or h2c://…; not needed with an endpoint
    #[arg(long, value_name = "URL")]
    pub upstream: Option<String>,
    /// Where clients connect, by default 127.0.0.1:8080; may be given several times
    #[arg(long, value_name = "ADDRESS")]
    pub listen: Vec<String>,
    /// The endpoint for Envoy, over gRPC; by default none
    #[arg(long, value_name = "ADDRESS")]
    pub grpc: Option<String>,
    /// Limits of envoyproxy/ratelimit or Limitador; may be given several times
    #[arg(long, value_name = "FILE")]
    pub grpc_limits: Vec<String>,
    /// The endpoint for Redis clients; by default none
    #[arg(long, value_name = "ADDRESS")]
    pub resp: Option<String>,
    /// The endpoint for JSON over HTTP and for forward authentication; by default none
    #[arg(long, value_name = "ADDRESS")]
    pub api: Option<String>,
    /// Where gateways count together: redis(s)://host:port, valkey(s)://… or unix:///path
    #[arg(long, value_name = "URL")]
    pub store: Option<String>,
    /// The file with settings; by default tollgate.yaml, if it is there; `none`: none
    #[arg(long, value_name = "FILE")]
    pub config: Option<String>,
    /// Print every setting in force, and where it comes from, as YAML, and end
    #[arg(long)]
    pub print_config: bool,
}
