//! The router against tables, limits, and slow references.

mod agree;
mod limits;
mod table;

use super::search::STEPS;
use super::{AddedTemplate, LenientSearch, Router, RouterBuilder, RouterError};
use crate::template::{Tail, Template};

fn template(text: &str) -> Template {
    Template::parse(text, Tail::Allowed).unwrap_or_else(|error| panic!("{text}: {error}"))
}

fn add(builder: &mut RouterBuilder, text: &str) -> Result<AddedTemplate, RouterError> {
    builder.add(&template(text))
}

pub(super) fn router(texts: &[&str]) -> Router {
    let mut builder = RouterBuilder::new();
    for (i, text) in (0..).zip(texts) {
        assert_eq!(add(&mut builder, text), Ok(AddedTemplate::New(i)), "{text}");
    }
    builder.build(LenientSearch::Yes).unwrap()
}

/// All ids, in the order in which they are offered; never in more steps than the router promises.
fn strictly(router: &Router, path: &str) -> Vec<u32> {
    offered(router, |all| router.find(path, all))
}

fn loosely(router: &Router, path: &str) -> Vec<u32> {
    offered(router, |all| router.find_loosely(path, all))
}

fn offered(router: &Router, find: impl FnOnce(&mut dyn FnMut(u32) -> Option<()>) -> Option<()>) -> Vec<u32> {
    let mut ids = Vec::new();
    let before = STEPS.get();
    let found = find(&mut |id| {
        ids.push(id);
        None
    });
    assert_eq!(found, None);
    let steps = STEPS.get() - before + ids.len() as u64;
    assert!(steps <= router.steps(), "{steps} steps, more than {}", router.steps());
    ids
}
