//! The API's own description against what it does, by schemathesis.

use std::process::Command;

use serde_json::Value;

use crate::support::Served;

const ALONE: &str = "tollgate: 1\nserve:\n  api: { listen: '127.0.0.1:0' }\n  operations: { listen: none }\n";
/// Where `cargo xtask test` installs it.
const PROGRAM: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../../target/tools/python/bin/schemathesis");
const HOOKS: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/endpoints");
const SETTINGS: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/endpoints/schemathesis.toml");

#[test]
fn schemathesis_finds_no_errors() {
    let served = Served::new(ALONE);
    let url = format!("http://{}/openapi.json", served.api);
    let mut command = Command::new(PROGRAM);
    command.args([
        "--config-file",
        SETTINGS,
        "run",
        &url,
        "--max-examples",
        "40",
        "--seed",
        "7",
        "--no-color",
    ]);
    let output = command
        .env("SCHEMATHESIS_HOOKS", "schemathesis_hooks")
        .env("PYTHONPATH", HOOKS)
        .current_dir(served.folder.path(""))
        .output()
        .expect("`cargo xtask test` installs schemathesis");
    let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
    assert!(output.status.success(), "{}\n{}", text(&output.stdout), text(&output.stderr));
}

#[test]
fn the_description_says_what_the_maxima_are() {
    let served = Served::new(ALONE);
    let document: Value = served.ask("GET", "/openapi.json", "", "").json();
    assert_eq!(document["openapi"], "3.1.0");
    let about = document["info"]["description"].as_str().expect("a text");
    for part in [
        "65536 bytes per body",
        "32 hits",
        "1024 characters per key",
        "65536 permits",
        "3600000 ms per reservation",
    ] {
        assert!(about.contains(part), "{part}: {about}");
    }
    let page = served.ask("GET", "/", "", "");
    assert_eq!(page.header("content-type").as_deref(), Some("text/html; charset=utf-8"));
    for path in document["paths"].as_object().expect("paths").keys() {
        assert!(page.body.contains(path.as_str()), "the page names {path}");
    }
}
