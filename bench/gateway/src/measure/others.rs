//! What else went on on the machine while it was measured: processor time that was not ours. It changes no figure; it
//! says how far to trust them.

use std::fs;

use crate::process::stat_fields;

/// The machine's time and ours, in the kernel's ticks.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
struct Ticks {
    /// All that there was, idle time included.
    all: u64,
    /// Work of anybody.
    busy: u64,
    /// What the hypervisor gave to others.
    stolen: u64,
    /// Work of this process, and of those that it started and that have ended.
    ours: u64,
}

/// A stretch of time that has begun.
pub(crate) struct Others(Ticks);

impl Others {
    /// Begins. Nothing that was started before and ends after may be running.
    pub(crate) fn begin() -> Result<Self, String> {
        read().map(Self)
    }

    /// A sentence about the time since.
    pub(crate) fn sentence(&self) -> Result<String, String> {
        Ok(sentence(self.0, read()?))
    }
}

fn sentence(begin: Ticks, end: Ticks) -> String {
    let all = (end.all - begin.all).max(1);
    let others = (end.busy - begin.busy).saturating_sub(end.ours - begin.ours);
    let share = |ticks: u64| ticks * 100 / all;
    format!(
        "Meanwhile other programs used {} % of the machine's cores, and the hypervisor withheld {} %.",
        share(others),
        share(end.stolen - begin.stolen)
    )
}

fn read() -> Result<Ticks, String> {
    let file = |path: &str| fs::read_to_string(path).map_err(|error| format!("{path}: {error}"));
    ticks(&file("/proc/stat")?, &file("/proc/self/stat")?).ok_or_else(|| "/proc/stat cannot be read".into())
}

fn ticks(machine: &str, own: &str) -> Option<Ticks> {
    let numbers =
        |text: &str| text.split_whitespace().filter_map(|word| word.parse().ok()).collect::<Vec<u64>>();
    let line = machine.lines().next()?.strip_prefix("cpu ")?;
    // The numbers of guests after these are in the first two already.
    let [user, nice, system, idle, waiting, interrupt, soft, stolen] = *numbers(line).first_chunk()?;
    let busy = user + nice + system + interrupt + soft;
    // A field before these can be below nothing, so that they have to be counted off as words.
    let fields = stat_fields(own)?;
    let ours = fields.get(11..15)?.iter().filter_map(|word| word.parse::<u64>().ok()).sum();
    Some(Ticks { all: busy + idle + waiting + stolen, busy, stolen, ours })
}

#[test]
fn what_others_used_is_what_was_used_less_what_we_used() {
    let own = |ours| format!("7 (a b) S 1 7 7 0 -1 4194304 95 0 0 0 {ours} 2 3 4 20 0 1 0 100 200 300");
    let begin = ticks("cpu  100 0 50 1000 10 0 0 5 0 0\ncpu0 1 2\n", &own(1)).unwrap();
    assert_eq!(begin, Ticks { all: 1_165, busy: 150, stolen: 5, ours: 10 });
    let end = ticks("cpu  160 0 90 1090 10 0 0 15 0 0\n", &own(51)).unwrap();
    let expected =
        "Meanwhile other programs used 25 % of the machine's cores, and the hypervisor withheld 5 %.";
    assert_eq!(sentence(begin, end), expected);
}
