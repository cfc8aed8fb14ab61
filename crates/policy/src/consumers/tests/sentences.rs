//! One sentence for each thing that can be wrong with a consumers file, at its place. Limits are elsewhere.

use super::{hash, load};

/// What is wrong, the file, and how its errors begin. In the file `{a}` and `{b}` stand for the hashes of two keys, `{A}` for
/// the first in capitals, `{half}` for another with the same first half, `{nothing}` for the hash of an empty key.
const CASES: &[(&str, &str, &[&str])] = &[
    ("no file", "", &["line 1, column 1: The file has no lines to read."]),
    ("only comments", "# x\n\n", &["line 2, column 1: The file has no lines to read."]),
    (
        "no header",
        "{a},acme\n",
        &[
            "line 1, column 1: There is no",
            "line 1, column 1: The first line must",
            "line 1, column 66: There is no",
        ],
    ),
    (
        "an unknown column",
        "key_sha256,consumer,teir\n{a},x,\n,x,\n",
        &[
            "line 1, column 21: There is no column of this name. Did you mean `tier`?",
            "line 3, column 1: This is not a SHA-256",
        ],
    ),
    (
        "a column twice",
        "key_sha256,consumer,consumer\n{a},x,x\n",
        &["line 1, column 21: This column is named twice"],
    ),
    (
        "a column missing",
        "key_sha256,tier\n{a},x\nnonsense\n",
        &["line 1, column 1: The first line must name"],
    ),
    ("a key in clear", "consumer,key_sha256\né,sk_live_4242\n", &["line 2, column 3: This is not a SHA-256"]),
    (
        "a hash of nothing",
        "key_sha256,consumer\n{nothing},x\n",
        &["line 2, column 1: This is the SHA-256 of nothing"],
    ),
    (
        "a key twice",
        "consumer,key_sha256\nx,{a}\ny,{b}\nzz,{A}\n",
        &["line 4, column 4: Line 2 has the same key"],
    ),
    (
        "a key three times",
        "key_sha256,consumer\n{a},x\n{a},x\n{a},x\n",
        &["line 3, column 1: Line 2 has the same key", "line 4, column 1: Line 3 has the same key"],
    ),
    (
        "half a hash twice",
        "key_sha256,consumer\n{a},x\n{half},y\n",
        &["line 3, column 1: Line 2 has a hash with the same first half"],
    ),
    (
        "two tiers",
        "key_sha256,consumer,tier\n{a},x,gold\n{b},x,silver\n",
        &["line 3, column 68: The consumer \"x\" has another tier on line 2"],
    ),
    (
        "a tier and none",
        "key_sha256,consumer,tier\n{a},x,gold\n{b},x,\n",
        &["line 3, column 68: The consumer \"x\" has another tier on line 2"],
    ),
    (
        "two organisations",
        "key_sha256,consumer,organisation\n{a},x,1\n{b},x,2\n",
        &["line 3, column 68: The consumer \"x\" has another organisation on line 2"],
    ),
    (
        "two overrides",
        "key_sha256,consumer,overrides\n{a},x,1\n{b},x,2\n",
        &["line 3, column 68: The consumer \"x\" has another text of overrides on line 2"],
    ),
    (
        "no name",
        "key_sha256,consumer\n{a}, \n{b},\"\"\n",
        &[
            "line 2, column 67: The name of the consumer is empty",
            "line 3, column 66: The name of the consumer is empty",
        ],
    ),
    (
        "a cell too few",
        "key_sha256,consumer,tier\n{a},x\n",
        &["line 2, column 1: This line has 2 cells, but the header line names 3"],
    ),
    (
        "a cell too many",
        "key_sha256,consumer\n{a},x,\n",
        &["line 2, column 1: This line has 3 cells, but the header line names 2"],
    ),
    (
        "a line break in quotes",
        "key_sha256,consumer\n{a},\"x\ny\"\n",
        &["line 2, column 66: A quote is opened here", "line 3, column 2: A quote stands inside"],
    ),
    ("a quote in the header", "key_sha256,con\"sumer\n", &["line 1, column 15: A quote stands inside"]),
    ("a tab", "key_sha256,consumer\n{a},x\ty\n", &["line 2, column 67: A tab or another control"]),
    (
        "a hidden character",
        "key_sha256,consumer\n{a},x\u{85}y\n",
        &["line 2, column 67: A tab or another control"],
    ),
    (
        "several in one line",
        "key_sha256,consumer\nclear,\n",
        &["line 2, column 1: This is not a SHA-256", "line 2, column 7: The name of the consumer is empty"],
    ),
];

#[test]
fn what_is_wrong_is_said_with_its_place() {
    let (a, b) = (&hash("a"), &hash("b"));
    let half = a[..32].to_owned() + &b[..32];
    for (what, file, wanted) in CASES {
        let file = file.replace("{a}", a).replace("{b}", b).replace("{A}", &a.to_uppercase());
        let file = file.replace("{half}", &half).replace("{nothing}", &hash(""));
        let errors = load(&file).expect_err(what);
        assert_eq!(errors.len(), wanted.len(), "{what}: {errors:#?}");
        for (error, wanted) in errors.iter().zip(*wanted) {
            assert!(error.starts_with(wanted), "{what}: {error}");
            assert!(!error.contains("4242") && !error.contains(a), "{what}: a key is repeated: {error}");
        }
    }
}
