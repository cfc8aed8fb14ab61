//! What changes while a gateway runs, beside the policy: its certificate, settings in its file; and workers that cannot start.

use std::fs;
use std::path::PathBuf;

use rustix::process::Signal;
use rustls::pki_types::CertificateDer;
use rustls::pki_types::pem::PemObject;

use crate::peers::{Certificate, block_on};
use crate::process::Process;
use crate::support::{POLICY, Recorder, folder, small, status};

const OK: &str = "tollgate_reloads_total{result=\"ok\"}";
const FAILED: &str = "tollgate_reloads_total{result=\"failed\"}";

/// A folder with a policy, a certificate, and settings that name both. `more` is added to the settings.
fn settled(upstream: &Recorder, certificate: &Certificate, more: &str) -> PathBuf {
    let folder = folder();
    fs::write(folder.join("openapi.yaml"), POLICY).expect("a temporary folder can be written");
    renew(&folder, &certificate.certificate, &certificate.key);
    configure(&folder, upstream, more);
    folder
}

fn renew(folder: &std::path::Path, certificate: &std::path::Path, key: &std::path::Path) {
    for (from, name) in [(certificate, "gateway.pem"), (key, "gateway.key")] {
        fs::copy(from, folder.join("new")).expect("a temporary folder can be written");
        fs::rename(folder.join("new"), folder.join(name)).expect("a temporary folder can be written");
    }
}

fn configure(folder: &std::path::Path, upstream: &Recorder, more: &str) {
    let address = upstream.address;
    let text = format!(
        "tollgate: 1\nserve:\n  policy: openapi.yaml\n  listen: 127.0.0.1:0\n  operations: {{ listen: 127.0.0.1:0 }}\n  \
         upstream: {{ url: 'http://{address}' }}\n  tls: {{ certificate: gateway.pem, key: gateway.key }}\n{more}"
    );
    fs::write(folder.join("new"), text).expect("a temporary folder can be written");
    fs::rename(folder.join("new"), folder.join("tollgate.yaml")).expect("a temporary folder can be written");
}

/// The certificate that a gateway shows, and the connection.
async fn shown(process: &Process, one_of: &[&Certificate]) -> CertificateDer<'static> {
    for certificate in one_of {
        if let Ok(tls) = certificate.connect(process.address, &["http/1.1"]).await {
            let chain = tls.get_ref().1.peer_certificates().expect("it has shown one");
            return chain[0].clone().into_owned();
        }
    }
    panic!("it shows none of them: {}", process.told());
}

fn of(certificate: &Certificate) -> CertificateDer<'static> {
    CertificateDer::from_pem_file(&certificate.certificate).expect("it was written")
}

#[test]
fn a_certificate_that_is_renewed_is_shown_to_whoever_connects_next() {
    let (old, new) = (Certificate::new(), Certificate::new());
    let upstream = Recorder::new(small);
    let process = Process::configured(settled(&upstream, &old, ""), "tollgate.yaml");
    assert_eq!(block_on(shown(&process, &[&old, &new])), of(&old));
    // Whoever is connected stays so.
    block_on(async {
        let tls = old.connect(process.address, &["http/1.1"]).await.expect("they agree");
        let mut kept = crate::peers::speak_http1(tls).await;
        renew(&process.folder, &new.certificate, &new.key);
        process.wait_log("\"certificate\":\"renewed\"");
        assert_eq!(shown(&process, &[&old, &new]).await, of(&new));
        let request = crate::peers::request(http::Method::GET, "/free", crate::peers::nothing());
        assert_eq!(kept.send_request(request).await.expect("it is answered").status(), 200);
    });
}

#[test]
fn a_certificate_that_cannot_be_used_changes_nothing_and_is_told() {
    let (old, other) = (Certificate::new(), Certificate::new());
    let upstream = Recorder::new(small);
    let process = Process::configured(settled(&upstream, &old, ""), "tollgate.yaml");
    // The key of another one, and a policy that is good.
    renew(&process.folder, &old.certificate, &other.key);
    fs::write(process.folder.join("openapi.yaml"), POLICY.replace("/free:", "/freed:"))
        .expect("it can be written");
    process.signal(Signal::HUP);
    process.wait(FAILED, |failed| failed > 0);
    process.wait_log("do not match");
    process.wait("tollgate_config_generation", |generation| generation > 1);
    assert_eq!(block_on(shown(&process, &[&other, &old])), of(&old));
    // A reload that finds it mended.
    renew(&process.folder, &other.certificate, &other.key);
    process.wait_log("\"certificate\":\"renewed\"");
    assert_eq!(block_on(shown(&process, &[&other, &old])), of(&other));
}

#[test]
fn a_reload_names_the_settings_that_need_a_restart() {
    let certificate = Certificate::new();
    let upstream = Recorder::new(small);
    let folder = settled(&upstream, &certificate, "  store: { budget: 30ms }\n");
    let process = Process::configured(folder, "tollgate.yaml");
    process.signal(Signal::HUP);
    process.wait(OK, |reloads| reloads == 1);
    assert!(!process.log().contains("needs_restart"), "nothing has changed: {}", process.log());
    configure(&process.folder, &upstream, "  timeouts: { header: 7s }\n  bounds: { streams: 9 }\n");
    process.wait_log("\"needs_restart\":\"store.budget, timeouts.header, bounds.streams\"");
    configure(&process.folder, &upstream, "  timeouts: { header: 7 }\n");
    process.wait(FAILED, |failed| failed > 0);
    process.wait_log("a restart would fail: ");
    process.wait_log("has no unit");
}

#[test]
fn a_worker_that_cannot_start_ends_the_process_with_its_reason() {
    let upstream = Recorder::new(small);
    // Enough descriptors for a few workers.
    let (ended, said) =
        Process::unstarted("ulimit -n 48; export TOLLGATE_WORKERS=64", POLICY, upstream.address);
    assert_eq!(ended.code(), Some(2), "{said}");
    assert!(said.contains("Too many open files"), "{said}");
}

#[test]
fn a_setting_in_the_policy_itself_needs_a_restart_too() {
    let upstream = Recorder::new(small);
    let folder = folder();
    let text = |workers: u32| {
        format!(
            "tollgate: 1\nserve:\n  listen: 127.0.0.1:0\n  operations: {{ listen: 127.0.0.1:0 }}\n  workers: {workers}\n  \
             upstream: {{ url: 'http://{}' }}\nroutes:\n  - path: /free\n",
            upstream.address
        )
    };
    fs::write(folder.join("tollgate.yaml"), text(1)).expect("a temporary folder can be written");
    let process = Process::configured(folder, "tollgate.yaml");
    fs::write(process.folder.join("tollgate.yaml"), text(2)).expect("a temporary folder can be written");
    process.wait_log("\"needs_restart\":\"workers\"");
    assert_eq!(status(&process.get("/free")), 200);
}
