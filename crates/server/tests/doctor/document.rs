//! What the document shows is what the command prints, but for numbers and addresses.

use crate::support::{redis, run, url};

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
    let server = redis(&["--appendonly", "yes", "--user", "default on >password ~tg1:* +@all"]);
    let ran = run(&["--store", &format!("{}?pass=password", url(&server))], &[]);
    let printed: Vec<_> = ran.out.lines().map(shape).collect();
    assert_eq!(shown, printed, "{}", ran.out);
}
