//! TLS: whom a link trusts and who it is, also if that changes while it serves. Other ways to a server are `addresses.rs`.

use std::fs;
use std::path::PathBuf;

use rcgen::{BasicConstraints, CertificateParams, CertifiedIssuer, DnType, IsCa, KeyPair};
use tollgate_redis::{Cause, Identity, Link, OpenError, Roots, Settings};
use tollgate_testing::server::free_port;

use crate::addresses::{number, open, patient};
use crate::load::count;
use crate::server::Server;
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
        let mut params = CertificateParams::new(vec![name.to_owned()]).unwrap();
        // Another name than the authority's, by which a server would take it for one that signed itself.
        params.distinguished_name.push(DnType::CommonName, name);
        (params.signed_by(&key, &self.0).unwrap().pem(), key.serialize_pem())
    }

    /// Writes a certificate for a client, and its key, into a folder.
    fn identify(&self, at: &Server, name: &str) -> Identity {
        let identity = Identity {
            certificate: file_of(at, &format!("{name}.crt")),
            key: file_of(at, &format!("{name}.key")),
        };
        let (certificate, key) = self.signed(name);
        fs::write(&identity.certificate, certificate).unwrap();
        fs::write(&identity.key, key).unwrap();
        identity
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

/// A server with TLS for this name, and its port; whether it wants certificates of its clients.
async fn with_tls(authority: &Authority, name: &str, clients: &str) -> (Server, u16) {
    let port = free_port("127.0.0.1");
    let mut server = Server::new(&[]);
    authority.certify(&server, name);
    let file = |name: &str| file_of(&server, name).display().to_string();
    let arguments = [
        ["--tls-port".into(), port.to_string()],
        ["--tls-cert-file".into(), file("cert")],
        ["--tls-key-file".into(), file("key")],
        ["--tls-ca-cert-file".into(), file("ca")],
        ["--tls-auth-clients".into(), clients.into()],
    ];
    server.add(arguments.concat());
    server.start().await;
    (server, port)
}

#[test]
fn tls_is_spoken_and_only_a_certificate_that_fits_is_believed() {
    run(async {
        let (ours, stranger) = (Authority::new(), Authority::new());
        let (_server, port) = with_tls(&ours, "localhost", "no").await;
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
        let (mut server, port) = with_tls(&old, "localhost", "no").await;
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
        assert!(error.contains("no CA certificate for the store in /"), "{error}");
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
        assert!(error.to_string().contains("CA file cannot be read: /no/such/file: No such file"), "{error}");
    });
}

/// As a server is that was told nothing about its clients' certificates.
#[test]
fn a_server_that_wants_a_certificate_gets_one_and_says_so_if_there_is_none() {
    run(async {
        let (ours, stranger) = (Authority::new(), Authority::new());
        let (server, port) = with_tls(&ours, "localhost", "yes").await;
        let address = format!("rediss://localhost:{port}");
        let settings = Settings { roots: Roots::Pem(ours.pem()), ..patient() };
        let known = Settings { identity: Some(ours.identify(&server, "gate")), ..settings.clone() };
        let link = open(&address, known).await;
        for expected in 1..=3 {
            assert_eq!(number(link.call(&count("a")).await.unwrap()), expected);
        }
        let unknown = Settings { identity: Some(stranger.identify(&server, "stranger")), ..settings.clone() };
        let rows = [
            (settings, "the server requires a client certificate: set the files"),
            (unknown, "the server rejected the client certificate: "),
        ];
        for (settings, words) in rows {
            let link = open(&address, settings).await;
            let error = link.call(&count("a")).await.unwrap_err();
            assert_eq!(error.cause(), Cause::Certificate, "{error}");
            assert!(error.to_string().contains(words), "{error}");
        }
    });
}

#[test]
fn a_certificate_that_changes_while_a_link_serves_is_read_from_its_files() {
    run(async {
        let (old, new) = (Authority::new(), Authority::new());
        let (mut server, port) = with_tls(&old, "localhost", "yes").await;
        let trusted = file_of(&server, "trusted");
        fs::write(&trusted, [old.pem(), new.pem()].concat()).unwrap();
        let identity = Some(old.identify(&server, "gate"));
        let settings = Settings { roots: Roots::File(trusted), identity, ..patient() };
        let link = open(&format!("rediss://localhost:{port}"), settings).await;
        link.call(&count("a")).await.unwrap();
        server.kill();
        new.certify(&server, "localhost");
        server.start().await;
        let trouble = |cause| link.health().trouble.is_some_and(|error| error.cause() == cause);
        until("the old certificate is not accepted", || trouble(Cause::Certificate)).await;
        let (certificate, key) = new.signed("gate");
        fs::write(file_of(&server, "gate.crt"), certificate).unwrap();
        until("that the key is of another is named", || trouble(Cause::File)).await;
        fs::write(file_of(&server, "gate.key"), key).unwrap();
        until("the new certificate is accepted", || link.health().up).await;
        link.call(&count("a")).await.unwrap();
    });
}

#[test]
fn a_certificate_of_ours_that_cannot_be_used_is_refused_when_the_link_is_opened() {
    run(async {
        let (folder, authority) = (Server::new(&[]), Authority::new());
        let (good, other) = (authority.identify(&folder, "good"), authority.identify(&folder, "other"));
        let nothing = file_of(&folder, "nothing");
        fs::write(&nothing, "").unwrap();
        let (certificate, key) = (good.certificate, good.key);
        let rows = [
            (certificate.clone(), other.key, "does not match the key in"),
            (certificate.clone(), nothing.clone(), "there is no client key in /"),
            (nothing, key.clone(), "there is no client certificate in /"),
            (certificate, "/no/key".into(), "cannot be read: /no/key: "),
            ("/no/certificate".into(), key, "cannot be read: /no/certificate: "),
        ];
        for (certificate, key, words) in rows {
            let (roots, identity) = (Roots::Pem(authority.pem()), Some(Identity { certificate, key }));
            let settings = Settings { roots, identity, ..patient() };
            let error = Link::open("rediss://localhost".parse().unwrap(), settings).map(drop).unwrap_err();
            assert!(matches!(error, OpenError::Tls(_)) && error.to_string().contains(words), "{error}");
        }
    });
}
