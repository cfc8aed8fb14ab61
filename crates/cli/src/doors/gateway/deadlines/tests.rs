//! Deadlines with ticks made by the tests: none is early, none is forgotten.

use super::*;

fn late(watch: &Deadlines) -> Option<DeadlineKind> {
    match watch.poll_late(&Context::from_waker(Waker::noop())) {
        Poll::Ready(due) => Some(due),
        Poll::Pending => None,
    }
}

#[test]
fn a_deadline_is_never_early_and_at_most_two_ticks_late() {
    let watches = WorkerDeadlines::new(&Timeouts::default());
    let watch = watches.watch();
    watch.wait_for(DeadlineKind::Header);
    let ticks = watches.ticks.of(Timeouts::default().header);
    (0..ticks).for_each(|_| watches.tick());
    assert_eq!(late(&watch), None, "the tick that was running may just have begun");
    watches.tick();
    assert_eq!(late(&watch), Some(DeadlineKind::Header));
    watch.rest();
    assert_eq!(late(&watch), None);
}

#[test]
fn the_whole_of_an_exchange_is_late_whatever_else_is_waited_for() {
    let total = Some(Duration::from_secs(1));
    let watches = WorkerDeadlines::new(&Timeouts { total, ..Timeouts::default() });
    let watch = watches.watch();
    watch.begin();
    watch.wait_for(DeadlineKind::ResponseBody);
    (0..=watches.ticks.of(Duration::from_secs(1))).for_each(|_| watches.tick());
    assert_eq!(late(&watch), Some(DeadlineKind::Total));
    watch.end();
    assert_eq!(late(&watch), None);
}

#[test]
fn a_connection_naps_after_a_moment_without_a_request_unless_it_is_stuck() {
    let watches = WorkerDeadlines::new(&Timeouts::default());
    let watch = watches.watch();
    watch.wait_for(DeadlineKind::Idle);
    watches.tick();
    assert!(!watch.may_nap(), "it may just have begun");
    watches.tick();
    assert!(watch.may_nap());
    watch.stuck();
    assert!(!watch.may_nap(), "what it has written is not gone yet");
    watch.taken();
    watch.wait_for(DeadlineKind::Header);
    assert!(!watch.may_nap(), "a request has begun");
}

#[test]
fn who_takes_the_end_of_a_response_slowly_is_not_idle_and_who_takes_nothing_is_late() {
    let watches = WorkerDeadlines::new(&Timeouts::default());
    let watch = watches.watch();
    let (idle, write) =
        (watches.ticks.of(Timeouts::default().idle), watches.ticks.of(Timeouts::default().write));
    watch.wait_for(DeadlineKind::Idle);
    for tick in 0..2 * idle {
        if tick % write == 0 {
            watch.taken();
            watch.stuck();
        }
        watches.tick();
        assert_eq!(late(&watch), None, "it takes something now and then");
    }
    (0..=write).for_each(|_| watches.tick());
    assert_eq!(late(&watch), Some(DeadlineKind::Write));
    watch.taken();
    (0..idle).for_each(|_| watches.tick());
    assert_eq!(late(&watch), None, "its time without a request begins when it has taken all");
    watches.tick();
    assert_eq!(late(&watch), Some(DeadlineKind::Idle));
}

#[test]
fn what_is_gone_is_not_watched_any_more() {
    let watches = WorkerDeadlines::new(&Timeouts::default());
    let watch = watches.watch();
    drop(watches.watch());
    watches.tick();
    assert_eq!(watches.all.lock().unwrap().len(), 1);
    drop(watch);
}

#[test]
fn short_deadlines_have_short_ticks() {
    let header = Duration::from_millis(40);
    let ticks = Ticks::new(&Timeouts { header, ..Timeouts::default() });
    assert_eq!(ticks.length(), Duration::from_millis(10));
    assert_eq!(Ticks::new(&Timeouts::default()).length(), TICK_MAX);
}
