//! `tollgate man`: manual pages, made of the definition of the flags in `cli`.

use std::io::{self, Write};

use clap::CommandFactory;
use clap_mangen::Man;

use crate::cli::{Cli, ManArgs};
use crate::{Exit, files};

/// Prints the page of the program, or writes the pages of all commands into a folder.
///
/// # Errors
/// When the output cannot be written. A folder that cannot be is told on `err`.
pub fn run(args: &ManArgs, out: &mut dyn Write, err: &mut dyn Write) -> io::Result<Exit> {
    let Some(folder) = &args.dir else {
        Man::new(Cli::command()).render(out)?;
        return Ok(Exit::Fine);
    };
    for (name, page) in pages()? {
        if let Err(why) = files::write_into(folder, &name, &page) {
            writeln!(err, "tollgate: {why}")?;
            return Ok(Exit::Usage);
        }
        writeln!(out, "{name}")?;
    }
    Ok(Exit::Fine)
}

/// `tollgate.1`, `tollgate-lint.1` and so on, in the order of the commands.
fn pages() -> io::Result<Vec<(String, Vec<u8>)>> {
    let mut program = Cli::command();
    program.build();
    let commands: Vec<_> = program.get_subcommands().cloned().collect();
    let mut pages = Vec::new();
    for command in std::iter::once(program).chain(commands) {
        let name = command.get_display_name().unwrap_or_else(|| command.get_name()).to_owned();
        let mut page = Vec::new();
        Man::new(command).render(&mut page)?;
        pages.push((format!("{name}.1"), page));
    }
    Ok(pages)
}
