//! `tollgate import`: the policy, what could not be converted, and that the policy is one.

use tollgate_cli::Exit;

use crate::support::{Folder, check, run};

const FILES: [(&str, &str); 3] =
    [("envoy", "envoy.yaml"), ("limitador", "limitador.yaml"), ("nginx", "nginx.conf")];

#[test]
fn limits_of_other_software_become_a_policy() {
    for (from, file) in FILES {
        let file = format!("tests/documents/import/{file}");
        check(&format!("import-{from}"), &["import", "--from", from, &file]);
    }
}

#[test]
fn what_is_printed_has_no_errors() {
    for (from, file) in FILES {
        let printed = run(&["import", "--from", from, &format!("tests/documents/import/{file}")]).out;
        let folder = Folder::new("import");
        let policy = folder.put("tollgate.yaml", printed.as_bytes());
        let linted = run(&["lint", &policy]);
        assert!(
            linted.out.contains("no errors"),
            "{printed}
{}{}",
            linted.out,
            linted.err
        );
    }
}

#[test]
fn a_file_with_errors_becomes_nothing() {
    let folder = Folder::new("import");
    for (from, text, error) in [
        ("envoy", "domain: a\ndescriptors: [{ kee: b }]\n", ":2:17: error: a descriptor has no field `kee`"),
        ("limitador", "- { namespace: a }\n", "this limit has no `max_value`"),
        ("nginx", "http {\n", ":1: error: the block of `http` has no end"),
    ] {
        let file = folder.put("file", text.as_bytes());
        let ran = run(&["import", "--from", from, &file]);
        assert_eq!((ran.exit, ran.out.as_str()), (Exit::Findings, ""));
        assert!(ran.err.contains(error), "{}", ran.err);
    }
    let ran = run(&["import", "--from", "nginx", &folder.path("none")]);
    assert_eq!(ran.exit, Exit::Usage);
}
