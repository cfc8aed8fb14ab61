//! What we may do on the server: too little, or more than is needed. How it was tried is not known here.

use super::super::finding::Finding;
use super::super::observations::Found;

const RIGHTS: &str = "rights";
const PASSWORD: &str = "password";
const SECRET: &str = "secret";

/// Whether the names of keys tell who uses the API.
pub(super) fn secret(found: &Found) -> Finding {
    if found.has_secret {
        return Finding::good(
            SECRET,
            "keys' names are made with a secret; all that share the store need the same",
        );
    }
    Finding::warning(
        SECRET,
        "keys' names are made without a secret: whoever can read the store can tell whether a client that they guess has used the API",
        "write a random text into a file, and name that in `store.secret` (TOLLGATE_STORE_SECRET) of every process that shares the store; \
         all keys begin afresh then",
    )
}

pub(super) fn rights(found: &Found) -> Finding {
    let user = found.user.as_deref().unwrap_or("default");
    let rights = match &found.rights {
        Ok(rights) => rights,
        Err(why) => {
            return Finding::unknown(
                RIGHTS,
                format!("it could not be tried: {why}"),
                "mend that first, and ask again",
            );
        }
    };
    if !rights.missing.is_empty() {
        let rules = rights.missing.join(" ");
        let found = format!("the user `{user}` lacks rights that decisions need: {rules}");
        return Finding::fault(
            RIGHTS,
            found,
            format!("`ACL SETUSER {user} {rules}`, and then `ACL SAVE` or the same in redis.conf"),
        );
    }
    if !rights.gone.is_empty() {
        let found = format!("the server does not know {}: renamed, or taken away", rights.gone.join(", "));
        return Finding::fault(
            RIGHTS,
            found,
            "take `rename-command` out of redis.conf, and use ACLs in its place",
        );
    }
    if !rights.untold.is_empty() {
        let found =
            format!("whether the user `{user}` may use {} could not be tried", rights.untold.join(", "));
        return Finding::unknown(
            RIGHTS,
            found,
            "the server refuses them to everybody: see `decisions` below",
        );
    }
    Finding::good(RIGHTS, format!("the user `{user}` may do all that is needed"))
}

/// Rights beyond what is needed: advice, nothing is wrong.
///
/// Whether a wrong password would be taken is not tried: the server would log it (`ACL LOG`), and somebody might take it for an attack.
pub(super) fn password(found: &Found) -> Finding {
    let user = "`ACL SETUSER tollgate on >… ~tg3:* +eval +evalsha +get +set +del +getrange +setrange +strlen +pttl +pexpire +time +select +client|setname +ping`";
    let Some(name) = &found.user else {
        let sentence =
            "the server asks for no password: whoever reaches it can read, change and forget budgets";
        return Finding::note(
            PASSWORD,
            sentence,
            format!("{user}, then `ACL SETUSER default off`, and that user in the address"),
        );
    };
    match &found.may_flush {
        Ok(true) => {
            let sentence = format!("the user `{name}` may do more than is needed, `FLUSHALL` for one");
            Finding::note(PASSWORD, sentence, format!("give the gateway a user of its own: {user}"))
        }
        Ok(false) => {
            let sentence = format!(
                "one was sent for the user `{name}`, who may not `FLUSHALL`; whether any other would do is not tried"
            );
            Finding::good(PASSWORD, sentence)
        }
        Err(why) => {
            let sentence = format!(
                "one was sent for the user `{name}`; whether that user may do more than is needed cannot be told without `ACL DRYRUN`: {why}"
            );
            let cure = format!(
                "`ACL SETUSER {name} +acl|dryrun` (Redis 7 and later), or see as an operator that `ACL GETUSER {name}` has no more than {user}"
            );
            Finding::unknown(PASSWORD, sentence, cure)
        }
    }
}
