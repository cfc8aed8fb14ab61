//! Servers that cannot be reached, or do not let us in: each ends soon, with its cause and its cure, and no password is shown.

use std::io::{Read, Write};
use std::net::TcpListener;
use std::os::unix::net::UnixStream;

use tollgate_testing::folder::Folder;

use crate::support::{examine, free_port, redis, run, url};

#[test]
fn where_nobody_listens_that_is_told() {
    examine("unix:///nonexistent/redis.sock").assert_fault("connection", &["(refused)", "start the server"]);
    let port = free_port();
    examine(&format!("redis://127.0.0.1:{port}"))
        .assert_fault("connection", &["(refused)", "start the server"]);
    examine("redis://no-such-host.invalid").assert_fault("connection", &["(dns)", "correct the host name"]);
}

#[test]
fn a_server_that_is_frozen_ends_it_within_seconds() {
    let server = redis(&[]);
    server.signal("STOP").expect("it is frozen");
    let report = examine(&url(&server));
    server.signal("CONT").expect("it goes on");
    report.assert_fault("connection", &["(connect_timeout)", "whether the server's process is stopped"]);
}

#[test]
fn a_port_that_says_nothing_ends_it_within_seconds() {
    let listener = TcpListener::bind("127.0.0.1:0").expect("a free port");
    let port = listener.local_addr().expect("it is bound").port();
    examine(&format!("redis://127.0.0.1:{port}")).assert_fault("connection", &["(connect_timeout)"]);
    let authority = Certificate::new();
    let ran =
        run(&["--store", &format!("rediss://localhost:{port}")], &[("TOLLGATE_STORE_CA", &authority.file())]);
    assert!(ran.code == 1 && ran.out.contains("(connect_timeout)"), "{ran:?}");
}

#[test]
fn every_scheme_of_an_address_is_read() {
    let port = free_port().to_string();
    let _server = redis(&["--port", &port, "--bind", "127.0.0.1"]);
    for scheme in ["redis", "valkey"] {
        let report = examine(&format!("{scheme}://127.0.0.1:{port}"));
        assert_eq!((report.grade("connection"), report.code), ("good", 0), "{report:?}");
    }
    for scheme in ["rediss", "valkeys"] {
        let report = examine(&format!("{scheme}://127.0.0.1:{port}"));
        report.assert_fault("connection", &["not speak TLS on this port"]);
    }
}

/// A certificate and its key for `localhost`, in a folder of their own.
struct Certificate(Folder);

impl Certificate {
    fn new() -> Self {
        let folder = Folder::new("doctor-tls");
        let made = rcgen::generate_simple_self_signed(["localhost".to_owned()]).expect("a certificate");
        folder.put("cert.pem", made.cert.pem().as_bytes());
        folder.put("key.pem", made.signing_key.serialize_pem().as_bytes());
        Self(folder)
    }

    fn file(&self) -> String {
        self.0.path("cert.pem")
    }

    fn key(&self) -> String {
        self.0.path("key.pem")
    }
}

#[test]
fn tls_is_told_and_so_is_a_certificate_that_is_not_trusted() {
    let (ours, other) = (Certificate::new(), Certificate::new());
    let (plain, tls) = (free_port().to_string(), free_port().to_string());
    let (file, key) = (ours.file(), ours.key());
    let files = ["--tls-cert-file", &file, "--tls-key-file", &key, "--tls-ca-cert-file", &file];
    let ports = ["--port", &plain, "--tls-port", &tls, "--tls-auth-clients", "no", "--bind", "127.0.0.1"];
    let _server = redis(&[&files[..], &ports[..]].concat());
    let examined = |url: String, ca: &str| run(&["--store", &url], &[("TOLLGATE_STORE_CA", ca)]);
    let good = examined(format!("rediss://localhost:{tls}"), &file);
    assert!(good.code == 0 && good.out.contains("answers over TLS"), "{good:?}");
    let untrusted = examined(format!("rediss://localhost:{tls}"), &other.file());
    assert!(
        untrusted.code == 1 && untrusted.out.contains("(tls)") && untrusted.out.contains("`store.ca`"),
        "{untrusted:?}"
    );
    let no_tls = examined(format!("rediss://localhost:{plain}"), &file);
    assert!(no_tls.code == 1 && no_tls.out.contains("not speak TLS on this port"), "{no_tls:?}");
    let wants_tls = examine(&format!("redis://localhost:{tls}"));
    wants_tls.assert_fault("connection", &["rediss://"]);
    let no_certificate = examined(format!("rediss://localhost:{tls}"), "tests/documents/clean.yaml");
    assert_eq!((no_certificate.code, no_certificate.out.as_str()), (2, ""), "{no_certificate:?}");
    assert!(no_certificate.err.contains("no CA certificate for the store"), "{no_certificate:?}");
}

/// As Redis is with TLS, if it is told nothing else.
#[test]
fn a_server_that_wants_a_certificate_of_ours_is_told_and_gets_the_one_that_is_named() {
    let (ours, other, port) = (Certificate::new(), Certificate::new(), free_port().to_string());
    let (file, key) = (ours.file(), ours.key());
    let files = ["--tls-cert-file", &file, "--tls-key-file", &key, "--tls-ca-cert-file", &file];
    let _server = redis(&[&files[..], &["--tls-port", &port, "--bind", "127.0.0.1"]].concat());
    let store = format!("rediss://localhost:{port}");
    let examined = |named: &[(&str, &str)]| {
        let variables = [&[("TOLLGATE_STORE_CA", file.as_str())], named].concat();
        run(&["--store", &store], &variables)
    };
    let [certificate, with_key] = ["TOLLGATE_STORE_CERTIFICATE", "TOLLGATE_STORE_KEY"];
    let good = examined(&[(certificate, &file), (with_key, &key)]);
    assert!(good.code == 0 && good.out.contains("answers over TLS"), "{good:?}");
    let (their_file, their_key) = (other.file(), other.key());
    let rows: [(&[(&str, &str)], &str); 2] = [
        (&[], "requires a client certificate"),
        (&[(certificate, &their_file), (with_key, &their_key)], "rejected the client certificate"),
    ];
    for (named, words) in rows {
        let ran = examined(named);
        assert!(ran.code == 1 && ran.out.contains("(certificate)") && ran.out.contains(words), "{ran:?}");
        assert!(ran.out.contains("`store.certificate` (TOLLGATE_STORE_CERTIFICATE)"), "{ran:?}");
    }
    let half = examined(&[(with_key, &key)]);
    let sentence = "`store.key` has no effect without `store.certificate`: set both";
    assert!(half.code == 2 && half.err.contains(sentence), "{half:?}");
    let missing = examined(&[(certificate, "no-such-file"), (with_key, &key)]);
    assert!(
        missing.code == 2 && missing.err.contains("`store.certificate` cannot be read: no-such-file"),
        "{missing:?}"
    );
}

#[test]
fn a_server_that_falls_silent_after_its_first_word_ends_it_within_seconds() {
    let listener = TcpListener::bind("127.0.0.1:0").expect("a free port");
    let port = listener.local_addr().expect("it is bound").port();
    std::thread::spawn(move || {
        let mut kept = Vec::new();
        for mut stream in listener.incoming().map_while(Result::ok) {
            let _ = stream.read(&mut [0; 512]);
            let _ = stream.write_all(b"+OK\r\n+PONG\r\n");
            kept.push(stream);
        }
    });
    let report = examine(&format!("redis://127.0.0.1:{port}"));
    assert_eq!(report.of("good"), ["connection"], "{report:?}");
    assert_eq!(report.of("fault"), ["decisions"], "{report:?}");
    report.assert("eviction", "not_known", &["did not reply in time"]);
}

#[test]
fn something_else_on_the_port_is_told() {
    let listener = TcpListener::bind("127.0.0.1:0").expect("a free port");
    let port = listener.local_addr().expect("it is bound").port();
    std::thread::spawn(move || {
        for mut stream in listener.incoming().map_while(Result::ok) {
            let _ = stream.read(&mut [0; 512]);
            let _ = stream.write_all(b"HTTP/1.1 400 Bad Request\r\n\r\n");
        }
    });
    examine(&format!("redis://127.0.0.1:{port}")).assert_fault(
        "connection",
        &["(garbled)", "the server speaks HTTP", "the server on this port is not Redis"],
    );
}

#[test]
fn a_server_that_has_no_room_or_is_protected_is_not_called_good() {
    let full = redis(&[]);
    let mut only = UnixStream::connect(full.socket()).expect("it listens");
    only.write_all(b"CONFIG SET maxclients 1\r\n").expect("it takes a line");
    assert_eq!(only.read(&mut [0; 16]).expect("it answers"), "+OK\r\n".len());
    for password in ["", "?pass=hunter2"] {
        let report = examine(&format!("{}{password}", url(&full)));
        report.assert_fault("connection", &["max number of clients", "`maxclients`"]);
        assert!(report.of("good").is_empty(), "{report:?}");
    }
    let listener = TcpListener::bind("127.0.0.1:0").expect("a free port");
    let port = listener.local_addr().expect("it is bound").port();
    std::thread::spawn(move || {
        for mut stream in listener.incoming().map_while(Result::ok) {
            // At once, and it does not listen.
            let _ = stream.write_all(b"-DENIED Redis is running in protected mode because\r\n");
        }
    });
    let report = examine(&format!("redis://127.0.0.1:{port}"));
    report.assert_fault("connection", &["`protected-mode`"]);
    assert!(report.of("good").is_empty(), "{report:?}");
}

#[test]
fn a_wrong_password_a_missing_one_and_a_needless_one_are_told_and_never_shown() {
    let server = redis(&["--requirepass", "right-secret"]);
    let store = url(&server);
    let wrong = [
        (store.clone(), "(noauth)", "put user and password in the address"),
        (format!("{store}?pass=hunter2"), "(wrongpass)", "correct the user and the password"),
        (format!("{store}?user=nobody&pass=hunter2"), "(wrongpass)", "correct the user and the password"),
    ];
    for (url, cause, cure) in wrong {
        let ran = run(&["--store", &url], &[]);
        assert_eq!(ran.code, 1, "{ran:?}");
        assert!(ran.out.contains(cause) && ran.out.contains(cure), "{}", ran.out);
        assert!(!format!("{ran:?}").contains("hunter2"), "{ran:?}");
    }
    let open = redis(&[]);
    let ran = run(&["--store", &format!("{}?pass=hunter2", url(&open))], &[]);
    assert!(ran.code == 1 && ran.out.contains("omit the password if the server has none"), "{ran:?}");
    assert!(!format!("{ran:?}").contains("hunter2"), "{ran:?}");
    let right = run(&["--store", &format!("{store}?pass=right-secret")], &[]);
    assert_eq!(right.code, 0, "{right:?}");
    assert!(
        right.out.contains("note       password: the user `default` has more permissions than needed"),
        "{right:?}"
    );
    assert!(!format!("{right:?}").contains("right-secret"), "{right:?}");
}
