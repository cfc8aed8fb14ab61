//! A secret in every setting that can hold one, right or by mistake: nothing that the program prints has it.

use std::ffi::OsString;
use std::io::{BufRead, BufReader, Read};
use std::process::{Command, Stdio};

use rustix::process::{Pid, Signal, kill_process};
use tollgate_cli::settings::{Setting, Value};

use crate::support::{Folder, Ran, plain, run_with};

/// It is in every part of a secret, so that a secret in several pieces is found by each of them.
const SECRET: &str = "Zq7";
/// The same for a secret of digits alone.
const DIGITS: &str = "90907577";
/// A key in PEM, as an editor pastes it.
const PEM: &str = "-----BEGIN PRIVATE KEY-----\nZq7Zq7Zq7\nZq7==\n-----END PRIVATE KEY-----\n";
/// What follows `://` in an address with a secret, with and without a mistake.
const PLACES: [&str; 17] = [
    ":Zq7@127.0.0.1:1",
    "ada:Zq7@127.0.0.1:1/0",
    "ada:Zq7:Zq7@127.0.0.1:1",
    ":Zq7@Zq7@127.0.0.1:1",
    ":Zq7/Zq7?Zq7#Zq7@127.0.0.1:1",
    "Zq7@127.0.0.1:1",
    ":Zq7",
    "ada:Zq7",
    "127.0.0.1:Zq7",
    "127.0.0.1:1?pass=Zq7",
    "127.0.0.1:1#Zq7",
    ":Zq7 Zq7@127.0.0.1:1",
    ":Zq7\nZq7@127.0.0.1:1",
    ":Zq7\u{1}Zq7@127.0.0.1:1",
    ":Zq7\u{9b}Zq7@127.0.0.1:1",
    ":Zq7\tZq7'Zq7\"Zq7@127.0.0.1:1",
    "/none.socket?pass=Zq7&user=ada",
];
/// What somebody may write in place of the name of a file with a secret.
const PASTED: [&str; 12] = [
    "Zq7",
    "Zq7.txt",
    "/Zq7/Zq7+Zq7==",
    "Zq7 Zq7",
    "@Zq7",
    "!Zq7",
    "*Zq7",
    "&Zq7",
    "%Zq7",
    "Zq7: Zq7",
    "Zq7\u{1}Zq7\0Zq7",
    DIGITS,
];

/// Every value with a secret that a setting can be given, right or wrong.
fn values(setting: &Setting) -> Vec<String> {
    let addresses = |schemes: &[&str]| {
        let mut all: Vec<_> = ["Zq7", ":Zq7@host", "ada:Zq7@host:1", DIGITS].map(str::to_owned).into();
        for (scheme, places) in
            schemes.iter().zip([PLACES.as_slice(), &PLACES[..2], &PLACES[16..], &PLACES[..1]])
        {
            all.extend(places.iter().map(|place| format!("{scheme}://{place}")));
        }
        all
    };
    let pasted = || [PEM.to_owned(), PEM.replace('\n', "\\n"), format!("{}{SECRET}", "Zq7".repeat(400))];
    let parsed = |text: &str| setting.parse(text).ok();
    if setting.is_secret() {
        return PASTED.map(str::to_owned).into_iter().chain(pasted()).collect();
    }
    if matches!(parsed("redis://a:7"), Some(Value::Store(_))) {
        return addresses(&["redis", "rediss", "unix", "http"]);
    }
    if matches!(parsed("http://a:7"), Some(Value::Origin(_))) {
        return addresses(&["http", "https", "h2c", "ws"]);
    }
    if matches!(parsed("a file.pem"), Some(Value::Text(_) | Value::List(_))) {
        return pasted().into();
    }
    // Neither a password nor a key is read there.
    let may_be = ["store.namespace", "forwarding.via"].contains(&setting.path.as_str());
    assert!(may_be || parsed(SECRET).is_none(), "{} may hold a secret", setting.path);
    Vec::new()
}

/// A value as YAML and JSON have it, in all their ways, and in ways that are wrong.
fn spellings(value: &str) -> Vec<String> {
    let indented = |text: &str| text.replace('\n', "\n        ");
    let escaped: String = value
        .chars()
        .map(|char| match char {
            '"' | '\\' => format!("\\{char}"),
            char if char.is_control() => format!("\\u{:04x}", u32::from(char)),
            char => char.into(),
        })
        .collect();
    let mut all = vec![
        format!(" {}", indented(value)),
        format!(" '{}'", indented(&value.replace('\'', "''"))),
        format!(" \"{escaped}\""),
        format!(" |\n        {}", indented(value)),
        format!(" >-\n        {}", indented(&value.replace(SECRET, "Zq7\nZq7"))),
        format!(" [\"{escaped}\"]"),
        format!(" &a \"{escaped}\""),
        format!(" \"{escaped}"),
        indented(value),
    ];
    // A field's name is repeated up to its colon, so that one that is mistyped is found.
    if value.split_once(':').is_some_and(|(name, _)| !name.contains(SECRET)) {
        all.push(format!(" {{ \"{escaped}\": 1 }}"));
    }
    all
}

/// Documents with a setting, among others that are right and that are wrong.
fn documents(path: &str, value: &str) -> Vec<String> {
    let (group, name) = path.split_once('.').unwrap_or(("", path));
    let mut all = Vec::new();
    let around = |serve: &str| format!("tollgate: 1\n{serve}routes:\n  - path: /a\n");
    for spelling in spellings(value) {
        for (before, after) in [("", ""), ("  workers: many\n", "  memry: 5\n")] {
            let upstream = if group == "upstream" { "" } else { "  upstream: { url: http://127.0.0.1:1 }\n" };
            let setting = |group: &str, name: &str| match group {
                "" => format!("  {name}:{spelling}\n"),
                group => format!("  {group}:\n    {name}:{spelling}\n"),
            };
            all.push(around(&format!("serve:\n{before}{upstream}{}{after}", setting(group, name))));
            if !group.is_empty() && before.is_empty() {
                let misspelt = format!("{name}x");
                all.push(around(&format!("serve:\n{before}{upstream}{}{after}", setting(group, &misspelt))));
                all.push(around(&format!("serve:\n{before}{upstream}{}{after}", setting("", group))));
                all.push(around(&format!(
                    "serve:\n{before}{upstream}{after}  {group}: {{{name}:{spelling}}}\n"
                )));
                all.push(around(&format!("{group}:\n  {name}:{spelling}\n")));
            }
        }
    }
    let json = |value: &str| serde_json::Value::from(value).to_string();
    let setting = if group.is_empty() {
        format!("{}:{}", json(name), json(value))
    } else {
        format!("{}:{{{}:{}}}", json(group), json(name), json(value))
    };
    for other in ["\"workers\":1", "\"workers\":\"many\"", "\"workers\":"] {
        let long = "x".repeat(200);
        all.push(format!(
            "{{\"tollgate\":1,\"serve\":{{{other},{setting}}},\"routes\":[],\"about\":\"{long}\"}}"
        ));
    }
    all
}

#[track_caller]
fn assert_kept(what: &str, printed: &str) {
    let printed_low = printed.to_lowercase();
    let found = printed_low.contains(&SECRET.to_lowercase()) || printed_low.contains(DIGITS);
    assert!(!found, "a secret is printed by {what}:\n{printed}");
}

/// Runs a command, and searches what it prints.
fn search(args: &[&str], environment: &[(OsString, OsString)], given: &str) {
    let Ran { out, err, .. } = run_with(args, environment);
    assert_kept(&format!("{args:?} {environment:?}, given\n{given}\n"), &plain(&format!("{out}{err}")));
}

fn holders() -> Vec<(Setting, Vec<String>)> {
    let all = Setting::all().into_iter().map(|setting| (setting.clone(), values(&setting)));
    let all: Vec<_> = all.filter(|(_, values)| !values.is_empty()).collect();
    let paths: Vec<_> = all.iter().map(|(setting, _)| setting.path.as_str()).collect();
    let expected = [
        "policy",
        "upstream.url",
        "upstream.ca",
        "grpc.tokens",
        "grpc.certificate",
        "grpc.key",
        "grpc.client_ca",
        "grpc.limits",
        "resp.tokens",
        "resp.certificate",
        "resp.key",
        "resp.client_ca",
        "api.tokens",
        "api.certificate",
        "api.key",
        "api.client_ca",
        "tls.certificate",
        "tls.key",
        "store.url",
        "store.secret",
        "store.password",
        "store.ca",
        "store.certificate",
        "store.key",
    ];
    assert_eq!(paths, expected);
    all
}

#[test]
fn no_command_prints_a_secret_that_stands_in_a_file() {
    let folder = Folder::new("secrets");
    for (setting, values) in holders() {
        let documents = values.iter().flat_map(|value| documents(&setting.path, value));
        for (index, text) in documents.enumerate() {
            let file = folder.put("tollgate.yaml", text.as_bytes());
            search(&["serve", "--print-config", "--config", &file], &[], &text);
            for format in ["human", "json", "sarif", "github"] {
                search(&["lint", &file, "--format", format], &[], &text);
            }
            // The others draw what `lint` draws: a part of the documents is enough for them.
            if index % 7 > 0 {
                continue;
            }
            search(&["explain", &file, "GET /a"], &[], &text);
            search(&["diff", &file, &file], &[], &text);
            search(&["annotate", &file], &[], &text);
            search(&["test", &file], &[], &text);
        }
    }
}

#[test]
fn no_command_prints_a_secret_from_a_flag_or_a_variable() {
    let folder = Folder::new("secrets-given");
    let policy = folder.put("policy.yaml", b"tollgate: 1\nroutes:\n  - path: /a\n");
    for (setting, values) in holders() {
        // No variable has a character 0 in it.
        for value in values.iter().filter(|value| !value.contains('\0')) {
            for workers in ["1", "many"] {
                let usual = [
                    ("TOLLGATE_POLICY", policy.as_str()),
                    ("TOLLGATE_UPSTREAM_URL", "http://127.0.0.1:1"),
                    ("TOLLGATE_WORKERS", workers),
                ];
                let usual = usual.map(|(name, value)| (OsString::from(name), OsString::from(value)));
                let mut variables: Vec<_> =
                    usual.into_iter().filter(|(name, _)| *name != *setting.variable()).collect();
                let flag = match setting.path.as_str() {
                    "upstream.url" => "--upstream",
                    "store.url" => "--store",
                    _ => "--no-such-flag",
                };
                let print = ["serve", "--print-config", "--config", "none"];
                search(&[print.as_slice(), &[&format!("{flag}={value}")]].concat(), &variables, value);
                if value.contains("://") || value.contains('@') {
                    // An address where no argument belongs.
                    search(&["serve", value], &variables, value);
                    search(&["doctor", &format!("--format={value}")], &variables, value);
                }
                variables.push((setting.variable().into(), value.into()));
                search(&print, &variables, value);
                if workers == "many" {
                    search(&["doctor", "--config", "none"], &variables, value);
                }
            }
        }
    }
}

/// The program with these variables alone.
fn program(variables: &[(String, String)]) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_tollgate"));
    command.env_clear().envs(variables.iter().map(|(name, value)| (name, value)));
    command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
    command
}

fn variables(folder: &Folder, more: &[(&str, &str)]) -> Vec<(String, String)> {
    let policy = folder.put("policy.yaml", b"tollgate: 1\nroutes:\n  - path: /a\n");
    let usual = [
        ("POLICY", policy.as_str()),
        ("CONFIG", "none"),
        ("UPSTREAM_URL", "http://127.0.0.1:1"),
        ("LISTEN", "127.0.0.1:0"),
        ("OPERATIONS_LISTEN", "127.0.0.1:0"),
        ("WORKERS", "1"),
    ];
    let mut all: Vec<(String, String)> = Vec::new();
    for (name, value) in usual.iter().chain(more) {
        let name = format!("TOLLGATE_{name}");
        all.retain(|(known, _)| *known != name);
        all.push((name, (*value).to_owned()));
    }
    all
}

#[test]
fn no_gateway_that_cannot_start_and_no_doctor_prints_a_secret() {
    let folder = Folder::new("secrets-start");
    for (setting, values) in holders() {
        let name = setting.variable().replace("TOLLGATE_", "");
        for value in values.iter().filter(|value| !value.contains('\0')) {
            // Nobody has this address, so that no gateway starts for good.
            let mut given = vec![("LISTEN", "192.0.2.1:80"), (name.as_str(), value.as_str())];
            match setting.path.as_str() {
                "tls.key" => given.push(("TLS_CERTIFICATE", "policy.yaml")),
                "tls.certificate" => given.push(("TLS_KEY", "policy.yaml")),
                "store.key" => given.extend([("STORE_CERTIFICATE", "policy.yaml")]),
                "store.certificate" => given.extend([("STORE_KEY", "policy.yaml")]),
                "grpc.key" => given.extend([("GRPC_CERTIFICATE", "policy.yaml")]),
                "resp.certificate" => given.extend([("RESP_KEY", "policy.yaml")]),
                "api.client_ca" => {
                    given.extend([("API_CERTIFICATE", "policy.yaml"), ("API_KEY", "policy.yaml")])
                }
                _ => {}
            }
            for endpoint in ["GRPC_LISTEN", "RESP_LISTEN", "API_LISTEN"] {
                if endpoint.get(..4) == name.get(..4) {
                    given.push((endpoint, "127.0.0.1:0"));
                }
            }
            if setting.path.starts_with("store.") && setting.path != "store.url" {
                given.push(("STORE_URL", "rediss://127.0.0.1:1"));
            }
            let variables = variables(&folder, &given);
            for args in [["serve"].as_slice(), &["doctor"], &["doctor", "--format", "json"]] {
                let mut command = program(&variables);
                let output = command.args(args).current_dir(folder.path("")).output().expect("it runs");
                assert!(!output.status.success() || args[0] == "doctor", "{setting:?} {value}");
                let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
                let printed = format!("{}{}", text(&output.stdout), text(&output.stderr));
                assert_kept(&format!("{args:?} with {}={value:?}", setting.path), &printed);
            }
        }
    }
}

#[test]
fn a_gateway_that_runs_does_not_print_the_secrets_that_it_uses() {
    let folder = Folder::new("secrets-run");
    let [secret, password] = ["secret", "password"].map(|name| folder.put(name, b"Zq7Zq7\n"));
    let by_file = [
        ("STORE_URL", "redis://ada@127.0.0.1:1"),
        ("STORE_SECRET", secret.as_str()),
        ("STORE_PASSWORD", password.as_str()),
    ];
    for store in [by_file.as_slice(), &[("STORE_URL", "redis://ada:Zq7@127.0.0.1:1")]] {
        let mut child = program(&variables(&folder, store)).arg("serve").spawn().expect("it runs");
        let mut out = BufReader::new(child.stdout.take().expect("a pipe"));
        let mut printed = String::new();
        while !printed.contains("Ctrl-C") {
            let count = out.read_line(&mut printed).expect("it is UTF-8");
            assert!(count > 0, "it did not start: {printed}");
        }
        let id = Pid::from_child(&child);
        kill_process(id, Signal::TERM).expect("it runs");
        out.read_to_string(&mut printed).expect("it is UTF-8");
        let output = child.wait_with_output().expect("it ends");
        printed.push_str(&String::from_utf8_lossy(&output.stderr));
        // It has told of the store, and so of what it was given.
        assert!(printed.contains("127.0.0.1:1") && printed.contains("stopped"), "{printed}");
        assert_kept("serve", &printed);
    }
}
