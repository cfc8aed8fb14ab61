//! A password in a file, which changes while a link serves: it recovers without being opened again. Certificates are `tls.rs`.

use std::fs;
use std::path::PathBuf;

use tollgate_redis::{Cause, Link, OpenError, Settings};

use crate::addresses::{open, patient};
use crate::load::count;
use crate::server::Server;
use crate::support::{run, until};

/// A server, a file with a password, and a link that goes by it.
struct Stage {
    /// Its folder has the file.
    _server: Server,
    operator: redis::Connection,
    file: PathBuf,
    link: Link,
}

impl Stage {
    /// One as which the server is told these words first.
    async fn set(words: &[&str], user: &str, password: &str) -> Self {
        let server = Server::started(&[]).await;
        let mut operator = server.operator();
        tell(&mut operator, words);
        let file = server.directory().join("password");
        fs::write(&file, password).unwrap();
        let settings = Settings { password: Some(file.clone()), ..patient() };
        let link = open(&format!("unix://{}{user}", server.socket().display()), settings).await;
        link.call(&count("a")).await.expect("the password is sent");
        Self { _server: server, operator, file, link }
    }

    /// Cuts the link's connection.
    fn cut(&mut self) {
        tell(&mut self.operator, &["CLIENT", "KILL", "TYPE", "normal", "SKIPME", "yes"]);
    }

    async fn fails(&self, cause: Cause) -> String {
        let is_so = || self.link.health().trouble.is_some_and(|error| error.cause() == cause);
        until(&format!("there is no connection because of {cause:?}"), is_so).await;
        let (_, failed) = self.link.health().connections_failed[cause as usize];
        assert!(failed > 0, "{cause:?} is counted");
        self.link.call(&count("a")).await.expect_err("there is no connection").to_string()
    }

    async fn recovers(&self) {
        until("the link is up again", || self.link.health().up).await;
        self.link.call(&count("a")).await.expect("it serves");
    }
}

fn tell(operator: &mut redis::Connection, words: &[&str]) {
    redis::cmd(words[0]).arg(&words[1..]).exec(operator).unwrap_or_else(|error| panic!("{words:?}: {error}"));
}

#[test]
fn a_password_that_changes_while_a_link_serves_is_read_from_its_file() {
    let rows: [(&[&str], &[&str], &str); 2] = [
        (
            &["ACL", "SETUSER", "gate", "on", ">old", "~*", "+@all"],
            &["ACL", "SETUSER", "gate", "resetpass", ">new"],
            "?user=gate",
        ),
        (&["CONFIG", "SET", "requirepass", "old"], &["CONFIG", "SET", "requirepass", "new"], ""),
    ];
    for (begin, change, user) in rows {
        run(async {
            let mut stage = Stage::set(begin, user, "old\n").await;
            tell(&mut stage.operator, change);
            stage.link.call(&count("a")).await.expect("who is in stays in");
            stage.cut();
            stage.fails(Cause::WrongPass).await;
            fs::write(&stage.file, "  new\r\n").unwrap();
            stage.recovers().await;
        });
    }
}

#[test]
fn a_file_that_cannot_be_read_any_more_is_named_and_tried_again() {
    run(async {
        let mut stage = Stage::set(&["CONFIG", "SET", "requirepass", "pw"], "", "pw").await;
        fs::remove_file(&stage.file).unwrap();
        stage.cut();
        let error = stage.fails(Cause::File).await;
        let file = stage.file.display().to_string();
        let start = "no connection to the store (file): the store password file cannot be read: ";
        assert!(error.starts_with(&format!("{start}{file}: ")), "{error}");
        fs::write(&stage.file, "\n").unwrap();
        until("that there is none in it is named", || {
            let trouble = stage.link.health().trouble.map(|error| error.to_string());
            trouble.is_some_and(|told| told.contains("the store password file is empty: "))
        })
        .await;
        fs::write(&stage.file, "pw").unwrap();
        stage.recovers().await;
    });
}

#[test]
fn there_is_one_password_where_there_should_be_one_when_a_link_is_opened() {
    run(async {
        let folder = Server::new(&[]);
        let file = |name: &str, bytes: &[u8]| {
            let path = folder.directory().join(name);
            fs::write(&path, bytes).unwrap();
            Some(path)
        };
        let rows = [
            (
                "redis://h",
                Some(PathBuf::from("/no/such/file")),
                "the store password file cannot be read: /no/such/file: ",
            ),
            ("redis://h", file("empty", b" \n"), "the store password file is empty: "),
            ("redis://h", file("bytes", b"\xff"), "is not UTF-8"),
            (
                "redis://u:hunter2@h",
                file("good", b"hunter3"),
                "both the store address and a file have a password",
            ),
            ("redis://u@h", None, "has a user without a password: write `user:password@`, or set the file"),
        ];
        for (address, password, words) in rows {
            let settings = Settings { password, ..patient() };
            let error = Link::open(address.parse().unwrap(), settings).map(drop).unwrap_err();
            assert!(matches!(error, OpenError::Password(_)), "{error:?}");
            assert!(error.to_string().contains(words) && !error.to_string().contains("hunter"), "{error}");
        }
    });
}
