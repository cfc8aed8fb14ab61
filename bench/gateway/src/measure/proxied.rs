//! Requests that are passed on, with limits and without, and requests that are refused: how many a second, and for how
//! much processor time.

use std::fmt::Write;

use super::contestant::{Contestant, Place, Setup, Whose};
use super::document::Limits;
use super::rounds::{Answers, Figures, Plan, alternate};
use super::spread::{Spread, ratio};

/// What was measured, as tables, and the lower of both peaks.
pub(crate) struct Proxied {
    pub(crate) tables: String,
    pub(crate) peak: u64,
}

/// What comparisons are parts of.
const WHOLE: u64 = 10_000;

/// A row: who, and what was measured of it.
type Row = (String, Figures);

/// On one core each, the load and the upstream on another.
pub(crate) fn one_core(place: &Place, plan: &Plan) -> Result<Proxied, String> {
    let setup = Setup { limits: Limits::Generous, workers: 1, cores: "0" };
    let passed = measure(
        place,
        plan,
        Answers::Granted,
        &[
            (Whose::Tollgate, setup),
            (Whose::Nginx, setup),
            (Whose::Tollgate, Setup { limits: Limits::None, ..setup }),
            (Whose::Nginx, Setup { limits: Limits::None, ..setup }),
        ],
    )?;
    let refusing = Setup { limits: Limits::Exhausted, ..setup };
    let refused =
        measure(place, plan, Answers::Refused, &[(Whose::Tollgate, refusing), (Whose::Nginx, refusing)])?;
    let mut tables = format!("### Requests passed on, one core\n\n{}\n", table(&passed));
    for pair in [[0, 2], [1, 3]] {
        let [with, without] = pair.map(|at| &passed[at]);
        let _ = writeln!(tables, "{}", cost_of_limits(with, without));
    }
    let _ = writeln!(tables, "\n### Requests refused, one core\n\n{}", table(&refused));
    let peak = passed[..2].iter().map(|(_, figures)| figures.per_second.median()).min().unwrap_or(0);
    Ok(Proxied { tables, peak })
}

/// Two workers each; the load and the upstream are on the same cores.
pub(crate) fn both_cores(place: &Place, plan: &Plan) -> Result<String, String> {
    let plan = Plan { cores: "0,1", ..plan.clone() };
    let setup = Setup { limits: Limits::Generous, workers: 2, cores: "0,1" };
    let passed = measure(place, &plan, Answers::Granted, &[(Whose::Tollgate, setup), (Whose::Nginx, setup)])?;
    let setup = Setup { limits: Limits::Exhausted, ..setup };
    let refused =
        measure(place, &plan, Answers::Refused, &[(Whose::Tollgate, setup), (Whose::Nginx, setup)])?;
    Ok(format!(
        "### Requests passed on, two workers on both cores\n\n{}\n### Requests refused, two workers on both cores\n\n{}",
        table(&passed),
        table(&refused)
    ))
}

fn measure(place: &Place, plan: &Plan, answers: Answers, who: &[(Whose, Setup)]) -> Result<Vec<Row>, String> {
    let started: Result<Vec<_>, _> =
        who.iter().map(|(whose, setup)| Contestant::gateway(place, *whose, *setup)).collect();
    let started = started?;
    let figures = alternate(&started.iter().collect::<Vec<_>>(), plan, answers)?;
    Ok(started.into_iter().map(|contestant| contestant.name).zip(figures).collect())
}

/// The second row is nginx's, and what the others are compared with.
fn table(rows: &[Row]) -> String {
    let mut text = String::from(
        "|  | requests/s | × nginx | CPU µs per request | nginx's CPU ÷ it | of a core, % |\n|---|---|---|---|---|---|\n",
    );
    let nginx = &rows[1].1;
    for (name, figures) in rows {
        let rate = ratio(figures.per_second.over(&nginx.per_second).median(), WHOLE);
        let cpu = ratio(nginx.cpu.over(&figures.cpu).median(), WHOLE);
        let (shown, used) = (figures.per_second.whole(), figures.cpu.thousandths());
        let _ = writeln!(text, "| {name} | {shown} | {rate} | {used} | {cpu} | {} |", figures.busy.median());
    }
    text
}

/// What limits cost, as a share of what is left without them: the median of what each round says.
fn cost_of_limits(with: &Row, without: &Row) -> String {
    let share = |more: &Spread, less: &Spread| {
        let tenths = (more.over(less).median().saturating_sub(WHOLE) + 5) / 10;
        format!("{}.{}", tenths / 10, tenths % 10)
    };
    let slower = share(&without.1.per_second, &with.1.per_second);
    let dearer = share(&with.1.cpu, &without.1.cpu);
    format!("- Limits cost {} {dearer} % of CPU per request, and {slower} % of time.", with.0)
}

#[test]
fn the_cost_of_limits_is_a_share_of_what_it_costs_without() {
    let figures = |per_second, cpu| {
        let mut figures = Figures::default();
        figures.per_second.push(per_second);
        figures.cpu.push(cpu);
        figures
    };
    let (with, without) =
        (("it".to_string(), figures(50_000, 20_900)), ("-".to_string(), figures(52_500, 19_000)));
    assert_eq!(
        cost_of_limits(&with, &without),
        "- Limits cost it 10.0 % of CPU per request, and 5.0 % of time."
    );
}
