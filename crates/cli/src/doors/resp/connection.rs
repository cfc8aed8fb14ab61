//! One connection: reads commands, executes them in order, and writes replies in batches. It holds a bounded amount of memory whatever the
//! client sends, and reads nothing while the client does not take its replies.

use std::io;
use std::ops::ControlFlow;
use std::sync::Arc;

use tokio::io::{AsyncRead, AsyncWrite, AsyncWriteExt as _};
use tokio::sync::watch::Receiver;
use tokio::time::{Interval, MissedTickBehavior, interval_at, timeout};
use tollgate_resp::CommandParser;

use super::arguments::{Arguments, Refusal};
use super::input::Input;
use super::session::Session;
use super::{REPLY_BYTES, Shared};

/// An idle connection is looked at so many times before it is closed.
const LOOKS: u32 = 4;

/// A connection.
pub(super) struct Connection<S> {
    stream: S,
    shared: Arc<Shared>,
    session: Session,
    parser: CommandParser,
    input: Input,
}

/// Why commands are not executed any further.
enum Next {
    /// No whole command is left.
    Read,
    /// There are enough replies to write.
    Flush,
    /// The connection ends.
    Close,
}

impl<S: AsyncRead + AsyncWrite + Unpin> Connection<S> {
    pub(super) fn new(stream: S, shared: Arc<Shared>, session: Session) -> Self {
        let parser = CommandParser::new(session.bounds());
        Self { stream, shared, session, parser, input: Input::default() }
    }

    /// Serves until the client leaves, one of the limits of the connection is reached, or `stop` is said and no command is left.
    pub(super) async fn run(mut self, mut stop: Receiver<bool>) {
        let mut looks = Looks::new(&self.shared);
        loop {
            let next = self.execute().await;
            if self.flush().await.is_err() || matches!(next, Next::Close) {
                break;
            }
            if matches!(next, Next::Flush) {
                continue;
            }
            match self.read(&mut looks, &mut stop).await {
                ControlFlow::Continue(()) => {}
                ControlFlow::Break(()) => break,
            }
        }
        // The client learns that nothing more comes. It may have left before.
        let _ = timeout(self.shared.bounds.write, self.stream.shutdown()).await;
    }

    async fn read(&mut self, looks: &mut Looks, stop: &mut Receiver<bool>) -> ControlFlow<()> {
        loop {
            tokio::select! {
                biased;
                read = self.input.read(&mut self.stream) => {
                    return if matches!(read, Ok(1..)) { ControlFlow::Continue(()) } else { ControlFlow::Break(()) };
                }
                _ = looks.ticks.tick() => {
                    self.input.shrink();
                    self.session.out.shrink_to(0);
                    if looks.is_over(&self.session) {
                        self.shared.metrics.closed.idle.inc();
                        return ControlFlow::Break(());
                    }
                }
                _ = stop.wait_for(|stop| *stop) => return ControlFlow::Break(()),
            }
        }
    }

    /// Executes all commands that have arrived, as long as replies do not take too much memory.
    async fn execute(&mut self) -> Next {
        loop {
            if self.session.out.len() >= REPLY_BYTES {
                self.session.decide_batch(self.input.all()).await;
                return Next::Flush;
            }
            match self.parser.parse(self.input.unread()) {
                Ok(Some(length)) => {
                    self.command().await;
                    self.input.consume(length);
                    if self.session.quits {
                        return Next::Close;
                    }
                }
                Ok(None) => {
                    self.session.decide_batch(self.input.all()).await;
                    return Next::Read;
                }
                Err(error) => {
                    self.session.decide_batch(self.input.all()).await;
                    self.session.refuse(&Refusal::invalid(error));
                    self.shared.metrics.closed.protocol.inc();
                    return Next::Close;
                }
            }
        }
    }

    /// Executes the command that was parsed.
    #[inline]
    async fn command(&mut self) {
        let unread = self.input.unread();
        let Some(name) = self.parser.argument(unread, 0) else { return };
        self.session.commands = self.session.commands.wrapping_add(1);
        let arguments = Arguments::new(&self.parser, unread);
        if self.session.has_token && name.eq_ignore_ascii_case(b"CL.THROTTLE") {
            let at = self.input.position();
            let key = self.parser.range(1);
            let key = key.map(|key| key.start.saturating_add(at)..key.end.saturating_add(at));
            self.session.throttle(arguments, key, self.input.all()).await;
            return;
        }
        // Replies come in the order of their commands.
        self.session.decide_batch(self.input.all()).await;
        self.session.dispatch(name, arguments).await;
        self.parser.set_bounds(self.session.bounds());
    }

    /// Writes all replies, and waits until the client takes them.
    async fn flush(&mut self) -> io::Result<()> {
        if self.session.out.is_empty() {
            return Ok(());
        }
        // Nearly always the system takes them at once.
        let written =
            timeout_if_pending(self.shared.bounds.write, self.stream.write_all(&self.session.out)).await;
        self.session.out.clear();
        match written {
            Some(written) => written,
            None => {
                self.shared.metrics.closed.slow.inc();
                Err(io::ErrorKind::TimedOut.into())
            }
        }
    }
}

/// Like `timeout`, without a timer for what is ready at once. `None` if the time has passed.
async fn timeout_if_pending<T>(most: std::time::Duration, future: impl Future<Output = T>) -> Option<T> {
    let mut future = std::pin::pin!(future);
    let at_once = std::future::poll_fn(|cx| {
        std::task::Poll::Ready(match future.as_mut().poll(cx) {
            std::task::Poll::Ready(ready) => Some(ready),
            std::task::Poll::Pending => None,
        })
    });
    match at_once.await {
        Some(ready) => Some(ready),
        None => timeout(most, future).await.ok(),
    }
}

/// Looks now and then whether a connection is idle, so that a command need not touch a timer.
struct Looks {
    ticks: Interval,
    /// How many commands there were when it was looked last, and how often that has not changed.
    commands: u64,
    unchanged: u32,
    /// How many looks there may be without a token.
    without_token: u32,
    looks: u32,
}

impl Looks {
    fn new(shared: &Shared) -> Self {
        let bounds = &shared.bounds;
        let waits_for_token = shared.token.is_some();
        let shortest = if waits_for_token { bounds.idle.min(bounds.authentication) } else { bounds.idle };
        let every = (shortest / LOOKS).max(std::time::Duration::from_millis(1));
        let mut ticks = interval_at(tokio::time::Instant::now() + every, every);
        ticks.set_missed_tick_behavior(MissedTickBehavior::Delay);
        let most = |time: std::time::Duration| {
            u32::try_from(time.as_nanos().checked_div(every.as_nanos()).unwrap_or(1)).unwrap_or(u32::MAX)
        };
        Self {
            ticks,
            commands: 0,
            unchanged: 0,
            without_token: most(bounds.authentication),
            looks: most(bounds.idle),
        }
    }

    /// Whether it has been silent for too long, or without a token.
    fn is_over(&mut self, session: &Session) -> bool {
        if self.commands == session.commands {
            self.unchanged = self.unchanged.saturating_add(1);
        } else {
            (self.commands, self.unchanged) = (session.commands, 0);
        }
        if !session.has_token {
            self.without_token = self.without_token.saturating_sub(1);
            if self.without_token == 0 {
                return true;
            }
        }
        self.unchanged >= self.looks
    }
}
