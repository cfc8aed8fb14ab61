//! Who may ask: tokens, their rotation, client certificates, and addresses that others can reach.

use std::io::{Read, Write};
use std::sync::Arc;

use rcgen::{BasicConstraints, CertificateParams, IsCa, Issuer, KeyPair};
use rustls::pki_types::pem::PemObject;
use rustls::pki_types::{CertificateDer, PrivateKeyDer, ServerName};
use tollgate_testing::folder::Folder;
use tollgate_testing::patience::until;

use crate::support::{Served, command, connect};

const TOKEN: &str = "0123456789abcdef0123456789abcdef";
const OTHER: &str = "fedcba9876543210fedcba9876543210";
const BODY: &str = r#"{"hits":[{"rate":"1000 per second, burst 10000","key":"a"}]}"#;
const JSON: &str = "Content-Type: application/json\r\n";

#[test]
fn a_token_is_asked_for_and_can_be_rotated() {
    let folder = Folder::new("tokens");
    folder.put("tokens", format!("{TOKEN}\n").as_bytes());
    let served = Served::within(
        folder,
        "tollgate: 1\nserve:\n  api: { listen: '127.0.0.1:0', tokens: tokens }\n  operations: { listen: none }\n",
    );
    let with = |field: &str| served.ask("POST", "/v1/check", &format!("{JSON}{field}"), BODY).status;
    let bearer = |token: &str| with(&format!("Authorization: Bearer {token}\r\n"));
    assert_eq!(with(""), 401);
    assert_eq!(bearer(OTHER), 401);
    assert_eq!(bearer(&TOKEN[1..]), 401);
    assert_eq!(with(&format!("Authorization: Basic {TOKEN}\r\n")), 401);
    assert_eq!(with(&format!("Authorization: Bearer {TOKEN}\r\nAuthorization: Bearer {TOKEN}\r\n")), 401);
    assert_eq!(with(&format!("Authorization: bearer {TOKEN}\r\n")), 200);
    assert_eq!(bearer(TOKEN), 200);
    for target in ["/", "/openapi.json", "/v1/explain?target=/", "/v1/auth/nginx", "/elsewhere"] {
        let response = served.ask("GET", target, "", "");
        assert_eq!(response.status, 401, "{target}");
        assert!(response.header("www-authenticate").is_some());
    }
    // Both are right for a while, and then the new one alone.
    served.folder.put("tokens", format!("{TOKEN}\n{OTHER}\n").as_bytes());
    until("the new token is in force", || bearer(OTHER) == 200);
    assert_eq!(bearer(TOKEN), 200);
    served.folder.put("tokens", format!("{OTHER}\n").as_bytes());
    until("the old token is not in force any more", || bearer(TOKEN) == 401);
    assert_eq!(bearer(OTHER), 200);
}

#[test]
fn an_endpoint_that_others_can_reach_has_to_ask_who_they_are() {
    let said = |endpoint: &str| {
        let folder = Folder::new("public");
        folder.put("tokens", format!("{TOKEN}\n").as_bytes());
        let settings = format!("tollgate: 1\nserve:\n  operations: {{ listen: none }}\n{endpoint}");
        // It may start, and is then stopped by what it is asked in the end: to listen where nobody is.
        let output = command(&folder, &settings).output().expect("it runs");
        assert!(!output.status.success());
        String::from_utf8_lossy(&output.stderr).into_owned()
    };
    for (name, endpoint) in
        ["grpc", "resp", "api"].map(|name| (name, format!("  {name}: {{ listen: '192.0.2.1:80' }}\n")))
    {
        let why = said(&endpoint);
        assert!(why.contains("everybody who can reach 192.0.2.1:80"), "{why}");
        assert!(
            why.contains(&format!("`{name}.tokens`")) && why.contains(&format!("`{name}.public: true`")),
            "{why}"
        );
    }
    // Nobody has this address: it gets as far as listening.
    let why = said("  api: { listen: '192.0.2.1:80', public: true }\n");
    assert!(why.contains("cannot listen on 192.0.2.1:80") && !why.contains("everybody"), "{why}");
    let why = said("  api: { listen: '192.0.2.1:80', tokens: tokens }\n");
    assert!(why.contains("cannot listen on 192.0.2.1:80") && why.contains("without encryption"), "{why}");
    let why = said("  api: { listen: '127.0.0.1:0', client_ca: ca.pem }\n");
    assert!(why.contains("is of no use without"), "{why}");
    let why = said("  api: { listen: '127.0.0.1:0', tokens: nothing }\n");
    assert!(why.contains("`api.tokens` names a file that does not exist"), "{why}");
    let why = said("  api: { tokens: tokens }\n  upstream: { url: 'http://127.0.0.1:1' }\n");
    assert!(why.contains("the section `api` has no effect"), "{why}");
}

/// An authority, and a certificate of it.
fn authority(name: &str) -> (String, Issuer<'static, KeyPair>) {
    let mut params = CertificateParams::new([name.to_owned()]).expect("a name");
    params.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
    let key = KeyPair::generate().expect("a key");
    let certificate = params.self_signed(&key).expect("it signs itself");
    (certificate.pem(), Issuer::new(params, key))
}

fn leaf(issuer: &Issuer<'static, KeyPair>, name: &str) -> (String, String) {
    let params = CertificateParams::new([name.to_owned()]).expect("a name");
    let key = KeyPair::generate().expect("a key");
    (params.signed_by(&key, issuer).expect("it is signed").pem(), key.serialize_pem())
}

#[test]
fn mutual_tls_lets_in_only_clients_of_the_authority() {
    let (ca, issuer) = authority("ca");
    let (_, stranger) = authority("stranger");
    let folder = Folder::new("mutual-tls");
    let (certificate, key) = leaf(&issuer, "localhost");
    for (name, text) in [("ca.pem", &ca), ("cert.pem", &certificate), ("key.pem", &key)] {
        folder.put(name, text.as_bytes());
    }
    let served = Served::within(
        folder,
        "tollgate: 1\nserve:\n  api: { listen: '127.0.0.1:0', certificate: cert.pem, key: key.pem, client_ca: ca.pem }\n  operations: { listen: none }\n",
    );
    let ask = |client: Option<(String, String)>| {
        let provider = Arc::new(rustls::crypto::ring::default_provider());
        let mut roots = rustls::RootCertStore::empty();
        roots.add(CertificateDer::from_pem_slice(ca.as_bytes()).expect("PEM")).expect("a root");
        let config =
            rustls::ClientConfig::builder_with_provider(provider).with_safe_default_protocol_versions();
        let config = config.expect("versions").with_root_certificates(roots);
        let config = match client {
            None => config.with_no_client_auth(),
            Some((certificate, key)) => {
                let chain = vec![CertificateDer::from_pem_slice(certificate.as_bytes()).expect("PEM")];
                let key = PrivateKeyDer::from_pem_slice(key.as_bytes()).expect("PEM");
                config.with_client_auth_cert(chain, key).expect("they match")
            }
        };
        let name = ServerName::try_from("localhost").expect("a name");
        let connection = rustls::ClientConnection::new(Arc::new(config), name).expect("a connection");
        let mut stream = rustls::StreamOwned::new(connection, connect(served.api));
        let request = format!(
            "POST /v1/check HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n{JSON}Content-Length: {}\r\n\r\n{BODY}",
            BODY.len()
        );
        let mut all = Vec::new();
        let _ = stream.write_all(request.as_bytes()).and_then(|()| stream.read_to_end(&mut all));
        String::from_utf8_lossy(&all).starts_with("HTTP/1.1 200")
    };
    assert!(ask(Some(leaf(&issuer, "client"))), "a client of the authority");
    assert!(!ask(Some(leaf(&stranger, "client"))), "a client of another authority");
    assert!(!ask(None), "a client without a certificate");
}
