//! A bounded queue of log lines, and the thread that writes them.

use std::io::{self, Write};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::mpsc::{self, Receiver, RecvTimeoutError, Sender};
use std::time::Duration;

use tollgate::Clock;
use tollgate_algorithms::Micros;

use crate::telemetry::metrics::Lines;

/// Maximum bytes of queued lines. Further lines are dropped and counted.
pub const QUEUE_BYTES_MAX: usize = 4 << 20;
/// At the end, lines have so long to be written. Then they are lost: a log that nobody reads must not keep a process.
pub const FLUSH_MAX: Duration = Duration::from_secs(2);
/// What was left out is summed up so long after the first.
const SUM_UP_AFTER: Duration = Duration::from_secs(1);

enum Message {
    Line(Vec<u8>),
    /// Something was left out, which has to be told in a while.
    Owe,
    /// No more: write what there is, and say so.
    Stop(Sender<()>),
}

/// The end where lines come in. Never waits. A copy is the same queue.
#[derive(Clone)]
pub(super) struct LogQueue {
    messages: Sender<Message>,
    /// How many bytes wait.
    bytes: Arc<AtomicUsize>,
    lines: Arc<Lines>,
}

/// The other end.
pub(super) struct LogQueueReader {
    messages: Receiver<Message>,
    bytes: Arc<AtomicUsize>,
    lines: Arc<Lines>,
}

impl LogQueue {
    pub(super) fn new(lines: Arc<Lines>) -> (Self, LogQueueReader) {
        let (messages, waiting) = mpsc::channel();
        let bytes = Arc::new(AtomicUsize::new(0));
        let queue = Self { messages, bytes: Arc::clone(&bytes), lines: Arc::clone(&lines) };
        (queue, LogQueueReader { messages: waiting, bytes, lines })
    }

    /// Has what was left out told in a while.
    pub(super) fn owe(&self) {
        // If nobody writes any more, nobody tells.
        let _ = self.messages.send(Message::Owe);
    }

    /// Flushes the queue and waits for that, with a timeout.
    pub(super) fn finish(&self) {
        let (done, ended) = mpsc::channel();
        if self.messages.send(Message::Stop(done)).is_ok() {
            // Whether it was in time or not: there is nothing more to do.
            let _ = ended.recv_timeout(FLUSH_MAX);
        }
    }
}

/// Takes one line, whole: that is how lines are given.
impl Write for LogQueue {
    fn write(&mut self, line: &[u8]) -> io::Result<usize> {
        let before = self.bytes.fetch_add(line.len(), Ordering::Relaxed);
        let fits = before.saturating_add(line.len()) <= QUEUE_BYTES_MAX;
        if !fits || self.messages.send(Message::Line(line.into())).is_err() {
            self.bytes.fetch_sub(line.len(), Ordering::Relaxed);
            self.lines.dropped.inc();
        }
        Ok(line.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

impl LogQueueReader {
    /// Starts the thread. `sum_up` puts a line about what was left out into the queue.
    pub(super) fn write_to(
        self,
        mut out: impl Write + Send + 'static,
        clock: Clock,
        sum_up: impl Fn() + Send + 'static,
    ) -> io::Result<()> {
        let run = move || {
            let mut owed_at = None;
            loop {
                match self.next(owed_at.map(|at| left(&clock, at))) {
                    Ok(Message::Line(line)) => self.write(line, &mut out),
                    Ok(Message::Owe) => owed_at = Some(clock.now()),
                    Ok(Message::Stop(done)) => {
                        sum_up();
                        self.write_rest(&mut out);
                        // From here on lines are dropped, and counted as such.
                        drop(self);
                        // Whoever asked may have given up.
                        let _ = done.send(());
                        return;
                    }
                    Err(RecvTimeoutError::Timeout) => {
                        owed_at = None;
                        sum_up();
                    }
                    Err(RecvTimeoutError::Disconnected) => return,
                }
            }
        };
        std::thread::Builder::new().name("tollgate log".into()).spawn(run).map(drop)
    }

    /// The next message, or none within the time that is left, if there is one.
    fn next(&self, left: Option<Duration>) -> Result<Message, RecvTimeoutError> {
        match left {
            // What is owed comes first, or lines that never end would keep it back.
            Some(Duration::ZERO) => Err(RecvTimeoutError::Timeout),
            Some(left) => self.messages.recv_timeout(left),
            None => self.messages.recv().map_err(|_| RecvTimeoutError::Disconnected),
        }
    }

    /// Writes a line.
    fn write(&self, line: Vec<u8>, out: &mut impl Write) {
        if out.write_all(&line).and_then(|()| out.flush()).is_err() {
            self.lines.dropped.inc();
        }
        self.bytes.fetch_sub(line.len(), Ordering::Relaxed);
    }

    /// Writes the lines that wait.
    fn write_rest(&self, out: &mut impl Write) {
        while let Ok(message) = self.messages.try_recv() {
            if let Message::Line(line) = message {
                self.write(line, out);
            }
        }
    }
}

/// How long it is until something that was left out then has to be told.
fn left(clock: &Clock, owed_at: Micros) -> Duration {
    let waited = clock.now().get().saturating_sub(owed_at.get());
    SUM_UP_AFTER.saturating_sub(Duration::from_micros(waited))
}
