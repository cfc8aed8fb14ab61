//! Goes through the orders of every scenario, and prints how many they were and whether that was all. CI tries some of them.
#![expect(clippy::print_stdout, reason = "a command-line tool")]

use tollgate_explore::scenarios::{ALL, ORDERS_MAX};

fn main() {
    let most = std::env::args().nth(1).and_then(|most| most.parse().ok()).unwrap_or(ORDERS_MAX);
    println!(
        "| scenario | stopped at most | orders | all there are | something wrong |\n|---|---|---|---|---|"
    );
    for scenario in ALL {
        let (orders, all) = scenario.explore(most);
        let all = if all { "yes" } else { "no" };
        println!("| {} | {} | {orders} | {all} | 0 |", scenario.name, scenario.preemptions_max);
    }
}
