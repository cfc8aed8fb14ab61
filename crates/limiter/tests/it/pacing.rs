//! A paced client of a server that counts its requests: it is never refused, and uses most of what it is allowed. In virtual time, with
//! latencies that differ, so that requests and responses overtake each other.

use std::time::Duration;

use tollgate::{Limit, Limiter, ManualClock, Micros, NamedLimit, Pacer, Pass, Window};
use tollgate_testing::random::Random;

use crate::waiting::Task;
use crate::with_clock;

const ORIGIN: &str = "https://api.example.org";

/// A request on its way to the server, or a response on its way back.
struct Flight {
    at: Micros,
    pass: Pass,
    /// The response, if the server has answered.
    response: Option<(u16, String)>,
}

/// A client, a server, and the way between them.
struct World {
    clock: ManualClock,
    pacer: Pacer,
    server: NamedLimit,
    random: Random,
    waiting: Vec<Task<Pass>>,
    flights: Vec<Flight>,
    granted: u64,
    refused: u64,
    _limiter: Limiter,
}

impl World {
    fn new(limit: Limit, seed: u64) -> Self {
        let (limiter, clock) = with_clock();
        let (pacer, server) = (limiter.pacer(), limiter.limit("server", limit));
        let random = Random::new(seed);
        let (waiting, flights, granted, refused) = (Vec::new(), Vec::new(), 0, 0);
        Self { clock, pacer, server, random, waiting, flights, granted, refused, _limiter: limiter }
    }

    /// From 1 to 50 ms.
    fn way(&mut self) -> Micros {
        self.clock.now().saturating_add(Micros::new(self.random.within(1_000, 50_000)))
    }

    fn wants(&mut self) {
        let pacer = self.pacer.clone();
        let (task, first) = Task::new(async move { pacer.ready(ORIGIN).await });
        match first {
            Some(pass) => self.send(pass),
            None => self.waiting.push(task),
        }
    }

    fn send(&mut self, pass: Pass) {
        let at = self.way();
        self.flights.push(Flight { at, pass, response: None });
    }

    /// What the server says: whole seconds, rounded up, as in the headers of the layer.
    fn decide(&mut self) -> (u16, String) {
        let verdict = self.server.try_check("client").unwrap();
        let decision = verdict.results()[0].decision();
        let seconds = |time: Micros| time.get().div_ceil(1_000_000);
        if verdict.is_granted() {
            self.granted += 1;
            let (r, t) = (decision.remaining, seconds(decision.reset_after));
            return (200, format!("\"server\";r={r};t={t}"));
        }
        self.refused += 1;
        (429, String::new())
    }

    /// Lets one millisecond pass.
    fn tick(&mut self) {
        self.clock.advance(Duration::from_millis(1));
        let now = self.clock.now();
        let (due, later): (Vec<_>, Vec<_>) = self.flights.drain(..).partition(|flight| flight.at <= now);
        self.flights = later;
        for flight in due {
            let Flight { mut pass, response, .. } = flight;
            match response {
                None => {
                    let (response, at) = (Some(self.decide()), self.way());
                    self.flights.push(Flight { at, pass, response });
                }
                Some((status, field)) => {
                    pass.observe(status, [("RateLimit", field.as_bytes())]);
                }
            }
        }
        // Who is sent lets the next one try.
        while let Some(pass) = self.waiting.first_mut().and_then(Task::run) {
            self.waiting.remove(0);
            self.send(pass);
        }
        assert!(self.waiting.iter().skip(1).all(|task| !task.is_woken()), "only the first is woken");
    }
}

#[test]
fn a_paced_client_is_never_refused_and_uses_what_it_may() {
    let (second, minute) = (Micros::SECOND, 60_000_u64);
    let limits = [
        ("bucket", Limit::token_bucket(40, 20, second).unwrap(), 40 + 20 * minute / 1_000),
        ("window", Limit::fixed_window(100, Window::Every(Micros::from_secs(10))).unwrap(), 6 * 100),
        ("log", Limit::sliding_window_log(100, Micros::from_secs(10)).unwrap(), 6 * 100),
    ];
    for (name, limit, allowed) in limits {
        for seed in 0..5 {
            let mut world = World::new(limit, seed);
            for _ in 0..minute {
                // Always more than are allowed.
                if world.waiting.len() < 20 {
                    world.wants();
                }
                world.tick();
            }
            assert_eq!(world.refused, 0, "{name}, seed {seed}");
            let used = 100 * world.granted / allowed;
            println!("{name}, seed {seed}: {used} % used");
            assert!(used >= 90, "{name}, seed {seed}: {} of {allowed}", world.granted);
        }
    }
}

#[test]
fn a_refusal_is_obeyed_and_then_one_request_asks() {
    let (limiter, clock) = with_clock();
    let pacer = limiter.pacer();
    let ready = || {
        let pacer = pacer.clone();
        Task::new(async move { pacer.ready(ORIGIN).await })
    };
    let mut first = ready().1.expect("one request asks");
    let (mut second, none) = ready();
    assert!(none.is_none(), "and the others wait");
    first.observe(503, [("retry-after", &b"3"[..])]);
    drop(first);
    assert!(second.run().is_none(), "it is told to wait");
    clock.advance(Duration::from_millis(2_999));
    assert!(second.run().is_none());
    clock.advance(Duration::from_millis(1));
    let mut second = second.run().expect("it keeps its place");
    let mut others = [ready().0, ready().0, ready().0];
    second.observe(200, [("ratelimit", &b"\"a\";r=1;t=10, \"b\";r=5;t=2"[..])]);
    drop(second);
    let third = others[0].run().expect("one remains");
    assert!(others[1].run().is_none());
    // It is lost: the server may have counted it.
    drop(third);
    assert!(others[1].run().is_none());
    clock.advance(Duration::from_secs(10));
    let mut fourth = others[1].run().expect("everything begins anew");
    assert!(others[2].run().is_none(), "one request asks");
    fourth.observe(200, []);
    let _last = others[2].run().expect("nothing is said of limits");
    assert!(ready().1.is_some() && ready().1.is_some());
}

#[test]
fn who_gives_up_delays_nobody() {
    let (limiter, _clock) = with_clock();
    let pacer = limiter.pacer();
    for cancelled in 0..3 {
        let ready = || {
            let pacer = pacer.clone();
            Task::new(async move { pacer.ready(&format!("{cancelled}")).await })
        };
        let mut first = ready().1.expect("one request asks");
        let mut line = vec![ready().0, ready().0, ready().0];
        first.observe(200, [("ratelimit", &b"\"a\";r=2;t=10"[..])]);
        drop(line.remove(cancelled));
        assert_eq!(line.iter_mut().filter_map(Task::run).count(), 2, "number {cancelled} gave up");
    }
}

#[test]
fn requests_in_progress_are_bounded_as_the_server_says() {
    let (limiter, _clock) = with_clock();
    let pacer = limiter.pacer();
    let ready = || {
        let pacer = pacer.clone();
        Task::new(async move { pacer.ready(ORIGIN).await })
    };
    let says = [("RateLimit-Policy", &b"\"at once\";q=2;qu=\"concurrent-requests\""[..])];
    let mut first = ready().1.unwrap();
    first.observe(200, says);
    let mut second = ready().1.expect("two at once");
    second.observe(200, says);
    let (mut third, none) = ready();
    assert!(none.is_none(), "both responses go on");
    drop(first);
    assert!(third.run().is_some());
}

#[test]
fn more_servers_than_are_told_apart_count_as_one() {
    let (limiter, clock) = with_clock();
    let pacer = limiter.pacer();
    let ready = |number: usize| {
        let pacer = pacer.clone();
        Task::new(async move { pacer.ready(&number.to_string()).await }).1
    };
    let passes: Vec<_> = (0..tollgate::ORIGINS_MAX).map(|number| ready(number).expect("one asks")).collect();
    let beyond = ready(5_000).expect("one of all others asks");
    assert!(ready(6_000).is_none(), "and the others wait");
    drop((beyond, passes));
    clock.advance(Duration::from_secs(1));
    let _one = ready(7_000).expect("there is room again");
    assert!(ready(8_000).is_some());
}
