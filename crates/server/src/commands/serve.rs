//! `tollgate serve`: settings are put together and shown. The gateway that they are for is not started here yet.

use std::ffi::OsString;
use std::io::{self, Write};

use crate::cli::ServeArgs;
use crate::settings::{Problem, print, resolve};
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
            let in_files = unusable.problems.iter().all(|problem| matches!(problem, Problem::InFile(_)));
            return Ok(if in_files { Exit::Findings } else { Exit::Usage });
        }
    };
    resolved.warnings.iter().try_for_each(|problem| problem.tell(&resolved.sources, err))?;
    if args.print_config {
        print(&resolved, out)?;
        return Ok(Exit::Fine);
    }
    writeln!(err, "tollgate: the gateway is not part of this build; --print-config shows what it would do")?;
    Ok(Exit::Usage)
}
