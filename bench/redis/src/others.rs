//! What else went on on the machine while it was measured: processor time that was not ours. It changes no figure; it says how
//! far to trust them.

use std::fs;

/// The machine's time and ours, in the kernel's ticks.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Ticks {
    all: u64,
    busy: u64,
    /// What the hypervisor gave to others.
    stolen: u64,
    /// Work of this process, and of those that it started and that have ended.
    ours: u64,
}

impl Ticks {
    /// Now.
    pub(crate) fn now() -> Result<Self, String> {
        let file = |path: &str| fs::read_to_string(path).map_err(|error| format!("{path}: {error}"));
        Self::read(&file("/proc/stat")?, &file("/proc/self/stat")?)
            .ok_or_else(|| "/proc/stat cannot be read".into())
    }

    fn read(machine: &str, own: &str) -> Option<Self> {
        let line = machine.lines().next()?.strip_prefix("cpu ")?;
        let numbers: Vec<u64> = line.split_whitespace().filter_map(|word| word.parse().ok()).collect();
        let [user, nice, system, idle, waiting, interrupt, soft, stolen] = *numbers.first_chunk()?;
        let busy = user + nice + system + interrupt + soft;
        // The program's name may have anything in it, and a field before these can be below nothing.
        let fields: Vec<&str> = own.rsplit_once(')')?.1.split_whitespace().collect();
        let ours = fields.get(11..15)?.iter().filter_map(|word| word.parse::<u64>().ok()).sum();
        Some(Self { all: busy + idle + waiting + stolen, busy, stolen, ours })
    }

    /// A sentence about the time since. Nothing that was started since may still be running.
    pub(crate) fn sentence(self, end: Self) -> String {
        let all = (end.all - self.all).max(1);
        let others = (end.busy - self.busy).saturating_sub(end.ours - self.ours);
        let share = |ticks: u64| ticks * 100 / all;
        format!(
            "Meanwhile other programs used {} % of the machine's cores, and the hypervisor withheld {} %.",
            share(others),
            share(end.stolen - self.stolen)
        )
    }
}

#[test]
fn what_others_used_is_what_was_used_less_what_we_used() {
    let own = |ours| format!("7 (a b) S 1 7 7 0 -1 4194304 95 0 0 0 {ours} 2 3 4 20 0 1 0 100 200 300");
    let begin = Ticks::read("cpu  100 0 50 1000 10 0 0 5 0 0\ncpu0 1 2\n", &own(1)).unwrap();
    assert_eq!(begin, Ticks { all: 1_165, busy: 150, stolen: 5, ours: 10 });
    let end = Ticks::read("cpu  160 0 90 1090 10 0 0 15 0 0\n", &own(51)).unwrap();
    let expected =
        "Meanwhile other programs used 25 % of the machine's cores, and the hypervisor withheld 5 %.";
    assert_eq!(begin.sentence(end), expected);
}
