//! Settings under construction: finds missing and conflicting ones.

use std::net::SocketAddr;

use tollgate_policy::Severity;

use super::origin::{Origin, Scheme};
use super::source::{SettingProblem, SettingSource};
use super::{IDLE_MAX, LOOKUP, Protocol, Settings, Tls, Upstream};

/// The settings, but for those that have no default or come in pairs: these are beside them.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(super) struct PartialSettings {
    pub(super) policy: Option<String>,
    pub(super) url: Option<Origin>,
    pub(super) certificate: Option<String>,
    pub(super) key: Option<String>,
    pub(super) settings: Settings,
}

impl Default for PartialSettings {
    fn default() -> Self {
        let (host, ca) = (String::new(), None);
        let upstream = Upstream {
            tls: false,
            host,
            port: 0,
            protocol: Protocol::Auto,
            ca,
            idle_max: IDLE_MAX,
            lookup: Some(LOOKUP),
        };
        let settings = Settings::new("", upstream);
        Self { policy: None, url: None, certificate: None, key: None, settings }
    }
}

/// Where each setting comes from, by its path.
pub(super) type SettingSources<'a> = &'a dyn Fn(&str) -> Option<SettingSource>;

impl PartialSettings {
    /// The settings, and everything that does not go together. They can be used if nothing of it is an error.
    pub(super) fn finish(&self, given: SettingSources<'_>) -> (Settings, Vec<SettingProblem>) {
        let mut problems = Vec::new();
        let mut settings = self.settings.clone();
        settings.policy = self.policy.clone().unwrap_or_default();
        if let Some(url) = &self.url {
            self.upstream(url, &mut settings.upstream, given, &mut problems);
        }
        settings.tls = self.tls(given, &mut problems);
        self.operations(given, &mut problems);
        self.readiness(given, &mut problems);
        (settings, problems)
    }

    fn upstream(
        &self,
        url: &Origin,
        upstream: &mut Upstream,
        given: SettingSources<'_>,
        problems: &mut Vec<SettingProblem>,
    ) {
        upstream.tls = url.scheme == Scheme::Https;
        upstream.host.clone_from(&url.host);
        upstream.port = url.port;
        if url.scheme == Scheme::H2c {
            if upstream.protocol == Protocol::Http1 {
                problems.push(SettingProblem::about(
                    Severity::Error,
                    given("upstream.protocol").as_ref(),
                    &format!("`upstream.protocol` is HTTP/1.1, and the upstream's URL `{url}` is HTTP/2"),
                    "write `http://` in the URL, or `auto` here",
                ));
            }
            upstream.protocol = Protocol::Http2;
        }
        if upstream.ca.is_some() && !upstream.tls {
            problems.push(SettingProblem::about(
                Severity::Warning,
                given("upstream.ca").as_ref(),
                &format!("`upstream.ca` has no effect, because `{url}` is without TLS"),
                "write `https://` in the URL, or leave it out",
            ));
        }
    }

    fn tls(&self, given: SettingSources<'_>, problems: &mut Vec<SettingProblem>) -> Option<Tls> {
        let (has, missing) = match (&self.certificate, &self.key) {
            (Some(certificate), Some(key)) => {
                return Some(Tls { certificate: certificate.clone(), key: key.clone() });
            }
            (None, None) => return None,
            (Some(_), None) => ("tls.certificate", "tls.key"),
            (None, Some(_)) => ("tls.key", "tls.certificate"),
        };
        problems.push(SettingProblem::about(
            Severity::Error,
            given(has).as_ref(),
            &format!("`{has}` is of no use without `{missing}`"),
            "give both, or none for clients without TLS",
        ));
        None
    }

    fn operations(&self, given: SettingSources<'_>, problems: &mut Vec<SettingProblem>) {
        let Some(operations) = self.settings.operations else { return };
        let given = given("operations.listen");
        if self.settings.listen.iter().any(|listen| collide(*listen, operations)) {
            problems.push(SettingProblem::about(
                Severity::Error,
                given.as_ref(),
                &format!("clients and operators cannot both be at {operations}"),
                "give `operations.listen` another port, or `none`",
            ));
        }
        if !operations.ip().is_loopback() {
            problems.push(SettingProblem::about(
                Severity::Warning,
                given.as_ref(),
                &format!("operations are shown at {operations} to everybody who can reach it"),
                "no password is asked for there; 127.0.0.1 is for this machine only",
            ));
        }
    }

    fn readiness(&self, given: SettingSources<'_>, problems: &mut Vec<SettingProblem>) {
        if self.settings.readiness.store && self.settings.store.url.is_none() {
            problems.push(SettingProblem::about(
                Severity::Warning,
                given("readiness").as_ref(),
                "`store` in `readiness` has no effect, because there is no shared store",
                "give `store.url`, or leave it out",
            ));
        }
    }
}

/// Whether two listeners want the same port of one address. Of port 0, each gets its own.
fn collide(one: SocketAddr, other: SocketAddr) -> bool {
    let same = one.ip() == other.ip() || one.ip().is_unspecified() || other.ip().is_unspecified();
    one.port() == other.port() && one.port() != 0 && same
}
