//! Limits in a real Redis: one budget for several endpoints, and errors, never grants, while it is away.

use tollgate::redis::{Address, Naming, Settings, Store};
use tollgate::{Clock, Limiter, Micros};
use tollgate_testing::make::Make;
use tollgate_testing::patience;
use tollgate_testing::server::Server;

use super::support::{Served, packed, shown};

fn served(address: &str, runtime: &tokio::runtime::Runtime) -> Served {
    let _entered = runtime.enter();
    let address: Address = address.parse().unwrap();
    let store = Store::open(address, Settings::default()).unwrap();
    // Connections, scripts.
    runtime.block_on(store.ready());
    let clock = Clock::manual(Micros::from_secs(1));
    let limiter =
        Limiter::builder().clock(clock.clock()).store(store, Naming::without_secret()).build().unwrap();
    Served::of(limiter, clock, |endpoint| endpoint)
}

#[test]
fn two_endpoints_share_a_budget_and_a_store_that_is_away_is_an_error() {
    let mut redis = Server::start(Make::Redis7, &[]).unwrap();
    let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(1).enable_all().build().unwrap();
    let address = format!("unix://{}", redis.socket().display());
    let (one, other) = (served(&address, &runtime), served(&address, &runtime));
    let (mut first, mut second) = (one.client(), other.client());
    assert_eq!(first.said("CL.THROTTLE key 2 1 3600"), "0 3 2 -1 3600");
    assert!(second.said("CL.THROTTLE key 2 1 3600").starts_with("0 3 1 -1 7"));
    // A pipeline is on its way at once, and its replies are in order.
    first.send(&packed(&["CL.THROTTLE", "key", "2", "1", "3600"]).repeat(40));
    let replies: Vec<String> = (0..40).map(|_| shown(&first.reply())).collect();
    assert!(replies[0].starts_with("0 3 0 -1"), "{}", replies[0]);
    assert!(replies[1..].iter().all(|reply| reply.starts_with("1 3 0 3")), "{replies:?}");
    let said = first.said("TG.CHECK FIXED_WINDOW key 5 3600 RECEIPT 60");
    assert!(said.starts_with("granted 1 charged 1 limit 5 remaining 4"), "{said}");

    redis.kill();
    for command in [
        "CL.THROTTLE key 2 1 3600",
        "CL.THROTTLE fresh 2 1 3600",
        "TG.CHECK GCRA key 3 1 3600",
        "TG.PEEK GCRA key 3 1 3600",
        "TG.INSPECT GCRA key 3 1 3600",
        "TG.RESET GCRA key 3 1 3600",
        "TG.RESERVE GCRA key 3 1 3600 COST 1",
    ] {
        let said = first.said(command);
        assert!(said.starts_with("-UNAVAILABLE "), "{command}: {said}");
    }
    assert!(one.endpoint.endpoint_metrics().undetermined.get() >= 7);
    assert_eq!(first.said("PING"), "PONG");
    redis.spawn().unwrap();
    redis.ready().unwrap();
    patience::until("it decides again", || first.said("CL.THROTTLE fresh 2 1 3600").starts_with("0 3 2"));
}
