//! Connections that are cut between any two bytes, answers that get lost or come late, and answers that are none.

use std::time::Duration;

use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::UnixListener;
use tokio::time::Instant;
use tollgate_redis::{BreakerState, Call, Cause, Link, LinkError, Settings, Value, Writes};

use crate::figures::{Noise, Play};
use crate::load::{count, counted};
use crate::proxy::{Proxy, Rule};
use crate::server::Server;
use crate::support::{run, until};
use crate::wires::{cut, lost};

fn patient() -> Settings {
    let short = Duration::from_millis(1);
    Settings { budget: Duration::from_secs(5), backoff_min: short, backoff_max: short, ..Settings::default() }
}

/// How many bytes go to the server and come back for one call, first word included: more than enough to cut at each.
const THERE: usize = 380;
const BACK: usize = 80;

/// One call on a fresh link whose first connection is cut as the rule says. Returns whether it was answered, and whether it
/// may have run.
async fn cut_once(proxy: &Proxy, rule: Rule, call: &Call) -> (bool, bool) {
    proxy.next(rule);
    let link = Link::open(proxy.address(), patient()).unwrap();
    match link.call(call).await {
        Ok(_) => (true, true),
        Err(error) => (false, error.may_have_run()),
    }
}

/// Cuts between any two bytes, in both directions, and counts.
async fn cut_everywhere(forgetful: bool) {
    let server = Server::started(&[]).await;
    let proxy = Proxy::start(&server.socket());
    let there = (0..THERE).map(|bytes| Rule { to_server: Some(bytes), ..Rule::default() });
    let back = (0..BACK).map(|bytes| Rule { to_client: Some(bytes), ..Rule::default() });
    let (mut answered, mut maybe) = (0, 0);
    for rule in there.chain(back) {
        if forgetful {
            server.tell("SCRIPT FLUSH");
        }
        let before = counted(&server, "a");
        let (ok, ran) = cut_once(&proxy, rule, &count("a")).await;
        // What a server has read it may still be running.
        server.tell("PING");
        let charged = counted(&server, "a") - before;
        assert!(charged >= u64::from(ok), "answered and not counted: {rule:?}");
        assert!(charged <= u64::from(ran), "counted although it cannot have run, or twice: {rule:?}");
        answered += u64::from(ok);
        maybe += u64::from(ran && !ok);
    }
    assert!(answered > 0 && maybe > 0, "{answered} answered, {maybe} may have run");
}

#[test]
fn a_connection_that_is_cut_between_any_two_bytes_charges_at_most_once() {
    run(cut_everywhere(false));
}

#[test]
fn the_same_while_the_server_does_not_know_the_script() {
    run(cut_everywhere(true));
}

#[test]
fn a_call_that_only_reads_is_asked_again_on_a_new_connection_and_one_that_writes_is_not() {
    run(async {
        for (writes, expected) in [
            (Writes::Nothing, Ok(3)),
            (Writes::Always, Err(LinkError::Lost { cause: Cause::Closed, sent: true })),
        ] {
            let server = Server::started(&[]).await;
            let proxy = Proxy::start(&server.socket());
            server.tell_words(&["SCRIPT", "LOAD", &count("a").script.text]).unwrap();
            // The greeting, `+OK` and `+PONG`, and the first answer come back; the second is cut after its first byte.
            proxy.next(Rule { to_client: Some(5 + 7 + 4 + 1), ..Rule::default() });
            let link = Link::open(proxy.address(), patient()).unwrap();
            let call = Call { writes, ..count("a") };
            link.call(&call).await.unwrap();
            let heard = link.call(&call).await.map(|value| value.as_int().unwrap());
            assert_eq!(heard, expected);
            // It was cut after it had run: asked again, it runs again.
            assert_eq!(counted(&server, "a"), if heard.is_ok() { 3 } else { 2 });
        }
    });
}

#[test]
fn an_answer_that_is_lost_leaves_one_charge_and_says_that_it_may_have_run() {
    run(async {
        let server = Server::started(&[]).await;
        let proxy = Proxy::start(&server.socket());
        server.tell_words(&["SCRIPT", "LOAD", &count("a").script.text]).unwrap();
        proxy.next(Rule { swallow_after: Some(5 + 7), ..Rule::default() });
        let settings = Settings { budget: Duration::from_millis(100), ..patient() };
        let link = Link::open(proxy.address(), settings).unwrap();
        until("it is up", || link.health().up).await;
        assert_eq!(link.call(&count("a")).await.unwrap_err(), LinkError::Timeout { sent: true });
        assert_eq!(counted(&server, "a"), 1);
        until("the silent connection is given up", || link.health().connections == 2).await;
        until("a call is answered", || link.health().up).await;
        link.call(&count("a")).await.unwrap();
        assert_eq!(counted(&server, "a"), 2);
    });
}

#[test]
fn answers_that_are_lost_under_load_are_charged_at_most_once() {
    let figures = run(lost(&Play::full(Duration::ZERO)));
    println!("{figures}");
    assert_eq!(figures.wrong, 0, "{figures}");
    let maybe =
        figures.samples.iter().filter(|sample| sample.end.as_ref().is_err_and(LinkError::may_have_run));
    assert!(maybe.count() > 0, "{figures}");
}

#[test]
fn connections_that_are_cut_under_load_are_charged_at_most_once() {
    let figures = run(cut(&Play::full(Duration::ZERO)));
    println!("{figures}");
    assert_eq!(figures.wrong, 0, "{figures}");
    assert!(figures.recovered.is_some(), "{figures}");
    let lost = figures.samples.iter().filter(|sample| sample.cause() == Some(Cause::Closed));
    assert!(lost.count() > 0, "{figures}");
}

#[test]
fn an_answer_within_a_long_budget_is_waited_for() {
    run(async {
        let server = Server::started(&[]).await;
        let proxy = Proxy::start(&server.socket());
        let settings = Settings { budget: Duration::from_secs(2), ..Settings::default() };
        let link = Link::open(proxy.address(), settings).unwrap();
        until("it is up", || link.health().up).await;
        // Longer than a connection may be silent with a shorter budget.
        proxy.delay(Settings::default().stall_timeout * 2);
        link.call(&count("a")).await.unwrap();
        assert_eq!(link.health().connections, 1);
    });
}

#[test]
fn a_slow_link_costs_the_budget_and_not_more() {
    run(async {
        let server = Server::started(&[]).await;
        let proxy = Proxy::start(&server.socket());
        let settings =
            Settings { breaker_failures: 3, stall_timeout: Duration::from_secs(60), ..Settings::default() };
        let budget = settings.budget;
        let link = Link::open(proxy.address(), settings).unwrap();
        until("it is up", || link.health().up).await;
        proxy.delay(Duration::from_millis(400));
        let noise = Noise::start();
        let mut worst = Duration::ZERO;
        for at in 0..3 {
            let start = Instant::now();
            let error = link.call(&count("a")).await.unwrap_err();
            worst = worst.max(start.elapsed());
            assert_eq!(error, LinkError::Timeout { sent: true }, "call {at}");
        }
        let noise = noise.stop();
        assert!(worst <= budget + Duration::from_millis(25) + noise, "{worst:?}, noise {noise:?}");
        assert_ne!(link.health().breaker, BreakerState::Closed);
        assert!(link.health().in_flight >= 1, "late answers are still waited for");
        until("late answers are taken for what they are", || link.health().in_flight == 0).await;
    });
}

/// A server that says this as its first word, and then this to every call.
async fn saying(first: &'static [u8], then: &'static [u8]) -> (Server, Link) {
    let server = Server::new(&[]);
    let listener = UnixListener::bind(server.socket()).unwrap();
    tokio::spawn(async move {
        while let Ok((mut client, _)) = listener.accept().await {
            tokio::spawn(async move {
                let mut buffer = [0; 4096];
                for said in std::iter::once(first).chain(std::iter::repeat(then)) {
                    if !matches!(client.read(&mut buffer).await, Ok(1..))
                        || client.write_all(said).await.is_err()
                    {
                        return;
                    }
                }
            });
        }
    });
    let link = Link::open(server.address(), patient()).unwrap();
    until("it has tried", || link.health().up || link.health().trouble.is_some()).await;
    (server, link)
}

#[test]
fn what_is_not_the_protocol_ends_the_connection_and_not_the_process() {
    run(async {
        for first in [
            b"HTTP/1.1 400 Bad Request\r\n".as_slice(),
            b"+OK\r\n+PONG\r\n+PONG\r\n",
            b"$99999999999\r\n",
            b"\0\n",
        ] {
            let (_server, link) = saying(first, b"").await;
            let error = link.call(&count("a")).await.unwrap_err();
            assert_eq!((error.cause(), error.may_have_run()), (Cause::Garbled, false), "{first:?}: {error}");
        }
        for then in [b"%1\r\n".as_slice(), b":1\r\n:2\r\n", b"*99999999\r\n", b":one\r\n"] {
            let (_server, link) = saying(b"+OK\r\n+PONG\r\n", then).await;
            let ended = link.call(&count("a")).await;
            // A right answer that is followed by a wrong one is an answer.
            let right = matches!(ended, Ok(Value::Int(1))) && then.starts_with(b":1");
            assert!(right || ended.as_ref().is_err_and(|error| error.may_have_run()), "{then:?}: {ended:?}");
            until("it is given up", || link.health().connections > 1).await;
        }
    });
}

#[test]
fn a_server_that_greets_and_hangs_up_is_not_hammered() {
    run(async {
        let server = Server::new(&[]);
        let listener = UnixListener::bind(server.socket()).unwrap();
        tokio::spawn(async move {
            while let Ok((mut client, _)) = listener.accept().await {
                let heard = client.read(&mut [0; 64]).await;
                assert!(heard.is_ok() && client.write_all(b"+OK\r\n+PONG\r\n").await.is_ok());
            }
        });
        let (backoff_min, backoff_max) = (Duration::from_millis(20), Duration::from_millis(80));
        let start = Instant::now();
        let link = Link::open(server.address(), Settings { backoff_min, backoff_max, ..patient() }).unwrap();
        until("it was tried six times", || link.health().connections >= 6).await;
        // Half of 20, 40, 80, 80 and 80 ms, at least.
        assert!(start.elapsed() >= Duration::from_millis(150), "{:?}", start.elapsed());
    });
}
