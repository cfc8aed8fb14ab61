//! Who may use an endpoint: whoever sends one of the tokens in a file, which can be replaced while it serves.

use std::fmt;

use arc_swap::ArcSwap;
use sha2::{Digest, Sha256};

use crate::files;
use crate::reload::FileHashes;
use crate::settings::Endpoint;

/// Tokens of one endpoint. More are an error: they are for rotation, and every one is compared with each that is sent.
pub(crate) const TOKENS_MAX: usize = 64;
/// The longest token in bytes. A longer one in the file is an error, and a longer one that is sent is wrong.
pub(crate) const TOKEN_BYTES_MAX: usize = 512;
/// The shortest token in bytes. A shorter one in the file is an error: it could be guessed.
pub(crate) const TOKEN_BYTES_MIN: usize = 16;
/// The largest file with tokens, in bytes. A larger one is an error.
const FILE_BYTES_MAX: u64 = 1 << 16;

/// What is kept of a token.
type Hash = [u8; 32];

/// Who may use an endpoint.
pub(crate) struct Access {
    /// The setting, for messages.
    setting: String,
    file: Option<String>,
    tokens: ArcSwap<Vec<Hash>>,
}

/// Why a client may not use an endpoint.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Denied {
    /// It has sent no token.
    NoToken,
    /// It has sent another one.
    WrongToken,
}

impl Access {
    /// Reads the tokens of an endpoint, if it has a file of them, and notes what was read. `name` is its section.
    ///
    /// # Errors
    /// A sentence, without what may be a token.
    pub(crate) fn load(name: &str, endpoint: &Endpoint, seen: &mut FileHashes) -> Result<Self, String> {
        let (setting, file) = (format!("{name}.tokens"), endpoint.tokens.clone());
        let access = Self { setting, file, tokens: ArcSwap::default() };
        access.reload(seen)?;
        Ok(access)
    }

    /// Reads the file again. Says whether it holds other tokens, which are then in force.
    ///
    /// # Errors
    /// A sentence, without what may be a token. What was in force stays in force.
    pub(crate) fn reload(&self, seen: &mut FileHashes) -> Result<bool, String> {
        let Some(file) = &self.file else { return Ok(false) };
        let setting = &self.setting;
        if !files::is_there(file) {
            seen.note_whole(file, None);
            // It may be a token itself, by mistake: so it is not repeated.
            return Err(format!(
                "`{setting}` names a file that does not exist: write one token per line into a file"
            ));
        }
        let mut bytes = Vec::new();
        let read = files::feed_up_to(file, FILE_BYTES_MAX, &mut |piece| bytes.extend_from_slice(piece));
        seen.note_whole(file, read.is_ok().then_some(&bytes));
        read.map_err(|why| format!("{file} cannot be read: {why}"))?;
        let tokens = parse(&bytes).map_err(|why| format!("`{setting}`: {file}{why}"))?;
        let changed = tokens != **self.tokens.load();
        self.tokens.store(tokens.into());
        Ok(changed)
    }

    /// Whether clients have to send a token.
    pub(crate) const fn asks_for_token(&self) -> bool {
        self.file.is_some()
    }

    /// Whether a client may use the endpoint that has sent this token, or none. Everybody may if no token is asked for.
    ///
    /// How long it takes depends on neither where tokens differ nor on which of them is right.
    ///
    /// # Errors
    /// Why not.
    pub(crate) fn check(&self, token: Option<&[u8]>) -> Result<(), Denied> {
        if !self.asks_for_token() {
            return Ok(());
        }
        let token = token.ok_or(Denied::NoToken)?;
        if token.len() > TOKEN_BYTES_MAX {
            return Err(Denied::WrongToken);
        }
        let hash = hash(token);
        // All of them, and every byte of each.
        let found = self.tokens.load().iter().fold(0_u8, |found, known| {
            let differ = known.iter().zip(&hash).fold(0_u8, |differ, (one, other)| differ | (one ^ other));
            found | u8::from(differ == 0)
        });
        if found == 0 { Err(Denied::WrongToken) } else { Ok(()) }
    }
}

/// The tokens in a file: one per line, without lines that are empty or begin with `#`. An error goes on from the file's name.
fn parse(bytes: &[u8]) -> Result<Vec<Hash>, String> {
    let text = str::from_utf8(bytes).map_err(|_| " is not a text file")?;
    let mut tokens = Vec::new();
    for (number, line) in text.lines().enumerate() {
        let (number, token) = (number.saturating_add(1), line.trim());
        if token.is_empty() || token.starts_with('#') {
            continue;
        }
        if !token.bytes().all(|byte| byte.is_ascii_graphic()) {
            return Err(format!(":{number}: a token consists of printable ASCII characters without spaces"));
        }
        if token.len() < TOKEN_BYTES_MIN || token.len() > TOKEN_BYTES_MAX {
            return Err(format!(
                ":{number}: a token has {TOKEN_BYTES_MIN} to {TOKEN_BYTES_MAX} characters: create one with `openssl rand -hex 32`"
            ));
        }
        tokens.push(hash(token.as_bytes()));
    }
    if tokens.is_empty() {
        return Err(" has no token: write one per line, such as the output of `openssl rand -hex 32`".into());
    }
    if tokens.len() > TOKENS_MAX {
        return Err(format!(" has more than {TOKENS_MAX} tokens: remove those that are no longer in use"));
    }
    Ok(tokens)
}

fn hash(token: &[u8]) -> Hash {
    Sha256::digest(token).into()
}

impl fmt::Debug for Access {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Access({} tokens)", self.tokens.load().len())
    }
}

#[cfg(test)]
mod tests;
