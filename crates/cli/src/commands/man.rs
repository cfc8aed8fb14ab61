//! `tollgate man`: generates manual pages from the definitions in `cli`.

use std::io::{self, Write};

use clap::{ArgAction, Command, CommandFactory};
use clap_mangen::Man;

use crate::cli::{Cli, ManArgs};
use crate::{Exit, files};

/// What stands at the foot of every page.
const SOURCE: &str = concat!("tollgate ", env!("CARGO_PKG_VERSION"));
/// How the help heads what a page has under a heading of its own. What else it heads keeps its words, as a part of these.
const SECTIONS: &[(&str, &str)] = &[("Examples:", "EXAMPLES"), ("Exit codes:", "EXIT STATUS")];

/// Prints the page of the program, or writes the pages of all commands into a folder.
///
/// # Errors
/// When the output cannot be written. A folder that cannot be is told on `err`.
pub fn run(args: &ManArgs, out: &mut dyn Write, err: &mut dyn Write) -> io::Result<Exit> {
    let Some(folder) = &args.dir else {
        if let Some((_, page)) = pages()?.first() {
            out.write_all(page)?;
        }
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
    let all = std::iter::once(program).chain(commands);
    all.map(|command| {
        let name = command.get_display_name().unwrap_or_else(|| command.get_name()).to_owned();
        Ok((format!("{name}.1"), page(&name, command)?))
    })
    .collect()
}

/// One page. The sections that the generator has no headings for are our own.
fn page(name: &str, command: Command) -> io::Result<Vec<u8>> {
    let has_commands = command.has_subcommands();
    let repeated: Vec<String> = command
        .get_positionals()
        .filter(|argument| matches!(argument.get_action(), ArgAction::Append))
        .flat_map(|argument| argument.get_value_names().unwrap_or_default())
        .flat_map(|value| [format!("<\\fI{value}\\fR>"), format!("[\\fI{value}\\fR]")])
        .collect();
    let help = command.get_after_help().map(ToString::to_string).unwrap_or_default();
    let man = Man::new(command);
    let mut page = Vec::new();
    man.render_name_section(&mut page)?;
    man.render_synopsis_section(&mut page)?;
    man.render_description_section(&mut page)?;
    man.render_options_section(&mut page)?;
    if has_commands {
        man.render_subcommands_section(&mut page)?;
    }
    let mut text = String::from_utf8_lossy(&page).into_owned();
    for value in repeated {
        text = text.replace(&value, &format!("{value}..."));
    }
    let title = format!(".TH {} 1 \"\" \"{SOURCE}\" \"User Commands\"\n", escaped(name));
    Ok(format!("{title}{text}{}", sections(&help)).into_bytes())
}

/// The help's last part under headings, with its lines as they are.
fn sections(help: &str) -> String {
    let mut text = String::new();
    let mut open = false;
    for line in help.lines() {
        if let Some((_, heading)) = SECTIONS.iter().find(|(head, _)| *head == line) {
            text.push_str(if open { ".fi\n" } else { "" });
            text.push_str(&format!(".SH \"{heading}\"\n.nf\n"));
            open = true;
        } else if open {
            text.push_str(&escaped(line));
            text.push('\n');
        }
    }
    text.push_str(if open { ".fi\n" } else { "" });
    text
}

/// A line as roff prints it: nothing in it is a request, and its hyphens and quotes can be copied into a shell.
fn escaped(line: &str) -> String {
    let text = line.replace('\\', "\\e").replace('-', "\\-").replace('\'', "\\(aq");
    if text.starts_with('.') { format!("\\&{text}") } else { text }
}

#[test]
fn lines_are_no_requests() {
    assert_eq!(escaped(".SH -a 'b\\n'"), "\\&.SH \\-a \\(aqb\\en\\(aq");
    assert_eq!(
        sections("Examples:\n  a\nExit codes:\n  0"),
        ".SH \"EXAMPLES\"\n.nf\n  a\n.fi\n.SH \"EXIT STATUS\"\n.nf\n  0\n.fi\n"
    );
}
