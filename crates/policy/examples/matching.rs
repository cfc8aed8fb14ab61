//! Documents of several sizes: does every path find its own template? With the argument `time`, how long that takes.
#![expect(clippy::print_stdout, reason = "an example prints")]

use std::time::Instant;

use tollgate_http::path::normalise;
use tollgate_policy::router::{LenientSearch, Router, RouterBuilder};
use tollgate_policy::template::{Tail, Template};

/// The templates of so many operations, and a path for each.
fn document(operations: usize) -> (Vec<Template>, Vec<String>) {
    let (mut templates, mut paths) = (Vec::new(), Vec::new());
    for i in 0..operations {
        let (resource, what) = (i / 4, i % 4);
        let text = [
            format!("/api/v1/resource-{resource}"),
            format!("/api/v1/resource-{resource}/{{id}}"),
            format!("/api/v1/resource-{resource}/{{id}}/items"),
            format!("/api/v1/resource-{resource}/{{id}}/items/{{item}}"),
        ];
        let text = &text[what];
        templates.push(Template::parse(text, Tail::Refused).expect("a template"));
        paths.push(text.replace("{id}", "8f14e45f").replace("{item}", "1679091c5a88"));
    }
    (templates, paths)
}

fn router(templates: &[Template], loose: LenientSearch) -> Router {
    let mut builder = RouterBuilder::new();
    for template in templates {
        builder.add(template).expect("no two are ambiguous");
    }
    builder.build(loose).expect("nothing is tangled")
}

fn main() {
    let time = std::env::args().any(|argument| argument == "time");
    for operations in [10, 1_000, 10_000] {
        let (templates, paths) = document(operations);
        let router = router(&templates, LenientSearch::Yes);
        let mut buffer = String::new();
        let mut find = |path: &str| router.find(normalise(path, &mut buffer).ok()?, Some);
        let own = (0..).zip(&paths).filter(|(id, path)| find(path) == Some(*id)).count();
        println!(
            "{operations} operations: {own} paths find their own template, in at most {} steps",
            router.steps()
        );
        if time {
            report(&templates, &paths);
        }
    }
}

/// Nanoseconds for each normalise and find, of a walk through all paths in an order that the cache does not like.
fn report(templates: &[Template], paths: &[String]) {
    for (what, loose) in
        [("a router", LenientSearch::No), ("one that also finds loosely", LenientSearch::Yes)]
    {
        let start = stopwatch();
        let built = router(templates, loose);
        println!("  {what} is built in {} us", start.elapsed().as_micros());
        drop(built);
    }
    let router = router(templates, LenientSearch::Yes);
    let changed: Vec<String> = paths.iter().map(|path| path.replace("resource", "r%65source")).collect();
    let cased: Vec<String> = paths.iter().map(|path| path.replace("resource", "Resource")).collect();
    let mut buffer = String::new();
    let mut time = |what: &str, paths: &[String], find: fn(&Router, &str) -> Option<u32>| {
        const ROUNDS: usize = 2_000_000;
        let mut found = 0;
        let start = stopwatch();
        for i in 0..ROUNDS {
            let path = &paths[(i * 7919) % paths.len()];
            let path = normalise(path, &mut buffer).unwrap_or_default();
            found += usize::from(find(&router, path).is_some());
        }
        let each = start.elapsed().as_nanos() / ROUNDS as u128;
        println!("  {what}: {each} ns each, {found} found");
    };
    time("normal paths, not looked for", paths, |_, path| u32::try_from(path.len()).ok());
    time("normal paths", paths, |router, path| router.find(path, Some));
    time("paths with an escape to decode", &changed, |router, path| router.find(path, Some));
    time("found loosely after not being found", &cased, |router, path| {
        router.find(path, Some).or_else(|| router.find_loosely(path, Some))
    });
}

#[expect(clippy::disallowed_methods, reason = "a stopwatch for the report")]
fn stopwatch() -> Instant {
    Instant::now()
}
