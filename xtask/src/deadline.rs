//! Runs a command until a deadline. When the deadline expires, says which processes and which tests were running, and kills them.

use std::io::Read;
use std::process::{Child, Command, Stdio};
use std::sync::mpsc::{self, RecvTimeoutError, Sender};
use std::time::{Duration, Instant};

use crate::processes::{self, Process};

/// How much of the output a report on an expired deadline repeats.
const LINES_SHOWN: usize = 30;

/// The instant at which a step has to be finished.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Deadline {
    until: Instant,
    allowed: Duration,
}

impl Deadline {
    /// A deadline so far from now.
    #[expect(clippy::disallowed_methods, reason = "a deadline for other programs")]
    pub(crate) fn after(allowed: Duration) -> Self {
        Self { until: Instant::now() + allowed, allowed }
    }

    /// Runs a command and returns all that it printed.
    ///
    /// # Errors
    /// With its whole output, if it fails or cannot be started; with what was running, if the deadline expires.
    pub(crate) fn captured(&self, command: Command) -> Result<String, String> {
        let (printed, said) = self.output(command)?;
        Ok(printed + &said)
    }

    /// Runs a command and returns its standard output only.
    ///
    /// # Errors
    /// As [`Deadline::captured`].
    pub(crate) fn result_of(&self, command: Command) -> Result<String, String> {
        Ok(self.output(command)?.0)
    }

    fn output(&self, mut command: Command) -> Result<(String, String), String> {
        command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
        let mut child = command.spawn().map_err(|error| format!("cannot start {command:?}: {error}"))?;
        let (send, chunks) = mpsc::channel();
        let pipes = (child.stdout.take(), child.stderr.take());
        pipes.0.into_iter().for_each(|pipe| collect(pipe, Pipe::Output, send.clone()));
        pipes.1.into_iter().for_each(|pipe| collect(pipe, Pipe::Error, send.clone()));
        drop(send);
        let mut arrived = Vec::new();
        loop {
            #[expect(clippy::disallowed_methods, reason = "a deadline for other programs")]
            let left = self.until.saturating_duration_since(Instant::now());
            match chunks.recv_timeout(left) {
                Ok(chunk) => arrived.push(chunk),
                // Both pipes are closed: the program has ended, or is about to.
                Err(RecvTimeoutError::Disconnected) => break,
                Err(RecvTimeoutError::Timeout) => return Err(self.expired(child, &command, &arrived)),
            }
        }
        let status = child.wait().map_err(|error| format!("cannot wait for {command:?}: {error}"))?;
        let (printed, said) = (text(&arrived, Some(Pipe::Output)), text(&arrived, Some(Pipe::Error)));
        if status.success() {
            Ok((printed, said))
        } else {
            Err(format!("{printed}{said}\nfailed: {command:?}"))
        }
    }

    /// Describes what is running, kills it, and returns the description.
    fn expired(&self, mut child: Child, command: &Command, arrived: &[(Pipe, Vec<u8>)]) -> String {
        let running = processes::with_descendants(child.id());
        let report = report(&running, &text(arrived, None));
        processes::kill(&running);
        // Without a `kill` program, at least the direct child must not outlive the report.
        let _ = child.kill();
        let _ = child.wait();
        format!("{report}\ndid not finish within {:.0?}: {command:?}", self.allowed)
    }
}

/// Where a chunk of output came from.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Pipe {
    Output,
    Error,
}

/// The text of one pipe, or of both in the order of arrival.
fn text(arrived: &[(Pipe, Vec<u8>)], of: Option<Pipe>) -> String {
    let chunks = arrived.iter().filter(|(pipe, _)| of.is_none_or(|of| of == *pipe));
    let bytes: Vec<u8> = chunks.flat_map(|(_, chunk)| chunk.iter().copied()).collect();
    String::from_utf8_lossy(&bytes).into_owned()
}

/// Reads a pipe in the background. A program that has outlived its parent may hold the pipe open, so nobody joins the thread.
fn collect(mut from: impl Read + Send + 'static, pipe: Pipe, send: Sender<(Pipe, Vec<u8>)>) {
    std::thread::spawn(move || {
        let mut chunk = vec![0; 65_536];
        while let Ok(count @ 1..) = from.read(&mut chunk) {
            if send.send((pipe, chunk[..count].to_vec())).is_err() {
                return;
            }
        }
    });
}

/// The processes, the tests that had begun and not finished, and the end of the output.
fn report(running: &[Process], printed: &str) -> String {
    let mut report = String::from("the end of the output:\n");
    let lines: Vec<_> = printed.lines().collect();
    for line in &lines[lines.len().saturating_sub(LINES_SHOWN)..] {
        report.push_str(&format!("  {line}\n"));
    }
    report.push_str("running when the deadline expired:\n");
    for process in running {
        report.push_str(&format!("  {process}\n"));
        for test in process.tests_running(printed) {
            report.push_str(&format!("    test {test}\n"));
        }
    }
    report
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::Deadline;
    use crate::processes::is_alive;
    use crate::run::command;

    const LONG: Duration = Duration::from_secs(60);

    #[test]
    fn a_command_that_finishes_in_time_returns_what_it_printed() {
        let deadline = Deadline::after(LONG);
        assert_eq!(deadline.captured(command("printf a")), Ok("a".into()));
        let shell = |script: &str| {
            let mut shell = command("sh -c");
            shell.arg(script);
            shell
        };
        assert_eq!(deadline.result_of(shell("echo a; echo b >&2")), Ok("a\n".into()));
        let error = deadline.captured(shell("echo a; echo b >&2; exit 3")).unwrap_err();
        assert!(error.starts_with("a\nb\n") && error.contains("failed: "), "{error}");
        let error = deadline.captured(command("no-such-program")).unwrap_err();
        assert!(error.contains("cannot start"), "{error}");
    }

    #[test]
    fn an_expired_deadline_says_what_was_running_and_kills_it() {
        // The grandchild holds the pipe open, as a server does that a test has left behind.
        let mut shell = command("sh -c");
        shell.arg("tail -f /dev/null & echo grandchild $!; wait");
        let error = Deadline::after(Duration::from_millis(500)).captured(shell).unwrap_err();
        let number = error.split_once("grandchild ").expect("what it printed is shown").1;
        let number: u32 = number.lines().next().unwrap().parse().unwrap();
        assert!(error.contains("tail -f /dev/null"), "{error}");
        assert!(error.contains("did not finish within 500ms"), "{error}");
        assert!(!is_alive(number), "{error}");
    }
}
