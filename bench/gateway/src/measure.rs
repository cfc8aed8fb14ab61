//! The measurements, one after the other, as tables in Markdown. Each is in its file; this one says where they run.

mod contestant;
pub(crate) mod document;
mod latency;
mod layer;
mod memory;
mod nginx;
mod others;
mod proxied;
mod rounds;
mod spread;
pub(crate) mod still;
mod wrk;

use std::fs;

use crate::process::{Process, Start, free_port};
use contestant::{Place, write};
use others::Others;
use rounds::Plan;

/// Measures everything and prints tables. `tollgate` is the command, or `nginx`: then nginx runs against itself, and
/// what differs is the machine's noise.
pub(crate) fn run(tollgate: &str, quick: bool) -> Result<(), String> {
    let me = std::env::current_exe().map_err(|error| format!("cannot find this program: {error}"))?;
    let folder = me.with_file_name("gateway-run");
    // What an earlier run left is nobody's.
    fs::remove_dir_all(&folder).ok();
    fs::create_dir_all(&folder).map_err(|error| format!("{}: {error}", folder.display()))?;
    let others = Others::begin()?;
    let upstream = free_port()?;
    let words = vec![me.display().to_string(), "upstream".into(), upstream.to_string()];
    let start = Start { name: "the upstream".into(), cores: "1", words, environment: Vec::new() };
    let running = Process::start(&start, &folder)?.listening(upstream)?;
    let script = write(&folder, "requests.lua", &document::wrk_script())?;
    let (rounds, seconds) = if quick { (3, 1) } else { (27, 1) };
    let plan = Plan { rounds, seconds, cores: "1", script };
    let place = Place { folder, upstream, tollgate: (tollgate != "nginx").then(|| tollgate.to_string()) };

    say("requests passed on and refused, one core");
    let proxied = proxied::one_core(&place, &plan)?;
    say("latency");
    let latency = latency::table(&place, &plan, proxied.peak / 2)?;
    say("both cores");
    let both = proxied::both_cores(&place, &plan)?;
    say("a limiter in an axum service");
    let layer = layer::table(&place, &plan)?;
    say("memory");
    let memory = memory::table(&place, if quick { 1 } else { 3 })?;
    drop(running);
    println!("{}", others.sentence()?);
    println!(
        "{rounds} rounds of {seconds} s; median (least–most). What is compared is compared round by round.\n"
    );
    for table in [&proxied.tables, &latency, &both, &layer, &memory] {
        println!("{table}");
    }
    Ok(())
}

fn say(what: &str) {
    eprintln!("measuring: {what}");
}
