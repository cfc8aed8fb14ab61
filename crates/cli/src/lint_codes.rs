//! Every code that `lint` can give, and what it means in a sentence: for SARIF and for `--allow`. What is found is not here.

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
    (
        "keyless-scheme",
        "An operation's security schemes yield no key, so that its clients are limited by another identity.",
    ),
    ("large-log", "A limit that remembers every request needs much memory for each key."),
    ("limits-off", "The limits of an operation are switched off on purpose."),
    ("long-wait", "It takes very long until a limit that is used up lets something through again."),
    ("lower-tier", "A tier gets less than those who have none."),
    ("mixed-traffic", "Operations that are unlike each other share a budget."),
    ("no-limit", "An operation has no limit."),
    ("no-owner", "A limit has no owner, and others have one."),
    ("no-paths", "A document has no operations."),
    ("not-yet-enforced", "This version reads a part of a limit and does not enforce it yet."),
    (
        "raw-token",
        "A limit remembers for long what belongs to a token that nothing verifies, and that a client can renew.",
    ),
    ("ref-by-position", "A reference finds a limit by its position in a list, which may change."),
    ("shadow-limit", "A limit is counted, and refuses nobody."),
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
    ("alias-cycle", "An alias stands inside of what it stands for."),
    ("ambiguous", "Two operations would meet the same requests."),
    ("cannot-verify", "A key is to be verified, and nothing can verify it."),
    ("consumers", "The consumers file is wrong."),
    ("cost", "A cost cannot be used."),
    ("documents", "A file has more than one document."),
    ("empty", "Something is there, and nothing is in it."),
    ("grammar", "A file is neither YAML nor JSON."),
    ("header", "A header cannot have this name or this value."),
    ("host", "A host cannot be written like this."),
    ("jwks", "The keys that verify tokens cannot be used."),
    ("key", "Whose budget is charged cannot be told from this."),
    ("merge-key", "A merge key has no meaning in these documents."),
    ("method", "A method cannot be written like this."),
    ("missing-field", "A field is missing."),
    ("name", "A name cannot be written like this."),
    ("no-effect", "A field has no effect where it stands."),
    ("nothing-inherited", "A list inherits limits, and there are none around it."),
    ("numbers", "The numbers of a limit do not fit together."),
    ("organisations", "Organisations cannot be known from this source."),
    ("quoted-number", "A number is written as a text."),
    ("ref-cycle", "References lead back to themselves."),
    ("ref-nowhere", "A reference leads nowhere."),
    ("ref-remote", "A reference leads to another machine."),
    ("repeated-key", "A key stands twice in a map."),
    ("repeated-tag", "A tag stands twice."),
    ("required", "A document loosens a limit that the file which names it requires."),
    ("same-name", "Two limits have one name and are not the same."),
    ("security-scheme", "A security scheme cannot be used."),
    ("server-variable", "A variable of a server has no value."),
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
    ("two-settings", "Settings stand in two documents."),
    ("two-windows", "A limit has two windows."),
    ("type", "A value is of another type than it has to be."),
    ("unknown-field", "There is no field of this name."),
    ("unknown-key", "There is no key of this name."),
    ("unknown-limit", "There is no limit of this name."),
    ("unknown-tier", "There is no tier of this name."),
    ("unknown-value", "There is no value of this name."),
    ("unreachable-key", "A part of a key is never looked at."),
    ("unreadable", "A file cannot be read."),
    ("use", "A limit cannot be used like this."),
    ("value", "A value cannot be used."),
    ("version", "A document is of a version that is not known."),
];

/// What a code means; `None` for one that is not known here.
pub(crate) fn meaning(code: &str) -> Option<&'static str> {
    ADVICE.iter().chain(ERRORS).find(|(known, _)| *known == code).map(|(_, meaning)| *meaning)
}

#[cfg(test)]
mod tests {
    use std::fs;
    use std::path::Path;

    use super::*;

    /// Words with hyphens that are the first argument of a call.
    fn codes_in(text: &str) -> Vec<&str> {
        let arguments = text.split("(\"").skip(1).filter_map(|rest| rest.split('"').next());
        let is_code = |word: &&str| {
            word.contains('-') && word.bytes().all(|byte| byte.is_ascii_lowercase() || byte == b'-')
        };
        arguments.filter(is_code).collect()
    }

    #[test]
    fn every_code_of_the_advice_can_be_allowed() {
        let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../policy/src/lint");
        let mut count = 0;
        for file in fs::read_dir(folder).expect("the sources of the advice") {
            let path = file.expect("a file").path();
            if path.extension().is_none_or(|extension| extension != "rs") || path.ends_with("tests.rs") {
                continue;
            }
            let text = fs::read_to_string(&path).expect("it is text");
            for code in codes_in(&text) {
                count += 1;
                assert!(ADVICE.iter().any(|(known, _)| *known == code), "`{code}` of {}", path.display());
            }
        }
        assert!(count >= 15, "only {count} codes are found");
    }

    #[test]
    fn codes_are_sorted_and_their_meanings_are_sentences() {
        for list in [ADVICE, ERRORS] {
            assert!(list.is_sorted_by(|(a, _), (b, _)| a < b));
            assert!(list.iter().all(|(_, meaning)| meaning.ends_with('.')));
        }
    }
}
