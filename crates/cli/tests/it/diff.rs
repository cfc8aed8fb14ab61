//! `tollgate diff`: what is said of a change, in every format, and what fails a check.

use crate::support::{check, run};
use tollgate_cli::Exit;

const OLD: &str = "tests/documents/good.yaml";
const NEW: &str = "tests/documents/changed.yaml";

#[test]
fn a_change_is_told_in_every_format() {
    for format in ["human", "json", "markdown", "codeowners"] {
        check(&format!("diff-{format}"), &["diff", "--format", format, OLD, NEW]);
    }
}

#[test]
fn no_change_is_told_in_every_format() {
    for format in ["human", "json", "markdown", "codeowners"] {
        check(&format!("diff-none-{format}"), &["diff", "--format", format, OLD, OLD]);
    }
}

#[test]
fn only_the_changes_that_are_named_fail_a_check() {
    let exit = |old, new, what: &[&str]| {
        let flags = what.iter().flat_map(|what| ["--fail-on", what]);
        run(&["diff", old, new].into_iter().chain(flags).collect::<Vec<_>>()).exit
    };
    assert_eq!(exit(OLD, NEW, &[]), Exit::Fine);
    for what in ["looser", "tighter", "removed"] {
        assert_eq!(exit(OLD, NEW, &[what]), Exit::Findings, "{what}");
        assert_eq!(exit(OLD, OLD, &[what]), Exit::Fine, "{what}");
    }
    // What goes comes, seen the other way round: nothing is gone.
    assert_eq!(exit(NEW, OLD, &["removed"]), Exit::Fine);
    assert_eq!(exit(NEW, OLD, &["removed", "looser"]), Exit::Findings);
}

#[test]
fn documents_that_cannot_be_compared_are_told() {
    check("diff-bad", &["diff", OLD, "tests/documents/bad.yaml"]);
    check("diff-unreadable", &["diff", "none.yaml", "neither.yaml"]);
    check("diff-twice-standard-input", &["diff", "-", "-"]);
}

/// Consumers are not compared, so that a file of theirs that is wrong or not there is no reason to stop.
#[test]
fn consumers_files_are_not_read() {
    for document in ["tests/documents/bad-consumers.yaml", "tests/documents/no-consumers.yaml"] {
        let ran = run(&["diff", document, document]);
        assert_eq!((ran.exit, ran.err.as_str()), (Exit::Fine, ""), "{document}: {}", ran.out);
    }
}
