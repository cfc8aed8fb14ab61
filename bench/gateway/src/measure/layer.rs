//! What a limiter adds to an axum service, in processor time: none, tower_governor, our layer, and its fields alone.

use std::fmt::Write;

use super::contestant::{Contestant, Place};
use super::rounds::{Answers, Plan, alternate};
use super::spread::ratio;
use crate::process::{Process, Start, free_port};

/// The table. Where nginx stands in for our gateway, tower_governor stands in for our layer.
pub(crate) fn table(place: &Place, plan: &Plan) -> Result<String, String> {
    let again = ("axum with tower_governor again", "governor");
    let [document, rule, least] = if place.tollgate.is_some() {
        [
            ("axum with the layer, fifty operations", "layer"),
            ("axum with the layer, one limit in Rust", "rule"),
            ("the same, with `X-RateLimit` only and nothing for handlers", "least"),
        ]
    } else {
        [again; 3]
    };
    let fields = ("axum with five constant fields and no limiter", "fields");
    let services =
        [("axum", "plain"), ("axum with tower_governor", "governor"), document, rule, least, fields];
    let started: Result<Vec<_>, _> = services.iter().map(|(name, kind)| service(place, name, kind)).collect();
    let started = started?;
    let figures = alternate(&started.iter().collect::<Vec<_>>(), plan, Answers::Granted)?;
    let mut text = String::from(
        "### A limiter in an axum service, one core\n\n\
         |  | requests/s | CPU µs per request | added, µs | of what tower_governor adds |\n|---|---|---|---|---|\n",
    );
    let added: Vec<_> = figures.iter().map(|one| one.cpu.beyond(&figures[0].cpu)).collect();
    for (at, (name, _)) in services.iter().enumerate() {
        let (rate, cpu) = (figures[at].per_second.whole(), figures[at].cpu.thousandths());
        let _ = write!(text, "| {name} | {rate} | {cpu} |");
        if at == 0 {
            text.push_str("  |  |\n");
            continue;
        }
        let share = ratio(added[at].median(), added[1].median());
        let _ = writeln!(text, " {} | {share} |", added[at].thousandths());
    }
    Ok(text)
}

fn service(place: &Place, name: &str, kind: &str) -> Result<Contestant, String> {
    let me = std::env::current_exe().map_err(|error| format!("cannot find this program: {error}"))?;
    let port = free_port()?;
    let words = vec![me.display().to_string(), "axum".into(), kind.into(), port.to_string()];
    let start = Start { name: name.into(), cores: "0", words, environment: Vec::new() };
    let process = Process::start(&start, &place.folder)?.listening(port)?;
    Ok(Contestant { name: name.into(), port, process })
}
