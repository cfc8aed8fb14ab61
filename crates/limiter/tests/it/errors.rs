//! Wrong questions get a sentence and charge nothing; extreme ones get an answer.

use tollgate::{
    BuildError, HITS_MAX, Hit, KEY_BYTES_MAX, Limit, Limiter, MAX_MEMORY_BYTES_MIN, Micros, ParseIdError,
    ReservationError, ReservationId, Retry,
};

use crate::with_clock;

#[test]
fn wrong_questions_are_told_so_and_charge_nothing() {
    let (limiter, _clock) = with_clock();
    let limit = limiter.limit("logins", Limit::gcra(1, 1, Micros::HOUR).unwrap());
    let (good, long) = (limit.hit("ada"), vec![b'x'; KEY_BYTES_MAX + 1]);
    let said = |hits: &[Hit<'_>]| limiter.try_charge(hits).unwrap_err().to_string();
    assert_eq!(
        said(&[good, limit.hit(&long)]),
        "a key of `logins` has 65537 bytes, more than 65536: shorten it, or hash it before"
    );
    assert_eq!(
        said(&vec![good; HITS_MAX + 1]),
        "33 hits in one request, more than 32: charge fewer limits at once, or independent keys one by one"
    );
    let foreign = Limiter::new().unwrap().limit("elsewhere", Limit::Unlimited);
    assert_eq!(
        said(&[good, foreign.hit("ada")]),
        "`elsewhere` belongs to another limiter: use a limit that this limiter created"
    );
    let other = limiter.limit("logins", Limit::gcra(2, 1, Micros::HOUR).unwrap());
    assert_eq!(
        said(&[good, other.hit("ada")]),
        "two hits are on the same key of `logins` with different numbers: charge the key once"
    );
    assert!(
        limiter.try_charge_each(&[good, foreign.hit("ada")], |_, _| panic!("nothing is charged")).is_err()
    );
    assert!(limiter.try_charge(&[good]).unwrap().is_granted(), "nothing was charged");
    assert!(
        limiter.try_charge(&[limit.hit(&long[1..])]).unwrap().is_granted(),
        "the longest key there may be"
    );
}

#[test]
fn a_budget_below_the_minimum_is_an_error_that_states_the_minimum() {
    for bytes in [0, 1, 1 << 20, MAX_MEMORY_BYTES_MIN - 1] {
        let error = Limiter::builder().max_memory(bytes).build().map(|_| ()).unwrap_err();
        assert_eq!(error, BuildError::MaxMemoryTooSmall { bytes });
        let sentence = error.to_string();
        assert!(
            sentence.contains(&bytes.to_string()) && sentence.contains("at least 4194304 bytes (4 MiB)"),
            "{sentence}"
        );
        let restored = Limiter::builder().max_memory(bytes).restore("no-such-file".as_ref()).map(|_| ());
        assert_eq!(restored.unwrap_err(), BuildError::MaxMemoryTooSmall { bytes });
    }
    assert!(Limiter::builder().max_memory(MAX_MEMORY_BYTES_MIN).build().is_ok());
}

#[test]
fn extreme_questions_get_an_answer() {
    let (limiter, clock) = with_clock();
    let limits = [
        Limit::gcra(0, 1, Micros::SECOND),
        Limit::token_bucket(14, 1, Micros::from_secs(315_576_000)),
        Limit::token_bucket(2_000_000_000, 2_000_000_000, Micros::SECOND),
        Limit::leaky_bucket(1, (1 << 52) - 2, Micros::new(1)),
        Limit::sliding_window_log(1 << 16, Limit::WINDOW_MAX),
    ];
    for limit in limits.map(Result::unwrap) {
        let named = limiter.limit(&limit.to_string(), limit);
        let never = limiter.try_charge(&[named.hit("ada").cost(u64::MAX)]).unwrap();
        assert_eq!((never.is_granted(), never.retry()), (false, Some(Retry::Never)), "{limit}");
        let all = limiter.try_charge(&[named.hit("ada").cost(limit.capacity())]).unwrap();
        assert!(all.is_granted(), "{limit}");
        assert!(!limiter.try_charge(&[named.hit("ada")]).unwrap().is_granted(), "{limit}");
    }
    // Time stands still in the year 2112, and before 1970 there is none.
    clock.set(Micros::new(u64::MAX));
    let named = limiter.limit("late", Limit::gcra(1, 1, Micros::SECOND).unwrap());
    assert!(limiter.try_charge(&[named.hit("ada")]).unwrap().is_granted());
    assert!(!limiter.try_charge(&[named.hit("ada")]).unwrap().is_granted());
    assert!(limiter.try_charge(&[]).unwrap().is_granted(), "no hit, nothing to refuse");
}

#[test]
fn a_reservation_has_a_name_of_32_digits() {
    let id: ReservationId = "0123456789abcdef0123456789abcdef".parse().unwrap();
    assert_eq!(id.to_string(), "0123456789abcdef0123456789abcdef");
    for wrong in ["", "0123", "+123456789abcdef0123456789abcdef", "0123456789ABCDEF0123456789abcdef"] {
        assert_eq!(wrong.parse::<ReservationId>(), Err(ParseIdError), "{wrong}");
    }
    assert_eq!(ParseIdError.to_string(), "a reservation ID has 32 lower-case hexadecimal digits");
    let (limiter, _clock) = with_clock();
    assert_eq!(limiter.try_commit(id, 1), Err(ReservationError::Gone));
    assert_eq!(
        ReservationError::Gone.to_string(),
        "the reservation does not exist or has expired; its charge stays: reserve for longer"
    );
}
