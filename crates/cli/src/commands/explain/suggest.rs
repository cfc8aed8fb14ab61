//! Operations that an unmatched request may have been meant for, and why each does not match.

use tollgate_policy::{Facts, Operation, Policy};

/// So many are named.
const NEAR_MAX: usize = 3;

/// An operation, and why it was not met.
#[derive(Debug)]
pub(super) struct NearbyOperation {
    pub(super) name: String,
    pub(super) at: String,
    pub(super) why: String,
}

/// How alike a template and a path are; the larger, the more.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
struct Similarity {
    /// The template has this path: something else kept the request from it.
    whole: bool,
    /// It would have it under another base path, or in letters of another case.
    nearly: bool,
    /// So many segments from the start agree.
    start: usize,
    /// So many letters agree in the first segment that does not.
    letters: usize,
    /// So many segments agree in their places.
    segments: usize,
}

/// The nearest operations, the nearest first.
pub(super) fn near(policy: &Policy, facts: &Facts<'_>) -> Vec<NearbyOperation> {
    let mut found: Vec<(Similarity, Vec<String>, &Operation)> = Vec::new();
    for operation in policy.operations() {
        let templates = operation.bases.iter().map(|base| format!("{base}{}", operation.written));
        let Some(mut best) = templates.map(|template| likeness(&template, facts.path)).max() else {
            continue;
        };
        let nearly = if best.whole { Vec::new() } else { nearly(operation, facts.path) };
        best.nearly = !nearly.is_empty();
        if best.nearly || best.segments > 0 || best.letters > 0 {
            found.push((best, nearly, operation));
        }
    }
    // Stable: where two are equally near, the one that is written first.
    found.sort_by_key(|(likeness, ..)| std::cmp::Reverse(*likeness));
    let most = found.iter().filter(|(likeness, ..)| likeness.whole || likeness.nearly).count();
    // Where the path itself is there, other paths are not what was meant.
    found.truncate(if most > 0 { most.min(NEAR_MAX) } else { NEAR_MAX });
    let described = found.into_iter().map(|(likeness, mut reasons, operation)| {
        let why = if likeness.whole || likeness.nearly {
            reasons.extend(kept(operation, facts));
            if reasons.is_empty() { "another one goes before it".into() } else { reasons.join(", and ") }
        } else {
            "its path is another".into()
        };
        NearbyOperation { name: operation.name(), at: policy.sources().locate(operation.place), why }
    });
    described.collect()
}

/// What would have to be otherwise for the operation to have this path. Nothing, if it is another one altogether.
fn nearly(operation: &Operation, path: &str) -> Vec<String> {
    let (written, lower) = (operation.written.as_str(), path.to_lowercase());
    let has = |template: &str, path: &str| likeness(template, path).whole;
    let small = written.to_lowercase();
    let case = || "it is written in letters of another case".to_owned();
    let base = operation.bases.iter().find(|base| !base.is_empty());
    let under = |base: &String| format!("it stands under {base}");
    if let Some(base) = base.filter(|_| has(written, path)) {
        return vec![under(base)];
    }
    if operation.bases.iter().any(|base| has(&format!("{}{small}", base.to_lowercase()), &lower)) {
        return vec![case()];
    }
    base.filter(|_| has(&small, &lower)).map(|base| vec![under(base), case()]).unwrap_or_default()
}

fn likeness(template: &str, path: &str) -> Similarity {
    let (mut theirs, mut ours) = (template.split('/').skip(1), path.split('/').skip(1));
    let mut found = Similarity { whole: true, nearly: false, start: 0, letters: 0, segments: 0 };
    loop {
        let (theirs, ours) = (theirs.next(), ours.next());
        let agrees = match (theirs, ours) {
            (None, None) => break,
            // A tail takes all that is left.
            (Some(tail), _) if tail.starts_with('{') && tail.ends_with("*}") => break,
            (Some(theirs), Some(ours)) => theirs == ours || (theirs.contains('{') && !ours.is_empty()),
            (None, Some(_)) | (Some(_), None) => false,
        };
        if found.whole && agrees {
            found.start = found.start.saturating_add(1);
        } else if found.whole {
            let pairs = theirs.unwrap_or_default().chars().zip(ours.unwrap_or_default().chars());
            found.letters = pairs.take_while(|(theirs, ours)| theirs == ours).count();
        }
        found.segments = found.segments.saturating_add(usize::from(agrees));
        found.whole &= agrees;
    }
    found
}

/// What kept a request from an operation whose path it has.
fn kept(operation: &Operation, facts: &Facts<'_>) -> Vec<String> {
    let mut reasons = Vec::new();
    if let Some(method) = operation.method.as_deref().filter(|method| *method != facts.method) {
        reasons.push(format!("it is for {method}"));
    }
    if let Some(host) = operation.host.as_ref().filter(|host| !host.matches(facts.host)) {
        reasons.push(format!("it is on the host {host}"));
    }
    for (name, value) in &operation.headers {
        match (facts.headers.get(name), value) {
            (None, _) => reasons.push(format!("it asks for the header {name}")),
            (Some(sent), Some(value)) if sent != value.as_str() => {
                reasons.push(format!("it asks for another value of the header {name}"));
            }
            (Some(_), _) => {}
        }
    }
    reasons
}

#[test]
fn templates_are_as_near_as_their_first_segments_agree() {
    let nearer = [
        ("/reports/generate", "/reports/{id}", "/reports/{id}/pages"),
        ("/reports/9/pages", "/reports/{id}/pages", "/reports/{id}"),
        ("/reprots/generate", "/reports/generate", "/users/list"),
        ("/v1/serach", "/v1/search", "/v1/reports/{id}"),
        ("/files/a/b/c", "/files/{rest*}", "/files/a/b/d"),
    ];
    for (path, near, far) in nearer {
        assert!(likeness(near, path) > likeness(far, path), "{path}");
    }
    assert!(likeness("/reports/{id}", "/reports/9").whole);
    assert!(!likeness("/reports/{id}", "/reports/").whole);
    assert!(!likeness("/reports", "/reports/").whole);
    assert_eq!(likeness("/a", "/b").segments, 0);
}
