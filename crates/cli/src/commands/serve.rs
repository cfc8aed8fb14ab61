//! `tollgate serve`: resolves and prints settings, or runs the gateway until it is stopped.

use std::ffi::OsString;
use std::io::{self, Write};

use crate::cli::ServeArgs;
use crate::serve::{StartError, banner, start_from};
use crate::settings::{SettingProblem, Settings, Startup, print, resolve};
use crate::{Exit, files};

/// Puts the settings together, and prints them if that is asked for.
///
/// # Errors
/// When the output cannot be written.
pub fn run(
    args: &ServeArgs,
    environment: &[(OsString, OsString)],
    out: &mut dyn Write,
    err: &mut dyn Write,
) -> io::Result<Exit> {
    let resolved = match resolve(args, environment, &mut |name| files::read_if_there(name)) {
        Ok(resolved) => resolved,
        Err(unusable) => {
            unusable.problems.iter().try_for_each(|problem| problem.tell(&unusable.sources, err))?;
            let in_files =
                unusable.problems.iter().all(|problem| matches!(problem, SettingProblem::InFile(_)));
            return Ok(if in_files { Exit::Findings } else { Exit::Usage });
        }
    };
    resolved.warnings.iter().try_for_each(|problem| problem.tell(&resolved.sources, err))?;
    if args.print_config {
        print(&resolved, &files::is_there, out)?;
        return Ok(Exit::Fine);
    }
    let startup = Startup::new(args, environment, &resolved);
    serve(resolved.settings, startup, out, err)
}

/// Starts a gateway, says so, and serves until it is told to stop.
fn serve(settings: Settings, startup: Startup, out: &mut dyn Write, err: &mut dyn Write) -> io::Result<Exit> {
    let running = match start_from(settings, Some(startup), io::stderr()) {
        Ok(running) => running,
        Err(StartError::Documents(wrong)) => {
            wrong.tell(err)?;
            return Ok(Exit::Findings);
        }
        Err(StartError::Other(why)) => {
            writeln!(err, "error: {why}")?;
            return Ok(Exit::Usage);
        }
    };
    banner(&running, out)?;
    out.flush()?;
    match running.run() {
        Ok(()) => Ok(Exit::Fine),
        Err(why) => {
            writeln!(err, "error: {why}")?;
            Ok(Exit::Findings)
        }
    }
}
