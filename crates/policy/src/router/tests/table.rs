//! Precedence, trailing slashes, tails and lenient searches, as tables.

use super::{AddedTemplate, LenientSearch, RouterBuilder, RouterError, add, loosely, router, strictly};

/// A path, and the templates that match it, nearest first.
type Found<'a> = (&'a str, &'a [u32]);

#[test]
fn the_nearest_template_comes_first() {
    let table: &[(&[&str], &[Found])] = &[
        (
            &["/a/{x}", "/a/b", "/{x}/b", "/{x}/{y}", "/{rest*}", "/a/{rest*}"],
            &[
                ("/a/b", &[1, 0, 5, 2, 3, 4]),
                ("/a/c", &[0, 5, 3, 4]),
                ("/c/b", &[2, 3, 4]),
                ("/a", &[4]),
                ("/a/b/c", &[5, 4]),
            ],
        ),
        (
            &["/{x}", "/{x}.json", "/{x}.tar.json", "/report.json", "/rep{x}", "/{x}-{y}", "/{x}-{y}.json"],
            &[
                ("/report.json", &[3, 1, 4, 0]),
                ("/a.tar.json", &[2, 1, 0]),
                (".json", &[]),
                ("/.json", &[0]),
                ("/a-b.json", &[6, 1, 5, 0]),
                ("/a-.json", &[1, 5, 0]),
                ("/-", &[0]),
            ],
        ),
        // The first difference decides, whatever follows.
        (&["/a/{x}/{y}", "/{x}/b/c"], &[("/a/b/c", &[0, 1])]),
        (
            &["/v1/{name}:cancel", "/v1/{name}:start", "/v1/{name}"],
            &[("/v1/a:cancel", &[0, 2]), ("/v1/:cancel", &[2])],
        ),
        // No template has both, so it does not matter that both patterns match.
        (&["/a{x}/one", "/{y}b/two"], &[("/ab/one", &[0]), ("/ab/two", &[1]), ("/ab/three", &[])]),
        (&["/caf\u{e9}/{x}", "/caf%C3%A8"], &[("/caf%C3%A9/1", &[0]), ("/caf%C3%A8", &[1])]),
    ];
    for (templates, paths) in table {
        let router = router(templates);
        for (path, expected) in *paths {
            assert_eq!(strictly(&router, path), *expected, "{path} in {templates:?}");
        }
    }
}

#[test]
fn a_trailing_slash_is_another_path() {
    let router = router(&["/", "/a", "/a/", "/b/{x}", "/c/{x}/", "/d/{rest*}"]);
    let table: &[Found] = &[
        ("/", &[0]),
        ("/a", &[1]),
        ("/a/", &[2]),
        ("/b/1", &[3]),
        ("/b/", &[]),
        ("/b/1/", &[]),
        ("/c/1", &[]),
        ("/c/1/", &[4]),
        ("/d", &[]),
        ("/d/", &[]),
        ("/d/1", &[5]),
        ("/d/1/", &[5]),
        ("/d/1/2/3", &[5]),
        ("", &[]),
        ("a", &[]),
    ];
    for (path, expected) in table {
        assert_eq!(strictly(&router, path), *expected, "{path}");
    }
}

#[test]
fn the_search_goes_on_until_one_is_accepted() {
    let router = router(&["/a/b", "/a/{x}", "/{x}/b"]);
    let mut offered = Vec::new();
    let found = router.find("/a/b", |id| {
        offered.push(id);
        (id == 1).then_some("accepted")
    });
    assert_eq!((found, offered), (Some("accepted"), vec![0, 1]));
}

#[test]
fn lenient_servers_cannot_be_used_to_get_round_a_limit() {
    let router =
        router(&["/login", "/", "/Files/{name}.JSON", "/map;v=1/{x};y={z}", "/LOGIN/", "/{x}/Deep/{rest*}"]);
    let table: &[Found] = &[
        ("/login", &[0, 4]),
        ("/LOGIN", &[0, 4]),
        ("/login/", &[0, 4]),
        ("/login;x=1", &[0, 4]),
        ("/lOgIn;x=1/;y", &[0, 4]),
        ("/", &[1]),
        ("/;x", &[1]),
        ("/files/A.json", &[2]),
        ("/FILES/.json", &[]),
        ("/map/1", &[3]),
        ("/Map;v=2/1;y=3/", &[3]),
        ("/a/deep/1/2/", &[5]),
        ("/a/deep/", &[]),
        ("/login/x", &[]),
        ("/logi%6E", &[]),
    ];
    for (path, expected) in table {
        assert_eq!(loosely(&router, path), *expected, "{path}");
    }
}

#[test]
fn without_a_loose_table_nothing_is_loose() {
    let mut builder = RouterBuilder::new();
    add(&mut builder, "/login").unwrap();
    let router = builder.build(LenientSearch::No).unwrap();
    assert_eq!((loosely(&router, "/login"), loosely(&router, "/LOGIN")), (vec![0], vec![]));
}

#[test]
fn one_shape_has_one_id() {
    let mut builder = RouterBuilder::new();
    let table = [
        ("/a/{x}", AddedTemplate::New(0)),
        ("/a/{y}", AddedTemplate::Same(0)),
        ("/a/{x}/", AddedTemplate::New(1)),
        ("/a/{x}.b", AddedTemplate::New(2)),
        ("/a/{z}.b", AddedTemplate::Same(2)),
        ("/a/{rest*}", AddedTemplate::New(3)),
        ("/a/{all*}", AddedTemplate::Same(3)),
        ("/a/é", AddedTemplate::New(4)),
        ("/a/%C3%A9", AddedTemplate::Same(4)),
    ];
    for (text, expected) in table {
        assert_eq!(add(&mut builder, text), Ok(expected), "{text}");
    }
}

#[test]
fn templates_that_the_rule_does_not_tell_apart_are_ambiguous() {
    let table = [
        ("/a{x}", "/{x}b", true),
        ("/a{x}", "/{x}bc", false),
        ("/a{x}", "/b{x}", false),
        ("/a{x}b", "/{x}-{y}", false),
        ("/a{x}b", "/{x}--{y}", true),
        ("/{x}-{y}", "/{x}.{y}", true),
        ("/{x}9", "/{x}é", false),
        ("/a{x}/one", "/{y}b/two", false),
        ("/a{x}/one", "/{y}b/{z}", true),
        ("/a{x}/one", "/{y}b/{z}e", true),
        ("/a{x}/one", "/{y}b/{z}f", false),
        ("/a{x}/{z}n{w}", "/{y}b/one", true),
        ("/a{x}/", "/{y}b", false),
        ("/a{x}/", "/{y}b/{z}", false),
        ("/a{x}/", "/{y}b/{rest*}", false),
        ("/a{x}/c/d/", "/{y}b/{rest*}", true),
        ("/a{x}/{rest*}", "/{y}b/c/d", true),
        ("/a{x}/{rest*}", "/{y}b", false),
        ("/a{x}/{rest*}", "/{y}b/", false),
        ("/a{x}/{rest*}", "/{y}b/{rest*}", true),
        ("/c/a{x}", "/{z}/{x}b", false),
    ];
    for (first, second, expected) in table {
        for (first, second) in [(first, second), (second, first)] {
            let mut builder = RouterBuilder::new();
            add(&mut builder, first).unwrap();
            let expected =
                if expected { Err(RouterError::Ambiguous { with: 0 }) } else { Ok(AddedTemplate::New(1)) };
            assert_eq!(add(&mut builder, second), expected, "{first} and {second}");
        }
    }
}

#[test]
fn templates_that_nothing_tells_apart_may_stand_beside_each_other() {
    let parse = |text| crate::template::Template::parse(text, crate::template::Tail::Allowed).unwrap();
    let mut builder = RouterBuilder::new();
    for (text, expected) in [("/f/{x}-b", 0), ("/f/{x}/{rest*}", 1), ("/f/c/d", 2)] {
        assert_eq!(builder.add(&parse(text)), Ok(AddedTemplate::New(expected)), "{text}");
    }
    let twin = parse("/f/a-{y}");
    assert_eq!(builder.add(&twin), Err(RouterError::Ambiguous { with: 0 }));
    let mut asked = Vec::new();
    let mut may_stand = |with| {
        asked.push(with);
        true
    };
    assert_eq!(builder.add_beside(&twin, &mut may_stand), Ok(AddedTemplate::New(3)));
    assert_eq!(asked, [0]);
    // One that may stand beside the first may not stand beside the second.
    let third = parse("/f/a{z}b");
    assert_eq!(builder.add_beside(&third, &mut |with| with == 0), Err(RouterError::Ambiguous { with: 3 }));
    let router = builder.build(LenientSearch::No).unwrap();
    let mut found = Vec::new();
    router.find("/f/a-b", |id| {
        found.push(id);
        None::<()>
    });
    found.sort_unstable();
    assert_eq!(found, [0, 3]);
}
