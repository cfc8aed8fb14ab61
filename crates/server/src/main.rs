//! The program: arguments in, a command run, an exit code out. What commands do is in the library beside it.

use std::io::{self, Write};
use std::process::ExitCode;

use anstream::AutoStream;
use clap::Parser;
use tollgate_server::cli::{Cli, Colour};
use tollgate_server::{Exit, commands, wall_clock};

fn main() -> ExitCode {
    let cli = match Cli::try_parse() {
        Ok(cli) => cli,
        Err(error) => return told(&error).into(),
    };
    let choice = match cli.color {
        Colour::Auto => AutoStream::choice(&io::stdout()),
        Colour::Always => anstream::ColorChoice::Always,
        Colour::Never => anstream::ColorChoice::Never,
    };
    let mut out = AutoStream::new(io::stdout().lock(), choice);
    let mut err = AutoStream::new(io::stderr().lock(), choice);
    commands::run(&cli.command, wall_clock(), &mut out, &mut err).into()
}

/// Help and the version go to standard output and are no error; what is wrong with the arguments goes to the other.
fn told(error: &clap::Error) -> Exit {
    let text = error.render();
    let written = if error.use_stderr() {
        write!(AutoStream::auto(io::stderr().lock()), "{}", text.ansi())
    } else {
        write!(AutoStream::auto(io::stdout().lock()), "{}", text.ansi())
    };
    match (error.use_stderr(), written) {
        (true, _) => Exit::Usage,
        (false, written) => written.map_or_else(|error| commands::unwritten(&error), |()| Exit::Fine),
    }
}
