//! Script calls to a real server, many at once, with the scripts as they are or with one of them broken.

use std::collections::HashMap;
use std::time::Duration;

use redis::Cmd;
use tollgate_redis::{Call, Script, Value};

use crate::mutants::Mutant;
use crate::server::{Server, connect};

/// A connection on which scripts are called by their digests.
#[allow(missing_debug_implementations, reason = "the connection has none")]
pub struct Wire {
    connection: redis::Connection,
    /// The digest that a script goes by here.
    digests: HashMap<String, String>,
    mutant: Option<Mutant>,
    /// Whether the broken place stands in some script that was called.
    pub is_broken: bool,
    /// Why nothing can be compared any more: the connection is lost, or a script does not compile. No answer of the server's.
    pub failure: Option<String>,
    waiting: Vec<u8>,
    count: usize,
}

/// What an independent client has read, as a value of the crate under test.
///
/// # Errors
/// When it is of a type that RESP2 does not have.
#[expect(
    clippy::wildcard_enum_match_arm,
    reason = "the client has types of a protocol that is not spoken here"
)]
fn value_of(value: redis::Value) -> Answered {
    Ok(match value {
        redis::Value::Nil => Value::Nil,
        redis::Value::Int(number) => Value::Int(number),
        redis::Value::BulkString(bytes) => Value::BulkString(bytes),
        redis::Value::Array(values) => {
            Value::Array(values.into_iter().map(value_of).collect::<Result<_, _>>()?)
        }
        redis::Value::SimpleString(text) => Value::SimpleString(text),
        redis::Value::Okay => Value::SimpleString("OK".into()),
        redis::Value::ServerError(error) => Value::Error(match error.details() {
            None => error.code().to_owned(),
            Some(details) => format!("{} {details}", error.code()),
        }),
        other => return Err(format!("not a value of RESP2: {other:?}")),
    })
}

/// How long a server may take for an answer. A script that takes longer does not end.
const PATIENCE: Duration = Duration::from_secs(60);

/// What came back: a value, or the server's error as text.
pub type Answered = Result<Value, String>;

impl Wire {
    /// A connection to a server.
    ///
    /// # Errors
    /// When there is none to be had.
    pub fn open(server: &Server, mutant: Option<Mutant>) -> Result<Self, String> {
        let connection = connect(server)?;
        connection.set_read_timeout(Some(PATIENCE)).map_err(|error| error.to_string())?;
        Ok(Self {
            connection,
            digests: HashMap::new(),
            mutant,
            is_broken: false,
            failure: None,
            waiting: Vec::new(),
            count: 0,
        })
    }

    /// Adds a script call to what is sent next.
    ///
    /// # Errors
    /// When the script cannot be loaded.
    pub fn call(&mut self, call: &Call) -> Result<(), String> {
        let digest = self.digest(call.script)?;
        let mut command = redis::cmd("EVALSHA");
        command.arg(digest).arg(call.names.len());
        call.names.iter().for_each(|name| {
            command.arg(name.as_bytes());
        });
        call.arguments.iter().for_each(|argument| {
            command.arg(argument.as_slice());
        });
        self.add(&command);
        Ok(())
    }

    /// Adds a command to what is sent next.
    pub fn add(&mut self, command: &Cmd) {
        self.waiting.extend_from_slice(&command.get_packed_command());
        self.count += 1;
    }

    /// Sends what waits, and returns the answers.
    ///
    /// # Errors
    /// When the connection is lost.
    pub fn answers(&mut self) -> Result<Vec<Answered>, String> {
        let sent = self.connection.send_packed_command(&self.waiting);
        sent.map_err(|error| self.failed(format!("the server takes nothing: {error}")))?;
        self.waiting.clear();
        let count = std::mem::take(&mut self.count);
        let mut answers = Vec::with_capacity(count);
        for _ in 0..count {
            match self.connection.recv_response() {
                Ok(value) => answers.push(Ok(value_of(value)?)),
                Err(error) if error.is_io_error() => {
                    return Err(self.failed(format!("the server is gone: {error}")));
                }
                Err(error) => answers.push(Err(error.to_string())),
            }
        }
        Ok(answers)
    }

    /// Sends one command by itself.
    ///
    /// # Errors
    /// When the server says so.
    pub fn ask(&mut self, command: &Cmd) -> Answered {
        let answer: redis::Value = command.query(&mut self.connection).map_err(|error| {
            let is_lost = error.is_io_error();
            let why = error.to_string();
            if is_lost { self.failed(why) } else { why }
        })?;
        value_of(answer)
    }

    /// Remembers that nothing can be compared any more.
    fn failed(&mut self, why: String) -> String {
        self.failure.get_or_insert(why).clone()
    }

    /// Sends one call by itself.
    ///
    /// # Errors
    /// When the server says so.
    pub fn ask_call(&mut self, call: &Call) -> Answered {
        self.call(call)?;
        self.answers()?.pop().unwrap_or_else(|| Err("no answer".into()))
    }

    fn digest(&mut self, script: &Script) -> Result<String, String> {
        if let Some(digest) = self.digests.get(&script.digest) {
            return Ok(digest.clone());
        }
        let mut text = script.text.clone();
        if let Some(mutant) = &self.mutant
            && text.contains(mutant.shipped)
        {
            self.is_broken = true;
            text = text.replace(mutant.shipped, mutant.broken);
        }
        let mut load = redis::cmd("SCRIPT");
        load.arg("LOAD").arg(&text);
        // What waits is sent later: a script is loaded by itself.
        let loaded: Result<String, _> = load.query(&mut self.connection);
        let loaded = loaded.map_err(|error| self.failed(format!("cannot load a script: {error}\n{text}")))?;
        self.digests.insert(script.digest.clone(), loaded.clone());
        Ok(loaded)
    }
}
