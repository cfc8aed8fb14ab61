//! An upstream that answers by a script, connection by connection, and knows when each has ended. No test is in here.

use std::io::{Read, Write};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::sync::{Arc, Condvar, Mutex};

use crate::support::{PATIENCE, field, small};

/// What is answered.
pub(crate) struct Reply {
    pub(crate) bytes: Vec<u8>,
    /// Whether the connection is closed then.
    pub(crate) close: bool,
}

/// What is answered on the connection of this number to what has come on it since the last reply; `None` is "not yet".
pub(crate) type Script = dyn Fn(usize, &str) -> Option<Reply> + Send + Sync;

/// The upstream. It runs as long as the tests do.
pub(crate) struct Scripted {
    pub(crate) address: SocketAddr,
    connections: Arc<Connections>,
}

#[derive(Default)]
struct Connections {
    all: Mutex<Vec<Seen>>,
    changed: Condvar,
}

#[derive(Default)]
struct Seen {
    bytes: Vec<u8>,
    ended: bool,
}

impl Scripted {
    /// One that answers every whole request with these bytes, and keeps the connection.
    pub(crate) fn always(bytes: &'static [u8]) -> Self {
        Self::new(move |_, request| small(request).map(|_| Reply { bytes: bytes.into(), close: false }))
    }

    /// One that answers as the script says.
    pub(crate) fn new(script: impl Fn(usize, &str) -> Option<Reply> + Send + Sync + 'static) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").expect("there is a free port");
        let address = listener.local_addr().expect("it is bound");
        let connections = Arc::new(Connections::default());
        let (all, script): (_, Arc<Script>) = (Arc::clone(&connections), Arc::new(script));
        std::thread::spawn(move || {
            for stream in listener.incoming().map_while(Result::ok) {
                let number = {
                    let mut all = all.all.lock().expect("nobody panics");
                    all.push(Seen::default());
                    all.len() - 1
                };
                let (all, script) = (Arc::clone(&all), Arc::clone(&script));
                std::thread::spawn(move || {
                    serve(stream, number, &all, &script);
                    all.all.lock().expect("nobody panics")[number].ended = true;
                    all.changed.notify_all();
                });
            }
        });
        Self { address, connections }
    }

    /// What came, connection by connection.
    pub(crate) fn seen(&self) -> Vec<String> {
        let all = self.connections.all.lock().expect("nobody panics");
        all.iter().map(|seen| String::from_utf8_lossy(&seen.bytes).into_owned()).collect()
    }

    /// As [`seen`](Self::seen), when every connection so far has ended. A gateway that keeps no idle connections ends them.
    pub(crate) fn settled(&self) -> Vec<String> {
        let all = self.connections.all.lock().expect("nobody panics");
        let open = |all: &mut Vec<Seen>| all.iter().any(|seen| !seen.ended);
        let (all, waited) =
            self.connections.changed.wait_timeout_while(all, PATIENCE, open).expect("nobody panics");
        assert!(!waited.timed_out(), "a connection to the upstream is still open");
        drop(all);
        self.seen()
    }
}

fn serve(mut stream: TcpStream, number: usize, connections: &Connections, script: &Arc<Script>) {
    let mut piece = [0; 4096];
    let mut since = 0;
    while let Ok(count @ 1..) = stream.read(&mut piece) {
        let reply = {
            let seen = &mut connections.all.lock().expect("nobody panics")[number].bytes;
            seen.extend_from_slice(&piece[..count]);
            let reply = script(number, &String::from_utf8_lossy(&seen[since..]));
            if reply.is_some() {
                since = seen.len();
            }
            reply
        };
        if let Some(reply) = reply
            && (stream.write_all(&reply.bytes).is_err() || reply.close)
        {
            return;
        }
    }
}

/// What of a request says how it is to be read: its first line, how its body ends, and the body.
pub(crate) fn essence(request: &str) -> String {
    let Some((head, body)) = request.split_once("\r\n\r\n") else {
        return format!("no whole head: {request:?}");
    };
    let mut essence = head.lines().next().unwrap_or_default().to_owned();
    for name in ["content-length", "transfer-encoding", "trailer"] {
        if let Some(value) = field(request, name) {
            essence.push_str(&format!("|{name}: {value}"));
        }
    }
    format!("{essence}|{body}")
}

/// The statuses of all responses in what a client got.
pub(crate) fn statuses(got: &str) -> Vec<u16> {
    let found = got.match_indices("HTTP/1.1 ").chain(got.match_indices("HTTP/1.0 "));
    found.map(|(at, _)| got[at + 9..at + 12].parse().expect("a status has three digits")).collect()
}
