//! What to do about each reason for which a store gives no decision. What the reasons are is said in `tollgate-redis`.

use tollgate_redis::Cause;

/// What to do; the last is for everything else.
pub(super) fn cure(cause: Cause) -> &'static str {
    CURES.iter().find(|(causes, _)| causes.contains(&cause)).map_or(OTHER, |(_, cure)| cure)
}

const CLUSTER: &str =
    "Redis Cluster is not supported yet: use a server of its own, with `cluster-enabled no`";
const FROZEN: &str = "see whether the server's process is stopped, swaps or runs something long (`redis-cli --latency`, \
                      `redis-cli SLOWLOG GET`), and whether a firewall drops what is sent to it";
const OTHER: &str = "look into the server's log, and at `maxclients` and `protected-mode`; leave out the password if the server has none, and name a database that it has";

const CURES: [(&[Cause], &str); 18] = [
    (
        &[Cause::Refused],
        "start the server, or correct the host and the port (or the path of the socket) in the address",
    ),
    (
        &[Cause::Closed],
        "write `rediss://` if the server wants TLS there; else look into its log, and at `maxclients` and `protected-mode`",
    ),
    (&[Cause::File], "put the file back, and let the user of this process read it"),
    (&[Cause::Dns], "correct the host's name in the address, or make it known to DNS"),
    (
        &[Cause::Tls],
        "name the file with the authority's certificate in `store.ca` (TOLLGATE_STORE_CA), write the host as the certificate has \
         it, or write `redis://` if the server has no TLS there; if the server wants a certificate of its clients, name one in `store.certificate` and \
         its key in `store.key`",
    ),
    (
        &[Cause::Certificate],
        "name the file with a certificate that is signed by an authority of the server's `tls-ca-cert-file` in `store.certificate` \
         (TOLLGATE_STORE_CERTIFICATE) and the one with its key in `store.key` (TOLLGATE_STORE_KEY), or `CONFIG SET tls-auth-clients no`",
    ),
    (&[Cause::ConnectTimeout, Cause::Stalled, Cause::Timeout, Cause::TimeoutUnsent, Cause::Open], FROZEN),
    (
        &[Cause::Garbled],
        "something else than Redis answers there: correct the port, or write `rediss://` if it wants TLS",
    ),
    (
        &[Cause::Loading],
        "wait until the server has read its data: `redis-cli INFO persistence` says how far it is",
    ),
    (
        &[Cause::Misconf],
        "see in the server's log why it cannot save (mostly: the disk is full, or the folder cannot be written), and mend that; until then \
         `CONFIG SET stop-writes-on-bgsave-error no` lets it take writes",
    ),
    (
        &[Cause::OutOfMemory],
        "raise `maxmemory` (`CONFIG SET maxmemory 1gb`), or take away what else is in there; until then `when_store_fails` holds",
    ),
    (&[Cause::ReadOnly, Cause::MasterDown], "name the primary in the address: a replica takes no writes"),
    (&[Cause::NoReplicas], "start the replicas, or `CONFIG SET min-replicas-to-write 0`"),
    (&[Cause::ClusterDown, Cause::TryAgain, Cause::Moved, Cause::Ask, Cause::CrossSlot], CLUSTER),
    (&[Cause::Busy], "somebody's script does not end: `redis-cli SCRIPT KILL`"),
    (
        &[Cause::NoAuth],
        "write user and password into the address, `redis://user:password@host`, best in TOLLGATE_STORE_URL; or the user alone, and name the \
         file with the password in `store.password` (TOLLGATE_STORE_PASSWORD)",
    ),
    (
        &[Cause::WrongPass],
        "correct the user and the password in the address, or in the file of `store.password`; in the address write `%` and two digits for \
         signs like `@` and `/` in a password",
    ),
    (
        &[Cause::NoPerm],
        "give the user its rights: `ACL SETUSER … on >password ~tg3:* +eval +evalsha +get +set +del +getrange +setrange +strlen \
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
    assert!(cure(Cause::Moved).contains("not supported yet"));
}
