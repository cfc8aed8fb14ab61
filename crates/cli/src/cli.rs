//! Every flag: name, help and default. Man pages and completions are generated from it.

mod doctor;
mod import;
mod lint;
mod parse_error;
mod schema;
mod serve;
mod test;

use std::ffi::OsString;
use std::net::{IpAddr, Ipv4Addr, SocketAddr};

use clap::{Args, Parser, Subcommand, ValueEnum};
use clap_complete::Shell;

use crate::report_errors::Audience;
pub use doctor::DoctorArgs;
pub use import::{ImportArgs, ImportSource};
pub use lint::{LintArgs, LintFormat, SeverityFlag};
pub use parse_error::rendered;
pub use schema::{SchemaArgs, SchemaKind};
pub use serve::ServeArgs;
pub use test::{TestArgs, TestFormat};

/// How every command ends.
const EXIT_CODES: &str = "\
Exit codes:
  0  fine, or only advice
  1  something was found
  2  called wrongly, or a file cannot be read or written";

/// The command line.
#[derive(Clone, PartialEq, Eq, Debug, Parser)]
#[command(name = "tollgate", version, about = "Rate limits as reviewed documents, and a gateway that enforces them", after_help = EXIT_CODES)]
#[command(disable_help_subcommand = true, arg_required_else_help = true)]
pub struct Cli {
    /// When to use colour: if a stream is a terminal and NO_COLOR is not set, or always, or never
    #[arg(long, global = true, value_name = "WHEN", default_value = "auto", hide_possible_values = true)]
    #[arg(help = "Use colour: auto (a terminal, and no NO_COLOR), always or never")]
    pub color: Colour,
    /// What to do.
    #[command(subcommand)]
    pub command: Command,
}

/// When to use colour.
#[derive(Clone, Copy, PartialEq, Eq, Debug, ValueEnum)]
pub enum Colour {
    /// If the stream is a terminal and `NO_COLOR` is not set.
    Auto,
    /// Always.
    Always,
    /// Never.
    Never,
}

impl Colour {
    /// What arguments ask for that cannot be parsed: the message about them is asked to have no colour, too.
    pub fn asked(args: impl IntoIterator<Item = OsString>) -> Self {
        let mut asked = Self::Auto;
        let mut args = args.into_iter().skip(1);
        while let Some(argument) = args.next() {
            let word = match argument.to_str() {
                // What follows are no flags.
                Some("--") => break,
                Some("--color") => args.next(),
                Some(flag) => flag.strip_prefix("--color=").map(OsString::from),
                None => None,
            };
            let word = word.as_ref().and_then(|word| word.to_str());
            asked = word.and_then(|word| Self::from_str(word, false).ok()).unwrap_or(asked);
        }
        asked
    }
}

/// What to do.
#[derive(Clone, PartialEq, Eq, Debug, Subcommand)]
pub enum Command {
    /// Stand before a service as a gateway that enforces a policy
    Serve(ServeArgs),
    /// Show it: a gateway in front of a small API, four requests, and lines to paste
    Demo(DemoArgs),
    /// Check documents: every error at once, with its place, and advice
    Lint(LintArgs),
    /// Say what a request meets: which limits, whose budget, at what cost, and why
    Explain(ExplainArgs),
    /// Say what a change means for clients: who gets more, who gets less, and who has to agree
    Diff(DiffArgs),
    /// Run scenarios: at this time these requests, these answers
    Test(TestArgs),
    /// Examine a shared store: what operators get wrong, each with what to do
    Doctor(DoctorArgs),
    /// Write the 429 response into an OpenAPI document, wherever a limit can give it
    Annotate(AnnotateArgs),
    /// Convert the limits of Envoy, Limitador or nginx into a policy, and say what could not be converted
    Import(ImportArgs),
    /// Print the JSON Schemas of limits and of Tollgate files, for editors
    Schema(SchemaArgs),
    /// Print a script that completes commands and flags in a shell
    Completions(CompletionsArgs),
    /// Print the manual page, or write the pages of all commands into a folder
    Man(ManArgs),
    /// Print the help of a command
    Help(HelpArgs),
}

const DEMO_EXAMPLES: &str = "\
Examples:
  tollgate demo                           on 127.0.0.1:8080, until Ctrl-C
  tollgate demo --listen 127.0.0.1:3000
  tollgate demo < /dev/null               shows the requests, and ends

Exit codes:
  0  shown, and stopped
  1  it ended badly
  2  called wrongly, or it cannot listen";

/// Arguments of `demo`.
#[derive(Clone, PartialEq, Eq, Debug, Args)]
#[command(after_help = DEMO_EXAMPLES)]
pub struct DemoArgs {
    /// Where it listens; on another port if that one is taken
    #[arg(long, value_name = "ADDRESS", default_value_t = crate::settings::LISTEN)]
    pub listen: SocketAddr,
}

/// Of commands that print for people or for programs.
#[derive(Clone, Copy, PartialEq, Eq, Debug, ValueEnum)]
pub enum Format {
    /// For people.
    Human,
    /// For programs.
    Json,
}

impl Format {
    /// For whom it is.
    pub(crate) const fn reader(self) -> Audience {
        match self {
            Self::Human => Audience::Person,
            Self::Json => Audience::Program,
        }
    }
}

const EXPLAIN_EXAMPLES: &str = "\
Examples:
  tollgate explain openapi.yaml 'POST /reports/generate'
  tollgate explain openapi.yaml 'GET /search?q=x' -H 'X-API-Key: abc' --tier gold
  tollgate explain tollgate.yaml 'GET /' --host api.example.org --from 2001:db8::1 --format json

Exit codes:
  0  explained, also if the request would be refused
  1  the document has errors, which are shown
  2  called wrongly, or a file cannot be read";

/// Arguments of `explain`.
#[derive(Clone, PartialEq, Eq, Debug, Args)]
#[command(after_help = EXPLAIN_EXAMPLES)]
pub struct ExplainArgs {
    /// An OpenAPI document or a Tollgate file; - is standard input
    #[arg(value_name = "FILE")]
    pub file: String,
    /// The request: a method and a target in one argument, such as 'GET /users?page=2'
    #[arg(value_name = "REQUEST")]
    pub request: String,
    /// A header of the request, such as 'X-API-Key: abc'; may be given several times
    #[arg(short = 'H', long = "header", value_name = "NAME: VALUE")]
    pub headers: Vec<String>,
    /// Ask for this tier, whatever tier the request would have
    #[arg(long, value_name = "TIER")]
    pub tier: Option<String>,
    /// The body of the request, for keys and costs that are in it
    #[arg(long, value_name = "TEXT")]
    pub body: Option<String>,
    /// The address at the other end of the connection
    #[arg(long, value_name = "ADDRESS", default_value_t = IpAddr::V4(Ipv4Addr::LOCALHOST))]
    pub from: IpAddr,
    /// The host that is asked, in place of a Host header
    #[arg(long, value_name = "HOST")]
    pub host: Option<String>,
    /// How to print it
    #[arg(long, value_enum, value_name = "FORMAT", default_value = "human")]
    #[arg(help = "How to print it: human or json", hide_possible_values = true)]
    pub format: Format,
}

const DIFF_EXAMPLES: &str = "\
Examples:
  git show main:openapi.yaml | tollgate diff - openapi.yaml
  tollgate diff --format markdown old.yaml new.yaml >> \"$GITHUB_STEP_SUMMARY\"
  tollgate diff --fail-on looser --fail-on removed old.yaml new.yaml

Exit codes:
  0  compared; nothing that --fail-on names
  1  something that --fail-on names, or a document has errors
  2  called wrongly, or a file cannot be read";

/// Arguments of `diff`.
#[derive(Clone, PartialEq, Eq, Debug, Args)]
#[command(after_help = DIFF_EXAMPLES)]
pub struct DiffArgs {
    /// The document before; - is standard input
    #[arg(value_name = "OLD")]
    pub old: String,
    /// The document after; - is standard input
    #[arg(value_name = "NEW")]
    pub new: String,
    /// How to print the difference
    #[arg(long, value_enum, value_name = "FORMAT", default_value = "human")]
    #[arg(
        help = "How to print the difference: human, json, markdown or codeowners",
        hide_possible_values = true
    )]
    pub format: DiffFormat,
    /// Fail if something lets more through, or less, or is gone; may be given several times
    #[arg(long, value_enum, value_name = "CHANGE", hide_possible_values = true)]
    #[arg(help = "Fail on this change: looser, tighter or removed; may be given several times")]
    pub fail_on: Vec<FailOn>,
}

/// How `diff` prints.
#[derive(Clone, Copy, PartialEq, Eq, Debug, ValueEnum)]
pub enum DiffFormat {
    /// For people at a terminal.
    Human,
    /// For programs.
    Json,
    /// For a pull request.
    Markdown,
    /// Who has to agree, as a CODEOWNERS file has it.
    Codeowners,
}

/// Which changes fail a check.
#[derive(Clone, Copy, PartialEq, Eq, Debug, ValueEnum)]
pub enum FailOn {
    /// Something lets more through.
    Looser,
    /// Something lets less through.
    Tighter,
    /// A limit or an operation is gone.
    Removed,
}

const ANNOTATE_EXAMPLES: &str = "\
Examples:
  tollgate annotate openapi.yaml > annotated.yaml
  tollgate annotate --write openapi.yaml     in place: only insertions, the rest stays as it is
  generate-openapi | tollgate annotate - > openapi.yaml

Exit codes:
  0  annotated, or there was nothing to add
  1  the document has errors, or cannot be added to
  2  called wrongly, or the file cannot be read or written";

/// Arguments of `annotate`.
#[derive(Clone, PartialEq, Eq, Debug, Args)]
#[command(after_help = ANNOTATE_EXAMPLES)]
pub struct AnnotateArgs {
    /// An OpenAPI document; - is standard input
    #[arg(value_name = "FILE")]
    pub file: String,
    /// Write the document back, in place of printing it
    #[arg(long)]
    pub write: bool,
    /// How to print the result
    #[arg(long, value_enum, value_name = "FORMAT", default_value = "human")]
    #[arg(help = "How to print the result: human (the document) or json", hide_possible_values = true)]
    pub format: Format,
}

const COMPLETIONS_EXAMPLES: &str = "\
Examples:
  tollgate completions bash > ~/.local/share/bash-completion/completions/tollgate
  tollgate completions fish > ~/.config/fish/completions/tollgate.fish";

/// Arguments of `completions`.
#[derive(Clone, PartialEq, Eq, Debug, Args)]
#[command(after_help = COMPLETIONS_EXAMPLES)]
pub struct CompletionsArgs {
    /// The shell
    #[arg(value_name = "SHELL")]
    pub shell: Shell,
}

const MAN_EXAMPLES: &str = "\
Examples:
  tollgate man | man -l -
  tollgate man --dir ~/.local/share/man/man1

Exit codes:
  0  written
  2  called wrongly, or the folder cannot be written";

/// Arguments of `man`.
#[derive(Clone, PartialEq, Eq, Debug, Args)]
#[command(after_help = MAN_EXAMPLES)]
pub struct ManArgs {
    /// Write a page for each command into this folder; it is made if it is not there
    #[arg(long, value_name = "DIR")]
    pub dir: Option<String>,
}

const HELP_EXAMPLES: &str = "\
Examples:
  tollgate help
  tollgate help lint";

/// Arguments of `help`.
#[derive(Clone, PartialEq, Eq, Debug, Args)]
#[command(after_help = HELP_EXAMPLES)]
pub struct HelpArgs {
    /// The command; without one, the program
    #[arg(value_name = "COMMAND")]
    pub command: Option<String>,
}
