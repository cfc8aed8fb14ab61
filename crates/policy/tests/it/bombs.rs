//! Documents that were made to hurt: refused with a sentence, in bounded time and memory, or read without being unfolded.

use tollgate_policy::{DOCUMENT_BYTES_MAX, Findings, OPERATIONS_MAX, Policy};

use crate::support::{openapi, policy};

/// The codes of what is said of a document that is refused.
fn codes(text: &str) -> Vec<&'static str> {
    match Policy::parse("bomb.yaml", text) {
        Ok(_) => Vec::new(),
        Err(refused) => {
            assert!(refused.findings.all().len() <= Findings::FINDINGS_MAX);
            let mut codes: Vec<_> = refused.findings.all().iter().map(|finding| finding.code).collect();
            codes.dedup();
            codes
        }
    }
}

/// A billion laughs: each line stands for ten of the one before. Nothing is unfolded, so nothing happens.
#[test]
fn aliases_of_aliases_are_not_unfolded() {
    let mut text = String::from("openapi: 3.1.0\nx-a0: &a0 [lol]\n");
    for level in 1..60 {
        let before = level - 1;
        let ten = vec![format!("*a{before}"); 10].join(", ");
        text.push_str(&format!("x-a{level}: &a{level} [{ten}]\n"));
    }
    text.push_str("paths: {}\n");
    assert_eq!(codes(&text), Vec::<&str>::new());
    // Even where limits stand, a list of lists is an error for each item, not for what they stand for.
    text.push_str("x-rate-limit: *a59\n");
    assert_eq!(codes(&text), ["type"]);
}

#[test]
fn anchors_do_work_where_they_harm_nobody() {
    let text = openapi(
        "
x-slow: &slow { algorithm: gcra, capacity: 1, refill_rate: 1 }
paths: { /a: { get: { x-rate-limit: *slow } }, /b: &b { get: { x-rate-limit: *slow } }, /c: *b }
",
    );
    assert_eq!(policy(&text).operations().len(), 3);
}

#[test]
fn depth_size_and_numbers_have_bounds() {
    assert_eq!(codes(&"[".repeat(100_000)), ["too-deep"]);
    assert_eq!(codes(&"{a: ".repeat(100_000)), ["too-deep"]);
    assert_eq!(codes(&"- ".repeat(100_000)), ["too-deep"]);
    assert_eq!(codes(&"x".repeat(DOCUMENT_BYTES_MAX + 1)), ["too-large"]);
    let giant =
        format!("openapi: 3.1.0\npaths: {{}}\nx-rate-limit: {{ algorithm: {} }}\n", "y".repeat(5_000_000));
    assert_eq!(codes(&giant), ["unknown-value"]);
    let many = format!("openapi: 3.1.0\npaths: {{}}\nx-many: [{}]\n", "1,".repeat(9_000_000));
    assert_eq!(codes(&many), ["too-large"]);
}

#[test]
fn too_many_paths_are_refused_as_one_mistake() {
    let mut text = openapi("paths:\n");
    for path in 0..=OPERATIONS_MAX {
        text.push_str(&format!("  /p{path}: {{}}\n"));
    }
    assert_eq!(codes(&text), ["too-many"]);
}

#[test]
fn more_mistakes_than_are_kept_are_counted() {
    let beyond = 5_000;
    let mut text = openapi("paths: {}\nx-rate-limit:\n");
    for field in 0..Findings::FINDINGS_MAX + beyond {
        text.push_str(&format!("  field{field}: 1\n"));
    }
    let refused = Policy::parse("bomb.yaml", &text).expect_err("it is wrong");
    assert_eq!(refused.findings.all().len(), Findings::FINDINGS_MAX);
    // And the limit has no algorithm.
    assert_eq!(refused.findings.more(), beyond + 1);
}

/// Cut anywhere, a document is refused or read, and never anything else.
#[test]
fn a_document_cut_anywhere_is_no_reason_to_panic() {
    let text = include_str!("../messages/tiers.yaml");
    for end in (0..text.len()).filter(|end| text.is_char_boundary(*end)) {
        let _ = Policy::parse("cut.yaml", &text[..end]).map_err(|refused| refused.to_string());
    }
}

/// Many tags, many references into one map, many unknown fields: each takes time in proportion to the document.
#[test]
fn what_is_looked_up_often_is_looked_up_fast() {
    let mut tags = openapi("tags:\n");
    for tag in 0..60_000 {
        tags.push_str(&format!("  - {{ name: t{tag} }}\n"));
    }
    tags.push_str("paths: { /a: { get: { tags: [t7] } } }\n");
    assert_eq!(policy(&tags).operations().len(), 1);

    let mut references = openapi("paths:\n");
    let mut items = String::from("components:\n  pathItems:\n");
    for item in 0..40_000 {
        references.push_str(&format!("  /p{item}: {{ $ref: '#/components/pathItems/i{item}' }}\n"));
        items.push_str(&format!("    i{item}: {{ get: {{}} }}\n"));
    }
    assert_eq!(policy(&format!("{references}{items}")).operations().len(), 40_000);

    let mut unknown = openapi("paths: {}\nx-rate-limit:\n");
    for field in 0..200_000 {
        unknown.push_str(&format!("  field{field}: 1\n"));
    }
    assert!(codes(&unknown).starts_with(&["unknown-field"]));
}

#[test]
fn too_many_routes_of_one_path_are_refused_and_not_left_uncompared() {
    let routes = |count: usize| {
        let route = |number| format!("  - {{ path: /a, headers: {{ X-A: v{number} }}, rate_limit: none }}\n");
        format!("tollgate: 1\nroutes:\n{}", (0..count).map(route).collect::<String>())
    };
    assert_eq!(codes(&routes(1_000)), Vec::<&str>::new());
    assert_eq!(codes(&routes(1_001)), ["too-many"]);
}
