//! Tokens: which are right, which files are, and what is said of the others.

use tollgate_testing::folder;

use super::*;

const TOKEN: &str = "0123456789abcdef";

fn endpoint(tokens: Option<String>) -> Endpoint {
    Endpoint { tokens, ..Endpoint::default() }
}

#[test]
fn without_a_file_everybody_may() {
    let access = Access::load("api", &endpoint(None), &mut FileHashes::default()).unwrap();
    assert_eq!(access.check(None), Ok(()));
    assert_eq!(access.check(Some(b"anything")), Ok(()));
}

#[test]
fn every_token_of_the_file_is_right_and_no_other() {
    let folder = folder::Folder::new("tokens");
    let file = folder.at().join("tokens");
    std::fs::write(&file, format!("# old\n{TOKEN}\n\r\n  # new\n{TOKEN}-2\r\n")).unwrap();
    let name = file.display().to_string();
    let access = Access::load("api", &endpoint(Some(name)), &mut FileHashes::default()).unwrap();
    assert_eq!(access.check(Some(TOKEN.as_bytes())), Ok(()));
    assert_eq!(access.check(Some(b"0123456789abcdef-2")), Ok(()));
    assert_eq!(access.check(None), Err(Denied::NoToken));
    for wrong in ["", "# old", "0123456789abcde", "0123456789abcdef ", "0123456789ABCDEF", &"x".repeat(600)] {
        assert_eq!(access.check(Some(wrong.as_bytes())), Err(Denied::WrongToken), "{wrong:?}");
    }
    // A token that is removed is wrong from then on; a file that is wrong changes nothing.
    std::fs::write(&file, format!("{TOKEN}-2\n")).unwrap();
    assert_eq!(access.reload(&mut FileHashes::default()), Ok(true));
    assert_eq!(access.check(Some(TOKEN.as_bytes())), Err(Denied::WrongToken));
    std::fs::write(&file, "short\n").unwrap();
    assert!(access.reload(&mut FileHashes::default()).unwrap_err().contains(":1: a token has 16 to 512"));
    assert_eq!(access.check(Some(b"0123456789abcdef-2")), Ok(()));
    std::fs::remove_file(&file).unwrap();
    assert!(access.reload(&mut FileHashes::default()).unwrap_err().contains("does not exist"));
    assert_eq!(access.check(Some(b"0123456789abcdef-2")), Ok(()));
}

#[test]
fn a_file_that_is_wrong_is_told_with_its_line_and_without_the_token() {
    for (text, part) in [
        ("".to_owned(), "has no token"),
        ("# only a comment\n".into(), "has no token"),
        (format!("{TOKEN}\nhunter2\n"), ":2: a token has 16"),
        (format!("{TOKEN} hunter2\n"), ":1: a token consists of"),
        ("hunter2".repeat(100), ":1: a token has 16 to 512"),
        (format!("{TOKEN}\n").repeat(TOKENS_MAX + 1), "more than 64 tokens"),
    ] {
        let why = parse(text.as_bytes()).expect_err(&text);
        assert!(why.contains(part) && !why.contains("hunter2"), "{why}");
    }
    assert!(parse(&[0xff]).is_err());
}
