//! Every possible script: their number, the source of their time, and that no section is left empty.

use super::assembly::{repeated, section};
use super::{Clock, Driver, FEW_MAX, KindSet, script};
use crate::Script;

/// Every script that there can be, by either clock.
fn all() -> Vec<(Driver, Clock, &'static Script)> {
    let drivers = [
        Driver::Charge,
        Driver::Many,
        Driver::Few(2),
        Driver::Few(3),
        Driver::Few(FEW_MAX),
        Driver::Batch,
        Driver::Peek,
        Driver::Verbs,
        Driver::Reset,
        Driver::Exchange,
        Driver::Reserve,
    ];
    let mut scripts = Vec::new();
    for clock in [Clock::Server, Clock::Given] {
        for driver in drivers {
            for bits in 0_u8..16 {
                // A call about one key is about one kind, and a reset about none.
                let fits = match driver {
                    Driver::Charge | Driver::Many | Driver::Verbs => bits.count_ones() == 1,
                    Driver::Few(_) => bits > 0,
                    Driver::Batch | Driver::Peek => true,
                    Driver::Reset | Driver::Exchange | Driver::Reserve => bits == 0,
                };
                if fits {
                    scripts.push((driver, clock, script(driver, KindSet(bits), clock)));
                }
            }
        }
    }
    scripts
}

#[test]
fn there_are_92_scripts_and_no_two_alike() {
    let scripts = all();
    let mut digests: Vec<_> = scripts.iter().map(|(.., script)| &script.digest).collect();
    digests.sort();
    digests.dedup();
    assert_eq!((scripts.len(), digests.len()), (2 * 92, 2 * 92));
    assert!(digests.iter().all(|digest| digest.len() == 40));
}

#[test]
fn what_ships_takes_the_time_from_the_server_and_from_nobody_else() {
    for (driver, clock, script) in all() {
        let ships = clock == Clock::Server;
        assert_eq!(script.text.contains("call('TIME')"), ships, "{driver:?}");
        assert_eq!(script.text.contains("ARGV[#ARGV]"), !ships, "{driver:?}");
    }
}

#[test]
fn every_section_has_found_its_place() {
    for (driver, _, script) in all() {
        let left: Vec<_> =
            script.text.lines().filter(|line| line.contains("--") || line.contains('@')).collect();
        assert!(left.is_empty(), "{driver:?}: {left:?}");
        let opened = script
            .text
            .lines()
            .filter(|line| line.ends_with(" do") || line.ends_with("then") || *line == "do");
        assert!(opened.count() > 0 || driver == Driver::Reset, "{driver:?} has no code");
    }
}

#[test]
fn a_peek_has_no_line_that_writes() {
    for (driver, _, script) in all().into_iter().filter(|(driver, ..)| *driver == Driver::Peek) {
        for command in ["'SET'", "'DEL'", "'SETRANGE'", "'PEXPIRE'"] {
            assert!(!script.text.contains(command), "{driver:?} has {command}");
        }
    }
}

#[test]
fn what_is_repeated_is_numbered() {
    assert_eq!(repeated("a@(b@,)c@(d)", 2), "ab1,b2,cdd");
    assert_eq!(repeated("nothing", 3), "nothing");
}

#[test]
fn a_section_ends_where_the_next_begins() {
    let file = "-- what for\n\n---- one\na\n\n---- one_more\nb\n";
    assert_eq!(section(file, "one"), Some("a\n"));
    assert_eq!(section(file, "one_more"), Some("b\n"));
    assert_eq!(section(file, "two"), None);
}
