//! The router agrees with slow references that test every template, and every short path.

use core::cmp::Ordering;

use super::{AddedTemplate, LenientSearch, RouterBuilder, RouterError, loosely, strictly, template};
use tollgate_testing::dice::Dice;

/// Whether a shape's segment, as text with `{}`, matches a segment: tries every length for every parameter.
fn glob(pattern: &str, segment: &str) -> bool {
    if let Some(rest) = pattern.strip_prefix("{}") {
        // Only one escape is in these tests.
        let mut cuts = segment.char_indices().map(|(at, _)| at).chain([segment.len()]).skip(1);
        return cuts.any(|at| {
            !segment[..at].ends_with('%') && !segment[..at].ends_with("%2") && glob(rest, &segment[at..])
        });
    }
    match (pattern.chars().next(), segment.chars().next()) {
        (None, None) => true,
        (Some(a), Some(b)) if a == b => glob(&pattern[1..], &segment[1..]),
        _ => false,
    }
}

/// Whether a shape matches a path, as the documentation says.
fn matches(shape: &str, path: &str) -> bool {
    let shape: Vec<&str> = shape[1..].split('/').collect();
    let path: Vec<&str> = path[1..].split('/').collect();
    let (fixed, tail) = match shape.split_last() {
        Some((&"{*}", fixed)) => (fixed, true),
        _ => (&shape[..], false),
    };
    let long_enough = if tail {
        path.len() > fixed.len() && !path[fixed.len()].is_empty()
    } else {
        path.len() == fixed.len()
    };
    long_enough && fixed.iter().zip(&path).all(|(pattern, segment)| glob(pattern, segment))
}

/// How near a segment of a shape is: less is nearer.
fn rank(segment: &str) -> (u8, usize) {
    let text = segment.replace("{}", "").replace("%2C", ",");
    match segment {
        "{*}" => (3, 0),
        "{}" => (2, 0),
        _ if segment.contains("{}") => (1, 100 - text.len()),
        _ => (0, 0),
    }
}

/// The rule: the first segment that differs decides.
fn nearer(a: &str, b: &str) -> Ordering {
    let differ = a[1..].split('/').zip(b[1..].split('/')).find(|(a, b)| a != b);
    differ.map_or(Ordering::Equal, |(a, b)| rank(a).cmp(&rank(b)))
}

const SEGMENTS: [&str; 15] =
    ["a", "b", "ab", "C", "{}", "{}", "a{}", "{}b", "{}a", "b{}", "{}C", "a{}b", "{}a{}", "{}%2C", "%2C{}"];

fn shape(chance: &mut Dice) -> String {
    let mut made = String::new();
    for _ in 0..=chance.below(3) {
        made.push('/');
        made.push_str(chance.pick(&SEGMENTS));
    }
    made + chance.pick(&["", "", "", "/", "/{*}"])
}

/// A template of a shape: every parameter gets a name.
fn named(shape: &str) -> String {
    let mut pieces = shape.split("{}");
    let first = pieces.next().unwrap().to_string();
    let made = pieces.enumerate().fold(first, |made, (i, piece)| format!("{made}{{p{i}}}{piece}"));
    made.replace("{*}", "{rest*}")
}

/// A path of segments that several shapes match.
fn path(chance: &mut Dice) -> String {
    let mut made = String::new();
    for _ in 0..=chance.below(3) {
        made.push('/');
        made.push_str(
            chance.pick(&["a", "b", "ab", "ab", "aab", "bab", "a%2Cb", "%2C2C", "abC", "C", "%2Caa%2C"]),
        );
    }
    made + chance.pick(&["", "", "", "/"])
}

#[test]
fn find_agrees_with_trying_every_template() {
    let (mut several, mut refused) = (0, 0);
    for seed in 0..3_000 {
        let mut chance = Dice::new(seed);
        let mut builder = RouterBuilder::new();
        let mut shapes: Vec<String> = Vec::new();
        for _ in 0..chance.below(60) {
            let shape = shape(&mut chance);
            let there = shapes.iter().position(|other| *other == shape);
            match builder.add(&template(&named(&shape))) {
                Ok(AddedTemplate::New(id)) => {
                    assert_eq!((there, id as usize), (None, shapes.len()), "seed {seed}: {shape}");
                    shapes.push(shape);
                }
                Ok(AddedTemplate::Same(id)) => assert_eq!(there, Some(id as usize), "seed {seed}: {shape}"),
                Err(RouterError::Ambiguous { with }) => {
                    let with = &shapes[with as usize];
                    assert_eq!(nearer(&shape, with), Ordering::Equal, "seed {seed}: {shape} and {with}");
                    refused += 1;
                }
                Err(error) => panic!("seed {seed}: {error}"),
            }
        }
        let router = builder.build(LenientSearch::Yes).unwrap();
        for _ in 0..30 {
            let path = path(&mut chance);
            let mut expected: Vec<u32> =
                (0..).zip(&shapes).filter(|(_, s)| matches(s, &path)).map(|(i, _)| i).collect();
            expected.sort_by(|a, b| nearer(&shapes[*a as usize], &shapes[*b as usize]));
            assert_eq!(strictly(&router, &path), expected, "seed {seed}: {path} in {shapes:?}");
            several += usize::from(expected.len() > 2);
            loosely_agrees(&loosely(&router, &path), &shapes, &path, seed);
        }
    }
    assert!(several > 2_000 && refused > 1_000, "{several} paths with several templates, {refused} refused");
}

/// The lenient search finds what matches without case and slashes, and the nearer first.
fn loosely_agrees(found: &[u32], shapes: &[String], path: &str, seed: u64) {
    let fold = |text: &str| {
        let folded = text.trim_end_matches('/').to_lowercase().replace("%2c", "%2C");
        if folded.is_empty() { "/".into() } else { folded }
    };
    let folded: Vec<String> = shapes.iter().map(|shape| fold(shape)).collect();
    let mut expected: Vec<u32> =
        (0..).zip(&folded).filter(|(_, shape)| matches(shape, &fold(path))).map(|(i, _)| i).collect();
    for pair in found.windows(2) {
        let order = nearer(&folded[pair[0] as usize], &folded[pair[1] as usize]);
        assert_ne!(order, Ordering::Greater, "seed {seed}: {path} in {shapes:?}");
    }
    let mut sorted = found.to_vec();
    sorted.sort_unstable();
    expected.sort_unstable();
    assert_eq!(sorted, expected, "seed {seed}: {path} in {shapes:?}");
}

/// Every path of up to two segments, of up to five characters each in which two shapes can differ.
fn short_paths() -> Vec<String> {
    let mut segments = vec![String::new()];
    let mut from = 0;
    for _ in 0..5 {
        let until = segments.len();
        for i in from..until {
            segments.extend(["a", "b", "C", "%2C"].map(|next| format!("{}{next}", segments[i])));
        }
        from = until;
    }
    let seconds: Vec<String> =
        segments.iter().filter(|text| text.replace("%2C", ",").len() <= 2).cloned().collect();
    let firsts = segments.iter().filter(|text| !text.is_empty());
    firsts
        .flat_map(|first| {
            let longer = seconds.iter().map(move |second| format!("/{first}/{second}"));
            longer.chain([format!("/{first}")])
        })
        .collect()
}

#[test]
fn two_templates_are_ambiguous_exactly_when_a_path_says_so() {
    let paths = short_paths();
    let firsts = [
        "a{}", "{}b", "b{}", "{}a", "a{}b", "{}ab", "ab{}", "{}a{}", "{}b{}", "%2C{}", "{}%2C", "{}", "a",
        "{}C",
    ];
    let lasts = ["", "/", "/a", "/{}", "/a{}", "/{}b", "/{*}"];
    let mut shapes: Vec<String> = Vec::new();
    for first in firsts {
        shapes.extend(lasts.iter().map(|last| format!("/{first}{last}")));
    }
    let matched: Vec<Vec<bool>> =
        shapes.iter().map(|shape| paths.iter().map(|path| matches(shape, path)).collect()).collect();
    let mut ambiguous = 0;
    for (i, a) in shapes.iter().enumerate() {
        for (j, b) in shapes.iter().enumerate().filter(|(j, _)| *j != i) {
            let both = matched[i].iter().zip(&matched[j]).any(|(a, b)| *a && *b);
            let mut builder = RouterBuilder::new();
            builder.add(&template(&named(a))).unwrap();
            let expected = both && nearer(a, b) == Ordering::Equal;
            let found = builder.add(&template(&named(b))) == Err(RouterError::Ambiguous { with: 0 });
            assert_eq!(found, expected, "{a} and {b}");
            ambiguous += u32::from(found);
        }
    }
    assert!(ambiguous > 100, "{ambiguous}");
}
