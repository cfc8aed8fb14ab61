//! Precedence: a flag over a variable, a variable over the file, the file over the default; and which file.

use std::time::Duration;

use super::super::{LISTEN, Protocol, SettingSource, Tls, Upstream};
use super::{Call, OPENAPI, UPSTREAM, call, printed};

/// Everybody says something else of `listen`, and the weaker ones are taken away one by one.
#[test]
fn a_flag_counts_before_a_variable_and_a_variable_before_the_file() {
    let all = |flags: &str, variable: bool, file: bool| -> (String, String) {
        let mut call: Call =
            call(&format!("--policy openapi.yaml {UPSTREAM} {flags}")).file("openapi.yaml", OPENAPI);
        if variable {
            call = call.variable("TOLLGATE_LISTEN", "127.0.0.1:2,127.0.0.1:22");
        }
        if file {
            call = call.file("tollgate.yaml", "tollgate: 1\nserve:\n  listen: [127.0.0.1:3]\n");
        }
        let resolved = call.good();
        let listen = resolved.in_force.iter().find(|of| of.path == "listen").expect("it is there");
        (format!("{:?}", resolved.settings.listen), listen.given.shown(&resolved.sources))
    };
    let flag = "--listen 127.0.0.1:1";
    assert_eq!(all(flag, true, true), ("[127.0.0.1:1]".into(), "--listen".into()));
    assert_eq!(all("", true, true), ("[127.0.0.1:2, 127.0.0.1:22]".into(), "TOLLGATE_LISTEN".into()));
    assert_eq!(all("", false, true), ("[127.0.0.1:3]".into(), "tollgate.yaml:3".into()));
    assert_eq!(all("", false, false), (format!("[{LISTEN}]"), "default".into()));
}

#[test]
fn one_file_can_be_policy_and_settings() {
    let text =
        "tollgate: 1\nrate_limit: none\nserve: { upstream: { url: 'https://a' }, timeouts: { total: 1m } }\n";
    let default = call("").file("tollgate.yaml", text).good();
    assert_eq!(default.settings.policy, "tollgate.yaml");
    assert_eq!(default.config.as_deref(), Some("tollgate.yaml"));
    assert_eq!(default.in_force[0].given, SettingSource::Itself);
    assert_eq!(default.settings.timeouts.total, Some(Duration::from_secs(60)));
    // By whatever name it is called.
    for flags in
        ["--policy x/gate.yaml", "--config x/gate.yaml", "--policy x/gate.yaml --config ./x/gate.yaml"]
    {
        let named = call(flags).file("x/gate.yaml", text).file("./x/gate.yaml", text).good();
        assert!(named.settings.policy.ends_with("x/gate.yaml"), "{flags}");
        assert_eq!(named.settings.timeouts.total, Some(Duration::from_secs(60)), "{flags}");
        assert!(named.warnings.is_empty(), "{flags}: {:?}", named.warnings);
    }
    let by_variable = call("").variable("TOLLGATE_CONFIG", "x/gate.yaml").file("x/gate.yaml", text).good();
    assert_eq!(by_variable.settings.policy, "x/gate.yaml");
}

#[test]
fn a_policy_with_settings_of_its_own_needs_no_other_file() {
    let policy = "tollgate: 1\nrate_limit: none\nserve: { workers: 7 }\n";
    let call = call(&format!("--policy gate.yaml {UPSTREAM}"));
    let call = call.file("gate.yaml", policy).file("tollgate.yaml", "tollgate: 1\nserve: { workers: 3 }\n");
    assert_eq!(call.good().settings.workers, Some(7));
    // Beside a file that is named, they have no effect, which is said.
    let named =
        Call { args: super::ServeArgs { config: Some("tollgate.yaml".into()), ..call.args.clone() }, ..call };
    let resolved = named.good();
    assert_eq!(resolved.settings.workers, Some(3));
    let said: Vec<_> = resolved.warnings.iter().map(|problem| problem.line(&resolved.sources)).collect();
    assert_eq!(
        said,
        ["gate.yaml:3:1: warning: this section has no effect: the settings stand in tollgate.yaml; \
          leave it out, or leave out --config"]
    );
}

#[test]
fn a_file_can_name_the_policy_and_its_files_are_seen_from_it() {
    let text = "tollgate: 1\nserve:\n  policy: ../api/openapi.yaml\n  upstream: { url: 'https://a', ca: ca.pem }\n  \
                tls: { certificate: cert.pem, key: /etc/key.pem }\n";
    let call = call("--config etc/gate.yaml").file("etc/gate.yaml", text).file("api/openapi.yaml", OPENAPI);
    let settings = call.good().settings;
    assert_eq!(settings.policy, "api/openapi.yaml");
    assert_eq!(settings.upstream.ca.as_deref(), Some("etc/ca.pem"));
    let tls = Tls::new("etc/cert.pem", "/etc/key.pem");
    assert_eq!(settings.tls, Some(tls));
}

#[test]
fn a_file_in_the_current_folder_can_be_left_alone() {
    let call = call(&format!("--config none --policy openapi.yaml {UPSTREAM}"))
        .file("openapi.yaml", OPENAPI)
        .file("tollgate.yaml", "tollgate: 1\nrate_limit: none\nserve: { workers: 3 }\n");
    let resolved = call.good();
    assert_eq!((resolved.settings.workers, resolved.config), (None, None));
}

#[test]
fn the_scheme_says_how_the_upstream_is_spoken_to() {
    let upstream = |url: &str, protocol: &str| {
        let call = call(&format!("--policy openapi.yaml --upstream {url}")).file("openapi.yaml", OPENAPI);
        let call = call.variable("TOLLGATE_UPSTREAM_PROTOCOL", protocol);
        let Upstream { tls, host, port, protocol, .. } = call.good().settings.upstream;
        (tls, host, port, protocol)
    };
    assert_eq!(upstream("http://a:9000", "auto"), (false, "a".into(), 9000, Protocol::Auto));
    assert_eq!(upstream("https://a", "http1"), (true, "a".into(), 443, Protocol::Http1));
    assert_eq!(upstream("h2c://[::1]:5", "auto"), (false, "[::1]".into(), 5, Protocol::Http2));
}

#[test]
fn every_line_that_is_printed_says_where_it_comes_from() {
    let call = call(&format!("--policy openapi.yaml {UPSTREAM}")).file("openapi.yaml", OPENAPI);
    let text = printed(&call.good());
    let settings = text.lines().filter(|line| line.contains(": "));
    assert!(settings.clone().count() > 30);
    for line in settings.skip(1) {
        assert!(line.contains("  # "), "{line}");
    }
}
