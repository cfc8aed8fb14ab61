//! What a key may hold that no script of ours has written: an error with its name or a fresh start, and never a crash.
#![cfg(test)]

#[path = "foreign/bytes.rs"]
mod bytes;

use tollgate_algorithms::{Limit, Micros, Mode, Receipt, Window};
use tollgate_redis::{
    Call, Command, ConfigTag, Hit, KeyName, Name, Naming, Reply, StateKind, StoreError, TOGETHER_MAX, Value,
};
use tollgate_twins::mutants::Mutant;
use tollgate_twins::server::{Make, Server};
use tollgate_twins::wire::Wire;

use bytes::{ERA, debt, list, seven, state, two_counts};

const BEYOND: u64 = 1 << 53;

fn limits() -> Vec<Limit> {
    vec![
        Limit::token_bucket(5, 1, Micros::HOUR).unwrap(),
        Limit::leaky_bucket(5, 1, Micros::HOUR).unwrap(),
        Limit::gcra(5, 1, Micros::HOUR).unwrap(),
        Limit::fixed_window(5, Window::Every(Micros::HOUR)).unwrap(),
        Limit::sliding_window(5, Micros::HOUR).unwrap(),
        Limit::sliding_window_buckets(5, Micros::HOUR, 6).unwrap(),
        Limit::sliding_window_log(5, Micros::HOUR).unwrap(),
    ]
}

/// Limits whose lists may be longer than what is read of them at first.
fn long_limits() -> Vec<Limit> {
    vec![
        Limit::sliding_window_buckets(500, Micros::HOUR, 300).unwrap(),
        Limit::sliding_window_log(500, Micros::HOUR).unwrap(),
    ]
}

/// Strings that are not ours, whatever the limit.
fn strings() -> Vec<Vec<u8>> {
    vec![
        b"1763222400123456".to_vec(),
        b"1.7632224001235e+15".to_vec(),
        b"-5".to_vec(),
        b"nan".to_vec(),
        vec![0],
        vec![0x31],
        vec![0xff; 22],
        vec![0; 5_000],
        // Another layout, and a kind that there is not.
        debt(0x21),
        debt(0x41),
        state(0x24, &[1, 2, 1]),
        state(0x36, &[1, 1, 1]),
        state(0x30, &[1, 1, 1]),
        list(0x36, 0, &[0, 5, 1]),
        // Too short and too long.
        state(0x31, &[1, 1]),
        state(0x32, &[1, 2, 1, 1]),
        list(0x35, 0, &[0]),
        list(0x35, 0, &[0, 1, 1, 1]),
        // As long as a list as far as they are read, and not beyond.
        vec![0x34; 310],
        vec![0x35; 310],
        vec![0x34; 5_000],
        vec![0x35; 5_000],
    ]
}

/// States that have the right form, under the limit of that place, and numbers that no state has.
fn out_of_range(now: u64) -> Vec<(usize, Vec<u8>)> {
    let (late, far) = (1 << 52, (1 << 56) - 1);
    // Its count, since when, when, how much, its period.
    let long = |tag, [count, at, debt, period]: [u64; 4]| {
        [&[tag], &seven(count)[..], &ERA[3..], &seven(at), &seven(debt), &seven(period)].concat()
    };
    let period = 1 << 40;
    let debts = [
        [1, late, 1, period],
        [1, 1, BEYOND, period],
        [1, 1, 1, 0],
        [1, 1, 1, period - 1],
        [(1 << 24) - 1, 1, 1, 1],
        [1, 1, 1, late],
        [late, 1, 1, 1],
        [0, 1, 1, period],
        [far, far, far, far],
    ];
    let mut rows: Vec<_> =
        (0..3_u8).flat_map(|place| debts.map(|numbers| (usize::from(place), long(0x31, numbers)))).collect();
    // The same in short.
    let short =
        |numbers: [u64; 3]| [&state(0x31, &numbers[..2])[..], &numbers[2].to_be_bytes()[3..]].concat();
    rows.extend([[late, 1, 1], [1, BEYOND, 1], [1, 1, 0]].map(|numbers| (0, short(numbers))));
    let mut without_count = short([1, 1, 1]);
    without_count[1..4].fill(0);
    rows.push((0, without_count));
    let windows = [[late, late + 5, 1], [5, 5, 1], [9, 5, 1], [5, 5 + (1 << 51), 1], [5, 9, BEYOND]];
    rows.extend(windows.map(|numbers| (3, state(0x32, &numbers))));
    rows.extend(
        [
            (9, 5, [1, 1]),
            (5, 5, [1, 1]),
            (5, 9, [1 << 33, 1]),
            (5, 9, [1, 1 << 33]),
            (late, late + 1, [1, 1]),
        ]
        .map(|(start, end, counts)| (4, two_counts(start, end, counts))),
    );
    for (place, tag) in [(5, 0x34), (6, 0x35)] {
        // By the limit's own numbers: of what is charged by others nothing has expired.
        let mark = ConfigTag::mark_of(&limits()[place]).to_be_bytes();
        let own = |tag, gone, numbers: &[u64]| {
            let mut bytes = list(tag, gone, numbers);
            bytes[1..4].copy_from_slice(&mark[5..]);
            bytes
        };
        rows.push((place, own(tag, 1, &[0, 5, 1])));
        rows.push((place, own(tag, u32::MAX, &[0, 5, 1])));
        rows.push((place, own(tag, 0, &[BEYOND, 5, 1])));
        rows.push((place, own(tag, 0, &[0, late, 1])));
        rows.push((place, own(tag, 0, &[0, 5, BEYOND])));
        // A total that the list would begin with, because what it is the total of has expired.
        rows.push((place, own(tag, 0, &[0, 5, 1 << 55, now, 10])));
        rows.push((place, own(tag, 0, &[0, 5, BEYOND + 5, now, 10])));
        rows.push((place, own(tag, 0, &[0, 5, 1, 6, BEYOND + 5, now, 10])));
        rows.push((place, own(tag, 1, &[0, 5, 1, 6, BEYOND + 5, now, 10])));
        let passed = (1..9).flat_map(|entry| [entry, if entry == 8 { BEYOND + 5 } else { entry }]);
        rows.push((place, own(tag, 0, &[0].into_iter().chain(passed).chain([now, 10]).collect::<Vec<_>>())));
    }
    rows
}

/// A question's answer, and the key's contents before and after it.
struct Tried {
    read: Result<Reply, StoreError>,
    is_untouched: bool,
}

struct Bench {
    wire: Wire,
    names: Vec<Name>,
}

impl Bench {
    fn new(server: &Server) -> Self {
        Self::with(server, None)
    }

    fn with(server: &Server, mutant: Option<Mutant>) -> Self {
        let naming = Naming::new([9; 16]);
        let names = (0..3).map(|limit: u8| naming.name(&limit.to_string(), b"ada")).collect();
        Self { wire: Wire::open(server, mutant).unwrap(), names }
    }

    fn ask(&mut self, words: &[&[u8]]) -> Value {
        let mut command = redis::cmd(std::str::from_utf8(words[0]).unwrap());
        words[1..].iter().for_each(|word| {
            command.arg(*word);
        });
        self.wire.ask(&command).unwrap()
    }

    /// Asks, with something foreign under the second name.
    fn try_out(&mut self, ask: &Command<'_>) -> Tried {
        let names = self.names.clone();
        let keys: Vec<_> = names.iter().flat_map(|name| StateKind::ALL.map(|kind| name.of(kind))).collect();
        let dump = |bench: &mut Self| {
            keys.iter().map(|key| bench.ask(&[b"DUMP", key.as_bytes()])).collect::<Vec<_>>()
        };
        let before = dump(self);
        let value = self.wire.ask_call(&ask.call()).unwrap();
        let read = Reply::read(ask, &value);
        let after = dump(self);
        assert_eq!(self.ask(&[b"PING"]), Value::SimpleString("PONG".into()), "the server is alive");
        Tried { read, is_untouched: before == after }
    }

    /// The server's clock.
    fn now(&mut self) -> u64 {
        let Value::Array(parts) = self.ask(&[b"TIME"]) else { panic!("no time") };
        let number =
            |part: &Value| -> u64 { std::str::from_utf8(part.as_bytes().unwrap()).unwrap().parse().unwrap() };
        number(&parts[0]) * 1_000_000 + number(&parts[1])
    }

    /// The key that the tests put something into.
    fn key(&self, limit: &Limit) -> KeyName {
        self.names[1].of(StateKind::of_limit(limit).expect("it keeps a state"))
    }

    /// Every verb under a limit is an error that names the key, and changes nothing. `is_kind` says whether it is that of a state
    /// of another kind.
    fn is_refused_by_all(&mut self, limit: &Limit, what: &str, is_kind: bool) {
        let names = self.names.clone();
        let key = self.key(limit);
        let hit = |place: usize, mode| Hit { limit, name: &names[place], cost: 1, mode };
        let one = [hit(1, Mode::Enforced)];
        let three = [0, 1, 2].map(|place| hit(place, Mode::Enforced));
        let shadow = [hit(0, Mode::Enforced), hit(1, Mode::Shadow)];
        let receipt = Receipt { at: Micros::new(5), cost: 1, limit: *limit };
        let asks = [
            Command::Charge(&one),
            Command::Charge(&three),
            Command::Charge(&shadow),
            Command::Peek(&three),
            Command::UpTo(one[0]),
            Command::Settle(one[0]),
            Command::Refund(one[0], &receipt, 1),
        ];
        for ask in &asks {
            let tried = self.try_out(ask);
            let why = match &tried.read {
                Err(StoreError::Foreign(why)) if !is_kind => why,
                Err(StoreError::ForeignKind(why)) if is_kind => why,
                other => panic!("{limit}, {what}: {ask:?} gives {other:?}"),
            };
            assert!(why.contains(&key.to_string()), "{why}");
            assert!(tried.is_untouched, "{limit}, {what}: {ask:?} changed something");
        }
        // Charges that go together have an answer each.
        let calls = vec![asks[0].call(); TOGETHER_MAX];
        let together = Call::together(&calls).expect("they can go together");
        let before = self.ask(&[b"DUMP", key.as_bytes()]);
        let answers = self.wire.ask_call(&together).unwrap();
        let answer = Value::Int(if is_kind { -1 - 65_536 } else { -1 });
        assert_eq!(answers, Value::Array(vec![answer; TOGETHER_MAX]), "{limit}, {what}");
        assert_eq!(before, self.ask(&[b"DUMP", key.as_bytes()]), "{limit}, {what}");
    }

    fn set(&mut self, limit: &Limit, bytes: &[u8]) {
        let key = self.key(limit);
        self.ask(&[b"FLUSHALL"]);
        self.ask(&[b"SET", key.as_bytes(), bytes]);
    }
}

fn on_every_server(test: impl Fn(&mut Bench)) {
    for make in Make::ALL {
        let server = Server::start(make, &[]).unwrap();
        test(&mut Bench::new(&server));
    }
}

#[test]
fn a_key_of_another_type_is_an_error_and_stays_as_it_is() {
    on_every_server(|bench| {
        for limit in limits() {
            let key = bench.key(&limit);
            let key = key.as_bytes();
            let makers: [&[&[u8]]; 5] = [
                &[b"HSET", key, b"tokens", b"5"],
                &[b"RPUSH", key, b"5"],
                &[b"SADD", key, b"5"],
                &[b"ZADD", key, b"5", b"5"],
                &[b"XADD", key, b"*", b"tokens", b"5"],
            ];
            for maker in makers {
                bench.ask(&[b"FLUSHALL"]);
                bench.ask(maker);
                bench.is_refused_by_all(&limit, std::str::from_utf8(maker[0]).unwrap(), false);
            }
        }
    });
}

#[test]
fn a_string_that_is_not_ours_is_an_error_and_stays_as_it_is() {
    on_every_server(|bench| {
        for limit in limits().into_iter().chain(long_limits()) {
            for bytes in strings() {
                bench.set(&limit, &bytes);
                bench.is_refused_by_all(&limit, &format!("{bytes:?}"), false);
            }
        }
    });
}

/// A test of the test above: what it is there for, and that it would notice.
#[test]
fn a_script_that_judges_a_long_string_by_its_beginning_takes_it_for_a_state_of_another_kind() {
    let shipped = "if length == 300 or length == 2064 then length = call('STRLEN', key) end\n";
    let server = Server::start(Make::Redis7, &[]).unwrap();
    let mut bench = Bench::with(&server, Some(Mutant { shipped, broken: "" }));
    for limit in [limits()[6], long_limits()[1]] {
        bench.set(&limit, &[0x34; 5_000]);
        let names = bench.names.clone();
        let hit = [Hit { limit: &limit, name: &names[1], cost: 1, mode: Mode::Enforced }];
        let tried = bench.try_out(&Command::Charge(&hit));
        assert!(bench.wire.is_broken, "the place stands in no script any more");
        assert!(matches!(tried.read, Err(StoreError::ForeignKind(_))), "{limit}: {:?}", tried.read);
    }
}

#[test]
fn numbers_that_no_state_has_are_an_error() {
    on_every_server(|bench| {
        for (place, bytes) in out_of_range(bench.now()) {
            let limit = limits()[place];
            bench.set(&limit, &bytes);
            bench.is_refused_by_all(&limit, &format!("{bytes:?}"), false);
        }
    });
}

/// A state of each kind, and the kind.
fn states() -> Vec<(StateKind, Vec<u8>)> {
    let long: Vec<_> = (0..601).collect();
    let long_debt = [&[0x31][..], &seven(1 << 24), &ERA[3..], &seven(1), &seven(1), &seven(1)].concat();
    vec![
        (StateKind::Debt, debt(0x31)),
        (StateKind::Debt, long_debt),
        (StateKind::FixedWindow, state(0x32, &[1, 2, 1])),
        (StateKind::SlidingWindow, two_counts(1, 2, [1, 1])),
        (StateKind::Buckets, list(0x34, 0, &[0, 5, 1])),
        (StateKind::Log, list(0x35, 0, &[0, 5, 1])),
        // Longer than what is read of them.
        (StateKind::Buckets, list(0x34, 0, &long)),
        (StateKind::Log, list(0x35, 0, &long)),
    ]
}

#[test]
fn a_state_of_another_kind_is_an_error_of_its_own_and_stays_as_it_is() {
    on_every_server(|bench| {
        for limit in limits().into_iter().chain(long_limits()) {
            let own = StateKind::of_limit(&limit).unwrap();
            for (kind, bytes) in states() {
                bench.set(&limit, &bytes);
                if kind == own {
                    let name = bench.names[1];
                    let hit = [Hit { limit: &limit, name: &name, cost: 0, mode: Mode::Enforced }];
                    let read = bench.try_out(&Command::Charge(&hit)).read;
                    assert!(read.is_ok(), "{limit}, {bytes:?}: {read:?}");
                } else {
                    bench.is_refused_by_all(&limit, &format!("{bytes:?}"), true);
                }
            }
        }
    });
}

/// A test of the test above: without one of the lines that know a kind, its states are taken for something that is not ours.
#[test]
fn a_script_that_does_not_know_a_kind_does_not_tell_it() {
    let lines = [
        "or (length == 34 and kind == 49)",
        "or (length == 30 and kind == 50)",
        "or (length == 33 and kind == 51)",
        "(kind == 52 or kind == 53)",
    ];
    let server = Server::start(Make::Redis7, &[]).unwrap();
    for shipped in lines {
        let broken = if shipped.starts_with("or") { "" } else { "false" };
        let mut bench = Bench::with(&server, Some(Mutant { shipped, broken }));
        let is_noticed = |(kind, bytes): (StateKind, Vec<u8>)| {
            let limit = limits().into_iter().find(|limit| StateKind::of_limit(limit) != Some(kind)).unwrap();
            bench.set(&limit, &bytes);
            let name = bench.names[1];
            let hit = [Hit { limit: &limit, name: &name, cost: 1, mode: Mode::Enforced }];
            matches!(bench.try_out(&Command::Charge(&hit)).read, Err(StoreError::Foreign(_)))
        };
        assert!(states().into_iter().any(is_noticed), "nothing notices {broken} for {shipped}");
        assert!(bench.wire.is_broken, "{shipped} stands in no script");
    }
}

#[test]
fn an_empty_string_begins_afresh() {
    on_every_server(|bench| {
        for limit in limits() {
            bench.set(&limit, b"");
            let name = bench.names[1];
            let hit = [Hit { limit: &limit, name: &name, cost: 5, mode: Mode::Enforced }];
            for expected in [true, false] {
                let read = bench.try_out(&Command::Charge(&hit)).read;
                let Ok(Reply::Decided { granted, .. }) = read else { panic!("{limit}: {read:?}") };
                assert_eq!(granted, expected, "{limit}: what was charged counts from then on");
            }
        }
    });
}

#[test]
fn a_reset_removes_whatever_there_is() {
    on_every_server(|bench| {
        let name = bench.names[1];
        for kind in StateKind::ALL {
            bench.ask(&[b"RPUSH", name.of(kind).as_bytes(), b"5"]);
            for was_there in [true, false] {
                assert_eq!(bench.try_out(&Command::Reset(&name)).read, Ok(Reply::Reset { was_there }));
            }
            assert_eq!(bench.ask(&[b"EXISTS", name.of(kind).as_bytes()]), Value::Int(0), "{kind:?}");
        }
    });
}
