//! Lines over numbers, as a drawing in SVG. Both axes are logarithmic. What the lines are is not known here.
#![expect(clippy::float_arithmetic, reason = "places on a drawing")]

use std::fmt::Write as _;

use crate::markdown::grouped;

const WIDTH: f64 = 860.0;
const HEIGHT: f64 = 440.0;
/// The field between the axes: left, right, top, bottom.
const FIELD: (f64, f64, f64, f64) = (70.0, 560.0, 50.0, 380.0);
/// Told apart by those too who do not see all colours.
const COLOURS: [&str; 7] = ["#0072b2", "#d55e00", "#009e73", "#cc79a7", "#b8860b", "#56b4e9", "#555555"];
/// Told apart in print, too.
const DASHES: [&str; 4] = ["none", "7 3", "2 3", "9 3 2 3"];

/// What is drawn.
pub(crate) struct Chart<'a> {
    /// What it shows, for those who do not see it.
    pub(crate) title: &'a str,
    /// What stands above it.
    pub(crate) heading: &'a str,
    /// What is counted across.
    pub(crate) across: &'a str,
    /// What is measured upwards.
    pub(crate) up: &'a str,
    /// The numbers across at which something was measured, the least first.
    pub(crate) numbers: Vec<u32>,
    /// Each line's name and its points.
    pub(crate) lines: Vec<(&'a str, Vec<(u32, f64)>)>,
}

/// An axis: from where to where it goes, in numbers and on the drawing.
struct Axis {
    from: f64,
    to: f64,
    begin: f64,
    end: f64,
}

impl Axis {
    fn place(&self, number: f64) -> f64 {
        let part = (number / self.from).log10() / (self.to / self.from).log10();
        self.begin + part * (self.end - self.begin)
    }
}

/// The whole drawing.
///
/// # Errors
/// When there are fewer than two numbers to draw over.
pub(crate) fn draw(chart: &Chart) -> Result<String, String> {
    let (Some(&few), Some(&many)) = (chart.numbers.first(), chart.numbers.last()) else {
        return Err("no curve was measured".into());
    };
    if few == many {
        return Err(format!("a curve needs more than one number of {}, and not only {few}", chart.across));
    }
    let (left, right, top, bottom) = FIELD;
    let heights = || chart.lines.iter().flat_map(|(_, points)| points.iter().map(|(_, height)| *height));
    let x = Axis { from: few.into(), to: many.into(), begin: left, end: right };
    let (least, most) = (heights().fold(f64::INFINITY, f64::min), heights().fold(0.0, f64::max));
    let y = Axis { from: least.max(0.1) / 1.3, to: most.max(1.0) * 1.3, begin: bottom, end: top };
    let mut drawing = frame(chart);
    for number in &chart.numbers {
        let at = x.place(f64::from(*number));
        let _ = writeln!(drawing, r#"<path class="grid" d="M{at:.1} {top}V{bottom}"/>"#);
        let _ = writeln!(drawing, r#"<text x="{at:.1}" y="{}">{}</text>"#, bottom + 20.0, grouped(*number));
    }
    for tick in ticks(&y) {
        let at = y.place(tick);
        let _ = writeln!(drawing, r#"<path class="grid" d="M{left} {at:.1}H{right}"/>"#);
        let _ =
            writeln!(drawing, r#"<text class="time" x="{}" y="{:.1}">{tick}</text>"#, left - 8.0, at + 4.0);
    }
    for (number, (name, points)) in chart.lines.iter().enumerate() {
        let place = |(across, height): &(u32, f64)| (x.place(f64::from(*across)), y.place(height.max(0.1)));
        line(&mut drawing, number, &points.iter().map(place).collect::<Vec<_>>());
        legend(&mut drawing, number, name);
    }
    Ok(drawing + "</svg>\n")
}

/// The drawing's head: its own light ground, so that it can be read on any page, light or dark.
fn frame(chart: &Chart) -> String {
    let (left, right, top, bottom) = FIELD;
    let (middle, centre, below) = (f64::midpoint(left, right), f64::midpoint(top, bottom), bottom + 44.0);
    let size = format!(r#"width="{WIDTH}" height="{HEIGHT}""#);
    format!(
        r##"<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {HEIGHT}" {size} role="img">
<title>{}</title>
<style>
text {{ font: 13px sans-serif; fill: #24292f; text-anchor: middle }}
text.name {{ text-anchor: start }}
text.time {{ text-anchor: end }}
text.title {{ font-weight: bold }}
path, polyline {{ fill: none; stroke-width: 2 }}
path.grid {{ stroke: #d0d7de; stroke-width: 1 }}
path.axis {{ stroke: #57606a; stroke-width: 1 }}
</style>
<rect {size} rx="8" fill="#ffffff" stroke="#d0d7de"/>
<text class="title" x="{middle}" y="30">{}</text>
<text x="{middle}" y="{below}">{}</text>
<text x="20" y="{centre}" transform="rotate(-90 20 {centre})">{}</text>
<path class="axis" d="M{left} {top}V{bottom}H{right}"/>
"##,
        escaped(chart.title),
        escaped(chart.heading),
        escaped(chart.across),
        escaped(chart.up)
    )
}

/// 1, 2 and 5 of every power of ten on the axis.
fn ticks(axis: &Axis) -> Vec<f64> {
    let powers = [0.1, 1.0, 10.0, 100.0, 1e3, 1e4, 1e5, 1e6];
    let all = powers.into_iter().flat_map(|power| [power, 2.0 * power, 5.0 * power]);
    all.filter(|tick| (axis.from..=axis.to).contains(tick)).collect()
}

/// Colour and dashes of the subject of this number.
fn style(number: usize) -> (&'static str, &'static str) {
    (COLOURS[number % COLOURS.len()], DASHES[number % DASHES.len()])
}

fn line(drawing: &mut String, number: usize, points: &[(f64, f64)]) {
    let (colour, dashes) = style(number);
    let path: Vec<_> = points.iter().map(|(x, y)| format!("{x:.1},{y:.1}")).collect();
    let _ = writeln!(
        drawing,
        r#"<polyline points="{}" stroke="{colour}" stroke-dasharray="{dashes}"/>"#,
        path.join(" ")
    );
    for (x, y) in points {
        let _ = writeln!(drawing, r#"<circle cx="{x:.1}" cy="{y:.1}" r="3.5" fill="{colour}"/>"#);
    }
}

fn legend(drawing: &mut String, number: usize, subject: &str) {
    let (colour, dashes) = style(number);
    let (left, line) = (FIELD.1 + 24.0, u32::try_from(number).unwrap_or(0));
    let y = FIELD.2 + 14.0 + 24.0 * f64::from(line);
    let _ = writeln!(
        drawing,
        r#"<path d="M{left} {y}h30" stroke="{colour}" stroke-dasharray="{dashes}"/>
<circle cx="{}" cy="{y}" r="3.5" fill="{colour}"/>
<text class="name" x="{}" y="{}">{}</text>"#,
        left + 15.0,
        left + 38.0,
        y + 4.0,
        escaped(subject)
    );
}

/// Text as XML has it.
fn escaped(text: &str) -> String {
    text.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;")
}

#[cfg(test)]
mod tests {
    use super::{Axis, escaped, ticks};

    #[test]
    fn tenfold_is_the_same_distance_everywhere_and_lies_on_the_field() {
        let axis = Axis { from: 10.0, to: 1_000.0, begin: 0.0, end: 200.0 };
        let places = [10.0, 100.0, 1_000.0].map(|number| format!("{:.1}", axis.place(number)));
        assert_eq!(places, ["0.0", "100.0", "200.0"]);
        assert_eq!(format!("{:?}", ticks(&axis)), "[10.0, 20.0, 50.0, 100.0, 200.0, 500.0, 1000.0]");
    }

    #[test]
    fn signs_of_xml_are_written_as_text() {
        assert_eq!(escaped("a & <b>"), "a &amp; &lt;b&gt;");
    }
}
