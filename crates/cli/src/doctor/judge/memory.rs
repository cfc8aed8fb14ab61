//! Checks eviction, free memory, and whether other programs use the server.

use super::super::finding::Finding;
use super::super::observations::Observations;
use super::{by_info, bytes, info_lacks};

const EVICTION: &str = "eviction";
const ROOM: &str = "memory";
const COMPANY: &str = "database";

/// The heading of the `INFO` section about databases.
const KEYSPACE: &str = "# Keyspace";

/// Percentage of `maxmemory` from which the check warns.
const FULL_PERCENT: u64 = 90;

const NO_EVICTION: &str = "`CONFIG SET maxmemory-policy noeviction`, and the same in redis.conf: a full server then replies OOM, and \
                           `when_store_fails` of each limit applies";

pub(super) fn eviction(found: &Observations) -> Finding {
    by_info(found, EVICTION, |info| {
        let (Some(policy), Some(max)) = (info.get("maxmemory_policy"), info.number("maxmemory")) else {
            return Finding::unknown(EVICTION, "`INFO` does not show the eviction policy", NO_EVICTION);
        };
        let evicted = info.number("evicted_keys");
        let so_far = match evicted {
            Some(evicted @ 1..) => format!("; the server has evicted {evicted} keys since it started"),
            Some(0) | None => String::new(),
        };
        match (policy, max) {
            ("noeviction", _) if evicted.is_none() => info_lacks(EVICTION, ("stats", "evicted_keys")),
            ("noeviction", _) if evicted == Some(0) => {
                Finding::good(EVICTION, "`noeviction`: no state is evicted")
            }
            ("noeviction", _) => {
                let found = format!("`noeviction` now, but{}", so_far.trim_start_matches(';'));
                Finding::note(
                    EVICTION,
                    found,
                    "check that redis.conf has `maxmemory-policy noeviction`, too; `CONFIG RESETSTAT` resets the count",
                )
            }
            (_, 0) => {
                let found = format!("`{policy}`, which evicts nothing while `maxmemory` is 0{so_far}");
                Finding::note(EVICTION, found, NO_EVICTION)
            }
            ("volatile-ttl", _) => {
                let found = format!(
                    "`volatile-ttl`: when memory is full, the server evicts the states that are nearest to their reset{so_far}"
                );
                Finding::warning(EVICTION, found, NO_EVICTION)
            }
            // All Tollgate keys have a TTL, so `volatile-…` applies to them, too.
            (_, _) => {
                let found = format!(
                    "`{policy}`: when memory is full, the server evicts states, and clients over their limit start afresh{so_far}"
                );
                Finding::fault(EVICTION, found, NO_EVICTION)
            }
        }
    })
}

pub(super) fn room(found: &Observations) -> Finding {
    by_info(found, ROOM, |info| {
        let (Some(used), Some(max)) = (info.number("used_memory"), info.number("maxmemory")) else {
            return Finding::unknown(
                ROOM,
                "`INFO` does not show how much memory is used",
                "run `redis-cli INFO memory` on the server",
            );
        };
        if max == 0 {
            return Finding::good(ROOM, format!("{} used; `maxmemory` is not set", bytes(used)));
        }
        let percent = used.saturating_mul(100) / max;
        let sentence = format!("{} of {} used ({percent} %)", bytes(used), bytes(max));
        let cure = "raise `maxmemory` (`CONFIG SET maxmemory 1gb`), or remove other data; a state takes about 160 bytes";
        if used >= max {
            let sentence = format!("{sentence}: there is no room for a new state");
            Finding::fault(ROOM, sentence, cure)
        } else if percent >= FULL_PERCENT {
            Finding::warning(ROOM, format!("{sentence}: nearly full"), cure)
        } else {
            Finding::good(ROOM, sentence)
        }
    })
}

/// Keys without a TTL belong to other programs. The field reads `keys=3,expires=2,avg_ttl=0`; an empty database has none.
pub(super) fn company(found: &Observations) -> Finding {
    by_info(found, COMPANY, |info| {
        let (mut foreign, mut keys) = (0_u64, 0_u64);
        for (name, value) in
            info.beginning("db").filter(|(name, _)| name.trim_start_matches("db").parse::<u32>().is_ok())
        {
            let number = |name: &str| {
                let found = value.split(',').find_map(|part| part.strip_prefix(name)?.strip_prefix('='));
                found.and_then(|number| number.parse::<u64>().ok())
            };
            let (Some(here), Some(expire)) = (number("keys"), number("expires")) else {
                return info_lacks(COMPANY, ("keyspace", name));
            };
            keys = keys.saturating_add(here);
            foreign = foreign.saturating_add(here.saturating_sub(expire));
        }
        // The section is empty if there are no keys. If it is missing, the number of keys is unknown.
        if keys == 0 && info.get(KEYSPACE).is_none() {
            return info_lacks(COMPANY, ("keyspace", KEYSPACE));
        }
        if keys == 0 {
            return Finding::good(COMPANY, "no keys yet");
        }
        if foreign == 0 {
            return Finding::good(COMPANY, format!("{keys} keys, all of which expire"));
        }
        let found = format!(
            "{foreign} of {keys} keys never expire, so they are not Tollgate's: another program uses this server"
        );
        Finding::note(
            COMPANY,
            found,
            "give Tollgate its own server: decisions wait for whatever other programs run there",
        )
    })
}
