//! One burst meets every algorithm, drawn: what each admits of the same traffic, second by second.
#![expect(clippy::print_stdout, reason = "an example that shows something")]

use tollgate_algorithms::{Algorithm, Limit, LimitError, Micros, State, Window, decide};

const LIMIT: u64 = 10;
const WINDOW: Micros = Micros::from_secs(10);
const SECONDS: u64 = 40;

/// A burst just before a window ends, another just after, then a steady two a second, then silence, then a burst.
fn hits_in(second: u64) -> u64 {
    match second {
        8 | 11 | 36 => 15,
        14..=28 => 2,
        _ => 0,
    }
}

fn limit_of(algorithm: Algorithm) -> Result<Limit, LimitError> {
    match algorithm {
        Algorithm::TokenBucket => Limit::token_bucket(LIMIT, LIMIT, WINDOW),
        Algorithm::LeakyBucket => Limit::leaky_bucket(LIMIT, LIMIT, WINDOW),
        Algorithm::Gcra => Limit::gcra(LIMIT, LIMIT, WINDOW),
        Algorithm::FixedWindow => Limit::fixed_window(LIMIT, Window::Every(WINDOW)),
        Algorithm::SlidingWindow => Limit::sliding_window(LIMIT, WINDOW),
        Algorithm::SlidingWindowBuckets => Limit::sliding_window_buckets(LIMIT, WINDOW, 5),
        Algorithm::SlidingWindowLog => Limit::sliding_window_log(LIMIT, WINDOW),
    }
}

/// How much of each second's hits is admitted.
fn admitted(limit: &Limit) -> Vec<u64> {
    let mut state: Option<State> = None;
    let mut hit = |second| {
        let (change, decision) = decide(limit, state.as_ref(), Micros::from_secs(second), 1);
        change.apply(&mut state);
        decision.is_granted()
    };
    (0..SECONDS).map(|second| (0..hits_in(second)).map(|_| u64::from(hit(second))).sum()).collect()
}

/// A bar for each second: nothing asked, all refused, or how much was admitted of ten.
fn draw(asked: impl Fn(u64) -> u64, counts: &[u64]) -> String {
    const BARS: [char; 8] = ['▁', '▂', '▃', '▄', '▅', '▆', '▇', '█'];
    let bar = |(second, &count): (u64, &u64)| match (asked(second), count) {
        (0, _) => ' ',
        (_, 0) => '·',
        (_, count) => BARS[usize::try_from((count * 8).div_ceil(LIMIT).clamp(1, 8) - 1).unwrap_or(0)],
    };
    (0..).zip(counts).map(bar).collect()
}

fn main() -> Result<(), LimitError> {
    let asked: Vec<u64> = (0..SECONDS).map(hits_in).collect();
    println!("Every limit is 10 in 10 s. A dot is a second in which all was refused.\n");
    println!("{:24}0s        10s       20s       30s       admitted  most in 10 s", "");
    println!("{:24}{}{:10}", "asked", draw(hits_in, &asked), asked.iter().sum::<u64>());
    for algorithm in Algorithm::ALL {
        let counts = admitted(&limit_of(algorithm)?);
        let most = counts.windows(10).map(|span| span.iter().sum::<u64>()).max().unwrap_or(0);
        let total: u64 = counts.iter().sum();
        println!("{:24}{}{total:10}{most:14}", algorithm.name(), draw(hits_in, &counts));
    }
    Ok(())
}
