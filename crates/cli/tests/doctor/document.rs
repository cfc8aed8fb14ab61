//! What the document shows is what the command prints, but for numbers and addresses.

use crate::support::{redis, run, tell, url};

/// A line without its numbers, units and address: what is left is ours.
fn shape(line: &str) -> String {
    let line = line.split_whitespace().map(|word| {
        let changes = word.contains("://") || word.contains(|char: char| char.is_ascii_digit());
        if changes { "…" } else { word }
    });
    line.collect::<Vec<_>>().join(" ")
}

#[test]
fn the_document_shows_what_is_printed_for_a_good_server() {
    let document = include_str!("../../../../docs/REDIS.md");
    let (_, rest) =
        document.split_once("```console\n$ tollgate doctor").expect("the document has an example");
    let (shown, _) = rest.split_once("```").expect("it ends");
    let shown: Vec<_> = shown.lines().skip(1).map(shape).collect();
    let (_, rest) = document.split_once("`ACL SETUSER tollgate on").expect("the rights are listed");
    let (rules, _) = rest.split_once('`').expect("they end");
    let (_, rest) =
        document.split_once("`ACL SETUSER tollgate +info").expect("the doctor's rights are listed");
    let (more, _) = rest.split_once('`').expect("they end");
    let server = redis(&["--appendonly", "yes"]);
    for rules in [format!("on{rules}"), format!("+info{more}")] {
        assert_eq!(tell(&server, &format!("ACL SETUSER tollgate {rules}")), "+OK\r\n", "{rules}");
    }
    let secret = server.socket().with_file_name("secret");
    std::fs::write(&secret, "a secret\n").expect("it is written");
    let secret = secret.display().to_string();
    let store = format!("{}?user=tollgate&pass=password", url(&server));
    let ran = run(&["--store", &store], &[("TOLLGATE_STORE_SECRET", &secret)]);
    let printed: Vec<_> = ran.out.lines().map(shape).collect();
    assert_eq!(shown, printed, "{}", ran.out);
    assert_eq!(ran.code, 0);
}
