//! The flags of `schema`, and the schemas it can print.

use clap::{Args, ValueEnum};

const SCHEMA_EXAMPLES: &str = "\
Examples:
  tollgate schema limit                 the schema of x-rate-limit
  tollgate schema native > tollgate.schema.json
  tollgate schema lint-output           the schema of what lint --format json prints
  tollgate schema --write schemas       all, into a folder

Schemas of documents, for editors:
  limit            x-rate-limit
  native           a Tollgate file
  lint-config      the settings of lint, .tollgate-lint.yaml

Schemas of what commands print with --format json:
  lint-output, explain-output, diff-output, test-output, annotate-output, doctor-output

Exit codes:
  0  written
  2  called wrongly, or the folder cannot be written";

/// Arguments of `schema`.
#[derive(Clone, PartialEq, Eq, Debug, Args)]
#[command(after_help = SCHEMA_EXAMPLES)]
pub struct SchemaArgs {
    /// Which schema
    #[arg(value_enum, value_name = "WHICH", required_unless_present = "write", hide_possible_values = true)]
    #[arg(help = "Which schema: one of the list below")]
    pub which: Option<SchemaKind>,
    /// Write it, or all, into this folder; it is made if it is not there
    #[arg(long, value_name = "DIR")]
    pub write: Option<String>,
}

/// The schemas there are.
#[derive(Clone, Copy, PartialEq, Eq, Debug, ValueEnum)]
pub enum SchemaKind {
    /// Of `x-rate-limit`.
    Limit,
    /// Of a Tollgate file.
    Native,
    /// Of the settings of `lint`.
    LintConfig,
    /// Of what `lint` prints.
    LintOutput,
    /// Of what `explain` prints.
    ExplainOutput,
    /// Of what `diff` prints.
    DiffOutput,
    /// Of what `test` prints.
    TestOutput,
    /// Of what `annotate` prints.
    AnnotateOutput,
    /// Of what `doctor` prints.
    DoctorOutput,
}
