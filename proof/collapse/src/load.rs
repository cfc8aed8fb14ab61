//! Clients: requests at a rate that does not depend on the answers, each of which waits for one second.

use std::net::SocketAddr;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;
use tokio::time::{Instant, sleep_until, timeout_at};
use tollgate_testing::random::Random;

/// How long a client waits.
pub(crate) const PATIENCE: Duration = Duration::from_secs(1);

/// What came of requests so far.
#[derive(Debug, Default)]
pub(crate) struct Counts {
    /// Answered with 200 in time.
    pub(crate) good: AtomicU64,
    /// Answered with 503.
    pub(crate) refused: AtomicU64,
    /// Not answered in time, or with something else.
    pub(crate) failed: AtomicU64,
}

/// Connections that are open and idle.
#[derive(Debug, Clone, Default)]
struct Pool(Arc<Mutex<Vec<TcpStream>>>);

/// Sends requests to `address` at random, so many per second on average, until `until`.
pub(crate) async fn offer(
    address: SocketAddr,
    (per_second, until): (f64, Instant),
    counts: &Arc<Counts>,
    seed: u64,
) {
    let (pool, mut random) = (Pool::default(), Random::new(seed));
    let mut next = Instant::now();
    while next < until {
        sleep_until(next).await;
        let (pool, counts) = (pool.clone(), Arc::clone(counts));
        tokio::spawn(async move { ask(address, &pool, &counts).await });
        // Poisson arrivals: exponential gaps.
        let uniform = (random.below(1 << 32) as f64 + 1.0) / f64::from(u32::MAX);
        next += Duration::from_secs_f64((-uniform.min(1.0).ln() / per_second).min(1.0));
    }
}

/// Keeps so many requests in progress until `until`: what the server can do at best.
pub(crate) async fn saturate(address: SocketAddr, clients: u32, until: Instant, counts: &Arc<Counts>) {
    let mut all = tokio::task::JoinSet::new();
    for _ in 0..clients {
        let (pool, counts) = (Pool::default(), Arc::clone(counts));
        all.spawn(async move {
            while Instant::now() < until {
                ask(address, &pool, &counts).await;
            }
        });
    }
    all.join_all().await;
}

async fn ask(address: SocketAddr, pool: &Pool, counts: &Counts) {
    let deadline = Instant::now() + PATIENCE;
    let kept = pool.0.lock().unwrap_or_else(PoisonError::into_inner).pop();
    let mut stream = match kept {
        Some(stream) => stream,
        None => match timeout_at(deadline, TcpStream::connect(address)).await {
            Ok(Ok(stream)) => stream,
            Ok(Err(_)) | Err(_) => {
                counts.failed.fetch_add(1, Ordering::Relaxed);
                return;
            }
        },
    };
    let count = match timeout_at(deadline, exchange(&mut stream)).await {
        Ok(Ok(status @ (200 | 503))) => {
            pool.0.lock().unwrap_or_else(PoisonError::into_inner).push(stream);
            if status == 200 { &counts.good } else { &counts.refused }
        }
        Ok(_) | Err(_) => {
            // Without a reset, thousands of closed connections would wait for their last packets.
            let _ = stream.set_zero_linger();
            &counts.failed
        }
    };
    count.fetch_add(1, Ordering::Relaxed);
}

/// Sends a request and reads its whole response. Returns its status.
async fn exchange(stream: &mut TcpStream) -> std::io::Result<u16> {
    let _ = stream.set_nodelay(true);
    stream.write_all(b"GET /work HTTP/1.1\r\nHost: a\r\n\r\n").await?;
    let mut answer = Vec::with_capacity(1_024);
    loop {
        if stream.read_buf(&mut answer).await? == 0 {
            return Err(std::io::ErrorKind::UnexpectedEof.into());
        }
        let text = String::from_utf8_lossy(&answer);
        let Some((head, body)) = text.split_once("\r\n\r\n") else { continue };
        let length = head.lines().find_map(|line| {
            let (name, value) = line.split_once(':')?;
            name.eq_ignore_ascii_case("content-length").then(|| value.trim().parse().ok())?
        });
        if body.len() >= length.unwrap_or(0) {
            let status = head.split(' ').nth(1).and_then(|status| status.parse().ok());
            return status.ok_or_else(|| std::io::ErrorKind::InvalidData.into());
        }
    }
}
