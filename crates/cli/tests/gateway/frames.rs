//! HTTP/2 by hand, for clients that no library would be: frames of any kind, in any order. No test is in here.

use std::io::{Read, Write};
use std::net::TcpStream;

use crate::support::Rig;

pub(crate) const DATA: u8 = 0;
pub(crate) const HEADERS: u8 = 1;
pub(crate) const RST_STREAM: u8 = 3;
pub(crate) const SETTINGS: u8 = 4;
pub(crate) const PING: u8 = 6;
pub(crate) const GOAWAY: u8 = 7;
pub(crate) const WINDOW_UPDATE: u8 = 8;
pub(crate) const CONTINUATION: u8 = 9;

pub(crate) const END_STREAM: u8 = 1;
pub(crate) const END_HEADERS: u8 = 4;

/// A frame.
pub(crate) fn frame(kind: u8, flags: u8, stream: u32, payload: &[u8]) -> Vec<u8> {
    let length = u32::try_from(payload.len()).expect("a frame is short").to_be_bytes();
    let mut frame = vec![length[1], length[2], length[3], kind, flags];
    frame.extend_from_slice(&stream.to_be_bytes());
    frame.extend_from_slice(payload);
    frame
}

/// A field that is not remembered, with a name of its own.
pub(crate) fn field(name: &str, value: &str) -> Vec<u8> {
    let mut field = vec![0];
    for text in [name, value] {
        field.push(u8::try_from(text.len()).expect("it is short"));
        field.extend_from_slice(text.as_bytes());
    }
    field
}

/// The head of a request for a path.
pub(crate) fn head(post: bool, path: &str) -> Vec<u8> {
    // `:method`, `:scheme: http`, then `:path` and `:authority` by the names of the static table.
    let mut head = vec![if post { 0x83 } else { 0x82 }, 0x86, 0x04];
    for (before, text) in [(None, path), (Some(0x01), "a")] {
        head.extend(before);
        head.push(u8::try_from(text.len()).expect("it is short"));
        head.extend_from_slice(text.as_bytes());
    }
    head
}

/// A whole request without a body.
pub(crate) fn get(stream: u32, path: &str) -> Vec<u8> {
    frame(HEADERS, END_STREAM | END_HEADERS, stream, &head(false, path))
}

/// A connection that has begun.
pub(crate) struct Frames {
    pub(crate) tcp: TcpStream,
}

impl Frames {
    pub(crate) fn new(rig: &Rig) -> Self {
        let mut frames = Self { tcp: rig.connect() };
        frames.write(b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n");
        frames.write(&frame(SETTINGS, 0, 0, &[]));
        frames
    }

    /// Sends bytes. Says whether they were taken: a connection that is closed takes none.
    pub(crate) fn write(&mut self, bytes: &[u8]) -> bool {
        self.tcp.write_all(bytes).is_ok()
    }

    /// Sends bytes again and again, and reads nothing, until the connection is closed. Says whether it was before so many
    /// times.
    pub(crate) fn flood(&mut self, bytes: &[u8], most: usize) -> bool {
        (0..most).any(|_| !self.write(bytes))
    }

    /// The next frame: kind, flags, stream and payload; `None` when the connection is closed.
    pub(crate) fn next(&mut self) -> Option<(u8, u8, u32, Vec<u8>)> {
        let mut head = [0; 9];
        self.tcp.read_exact(&mut head).ok()?;
        let length = u32::from_be_bytes([0, head[0], head[1], head[2]]);
        let mut payload = vec![0; usize::try_from(length).expect("it is short")];
        self.tcp.read_exact(&mut payload).ok()?;
        Some((head[3], head[4], u32::from_be_bytes([head[5], head[6], head[7], head[8]]), payload))
    }

    /// Reads until the connection is closed. Says by which error code the gateway took its leave, if it did.
    pub(crate) fn leave(&mut self) -> Option<u32> {
        let mut code = None;
        while let Some((kind, _, _, payload)) = self.next() {
            if kind == GOAWAY {
                code = Some(u32::from_be_bytes([payload[4], payload[5], payload[6], payload[7]]));
            }
        }
        code
    }
}
