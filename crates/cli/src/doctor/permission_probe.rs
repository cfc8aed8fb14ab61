//! Tests which commands the user may run, on a key of its own.
//!
//! It is really done, and not asked of `ACL DRYRUN`: a user who may do no more than it needs may not ask that, servers before
//! Redis 7 do not have it, and a command that was renamed away is found, too.

use tollgate_redis::{Inspector, LinkError, QueryReply};

use super::observations::{MissingPermissions, Observed};

/// Tries each command, in the order of [`COMMANDS`].
const SCRIPT: &str = include_str!("permission_probe.lua");

/// What the scripts call, and the rule that gives the right to it.
const COMMANDS: [(&str, &str); 9] = [
    ("GET", "+get"),
    ("SET", "+set"),
    ("STRLEN", "+strlen"),
    ("GETRANGE", "+getrange"),
    ("SETRANGE", "+setrange"),
    ("PTTL", "+pttl"),
    ("PEXPIRE", "+pexpire"),
    ("TIME", "+time"),
    ("DEL", "+del"),
];

/// Every key of ours begins like this.
const KEYS: &str = "~tg3:*";

/// A digest that no script has.
const NO_SCRIPT: &str = "0000000000000000000000000000000000000000";

/// What became of a trial.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum ProbeResult {
    Done,
    /// The user may not do it.
    Forbidden,
    /// The user may not do it on this key.
    ForbiddenKey,
    /// The server has no such command.
    Gone,
    /// It failed for another reason, which may be another check's.
    Untold,
}

/// Tries everything. `name` is a key of ours that nobody uses.
pub(super) async fn rights(inspector: &mut Inspector, name: &str) -> Observed<MissingPermissions> {
    let mut rights = MissingPermissions::default();
    // One is tried after the other: who may not `EVALSHA` may still `EVAL`.
    let by_digest = trial(&inspector.ask(&["EVALSHA", NO_SCRIPT, "1", name]).await);
    rights.add(by_digest, "EVALSHA", "+evalsha");
    let answer = inspector.ask(&["EVAL", SCRIPT, "1", name]).await;
    match &answer {
        Ok(said) if said.list().len() == COMMANDS.len() => {
            for ((command, rule), line) in COMMANDS.iter().zip(said.list()) {
                rights.add(trial_of(line.text().unwrap_or_default()), command, rule);
            }
        }
        Ok(_) => return Err("the test script returned an unexpected reply".into()),
        Err(LinkError::Server { .. }) => {
            rights.add(trial(&answer), "EVAL", "+eval");
            rights.untold.extend(COMMANDS.iter().map(|(command, _)| *command));
        }
        Err(error) => return Err(error.to_string()),
    }
    Ok(rights)
}

impl MissingPermissions {
    fn add(&mut self, trial: ProbeResult, command: &'static str, rule: &'static str) {
        let (list, word) = match trial {
            ProbeResult::Done => return,
            ProbeResult::Forbidden => (&mut self.missing, rule),
            ProbeResult::ForbiddenKey => (&mut self.missing, KEYS),
            ProbeResult::Gone => (&mut self.gone, command),
            ProbeResult::Untold => (&mut self.untold, command),
        };
        if !list.contains(&word) {
            list.push(word);
        }
    }
}

fn trial(answer: &Result<QueryReply, LinkError>) -> ProbeResult {
    match answer {
        Err(LinkError::Server { message, .. }) => trial_of(message),
        Ok(_) => ProbeResult::Done,
        Err(_) => ProbeResult::Untold,
    }
}

/// What an error line says about a right; an empty one says that it was done.
fn trial_of(line: &str) -> ProbeResult {
    let line = line.trim_start_matches('-');
    let has = |words: &[&str]| words.iter().any(|words| line.contains(words));
    if line.is_empty() || line.starts_with("NOSCRIPT") {
        return ProbeResult::Done;
    }
    // Of keys first: what is said of them has the other words, too.
    if has(&["access at least one of the keys", "access one of the keys", "permissions to access a key"]) {
        return ProbeResult::ForbiddenKey;
    }
    if has(&["NOPERM", "The user executing the script can't", "ACL failure in script"]) {
        return ProbeResult::Forbidden;
    }
    if has(&["nknown Redis command", "nknown command"]) {
        return ProbeResult::Gone;
    }
    ProbeResult::Untold
}

#[test]
fn what_servers_say_of_rights_is_understood() {
    let lines = [
        ("", ProbeResult::Done),
        ("NOSCRIPT No matching script. Please use EVAL.", ProbeResult::Done),
        ("NOPERM this user has no permissions to run the 'eval' command", ProbeResult::Forbidden),
        ("NOPERM User gate has no permissions to run the 'eval' command", ProbeResult::Forbidden),
        (
            "NOPERM this user has no permissions to access one of the keys used as arguments",
            ProbeResult::ForbiddenKey,
        ),
        ("NOPERM No permissions to access a key", ProbeResult::ForbiddenKey),
        ("ERR The user executing the script can't run this command or subcommand", ProbeResult::Forbidden),
        (
            "-NOPERM The user executing the script can't run this command or subcommand",
            ProbeResult::Forbidden,
        ),
        (
            "ERR The user executing the script can't access at least one of the keys mentioned in the command arguments",
            ProbeResult::ForbiddenKey,
        ),
        (
            "ERR ACL failure in script: User gate has no permissions to run the 'set' command",
            ProbeResult::Forbidden,
        ),
        ("ERR ACL failure in script: No permissions to access a key", ProbeResult::ForbiddenKey),
        ("ERR Unknown Redis command called from script", ProbeResult::Gone),
        ("ERR unknown command 'EVAL', with args beginning with: ", ProbeResult::Gone),
        ("OOM command not allowed when used memory > 'maxmemory'.", ProbeResult::Untold),
    ];
    for (line, expected) in lines {
        assert_eq!(trial_of(line), expected, "{line}");
    }
}
