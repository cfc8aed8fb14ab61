//! What has been received and not been executed yet.

use std::io;

use tokio::io::{AsyncRead, AsyncReadExt as _};

/// At least so many bytes are read at once, and an idle connection keeps no more than this.
const READ_MIN: usize = 4 << 10;
/// At most so many bytes are read at once, beyond a command that is incomplete.
const READ_MAX: usize = 64 << 10;

/// Received bytes.
#[derive(Debug, Default)]
pub(super) struct Input {
    bytes: Vec<u8>,
    begin: usize,
    /// How much to ask for.
    wanted: usize,
}

impl Input {
    /// What has not been consumed.
    #[inline]
    pub(super) fn unread(&self) -> &[u8] {
        self.bytes.get(self.begin..).unwrap_or_default()
    }

    /// Everything received since the last read, for ranges that [`position`](Self::position) has been added to.
    pub(super) fn all(&self) -> &[u8] {
        &self.bytes
    }

    /// Where the unread bytes begin in [`all`](Self::all).
    pub(super) const fn position(&self) -> usize {
        self.begin
    }

    /// Takes a command away. Its bytes stay in [`all`](Self::all) until the next read.
    pub(super) const fn consume(&mut self, length: usize) {
        self.begin = self.begin.saturating_add(length);
    }

    /// Reads more; 0 at the end. It can be cancelled without a loss.
    pub(super) async fn read(&mut self, stream: &mut (impl AsyncRead + Unpin)) -> io::Result<usize> {
        self.bytes.drain(..self.begin.min(self.bytes.len()));
        self.begin = 0;
        self.wanted = self.wanted.clamp(READ_MIN, READ_MAX);
        self.bytes.reserve(self.wanted);
        let spare = self.bytes.capacity().saturating_sub(self.bytes.len());
        let read = stream.read_buf(&mut self.bytes).await?;
        // A client that fills the buffer has more to say.
        self.wanted = if read >= spare { self.wanted.saturating_mul(2) } else { self.wanted };
        Ok(read)
    }

    /// Gives back memory that an idle connection does not need.
    pub(super) fn shrink(&mut self) {
        self.wanted = READ_MIN;
        if self.unread().is_empty() {
            (self.bytes, self.begin) = (Vec::new(), 0);
        }
    }
}
