//! `--help` of the program and of every command, as people see it.

use clap::CommandFactory;
use tollgate_cli::cli::Cli;

use crate::support::{check, run};

#[test]
fn the_help_of_every_command_is_on_record() {
    check("help", &["--help"]);
    for command in Cli::command().get_subcommands() {
        let name = command.get_name();
        check(&format!("help-{name}"), &[name, "--help"]);
    }
}

#[test]
fn every_command_has_examples_and_its_lines_fit_a_terminal() {
    for command in Cli::command().get_subcommands_mut() {
        let help = command.render_help().to_string();
        assert!(help.contains("Examples:\n  "), "{help}");
        for line in help.lines() {
            assert!(line.chars().count() <= 110, "{line}");
        }
    }
}

#[test]
fn a_call_without_arguments_or_with_wrong_ones_is_an_error_of_usage() {
    check("usage-nothing", &[]);
    check("usage-unknown-command", &["lnt"]);
    check("usage-no-file", &["lint"]);
    check("usage-unknown-format", &["lint", "--format", "xml", "a.yaml"]);
}

#[test]
fn help_as_a_command_says_what_the_flag_says() {
    assert_eq!(run(&["help"]).out, run(&["--help"]).out);
    for command in Cli::command().get_subcommands() {
        let name = command.get_name();
        assert_eq!(run(&["help", name]).out, run(&[name, "--help"]).out, "{name}");
    }
    let ran = run(&["help", "lnt"]);
    assert_eq!(ran.exit, tollgate_cli::Exit::Usage);
    assert!(ran.err.starts_with("tollgate: there is no command `lnt`; there is serve, "), "{}", ran.err);
}
