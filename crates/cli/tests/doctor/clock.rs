//! A server whose clock is off: a real one, under a library that tells it another time. Not Debian's Redis 7,
//! whose allocator that library cannot start under.

use std::path::PathBuf;

use tollgate_twins::server::Make;

use crate::support::{examine, free_port, own};

/// Where Debian's package `faketime` puts it, whatever the machine.
fn library() -> PathBuf {
    let folders = std::fs::read_dir("/usr/lib").expect("there are libraries").filter_map(Result::ok);
    let there =
        folders.map(|folder| folder.path().join("faketime/libfaketime.so.1")).find(|path| path.exists());
    there.expect("faketime is not there: `cargo xtask test` installs it in its first step")
}

#[test]
fn a_clock_that_is_off_is_told_with_how_far_and_which_way() {
    for (offset, words) in [("+90s", "ahead of the local clock"), ("-90s", "behind the local clock")] {
        let port = free_port();
        let _server = own(Make::Redis6, port, |command| {
            command
                .env("LD_PRELOAD", library())
                .env("FAKETIME", offset)
                .env("FAKETIME_DONT_FAKE_MONOTONIC", "1");
            command.args([
                "--port",
                &port.to_string(),
                "--bind",
                "127.0.0.1",
                "--save",
                "",
                "--appendonly",
                "no",
            ]);
        });
        let report = examine(&format!("redis://127.0.0.1:{port}"));
        report.assert("clock", "warning", &[words, "NTP"]);
        let told = report.told("clock");
        assert!(["clock is 90", "clock is 89"].iter().any(|word| told.contains(word)), "{told}");
        assert_eq!(
            (report.grade("decisions"), report.code),
            ("good", 0),
            "decisions go by its clock: {report:?}"
        );
    }
}
