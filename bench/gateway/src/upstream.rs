//! The upstream: answers every request with two bytes, for as little processor time as there is. It expects what
//! proxies send, one request at a time without a body, and is no HTTP server beyond that.

use std::io::{ErrorKind, Read, Write};
use std::net::{Ipv4Addr, TcpListener, TcpStream};

use rustix::buffer::spare_capacity;
use rustix::event::epoll;

const ANSWER: &[u8] = b"HTTP/1.1 200 OK\r\nContent-Type: text/plain\r\nContent-Length: 2\r\n\r\nok";
const END: &[u8] = b"\r\n\r\n";
/// Stands for the listener among the numbers of connections.
const LISTENER: u64 = u64::MAX;

/// Serves until the process is ended.
pub(crate) fn serve(port: u16) -> Result<(), String> {
    run(port).map_err(|error| format!("the upstream on port {port} failed: {error}"))
}

fn run(port: u16) -> std::io::Result<()> {
    let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, port))?;
    listener.set_nonblocking(true)?;
    let poll = epoll::create(epoll::CreateFlags::CLOEXEC)?;
    epoll::add(&poll, &listener, epoll::EventData::new_u64(LISTENER), epoll::EventFlags::IN)?;
    let mut connections: Vec<Option<Connection>> = Vec::new();
    let mut events = Vec::with_capacity(256);
    let mut buffer = vec![0; 16 << 10];
    loop {
        events.clear();
        epoll::wait(&poll, spare_capacity(&mut events), None)?;
        for event in &events {
            let number = event.data.u64();
            if number == LISTENER {
                accept(&listener, &poll, &mut connections)?;
            } else if let Some(place) = usize::try_from(number).ok().and_then(|at| connections.get_mut(at))
                && !place.as_mut().is_some_and(|connection| connection.answer(&mut buffer))
            {
                *place = None;
            }
        }
    }
}

fn accept(
    listener: &TcpListener,
    poll: &rustix::fd::OwnedFd,
    connections: &mut Vec<Option<Connection>>,
) -> std::io::Result<()> {
    while let Ok((stream, _)) = listener.accept() {
        stream.set_nonblocking(true)?;
        stream.set_nodelay(true)?;
        let free = connections.iter().position(Option::is_none).unwrap_or(connections.len());
        let data = epoll::EventData::new_u64(u64::try_from(free).unwrap_or(LISTENER));
        epoll::add(poll, &stream, data, epoll::EventFlags::IN)?;
        let connection = Some(Connection { stream, begun: Vec::new() });
        if free == connections.len() {
            connections.push(connection);
        } else {
            connections[free] = connection;
        }
    }
    Ok(())
}

struct Connection {
    stream: TcpStream,
    /// What has come of a request whose end has not.
    begun: Vec<u8>,
}

impl Connection {
    /// Reads what is there and answers if that is the end of a request. False when the connection is over.
    fn answer(&mut self, buffer: &mut [u8]) -> bool {
        let piece = match self.stream.read(buffer) {
            Ok(0) => return false,
            Ok(bytes) => &buffer[..bytes],
            Err(error) => return error.kind() == ErrorKind::WouldBlock,
        };
        // Nearly always a request comes in one piece, and nothing is copied.
        if self.begun.is_empty() && piece.ends_with(END) {
            return self.stream.write_all(ANSWER).is_ok();
        }
        self.begun.extend_from_slice(piece);
        if !self.begun.ends_with(END) {
            return true;
        }
        self.begun.clear();
        self.stream.write_all(ANSWER).is_ok()
    }
}
