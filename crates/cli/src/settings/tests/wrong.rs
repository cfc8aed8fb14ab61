//! All errors in settings, with their messages, reported at once.

use super::{OPENAPI, UPSTREAM, call};

fn right() -> super::Call {
    call(&format!("--policy openapi.yaml {UPSTREAM}")).file("openapi.yaml", OPENAPI)
}

#[test]
fn what_has_to_be_given_is_asked_for() {
    let policy = "nothing says which policy is enforced; give --policy, TOLLGATE_POLICY, or limits in the file with settings";
    let upstream = "nothing says where requests go; give --upstream, TOLLGATE_UPSTREAM_URL, or `upstream: { url: … }` under `serve`; or an endpoint that clients ask for decisions: --grpc, --resp or --api";
    assert_eq!(call("").said(), [policy, upstream]);
    assert_eq!(call("").file("tollgate.yaml", "tollgate: 1\nserve: {}\n").said(), [policy, upstream]);
    assert_eq!(call("--policy openapi.yaml").file("openapi.yaml", OPENAPI).said(), [upstream]);
}

#[test]
fn everything_is_said_at_once_wherever_it_is() {
    let call =
        call("--policy openapi.yaml --upstream 127.0.0.1:9000 --listen 8080 --listen :80 --config gate.yaml")
            .file("openapi.yaml", OPENAPI)
            .file(
                "gate.yaml",
                "tollgate: 1\nserve:\n  timeouts: { header: 0s, idel: 5s }\n  upstream: { url: ftp://a }\n",
            )
            .variable("TOLLGATE_MEMORY", "1");
    assert_eq!(
        call.said(),
        [
            "TOLLGATE_MEMORY=1 is too little: write at least 4 MiB",
            "--upstream 127.0.0.1:9000 has no scheme: write `http://127.0.0.1:9000`, or `https://`",
            "--listen 8080 has no address: write `127.0.0.1:8080` for this machine, or `0.0.0.0:8080` for every one that can reach it",
            "--listen :80 has no address: write `127.0.0.1:80` for this machine, or `0.0.0.0:80` for every one that can reach it",
            "gate.yaml:3:23: error: `timeouts.header: 0s` is no time at all: nothing could be done in it",
            "gate.yaml:3:27: error: `timeouts` has no field `idel`; did you mean `idle`?",
            "gate.yaml:4:20: error: `upstream.url: ftp://a` has an unknown scheme `ftp`: write `http://`, `https://`, or `h2c://` for HTTP/2 without TLS",
        ]
    );
}

#[test]
fn two_policies_are_one_too_many() {
    let call = right().file("tollgate.yaml", "tollgate: 1\nserve: { workers: 3 }\nconsumers: a.csv\n");
    assert_eq!(
        call.said(),
        [
            "tollgate.yaml:3:1: error: there are two policies: openapi.yaml by --policy, and tollgate.yaml itself; \
          enforce one of them: leave out the other, or give `--config none`"
        ]
    );
    let call = self::call(&format!("{UPSTREAM} --config gate.yaml"))
        .file("gate.yaml", "tollgate: 1\nserve: { policy: openapi.yaml }\nroutes: []\n")
        .file("openapi.yaml", OPENAPI);
    assert!(
        call.said()[0].contains("there are two policies: openapi.yaml by gate.yaml:2, and"),
        "{:?}",
        call.said()
    );
}

#[test]
fn files_that_cannot_be_used_are_named() {
    let table = [
        ("--policy gone.yaml", vec!["gone.yaml cannot be read: there is no such file"]),
        ("--policy openapi.yaml --config gone.yaml", vec!["gone.yaml cannot be read: there is no such file"]),
        (
            "--policy -",
            vec![
                "- cannot be read: standard input can be read once, and files are read again when they change",
            ],
        ),
        (
            "--config openapi.yaml",
            vec!["openapi.yaml is an OpenAPI document, and has no settings; name it with --policy"],
        ),
        (
            "--policy settings.yaml",
            vec!["--policy: settings.yaml has settings, and no limits, routes or documents; name a policy"],
        ),
        (
            "--config neither.yaml",
            vec![
                "neither.yaml:1:1: error: this is neither a Tollgate file nor an OpenAPI document; \
                 begin it with `tollgate: 1` or `openapi: 3.1.0`",
            ],
        ),
    ];
    for (flags, said) in table {
        let call = call(&format!("{flags} {UPSTREAM}"))
            .file("openapi.yaml", OPENAPI)
            .file("settings.yaml", "tollgate: 1\nserve: {}\n")
            .file("neither.yaml", "colour: red\n");
        assert_eq!(call.said(), said, "{flags}");
    }
}

#[test]
fn what_does_not_go_together_is_refused_where_it_is_given() {
    let table = [
        (
            ("TOLLGATE_TLS_CERTIFICATE", "a.pem"),
            "TOLLGATE_TLS_CERTIFICATE: `tls.certificate` is of no use without `tls.key`; give both, or none for clients without TLS",
        ),
        (
            ("TOLLGATE_TLS_KEY", "a.pem"),
            "TOLLGATE_TLS_KEY: `tls.key` is of no use without `tls.certificate`; give both, or none for clients without TLS",
        ),
        (
            ("TOLLGATE_OPERATIONS_LISTEN", "127.0.0.1:8080"),
            "TOLLGATE_OPERATIONS_LISTEN: clients and operators cannot both be at 127.0.0.1:8080; give `operations.listen` another port, or `none`",
        ),
    ];
    for ((name, value), said) in table {
        assert_eq!(right().variable(name, value).said(), [said]);
    }
    let call = call("--policy openapi.yaml --upstream h2c://a:1").file("openapi.yaml", OPENAPI);
    let said = call.variable("TOLLGATE_UPSTREAM_PROTOCOL", "http1").said();
    assert!(
        said[0].starts_with("TOLLGATE_UPSTREAM_PROTOCOL: `upstream.protocol` is HTTP/1.1, and"),
        "{said:?}"
    );
    // In a file it has its place.
    let said = right().file("tollgate.yaml", "tollgate: 1\nserve:\n  tls: { key: a.pem }\n").said();
    assert!(said[0].starts_with("tollgate.yaml:3:15: error: `tls.key` is of no use without"), "{said:?}");
}

#[test]
fn what_is_allowed_and_unwise_is_a_warning() {
    let table = [
        (
            ("TOLLGATE_OPERATIONS_LISTEN", "0.0.0.0:9180"),
            "TOLLGATE_OPERATIONS_LISTEN: operations are shown at 0.0.0.0:9180 to everybody who can reach it; no password is asked for there; 127.0.0.1 is for this machine only",
        ),
        (
            ("TOLLGATE_UPSTREAM_CA", "ca.pem"),
            "TOLLGATE_UPSTREAM_CA: `upstream.ca` has no effect, because `http://127.0.0.1:9000` is without TLS; write `https://` in the URL, or leave it out",
        ),
    ];
    for ((name, value), said) in table {
        let resolved = right().variable(name, value).good();
        let warnings: Vec<_> =
            resolved.warnings.iter().map(|problem| problem.line(&resolved.sources)).collect();
        assert_eq!(warnings, [said]);
    }
    assert!(right().variable("TOLLGATE_OPERATIONS_LISTEN", "[::1]:9180").good().warnings.is_empty());
    assert!(right().variable("TOLLGATE_OPERATIONS_LISTEN", "none").good().settings.operations.is_none());
}

/// A flag that is right does not hide a variable that is wrong: the day the flag goes, it would count.
#[test]
fn a_wrong_value_is_an_error_also_where_something_stronger_counts() {
    let said = right().variable("TOLLGATE_UPSTREAM_URL", "nowhere").said();
    let sentence = "TOLLGATE_UPSTREAM_URL: The upstream's URL has no scheme: write `http://host:port`, `https://host` or `h2c://host:port`";
    assert_eq!(said, [sentence]);
}
