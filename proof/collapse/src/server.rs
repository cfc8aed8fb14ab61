//! A real HTTP/1.1 server whose throughput collapses under concurrency, as `crates/sim` simulates it.
//!
//! It works on [`AT_ONCE`] requests at full speed. Beyond that it shares its time among all, and loses some of it to switching between
//! them. It does not notice that a client has left, and goes on with the work: that is how servers stay overloaded.

use std::net::SocketAddr;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::oneshot;
use tokio::time::{Instant, MissedTickBehavior, interval};
use tollgate_testing::random::Random;

/// Requests that it works on at full speed.
pub(crate) const AT_ONCE: u32 = 20;
/// How long a request takes at full speed, on average.
pub(crate) const SERVICE: Duration = Duration::from_millis(100);
/// What it can do: requests per second.
pub(crate) const CAPACITY: f64 = 200.0;

/// How often work gets on.
const STEP: Duration = Duration::from_millis(1);
const ANSWER: &[u8] = b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok";

/// One request: what is left to do, in milliseconds at full speed, and who wants to know.
struct Job {
    left: f64,
    done: oneshot::Sender<()>,
}

type Jobs = Arc<Mutex<Vec<Job>>>;

/// Starts one on a free port. It stops with its runtime.
pub(crate) async fn start(seed: u64) -> std::io::Result<SocketAddr> {
    let listener = TcpListener::bind("127.0.0.1:0").await?;
    let address = listener.local_addr()?;
    let jobs = Jobs::default();
    tokio::spawn(work(Arc::clone(&jobs)));
    tokio::spawn(async move {
        let mut random = Random::new(seed);
        while let Ok((stream, _)) = listener.accept().await {
            tokio::spawn(serve(stream, Arc::clone(&jobs), Random::new(random.any())));
        }
    });
    Ok(address)
}

async fn serve(mut stream: TcpStream, jobs: Jobs, mut random: Random) {
    let _ = stream.set_nodelay(true);
    let mut head = Vec::new();
    loop {
        head.clear();
        while !head.ends_with(b"\r\n\r\n") {
            match stream.read_buf(&mut head).await {
                Ok(1..) => {}
                Ok(0) | Err(_) => return,
            }
        }
        let (done, finished) = oneshot::channel();
        // From half to one and a half of the mean.
        let left = SERVICE.as_secs_f64() * 1_000.0 * (0.5 + random.below(1_001) as f64 / 1_000.0);
        lock(&jobs).push(Job { left, done });
        tokio::select! {
            worked = finished => {
                if worked.is_err() || stream.write_all(ANSWER).await.is_err() {
                    return;
                }
            }
            // The client has left. The work goes on.
            _ = stream.readable() => {
                if !matches!(stream.try_read(&mut [0]), Err(error) if error.kind() == std::io::ErrorKind::WouldBlock) {
                    return;
                }
            }
        }
    }
}

/// Gets on with all requests, by as much time as has really passed.
async fn work(jobs: Jobs) {
    let mut steps = interval(STEP);
    steps.set_missed_tick_behavior(MissedTickBehavior::Delay);
    let mut last = Instant::now();
    loop {
        let now = steps.tick().await;
        let passed = now.saturating_duration_since(last).as_secs_f64() * 1_000.0;
        last = now;
        let mut jobs = lock(&jobs);
        let over = jobs.len() as f64 / f64::from(AT_ONCE);
        // Beyond what it can do at once, it shares its time, and loses half as much again as it is overcommitted.
        let speed = if over <= 1.0 { 1.0 } else { 1.0 / over / (1.0 + 0.5 * (over - 1.0)) };
        jobs.iter_mut().for_each(|job| job.left -= passed * speed);
        for job in jobs.extract_if(.., |job| job.left <= 0.0) {
            // The client may have left.
            let _ = job.done.send(());
        }
    }
}

fn lock(jobs: &Jobs) -> std::sync::MutexGuard<'_, Vec<Job>> {
    jobs.lock().unwrap_or_else(PoisonError::into_inner)
}
