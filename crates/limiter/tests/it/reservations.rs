//! Reserve, commit, cancel: idempotent, expiring, and never more than was reserved comes back.

use std::time::Duration;

use tollgate::{
    Clock, ClosedReservation, Kind, Limit, Limiter, Micros, Reservation, ReservationError,
    ReservationOutcome, Unavailable, Verdict,
};

use crate::with_clock;

const MINUTE: Duration = Duration::from_secs(60);

fn ended(
    closed: Result<ClosedReservation, ReservationError>,
) -> Result<ReservationOutcome, ReservationError> {
    closed.map(|closed| closed.ended)
}

#[test]
fn a_reservation_is_committed_with_what_it_came_to() {
    let (limiter, clock) = with_clock();
    let requests = limiter.limit("requests", Limit::gcra(10, 1, Micros::HOUR).unwrap());
    let tokens = limiter.limit("tokens", Limit::token_bucket(1_000, 1, Micros::SECOND).unwrap());
    let left = || {
        let left = |limit| limiter.try_inspect(limit, "ada").unwrap().decision.remaining;
        (left(&requests), left(&tokens))
    };
    let reserve = |guess| {
        let hits = [requests.hit("ada"), tokens.hit("ada").estimate(guess)];
        limiter.try_reserve(&hits, MINUTE).unwrap().1.unwrap().into_id()
    };
    let id = reserve(500);
    assert_eq!(left(), (9, 500));
    // It takes twenty seconds, in which twenty drain: as if 100 had been charged to begin with.
    clock.advance(Duration::from_secs(20));
    assert_eq!(ended(limiter.try_commit(id, 100)), Ok(ReservationOutcome::Committed(100)));
    assert_eq!(left(), (9, 920));
    assert_eq!(
        ended(limiter.try_commit(id, 7)),
        Ok(ReservationOutcome::Committed(100)),
        "once more changes nothing"
    );
    assert_eq!(limiter.try_cancel(id), Err(ReservationError::Ended(ReservationOutcome::Committed(100))));
    assert_eq!(left(), (9, 920));
    // More than was reserved is charged on top, by at most one capacity.
    let id = reserve(0);
    limiter.try_commit(id, 920).unwrap();
    assert_eq!(left(), (8, 0));
    let id = reserve(0);
    limiter.try_commit(id, u64::MAX).unwrap();
    clock.advance(Duration::from_secs(1_000));
    assert_eq!(left().1, 0, "overdrawn by one capacity");
    clock.advance(Duration::from_secs(1));
    assert_eq!(left().1, 1);
}

#[test]
fn a_reservation_is_cancelled_or_expires() {
    let (limiter, clock) = with_clock();
    let limit = limiter.limit("limit", Limit::gcra(10, 1, Micros::DAY).unwrap());
    let left = || limiter.try_inspect(&limit, "ada").unwrap().decision.remaining;
    let reserve = || limiter.try_reserve(&[limit.hit("ada").cost(4)], MINUTE).unwrap();
    let id_of = |reserved: (Verdict, Option<Reservation>)| reserved.1.map(Reservation::into_id);
    let cancelled = id_of(reserve()).unwrap();
    assert_eq!(left(), 6);
    assert_eq!(ended(limiter.try_cancel(cancelled)), Ok(ReservationOutcome::Cancelled));
    assert_eq!(
        ended(limiter.try_cancel(cancelled)),
        Ok(ReservationOutcome::Cancelled),
        "once more changes nothing"
    );
    assert_eq!(left(), 10);
    assert_eq!(limiter.try_commit(cancelled, 4), Err(ReservationError::Ended(ReservationOutcome::Cancelled)));

    let expired = id_of(reserve()).unwrap();
    clock.advance(MINUTE);
    assert_eq!(limiter.try_cancel(expired), Err(ReservationError::Gone));
    assert_eq!(left(), 6, "what was charged stays charged");
    let (refused, none) = limiter.try_reserve(&[limit.hit("ada").cost(7)], MINUTE).unwrap();
    assert!(!refused.is_granted() && none.is_none());
    assert_ne!(id_of(reserve()), id_of(reserve()));
}

#[test]
fn there_are_only_so_many_reservations_at_once() {
    let clock = Clock::manual(Micros::from_secs(1_000));
    let limiter = Limiter::builder().clock(clock.clock()).reservations_max(2).build().unwrap();
    let limit = limiter.limit("limit", Limit::gcra(10, 1, Micros::DAY).unwrap());
    let reserve = || limiter.try_reserve(&[limit.hit("ada")], MINUTE).unwrap();
    let (first, _second) = (reserve().1.unwrap(), reserve().1.unwrap());
    let (verdict, none) = reserve();
    assert_eq!(verdict.kind(), Kind::Unavailable(Unavailable::TooManyReservations));
    assert!(none.is_none());
    assert_eq!(limiter.try_inspect(&limit, "ada").unwrap().decision.remaining, 8, "nothing was charged");
    first.try_cancel().unwrap();
    let kept = reserve().1.map(Reservation::into_id);
    assert!(kept.is_some(), "one has ended");
    clock.advance(MINUTE);
    assert!(reserve().0.is_granted(), "all have expired");
}

/// Reservations that were abandoned give their places back when they expire, however many others ended before them.
#[test]
fn expired_reservations_take_no_place_whatever_ended_before() {
    let clock = Clock::manual(Micros::from_secs(1_763_208_000));
    let limiter = Limiter::builder().clock(clock.clock()).reservations_max(2).build().unwrap();
    let limit = limiter.limit("limit", Limit::gcra(1_000, 1, Micros::DAY).unwrap());
    let reserve = || {
        let (_, reservation) = limiter.try_reserve(&[limit.hit("ada").estimate(1)], MINUTE).unwrap();
        reservation.map(Reservation::into_id)
    };
    for _ in 0..10 {
        limiter.try_commit(reserve().unwrap(), 1).unwrap();
    }
    clock.advance(Duration::from_secs(1));
    let abandoned = [reserve().unwrap(), reserve().unwrap()];
    assert_eq!(reserve(), None);
    clock.advance(2 * MINUTE);
    assert!(reserve().is_some() && reserve().is_some(), "none is open any more");
    assert_eq!(reserve(), None, "two are");
    assert_eq!(abandoned.map(|id| limiter.try_commit(id, 1)), [Err(ReservationError::Gone); 2]);
}

/// Those that have ended take no place from new ones; how they ended is remembered of the latest only.
#[test]
fn any_number_of_reservations_may_have_ended() {
    let clock = Clock::manual(Micros::from_secs(1_763_208_000));
    let limiter = Limiter::builder().clock(clock.clock()).reservations_max(2).build().unwrap();
    let limit = limiter.limit("limit", Limit::gcra(1_000, 1, Micros::DAY).unwrap());
    let reserve = || limiter.try_reserve(&[limit.hit("ada").estimate(1)], MINUTE).unwrap();
    let held = reserve().1.unwrap().into_id();
    let ids: Vec<_> = (0..100)
        .map(|_| {
            let id = reserve().1.expect("one is open, and two may be").into_id();
            assert_eq!(ended(limiter.try_commit(id, 2)), Ok(ReservationOutcome::Committed(2)));
            id
        })
        .collect();
    for (place, id) in ids.into_iter().enumerate() {
        let again = ended(limiter.try_commit(id, 3));
        // Of 30 that is remembered: fifteen times as many as may be open.
        let expected =
            if place < 70 { Err(ReservationError::Gone) } else { Ok(ReservationOutcome::Committed(2)) };
        assert_eq!(again, expected, "{place}");
    }
    assert_eq!(ended(limiter.try_cancel(held)), Ok(ReservationOutcome::Cancelled));
    assert_eq!(limiter.try_inspect(&limit, "ada").unwrap().decision.remaining, 800);
    // Two are as many as may be open, however many have ended.
    let (first, second, third) = (reserve().1, reserve().1, reserve());
    assert!(first.is_some() && second.is_some() && third.1.is_none());
    assert_eq!(third.0.kind(), Kind::Unavailable(Unavailable::TooManyReservations));
}

#[test]
fn whoever_drops_a_reservation_cancels_it() {
    let (limiter, _clock) = with_clock();
    let limit = limiter.limit("limit", Limit::gcra(10, 1, Micros::DAY).unwrap());
    let left = || limiter.try_inspect(&limit, "ada").unwrap().decision.remaining;
    let reserve = || limiter.try_reserve(&[limit.hit("ada").estimate(4)], MINUTE).unwrap().1.unwrap();
    let reservation = reserve();
    let id = reservation.id();
    assert_eq!(left(), 6);
    drop(reservation);
    assert_eq!(left(), 10);
    assert_eq!(limiter.try_commit(id, 4), Err(ReservationError::Ended(ReservationOutcome::Cancelled)));

    let committed = reserve();
    assert_eq!(ended(committed.try_commit(3)), Ok(ReservationOutcome::Committed(3)));
    drop(committed);
    assert_eq!(left(), 7, "what is committed stays charged");

    let id = reserve().into_id();
    assert_eq!(left(), 3, "nobody guards it any more");
    assert_eq!(ended(limiter.try_commit(id, 1)), Ok(ReservationOutcome::Committed(1)));
    assert_eq!(left(), 6);
}

#[test]
fn the_end_of_a_reservation_says_what_it_gave_back_or_charged() {
    let (limiter, clock) = with_clock();
    let limit = limiter.limit("limit", Limit::token_bucket(10, 1, Micros::SECOND).unwrap());
    let reserve =
        |guess| limiter.try_reserve(&[limit.hit("ada").estimate(guess)], MINUTE).unwrap().1.unwrap();
    let came_to = |closed: Result<ClosedReservation, ReservationError>| {
        let adjustment = closed.unwrap().adjustment;
        (adjustment.refunded, adjustment.charged, adjustment.unsettled)
    };
    let less = reserve(6);
    assert_eq!(came_to(less.try_commit(2)), (4, 0, 0));
    assert_eq!(came_to(less.try_commit(2)), (0, 0, 0), "once more changes nothing");
    assert_eq!(came_to(reserve(1).try_commit(5)), (0, 4, 0));
    // Three of the five have drained before the work was given up.
    clock.advance(Duration::from_secs(30));
    let late = reserve(5);
    clock.advance(Duration::from_secs(3));
    assert_eq!(came_to(late.try_cancel()), (2, 0, 0));
    // An overdraft of more than one capacity is forgiven.
    assert_eq!(came_to(reserve(0).try_commit(u64::MAX)), (0, 20, 0));
    let overdrawn = reserve(0);
    assert_eq!(came_to(overdrawn.try_commit(1)), (0, 0, 0));
}
