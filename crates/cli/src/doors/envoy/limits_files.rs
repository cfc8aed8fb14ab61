//! The limits files of the gRPC endpoint, which are read at start-up and again when they change.

use std::sync::{Mutex, OnceLock, PoisonError};

use tollgate_envoy::{Limits, RateLimitService};

use crate::files;
use crate::reload::FileHashes;

/// The longest limits file in bytes. A longer one is an error.
const FILE_BYTES_MAX: u64 = 16 << 20;

/// The files, and the service in which their limits are in force.
#[derive(Debug)]
pub(crate) struct LimitsFiles {
    names: Vec<String>,
    /// What they held when they were last loaded, successfully or not.
    texts: Mutex<Vec<String>>,
    /// What was loaded at start-up, until it is in force.
    first: Mutex<Option<(Limits, Vec<String>)>>,
    service: OnceLock<RateLimitService>,
}

impl LimitsFiles {
    /// Reads the files, and notes what was read.
    ///
    /// # Errors
    /// Every error, with its place.
    pub(crate) fn load(names: &[String], seen: &mut FileHashes) -> Result<Self, String> {
        if names.is_empty() {
            return Err("the endpoint `grpc` has no limits: give --grpc-limits FILE, or `grpc: { limits: [FILE] }` under `serve`".into());
        }
        let texts = read(names, seen)?;
        let first = Mutex::new(Some(parse(names, &texts)?));
        Ok(Self { names: names.to_vec(), texts: Mutex::new(texts), first, service: OnceLock::new() })
    }

    /// What was loaded at start-up, once, with notes.
    pub(super) fn take_first(&self) -> (Limits, Vec<String>) {
        self.first.lock().unwrap_or_else(PoisonError::into_inner).take().unwrap_or_default()
    }

    /// From now on, other limits replace those of this service.
    pub(super) fn put_in_force(&self, service: &RateLimitService) {
        // There is one endpoint.
        let _ = self.service.set(service.clone());
    }

    /// Reads the files again. Says whether they hold other limits, which are then in force.
    ///
    /// # Errors
    /// Every error, with its place. What was in force stays in force.
    pub(crate) fn reload(&self, seen: &mut FileHashes) -> Result<bool, String> {
        let texts = read(&self.names, seen)?;
        let Some(service) = self.service.get() else { return Ok(false) };
        let mut before = self.texts.lock().unwrap_or_else(PoisonError::into_inner);
        if *before == texts {
            return Ok(false);
        }
        // Of what cannot be used, it is said once, unless a reload is asked for.
        let parsed = parse(&self.names, &texts);
        if let Ok((limits, _)) = parsed {
            service.replace(limits);
            *before = texts;
            return Ok(true);
        }
        parsed.map(|_| false)
    }
}

fn read(names: &[String], seen: &mut FileHashes) -> Result<Vec<String>, String> {
    let one = |name: &String| {
        let mut bytes = Vec::new();
        let read = files::feed_up_to(name, FILE_BYTES_MAX, &mut |piece| bytes.extend_from_slice(piece));
        seen.note_whole(name, read.is_ok().then_some(&bytes));
        read.map_err(|why| format!("{name} cannot be read: {why}"))?;
        String::from_utf8(bytes).map_err(|_| format!("{name} is not a text file"))
    };
    names.iter().map(one).collect()
}

fn parse(names: &[String], texts: &[String]) -> Result<(Limits, Vec<String>), String> {
    let files: Vec<_> = names.iter().zip(texts).map(|(name, text)| (name.as_str(), text.as_str())).collect();
    Limits::load(&files).map_err(|rejected| rejected.to_string())
}
