//! `tollgate schema`: printed, or written into a folder.

use std::fs;

use serde_json::Value;
use tollgate_cli::Exit;

use crate::support::{Folder, check, run};

#[test]
fn each_schema_is_printed_as_json() {
    for (which, title) in [("limit", "x-rate-limit"), ("native", "tollgate.yaml")] {
        let ran = run(&["schema", which]);
        assert_eq!((ran.exit, ran.err.as_str()), (Exit::Fine, ""));
        let schema: Value = serde_json::from_str(&ran.out).expect("it is JSON");
        assert_eq!(schema["title"], title);
        assert_eq!(schema["$schema"], "https://json-schema.org/draft/2020-12/schema");
    }
}

#[test]
fn one_or_all_are_written_into_a_folder_that_is_made() {
    let folder = Folder::new("schemas");
    let all = run(&["schema", "--write", &folder.path("new")]);
    assert_eq!(all.exit, Exit::Fine);
    let names: Vec<_> = all.out.lines().collect();
    assert!(names.starts_with(&["x-rate-limit.schema.json", "tollgate.schema.json"]), "{names:?}");
    let written = fs::read_to_string(folder.path("new/tollgate.schema.json")).expect("it was written");
    assert_eq!(written, run(&["schema", "native"]).out);
    let one = run(&["schema", "limit", "--write", &folder.path("one")]);
    assert_eq!(one.out, "x-rate-limit.schema.json\n");
    assert_eq!(fs::read_dir(folder.path("one")).expect("it was made").count(), 1);
}

#[test]
fn what_cannot_be_printed_or_written_is_told() {
    check("schema-nothing", &["schema"]);
    let folder = Folder::new("schemas-refused");
    let ran = run(&["schema", "--write", &folder.put("file", b"")]);
    assert_eq!((ran.exit, ran.out.as_str()), (Exit::Usage, ""));
    assert!(ran.err.contains("/file is not a folder"), "{}", ran.err);
}
