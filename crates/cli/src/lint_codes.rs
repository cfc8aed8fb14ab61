//! Every code of `lint` with its meaning, for SARIF and `--allow`.

/// What is advised: the code, and what it means. Only these can be allowed.
pub(crate) const ADVICE: &[(&str, &str)] = &[
    (
        "claimed-key",
        "A limit is counted by a value that a client can choose, so that a new value is a new budget.",
    ),
    (
        "client-chosen-route",
        "A route that a client can choose by a host or a header is free, and another is limited.",
    ),
    ("cost-may-not-fit", "A request may cost more than its limit ever allows."),
    ("cost-never-fits", "A request costs more than its limit ever allows."),
    (
        "dropped-header",
        "A header is read that the gateway takes from trusted proxies only, and none is trusted.",
    ),
    ("idle-action", "An action of an overlay removes what no document has."),
    (
        "kept-header",
        "A header is read whose name some servers take for another one, of which the gateway passes on nothing.",
    ),
    (
        "keyless-scheme",
        "An operation's security schemes yield no key, so that its clients are limited by another identity.",
    ),
    ("large-log", "A limit that remembers every request needs much memory for each key."),
    ("limits-off", "The limits of an operation are switched off on purpose."),
    (
        "long-lockout",
        "A client that moves to a lower tier waits very long for what it used in the higher one.",
    ),
    ("long-queue", "A queue has more places than requests that leave in the time that one may wait."),
    ("long-wait", "It takes very long until a limit that is used up lets something through again."),
    (
        "low-concurrency",
        "Everyone together may have fewer requests in progress than a single client is promised.",
    ),
    ("lower-tier", "A tier gets less than those who have none."),
    ("mixed-traffic", "Operations that are unlike each other share a budget."),
    ("no-limit", "An operation has no limit."),
    ("no-owner", "A limit has no owner, and others have one."),
    ("no-paths", "A document has no operations."),
    ("not-yet-enforced", "This version reads a part of a limit and does not enforce it yet."),
    ("one-line", "Requests take turns by what they are counted by, so that there are no turns."),
    (
        "raw-token",
        "A limit remembers for long what belongs to a token that nothing verifies, and that a client can renew.",
    ),
    ("ref-by-position", "A reference finds a limit by its position in a list, which may change."),
    ("relative-server", "A server's address is relative to where the document is served."),
    ("shadow-limit", "A limit counts, but refuses no request."),
    (
        "share-too-small",
        "A request costs more than the share of a limit that a process has while the shared store fails.",
    ),
    ("shared-route", "Operations are one route, since nothing in a request tells them apart."),
    ("suppression", "A comment that accepts advice has no effect."),
    ("tiers-without-source", "A limit has numbers for tiers, and nothing says which tier a client has."),
    ("unlimited-unmatched", "What no operation names is forwarded, and not limited at all."),
    (
        "unnamed-limit",
        "A limit has no name of its own, so that its budget begins anew when its place changes.",
    ),
    ("unreachable-limit", "A limit never refuses, because another one always refuses before it."),
    ("unused-limit", "A limit is defined under `limits`, and nothing uses it."),
    ("unused-tag", "A tag has limits, and no operation has the tag."),
    ("window-boundary", "A limit admits more than its number around the boundary of a window."),
];

/// What is wrong: the code, and what it means.
const ERRORS: &[(&str, &str)] = &[
    ("addresses", "The prefixes of addresses cannot be used."),
    ("alias-cycle", "An alias is part of the value that it refers to."),
    ("ambiguous", "Two operations would meet the same requests."),
    ("base-path", "A proxy in front takes a base path away that no server has."),
    ("beside-ref", "Fields beside a `$ref` have no effect."),
    ("cannot-verify", "A key is to be verified, and nothing can verify it."),
    ("consumers", "The consumers file is wrong."),
    ("cors", "The origins of scripts in browsers cannot be used."),
    ("cost", "A cost cannot be used."),
    ("documents", "A file has more than one document."),
    ("empty", "Something is there, and nothing is in it."),
    ("grammar", "A file is neither YAML nor JSON."),
    ("header", "A header cannot have this name or this value."),
    ("header-name", "A policy reads a header that the gateway drops because of its name."),
    ("host", "A host cannot be written like this."),
    ("jwks", "The keys that verify tokens cannot be used."),
    ("key", "The key is invalid: it identifies no client."),
    ("merge-key", "A merge key has no meaning in these documents."),
    ("method", "A method cannot be written like this."),
    ("missing-field", "A field is missing."),
    ("name", "A name cannot be written like this."),
    ("no-effect", "A field has no effect here."),
    ("not-scenarios", "A file that is given as scenarios is something else."),
    ("nothing-inherited", "A list inherits limits, and there are none around it."),
    ("numbers", "The numbers of a limit do not fit together."),
    ("operation-ref", "An operation is a `$ref`, which OpenAPI does not have."),
    ("organisations", "The source of organisations cannot be used."),
    ("overlay-alias", "An overlay changes what an alias leads to."),
    ("overlay-alone", "An overlay has no document that it changes."),
    ("overlay-target", "An action of an overlay cannot be applied."),
    ("priorities", "The priorities cannot be used."),
    ("quoted-number", "A number is written as a text."),
    ("ref-cycle", "References lead back to themselves."),
    ("ref-nowhere", "A reference leads nowhere."),
    ("ref-remote", "A reference leads to another machine."),
    ("ref-unreadable", "A file that a `$ref` names cannot be read."),
    ("repeated-key", "A map has the same key twice."),
    ("repeated-tag", "A tag is declared twice."),
    ("request", "A step of a scenario has no method or no target."),
    ("required", "A document loosens a limit that the file which names it requires."),
    ("same-name", "Two limits have one name and are not the same."),
    ("scenario", "A request of a scenario was answered otherwise than expected."),
    ("security-scheme", "A security scheme cannot be used."),
    ("server", "A server's address cannot be used."),
    ("server-variable", "A variable of a server has no value."),
    ("settings", "A setting of `serve` cannot be used as it is given."),
    ("several-defaults", "Several documents set limits for what no operation names."),
    ("step-order", "A step of a scenario is before the one above it."),
    ("tag", "A tag of one's own has no meaning in these documents."),
    ("tags-disagree", "One tag of an operation switches limits off, and another sets them."),
    ("template", "A path cannot be written like this."),
    ("tiers", "The tiers cannot be used."),
    ("too-deep", "Lists and maps stand too deep in one another."),
    ("too-large", "A document is too large."),
    ("too-long", "A text is too long."),
    ("too-many", "There are more of something than there may be."),
    ("trusted-proxies", "The trusted proxies cannot be used."),
    ("two-costs", "A limit is used twice for one operation, at different costs."),
    ("two-policies", "Two files are to be enforced, and one gateway has one policy."),
    ("two-settings", "Settings stand in two documents."),
    ("two-windows", "A limit has two windows."),
    ("type", "A value is of another type than it has to be."),
    ("unknown-code", "There is no advice with this code."),
    ("unknown-field", "There is no field of this name."),
    ("unknown-key", "There is no key of this name."),
    ("unknown-limit", "There is no limit of this name."),
    ("unknown-scheme", "There is no security scheme of this name."),
    ("unknown-tag", "There is no tag of this name."),
    ("unknown-tier", "There is no tier of this name."),
    ("unknown-value", "There is no value of this name."),
    ("unreachable-key", "A part of a key is never looked at."),
    ("unreadable", "A file cannot be read."),
    ("use", "A limit cannot be used like this."),
    ("value", "A value cannot be used."),
    ("version", "A document is of a version that is not known."),
];

/// A page for each code: what it means, and a document before and after.
const PAGES: &str = include_str!("../lint-codes.md");

/// What a code means; `None` for one that is not known here.
pub(crate) fn meaning(code: &str) -> Option<&'static str> {
    ADVICE.iter().chain(ERRORS).find(|(known, _)| *known == code).map(|(_, meaning)| *meaning)
}

/// Every code, advice first.
pub(crate) fn all() -> impl Iterator<Item = &'static str> {
    ADVICE.iter().chain(ERRORS).map(|(code, _)| *code)
}

/// The page of a code, with its code and meaning at its head.
pub(crate) fn page(code: &str) -> Option<String> {
    let meaning = meaning(code)?;
    let kind = if ADVICE.iter().any(|(known, _)| *known == code) { "advice" } else { "error" };
    Some(format!("{code} ({kind})\n\n{meaning}\n\n{}", details(code)))
}

/// What the page of a code says beyond its meaning, as Markdown; nothing if there is no such page.
pub(crate) fn details(code: &str) -> &'static str {
    let text = PAGES.split_once(&format!("\n## {code}\n")).map_or("", |(_, text)| text);
    text.split("\n## ").next().unwrap_or_default().trim()
}

/// The known code that was probably meant.
pub(crate) fn nearest(code: &str) -> Option<&'static str> {
    tollgate_policy::nearest(code, all())
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;
    use std::fs;
    use std::path::Path;

    use super::*;

    /// Where the code of an error is the next argument, and where that of advice is.
    const OF_ERRORS: &[&str] = &[
        "Diagnostic::error(",
        "context.error(",
        "self.error(",
        "Diagnostic::new(Severity::Error,",
        "Diagnostic::new(severity,",
        "= (Severity::Error,",
    ];
    const OF_ADVICE: &[&str] = &[
        "Diagnostic::warning(",
        "Diagnostic::note(",
        "finding(kind,",
        "finding(Diagnostic::warning,",
        "finding(Diagnostic::note,",
        "finding(",
        "kind(",
    ];

    /// The codes that are written in a source after one of these.
    fn codes_after<'a>(text: &'a str, markers: &[&str]) -> Vec<&'a str> {
        let after = markers.iter().flat_map(|marker| text.split(marker).skip(1));
        let arguments = after.filter_map(|rest| rest.trim_start().strip_prefix('"')?.split('"').next());
        arguments.filter(|code| code.bytes().all(|byte| byte.is_ascii_lowercase() || byte == b'-')).collect()
    }

    /// Every source of the two crates that find something, but for tests.
    fn sources() -> Vec<String> {
        let here = Path::new(env!("CARGO_MANIFEST_DIR"));
        let (mut folders, mut found) = (vec![here.join("src"), here.join("../policy/src")], Vec::new());
        while let Some(folder) = folders.pop() {
            for entry in fs::read_dir(folder).expect("the source is there") {
                let path = entry.expect("an entry").path();
                if path.is_dir() {
                    folders.extend(Some(path).filter(|path| !path.ends_with("tests")));
                } else if path.extension().is_some_and(|end| end == "rs") && !path.ends_with("tests.rs") {
                    found.push(fs::read_to_string(&path).expect("it is text"));
                }
            }
        }
        found
    }

    /// A code that the source has and the list has not, or the other way round.
    #[test]
    fn the_lists_and_the_sources_have_the_same_codes() {
        let sources = sources();
        for (list, markers) in [(ADVICE, OF_ADVICE), (ERRORS, OF_ERRORS)] {
            let written: BTreeSet<_> = sources.iter().flat_map(|text| codes_after(text, markers)).collect();
            let listed: BTreeSet<_> = list.iter().map(|(code, _)| *code).collect();
            let unlisted: Vec<_> = written.difference(&listed).collect();
            let gone: Vec<_> = listed.difference(&written).collect();
            assert!(
                unlisted.is_empty() && gone.is_empty(),
                "to be added: {unlisted:?}, to be removed: {gone:?}"
            );
        }
    }

    #[test]
    fn codes_are_sorted_and_their_meanings_are_sentences() {
        for list in [ADVICE, ERRORS] {
            assert!(list.is_sorted_by(|(a, _), (b, _)| a < b));
            assert!(list.iter().all(|(_, meaning)| meaning.ends_with('.')));
        }
    }
}
