//! What a gateway adds to latency at half of the load that both can bear, at a rate that does not wait for answers.

use std::fmt::Write;

use super::contestant::{Contestant, Place, Setup, Whose};
use super::document::Limits;
use super::rounds::Plan;
use super::spread::{Spread, ratio, whole};
use super::still;
use crate::process::leashed;

/// Latencies of one target, in nanoseconds, one for each round, or for each slice of one: see `paced.rs`.
#[derive(Default, Clone)]
struct Latencies {
    p50: Spread,
    /// Of each slice: what is compared. A second in which the machine stood still for a hundredth of it has that in its p99, and little else.
    p99: Spread,
    /// Of each round.
    p99_of_round: Spread,
    p999: Spread,
}

/// The table.
pub(crate) fn table(place: &Place, plan: &Plan, rate: u64) -> Result<String, String> {
    // Before anybody runs who could be in the way.
    let still = still::sentence()?;
    let setup = Setup { limits: Limits::Generous, workers: 1, cores: "0" };
    let ours = Contestant::gateway(place, Whose::Tollgate, setup)?;
    let nginx = Contestant::gateway(place, Whose::Nginx, setup)?;
    let targets = [
        ("no gateway, the upstream alone", place.upstream),
        (nginx.name.as_str(), nginx.port),
        (ours.name.as_str(), ours.port),
    ];
    let mut found = vec![Latencies::default(); targets.len()];
    for round in 0..plan.rounds {
        for turn in 0..targets.len() {
            let at = (round + turn) % targets.len();
            load(plan, targets[at].1, rate, &mut found[at])?;
        }
    }
    let mut text = format!(
        "### Latency at half of the load that both can bear: {} requests/s\n\n\
         |  | p50, µs | added | p99 of a tenth of a second, µs | added | of what nginx adds | p99 of a round, µs | added | of what nginx adds | p99.9, µs |\n\
         |---|---|---|---|---|---|---|---|---|---|\n",
        whole(rate)
    );
    let beyond = |of: fn(&Latencies) -> &Spread| -> Vec<Spread> {
        found.iter().map(|one| of(one).beyond(of(&found[0]))).collect()
    };
    let (p50, p99, of_round) =
        (beyond(|one| &one.p50), beyond(|one| &one.p99), beyond(|one| &one.p99_of_round));
    let times = |added: &[Spread], at: usize| ratio(added[at].median(), added[1].median());
    for (at, (name, _)) in targets.iter().enumerate() {
        let one = &found[at];
        let (middle, slice) = (one.p50.thousandths(), one.p99.thousandths());
        let (round, rare) = (one.p99_of_round.thousandths(), one.p999.thousandths());
        let _ = if at == 0 {
            writeln!(text, "| {name} | {middle} |  | {slice} |  |  | {round} |  |  | {rare} |")
        } else {
            let (more, of_slice) = (p50[at].thousandths(), p99[at].thousandths());
            let (of_nginx, of_round_nginx) = (times(&p99, at), times(&of_round, at));
            let whole = of_round[at].thousandths();
            writeln!(
                text,
                "| {name} | {middle} | {more} | {slice} | {of_slice} | {of_nginx} | {round} | {whole} | {of_round_nginx} | {rare} |"
            )
        };
    }
    let _ = writeln!(text, "\n{still}");
    Ok(text)
}

fn load(plan: &Plan, port: u16, rate: u64, into: &mut Latencies) -> Result<(), String> {
    let me = std::env::current_exe().map_err(|error| format!("cannot find this program: {error}"))?;
    let words = format!("{} paced {port} {rate} {}", me.display(), plan.seconds);
    let words: Vec<_> = words.split(' ').map(String::from).collect();
    let output = leashed(plan.cores, &words)?.output().map_err(|error| format!("cannot load: {error}"))?;
    let printed = String::from_utf8_lossy(&output.stdout);
    let mut lines = printed.lines().map(|line| line.split(' ').filter_map(|word| word.parse().ok()));
    let mut numbers = || lines.next().map(Iterator::collect::<Vec<u64>>).unwrap_or_default();
    let (round, slices) = (numbers(), numbers());
    let ([_, p50, _, p99, p999, _], [_, ..]) = (&round[..], &slices[..]) else {
        return Err(format!(
            "the load did not measure:\n{printed}{}",
            String::from_utf8_lossy(&output.stderr)
        ));
    };
    into.p50.push(*p50);
    slices.iter().for_each(|p99| into.p99.push(*p99));
    into.p99_of_round.push(*p99);
    into.p999.push(*p999);
    Ok(())
}
