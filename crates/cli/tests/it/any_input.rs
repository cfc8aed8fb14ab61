//! Documents with anything in them: whatever is drawn of them, nothing panics, and no text of theirs moves the cursor.

use std::fs;

use crate::support::{Folder, Ran, run};
use tollgate_cli::Exit;
use tollgate_testing::random::Random;

/// A seed is a run.
struct Dice(Random);

impl Dice {
    fn roll(&mut self, sides: usize) -> usize {
        let sides = u64::try_from(sides.max(1)).expect("it is small");
        usize::try_from(self.0.below(sides)).expect("it is smaller")
    }
}

/// What is put into documents: what breaks grammars, lines, widths and terminals.
const ODD: &[&str] = &[
    "\t",
    "\r\n",
    "\r",
    "\n",
    "\u{feff}",
    "\u{202e}",
    "ä",
    "漢字",
    "👩‍👩‍👧",
    "\u{301}",
    "\x1b[2J",
    "\u{9b}31m",
    "\0",
    "&a",
    "*a",
    "\"",
    "'",
    "{",
    "}",
    "[",
    "]",
    ":",
    "- ",
    "none",
    "-1",
    "1e9",
    "x-rate-limit: {}\n",
    "%",
    "$ref: '#/'\n",
    "|\n",
    "# tollgate-allow no-limit: x\n",
    " # tollgate-allow ",
];

/// The document with a few cuts, copies and odd texts.
fn changed(text: &str, dice: &mut Dice) -> String {
    let mut chars: Vec<char> = text.chars().collect();
    for _ in 0..=dice.roll(4) {
        let at = dice.roll(chars.len());
        let length = dice.roll(12).min(chars.len() - at);
        match dice.roll(3) {
            0 => drop(chars.drain(at..at + length)),
            1 => drop(chars.splice(at..at, ODD[dice.roll(ODD.len())].chars().collect::<Vec<_>>())),
            _ => {
                let copied = chars[at..at + length].to_vec();
                let to = dice.roll(chars.len());
                drop(chars.splice(to..to, copied));
            }
        }
    }
    chars.into_iter().collect()
}

#[test]
fn no_document_makes_lint_panic_or_moves_the_cursor() {
    let folder = Folder::new("any-input");
    let originals = ["bad.yaml", "good.yaml", "gateway.yaml", "reference.yaml"]
        .map(|name| fs::read_to_string(format!("tests/documents/{name}")).expect("it is there"));
    for name in ["consumers.csv", "reference.part.yaml"] {
        folder.put(name, &fs::read(format!("tests/documents/{name}")).expect("it is there"));
    }
    let mut ends = [0; 3];
    for seed in 1..=700_u64 {
        let mut dice = Dice(Random::case(0, seed));
        let original = &originals[dice.roll(originals.len())];
        let text = changed(original, &mut dice);
        let Ran { exit, out, err } = run(&["lint", &folder.put("any.yaml", text.as_bytes())]);
        let moves = |char: char| (char.is_control() && char != '\n') || char == '\u{202e}';
        assert!(!out.contains(moves), "seed {seed}: {:?}\n{text}", out.chars().find(|char| moves(*char)));
        assert_eq!(err, "", "seed {seed}");
        ends[usize::from(exit.code())] += 1;
    }
    // Not all the same: some changes break nothing.
    assert!(ends[0] > 10 && ends[1] > 100 && ends[2] == 0, "{ends:?}");
}

#[test]
fn no_request_makes_explain_panic() {
    for seed in 1..=700_u64 {
        let mut dice = Dice(Random::case(0, seed));
        let document = ["tests/documents/good.yaml", "tests/documents/gateway.yaml"][dice.roll(2)];
        let original =
            ["POST /v1/reports/generate?a=b", "GET /v1/reports/7", "GET /files/a/b", "POST /reports"];
        let request = changed(original[dice.roll(4)], &mut dice).replace('\0', "0");
        let header = changed("X-API-Key: key", &mut dice).replace('\0', "0");
        let Ran { exit, out, err } = run(&["explain", document, &request, &format!("--header={header}")]);
        assert!(exit != Exit::Findings && out.is_empty() != err.is_empty(), "seed {seed}: {request:?}");
        let moves = |char: char| (char.is_control() && char != '\n') || char == '\u{202e}';
        assert!(!out.contains(moves) && !err.contains(moves), "seed {seed}: {request:?}\n{out:?}{err:?}");
    }
}
