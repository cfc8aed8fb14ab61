//! What the measuring program prints, read: one measurement a line, its parts apart by tabs. Not how it is shown.

/// A figure of several rounds.
#[derive(Clone, Copy, Debug)]
pub(super) struct Spread {
    pub(super) median: f64,
    pub(super) least: f64,
    pub(super) most: f64,
}

/// One subject with so many in flight.
#[derive(Debug)]
pub(super) struct Rate {
    pub(super) subject: String,
    in_flight: u32,
    pub(super) per_second: Spread,
    /// Nanoseconds of the server's processor time a decision.
    pub(super) cpu: Spread,
    /// Per cent of its core that the server kept busy.
    pub(super) busy: u32,
    /// Per cent that were granted.
    pub(super) granted: u32,
}

/// Logs of one length.
#[derive(Debug)]
pub(super) struct Length {
    /// How many they grant.
    pub(super) limit: u32,
    /// How many there are.
    pub(super) keys: u32,
    pub(super) rate: Rate,
}

/// All that a run printed.
#[derive(Debug, Default)]
pub(super) struct Report {
    rates: Vec<Rate>,
    /// Logs, of different lengths.
    pub(super) lengths: Vec<Length>,
    /// A subject, how many its logs grant, and the bytes that one takes.
    length_bytes: Vec<(String, u32, f64)>,
    /// A subject, and the bytes that a key takes.
    pub(super) bytes: Vec<(String, f64)>,
    /// A subject, and what a reader of its figures should know.
    pub(super) notes: Vec<(String, String)>,
    /// How many keys, rounds and milliseconds, and how far to trust the figures.
    pub(super) scale: Option<(u32, u32, u32, String)>,
}

impl Report {
    /// Reads every line.
    ///
    /// # Errors
    /// With the line that says nothing.
    pub(super) fn parse(printed: &str) -> Result<Self, String> {
        let mut report = Self::default();
        for line in printed.lines() {
            report.add(line).ok_or_else(|| format!("no measurement: `{line}`"))?;
        }
        Ok(report)
    }

    fn add(&mut self, line: &str) -> Option<()> {
        let parts: Vec<&str> = line.split('\t').collect();
        match parts.as_slice() {
            ["#", subject, note] => self.notes.push(((*subject).into(), (*note).into())),
            ["bytes", subject, tenths] => {
                self.bytes.push(((*subject).into(), tenths_of(tenths.parse().ok()?)));
            }
            ["scale", keys, rounds, millis, sentence] => {
                let scale =
                    (keys.parse().ok()?, rounds.parse().ok()?, millis.parse().ok()?, (*sentence).into());
                self.scale = Some(scale);
            }
            ["rate", subject, in_flight, figures @ ..] => {
                self.rates.push(rate(subject, in_flight.parse().ok()?, figures)?);
            }
            ["length", subject, limit, keys, figures @ ..] => {
                let (limit, keys) = (limit.parse().ok()?, keys.parse().ok()?);
                self.lengths.push(Length { limit, keys, rate: rate(subject, 0, figures)? });
            }
            ["length bytes", subject, limit, tenths] => {
                let bytes = tenths_of(tenths.parse().ok()?);
                self.length_bytes.push(((*subject).into(), limit.parse().ok()?, bytes));
            }
            _ => return None,
        }
        Some(())
    }

    /// A subject's figures with so many in flight, if they were taken.
    pub(super) fn rate(&self, subject: &str, in_flight: u32) -> Option<&Rate> {
        self.rates.iter().find(|rate| rate.subject == subject && rate.in_flight == in_flight)
    }

    /// The bytes that a key of a subject takes.
    pub(super) fn bytes_of(&self, subject: &str) -> Option<f64> {
        self.bytes.iter().find(|(name, _)| name == subject).map(|(_, bytes)| *bytes)
    }

    /// The bytes that a log of a subject takes, if it grants so many.
    pub(super) fn length_bytes_of(&self, subject: &str, limit: u32) -> Option<f64> {
        let is = |(name, of, _): &&(String, u32, f64)| name == subject && *of == limit;
        self.length_bytes.iter().find(is).map(|(.., bytes)| *bytes)
    }

    /// Everybody, in the order of the lines.
    pub(super) fn subjects(&self) -> Vec<&str> {
        let mut found: Vec<&str> = Vec::new();
        for rate in &self.rates {
            if !found.contains(&rate.subject.as_str()) {
                found.push(&rate.subject);
            }
        }
        found
    }

    /// How many were in flight, the fewest first.
    pub(super) fn in_flight(&self) -> Vec<u32> {
        let mut numbers: Vec<u32> = self.rates.iter().map(|rate| rate.in_flight).collect();
        numbers.sort_unstable();
        numbers.dedup();
        numbers
    }
}

/// The figures of a line.
fn rate(subject: &str, in_flight: u32, figures: &[&str]) -> Option<Rate> {
    let figures: Option<Vec<u32>> = figures.iter().map(|figure| figure.parse().ok()).collect();
    let [rate, rate_least, rate_most, cpu, cpu_least, cpu_most, busy, granted] = figures?[..] else {
        return None;
    };
    Some(Rate {
        subject: subject.into(),
        in_flight,
        per_second: spread(rate, rate_least, rate_most),
        cpu: spread(cpu, cpu_least, cpu_most),
        busy,
        granted,
    })
}

#[expect(clippy::float_arithmetic, reason = "a figure for a reader; nothing is decided by it")]
fn tenths_of(number: u32) -> f64 {
    f64::from(number) / 10.0
}

fn spread(median: u32, least: u32, most: u32) -> Spread {
    Spread { median: median.into(), least: least.into(), most: most.into() }
}

#[cfg(test)]
mod tests {
    use super::Report;

    #[test]
    fn every_kind_of_line_is_read() {
        let printed = "#\ta, b\tslow\nbytes\ta, b\t1583\nrate\ta, b\t64\t9\t8\t10\t5\t4\t6\t99\t50\n\
                       rate\tc\t1\t1\t1\t1\t1\t1\t1\t1\t1\n\
                       length\ta, b\t100\t500\t7\t6\t8\t5\t4\t6\t99\t50\nlength bytes\ta, b\t100\t15004\nscale\t1000000\t5\t1300\tMeanwhile.\n";
        let report = Report::parse(printed).unwrap();
        let rate = report.rate("a, b", 64).unwrap();
        let figures = [rate.per_second.median, rate.per_second.least, rate.per_second.most, rate.cpu.most];
        assert_eq!(format!("{figures:?} {} {}", rate.busy, rate.granted), "[9.0, 8.0, 10.0, 6.0] 99 50");
        assert!(report.rate("a, b", 1).is_none());
        assert_eq!(format!("{:?} {:?}", report.bytes_of("a, b"), report.bytes_of("c")), "Some(158.3) None");
        let length = &report.lengths[0];
        assert_eq!((length.limit, length.keys, length.rate.subject.as_str()), (100, 500, "a, b"));
        assert_eq!(
            format!("{:?} {:?}", length.rate.per_second.median, report.length_bytes_of("a, b", 100)),
            "7.0 Some(1500.4)"
        );
        assert!(report.length_bytes_of("a, b", 10).is_none());
        assert_eq!((report.subjects(), report.in_flight()), (vec!["a, b", "c"], vec![1, 64]));
        assert_eq!(report.scale, Some((1_000_000, 5, 1_300, "Meanwhile.".into())));
    }

    #[test]
    fn a_line_that_is_no_measurement_is_shown() {
        for line in [
            "rate\ta\t64\t1",
            "length\ta\t10\t9\t1",
            "length bytes\ta\t10",
            "bytes\ta\tmany",
            "",
            "rate\ta\t64\t9\t8\t10\t5\t4\t6\t99\t50\t1",
        ] {
            let error = Report::parse(&format!("{line}\n")).unwrap_err();
            assert!(error.contains(line), "{error}");
        }
    }
}
