//! Calls that go together are answered, and leave what they leave, as if they had been sent one after the other: errors too.
#![cfg(test)]

use tollgate_algorithms::{Limit, Micros, Mode, Window};
use tollgate_redis::{
    Call, Command, Hit, KeyName, Name, Naming, Reply, StateKind, StoreError, TOGETHER_MAX, Value,
};
use tollgate_twins::mutants::Mutant;
use tollgate_twins::server::{Make, Server};
use tollgate_twins::wire::Wire;

const NOW: Micros = Micros::from_secs(1_000_000);

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

/// What the keys are called: whose they are says what they hold.
const KEYS: [&str; 6] = ["ada", "hash", "garbage", "ben", "state of another kind", "numbers of no state"];

fn name(key: &str) -> Name {
    Naming::new([6; 16]).name("together", key.as_bytes())
}

/// What a limit's key is called in Redis.
fn stored(limit: &Limit, key: &str) -> KeyName {
    name(key).of(StateKind::of_limit(limit).expect("it keeps a state"))
}

/// A group as large as there can be: (key, cost). Keys come several times, costs fit, do not, or never do.
const GROUP: [(&str, u64); TOGETHER_MAX] = [
    ("ada", 2),
    ("hash", 1),
    ("ada", 3),
    ("garbage", 1),
    ("ada", 1),
    ("ben", 6),
    ("ben", u64::MAX),
    ("ben", 5),
    ("hash", 0),
    ("ben", 0),
    ("state of another kind", 4),
    ("numbers of no state", 1),
    ("state of another kind", 2),
    ("ada", 0),
    ("state of another kind", 1),
    ("ben", 1),
];

fn say(wire: &mut Wire, words: &[&[u8]]) -> Value {
    let mut command = redis::Cmd::new();
    words.iter().for_each(|word| {
        command.arg(*word);
    });
    wire.ask(&command).unwrap()
}

/// Begins anew, with what the names say.
fn set(wire: &mut Wire, limit: &Limit) {
    say(wire, &[b"FLUSHALL"]);
    say(wire, &[b"HSET", stored(limit, "hash").as_bytes(), b"tokens", b"5"]);
    say(wire, &[b"SET", stored(limit, "garbage").as_bytes(), b"1763222400123456"]);
    let is_window = matches!(limit, Limit::FixedWindow(_));
    let other: &[u8] = if is_window { &[0x33; 33] } else { &[0x32; 30] };
    say(wire, &[b"SET", stored(limit, "state of another kind").as_bytes(), other]);
    // The right tag and length, and numbers that are too large.
    let (tag, length) = match limit {
        Limit::TokenBucket(_) | Limit::LeakyBucket(_) | Limit::Gcra(_) => (0x31, 28),
        Limit::FixedWindow(_) => (0x32, 30),
        Limit::SlidingWindow(_) => (0x33, 33),
        Limit::SlidingWindowBuckets(_) => (0x34, 34),
        Limit::SlidingWindowLog(_) | Limit::Unlimited => (0x35, 34),
    };
    let mut bytes = vec![0xff; length];
    bytes[0] = tag;
    say(wire, &[b"SET", stored(limit, "numbers of no state").as_bytes(), &bytes]);
}

/// What all keys hold, and whether they go by themselves.
fn held(wire: &mut Wire, limit: &Limit) -> Vec<(Value, bool)> {
    let key = |key: &&str| {
        let lasts = say(wire, &[b"PTTL", stored(limit, key).as_bytes()]);
        (say(wire, &[b"DUMP", stored(limit, key).as_bytes()]), matches!(lasts, Value::Int(1..)))
    };
    KEYS.iter().map(key).collect()
}

fn group(limit: &Limit) -> Vec<Call> {
    let call = |(key, cost): (&str, u64)| {
        Command::Charge(&[Hit { limit, name: &name(key), cost, mode: Mode::Enforced }]).call_at(NOW)
    };
    GROUP.into_iter().map(call).collect()
}

/// The answers to calls that go together, one for each.
fn together(wire: &mut Wire, calls: &[Call]) -> Result<Vec<Value>, String> {
    let answer = wire.ask_call(&Call::together(calls).expect("they can go together"))?;
    if let Value::Array(values) = answer { Ok(values) } else { Err(format!("not an array but {answer:?}")) }
}

/// Whether they answer and leave together what they answer and leave one after the other.
fn are_same(wire: &mut Wire, limit: &Limit) -> Result<(), String> {
    let calls = group(limit);
    set(wire, limit);
    let alone = calls.iter().map(|call| wire.ask_call(call)).collect::<Result<Vec<_>, _>>()?;
    let left = held(wire, limit);
    set(wire, limit);
    let answers = together(wire, &calls)?;
    if answers != alone {
        return Err(format!("{limit}: {answers:?}, and alone {alone:?}"));
    }
    let foreign = answers.iter().filter(|answer| **answer == Value::Int(-1)).count();
    assert_eq!(foreign, 4, "{limit}: each says that it is its first key");
    let of_another_kind = answers.iter().filter(|answer| **answer == Value::Int(-1 - 65_536)).count();
    assert_eq!(of_another_kind, 3, "{limit}: and so do these");
    if held(wire, limit) == left { Ok(()) } else { Err(format!("{limit}: other states are left")) }
}

#[test]
fn calls_answer_and_leave_together_what_they_do_one_after_the_other() {
    for make in Make::ALL {
        let server = Server::start(make, &[]).unwrap();
        let mut wire = Wire::open(&server, None).unwrap();
        for limit in limits() {
            are_same(&mut wire, &limit).unwrap_or_else(|why| panic!("{}: {why}", make.name()));
        }
    }
}

/// What keeps a server from writing: what makes it, what cures it, and the word that it is known by.
type Fault = (&'static str, &'static str, &'static str);

const FAULTS: [Fault; 3] = [
    ("CONFIG SET maxmemory 1", "CONFIG SET maxmemory 0", "OOM"),
    ("CONFIG SET min-replicas-to-write 1", "CONFIG SET min-replicas-to-write 0", "NOREPLICAS"),
    ("REPLICAOF 127.0.0.1 1", "REPLICAOF NO ONE", "READONLY"),
];

/// Whether each of a group has its own answer while the server takes no writes: who has nothing to write a decision, and
/// everybody else an error.
fn have_their_own(wire: &mut Wire, limit: &Limit, (fault, cure, word): Fault) -> Result<(), String> {
    set(wire, limit);
    let calls = group(limit);
    // Ada has spent all that she has: she is refused, which writes nothing.
    wire.ask_call(&calls[0])?;
    wire.ask_call(&calls[2])?;
    let left = held(wire, limit);
    let split = |words: &'static str| words.split(' ').map(str::as_bytes).collect::<Vec<_>>();
    say(wire, &split(fault));
    let answers = together(wire, &calls);
    let after = held(wire, limit);
    say(wire, &split(cure));
    let answers = answers?;
    for (((key, cost), call), answer) in GROUP.into_iter().zip(&calls).zip(&answers) {
        let hit = [Hit { limit, name: &name(key), cost, mode: Mode::Enforced }];
        let read = Reply::read(&Command::Charge(&hit), answer);
        let fits = match key {
            "hash" | "garbage" | "numbers of no state" => matches!(read, Err(StoreError::Foreign(_))),
            "state of another kind" => matches!(read, Err(StoreError::ForeignKind(_))),
            // Nothing is asked, or more than there ever is, or of one who has nothing: nothing is written.
            _ if cost == 0 => matches!(read, Ok(Reply::Decided { granted: true, .. })),
            _ if cost > 5 || key == "ada" => matches!(read, Ok(Reply::Decided { granted: false, .. })),
            _ => is_error(answer, word) && read.is_err(),
        };
        if !fits {
            return Err(format!("{limit}, {word}: {key} asks {cost} ({call:?}) and is told {answer:?}"));
        }
    }
    if after == left { Ok(()) } else { Err(format!("{limit}, {word}: something was written")) }
}

/// An element that is an error has the server's own word in it.
fn is_error(answer: &Value, word: &str) -> bool {
    matches!(answer, Value::Error(line) if line.contains(&format!("{word} ")))
}

#[test]
fn a_server_that_takes_no_writes_gives_each_of_a_group_its_own_answer() {
    for make in Make::ALL {
        let server = Server::start(make, &[]).unwrap();
        let mut wire = Wire::open(&server, None).unwrap();
        for limit in limits() {
            for fault in FAULTS {
                let told = have_their_own(&mut wire, &limit, fault);
                told.unwrap_or_else(|why| panic!("{}: {why}", make.name()));
                // Once it writes again, all is as if nothing had been asked.
                let answers = together(&mut wire, &group(&limit)).unwrap();
                assert!(!answers.iter().any(|answer| matches!(answer, Value::Error(_))));
            }
        }
    }
}

#[test]
fn broken_ways_to_answer_with_an_error_are_noticed() {
    let mutants = [
        ("guarded(decide, KEYS[place], ARGV[place])", "true, decide(KEYS[place], ARGV[place])"),
        ("local index, rest = 1, 1\n", "local index, rest = 2, 1\n"),
        ("tells[place] = told\n", "tells[place] = is_well and told or pack('>I7', now * 2 + 1)\n"),
        ("tells[place] = told\n", "tells[place] = told\nif type(told) ~= 'string' then break end\n"),
        ("if not is_well then", "if false then"),
    ];
    let servers = [Make::Redis7, Make::Redis6].map(|make| Server::start(make, &[]).unwrap());
    for (shipped, broken) in mutants {
        let notices = |server: &Server| {
            let mut wire = Wire::open(server, Some(Mutant { shipped, broken })).unwrap();
            let same = are_same(&mut wire, &limits()[0]);
            let own = have_their_own(&mut wire, &limits()[0], FAULTS[0]);
            assert!(wire.is_broken, "{shipped} stands in no script");
            assert_eq!(wire.failure, None, "{broken} breaks the harness, which shows nothing");
            // The server is alive, and the scripts that ship pass on it: what differed is the mutant's.
            let mut shipped = Wire::open(server, None).unwrap();
            are_same(&mut shipped, &limits()[0]).unwrap();
            same.is_err() || own.is_err()
        };
        assert!(servers.iter().any(notices), "nothing notices {broken}");
    }
}
