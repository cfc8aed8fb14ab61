//! Runs the commands of README.md and compares what they print with what it says they print. Rust snippets are doctests.

use std::fs;

use crate::run::{command, result_of, root};

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
pub(crate) fn run() -> Result<u64, String> {
    let readme =
        fs::read_to_string(root().join("README.md")).map_err(|error| format!("README.md: {error}"))?;
    let mut count = 0;
    for shown in commands(&readme).into_iter().filter(|shown| shown.command != "cargo xtask test") {
        let printed = result_of(command(&shown.command))?;
        let printed: Vec<_> = printed.lines().map(str::to_string).collect();
        if printed != shown.printed {
            return Err(format!(
                "README.md shows something else than `{}` prints:\n{}",
                shown.command,
                printed.join("\n")
            ));
        }
        count += 1;
    }
    if count == 0 { Err("README.md shows no command".into()) } else { Ok(count) }
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
    use super::{Shown, commands, root};
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
