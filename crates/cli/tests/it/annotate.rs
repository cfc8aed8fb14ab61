//! `tollgate annotate`: printed, written back, or told why not.

use std::fs;

use crate::support::{Folder, check, run};
use tollgate_cli::Exit;

const PLAIN: &str = "\
openapi: 3.1.0
info: { title: Reports, version: '1' }
x-rate-limit: { algorithm: gcra, capacity: 5, refill_rate: 1 } # of all
paths:
  /reports:
    get:
      responses:
        '200': { description: A list. }
";

#[test]
fn an_annotated_document_is_printed() {
    check("annotate", &["annotate", "tests/documents/plain.yaml"]);
    check("annotate-json", &["annotate", "--format", "json", "tests/documents/plain.yaml"]);
}

#[test]
fn a_document_is_written_back_once() {
    let folder = Folder::new("annotate");
    let file = folder.put("plain.yaml", PLAIN.as_bytes());
    let first = run(&["annotate", "--write", &file]);
    assert_eq!((first.exit, first.err.as_str()), (Exit::Fine, ""));
    assert!(first.out.ends_with("plain.yaml: 429 added to 1 operation\n"), "{}", first.out);
    let written = fs::read_to_string(&file).expect("it is there");
    assert!(written.contains("'429'") && written.contains("# of all"), "{written}");
    let second = run(&["annotate", "--write", &file]);
    assert!(second.out.ends_with("plain.yaml: nothing to add\n"), "{}", second.out);
    assert_eq!(fs::read_to_string(&file).expect("it is there"), written);
}

/// A command that is stopped in the middle leaves the document whole, and a link leads where it led.
#[cfg(unix)]
#[test]
fn a_document_is_replaced_whole_through_a_link_with_its_mode() {
    use std::os::unix::fs::{MetadataExt, PermissionsExt, symlink};
    let folder = Folder::new("replaced");
    let file = folder.put("real.yaml", PLAIN.as_bytes());
    fs::set_permissions(&file, fs::Permissions::from_mode(0o640)).expect("it is ours");
    let (link, before) = (folder.path("link.yaml"), fs::metadata(&file).expect("it is there").ino());
    symlink("real.yaml", &link).expect("a link can be made");
    let ran = run(&["annotate", "--write", &link]);
    assert_eq!((ran.exit, ran.err.as_str()), (Exit::Fine, ""));
    assert!(fs::symlink_metadata(&link).expect("it is there").is_symlink());
    let after = fs::metadata(&file).expect("it is there");
    assert_eq!(after.permissions().mode() & 0o777, 0o640);
    assert_ne!(after.ino(), before, "it is another file, that took the place of the first");
    assert!(fs::read_to_string(&file).expect("it is there").contains("'429'"));
    assert_eq!(fs::read_dir(folder.path(".")).expect("it is there").count(), 2, "nothing is left behind");
}

#[test]
fn what_cannot_be_annotated_is_told() {
    check("annotate-native", &["annotate", "tests/documents/gateway.yaml"]);
    check("annotate-unreadable", &["annotate", "none.yaml"]);
    check("annotate-standard-input", &["annotate", "--write", "-"]);
    let ran = run(&["annotate", "tests/documents/bad.yaml"]);
    assert_eq!((ran.exit, ran.out.as_str()), (Exit::Findings, ""));
    assert!(ran.err.contains("error[same-name]"), "{}", ran.err);
}
