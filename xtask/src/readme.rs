//! Runs the commands of README.md and compares what they print with what it says they print. Rust snippets are doctests.

use std::fs;

use tollgate_testing::snapshot;

use crate::deadline::Deadline;
use crate::run::{command, root};

/// A command in a `console` block, and the lines shown under it.
#[derive(PartialEq, Eq, Debug)]
pub(crate) struct Shown {
    pub(crate) command: String,
    pub(crate) printed: Vec<String>,
}

/// Runs every command but the test command, which is running; returns how many.
///
/// # Errors
/// With the first command that prints something else than the README says.
pub(crate) fn run(deadline: &Deadline) -> Result<u64, String> {
    let readme =
        fs::read_to_string(root().join("README.md")).map_err(|error| format!("README.md: {error}"))?;
    let mut count = 0;
    for shown in commands(&readme).into_iter().filter(|shown| shown.command != "cargo xtask test") {
        let printed = deadline.result_of(command(&shown.command))?;
        let printed: Vec<_> = printed.lines().map(str::to_string).collect();
        compare(&readme, &shown, &printed)?;
        count += 1;
    }
    if count == 0 { Err("README.md shows no command".into()) } else { Ok(count) }
}

/// Compares what a command printed with what the README shows, or updates the README: see [`snapshot`].
fn compare(readme: &str, shown: &Shown, printed: &[String]) -> Result<(), String> {
    if with_any_port(printed) == with_any_port(&shown.printed) {
        return Ok(());
    }
    let block = |lines: &[String]| format!("\n$ {}\n{}\n```", shown.command, lines.join("\n"));
    snapshot::check(&root().join("README.md"), &readme.replace(&block(&shown.printed), &block(printed)))
}

/// The text, with `PORT` for the port that a program says it listens on: it takes another one if its usual port is taken.
fn with_any_port(lines: &[String]) -> String {
    let text = lines.join("\n");
    let start = "listens on http://127.0.0.1:";
    let Some((_, rest)) = text.split_once(start) else { return text };
    let port: String = rest.chars().take_while(char::is_ascii_digit).collect();
    text.replace(&format!("127.0.0.1:{port}"), "127.0.0.1:PORT")
}

/// The commands of all `console` blocks.
pub(crate) fn commands(markdown: &str) -> Vec<Shown> {
    let mut shown: Vec<Shown> = Vec::new();
    let mut inside = false;
    for line in markdown.lines() {
        match line {
            "```console" => inside = true,
            "```" => inside = false,
            _ if !inside => {}
            _ => match (line.strip_prefix("$ "), shown.last_mut()) {
                (Some(command), _) => shown.push(Shown { command: command.into(), printed: Vec::new() }),
                (None, Some(last)) => last.printed.push(line.into()),
                (None, None) => {}
            },
        }
    }
    shown
}

#[cfg(test)]
mod tests {
    use super::{Shown, commands, root, with_any_port};
    use crate::test::STEPS;

    #[test]
    fn commands_and_what_they_print_are_found() {
        let markdown = "text\n```console\n$ one\na\nb\n$ two\n```\n$ not this\n";
        let shown = |command: &str, printed: &[&str]| Shown {
            command: command.into(),
            printed: printed.iter().map(|line| (*line).into()).collect(),
        };
        assert_eq!(commands(markdown), [shown("one", &["a", "b"]), shown("two", &[])]);
    }

    #[test]
    fn a_program_may_listen_on_another_port_and_must_name_it_everywhere() {
        let lines = |first: u16, second: u16| {
            [
                format!("It listens on http://127.0.0.1:{first}. Ask it:"),
                format!("curl http://127.0.0.1:{second}/hello"),
            ]
        };
        let shown = with_any_port(&lines(8080, 8080));
        assert_eq!(with_any_port(&lines(40_123, 40_123)), shown);
        assert_ne!(with_any_port(&lines(40_123, 8080)), shown);
    }

    /// The two commands that do everything. What the second prints is shown but for its times.
    #[test]
    fn the_readme_shows_what_the_test_command_prints() {
        let readme = std::fs::read_to_string(root().join("README.md")).unwrap();
        let shown = commands(&readme);
        assert_eq!(shown.len(), 2, "a command that runs it, and one that tests it");
        assert_eq!(shown[1].command, "cargo xtask test");
        let printed = &shown[1].printed;
        let steps: Vec<_> =
            printed.iter().filter(|line| !line.starts_with(' ')).map(String::as_str).collect();
        let expected: Vec<_> = STEPS.iter().map(crate::test::Step::title).collect();
        assert_eq!(steps[..expected.len()], expected);
        let count = |line: &str| line.strip_suffix(" passed")?.rsplit(' ').next()?.parse::<u64>().ok();
        let sum: u64 = printed.iter().filter_map(|line| count(line)).sum();
        assert_eq!(printed.last(), Some(&format!("{sum} passed, 0 failed")), "the counts add up");
    }

    /// CI is the README's test command, and nothing else.
    #[test]
    fn ci_runs_the_test_command_and_nothing_else() {
        let ci = std::fs::read_to_string(root().join(".ci/run")).unwrap();
        let lines: Vec<_> = ci.lines().filter(|line| !line.starts_with('#')).collect();
        assert_eq!(lines, ["set -euo pipefail", "cd \"$(dirname \"$0\")/..\"", "cargo xtask test"]);
    }
}
