//! TLS: whom a link trusts, also if that changes while it serves. Other ways to a server are `addresses.rs`.

use std::fs;
use std::path::PathBuf;

use rcgen::{BasicConstraints, CertificateParams, CertifiedIssuer, IsCa, KeyPair};
use tollgate_redis::{Cause, Link, OpenError, Roots, Settings};

use crate::addresses::{number, open, patient};
use crate::load::count;
use crate::server::{Server, free_port};
use crate::support::{run, until};

/// Who signs certificates.
struct Authority(CertifiedIssuer<'static, KeyPair>);

impl Authority {
    fn new() -> Self {
        let mut params = CertificateParams::new(Vec::new()).unwrap();
        params.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
        Self(CertifiedIssuer::self_signed(params, KeyPair::generate().unwrap()).unwrap())
    }

    fn pem(&self) -> Vec<u8> {
        self.0.pem().into_bytes()
    }

    /// A certificate for this name, and its key.
    fn signed(&self, name: &str) -> (String, String) {
        let key = KeyPair::generate().unwrap();
        let params = CertificateParams::new(vec![name.to_owned()]).unwrap();
        (params.signed_by(&key, &self.0).unwrap().pem(), key.serialize_pem())
    }

    /// Gives a server its certificate, its key and the authority that it trusts, from its next start on.
    fn certify(&self, server: &Server, name: &str) {
        let (certificate, key) = self.signed(name);
        for (file, text) in [("cert", certificate), ("key", key), ("ca", self.0.pem())] {
            fs::write(file_of(server, file), text).unwrap();
        }
    }
}

fn file_of(server: &Server, name: &str) -> PathBuf {
    server.directory().join(name)
}

/// A server with TLS for this name, and its port.
async fn with_tls(authority: &Authority, name: &str) -> (Server, u16) {
    let port = free_port("127.0.0.1");
    let mut server = Server::new(&[]);
    authority.certify(&server, name);
    let file = |name: &str| file_of(&server, name).display().to_string();
    let arguments = [
        ["--tls-port".into(), port.to_string()],
        ["--tls-cert-file".into(), file("cert")],
        ["--tls-key-file".into(), file("key")],
        ["--tls-ca-cert-file".into(), file("ca")],
        ["--tls-auth-clients".into(), "no".into()],
    ];
    server.add(arguments.concat());
    server.start().await;
    (server, port)
}

#[test]
fn tls_is_spoken_and_only_a_certificate_that_fits_is_believed() {
    run(async {
        let (ours, stranger) = (Authority::new(), Authority::new());
        let (_server, port) = with_tls(&ours, "localhost").await;
        let trusting = |authority: &Authority| Settings { roots: Roots::Pem(authority.pem()), ..patient() };
        let link = open(&format!("rediss://localhost:{port}"), trusting(&ours)).await;
        for expected in 1..=100 {
            assert_eq!(number(link.call(&count("a")).await.unwrap()), expected);
        }
        for (host, authority, what) in [("127.0.0.1", &ours, "a name"), ("localhost", &stranger, "an issuer")]
        {
            let link = open(&format!("rediss://{host}:{port}"), trusting(authority)).await;
            let error = link.call(&count("a")).await.unwrap_err();
            assert_eq!(error.cause(), Cause::Tls, "{what} that does not fit: {error}");
        }
        let link = open(&format!("redis://localhost:{port}"), patient()).await;
        assert!(link.call(&count("a")).await.is_err(), "without TLS nobody answers");
    });
}

#[test]
fn an_authority_that_changes_while_a_link_serves_is_read_from_its_file() {
    run(async {
        let (old, new) = (Authority::new(), Authority::new());
        let (mut server, port) = with_tls(&old, "localhost").await;
        let trusted = file_of(&server, "trusted");
        fs::write(&trusted, old.pem()).unwrap();
        let settings = Settings { roots: Roots::File(trusted.clone()), ..patient() };
        let link = open(&format!("rediss://localhost:{port}"), settings).await;
        link.call(&count("a")).await.unwrap();
        server.kill();
        new.certify(&server, "localhost");
        server.start().await;
        let trouble = |cause| link.health().trouble.is_some_and(|error| error.cause() == cause);
        until("the new authority is not believed", || trouble(Cause::Tls)).await;
        fs::write(&trusted, b"").unwrap();
        until("that nobody is trusted is named", || trouble(Cause::File)).await;
        let error = link.call(&count("a")).await.unwrap_err().to_string();
        assert!(error.contains("no certificate to trust the store by in /"), "{error}");
        fs::write(&trusted, new.pem()).unwrap();
        until("the new authority is believed", || link.health().up).await;
        link.call(&count("a")).await.unwrap();
    });
}

#[test]
fn certificates_that_cannot_be_read_are_refused_when_the_link_is_opened() {
    run(async {
        let file = |text: &[u8]| {
            let server = Server::new(&[]);
            let path = file_of(&server, "trusted");
            fs::write(&path, text).unwrap();
            (Roots::File(path), Some(server))
        };
        for text in [b"".as_slice(), b"-----BEGIN CERTIFICATE-----\n!!\n-----END CERTIFICATE-----\n"] {
            for (roots, _server) in [(Roots::Pem(text.to_vec()), None), file(text)] {
                let settings = Settings { roots, ..patient() };
                let opened = Link::open("rediss://localhost".parse().unwrap(), settings);
                assert!(matches!(opened, Err(OpenError::Tls(_))));
            }
        }
        let settings = Settings { roots: Roots::File("/no/such/file".into()), ..patient() };
        let error = Link::open("rediss://localhost".parse().unwrap(), settings).map(drop).unwrap_err();
        assert!(error.to_string().contains("by cannot be read: /no/such/file: No such file"), "{error}");
    });
}
