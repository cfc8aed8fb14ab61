//! Commands about the connection: `HELLO`, `AUTH`, `CLIENT` and the like, as clients of Redis send them.

use tollgate_resp::Protocol;

use super::arguments::{Arguments, Refusal, shown};
use super::dispatch::Done;
use super::session::Session;

/// The version of Redis whose protocol and commands are spoken. Clients choose by it what they send.
pub(super) const REDIS_VERSION: &str = "7.0.0";
/// The longest name of a connection. A longer one is an error.
const NAME_MAX: usize = 128;

impl Session {
    pub(super) fn ping(&mut self, mut arguments: Arguments<'_>) -> Done {
        match arguments.next() {
            None => self.reply().simple("PONG"),
            Some(message) => {
                arguments.end()?;
                self.reply().bulk(message);
            }
        }
        Ok(())
    }

    pub(super) fn echo(&mut self, mut arguments: Arguments<'_>) -> Done {
        let message = arguments.required("message")?;
        self.reply().bulk(message);
        Ok(())
    }

    pub(super) fn hello(&mut self, mut arguments: Arguments<'_>) -> Done {
        let protocol = match arguments.next() {
            None => self.protocol,
            Some(b"2") => Protocol::Resp2,
            Some(b"3") => Protocol::Resp3,
            Some(_) => return Err(Refusal("NOPROTO unsupported protocol version".into())),
        };
        let mut name = None;
        let mut has_token = self.has_token;
        while arguments.len() > 0 {
            if arguments.word("AUTH") {
                let (user, token) = (arguments.required("username")?, arguments.required("token")?);
                self.check_token(user, token)?;
                has_token = true;
            } else if arguments.word("SETNAME") {
                name = Some(connection_name(arguments.required("clientname")?)?);
            } else {
                arguments.end()?;
            }
        }
        if !has_token {
            return Err(Refusal(
                "NOAUTH HELLO must be called with the client already authenticated, otherwise the HELLO <proto> AUTH <user> <pass> \
                 option can be used to authenticate the client and select the RESP protocol version at the same time"
                    .into(),
            ));
        }
        (self.has_token, self.protocol) = (true, protocol);
        if let Some(name) = name {
            self.name = name;
        }
        let id = i64::try_from(self.id).unwrap_or(i64::MAX);
        let mut reply = self.reply();
        reply.map(7);
        for (name, value) in [("server", "tollgate"), ("version", REDIS_VERSION)] {
            reply.bulk(name);
            reply.bulk(value);
        }
        reply.bulk("proto");
        reply.integer(if protocol == Protocol::Resp3 { 3 } else { 2 });
        reply.bulk("id");
        reply.integer(id);
        for (name, value) in [("mode", "standalone"), ("role", "master")] {
            reply.bulk(name);
            reply.bulk(value);
        }
        reply.bulk("modules");
        reply.array(0);
        Ok(())
    }

    pub(super) fn auth(&mut self, mut arguments: Arguments<'_>) -> Done {
        let first = arguments.required("token")?;
        let (user, token) = match arguments.next() {
            None => (&b"default"[..], first),
            Some(token) => (first, token),
        };
        arguments.end()?;
        if self.shared.token.is_none() {
            return Err(Refusal::invalid(
                "AUTH <password> called without any password configured for the default user. Are you sure your configuration is \
                 correct?",
            ));
        }
        self.check_token(user, token)?;
        self.has_token = true;
        self.reply().simple("OK");
        Ok(())
    }

    fn check_token(&self, user: &[u8], token: &[u8]) -> Result<(), Refusal> {
        let Some(check) = &self.shared.token else { return Ok(()) };
        // The token is compared for any user, so that no time tells which of the two is wrong.
        if check(token) && user == b"default" {
            return Ok(());
        }
        Err(Refusal("WRONGPASS invalid username-password pair or user is disabled.".into()))
    }

    pub(super) fn client(&mut self, mut arguments: Arguments<'_>) -> Done {
        let name = arguments.required("subcommand")?;
        let is_it = |wanted: &str| wanted.as_bytes().eq_ignore_ascii_case(name);
        if is_it("ID") {
            let id = i64::try_from(self.id).unwrap_or(i64::MAX);
            self.reply().integer(id);
        } else if is_it("GETNAME") {
            let name = self.name.clone();
            if name.is_empty() { self.reply().null() } else { self.reply().bulk(&name) }
        } else if is_it("SETNAME") {
            self.name = connection_name(arguments.required("connection-name")?)?;
            self.reply().simple("OK");
        } else if is_it("SETINFO") {
            let (_, _) = (arguments.required("attribute")?, arguments.required("value")?);
            self.reply().simple("OK");
        } else if is_it("NO-EVICT") || is_it("NO-TOUCH") {
            arguments.required("on or off")?;
            self.reply().simple("OK");
        } else if is_it("INFO") || is_it("LIST") {
            let line = self.description();
            self.reply().text(&line);
            return Ok(());
        } else {
            return Err(unknown_subcommand("CLIENT", name));
        }
        arguments.end()
    }

    fn description(&self) -> String {
        let resp = if self.protocol == Protocol::Resp3 { 3 } else { 2 };
        format!("id={} addr={} name={} db=0 user=default resp={resp}\n", self.id, self.peer, self.name)
    }

    pub(super) fn select(&mut self, mut arguments: Arguments<'_>) -> Done {
        match arguments.required("index")? {
            b"0" => self.reply().simple("OK"),
            _ => return Err(Refusal::invalid("DB index is out of range: there is only database 0")),
        }
        Ok(())
    }

    pub(super) fn reset_connection(&mut self) -> Done {
        (self.protocol, self.name) = (Protocol::Resp2, String::new());
        self.has_token = self.shared.token.is_none();
        self.reply().simple("RESET");
        Ok(())
    }

    pub(super) fn quit(&mut self) -> Done {
        self.quits = true;
        self.reply().simple("OK");
        Ok(())
    }

    /// What redis-benchmark asks for before it begins.
    pub(super) fn config(&mut self, mut arguments: Arguments<'_>) -> Done {
        if !arguments.word("GET") {
            return Err(unknown_subcommand("CONFIG", arguments.next().unwrap_or_default()));
        }
        let (mut found, mut asked) = (Vec::new(), 0);
        while let Some(parameter) = arguments.next() {
            asked = usize::saturating_add(asked, 1);
            for known in [("save", ""), ("appendonly", "no")] {
                if parameter.eq_ignore_ascii_case(known.0.as_bytes()) && !found.contains(&known) {
                    found.push(known);
                }
            }
        }
        if asked == 0 {
            return Err(Refusal::invalid("wrong number of arguments for 'config|get' command"));
        }
        let mut reply = self.reply();
        reply.map(found.len());
        for (name, value) in found {
            reply.bulk(name);
            reply.bulk(value);
        }
        Ok(())
    }
}

/// A name without spaces and line ends, which would break `CLIENT LIST`.
fn connection_name(name: &[u8]) -> Result<String, Refusal> {
    let is_plain = name.iter().all(u8::is_ascii_graphic);
    match str::from_utf8(name) {
        Ok(name) if is_plain && name.len() <= NAME_MAX => Ok(name.into()),
        _ if is_plain => {
            Err(Refusal::invalid(format_args!("a client name has at most {NAME_MAX} characters")))
        }
        _ => Err(Refusal::invalid("Client names cannot contain spaces, newlines or special characters.")),
    }
}

pub(super) fn unknown_subcommand(command: &str, name: &[u8]) -> Refusal {
    Refusal::invalid(format_args!("unknown subcommand '{}'. Try {command} HELP.", shown(name)))
}
