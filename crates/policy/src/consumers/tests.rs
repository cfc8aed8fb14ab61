//! A consumers file from beginning to end: any cutting, every sentence, every limit.

mod sentences;

use std::fmt::Write;

use sha2::{Digest, Sha256};

use super::*;
use tollgate_testing::dice::Dice;

fn hash(key: &str) -> String {
    Sha256::digest(key).iter().fold(String::new(), |mut text, byte| {
        write!(text, "{byte:02x}").expect("a string takes all");
        text
    })
}

fn load_with(limits: LoaderLimits, file: &[u8]) -> Result<Consumers, Vec<String>> {
    let mut loader = Loader::new(limits);
    loader.feed(file);
    loader.finish().map_err(|errors| errors.iter().map(ToString::to_string).collect())
}

fn load(file: &str) -> Result<Consumers, Vec<String>> {
    load_with(LoaderLimits::default(), file.as_bytes())
}

/// All that a table says, for these keys.
fn said(consumers: &Consumers, keys: &[String]) -> String {
    let found: Vec<_> = keys.iter().map(|key| consumers.find(key.as_bytes())).collect();
    let (tiers, overrides) =
        (consumers.tiers().collect::<Vec<_>>(), consumers.overrides().collect::<Vec<_>>());
    format!("{found:?} {tiers:?} {overrides:?} {} {}", consumers.len(), consumers.keys())
}

#[test]
fn keys_are_found_with_all_that_their_lines_say() {
    let overrides = "POST /reports/generate: capacity=50 refill_rate=1 | default: limit=10";
    let mut file =
        String::from("\u{feff}tier,overrides,key_sha256,consumer,organisation\r\n\r\n# a comment, \"\n");
    for (key, rest) in [("k1", "acme,Acme Inc"), ("k2", "acme,Acme Inc"), ("k3", "\"b, \"\"o\"\"b\",")] {
        let before = if key == "k3" { ",," } else { &format!("gold,{overrides},") };
        let hash = if key == "k2" { hash(key).to_uppercase() } else { hash(key) + "  -" };
        write!(file, "{before}{hash},{rest}\r\n").expect("a string takes all");
    }
    write!(file, " silver , \"{overrides}\" ,{} , Ünï , Acme Inc ", hash("k4")).expect("a string takes all");
    let consumers = load(&file).expect("nothing is wrong");
    assert_eq!((consumers.len(), consumers.keys(), consumers.is_empty()), (3, 4, false));
    let acme = consumers.find(b"k1").expect("it is there");
    assert_eq!(Some(acme), consumers.find(b"k2"));
    let id = acme.overrides.expect("it has some");
    let wanted = Consumer {
        index: 0,
        name: "acme",
        tier: Some("gold"),
        tier_index: Some(0),
        organisation: Some("Acme Inc"),
        overrides: Some(id),
    };
    assert_eq!(acme, wanted);
    let bob = consumers.find(b"k3").expect("it is there");
    assert_eq!((bob.name, bob.tier, bob.organisation, bob.overrides), ("b, \"o\"b", None, None, None));
    let last = consumers.find(b"k4").expect("it is there");
    assert_eq!(
        (last.name, last.tier, last.tier_index, last.overrides),
        ("Ünï", Some("silver"), Some(1), Some(id))
    );
    assert_eq!(consumers.tiers().collect::<Vec<_>>(), [("gold", 4), ("silver", 7)]);
    assert_eq!(consumers.overrides().collect::<Vec<_>>(), [(id, overrides, 4)]);
    assert_eq!(id.index(), 0);
    for stranger in ["", "k5", &hash("k1"), "k1\n"] {
        assert_eq!(consumers.find(stranger.as_bytes()), None, "{stranger}");
    }
}

#[test]
fn bad_utf8_is_refused_where_it_is() {
    let file =
        [b"key_sha256,consumer\n\xc3\xa9\xff,x\n# \xff is of no interest in a comment\n".as_slice()].concat();
    let errors = load_with(LoaderLimits::default(), &file).expect_err("it is not UTF-8");
    assert_eq!(errors, ["line 2, column 2: This is not UTF-8. Save the file as UTF-8."]);
}

#[test]
fn each_limit_holds_at_its_number_and_not_before() {
    let rows = |count: usize| {
        (0..count).fold(String::from("key_sha256,consumer,tier\n"), |file, n| {
            file + &format!("{},c{n},t{n}\n", hash(&n.to_string()))
        })
    };
    let most = LoaderLimits { keys: 3, tiers: 1_000, ..LoaderLimits::default() };
    assert_eq!(load_with(most, rows(3).as_bytes()).expect("three are not too many").len(), 3);
    let errors = load_with(most, rows(9).as_bytes()).expect_err("nine are too many");
    assert_eq!(errors, ["line 5, column 1: There are more than 3 keys. The rest of the file was not read."]);

    let most = LoaderLimits { tiers: 3, ..LoaderLimits::default() };
    assert!(load_with(most, rows(3).as_bytes()).is_ok());
    let errors = load_with(most, rows(5).as_bytes()).expect_err("five are too many");
    assert_eq!(errors.len(), 2);
    assert!(errors[0].starts_with("line 5, column 69: There are more than 3 tiers"), "{errors:?}");

    let long =
        |bytes: usize| format!("key_sha256,consumer,overrides\n{},x,{}\n", hash("a"), "o".repeat(bytes - 67));
    assert!(load(&long(LINE_BYTES_MAX)).is_ok());
    let errors = load(&(long(LINE_BYTES_MAX + 1) + "nonsense\n")).expect_err("a byte too long");
    assert_eq!(errors[0], "line 2, column 1: This line is longer than 4096 bytes. Is a line break missing?");
    assert!(
        errors[1].starts_with("line 3, column 1: This line has 1 cells"),
        "the next line is read: {errors:?}"
    );

    let name = |bytes: usize| format!("key_sha256,consumer\n{},{}\n", hash("a"), "n".repeat(bytes));
    assert!(load(&name(NAME_BYTES_MAX)).is_ok());
    assert!(load(&name(NAME_BYTES_MAX + 1)).is_err());

    let wrong = |count: usize| "key_sha256,consumer\n".to_owned() + &"clear,x\n".repeat(count);
    assert_eq!(load(&wrong(ERRORS_LISTED)).expect_err("all are listed").len(), ERRORS_LISTED);
    let errors = load(&wrong(ERRORS_LISTED + 7)).expect_err("seven are not listed");
    assert_eq!(errors.len(), ERRORS_LISTED + 1);
    assert_eq!(errors[ERRORS_LISTED], "line 52, column 1: and more: 7 problems from here on are not listed");
    let all = LoaderLimits { errors: ERRORS_MAX, ..LoaderLimits::default() };
    assert_eq!(load_with(all, wrong(3_000).as_bytes()).expect_err("all are listed").len(), 3_000);
}

#[test]
fn a_line_of_a_gigabyte_in_pieces_is_not_kept() {
    let mut loader = Loader::new(LoaderLimits::default());
    let piece = vec![b'x'; 1 << 20];
    (0..1_000).for_each(|_| loader.feed(&piece));
    assert!(loader.held() <= LINE_BYTES_MAX, "{}", loader.held());
    assert_eq!(loader.finish().expect_err("it is too long").len(), 2);
}

#[test]
fn a_limit_above_its_constant_counts_as_the_constant() {
    let limits =
        LoaderLimits { keys: usize::MAX, line_bytes: usize::MAX, tiers: usize::MAX, errors: usize::MAX };
    let errors = load_with(limits, &[b'x'; LINE_BYTES_MAX + 1]).expect_err("too long all the same");
    assert!(errors[0].contains("longer than 4096 bytes"), "{errors:?}");
}

/// A file with something of everything, good or bad.
fn draw_file(draw: &mut Dice) -> (Vec<u8>, Vec<String>) {
    let mut file = Vec::new();
    let mut keys = Vec::new();
    let pieces: [&[u8]; 9] = [
        b"\r\n",
        b"\n",
        b"# x\n",
        b"\xff\n",
        b"a,b,c,d,e\n",
        b"\"x\n",
        b"clear,n,,,\n",
        b"\xef\xbb\xbf",
        b"   \n",
    ];
    let bad = draw.below(2) == 0;
    if draw.below(3) == 0 {
        file.extend_from_slice(b"\xef\xbb\xbf");
    }
    file.extend_from_slice(b"key_sha256,consumer,tier,organisation,overrides\r\n");
    for _ in 0..draw.below(30) {
        if draw.below(4) == 0 {
            file.extend_from_slice(pieces[draw.below(if bad { 9 } else { 3 })]);
            continue;
        }
        let key = if bad { draw.below(40) } else { keys.len() }.to_string();
        let name = draw.below(8);
        let tier = if bad { draw.below(3) } else { name % 3 };
        let rest = ["", "\"é,\"\"x\"", "plain"][name % 3];
        let line = format!("{},\"Ä{name}\",t{tier},{rest},{rest}\n", hash(&key));
        keys.push(key);
        file.extend_from_slice(line.as_bytes());
    }
    if draw.below(2) == 0 {
        file.pop();
    }
    (file, keys)
}

#[test]
fn any_cutting_of_a_file_gives_the_same_table_or_the_same_errors() {
    let (mut good, mut wrong) = (0, 0);
    for seed in 0..400 {
        let mut draw = Dice::new(seed);
        let (file, keys) = draw_file(&mut draw);
        let limits =
            LoaderLimits { line_bytes: if seed % 5 == 0 { 90 } else { 4_096 }, ..LoaderLimits::default() };
        let whole = load_with(limits, &file).map(|table| said(&table, &keys));
        let most = draw.pick(&[1, 2, 7, 100]);
        let mut loader = Loader::new(limits);
        let mut rest = file.as_slice();
        while !rest.is_empty() {
            let (piece, after) = rest.split_at(draw.below(most + 1).min(rest.len()));
            loader.feed(piece);
            rest = after;
        }
        let errors = |errors: Vec<ConsumerError>| errors.iter().map(ToString::to_string).collect::<Vec<_>>();
        let pieces = loader.finish().map_err(errors).map(|table| said(&table, &keys));
        assert_eq!(pieces, whole, "seed {seed}");
        if whole.is_ok() { good += 1 } else { wrong += 1 }
    }
    assert!(good > 100 && wrong > 100, "{good} good files, {wrong} with errors");
}

#[test]
fn every_key_of_a_large_table_is_found_and_no_other() {
    let mut loader = Loader::new(LoaderLimits::default());
    loader.feed(b"key_sha256,consumer\n");
    for n in 0..20_000 {
        loader.feed(format!("{},c{}\n", hash(&n.to_string()), n / 2).as_bytes());
    }
    let consumers = loader.finish().expect("nothing is wrong");
    assert_eq!((consumers.len(), consumers.keys()), (10_000, 20_000));
    for n in 0..20_000 {
        let found = consumers.find(n.to_string().as_bytes()).map(|consumer| consumer.name.to_owned());
        assert_eq!(found, Some(format!("c{}", n / 2)));
    }
    assert!((20_000..60_000).all(|n: i32| consumers.find(n.to_string().as_bytes()).is_none()));
}

/// Hashes in the file that crowd together: all in one run of the index.
#[test]
fn crowded_hashes_are_found_too() {
    let mut loader = Loader::new(LoaderLimits::default());
    loader.feed(b"key_sha256,consumer\n");
    for n in 0..5_000 {
        loader.feed(format!("{n:032x}{n:032x},made up\n").as_bytes());
    }
    loader.feed(format!("{},real\n", hash("real")).as_bytes());
    let consumers = loader.finish().expect("nothing is wrong");
    assert_eq!(consumers.find(b"real").map(|consumer| consumer.name), Some("real"));
    assert_eq!((consumers.keys(), consumers.find(b"0")), (5_001, None));
}
