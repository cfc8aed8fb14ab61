//! Any document: a policy, or findings that stand within it. Never a panic, never unbounded.
#![no_main]

use libfuzzer_sys::fuzz_target;
use tollgate_policy::Policy;
use tollgate_policy::scenario::Scenarios;

fuzz_target!(|text: &str| {
    match Policy::parse("fuzz.yaml", text) {
        Ok(policy) => {
            for limit in policy.limits() {
                assert!(limit.name.bytes().all(|byte| (0x20..0x7f).contains(&byte)), "names stand in headers");
            }
        }
        Err(refused) => {
            assert!(refused.findings.has_errors());
            for finding in refused.findings.all() {
                assert!(finding.place.start <= finding.place.end);
                assert!(finding.place.end as usize <= text.len());
                assert!(!finding.message.contains('\n') && !finding.message.contains('\u{1b}'));
            }
        }
    }
    let _ = Scenarios::load("fuzz.yaml", &mut |_| Ok(text.to_owned()));
});
