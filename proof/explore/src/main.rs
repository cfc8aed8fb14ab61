//! Goes through all orders of every scenario, however long it takes, and prints how many they were. CI tries some of them.
#![expect(clippy::print_stdout, reason = "a command-line tool")]

use tollgate_explore::scenarios::ALL;

fn main() {
    let most = std::env::args().nth(1).and_then(|most| most.parse().ok());
    println!("| scenario | orders | something wrong |\n|---|---|---|");
    for scenario in ALL {
        let orders = scenario.explore(most);
        println!("| {} | {orders} | 0 |", scenario.name);
    }
}
