//! Whether the server forgets budgets, how much room there is, and who else lives there. Not what is lost by a restart.

use super::super::finding::Finding;
use super::super::observations::Found;
use super::{by_info, bytes, info_lacks};

const EVICTION: &str = "eviction";
const ROOM: &str = "memory";
const COMPANY: &str = "database";

/// The line that begins the section of the databases.
const KEYSPACE: &str = "# Keyspace";

/// From so many hundredths of `maxmemory` on there is little room.
const FULL_PERCENT: u64 = 90;

const NO_EVICTION: &str = "`CONFIG SET maxmemory-policy noeviction`, and the same in redis.conf: a full server then answers OOM, and \
                           each limit does what its `when_store_fails` says";

pub(super) fn eviction(found: &Found) -> Finding {
    by_info(found, EVICTION, |info| {
        let (Some(policy), Some(max)) = (info.get("maxmemory_policy"), info.number("maxmemory")) else {
            return Finding::unknown(EVICTION, "`INFO` does not say what the server evicts", NO_EVICTION);
        };
        let evicted = info.number("evicted_keys");
        let so_far = match evicted {
            Some(evicted @ 1..) => format!("; {evicted} keys were evicted since it started"),
            Some(0) | None => String::new(),
        };
        match (policy, max) {
            ("noeviction", _) if evicted.is_none() => info_lacks(EVICTION, ("stats", "evicted_keys")),
            ("noeviction", _) if evicted == Some(0) => {
                Finding::good(EVICTION, "`noeviction`: no budget is forgotten before its time")
            }
            ("noeviction", _) => {
                let found = format!("`noeviction` now, but{}", so_far.trim_start_matches(';'));
                Finding::note(
                    EVICTION,
                    found,
                    "see that redis.conf has `maxmemory-policy noeviction`, too; `CONFIG RESETSTAT` begins the count anew",
                )
            }
            (_, 0) => {
                let found =
                    format!("`{policy}`, which evicts nothing as long as there is no `maxmemory`{so_far}");
                Finding::note(EVICTION, found, NO_EVICTION)
            }
            ("volatile-ttl", _) => {
                let found = format!(
                    "`volatile-ttl`: when memory is full, the budgets that are nearest to their reset are forgotten{so_far}"
                );
                Finding::warning(EVICTION, found, NO_EVICTION)
            }
            // All our keys have a time to live, so that `volatile-…` means them as well.
            (_, _) => {
                let found = format!(
                    "`{policy}`: when memory is full, budgets are forgotten, and clients that had spent theirs begin anew{so_far}"
                );
                Finding::fault(EVICTION, found, NO_EVICTION)
            }
        }
    })
}

pub(super) fn room(found: &Found) -> Finding {
    by_info(found, ROOM, |info| {
        let (Some(used), Some(max)) = (info.number("used_memory"), info.number("maxmemory")) else {
            return Finding::unknown(
                ROOM,
                "`INFO` does not say how much memory is used",
                "`redis-cli INFO memory` on the server says it",
            );
        };
        if max == 0 {
            return Finding::good(
                ROOM,
                format!("{} used, with no `maxmemory`: what the machine has", bytes(used)),
            );
        }
        let percent = used.saturating_mul(100) / max;
        let sentence = format!("{} of {} used ({percent} %)", bytes(used), bytes(max));
        let cure = "raise `maxmemory` (`CONFIG SET maxmemory 1gb`), or take away what else is in there; a budget takes about 160 bytes";
        if used >= max {
            let sentence = format!("{sentence}: there is no room for a new budget");
            Finding::fault(ROOM, sentence, cure)
        } else if percent >= FULL_PERCENT {
            Finding::warning(ROOM, format!("{sentence}: there is little room left"), cure)
        } else {
            Finding::good(ROOM, sentence)
        }
    })
}

/// Keys without a time to live are not ours. The field reads `keys=3,expires=2,avg_ttl=0`; a database without keys has none.
pub(super) fn company(found: &Found) -> Finding {
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
        // Without keys the section is empty. Without the section it is not known whether there are keys.
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
            "{foreign} of {keys} keys never expire, and so are not Tollgate's: somebody else uses this server"
        );
        Finding::note(
            COMPANY,
            found,
            "give Tollgate a server of its own: what others run or store there, decisions wait for",
        )
    })
}
