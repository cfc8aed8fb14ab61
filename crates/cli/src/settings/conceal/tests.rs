//! What is concealed of documents, and what is left.

use super::conceal;

const SECRET: &str = "hunter2";

/// A document whose section `serve` has these lines.
fn with(lines: &str) -> String {
    format!("tollgate: 1\nserve:\n{lines}routes: []\n")
}

#[test]
fn passwords_of_urls_are_concealed_in_any_document_and_places_stay() {
    for (text, shown) in [
        ("  url: redis://ada:hün@ter@host # x", "  url: redis://************@host # x"),
        ("  url: unix:///run/x?pass=hunter2&db=1", "  url: unix:///run/x?pass=*******&db=1"),
        ("  url: http://plain.example", "  url: http://plain.example"),
        (
            r#"{"a":"http://b","c":"http://x:y@z","d":"e@f"}"#,
            r#"{"a":"http://b","c":"http://***@z","d":"e@f"}"#,
        ),
    ] {
        assert_eq!(conceal(text), shown);
        assert_eq!(conceal(text).len(), text.len());
    }
}

#[test]
fn secrets_of_settings_are_concealed_however_they_are_written() {
    let lines = [
        "  store: { url: 'redis://:hunter2@host' }\n",
        "  store: { url: 'redis://:hunter2' }\n",
        "  store: { url: hunter2 }\n",
        "  store: { url: \"redis://:hunter2\\u0001@host\" }\n",
        "  store:\n    url: >-\n      redis://:\n      hunter2\n      @host\n",
        "  store:\n    url: redis://:\n      hunter2\n      @host\n",
        "  store:\n    url: \"redis://:a\n      hunter2@host\"\n",
        "  store: redis://:hunter2@host\n",
        "  store: [hunter2]\n",
        "  store: { url: { password: hunter2 } }\n",
        "  store: { url: &u 'redis://:hunter2', key: *u }\n",
        "  store: { password: hunter2 }\n",
        "  store: { password:hunter2 }\n",
        "  store: { pasword: hunter2 }\n",
        "  store: { password: !hunter2 }\n",
        "  store: { password: &hunter2 }\n",
        "  store:\n    password: !hunter2\n",
        "  store:\n    password: *hunter2\n",
        "  store:\n    password: @hunter2\n",
        "  store: { url: \"redis://:hunter2@host }\n",
        "  stor: { password: hunter2 }\n",
        "  tls:\n    key: |\n      -----BEGIN PRIVATE KEY-----\n      hunter2\n      -----END PRIVATE KEY-----\n",
        "  tls:\n    certificate: \"-----BEGIN PRIVATE KEY-----\\nhunter2\"\n",
        "  upstream: { url: 'http://ada:hunter2@host' }\n",
        "  upstream: { url: 'http://ada:hunter2' }\n",
        "  upstream: http://host?hunter2\n",
        "  # password: hunter2\n  memory: 1 GiB\n",
        "  memory: 1 GiB # store: hunter2\n",
        "store: { password: hunter2 }\n",
        "serv: { store: { password: hunter2 } }\n",
    ];
    for lines in lines {
        let text = with(lines);
        assert!(text.contains(SECRET));
        let shown = conceal(&text);
        assert!(!shown.contains(SECRET), "{shown}");
        assert_eq!(shown.len(), text.len());
        assert_eq!(shown.lines().count(), text.lines().count());
        assert!(shown.ends_with("routes: []\n"), "{shown}");
    }
}

#[test]
fn what_is_no_secret_is_left() {
    for lines in [
        "  store: { url: 'redis://localhost:6379/2', ca: ca.pem, budget: 25ms, password: none }\n",
        "  store: { url: memory }\n  timeouts: { heder: 5s }\n",
        "  upstream: { url: 'http://[::1]:80/v1', protocol: auto }\n  tls: { certificate: a/b.pem }\n",
        "  upstream: { url: api.example.org }\n",
    ] {
        let text = with(lines);
        assert_eq!(conceal(&text), text);
    }
    let minified =
        r#"{"tollgate":1,"serve":{"store":{"url":"redis://:x@h","budget":"1s"}},"routes":[],"x":"a #b"}"#;
    assert_eq!(conceal(minified), minified.replace(":x@", "**@"));
}
