//! What annotating writes, as whole texts and by laws. The policies themselves are tested where they are compiled.

mod expected;
mod random;
mod refused;
mod table;

use super::{Annotated, annotate};
use crate::Policy;
use crate::document::diagnostic::Findings;
use crate::document::read;
use crate::document::sources::{Place, Source, Sources};
use crate::document::tree::{Tree, Value};
use crate::model::PolicyLimit;

/// A document as a tree.
fn tree(text: &str) -> Tree {
    let mut sources = Sources::default();
    let id = sources.add(Source::new("openapi.yaml", text));
    let mut findings = Findings::default();
    let tree = read::read(id, sources.shared(id).unwrap(), &mut findings);
    assert!(!findings.has_errors(), "{:?}\n{text}", findings.lines(&sources));
    tree.unwrap()
}

/// What a policy says, without where it is written.
fn said(policy: &Policy) -> (Vec<String>, Vec<PolicyLimit>) {
    let operations = policy.operations().iter().map(|operation| {
        let nearest = std::mem::discriminant(&operation.nearest);
        format!(
            "{} {:?} {nearest:?} {:?} {:?}",
            operation.name(),
            operation.limits,
            operation.tags,
            operation.api_key
        )
    });
    let nowhere = |place: Place| Place { start: 0, end: 0, ..place };
    let limits = policy.limits().iter().map(|limit| {
        let mut limit = PolicyLimit { place: nowhere(limit.place), references: Vec::new(), ..limit.clone() };
        limit.tiers.iter_mut().for_each(|tier| tier.place = nowhere(tier.place));
        limit
    });
    (operations.collect(), limits.collect())
}

/// The text without what was inserted, which is looked for in the text itself.
fn without_insertions(done: &Annotated) -> String {
    let mut rest = done.text.clone();
    for piece in done.inserted.iter().rev() {
        let before: usize =
            done.inserted.iter().take_while(|other| *other != piece).map(|other| other.text.len()).sum();
        let start = piece.at as usize + before;
        let end = start + piece.text.len();
        assert_eq!(&rest[start..end], piece.text);
        rest.replace_range(start..end, "");
    }
    rest
}

/// What holds for every document that is annotated; `about` is said when it does not.
fn laws(text: &str, about: &str) -> Annotated {
    let policy = Policy::parse("openapi.yaml", text).unwrap_or_else(|why| panic!("{about}: {why}\n{text}"));
    let done = annotate("openapi.yaml", text).unwrap_or_else(|why| panic!("{about}: {why}\n{text}"));
    assert_eq!(without_insertions(&done), text, "{about}: without the insertions it is the original");
    let again =
        annotate("openapi.yaml", &done.text).unwrap_or_else(|why| panic!("{about}: {why}\n{}", done.text));
    assert_eq!(again.text, done.text, "{about}: twice is once");
    let names = |done: &Annotated| -> Vec<_> {
        done.skipped.iter().map(|one| (one.operation.clone(), one.why.clone())).collect()
    };
    assert_eq!(names(&again), names(&done), "{about}: what is skipped stays so");
    let after = Policy::parse("openapi.yaml", &done.text).unwrap_or_else(|why| panic!("{about}: {why}"));
    assert_eq!(said(&after), said(&policy), "{about}: the policy is the same");
    let tree = tree(&done.text);
    for operation in after.operations() {
        let limited = operation
            .limits
            .iter()
            .any(|id| after.limits()[id.index()].mode == tollgate_algorithms::Mode::Enforced);
        let method = operation.method.clone().unwrap().to_ascii_lowercase();
        let path = tree.value().get("paths").and_then(|paths| paths.get(&operation.written));
        let responses = path.and_then(|path| path.get(&method)?.get("responses"));
        let written = responses.and_then(|responses| responses.get("429")).is_some();
        let skipped = done.skipped.iter().any(|skipped| skipped.operation == operation.name());
        assert_eq!(limited && !skipped, written, "{about}: {} in\n{}", operation.name(), done.text);
    }
    let components = tree.value().get("components");
    let part = |part: &str, name: &str| {
        components.and_then(|all| all.get(part)?.get(name)).is_some_and(Value::is_map)
    };
    let both = part("responses", super::RESPONSE) && part("schemas", super::PROBLEM);
    assert!(both || done.inserted.is_empty(), "{about}: what is named is there");
    done
}
