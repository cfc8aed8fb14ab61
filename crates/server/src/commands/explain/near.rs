//! Operations that a request which met none may have been meant for, and what kept it from each. A guess, for people.

use tollgate_policy::{Facts, Operation, Policy};

/// So many are named.
const NEAR_MAX: usize = 3;

/// An operation, and why it was not met.
#[derive(Debug)]
pub(super) struct Near {
    pub(super) name: String,
    pub(super) at: String,
    pub(super) why: String,
}

/// How alike a template and a path are; the larger, the more.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
struct Likeness {
    /// The template has this path: something else kept the request from it.
    whole: bool,
    /// So many segments from the start agree.
    start: usize,
    /// So many letters agree in the first segment that does not.
    letters: usize,
    /// So many segments agree in their places.
    segments: usize,
}

/// The nearest operations, the nearest first.
pub(super) fn near(policy: &Policy, facts: &Facts<'_>) -> Vec<Near> {
    let mut found: Vec<(Likeness, &Operation)> = Vec::new();
    for operation in policy.operations() {
        let templates = operation.bases.iter().map(|base| format!("{base}{}", operation.written));
        let best = templates.map(|template| likeness(&template, facts.path)).max();
        found.extend(best.filter(|best| best.segments > 0 || best.letters > 0).map(|best| (best, operation)));
    }
    // Stable: where two are equally near, the one that is written first.
    found.sort_by_key(|(likeness, _)| std::cmp::Reverse(*likeness));
    let most = found.iter().filter(|(likeness, _)| likeness.whole).count();
    // Where the path itself is there, other paths are not what was meant.
    found.truncate(if most > 0 { most.min(NEAR_MAX) } else { NEAR_MAX });
    let described = found.into_iter().map(|(likeness, operation)| Near {
        name: operation.name(),
        at: policy.sources().locate(operation.place),
        why: if likeness.whole { kept(operation, facts) } else { "its path is another".into() },
    });
    described.collect()
}

fn likeness(template: &str, path: &str) -> Likeness {
    let (mut theirs, mut ours) = (template.split('/').skip(1), path.split('/').skip(1));
    let mut found = Likeness { whole: true, start: 0, letters: 0, segments: 0 };
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
fn kept(operation: &Operation, facts: &Facts<'_>) -> String {
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
    if reasons.is_empty() { "another one goes before it".into() } else { reasons.join(", and ") }
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
