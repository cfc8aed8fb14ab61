//! The router against tables, limits, and slow references.

mod agree;
mod limits;
mod table;

use super::{Added, Loose, Router, RouterBuilder, RouterError};
use crate::template::{Tail, Template};

fn template(text: &str) -> Template {
    Template::parse(text, Tail::Allowed).unwrap_or_else(|error| panic!("{text}: {error}"))
}

fn add(builder: &mut RouterBuilder, text: &str) -> Result<Added, RouterError> {
    builder.add(&template(text))
}

fn router(texts: &[&str]) -> Router {
    let mut builder = RouterBuilder::new();
    for (i, text) in (0..).zip(texts) {
        assert_eq!(add(&mut builder, text), Ok(Added::New(i)), "{text}");
    }
    builder.build(Loose::Yes).unwrap()
}

/// All ids, in the order in which they are offered.
fn strictly(router: &Router, path: &str) -> Vec<u32> {
    let mut ids = Vec::new();
    assert_eq!(
        router.find(path, |id| -> Option<()> {
            ids.push(id);
            None
        }),
        None
    );
    ids
}

fn loosely(router: &Router, path: &str) -> Vec<u32> {
    let mut ids = Vec::new();
    assert_eq!(
        router.find_loosely(path, |id| -> Option<()> {
            ids.push(id);
            None
        }),
        None
    );
    ids
}
