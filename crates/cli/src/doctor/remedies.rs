//! Remedies: what to do about each `Cause` for which a store makes no decision.

use tollgate_redis::Cause;

/// The remedy for a cause.
pub(super) fn cure(cause: Cause) -> &'static str {
    CURES.iter().find(|(causes, _)| causes.contains(&cause)).map_or(OTHER, |(_, cure)| cure)
}

const CLUSTER: &str = "if the server is a node of a cluster, write `redis+cluster://host,host,host`; otherwise check `redis-cli CLUSTER INFO` on it";
const FROZEN: &str = "check whether the server's process is stopped, swaps or runs a slow command (`redis-cli --latency`, \
                      `redis-cli SLOWLOG GET`), and whether a firewall drops its packets";
const OTHER: &str = "check the server's log, `maxclients` and `protected-mode`; omit the password if the server has none, and use a database that exists";

const CURES: [(&[Cause], &str); 18] = [
    (
        &[Cause::Refused],
        "start the server, or correct the host and the port (or the path of the socket) in the address",
    ),
    (
        &[Cause::Closed],
        "write `rediss://` if the server expects TLS on this port; otherwise check its log, `maxclients` and `protected-mode`",
    ),
    (&[Cause::File], "restore the file, and make it readable for the user of this process"),
    (&[Cause::Dns], "correct the host name in the address, or add it to DNS"),
    (
        &[Cause::Tls],
        "set `store.ca` (TOLLGATE_STORE_CA) to the file with the CA certificate, write the host as it is in the server's certificate, \
         or write `redis://` if the server has no TLS on this port; if the server requires client certificates, set `store.certificate` and \
         `store.key`",
    ),
    (
        &[Cause::Certificate],
        "set `store.certificate` (TOLLGATE_STORE_CERTIFICATE) to a file with a client certificate signed by a CA of the server's \
         `tls-ca-cert-file`, and `store.key` (TOLLGATE_STORE_KEY) to the file with its key, or `CONFIG SET tls-auth-clients no`",
    ),
    (&[Cause::ConnectTimeout, Cause::Stalled, Cause::Timeout, Cause::TimeoutUnsent, Cause::Open], FROZEN),
    (
        &[Cause::Garbled],
        "the server on this port is not Redis: correct the port, or write `rediss://` if it expects TLS",
    ),
    (
        &[Cause::Loading],
        "wait until the server has loaded its data: `redis-cli INFO persistence` shows the progress",
    ),
    (
        &[Cause::Misconf],
        "find in the server's log why it cannot save (usually a full disk or an unwritable folder), and fix it; until then, \
         `CONFIG SET stop-writes-on-bgsave-error no` lets it accept writes",
    ),
    (
        &[Cause::OutOfMemory],
        "raise `maxmemory` (`CONFIG SET maxmemory 1gb`), or remove other data; until then, `when_store_fails` applies",
    ),
    (&[Cause::ReadOnly, Cause::MasterDown], "name the primary in the address: a replica rejects writes"),
    (&[Cause::NoReplicas], "start the replicas, or `CONFIG SET min-replicas-to-write 0`"),
    (&[Cause::ClusterDown, Cause::TryAgain, Cause::Moved, Cause::Ask, Cause::CrossSlot], CLUSTER),
    (&[Cause::Busy], "another client's script does not end: `redis-cli SCRIPT KILL`"),
    (
        &[Cause::NoAuth],
        "put user and password in the address, `redis://user:password@host`, preferably in TOLLGATE_STORE_URL; or put only the user there, and set \
         `store.password` (TOLLGATE_STORE_PASSWORD) to the file with the password",
    ),
    (
        &[Cause::WrongPass],
        "correct the user and the password in the address, or in the file of `store.password`; in the address, percent-encode characters \
         such as `@` and `/` in a password",
    ),
    (
        &[Cause::NoPerm],
        "give the user its permissions: `ACL SETUSER … on >password ~tg3:* +eval +evalsha +get +set +del +getrange +setrange +strlen \
         +pttl +pexpire +time +select +client|setname +ping`",
    ),
];

#[test]
fn every_cause_has_a_cure_and_no_cause_has_two() {
    for cause in Cause::all() {
        assert!(!cure(cause).is_empty());
        assert!(CURES.iter().filter(|(causes, _)| causes.contains(&cause)).count() <= 1, "{cause:?}");
    }
    assert_eq!(cure(Cause::Io), OTHER);
    assert!(cure(Cause::Moved).contains("redis+cluster://"));
}
