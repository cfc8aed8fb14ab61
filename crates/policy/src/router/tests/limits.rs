//! Every limit of the router, at it and one over it; and documents that are made to be slow.

use super::super::{COMPARISONS_MAX, PATTERNS_MAX, STEPS_MAX, TEMPLATES_MAX};
use super::{AddedTemplate, LenientSearch, RouterBuilder, RouterError, add, router, strictly};

#[test]
fn the_most_templates_are_taken_and_one_more_is_not() {
    let mut builder = RouterBuilder::new();
    for i in 0..TEMPLATES_MAX {
        assert_eq!(add(&mut builder, &format!("/v{}/{{x}}/r{i}", i % 100)), Ok(AddedTemplate::New(i)));
    }
    assert_eq!(add(&mut builder, "/more"), Err(RouterError::TooManyTemplates));
    assert_eq!(add(&mut builder, "/v7/{y}/r7"), Ok(AddedTemplate::Same(7)));
    let router = builder.build(LenientSearch::No).unwrap();
    assert_eq!(strictly(&router, "/v99/anything/r200099"), [200_099]);
    assert!(router.steps() < 20);
}

#[test]
fn the_most_patterns_are_taken_and_one_more_is_not() {
    let mut builder = RouterBuilder::new();
    for i in 0..PATTERNS_MAX {
        add(&mut builder, &format!("/a/{{x}}:{i}")).unwrap();
    }
    assert_eq!(add(&mut builder, "/a/{x}:more"), Err(RouterError::TooManyPatterns));
    assert_eq!(add(&mut builder, "/a/{x}:7/b"), Ok(AddedTemplate::New(1024)));
    let router = builder.build(LenientSearch::Yes).unwrap();
    assert_eq!(strictly(&router, "/a/b:77"), [77]);
    assert!(router.steps() < 30, "patterns that no path matches at once do not add up: {}", router.steps());
}

/// Text or a parameter at every level: every template matches the same path.
fn tangled(levels: u32) -> RouterBuilder {
    let mut builder = RouterBuilder::new();
    for bits in 0..1 << levels {
        let segments =
            (0..levels).map(|i| if bits >> i & 1 == 0 { "/a".into() } else { format!("/{{p{i}}}") });
        add(&mut builder, &segments.collect::<String>()).unwrap();
    }
    builder
}

#[test]
fn a_search_has_at_most_so_many_steps() {
    let router = tangled(10).build(LenientSearch::Yes).unwrap();
    // One more level would be too many.
    assert!((STEPS_MAX / 2..=STEPS_MAX).contains(&router.steps()), "{}", router.steps());
    assert_eq!(strictly(&router, &"/a".repeat(10)).len(), 1024);
    assert_eq!(tangled(11).build(LenientSearch::No).err(), Some(RouterError::TooTangled));
}

#[test]
fn a_template_that_is_ambiguous_with_none_of_very_many_is_refused_in_the_end() {
    let mut builder = RouterBuilder::new();
    for i in 0..1000 {
        add(&mut builder, &format!("/a{{x}}/{{y}}/b{i}")).unwrap();
    }
    builder.comparisons = COMPARISONS_MAX - 10_000;
    let mut add_next = (0..).map(|i| add(&mut builder, &format!("/{{x}}b/{{y}}/c{i}{{z}}")));
    let error = add_next.find(|added| added.is_err());
    assert_eq!(error, Some(Err(RouterError::TooTangled)));
}

#[test]
fn a_branch_that_is_too_short_is_not_searched() {
    let deep: String = (0..20).map(|i| format!("/{{p{i}}}")).collect();
    let router = router(&[&format!("{deep}/end"), &deep, "/a/{x}/b"]);
    assert_eq!(strictly(&router, &"/a".repeat(20)), [1]);
    assert_eq!(strictly(&router, &"/a".repeat(64)), Vec::<u32>::new());
    assert_eq!(strictly(&router, &"/a".repeat(65)), Vec::<u32>::new());
}

#[test]
fn the_deepest_template_is_found() {
    let deepest = "/a".repeat(64);
    let router = router(&[&deepest, "/a/{rest*}"]);
    assert_eq!(strictly(&router, &deepest), [0, 1]);
    assert_eq!(strictly(&router, &"/b".repeat(64)), Vec::<u32>::new());
}
