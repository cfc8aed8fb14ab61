//! `COMMAND`: what clients learn about commands. redis-cli makes its hints and its `help` from it.

use tollgate_resp::Writer;

use super::arguments::Arguments;
use super::commands::{self, Argument, COMMANDS, Command, Subcommand};
use super::connection_commands::unknown_subcommand;
use super::dispatch::Done;
use super::session::Session;

impl Session {
    pub(super) fn command(&mut self, mut arguments: Arguments<'_>) -> Done {
        let Some(name) = arguments.next() else {
            let mut reply = self.reply();
            reply.array(COMMANDS.len());
            COMMANDS.iter().for_each(|command| write_info(&mut reply, command));
            return Ok(());
        };
        let is_it = |wanted: &str| wanted.as_bytes().eq_ignore_ascii_case(name);
        if is_it("COUNT") {
            self.reply().integer(i64::try_from(COMMANDS.len()).unwrap_or(i64::MAX));
        } else if is_it("LIST") {
            let mut reply = self.reply();
            reply.array(COMMANDS.len());
            COMMANDS.iter().for_each(|command| reply.bulk(command.name.to_ascii_lowercase()));
        } else if is_it("DOCS") {
            let wanted = wanted(arguments);
            let known: Vec<_> = wanted.into_iter().flatten().collect();
            let mut reply = self.reply();
            reply.map(known.len());
            known.iter().for_each(|command| write_docs(&mut reply, command));
        } else if is_it("INFO") {
            let wanted = wanted(arguments);
            let mut reply = self.reply();
            reply.array(wanted.len());
            for command in wanted {
                match command {
                    Some(command) => write_info(&mut reply, command),
                    None => reply.null(),
                }
            }
        } else if is_it("HELP") {
            return commands::find(b"COMMAND").map_or(Ok(()), |command| self.help(command));
        } else {
            return Err(unknown_subcommand("COMMAND", name));
        }
        Ok(())
    }
}

/// The commands of these names, or all if there are no names.
fn wanted(mut arguments: Arguments<'_>) -> Vec<Option<&'static Command>> {
    if arguments.len() == 0 {
        return COMMANDS.iter().map(Some).collect();
    }
    std::iter::from_fn(|| arguments.next()).map(commands::find).collect()
}

/// Name, arity, flags, first key, last key, step, categories, tips, key specifications, subcommands.
fn write_info(reply: &mut Writer<'_>, command: &Command) {
    let decides = command.key > 0 || command.name.starts_with("TG.");
    reply.array(10);
    reply.bulk(command.name.to_ascii_lowercase());
    reply.integer(command.arity);
    let flags: &[&str] = if decides { &["write", "fast"] } else { &["noscript", "loading", "stale", "fast"] };
    reply.set(flags.len());
    flags.iter().for_each(|flag| reply.simple(flag));
    let key = i64::try_from(command.key).unwrap_or(0);
    for number in [key, key, key.min(1)] {
        reply.integer(number);
    }
    let category = if decides { "@write" } else { "@connection" };
    reply.set(1);
    reply.simple(category);
    // Tips, key specifications and subcommands.
    (0..3).for_each(|_| reply.array(0));
}

fn write_docs(reply: &mut Writer<'_>, command: &Command) {
    reply.bulk(command.name.to_ascii_lowercase());
    let (has_arguments, has_subcommands) =
        (command.subcommands.is_empty() && !command.arguments.is_empty(), !command.subcommands.is_empty());
    reply.map(usize::from(has_arguments).saturating_add(usize::from(has_subcommands)).saturating_add(3));
    write_head(reply, command.summary);
    if has_arguments {
        write_arguments(reply, &command.arguments.iter().collect::<Vec<_>>());
    }
    if has_subcommands {
        reply.bulk("subcommands");
        reply.map(command.subcommands.len());
        command.subcommands.iter().for_each(|subcommand| write_subcommand(reply, command, subcommand));
    }
}

fn write_subcommand(reply: &mut Writer<'_>, command: &Command, subcommand: &Subcommand) {
    reply.bulk(format!("{}|{}", command.name, subcommand.name).to_ascii_lowercase());
    let arguments: Vec<_> = command.arguments_with(subcommand).collect();
    reply.map(usize::from(!arguments.is_empty()).saturating_add(3));
    write_head(reply, subcommand.summary);
    if !arguments.is_empty() {
        write_arguments(reply, &arguments);
    }
}

fn write_head(reply: &mut Writer<'_>, summary: &str) {
    for (name, value) in [("summary", summary), ("since", env!("CARGO_PKG_VERSION")), ("group", "tollgate")] {
        reply.bulk(name);
        reply.bulk(value);
    }
}

fn write_arguments(reply: &mut Writer<'_>, arguments: &[&Argument]) {
    reply.bulk("arguments");
    reply.array(arguments.len());
    for argument in arguments {
        let fields = usize::from(argument.token.is_some()).saturating_add(usize::from(argument.optional));
        reply.map(fields.saturating_add(2));
        for (name, value) in [("name", argument.name), ("type", argument.kind.name())] {
            reply.bulk(name);
            reply.bulk(value);
        }
        if let Some(token) = argument.token {
            reply.bulk("token");
            reply.bulk(token);
        }
        if argument.optional {
            reply.bulk("flags");
            reply.set(1);
            reply.simple("optional");
        }
    }
}
