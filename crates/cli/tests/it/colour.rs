//! Colours: what is printed with them is the same text as without.

use crate::support::{plain, run, run_coloured};

#[test]
fn colours_change_nothing_but_the_colour() {
    let commands: [&[&str]; 4] = [
        &["lint", "tests/documents/bad.yaml"],
        &["explain", "tests/documents/good.yaml", "GET /v1/search"],
        &["diff", "tests/documents/good.yaml", "tests/documents/changed.yaml"],
        &["--help"],
    ];
    for args in commands {
        let (coloured, without) = (run_coloured(args), run(args));
        assert!(coloured.out.contains("\x1b["), "{args:?} has no colour");
        assert!(!without.out.contains('\x1b'), "{args:?} has colour");
        assert_eq!(plain(&coloured.out), without.out);
    }
}

#[test]
fn formats_for_programs_have_no_colour() {
    for format in ["json", "sarif", "github"] {
        let ran = run_coloured(&["lint", "--format", format, "tests/documents/bad.yaml"]);
        assert!(!ran.out.contains('\x1b'), "{format}");
    }
    for format in ["json", "markdown", "codeowners"] {
        let documents = ["tests/documents/good.yaml", "tests/documents/changed.yaml"];
        let ran = run_coloured(&["diff", "--format", format, documents[0], documents[1]]);
        assert!(!ran.out.contains('\x1b'), "{format}");
    }
}

#[test]
fn errors_are_red_and_underlined_where_they_are() {
    let ran = run_coloured(&["lint", "tests/documents/bad.yaml"]);
    assert!(ran.out.contains("\x1b[1m\x1b[91merror"), "{:?}", ran.out.lines().next());
}
