//! What a gateway adds to latency at half of the load that both can bear, at a rate that does not wait for answers.

use std::fmt::Write;

use super::contestant::{Contestant, Place, Setup, Whose};
use super::document::Limits;
use super::rounds::Plan;
use super::spread::{Spread, ratio, whole};
use super::still;
use crate::process::leashed;

/// Latencies of one target, in nanoseconds, one for each round.
#[derive(Default, Clone)]
struct Latencies {
    p50: Spread,
    p99: Spread,
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
         |  | p50, µs | p99, µs | p99.9, µs | added to p50 | added to p99 | of what nginx adds to p99 |\n|---|---|---|---|---|---|---|\n",
        whole(rate)
    );
    let added: Vec<_> = found.iter().map(|one| one.p99.beyond(&found[0].p99)).collect();
    for (at, (name, _)) in targets.iter().enumerate() {
        let one = &found[at];
        let _ = write!(
            text,
            "| {name} | {} | {} | {} |",
            one.p50.thousandths(),
            one.p99.thousandths(),
            one.p999.thousandths()
        );
        if at == 0 {
            text.push_str("  |  |  |\n");
            continue;
        }
        let (p50, p99) = (one.p50.beyond(&found[0].p50).thousandths(), added[at].thousandths());
        let _ = writeln!(text, " {p50} | {p99} | {} |", ratio(added[at].median(), added[1].median()));
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
    let numbers: Vec<u64> = printed.split_whitespace().filter_map(|word| word.parse().ok()).collect();
    let [_, p50, _, p99, p999, _] = numbers[..] else {
        return Err(format!(
            "the load did not measure:\n{printed}{}",
            String::from_utf8_lossy(&output.stderr)
        ));
    };
    into.p50.push(p50);
    into.p99.push(p99);
    into.p999.push(p999);
    Ok(())
}
