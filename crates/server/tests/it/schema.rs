//! `tollgate schema`: printed, or written into a folder.

use std::fs;

use tollgate_server::Exit;
use tollgate_server::cli::{SchemaArgs, Which};
use tollgate_server::commands::schema;

use crate::support::Folder;

fn run(which: Option<Which>, write: Option<String>) -> (Exit, String, String) {
    let text = |which: Which| format!("{{\"title\":\"{which:?}\"}}\n");
    let (mut out, mut err) = (Vec::new(), Vec::new());
    let exit =
        schema::run(&SchemaArgs { which, write }, &text, &mut out, &mut err).expect("memory takes all");
    let text = |bytes| String::from_utf8(bytes).expect("it prints UTF-8");
    (exit, text(out), text(err))
}

#[test]
fn one_schema_is_printed() {
    assert_eq!(run(Some(Which::Native), None).1, "{\"title\":\"Native\"}\n");
}

#[test]
fn one_or_all_are_written_into_a_folder_that_is_made() {
    let folder = Folder::new("schemas");
    let (exit, out, _) = run(None, Some(folder.path("new")));
    assert_eq!((exit, out.as_str()), (Exit::Fine, "x-rate-limit.schema.json\ntollgate.schema.json\n"));
    let written = fs::read_to_string(folder.path("new/tollgate.schema.json")).expect("it was written");
    assert_eq!(written, "{\"title\":\"Native\"}\n");
    assert_eq!(run(Some(Which::Limit), Some(folder.path("one"))).1, "x-rate-limit.schema.json\n");
}

#[test]
fn a_folder_that_cannot_be_made_is_told() {
    let folder = Folder::new("schemas-refused");
    let (exit, out, err) = run(None, Some(folder.put("file", b"")));
    assert_eq!((exit, out.as_str()), (Exit::Usage, ""));
    assert!(err.contains("cannot be written"), "{err}");
}
