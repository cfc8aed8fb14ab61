//! The real program: exit codes, standard input, a pipe that is closed, and colours by its surroundings.

use std::io::Write;
use std::process::{Command, Output, Stdio};

const GOOD: &str = "tests/documents/good.yaml";
const BAD: &str = "tests/documents/bad.yaml";

fn tollgate(args: &[&str]) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_tollgate"));
    command.args(args).env_remove("NO_COLOR").env_remove("CLICOLOR_FORCE").env_remove("CLICOLOR");
    command
}

fn output(args: &[&str]) -> Output {
    tollgate(args).stdin(Stdio::null()).output().expect("it runs")
}

#[test]
fn exit_codes_are_those_of_the_help() {
    let table: [(&[&str], i32); 7] = [
        (&["lint", GOOD], 0),
        (&["lint", BAD], 1),
        (&["lint", "none.yaml"], 2),
        (&["lint", "none.yaml", BAD], 2),
        (&["lint", "--no-such-flag"], 2),
        (&["--help"], 0),
        (&["--version"], 0),
    ];
    for (args, code) in table {
        assert_eq!(output(args).status.code(), Some(code), "{args:?}");
    }
}

#[test]
fn findings_go_to_standard_output_and_errors_of_usage_to_the_other() {
    let found = output(&["lint", BAD]);
    assert!(!found.stdout.is_empty() && found.stderr.is_empty());
    let unread = output(&["lint", "none.yaml"]);
    assert!(unread.stdout.is_empty());
    assert_eq!(unread.stderr, b"tollgate: none.yaml cannot be read: there is no such file\n");
}

#[test]
fn a_document_can_come_from_standard_input() {
    let text = "openapi: 3.1.0\nx-rate-limit: { algorithm: gcr }\n";
    let mut child =
        tollgate(&["lint", "-"]).stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().expect("it runs");
    child.stdin.take().expect("a pipe").write_all(text.as_bytes()).expect("it reads");
    let output = child.wait_with_output().expect("it ends");
    assert_eq!(output.status.code(), Some(1));
    let printed = String::from_utf8(output.stdout).expect("it is UTF-8");
    assert!(printed.contains("--> <stdin>:2:28"), "{printed}");
    let mut child = tollgate(&["lint", "-", "--format", "sarif"]);
    let mut child = child.stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().expect("it runs");
    child.stdin.take().expect("a pipe").write_all(text.as_bytes()).expect("it reads");
    let printed = child.wait_with_output().expect("it ends").stdout;
    let printed = String::from_utf8(printed).expect("it is UTF-8");
    assert!(printed.contains(r#""uri": "stdin""#), "{printed}");
}

#[test]
fn variables_of_the_process_are_settings() {
    let args = ["serve", "--print-config", "--policy", GOOD, "--upstream", "http://127.0.0.1:9000"];
    let output = tollgate(&args).env("TOLLGATE_WORKERS", "3").output().expect("it runs");
    let printed = String::from_utf8(output.stdout).expect("it is UTF-8");
    let line = printed.lines().find(|line| line.starts_with("  workers: 3 "));
    assert!(line.is_some_and(|line| line.ends_with("# TOLLGATE_WORKERS")), "{printed}");
    let output = tollgate(&args).env("TOLLGATE_WORKRES", "3").output().expect("it runs");
    assert_eq!(output.status.code(), Some(2));
    let said = String::from_utf8(output.stderr).expect("it is UTF-8");
    assert_eq!(
        said,
        "tollgate: the variable TOLLGATE_WORKRES is not known; did you mean `TOLLGATE_WORKERS`?\n"
    );
}

/// `tollgate … | head`: whoever read has read enough.
#[test]
fn a_closed_pipe_is_success() {
    for args in [["lint", "-"].as_slice(), &["explain", "-", "GET /"]] {
        let mut command = tollgate(args);
        let command = command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
        let mut child = command.spawn().expect("it runs");
        // Closed before the document is there, and so before anything is printed.
        drop(child.stdout.take());
        child.stdin.take().expect("a pipe").write_all(b"openapi: 3.1.0\n").expect("it reads");
        let output = child.wait_with_output().expect("it ends");
        let err = String::from_utf8_lossy(&output.stderr);
        assert_eq!((output.status.code(), err.as_ref()), (Some(0), ""), "{args:?}");
    }
}

#[test]
fn colour_is_for_terminals_unless_it_is_asked_for() {
    let coloured = |command: &mut Command| {
        let output = command.stdin(Stdio::null()).output().expect("it runs");
        output.stdout.contains(&b'\x1b')
    };
    assert!(!coloured(&mut tollgate(&["lint", BAD])), "a pipe is no terminal");
    assert!(coloured(&mut tollgate(&["lint", BAD, "--color", "always"])));
    assert!(coloured(tollgate(&["lint", BAD]).env("CLICOLOR_FORCE", "1")));
    assert!(!coloured(tollgate(&["lint", BAD, "--color", "never"]).env("CLICOLOR_FORCE", "1")));
    assert!(!coloured(tollgate(&["lint", BAD]).env("CLICOLOR_FORCE", "1").env("NO_COLOR", "1")));
}

#[test]
fn what_is_said_of_wrong_arguments_has_the_colour_that_they_ask_for() {
    let coloured = |args: &[&str]| {
        let output = tollgate(args).env("CLICOLOR_FORCE", "1").output().expect("it runs");
        assert_eq!(output.status.code(), Some(2));
        output.stderr.contains(&b'\x1b')
    };
    assert!(coloured(&["lint", "--no-such-flag"]));
    assert!(!coloured(&["lint", "--no-such-flag", "--color", "never"]));
    assert!(!coloured(&["--color=never", "lint", "--no-such-flag"]));
    assert!(coloured(&["lint", "--no-such-flag", "--", "--color=never"]));
}
