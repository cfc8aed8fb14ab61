//! The flags of `test`. How scenarios are played is not here.

use clap::{Args, ValueEnum};

/// How `test` prints.
#[derive(Clone, Copy, PartialEq, Eq, Debug, ValueEnum)]
pub enum TestFormat {
    /// For people.
    Human,
    /// For programs.
    Json,
    /// JUnit XML, for test reports.
    Junit,
}

const TEST_EXAMPLES: &str = "\
Examples:
  tollgate test scenarios.yaml
  tollgate test --format junit api > report.xml       every file of scenarios in a folder

A file of scenarios:
  policy: openapi.yaml
  scenarios:
    - name: a burst of five, then one every ten seconds
      steps:
        - { request: POST /reports/generate, times: 5, expect: granted }
        - { request: POST /reports/generate, expect: { answer: refused, retry_after: 10s } }
        - { at: 10s, request: POST /reports/generate, expect: granted }

Exit codes:
  0  every scenario went as it says
  1  one did not, or a file has errors
  2  called wrongly, or a file cannot be read";

/// Arguments of `test`.
#[derive(Clone, PartialEq, Eq, Debug, Args)]
#[command(after_help = TEST_EXAMPLES)]
pub struct TestArgs {
    /// Files of scenarios, each with the policy that it names, or folders; - is standard input
    #[arg(value_name = "FILE", required = true)]
    pub files: Vec<String>,
    /// Print only what failed
    #[arg(short, long)]
    pub quiet: bool,
    /// How to print what happened
    #[arg(long, value_enum, value_name = "FORMAT", default_value = "human")]
    #[arg(help = "How to print what happened: human, json or junit", hide_possible_values = true)]
    pub format: TestFormat,
}
