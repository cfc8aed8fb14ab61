//! The grammar of settings: what is read, how it is written again, and what is said of the rest.

use std::collections::HashSet;

use tollgate_policy::{Findings, Sources};

use super::{Kind, list, parse};
use crate::settings::Setting;
use crate::settings::config_file::ConfigFile;
use crate::settings::value::Value;

#[test]
fn every_setting_has_a_path_a_variable_and_a_sentence_of_its_own() {
    let all = Setting::all();
    assert!(all.len() > 30);
    let paths: HashSet<_> = all.iter().map(|setting| setting.path.as_str()).collect();
    let variables: HashSet<_> = all.iter().map(Setting::variable).collect();
    assert_eq!((paths.len(), variables.len()), (all.len(), all.len()));
    for setting in &all {
        assert!(setting.about.ends_with('.'), "{}", setting.path);
    }
}

#[test]
fn values_are_read_and_written_again_as_they_are_best_read() {
    const WORDS: Kind = Kind::Word(&["draft", "triple"]);
    let table: [(Kind, &str, &str); 26] = [
        (Kind::Flag, "true", "true"),
        (Kind::Whole(0, 9), "7", "7"),
        (Kind::Bytes(0, u64::MAX), "65536", "64 KiB"),
        (Kind::Bytes(0, u64::MAX), "1024 MiB", "1 GiB"),
        (Kind::Bytes(0, u64::MAX), "1000", "1000"),
        (Kind::Bytes(0, u64::MAX), "0", "0"),
        (Kind::Time, "10s", "10s"),
        (Kind::Time, "90 seconds", "90s"),
        (Kind::Time, "1 day", "24h"),
        (Kind::Time, "1500ms", "1500ms"),
        (Kind::Time, "7us", "7us"),
        (WORDS, "triple", "triple"),
        (Kind::Token, "gateway-1", "gateway-1"),
        (Kind::File, "/etc/a b.pem", "'/etc/a b.pem'"),
        (Kind::File, "it's", "'it''s'"),
        (Kind::File, "null", "'null'"),
        (Kind::File, "a\u{1}\"", "\"a\\u0001\\\"\""),
        (Kind::Address, "localhost:80", "127.0.0.1:80"),
        (Kind::Address, "[::1]:0", "'[::1]:0'"),
        (Kind::Origin, "https://API.example.org", "https://api.example.org:443"),
        (Kind::Origin, "http://127.0.0.1:9000/", "http://127.0.0.1:9000"),
        (Kind::Origin, "h2c://[2001:DB8::1]:50051", "'h2c://[2001:db8::1]:50051'"),
        (Kind::Or("none", &Kind::Time), "none", "none"),
        (Kind::Or("none", &Kind::Time), "60s", "1m"),
        (Kind::List(&WORDS, 2), "draft, triple", "[draft, triple]"),
        (Kind::List(&WORDS, 2), "draft", "[draft]"),
    ];
    for (kind, text, written) in table {
        let value = parse(kind, text).unwrap_or_else(|why| panic!("{text} {why}"));
        assert_eq!(value.to_string(), written);
        let plain = written.trim_matches(['[', ']', '\'', '"']);
        if !written.contains(['\\', '\'']) {
            assert_eq!(parse(kind, plain), Ok(value), "{written} is not what it was");
        }
    }
}

#[test]
fn what_is_wrong_is_said_with_what_would_be_right() {
    const WORDS: Kind = Kind::Word(&["draft", "triple"]);
    let table = [
        (Kind::Flag, "yes", "is neither `true` nor `false`"),
        (Kind::Whole(1, 9), "0", "is too little: write at least 1"),
        (Kind::Whole(1, 9), "10", "is too much: write at most 9"),
        (Kind::Bytes(1024, 1 << 20), "1", "is too little: write at least 1 KiB"),
        (Kind::Bytes(0, 1 << 20), "2 MiB", "is too much: write at most 1 MiB"),
        (Kind::Time, "0s", "is no time at all: nothing could be done in it"),
        (Kind::Time, "8 days", "is longer than 7 days"),
        (Kind::Time, "10", "has no unit: write `10s` for seconds"),
        (Kind::Or("none", &Kind::Time), "off", "is not known here: write `none`"),
        (WORDS, "x", "is not known here: write one of draft, triple"),
        (Kind::Token, "a b", "is not one word: write letters, digits, `-`, `.` and `_`"),
        (Kind::File, "", "is not the name of a file"),
        (Kind::List(&WORDS, 2), "draft,draft", "has `draft` twice"),
        (Kind::List(&Kind::Flag, 1), "true,false", "has 2 entries, and may have at most 1"),
        (
            Kind::Address,
            ":8080",
            "has no address: write `127.0.0.1:8080` for this machine, or `0.0.0.0:8080` for every one that can reach it",
        ),
        (
            Kind::Address,
            "8080",
            "has no address: write `127.0.0.1:8080` for this machine, or `0.0.0.0:8080` for every one that can reach it",
        ),
        (Kind::Address, "10.0.0.1", "has no port: write it such as `10.0.0.1:8080`"),
        (Kind::Address, "2001:db8::1", "has no port: write it such as `[2001:db8::1]:8080`"),
        (
            Kind::Address,
            "api.example.org:80",
            "has a name, and names are not looked up here: write an address such as `127.0.0.1:80`, or `localhost`",
        ),
        (
            Kind::Address,
            "127.0.0.1:99999",
            "is not an address and a port: write them such as `127.0.0.1:8080` or `[::1]:8080`",
        ),
        (
            Kind::Address,
            "127.0.0.1:080",
            "is not an address and a port: write them such as `127.0.0.1:8080` or `[::1]:8080`",
        ),
        (Kind::Origin, "127.0.0.1:9000", "has no scheme: write `http://127.0.0.1:9000`, or `https://`"),
        (
            Kind::Origin,
            "ws://a",
            "has an unknown scheme `ws`: write `http://`, `https://`, or `h2c://` for HTTP/2 without TLS",
        ),
        (Kind::Origin, "http://a:1/v1", "has a path, and requests keep their own: write `http://a:1`"),
        (
            Kind::Origin,
            "http://a?b",
            "The upstream's URL has a query, and requests keep their own: leave it out",
        ),
        (
            Kind::Origin,
            "http://me:secret@a",
            "The upstream's URL has a user name before `@`, and none is sent: leave it out",
        ),
        (Kind::Origin, "http://", "cannot be used: the host is empty: send its name"),
        (
            Kind::Origin,
            "http://a:0",
            "cannot be used: the host has an invalid port: write a number from 1 to 65535",
        ),
    ];
    for (kind, text, said) in table {
        assert_eq!(parse(kind, text), Err(said.to_owned()), "{text}");
    }
}

#[test]
fn lists_are_bounded_and_other_values_are_none() {
    let flag = |flag| Value::Flag(flag);
    assert_eq!(list(Kind::Flag, vec![flag(true)]), Ok(flag(true)));
    assert_eq!(list(Kind::Flag, vec![flag(true), flag(false)]), Err("is one value, and no list".into()));
    assert_eq!(list(Kind::List(&Kind::Flag, 2), Vec::new()), Err("names nothing: write at least one".into()));
}

/// Any text at every setting: an answer, and what is read is what was written.
#[test]
fn any_text_is_answered_and_what_is_read_is_stable() {
    const PARTS: [&str; 22] = [
        "0",
        "10",
        "s",
        "ms",
        " KiB",
        "none",
        "auto",
        ",",
        "http://",
        "h2c://",
        "[::1]",
        ":",
        "127.0.0.1",
        "/",
        "@",
        "true",
        "draft",
        "ä",
        "\u{0}",
        "-",
        " ",
        "localhost",
    ];
    let settings = Setting::all();
    let mut dice = tollgate_testing::dice::Dice::new(5);
    let mut read = 0;
    for _ in 0..20_000 {
        let text: String = (0..dice.below(4)).map(|_| dice.pick(&PARTS)).collect();
        for setting in &settings {
            let Ok(value) = setting.parse(&text) else { continue };
            read += 1;
            // The name of a file may have brackets.
            let is_of_files = |value: &Value| matches!(value, Value::List(items) if matches!(items[..], [Value::Text(_), ..]));
            if !matches!(value, Value::Text(_)) && !is_of_files(&value) {
                let written = value.to_string().replace('\'', "");
                let again = setting.parse(written.trim_start_matches("[").trim_end_matches(']'));
                let again = again.or_else(|_| setting.parse(&written));
                assert_eq!(again, Ok(value), "{}: {text} is written {written}", setting.path);
            }
        }
    }
    assert!(read > 10_000, "only {read} texts are values");
}

#[test]
fn a_file_says_what_it_is_and_what_it_holds() {
    let read = |text: &str| {
        let (mut sources, mut findings) = (Sources::default(), Findings::default());
        let file = ConfigFile::read("etc/tollgate.yaml", text, &mut sources, &mut findings);
        (file, findings.lines(&sources))
    };
    let (file, said) = read("tollgate: 1\nserve: { tls: { key: key.pem }, memory: lots }\nroutes: []\n");
    let file = file.expect("its grammar is right");
    assert_eq!(said.len(), 1, "{said:?}");
    assert!(said[0].starts_with("etc/tollgate.yaml:2:41: error: `memory: lots` "), "{said:?}");
    let written = file.serve.expect("it has the section");
    let values: Vec<_> = written.iter().map(|of| (of.path.as_str(), of.value.as_ref())).collect();
    assert_eq!(values, [("tls.key", Some(&Value::Text("etc/key.pem".into()))), ("memory", None)]);
    assert_eq!(file.policy.map(|(field, _)| field), Some("routes"));
    let (file, said) = read("tollgate: 1\n");
    assert_eq!((file.map(|file| (file.native, file.serve.is_some())), said.len()), (Some((true, false)), 0));
    let (file, said) = read("openapi: 3.1.0\nserve: 5\n");
    assert_eq!((file.map(|file| (file.native, file.serve.is_some())), said.len()), (Some((false, false)), 0));
    assert!(read("colour: red").0.is_none());
    assert_eq!(read("a: [").1.len(), 1);
}
