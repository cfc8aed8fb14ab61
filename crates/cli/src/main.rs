//! The program: parses arguments, runs a command, and exits with its code.

use std::io::{self, Write};
use std::process::ExitCode;

use anstream::stream::RawStream;
use anstream::{AutoStream, ColorChoice};
use clap::Parser;
use tollgate_cli::cli::{Cli, Colour, rendered};
use tollgate_cli::{Exit, commands, environment, wall_clock};

/// A gateway allocates a few times for each request, always the same sizes: with this about a tenth of its work is saved.
#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

fn main() -> ExitCode {
    let cli = match Cli::try_parse() {
        Ok(cli) => cli,
        Err(error) => return told(&error, Colour::asked(std::env::args_os())).into(),
    };
    // One of the two may be a terminal, and the other a file.
    let mut out = AutoStream::new(io::stdout().lock(), choice(cli.color, &io::stdout()));
    // Nobody holds this one: a gateway's log goes there too, from a thread of its own.
    let mut err = AutoStream::new(io::stderr(), choice(cli.color, &io::stderr()));
    commands::run(&cli.command, wall_clock(), &environment(), &mut out, &mut err).into()
}

/// Whether a stream shows colours.
fn choice(colour: Colour, stream: &impl RawStream) -> ColorChoice {
    match colour {
        Colour::Auto => AutoStream::choice(stream),
        Colour::Always => ColorChoice::Always,
        Colour::Never => ColorChoice::Never,
    }
}

/// Help and the version go to standard output and are no error; what is wrong with the arguments goes to the other.
fn told(error: &clap::Error, colour: Colour) -> Exit {
    let text = rendered(error, std::env::args_os());
    let written = if error.use_stderr() {
        let choice = choice(colour, &io::stderr());
        write!(AutoStream::new(io::stderr().lock(), choice), "{text}")
    } else {
        let choice = choice(colour, &io::stdout());
        write!(AutoStream::new(io::stdout().lock(), choice), "{text}")
    };
    match (error.use_stderr(), written) {
        (true, _) => Exit::Usage,
        (false, written) => written.map_or_else(|error| commands::unwritten(&error), |()| Exit::Fine),
    }
}
