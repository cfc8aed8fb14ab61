//! What the threads do, and what must hold afterwards, in every order. Not a test: a test runs one of them, as it ships or
//! broken.

mod adding;
mod batches;
mod full;
mod lines;
mod moving;
mod permits;
mod reading;
mod returning;
mod reusing;

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use crate::sync::{begin, number_thread};

/// A few threads on a small table.
#[derive(Clone, Copy, Debug)]
pub struct Scenario {
    /// What happens in it.
    pub name: &'static str,
    /// A thread is stopped this often at the most, at any point; the others go on until they have to wait.
    pub preemptions_max: usize,
    run: fn(),
}

/// CI tries so many orders of each scenario.
pub const ORDERS_IN_CI: usize = 2_000;
/// `cargo xtask proof explore` tries all, or so many if there are more: a thread that waits for another one can do so in any
/// number of ways.
pub const ORDERS_MAX: usize = 50_000;

/// Nobody gets that far who does not wait for ever.
const STEPS_MAX: usize = 20_000;

/// Every scenario.
pub const ALL: &[Scenario] = &[
    Scenario { name: "one new key twice", preemptions_max: 2, run: adding::one_key_twice },
    Scenario { name: "two new keys", preemptions_max: 2, run: adding::two_keys },
    Scenario { name: "a new key beside a charge", preemptions_max: 2, run: adding::beside_a_charge },
    Scenario { name: "reuse and charge", preemptions_max: 2, run: reusing::a_charge },
    Scenario { name: "reuse of the first slot", preemptions_max: 2, run: reusing::the_first_slot },
    Scenario { name: "reuse with the same value", preemptions_max: 2, run: reusing::the_same_value },
    Scenario { name: "reuse without room", preemptions_max: 2, run: reusing::no_room },
    Scenario { name: "two homes and one free slot", preemptions_max: 2, run: adding::one_free_slot },
    Scenario {
        name: "forget and charge away from home",
        preemptions_max: 2,
        run: reusing::forget_and_charge_away,
    },
    Scenario { name: "batches of words in opposite order", preemptions_max: 2, run: batches::words },
    Scenario {
        name: "a batch of words each, in opposite order",
        preemptions_max: 2,
        run: batches::words_once,
    },
    Scenario { name: "batches of new keys in opposite order", preemptions_max: 2, run: batches::new_keys },
    Scenario { name: "batches of cells in opposite order", preemptions_max: 2, run: batches::cells },
    Scenario { name: "a batch and a charge", preemptions_max: 2, run: batches::and_a_charge },
    Scenario { name: "a batch of words and one by the core", preemptions_max: 2, run: batches::two_ways },
    Scenario { name: "a refused batch and a charge", preemptions_max: 2, run: batches::refused },
    Scenario { name: "batch and move", preemptions_max: 2, run: batches::while_moving },
    Scenario { name: "batch and reuse", preemptions_max: 2, run: batches::while_reused },
    Scenario { name: "a batch without room", preemptions_max: 2, run: full::a_batch },
    Scenario { name: "batches without room in opposite order", preemptions_max: 2, run: full::batches },
    Scenario { name: "a batch without room and a key that goes", preemptions_max: 2, run: full::room_comes },
    Scenario {
        name: "batches without room and a key that goes",
        preemptions_max: 2,
        run: full::room_comes_for_parts,
    },
    Scenario { name: "batches without a cell and one that comes", preemptions_max: 2, run: full::cell_comes },
    Scenario { name: "a batch and a cell that goes", preemptions_max: 2, run: full::cell_goes },
    Scenario { name: "a cell that is looked for", preemptions_max: 2, run: full::cell_is_looked_for },
    Scenario { name: "numbers without a cell, one by one", preemptions_max: 2, run: full::changed },
    Scenario {
        name: "numbers without a cell, in a batch",
        preemptions_max: 2,
        run: full::changed_in_a_batch,
    },
    Scenario { name: "read and charge", preemptions_max: 2, run: reading::during_a_charge },
    Scenario { name: "read once and reuse", preemptions_max: 2, run: reading::once_during_a_reuse },
    Scenario { name: "read and reuse", preemptions_max: 2, run: reading::during_a_reuse },
    Scenario { name: "read, reuse and back", preemptions_max: 3, run: reading::there_and_back },
    Scenario { name: "read and move", preemptions_max: 2, run: reading::during_a_move },
    Scenario { name: "grow and charge", preemptions_max: 2, run: moving::grow_and_charge },
    Scenario { name: "grow and add", preemptions_max: 2, run: moving::grow_and_add },
    Scenario { name: "go on moving and add", preemptions_max: 2, run: moving::go_on_and_add },
    Scenario { name: "grow, charge and add", preemptions_max: 2, run: moving::grow_charge_and_add },
    Scenario { name: "move and charge away from home", preemptions_max: 2, run: moving::away_from_home },
    Scenario { name: "move and reuse away from home", preemptions_max: 2, run: moving::reuse_away_from_home },
    Scenario { name: "sweep and charge", preemptions_max: 2, run: moving::sweep_and_charge },
    Scenario { name: "come late with a charge", preemptions_max: 2, run: returning::late_charge },
    Scenario { name: "come late with a new key", preemptions_max: 2, run: returning::late_new_key },
    Scenario { name: "come late with a refusal", preemptions_max: 2, run: returning::late_refusal },
    Scenario { name: "two want the last permit", preemptions_max: 2, run: permits::the_last_one },
    Scenario { name: "a permit is given back and taken", preemptions_max: 2, run: permits::given_back },
    Scenario {
        name: "permits without room and a key that goes",
        preemptions_max: 2,
        run: permits::room_comes,
    },
    Scenario {
        name: "a permit is given back and somebody joins",
        preemptions_max: 2,
        run: lines::join_and_release,
    },
    Scenario {
        name: "a permit is given back and somebody leaves",
        preemptions_max: 2,
        run: lines::leave_and_release,
    },
    Scenario {
        name: "a permit is given back and somebody overtakes",
        preemptions_max: 2,
        run: lines::overtake,
    },
    Scenario { name: "members take turns for a permit", preemptions_max: 2, run: lines::members_take_turns },
    Scenario { name: "permits while the table grows", preemptions_max: 2, run: permits::while_moving },
];

impl Scenario {
    /// Goes through all orders in which a thread is stopped at most once, then through those in which it is stopped twice,
    /// and so on; or, of each, so many. ReturningKeys how many they were, and whether that was all. Panics in the first one in
    /// which something does not hold.
    #[must_use]
    pub fn explore(&self, orders_max: usize) -> (usize, bool) {
        let orders: Vec<_> =
            (1..=self.preemptions_max).map(|stops| self.explore_with(stops, orders_max)).collect();
        (orders.iter().sum(), orders.iter().all(|orders| orders + 1 < orders_max))
    }

    fn explore_with(&self, preemptions_max: usize, orders_max: usize) -> usize {
        let mut builder = loom::model::Builder::new();
        builder.max_permutations = Some(orders_max);
        // The number of orders is looked at as often as this.
        builder.checkpoint_interval = orders_max;
        builder.preemption_bound = Some(preemptions_max);
        builder.max_branches = STEPS_MAX;
        let executions = Arc::new(AtomicUsize::new(0));
        let (count, run) = (Arc::clone(&executions), self.run);
        builder.check(move || {
            count.fetch_add(1, Ordering::Relaxed);
            begin();
            run();
        });
        executions.load(Ordering::Relaxed)
    }
}

/// Runs two threads on a table or a store, and waits for both.
fn both<V: Clone + 'static, A: 'static, B>(
    view: &V,
    one: impl FnOnce(V) -> A + 'static,
    other: impl FnOnce(V) -> B,
) -> (A, B) {
    let mine = view.clone();
    let one = loom::thread::spawn(move || {
        number_thread();
        one(mine)
    });
    let other = other(view.clone());
    (one.join().expect("it does not panic"), other)
}

/// Runs three threads, and waits for all.
fn three<V: Clone + 'static, A: 'static, B: 'static, C>(
    view: &V,
    one: impl FnOnce(V) -> A + 'static,
    second: impl FnOnce(V) -> B + 'static,
    third: impl FnOnce(V) -> C,
) -> (A, B, C) {
    let (one, (second, third)) = both(view, one, |view| both(&view, second, third));
    (one, second, third)
}
