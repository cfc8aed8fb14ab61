//! Manual pages and completions: made of the same definition as the help, so that they cannot forget a flag.

use std::fs;

use clap::CommandFactory;
use tollgate_cli::Exit;
use tollgate_cli::cli::Cli;

use crate::support::{Folder, run};

/// Every long flag of every command.
fn flags() -> Vec<(String, Vec<String>)> {
    let mut program = Cli::command();
    program.build();
    let commands = program.get_subcommands().map(|command| {
        let longs = command.get_arguments().filter_map(|flag| flag.get_long().map(Into::into));
        (command.get_name().to_owned(), longs.collect())
    });
    commands.collect()
}

#[test]
fn a_page_for_each_command_names_all_of_its_flags() {
    let folder = Folder::new("pages");
    let ran = run(&["man", "--dir", &folder.path("man1")]);
    assert_eq!((ran.exit, ran.err.as_str()), (Exit::Fine, ""));
    assert!(flags().len() >= 4);
    for (command, flags) in flags() {
        let name = format!("tollgate-{command}.1");
        assert!(ran.out.lines().any(|line| line == name), "{name} is not listed");
        let page = fs::read_to_string(folder.path(&format!("man1/{name}"))).expect("it was written");
        assert!(page.contains(".SH SYNOPSIS") && page.contains(".SH \"EXAMPLES\"\n.nf\n"), "{page}");
        assert_eq!(page.matches("\n.nf\n").count(), page.matches("\n.fi\n").count(), "{page}");
        assert!(page.starts_with(&format!(".TH tollgate\\-{command} 1 \"\" \"tollgate 0.1.0\"")), "{page}");
        assert!(!page.contains("EXTRA"), "{page}");
        for flag in flags {
            let flag = format!("\\-\\-{}", flag.replace('-', "\\-"));
            assert!(page.contains(&flag), "{name} does not name {flag}");
        }
    }
}

#[test]
fn the_page_of_the_program_is_printed() {
    let ran = run(&["man"]);
    assert_eq!(ran.exit, Exit::Fine);
    assert!(ran.out.contains(".SH \"EXIT STATUS\"\n.nf\n  0  fine"), "{}", ran.out);
    assert!(ran.out.contains(".TH tollgate 1") && ran.out.contains("tollgate\\-explain(1)"), "{}", ran.out);
}

#[test]
fn what_may_be_given_several_times_has_dots() {
    let folder = Folder::new("page-of-lint");
    run(&["man", "--dir", &folder.path("man1")]);
    let page = fs::read_to_string(folder.path("man1/tollgate-lint.1")).expect("it was written");
    assert!(page.contains("[\\fIFILE\\fR]..."), "{page}");
    let one = fs::read_to_string(folder.path("man1/tollgate-explain.1")).expect("it was written");
    assert!(one.contains("<\\fIFILE\\fR>") && !one.contains("<\\fIFILE\\fR>..."), "{one}");
}

#[test]
fn a_folder_that_cannot_be_written_is_told() {
    let folder = Folder::new("no-folder");
    let file = folder.put("file", b"");
    let ran = run(&["man", "--dir", &file]);
    assert_eq!((ran.exit, ran.out.as_str()), (Exit::Usage, ""));
    assert!(ran.err.contains("/file is not a folder"), "{}", ran.err);
}

#[test]
fn every_shell_completes_every_command() {
    for shell in ["bash", "elvish", "fish", "powershell", "zsh"] {
        let ran = run(&["completions", shell]);
        assert_eq!(ran.exit, Exit::Fine);
        for (command, flags) in flags() {
            assert!(ran.out.contains(&command), "{shell} does not know {command}");
            for flag in flags {
                assert!(ran.out.contains(&flag), "{shell} does not know --{flag}");
            }
        }
    }
}
