//! Checks permissions: too few, or more than needed; and the secret for key names.

use super::super::finding::Finding;
use super::super::observations::Observations;

const RIGHTS: &str = "rights";
const PASSWORD: &str = "password";
const SECRET: &str = "secret";

/// Checks whether key names reveal who uses the API.
pub(super) fn secret(found: &Observations) -> Finding {
    if found.has_secret {
        return Finding::good(
            SECRET,
            "key names are hashed with a secret; all processes that share the store need the same one",
        );
    }
    Finding::warning(
        SECRET,
        "key names are hashed without a secret: anybody who can read the store can check whether a given client has used the API",
        "write a random text to a file, and set `store.secret` (TOLLGATE_STORE_SECRET) to that file for every process that shares the store; \
         all states start afresh",
    )
}

pub(super) fn rights(found: &Observations) -> Finding {
    let user = found.user.as_deref().unwrap_or("default");
    let rights = match &found.rights {
        Ok(rights) => rights,
        Err(why) => {
            return Finding::unknown(
                RIGHTS,
                format!("could not be tested: {why}"),
                "fix that first, then run doctor again",
            );
        }
    };
    if !rights.missing.is_empty() {
        let rules = rights.missing.join(" ");
        let found = format!("the user `{user}` lacks permissions that decisions need: {rules}");
        return Finding::fault(
            RIGHTS,
            found,
            format!("`ACL SETUSER {user} {rules}`, then `ACL SAVE`, or the same in redis.conf"),
        );
    }
    if !rights.gone.is_empty() {
        let found = format!("the server does not know {}: renamed or disabled", rights.gone.join(", "));
        return Finding::fault(
            RIGHTS,
            found,
            "remove `rename-command` from redis.conf, and use ACLs instead",
        );
    }
    if !rights.untold.is_empty() {
        let found = format!("could not test whether the user `{user}` may use {}", rights.untold.join(", "));
        return Finding::unknown(
            RIGHTS,
            found,
            "the server rejects these commands from everybody: see the check `decisions`",
        );
    }
    Finding::good(RIGHTS, format!("the user `{user}` has all permissions that it needs"))
}

/// Checks for permissions beyond what is needed, which is advice only.
///
/// It does not test whether a wrong password is accepted: the server would log that (`ACL LOG`), and it could look like an attack.
pub(super) fn password(found: &Observations) -> Finding {
    let user = "`ACL SETUSER tollgate on >… ~tg3:* +eval +evalsha +get +set +del +getrange +setrange +strlen +pttl +pexpire +time +select +client|setname +ping`";
    let Some(name) = &found.user else {
        let sentence =
            "the server requires no password: anybody who can reach it can read, change and delete states";
        return Finding::note(
            PASSWORD,
            sentence,
            format!("{user}, then `ACL SETUSER default off`, and put that user in the address"),
        );
    };
    match &found.may_flush {
        Ok(true) => {
            let sentence = format!("the user `{name}` has more permissions than needed, such as `FLUSHALL`");
            Finding::note(PASSWORD, sentence, format!("give the gateway its own user: {user}"))
        }
        Ok(false) => {
            let sentence = format!(
                "sent for the user `{name}`, who may not run `FLUSHALL`; whether the server rejects a wrong password is not tested"
            );
            Finding::good(PASSWORD, sentence)
        }
        Err(why) => {
            let sentence = format!(
                "sent for the user `{name}`; testing for excess permissions needs `ACL DRYRUN`: {why}"
            );
            let cure = format!(
                "`ACL SETUSER {name} +acl|dryrun` (Redis 7 and later), or check as an operator that `ACL GETUSER {name}` shows no more than {user}"
            );
            Finding::unknown(PASSWORD, sentence, cure)
        }
    }
}
