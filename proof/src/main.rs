//! The long run, and one case of it again. CI runs a short form of the same in `tests/`.
#![expect(clippy::print_stdout, clippy::print_stderr, reason = "a report for people, and its progress")]

mod long;

use tollgate_algorithms::Algorithm;
use tollgate_proof::compare;
use tollgate_proof::engine::Core;
use tollgate_proof::laws::Law;

/// Decisions per algorithm, if none are given.
const DECISIONS: u64 = 1_000_000_000;
/// The seed, if none is given.
const SEED: u64 = 20_261_115;

fn main() -> Result<(), String> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let words: Vec<&str> = arguments.iter().map(String::as_str).collect();
    match words.as_slice() {
        [] => long::run(DECISIONS, SEED, None),
        ["replay", judge, algorithm, seed, case] => replay(judge, algorithm, number(seed)?, number(case)?),
        [decisions] => long::run(number(decisions)?, SEED, None),
        [decisions, seed] => long::run(number(decisions)?, number(seed)?, None),
        [decisions, seed, only] => long::run(number(decisions)?, number(seed)?, Some(algorithm(only)?)),
        _ => Err("usage: [DECISIONS [SEED [ALGORITHM]]], or replay JUDGE ALGORITHM SEED CASE".into()),
    }
}

fn number(word: &str) -> Result<u64, String> {
    word.parse().map_err(|error| format!("`{word}` is not a number: {error}"))
}

fn algorithm(word: &str) -> Result<Algorithm, String> {
    let known = Algorithm::ALL.into_iter().find(|known| known.name() == word);
    known.ok_or_else(|| format!("`{word}` is no algorithm"))
}

/// One case again, before the model or a law.
fn replay(judge: &str, algorithm: &str, seed: u64, case: u64) -> Result<(), String> {
    let algorithm = self::algorithm(algorithm)?;
    if judge == "model" {
        println!("{}", compare::replay::<Core>(algorithm, seed, case));
        return Ok(());
    }
    let law =
        Law::ALL.into_iter().find(|law| law.name().split(' ').next() == Some(judge)).ok_or("no such law")?;
    law.case::<Core>(algorithm, seed, case)?;
    println!("law {} holds on {algorithm}, seed {seed}, case {case}", law.name());
    Ok(())
}
