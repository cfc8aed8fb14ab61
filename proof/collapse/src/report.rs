//! The report of the recorded run: a table, and a drawing in the file that is named.

use std::io;

use tollgate_policy::numbers::MethodName;

use crate::run::{self, Plan};
use crate::{chart, server};

/// What `cargo xtask sim collapse` records.
const RECORDED: Plan = Plan { peak: 10, before: 5, overload: 30, settles: 10, after: 10 };

/// Runs the recorded plan and prints its table. The drawing goes into the file.
pub(crate) async fn write(file: Option<String>) -> io::Result<()> {
    let plan = RECORDED;
    let peak = run::peak(&plan).await?;
    eprintln!("peak: {peak:.1} requests per second");
    let without = run::overloaded(&plan, None).await?;
    eprintln!("without a limit: {:.1}", run::judged(&plan, &without));
    let with = run::overloaded(&plan, Some(MethodName::Gradient2)).await?;
    eprintln!("with a limit: {:.1}", run::judged(&plan, &with));
    if let Some(file) = file {
        std::fs::write(file, chart::draw(&plan, peak, (&with, &without)))?;
    }
    println!("| | goodput at {} × capacity | of the peak | 503 | not answered in time |", run::OVERLOAD);
    println!("| --- | ---: | ---: | ---: | ---: |");
    println!(
        "| the server alone, {} requests at once: the peak | {peak:.1}/s | 100 % | – | – |",
        server::AT_ONCE
    );
    for (name, seconds) in [("gateway without a limit", &without), ("gateway with `gradient2`", &with)] {
        let goodput = run::judged(&plan, seconds);
        let [refused, failed] = [|second: &run::Second| second.refused, |second: &run::Second| second.failed]
            .map(|of| run::mean(&plan, seconds, of));
        let part = 100.0 * goodput / peak;
        println!("| {name} | {goodput:.1}/s | {part:.0} % | {refused:.0}/s | {failed:.0}/s |");
    }
    let limits = with
        .iter()
        .skip((plan.before + plan.settles) as usize)
        .take(plan.overload as usize - plan.settles as usize);
    let limits: Vec<_> = limits.filter_map(|second| second.limit).collect();
    let (least, most) = (limits.iter().min(), limits.iter().max());
    println!("\nThe limit was between {} and {} meanwhile.", least.unwrap_or(&0), most.unwrap_or(&0));
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The same, in seconds: a machine with other things to do is no reason to fail, a collapse is.
    #[test]
    fn the_limit_keeps_a_collapsing_server_up_and_without_it_the_server_is_down() {
        let plan = Plan { peak: 3, before: 2, overload: 12, settles: 6, after: 0 };
        let runtime = tokio::runtime::Runtime::new().unwrap();
        let [peak, without, with] = runtime.block_on(async {
            let peak = run::peak(&plan).await.unwrap();
            let without = run::overloaded(&plan, None).await.unwrap();
            let with = run::overloaded(&plan, Some(MethodName::Gradient2)).await.unwrap();
            [peak, run::judged(&plan, &without), run::judged(&plan, &with)]
        });
        assert!(
            with >= 0.7 * peak && without <= 0.2 * peak,
            "{with:.0} and {without:.0} of {peak:.0} per second"
        );
    }
}
