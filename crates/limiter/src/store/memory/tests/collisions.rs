//! An attacker who knows the code, but not the secret, tries to make keys collide.

use super::super::Memory;
use crate::hash::{Hashing, Secret};
use tollgate_algorithms::Micros;

/// Keys that all go by nearly the same number under a secret that the attacker has guessed: they would stand in one corner
/// of the table, and every search would walk it.
fn colliding_under(hashing: &Hashing, keys: usize) -> Vec<String> {
    let hash = hashing.of_name(0);
    let near = |key: &String| hash.of(key.as_bytes()) >> 54 == 0;
    (0..).map(|number| format!("user-{number}")).filter(near).take(keys).collect()
}

/// How many of the keys share a home with at least eight others, among 256 homes for each 512 keys.
fn crowded(hashing: &Hashing, keys: &[String]) -> usize {
    let store = Memory::new(4 << 20, Micros::ZERO).unwrap();
    let hash = hashing.of_name(0);
    let mut homes = vec![0_usize; keys.len()];
    for key in keys {
        let id = store.id(hash.of(key.as_bytes()));
        homes[store.table.line_of(id, keys.len())] += 1;
    }
    homes.into_iter().filter(|keys| *keys > 8).sum()
}

#[test]
fn keys_that_collide_under_a_guessed_secret_do_not_collide_under_the_true_one() {
    for with in [Hashing::keyed, Hashing::Sip] {
        let guessed = with(Secret(0, 0));
        let keys = colliding_under(&guessed, 2_000);
        assert_eq!(crowded(&guessed, &keys), 2_000, "the attack works on the guessed secret");
        for _ in 0..4 {
            let secret = Secret(getrandom::u64().unwrap(), getrandom::u64().unwrap());
            // One key in a thousand homes of mean 1 would be bad luck; hundreds would be an attack.
            assert!(crowded(&with(secret), &keys) < 40);
        }
    }
}
