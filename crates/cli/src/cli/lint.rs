//! The flags of `lint`, with their grammar and their help texts.

use clap::{Args, ValueEnum};
use tollgate_policy::lint::Level;

/// How `lint` prints.
#[derive(Clone, Copy, PartialEq, Eq, Debug, ValueEnum)]
pub enum LintFormat {
    /// For people: drawn, with the lines they are about.
    Human,
    /// For programs.
    Json,
    /// SARIF 2.1.0, for code scanning.
    Sarif,
    /// Workflow commands, which GitHub shows beside the lines.
    Github,
    /// JUnit XML, for test reports.
    Junit,
}

const LINT_EXAMPLES: &str = "\
Examples:
  tollgate lint openapi.yaml                         errors and advice, drawn
  tollgate lint --strict --format github api         in a workflow: a folder; warnings fail it, too
  tollgate lint --severity no-owner=error --severity limits-off=off openapi.yaml
  tollgate lint --format sarif openapi.yaml > lint.sarif
  tollgate lint --explain no-limit                   what a code means, and what to do
  generate-openapi | tollgate lint -

A file .tollgate-lint.yaml, or the one that --config names:
  strict: true
  severity: { no-owner: error, window-boundary: off }

A comment in a document accepts advice on its line, or on the next one:
  get: {}   # tollgate-allow no-limit: the load balancer asks every second

Exit codes:
  0  no errors; with --strict: no warnings either
  1  errors; with --strict: errors or warnings
  2  called wrongly, or a file cannot be read";

/// Arguments of `lint`.
#[derive(Clone, PartialEq, Eq, Debug, Args)]
#[command(after_help = LINT_EXAMPLES)]
pub struct LintArgs {
    /// OpenAPI documents and Tollgate files, or folders of them; - is standard input
    #[arg(value_name = "FILE", required_unless_present = "explain")]
    pub files: Vec<String>,
    /// Fail on warnings, too
    #[arg(long)]
    pub strict: bool,
    /// Print only what fails: errors, and with --strict warnings
    #[arg(short, long)]
    pub quiet: bool,
    /// Draw every finding; by default at most 50 of each code
    #[arg(long)]
    pub all: bool,
    /// Neither show nor count advice of this code; may be given several times
    #[arg(long, value_name = "CODE")]
    pub allow: Vec<String>,
    /// Set the severity of a code to error, warning, note or off; repeatable
    #[arg(long, value_name = "CODE=LEVEL", value_parser = severity)]
    pub severity: Vec<SeverityFlag>,
    /// The file with settings of lint; by default .tollgate-lint.yaml, if it is there
    #[arg(long, value_name = "FILE")]
    pub config: Option<String>,
    /// Print what a code means and what to do, and check nothing
    #[arg(long, value_name = "CODE", conflicts_with = "files")]
    pub explain: Option<String>,
    /// How to print what is found
    #[arg(long, value_enum, value_name = "FORMAT", default_value = "human")]
    #[arg(help = "How to print findings: human, json, sarif, github or junit", hide_possible_values = true)]
    pub format: LintFormat,
}

/// One `--severity`.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct SeverityFlag {
    /// The code.
    pub code: String,
    /// Its severity.
    pub level: Level,
}

fn severity(text: &str) -> Result<SeverityFlag, String> {
    let wrong = || "write a code and a level, such as `no-owner=error`".to_owned();
    let (code, level) = text.split_once('=').ok_or_else(wrong)?;
    let level = Level::named(level).ok_or("the levels are error, warning, note and off")?;
    Ok(SeverityFlag { code: code.into(), level })
}
