//! Checks the server's version and role.

use super::super::finding::Finding;
use super::super::observations::{Fields, Observations};
use super::{by_info, info_lacks};

/// The oldest Redis that the scripts are tested on.
const OLDEST: (u64, u64) = (6, 2);

const VERSION: &str = "version";
const ROLE: &str = "role";

pub(super) fn is_sentinel(found: &Observations) -> bool {
    found.info.as_ref().is_ok_and(|info| info.get("redis_mode") == Some("sentinel"))
}

pub(super) fn version(found: &Observations) -> Finding {
    by_info(found, VERSION, |info| {
        if let Some(version) = info.get("valkey_version") {
            return Finding::good(VERSION, format!("Valkey {version}"));
        }
        let Some(version) = info.get("redis_version") else {
            let found = "`INFO` shows no version: it may be a compatible server";
            return Finding::unknown(
                VERSION,
                found,
                "use Redis 6.2 or later, or Valkey: the scripts are tested on them",
            );
        };
        if let Some((name, other)) = another(info) {
            let found = format!("{name} {other}, which is compatible with Redis {version}");
            return Finding::warning(
                VERSION,
                found,
                "use Redis 6.2 or later, or Valkey: the scripts are tested on them",
            );
        }
        let mut parts = version.split('.').map(|part| part.parse::<u64>().ok());
        match (parts.next().flatten(), parts.next().flatten()) {
            (Some(major), Some(minor)) if (major, minor) >= OLDEST => {
                Finding::good(VERSION, format!("Redis {version}"))
            }
            (Some(_), Some(_)) => {
                let found = format!("Redis {version} is older than 6.2, on which the scripts are not tested");
                Finding::fault(VERSION, found, "use Redis 6.2 or later, or Valkey")
            }
            _ => Finding::unknown(
                VERSION,
                format!("cannot parse the version `{version}`"),
                "use Redis 6.2 or later, or Valkey",
            ),
        }
    })
}

/// A compatible server, identified by its own field.
fn another(info: &Fields) -> Option<(&'static str, &str)> {
    let others =
        [("Dragonfly", "dragonfly_version"), ("Garnet", "garnet_version"), ("KeyDB", "keydb_version")];
    others.into_iter().find_map(|(name, field)| Some((name, info.get(field)?)))
}

pub(super) fn role(found: &Observations) -> Finding {
    by_info(found, ROLE, |info| {
        if info.get("redis_mode") == Some("sentinel") {
            let cure = "write `redis+sentinel://host,host,host/name` with the addresses of all Sentinels; \
                        `redis-cli -p 26379 SENTINEL MASTERS` shows the name";
            return Finding::fault(ROLE, "this is a Sentinel, which holds no data", cure);
        }
        let is_node = info.get("cluster_enabled") == Some("1") || info.get("redis_mode") == Some("cluster");
        if is_node && !found.at.contains("+cluster://") {
            let cure = "write `redis+cluster://host,host,host` with the addresses of some nodes";
            return Finding::fault(
                ROLE,
                "this is a node of a cluster, which serves only a part of the keys",
                cure,
            );
        }
        if is_node {
            return Finding::good(ROLE, "a node of a cluster");
        }
        if found.at.contains("+cluster://") {
            let cure = "write `redis://host:port`, or start the server with `cluster-enabled yes`";
            return Finding::fault(ROLE, "this is not a node of a cluster", cure);
        }
        let alone = info.get("cluster_enabled") == Some("0") || info.get("redis_mode") == Some("standalone");
        match info.get("role") {
            Some("master") if !alone => info_lacks(ROLE, ("cluster", "cluster_enabled")),
            Some("master") if found.at.contains("+sentinel://") => {
                Finding::good(ROLE, "the primary that the Sentinels name")
            }
            Some("master") => Finding::good(ROLE, "a standalone primary"),
            Some("slave") => {
                let host = info.get("master_host").unwrap_or("…");
                let port = info.get("master_port").unwrap_or("6379");
                let cure = format!("name the primary in the address: `redis://{host}:{port}`");
                let is_writable =
                    ["slave_read_only", "replica_read_only"].iter().any(|name| info.get(name) == Some("0"));
                if is_writable {
                    let found = "this is a writable replica (`replica-read-only no`): it counts by itself, and loses its counts \
                                 whenever it resynchronises with its primary";
                    return Finding::fault(
                        ROLE,
                        found,
                        format!("{cure}, and `CONFIG SET replica-read-only yes` here"),
                    );
                }
                Finding::fault(ROLE, "this is a read-only replica: every decision fails (READONLY)", cure)
            }
            Some(_) | None => Finding::unknown(
                ROLE,
                "`INFO` does not show whether this is a primary",
                "run `redis-cli ROLE` on the server",
            ),
        }
    })
}
