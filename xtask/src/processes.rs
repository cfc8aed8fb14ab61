//! Processes as `/proc` shows them: a process and its descendants, what they run, and which of their tests have not finished.

use std::collections::HashSet;
use std::fmt;
use std::fs;
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

/// A thread's name is cut off by the kernel after so many bytes.
const THREAD_NAME_BYTES_MAX: usize = 15;
/// More unfinished tests than this are not listed.
const TESTS_SHOWN: usize = 20;

/// How long a killed process may take to end.
const PATIENCE: Duration = Duration::from_secs(5);

/// A running process.
#[derive(Debug)]
pub(crate) struct Process {
    number: u32,
    /// Its program and arguments.
    words: Vec<String>,
    /// The names of its threads. The test harness names each after its test.
    threads: Vec<String>,
}

impl fmt::Display for Process {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "{} {}", self.number, self.words.join(" "))
    }
}

/// A process and everything that it has started and that still runs.
pub(crate) fn with_descendants(number: u32) -> Vec<Process> {
    let all: Vec<(u32, u32)> =
        numbers("/proc").into_iter().filter_map(|number| Some((number, parent(number)?))).collect();
    let mut family = vec![number];
    let mut at = 0;
    while let Some(&parent) = family.get(at) {
        family.extend(all.iter().filter(|(_, of)| *of == parent).map(|(child, _)| *child));
        at += 1;
    }
    family.into_iter().filter_map(read).collect()
}

/// Kills processes, and waits a moment until they have ended. Those that have ended by themselves are left alone.
#[expect(clippy::disallowed_methods, reason = "patience has an end")]
pub(crate) fn kill(processes: &[Process]) {
    for process in processes {
        let number = process.number.to_string();
        let _ = Command::new("kill").args(["-KILL", &number]).stderr(Stdio::null()).status();
    }
    let until = Instant::now() + PATIENCE;
    while processes.iter().any(|process| is_alive(process.number)) && Instant::now() < until {
        std::thread::yield_now();
    }
}

impl Process {
    /// The tests of this process that have begun and not finished, if it is a test program.
    pub(crate) fn tests_running(&self, printed: &str) -> Vec<String> {
        let Some(program) = self.words.first().filter(|program| program.contains("/deps/")) else {
            return Vec::new();
        };
        let Ok(listed) = Command::new(program).args(["--list", "--format", "terse"]).output() else {
            return Vec::new();
        };
        unfinished(&String::from_utf8_lossy(&listed.stdout), after_start_of(printed, program), &self.threads)
    }
}

/// The part of the output that comes after the line with which cargo announces a test program.
fn after_start_of<'a>(printed: &'a str, program: &str) -> &'a str {
    let name = program.rsplit('/').next().unwrap_or(program);
    printed.rsplit_once(&format!("{name})")).map_or(printed, |(_, after)| after)
}

/// The listed tests whose result is not printed. If threads are named after some of them, only these: the others wait.
fn unfinished(listed: &str, printed: &str, threads: &[String]) -> Vec<String> {
    let finished: HashSet<&str> = printed
        .lines()
        .filter_map(|line| line.strip_prefix("test ")?.split_once(" ... ").map(|(name, _)| name))
        .collect();
    let tests: Vec<&str> = listed
        .lines()
        .filter_map(|line| line.strip_suffix(": test"))
        .filter(|name| !finished.contains(name))
        .collect();
    let has_thread = |name: &&str| {
        let start = name.get(..THREAD_NAME_BYTES_MAX).unwrap_or(name);
        threads.iter().any(|thread| thread == start)
    };
    let with_thread: Vec<&str> = tests.iter().copied().filter(|name| has_thread(name)).collect();
    let chosen = if with_thread.is_empty() { tests } else { with_thread };
    let more = chosen.len().saturating_sub(TESTS_SHOWN);
    let mut names: Vec<String> = chosen.into_iter().take(TESTS_SHOWN).map(str::to_string).collect();
    if more > 0 {
        names.push(format!("… and {more} more without a result"));
    }
    names
}

fn read(number: u32) -> Option<Process> {
    let words = fs::read_to_string(format!("/proc/{number}/cmdline")).ok()?;
    let words: Vec<_> = words.split_terminator('\0').map(str::to_string).collect();
    let threads = format!("/proc/{number}/task");
    let name = |thread: u32| fs::read_to_string(format!("{threads}/{thread}/comm")).ok();
    let threads = numbers(&threads).into_iter().filter_map(name);
    Some(Process { number, words, threads: threads.map(|name| name.trim_end().to_string()).collect() })
}

/// The entries of a folder that are numbers.
fn numbers(folder: &str) -> Vec<u32> {
    let entries = fs::read_dir(folder).into_iter().flatten().flatten();
    entries.filter_map(|entry| entry.file_name().to_str()?.parse().ok()).collect()
}

/// The fourth field of `/proc/N/stat`. The second is the program's name in parentheses, which may contain anything.
fn parent(number: u32) -> Option<u32> {
    let stat = fs::read_to_string(format!("/proc/{number}/stat")).ok()?;
    stat.rsplit_once(')')?.1.split_whitespace().nth(1)?.parse().ok()
}

/// Whether a process runs. One that has ended and was not waited for does not.
pub(crate) fn is_alive(number: u32) -> bool {
    let stat = fs::read_to_string(format!("/proc/{number}/stat")).unwrap_or_default();
    let state = stat.rsplit_once(')').and_then(|(_, rest)| rest.split_whitespace().next());
    state.is_some_and(|state| !matches!(state, "Z" | "X"))
}

#[cfg(test)]
mod tests {
    use super::{after_start_of, unfinished};

    const LISTED: &str = "drain::ends: test\ndrain::a_test_with_a_long_name: test\nbasics::works: test\n";

    #[test]
    fn tests_without_a_result_are_unfinished() {
        let printed = "test drain::ends ... ok\ntest basics::works ... FAILED\n";
        assert_eq!(unfinished(LISTED, printed, &[]), ["drain::a_test_with_a_long_name"]);
    }

    #[test]
    fn of_the_unfinished_tests_those_with_a_thread_are_running() {
        let threads = ["main", "drain::a_test_w"].map(String::from);
        assert_eq!(unfinished(LISTED, "", &threads), ["drain::a_test_with_a_long_name"]);
        assert_eq!(unfinished(LISTED, "", &threads[..1]).len(), 3, "one thread runs all of them");
    }

    #[test]
    fn results_of_an_earlier_program_do_not_count() {
        let printed = "test works ... ok\n     Running tests/a (target/debug/deps/a-1)\ntest ends ... ok\n";
        assert_eq!(after_start_of(printed, "target/debug/deps/a-1"), "\ntest ends ... ok\n");
    }
}
