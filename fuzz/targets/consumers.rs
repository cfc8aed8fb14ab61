//! Any consumers file, cut in two anywhere: the same table, or errors that repeat no key.
#![no_main]

use libfuzzer_sys::fuzz_target;
use tollgate_policy::consumers::{Limits, Loader};

fuzz_target!(|bytes: &[u8]| {
    let whole = {
        let mut loader = Loader::new(Limits::default());
        loader.feed(bytes);
        loader.finish()
    };
    let cut = bytes.first().map_or(0, |first| usize::from(*first) % bytes.len().max(1));
    let (before, after) = bytes.split_at(cut);
    let mut loader = Loader::new(Limits::default());
    loader.feed(before);
    loader.feed(after);
    match (whole, loader.finish()) {
        (Ok(one), Ok(two)) => assert_eq!((one.len(), one.keys()), (two.len(), two.keys())),
        (Err(one), Err(two)) => assert_eq!(format!("{one:?}"), format!("{two:?}")),
        (one, two) => panic!("{} and {}", one.is_ok(), two.is_ok()),
    }
});
