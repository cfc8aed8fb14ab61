//! Reloads the certificate, and compares the settings with those at start-up.

use std::sync::Arc;

use super::file_hashes::FileHashes;
use crate::doors::endpoints::Guard;
use crate::doors::tls::Certificate;
use crate::files;
use crate::settings::{CONFIG, Startup};

/// What there is beside the policy.
#[derive(Clone, Default, Debug)]
pub(super) struct SettingsAndCertificate {
    /// The gateway's certificate, if it has one.
    pub(super) certificate: Option<Arc<Certificate>>,
    /// Who may use the endpoints, and their certificates.
    pub(super) guards: Arc<[Guard]>,
    /// What the process was started with, if it was started by a command.
    pub(super) startup: Option<Startup>,
}

/// What came of a look.
#[derive(Debug)]
pub(super) struct ReloadCheck {
    /// Whether another certificate is in force.
    pub(super) renewed: bool,
    /// Whether other tokens are in force at some endpoint.
    pub(super) tokens_renewed: bool,
    /// Whether other limits are in force for Envoy.
    pub(super) limits_renewed: bool,
    /// The settings that would be others after a restart.
    pub(super) needs_restart: Vec<String>,
    /// What is wrong.
    pub(super) wrong: Vec<String>,
    /// Every file that was asked for.
    pub(super) seen: FileHashes,
}

impl SettingsAndCertificate {
    /// Puts another certificate in force, if there is one, and compares the settings.
    pub(super) fn look(&self, before: &FileHashes) -> ReloadCheck {
        let mut seen = before.afresh();
        let mut wrong = Vec::new();
        let (mut renewed, mut tokens_renewed) = (false, false);
        let of_endpoints = self.guards.iter().filter_map(|guard| guard.certificate.as_ref());
        for certificate in self.certificate.iter().chain(of_endpoints) {
            match certificate.reload(&mut seen) {
                Ok(is_new) => renewed |= is_new,
                Err(why) => wrong.push(why),
            }
        }
        for guard in &*self.guards {
            match guard.access.reload(&mut seen) {
                Ok(is_new) => tokens_renewed |= is_new,
                Err(why) => wrong.push(why),
            }
        }
        let mut limits_renewed = false;
        for limits in self.guards.iter().filter_map(|guard| guard.limits.as_ref()) {
            match limits.reload(&mut seen) {
                Ok(is_new) => limits_renewed |= is_new,
                Err(why) => wrong.push(why),
            }
        }
        let needs_restart = self.compare(&mut seen).unwrap_or_else(|why| {
            wrong.push(format!("a restart would fail: {why}"));
            Vec::new()
        });
        seen.look_at_the_unread();
        ReloadCheck { renewed, tokens_renewed, limits_renewed, needs_restart, wrong, seen }
    }

    fn compare(&self, seen: &mut FileHashes) -> Result<Vec<String>, String> {
        let Some(startup) = &self.startup else { return Ok(Vec::new()) };
        startup.changed(&mut |name| {
            let text = files::read_if_there(name);
            match &text {
                Ok(Some(text)) => seen.note_whole(name, Some(text.as_bytes())),
                // It need not be there, and its folder is not watched for that.
                Ok(None) if name == CONFIG => {}
                Ok(None) | Err(_) => seen.note_whole(name, None),
            }
            text
        })
    }
}
