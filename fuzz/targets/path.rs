//! Any path: refused, or normal and normal for ever; and a template made of it matches it or is refused.
#![no_main]

use libfuzzer_sys::fuzz_target;
use tollgate_http::path::normalise;
use tollgate_policy::template::{Tail, Template};

fuzz_target!(|path: &str| {
    let (mut first, mut second) = (String::new(), String::new());
    if let Ok(once) = normalise(path, &mut first) {
        assert!(once.starts_with('/') && once.is_ascii());
        assert_eq!(normalise(once, &mut second), Ok(once), "normal is normal");
    }
    let _ = Template::parse(path, Tail::Allowed);
});
