//! Closes a connection whose client may still be sending: reads and discards for a while, so that the client can read the
//! response.
//!
//! A socket that is closed while bytes are unread is reset, and a reset takes with it what the client has not read yet (RFC 9112
//! 9.6): most clients send all of a request before they read, and would never see that it was refused.

use std::time::Duration;

use tokio::io::{AsyncReadExt, AsyncWriteExt};

use super::client_io::ClientIo;

/// Maximum bytes to discard. A client that sends more is reset, and may miss the response.
const LINGER_BYTES_MAX: usize = 64 << 20;
/// So long a client has to see the answer, stop sending and close. It keeps its place among the connections meanwhile, so that
/// those who do not close are bounded like those who do not ask.
const LINGER_TIME: Duration = Duration::from_secs(5);
/// So much is read at once, in bytes.
const PIECE: usize = 16 << 10;

/// Says that no more will come from here, and reads until the client says so, too, or had its share of bytes or time.
pub(crate) async fn linger(mut stream: ClientIo) {
    let until_closed = async {
        // It may have been said already.
        let _ = stream.shutdown().await;
        let (mut piece, mut left) = (vec![0; PIECE], LINGER_BYTES_MAX);
        while left > 0 {
            match stream.read(&mut piece).await {
                Ok(0) | Err(_) => return,
                Ok(count) => left = left.saturating_sub(count),
            }
        }
    };
    let _ = tokio::time::timeout(LINGER_TIME, until_closed).await;
}
