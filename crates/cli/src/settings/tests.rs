//! Settings from flags, variables and files: precedence, messages, and completeness. No file is touched.

mod precedence;
mod wrong;

use std::collections::HashMap;
use std::ffi::OsString;

use tollgate_testing::snapshot;

use super::partial::PartialSettings;
use super::{ResolvedSettings, Setting, SettingsError, Value, defaults, print, resolve, table};
use crate::cli::ServeArgs;

/// A call of `tollgate serve` in a world of its own.
#[derive(Default)]
struct Call {
    args: ServeArgs,
    environment: Vec<(OsString, OsString)>,
    files: HashMap<&'static str, String>,
}

/// Flags as words: `--policy a.yaml --listen x`.
fn call(flags: &str) -> Call {
    let mut args = ServeArgs::default();
    let mut words = flags.split_whitespace();
    while let Some(flag) = words.next() {
        let mut value = || words.next().expect("a flag has a value").to_owned();
        match flag {
            "--policy" => args.policy = Some(value()),
            "--upstream" => args.upstream = Some(value()),
            "--listen" => args.listen.push(value()),
            "--config" => args.config = Some(value()),
            _ => panic!("{flag}"),
        }
    }
    Call { args, ..Call::default() }
}

impl Call {
    fn variable(mut self, name: &str, value: &str) -> Self {
        self.environment.push((name.into(), value.into()));
        self
    }

    fn file(mut self, name: &'static str, text: &str) -> Self {
        self.files.insert(name, text.into());
        self
    }

    fn resolve(&self) -> Result<ResolvedSettings, SettingsError> {
        resolve(&self.args, &self.environment, &mut |name| Ok(self.files.get(name).cloned()))
    }

    #[track_caller]
    fn good(&self) -> ResolvedSettings {
        self.resolve().unwrap_or_else(|unusable| panic!("{:#?}", lines(&unusable)))
    }

    /// What is said, line by line.
    #[track_caller]
    fn said(&self) -> Vec<String> {
        lines(&self.resolve().expect_err("it has errors"))
    }
}

fn lines(unusable: &SettingsError) -> Vec<String> {
    unusable.problems.iter().map(|problem| problem.line(&unusable.sources)).collect()
}

fn printed(resolved: &ResolvedSettings) -> String {
    let mut out = Vec::new();
    print(resolved, &|_| true, &mut out).expect("memory takes all");
    String::from_utf8(out).expect("it is UTF-8")
}

/// A policy that is there.
const OPENAPI: &str = "openapi: 3.1.0\npaths: {}\n";
const UPSTREAM: &str = "--upstream http://127.0.0.1:9000";

#[test]
fn every_setting_has_a_place_and_every_place_a_setting() {
    let settings: Vec<_> = Setting::all().into_iter().map(|setting| setting.path).collect();
    let table: Vec<_> = table::TABLE.iter().map(|(path, _)| (*path).to_owned()).collect();
    assert_eq!(table, settings);
}

/// Values of every kind, one of which at least is good for each setting and is not its default.
const VALUES: &[&str] = &[
    "none",
    "auto",
    "system",
    "true",
    "false",
    "7",
    "2 MiB",
    "8 MiB",
    "5 KiB",
    "3s",
    "http1",
    "delta",
    "deny",
    "text",
    "triple",
    "a.pem",
    "127.0.0.1:7",
    "http://a:7",
    "redis://a:7",
    "vegas",
];

#[test]
fn what_is_put_into_a_place_comes_out_of_it_and_of_no_other() {
    let whole = |draft: &mut PartialSettings| -> Vec<_> {
        table::TABLE.iter().map(|(_, slot)| slot(draft).get()).collect()
    };
    for (index, setting) in Setting::all().into_iter().enumerate() {
        let mut changed = 0;
        for value in VALUES.iter().filter_map(|text| setting.parse(text).ok()) {
            let mut draft = PartialSettings::default();
            let before = whole(&mut draft);
            let slot = table::slot(&setting.path, &mut draft).expect("it has a place");
            slot.put(value.clone()).unwrap_or_else(|why| panic!("{} {why}", setting.path));
            let after = whole(&mut draft);
            let got = after[index].clone().or_else(|| setting.off().map(Value::Off));
            assert_eq!(got.as_ref(), Some(&value), "{}", setting.path);
            let others = |all: &[Option<Value>]| {
                let others = all.iter().enumerate().filter(|(at, _)| *at != index);
                others.map(|(_, value)| value.clone()).collect::<Vec<_>>()
            };
            assert_eq!(others(&before), others(&after), "{} changes another", setting.path);
            changed += usize::from(before[index] != after[index]);
        }
        assert!(changed > 0, "no value changes {}", setting.path);
    }
}

#[test]
fn what_is_printed_is_a_file_that_means_the_same() {
    let call = call(
        "--policy openapi.yaml --upstream h2c://[2001:db8::1]:50051 --listen [::1]:80 --listen localhost:81",
    )
    .file("openapi.yaml", OPENAPI)
    .variable("TOLLGATE_ANSWERS_FIELDS", "none")
    .variable("TOLLGATE_ANSWERS_RETRY_JITTER", "1500ms")
    .variable("TOLLGATE_TLS_CERTIFICATE", "it's a file.pem")
    .variable("TOLLGATE_TLS_KEY", "/etc/#key")
    .variable("TOLLGATE_MEMORY", "4194305")
    .variable("TOLLGATE_WORKERS", "3");
    let first = call.good();
    let text = printed(&first);
    let again = self::call("").file("tollgate.yaml", &text).file("openapi.yaml", OPENAPI).good();
    assert_eq!(again.settings, first.settings, "{text}");
    // Only where it comes from is another.
    let plain = |text: &str| -> Vec<_> {
        text.lines()
            .map(|line| line.rsplit_once(" # ").map_or(line, |(line, _)| line).trim_end().to_owned())
            .collect()
    };
    assert_eq!(plain(&printed(&again)), plain(&text));
}

#[test]
fn the_documentation_lists_every_setting() {
    let mut table = String::from("| under `serve` | variable | default | |\n|---|---|---|---|\n");
    for (setting, value) in defaults() {
        let value = value.map_or_else(|| "(required)".into(), |value| format!("`{value}`"));
        let value = if setting.path == "policy" { "this file".into() } else { value };
        table.push_str(&format!(
            "| `{}` | `{}` | {value} | {} |\n",
            setting.path,
            setting.variable(),
            setting.about
        ));
    }
    let document = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/GATEWAY.md");
    snapshot::check_table(&document, &table).unwrap_or_else(|why| panic!("{why}"));
}

#[test]
fn every_block_of_the_documentation_is_read() {
    let document = include_str!("../../../../docs/GATEWAY.md");
    let blocks: Vec<_> =
        document.split("```yaml\n").skip(1).filter_map(|rest| rest.split("```").next()).collect();
    assert!(!blocks.is_empty());
    for block in blocks {
        let resolved = call("").file("tollgate.yaml", block).file("openapi.yaml", OPENAPI).good();
        assert!(resolved.warnings.is_empty(), "{block}");
    }
}
