//! Finds the command and executes it.

use super::arguments::{Arguments, Refusal, shown};
use super::commands::{self, Command, Id};
use super::session::Session;

/// What a command does to the reply: `Err` becomes an error reply.
pub(super) type Done = Result<(), Refusal>;

impl Session {
    /// Executes any command but `CL.THROTTLE`, and writes its reply.
    pub(super) async fn dispatch(&mut self, name: &[u8], arguments: Arguments<'_>) {
        let Some(command) = commands::find(name) else {
            self.shared.metrics.other.inc();
            let refusal = if self.has_token { unknown(name, arguments) } else { no_token() };
            self.refuse(&refusal);
            return;
        };
        let is_own = command.name.starts_with("TG.");
        if is_own {
            self.shared.metrics.own.inc()
        } else {
            self.shared.metrics.other.inc()
        }
        if !self.has_token && command.needs_token() {
            self.refuse(&no_token());
            return;
        }
        let before = self.out.len();
        if let Err(refusal) = self.execute(command, arguments).await {
            // What was begun is no reply.
            self.out.truncate(before);
            self.refuse(&refusal);
        }
    }

    async fn execute(&mut self, command: &'static Command, arguments: Arguments<'_>) -> Done {
        if !command.takes(arguments.len().saturating_add(1)) {
            let name = command.name.to_ascii_lowercase();
            return Err(Refusal::invalid(format_args!("wrong number of arguments for '{name}' command")));
        }
        if command.arity < -1 && !command.subcommands.is_empty() && arguments.clone().word("HELP") {
            return self.help(command);
        }
        match command.id {
            // It is never dispatched here with a token.
            Id::Throttle => Err(no_token()),
            Id::Check => self.check(arguments).await,
            Id::Peek => self.peek(arguments).await,
            Id::Inspect => self.inspect(arguments).await,
            Id::Reset => self.reset(arguments).await,
            Id::Reserve => self.reserve(arguments).await,
            Id::Commit => self.commit(arguments).await,
            Id::Cancel | Id::Refund => self.cancel(arguments).await,
            Id::Acquire => self.acquire(arguments).await,
            Id::Renew => self.renew(arguments),
            Id::Release => self.release(arguments),
            Id::Ping => self.ping(arguments),
            Id::Echo => self.echo(arguments),
            Id::Hello => self.hello(arguments),
            Id::Auth => self.auth(arguments),
            Id::Client => self.client(arguments),
            Id::Select => self.select(arguments),
            Id::ResetConnection => self.reset_connection(),
            Id::Quit => self.quit(),
            Id::Info => self.info(arguments),
            Id::Command => self.command(arguments),
            Id::Config => self.config(arguments),
        }
    }
}

pub(super) fn no_token() -> Refusal {
    Refusal("NOAUTH Authentication required.".into())
}

fn unknown(name: &[u8], mut arguments: Arguments<'_>) -> Refusal {
    let mut message = format!("unknown command '{}', with args beginning with: ", shown(name));
    while let Some(argument) = arguments.next().filter(|_| message.len() < 128) {
        message = format!("{message}'{}' ", shown(argument));
    }
    Refusal::invalid(message)
}
