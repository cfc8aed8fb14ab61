//! The drawing: goodput second by second, with and without the limit, and the limit.

use crate::run::{Plan, Second};
use crate::server::{AT_ONCE, CAPACITY};

const WIDTH: f64 = 860.0;
const HEIGHT: f64 = 440.0;
/// The frame: left, top, right, bottom.
const FRAME: [f64; 4] = [70.0, 60.0, 620.0, 380.0];
/// The highest number that is drawn.
const MOST: f64 = 250.0;

const STYLE: &str = "<style>
text { font: 13px sans-serif; fill: #24292f; text-anchor: middle }
text.name { text-anchor: start }
text.time { text-anchor: end }
text.title { font-weight: bold }
path, polyline { fill: none; stroke-width: 2 }
path.grid { stroke: #d0d7de; stroke-width: 1 }
path.axis { stroke: #57606a; stroke-width: 1 }
</style>
";

pub(crate) fn draw(plan: &Plan, peak: f64, (with, without): (&[Second], &[Second])) -> String {
    let [left, top, right, bottom] = FRAME;
    let all = with.len() as f64;
    let x = |second: f64| left + (right - left) * second / all;
    let y = |number: f64| bottom - (bottom - top) * number.min(MOST) / MOST;
    let mut svg = format!(
        "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 {WIDTH} {HEIGHT}\" width=\"{WIDTH}\" height=\"{HEIGHT}\" role=\"img\">\n\
         <title>Goodput of a collapsing server behind the gateway</title>\n{STYLE}\
         <rect width=\"{WIDTH}\" height=\"{HEIGHT}\" rx=\"8\" fill=\"#ffffff\" stroke=\"#d0d7de\"/>\n"
    );
    let (from, to) = (x(plan.before as f64), x((plan.before + plan.overload) as f64));
    svg += &format!(
        "<rect x=\"{from:.1}\" y=\"{top}\" width=\"{:.1}\" height=\"{:.1}\" fill=\"#fff1e5\"/>\n",
        to - from,
        bottom - top
    );
    let middle = (left + right) / 2.0;
    svg += &format!(
        "<text class=\"title\" x=\"{middle}\" y=\"28\">A server that collapses under concurrency, behind the gateway</text>\n\
         <text x=\"{:.1}\" y=\"50\">3 × its capacity is offered ({:.0}/s)</text>\n\
         <text x=\"{middle}\" y=\"424\">seconds; 0.5 × its capacity before and after</text>\n\
         <text x=\"20\" y=\"220\" transform=\"rotate(-90 20 220)\">requests answered in time, per second</text>\n",
        (from + to) / 2.0,
        3.0 * CAPACITY
    );
    for second in (0..=with.len()).step_by(10) {
        let at = x(second as f64);
        svg += &format!(
            "<path class=\"grid\" d=\"M{at:.1} {top}V{bottom}\"/>\n<text x=\"{at:.1}\" y=\"400\">{second}</text>\n"
        );
    }
    for number in [0.0, 50.0, 100.0, 150.0, 200.0, 250.0] {
        let at = y(number);
        svg += &format!(
            "<path class=\"grid\" d=\"M{left} {at:.1}H{right}\"/>\n<text class=\"time\" x=\"62\" y=\"{:.1}\">{number}</text>\n",
            at + 4.0
        );
    }
    svg += &format!("<path class=\"axis\" d=\"M{left} {top}V{bottom}H{right}\"/>\n");
    svg += &format!(
        "<path d=\"M{left} {:.1}H{right}\" stroke=\"#57606a\" stroke-dasharray=\"6 4\"/>\n",
        y(peak)
    );
    let goodput = |second: &Second| Some(second.good as f64);
    let limit = |second: &Second| second.limit.map(|limit| limit as f64);
    svg += &line(without, goodput, "#cf222e", (&x, &y));
    svg += &line(with, goodput, "#0969da", (&x, &y));
    svg += &line(with, limit, "#8250df", (&x, &y));
    let names = [
        (y(peak) - 14.0, "#57606a", format!("the peak: {peak:.0}/s")),
        (y(peak) + 14.0, "#0969da", "with an adaptive limit".to_owned()),
        (y(f64::from(AT_ONCE)) - 12.0, "#8250df", format!("the limit ({AT_ONCE} is best)")),
        (y(0.0), "#cf222e", "without a limit".to_owned()),
    ];
    for (at, colour, name) in names {
        svg += &format!(
            "<text class=\"name\" x=\"{}\" y=\"{at:.1}\" style=\"fill: {colour}\">{name}</text>\n",
            right + 12.0
        );
    }
    svg + "</svg>\n"
}

fn line(
    seconds: &[Second],
    of: impl Fn(&Second) -> Option<f64>,
    colour: &str,
    (x, y): (&dyn Fn(f64) -> f64, &dyn Fn(f64) -> f64),
) -> String {
    let points = seconds.iter().enumerate().filter_map(|(at, second)| Some((at as f64 + 0.5, of(second)?)));
    let points: Vec<_> = points.map(|(at, number)| format!("{:.1},{:.1}", x(at), y(number))).collect();
    format!("<polyline points=\"{}\" stroke=\"{colour}\"/>\n", points.join(" "))
}
