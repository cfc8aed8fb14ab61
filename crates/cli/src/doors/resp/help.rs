//! `HELP` of a command with subcommands, in the form of Redis.

use super::commands::Command;
use super::dispatch::Done;
use super::session::Session;

impl Session {
    /// Writes a line for each subcommand, and one for what it does.
    pub(super) fn help(&mut self, command: &'static Command) -> Done {
        let mut lines =
            vec![format!("{} <subcommand> [<arg> [value] [opt] ...]. Subcommands are:", command.name)];
        for subcommand in command.subcommands {
            let arguments = command.arguments_with(subcommand).map(|argument| format!(" {argument}"));
            lines.push(format!("{}{}", subcommand.name, arguments.collect::<String>()));
            lines.push(format!("    {}.", subcommand.summary));
        }
        lines.push("HELP".into());
        lines.push("    Print this help.".into());
        let mut reply = self.reply();
        reply.array(lines.len());
        lines.iter().for_each(|line| reply.simple(line));
        Ok(())
    }
}
