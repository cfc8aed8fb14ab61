//! A store in a file: read back as it was, or refused with a sentence and started empty.

use std::fs;
use std::path::PathBuf;
use std::time::Duration;

use tollgate::{Clock, Limit, Limiter, Micros, NamedLimit, UtcOffset, Window};
use tollgate_testing::folder::Folder;

/// A folder of its own for each test.
fn folder(name: &str) -> PathBuf {
    Folder::new(name).keep()
}

fn limits(limiter: &Limiter) -> Vec<NamedLimit> {
    let hour = Micros::HOUR;
    let all = [
        Limit::token_bucket(9, 1, hour),
        Limit::leaky_bucket(9, 7, hour),
        Limit::gcra(9, 10_007, Micros::DAY),
        Limit::fixed_window(9, Window::Every(hour)),
        Limit::sliding_window(9, hour),
        Limit::sliding_window_buckets(9, hour, 6),
        Limit::sliding_window_log(9, hour),
    ];
    let named = |limit: Limit| limiter.limit(&limit.to_string(), limit);
    all.into_iter().map(|limit| named(limit.unwrap())).collect()
}

const START: Micros = Micros::from_secs(1_763_208_000);

/// A limiter of which every key has used something.
fn used(vouched: bool) -> (Limiter, tollgate::ManualClock) {
    let clock = Clock::manual(START);
    let builder = Limiter::builder().clock(clock.clock());
    let builder = if vouched { builder.trusted_keys() } else { builder };
    let limiter = builder.build().unwrap();
    for limit in limits(&limiter) {
        for key in 0..300_u64 {
            clock.advance(Duration::from_millis(1));
            let bytes = key.to_le_bytes();
            assert!(limiter.try_charge(&[limit.hit(&bytes).cost(key % 9 + 1)]).unwrap().is_granted());
        }
    }
    (limiter, clock)
}

fn left(limiter: &Limiter) -> Vec<u64> {
    let keys = (0..310_u64).map(u64::to_le_bytes);
    let of = |limit: &NamedLimit| -> Vec<u64> {
        keys.clone().map(|key| limiter.try_inspect(limit, key).unwrap().decision.remaining).collect()
    };
    limits(limiter).iter().flat_map(of).collect()
}

#[test]
fn a_store_is_read_back_as_it_was() {
    let folder = folder("whole");
    for vouched in [false, true] {
        let (limiter, clock) = used(vouched);
        let file = folder.join("store");
        assert_eq!(limiter.save(&file).unwrap(), 7 * 300);
        assert_eq!(fs::read_dir(&folder).unwrap().count(), 1, "nothing is left beside it");
        // Some time passes before it is read back, and some after.
        clock.advance(Duration::from_secs(100));
        let (restored, result) = Limiter::builder().clock(clock.clock()).restore(&file).unwrap();
        result.unwrap();
        for seconds in [0, 400, 3_000, 7_200] {
            clock.advance(Duration::from_secs(seconds));
            assert_eq!(left(&restored), left(&limiter), "after {seconds} more");
        }
    }
}

#[test]
fn after_a_clock_that_was_set_back_nothing_has_drained() {
    let folder = folder("back");
    let (limiter, clock) = used(false);
    limiter.save(&folder.join("store")).unwrap();
    let earlier = Clock::manual(Micros::from_secs(1_763_208_000 - 3_600));
    let (restored, result) =
        Limiter::builder().clock(earlier.clock()).restore(&folder.join("store")).unwrap();
    result.unwrap();
    let buckets = |limiter: &Limiter| left(limiter)[..310].to_vec();
    assert_eq!(buckets(&restored), buckets(&limiter));
    drop(clock);
}

#[test]
fn a_file_that_is_not_whole_is_refused_and_the_store_starts_empty() {
    let folder = folder("torn");
    let (limiter, _clock) = used(false);
    let file = folder.join("store");
    limiter.save(&file).unwrap();
    let whole = fs::read(&file).unwrap();
    let said = |bytes: &[u8]| {
        fs::write(&file, bytes).unwrap();
        let clock = Clock::manual(START);
        let (restored, result) = Limiter::builder().clock(clock.clock()).restore(&file).unwrap();
        assert_eq!(restored.stats().slots_used, 0, "it starts empty");
        let said = result.expect_err("it is not whole").to_string();
        said.split_once("/store: ").unwrap().1.to_string()
    };
    let torn = "is damaged (checksum mismatch): the store starts empty";
    for cut in (8..whole.len()).step_by(997) {
        assert_eq!(said(&whole[..cut]), torn, "cut off at {cut}");
    }
    for place in (8..whole.len()).step_by(1_009) {
        let mut flipped = whole.clone();
        flipped[place] ^= 0x10;
        assert_eq!(said(&flipped), torn, "a bit at {place}");
    }
    let foreign = "is not a snapshot of a Tollgate store: the store starts empty";
    assert_eq!(said(b""), foreign);
    assert_eq!(said(b"REDIS0011 and so on"), foreign);
    assert_eq!(said(&whole[1..]), foreign);
    fs::remove_file(&file).unwrap();
    let (_, result) = Limiter::builder().restore(&file).unwrap();
    assert!(result.unwrap_err().to_string().contains("cannot be read ("));
}

#[test]
fn keys_for_which_there_is_no_room_are_counted() {
    let folder = folder("room");
    let clock = Clock::manual(START);
    let limiter = Limiter::builder().clock(clock.clock()).build().unwrap();
    let named = limiter.limit("many", Limit::gcra(3, 1, Micros::DAY).unwrap());
    for key in 0..300_000_u32 {
        assert!(limiter.try_charge(&[named.hit(&key.to_le_bytes())]).unwrap().is_granted());
    }
    let file = folder.join("store");
    assert_eq!(limiter.save(&file).unwrap(), 300_000);
    let (_, result) = Limiter::builder().clock(clock.clock()).max_memory(4 << 20).restore(&file).unwrap();
    let said = result.unwrap_err().to_string();
    assert!(
        said.ends_with("keys did not fit in the memory budget and start afresh: raise the budget"),
        "{said}"
    );
    let (restored, result) = Limiter::builder().clock(clock.clock()).restore(&file).unwrap();
    result.unwrap();
    assert_eq!(restored.stats().slots_used, 300_000);
}

/// While the store is full new keys spend in common: that is saved with the limit it was spent under, and read back.
#[test]
fn what_new_keys_have_spent_in_common_is_read_back() {
    let folder = folder("common");
    let file = folder.join("store");
    let clock = Clock::manual(START);
    let limiter = Limiter::builder().clock(clock.clock()).max_memory(4 << 20).build().unwrap();
    let flood = limiter.limit("flood", Limit::gcra(3, 1, Micros::DAY).unwrap());
    for key in 0..300_000_u32 {
        let _ = limiter.try_charge(&[flood.hit(&key.to_le_bytes())]).unwrap();
    }
    let india = UtcOffset::from_minutes(330).unwrap();
    let west = UtcOffset::from_minutes(-210).unwrap();
    let utc = UtcOffset::default();
    let windows = [Window::Day(india), Window::Week(west), Window::Month(utc), Window::Year(utc)];
    let windows = windows.map(|window| Limit::fixed_window(9, window).unwrap());
    // Keys that nobody has seen, two of each limit.
    let limits = |limiter: &Limiter| {
        let windows = windows.map(|limit| limiter.limit(&limit.to_string(), limit));
        limits(limiter).into_iter().chain(windows).collect::<Vec<_>>()
    };
    let keys = ["new", "newer"];
    for (number, limit) in (0..).zip(limits(&limiter)) {
        for key in keys {
            let verdict = limiter.try_charge(&[limit.hit(key).cost(1 + number % 4)]).unwrap();
            assert!(verdict.is_granted() && verdict.is_overflow(), "{limit:?}");
        }
    }
    let left = |limiter: &Limiter| {
        let left = |limit: &NamedLimit, key: &str| limiter.try_peek(&[limit.hit(key)]).unwrap().remaining();
        limits(limiter).iter().flat_map(|limit| keys.map(|key| left(limit, key))).collect::<Vec<_>>()
    };
    limiter.save(&file).unwrap();
    clock.advance(Duration::from_secs(100));
    // As full as it was; and with room for everybody, where nobody starts better than that.
    for budget in [4 << 20, 64 << 20] {
        let builder = Limiter::builder().clock(clock.clock()).max_memory(budget);
        let (restored, result) = builder.restore(&file).unwrap();
        assert!(result.is_ok() || budget == 4 << 20, "{result:?}");
        assert_eq!(left(&restored), left(&limiter), "{budget}");
        assert!(left(&restored).iter().filter(|left| **left < Some(9)).count() > 15, "much is spent");
    }
}

/// After a clock that was set back by a day, nobody who has a cell in common is decided as late as it was then: who has to wait waits
/// no longer than he had to, and a known key beside such a one in a batch is not taken for one that has had a day to drain.
#[test]
fn after_a_clock_that_was_set_back_nobody_without_room_is_locked_out() {
    let folder = folder("common back");
    let file = folder.join("store");
    let clock = Clock::manual(START);
    let limiter = Limiter::builder().clock(clock.clock()).max_memory(4 << 20).build().unwrap();
    let known = limiter.limit("known", Limit::token_bucket(3, 1, Micros::HOUR).unwrap());
    assert!(limiter.try_charge(&[known.hit("ada").cost(3)]).unwrap().is_granted());
    let flood = limiter.limit("flood", Limit::gcra(3, 1, Micros::DAY).unwrap());
    for key in 0..300_000_u32 {
        let _ = limiter.try_charge(&[flood.hit(&key.to_le_bytes())]).unwrap();
    }
    let quick = limiter.limit("quick", Limit::token_bucket(3, 1, Micros::SECOND).unwrap());
    let verdict = limiter.try_charge(&[quick.hit("new").cost(3)]).unwrap();
    assert!(verdict.is_granted() && verdict.is_overflow(), "there is no room for it");
    limiter.save(&file).unwrap();
    let earlier = Clock::manual(Micros::from_secs(1_763_208_000 - 86_400));
    let builder = Limiter::builder().clock(earlier.clock()).max_memory(4 << 20);
    let (restored, _) = builder.restore(&file).unwrap();
    let known = restored.limit("known", Limit::token_bucket(3, 1, Micros::HOUR).unwrap());
    let quick = restored.limit("quick", Limit::token_bucket(3, 1, Micros::SECOND).unwrap());
    let both = [known.hit("ada"), quick.hit("new")];
    assert!(!restored.try_charge(&both).unwrap().is_granted(), "the known one owes what it owed");
    // Three seconds are what it takes at the most, whatever the clock was.
    earlier.advance(Duration::from_secs(4));
    assert!(restored.try_charge(&[quick.hit("new").cost(3)]).unwrap().is_granted());
    assert!(!restored.try_charge(&[known.hit("ada")]).unwrap().is_granted());
    earlier.advance(Duration::from_secs(3_600));
    assert!(restored.try_charge(&[known.hit("ada")]).unwrap().is_granted());
}

#[test]
fn a_store_that_cannot_be_saved_says_so() {
    let folder = folder("nowhere");
    let (limiter, _clock) = used(false);
    let said = limiter.save(&folder.join("no such folder").join("store")).unwrap_err().to_string();
    assert!(
        said.contains("cannot save the store (") && said.ends_with("an existing file is unchanged"),
        "{said}"
    );
}

/// Whoever has opened the file before keeps the old one, whole: nothing is ever written into it.
#[cfg(unix)]
#[test]
fn a_store_is_written_beside_and_only_its_owner_may_read_it() {
    use std::io::Read as _;
    use std::os::unix::fs::PermissionsExt as _;
    let folder = folder("beside");
    let file = folder.join("store");
    let (limiter, _clock) = used(false);
    limiter.save(&file).unwrap();
    let first = fs::read(&file).unwrap();
    let mut opened = fs::File::open(&file).unwrap();
    assert_eq!(opened.metadata().unwrap().permissions().mode() & 0o777, 0o600);
    let more = limiter.limit("more", Limit::gcra(3, 1, Micros::DAY).unwrap());
    assert!(limiter.try_charge(&[more.hit("ada")]).unwrap().is_granted());
    limiter.save(&file).unwrap();
    let mut kept = Vec::new();
    opened.read_to_end(&mut kept).unwrap();
    assert!(kept == first && fs::read(&file).unwrap() != first);
}
