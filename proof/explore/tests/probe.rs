//! probe probe probe probe probe
use tollgate_explore::scenarios::ALL;
#[test]
fn one() {
    let name = std::env::var("S").unwrap();
    if std::env::var("Q").is_ok() {
        std::panic::set_hook(Box::new(|_| {}));
    }
    for scenario in ALL.iter().filter(|s| s.name.contains(&name)) {
        let t = std::time::Instant::now();
        let n = std::panic::catch_unwind(|| scenario.explore());
        if n.is_err() {
            tollgate_explore::scenarios::dump();
        }
        let n = n.map_err(|e| {
            e.downcast_ref::<String>().cloned().or(e.downcast_ref::<&str>().map(|s| s.to_string()))
        });
        println!("{:40} {n:?} {:?}", scenario.name, t.elapsed());
    }
}
