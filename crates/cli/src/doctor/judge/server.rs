//! Which server it is, and whether it is one that limits can be counted on. Not how it is set up.

use super::super::finding::Finding;
use super::super::observations::{Fields, Found};
use super::{by_info, info_lacks};

/// The oldest Redis that the scripts are proved on.
const OLDEST: (u64, u64) = (6, 2);

const VERSION: &str = "version";
const ROLE: &str = "role";

pub(super) fn is_sentinel(found: &Found) -> bool {
    found.info.as_ref().is_ok_and(|info| info.get("redis_mode") == Some("sentinel"))
}

pub(super) fn version(found: &Found) -> Finding {
    by_info(found, VERSION, |info| {
        if let Some(version) = info.get("valkey_version") {
            return Finding::good(VERSION, format!("Valkey {version}"));
        }
        let Some(version) = info.get("redis_version") else {
            let found = "`INFO` names no version: it may be another server that speaks the protocol";
            return Finding::unknown(
                VERSION,
                found,
                "use Redis 6.2 or later, or Valkey: the scripts are proved on them",
            );
        };
        if let Some((name, other)) = another(info) {
            let found = format!("{name} {other}, which speaks as Redis {version} does");
            return Finding::warning(
                VERSION,
                found,
                "use Redis 6.2 or later, or Valkey: the scripts are proved on them",
            );
        }
        let mut parts = version.split('.').map(|part| part.parse::<u64>().ok());
        match (parts.next().flatten(), parts.next().flatten()) {
            (Some(major), Some(minor)) if (major, minor) >= OLDEST => {
                Finding::good(VERSION, format!("Redis {version}"))
            }
            (Some(_), Some(_)) => {
                let found = format!("Redis {version} is older than 6.2, and the scripts are not tried on it");
                Finding::fault(VERSION, found, "use Redis 6.2 or later, or Valkey")
            }
            _ => Finding::unknown(
                VERSION,
                format!("the version `{version}` does not read as one"),
                "use Redis 6.2 or later, or Valkey",
            ),
        }
    })
}

/// A server that is neither, by its own field.
fn another(info: &Fields) -> Option<(&'static str, &str)> {
    let others =
        [("Dragonfly", "dragonfly_version"), ("Garnet", "garnet_version"), ("KeyDB", "keydb_version")];
    others.into_iter().find_map(|(name, field)| Some((name, info.get(field)?)))
}

pub(super) fn role(found: &Found) -> Finding {
    by_info(found, ROLE, |info| {
        if info.get("redis_mode") == Some("sentinel") {
            let cure = "name the primary in the address; `redis-cli -p 26379 SENTINEL GET-MASTER-ADDR-BY-NAME …` says which it is";
            return Finding::fault(
                ROLE,
                "this is a Sentinel, which holds no data; Sentinel is not supported yet",
                cure,
            );
        }
        if info.get("cluster_enabled") == Some("1") || info.get("redis_mode") == Some("cluster") {
            let cure = "use a server of its own, with `cluster-enabled no` in redis.conf";
            return Finding::fault(
                ROLE,
                "this is a node of a cluster; Redis Cluster is not supported yet",
                cure,
            );
        }
        let alone = info.get("cluster_enabled") == Some("0") || info.get("redis_mode") == Some("standalone");
        match info.get("role") {
            Some("master") if !alone => info_lacks(ROLE, ("cluster", "cluster_enabled")),
            Some("master") => Finding::good(ROLE, "a primary, and no cluster"),
            Some("slave") => {
                let host = info.get("master_host").unwrap_or("…");
                let port = info.get("master_port").unwrap_or("6379");
                let cure = format!("name the primary in the address: `redis://{host}:{port}`");
                let is_writable =
                    ["slave_read_only", "replica_read_only"].iter().any(|name| info.get(name) == Some("0"));
                if is_writable {
                    let found = "this is a replica that takes writes (`replica-read-only no`): it counts for itself, and forgets what it \
                                 counted with every resynchronisation with its primary";
                    return Finding::fault(
                        ROLE,
                        found,
                        format!("{cure}, and `CONFIG SET replica-read-only yes` here"),
                    );
                }
                Finding::fault(
                    ROLE,
                    "this is a replica, which takes no writes: every decision fails (READONLY)",
                    cure,
                )
            }
            Some(_) | None => Finding::unknown(
                ROLE,
                "`INFO` does not say whether this is a primary",
                "`redis-cli ROLE` on the server says it",
            ),
        }
    })
}
