//! Settings under construction: finds missing and conflicting ones.

use std::net::SocketAddr;

use tollgate_policy::Severity;
use tollgate_policy::numbers::MethodName;

use super::origin::{Origin, Scheme};
use super::source::{SettingProblem, SettingSource};
use super::{Endpoint, IDLE_MAX, LOOKUP, Protocol, Settings, Tls, Upstream, UpstreamLimit};

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
            adaptive: UpstreamLimit::default(),
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
        upstream_limit(&settings.upstream.adaptive, given, &mut problems);
        settings.tls = self.tls(given, &mut problems);
        self.operations(given, &mut problems);
        for (name, endpoint) in settings.endpoints() {
            self.endpoint((name, endpoint), given, &mut problems);
        }
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
                return Some(Tls::new(certificate, key));
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

    /// What does not go together at an endpoint; and what would let everybody in.
    fn endpoint(
        &self,
        (name, endpoint): (&str, &Endpoint),
        given: SettingSources<'_>,
        problems: &mut Vec<SettingProblem>,
    ) {
        let path = |setting: &str| format!("{name}.{setting}");
        let mut add = |severity, setting: &str, message: String, help: &str| {
            problems.push(SettingProblem::about(severity, given(&path(setting)).as_ref(), &message, help));
        };
        let pair = [("certificate", &endpoint.certificate), ("key", &endpoint.key)];
        if let [(has, Some(_)), (missing, None)] | [(missing, None), (has, Some(_))] = pair {
            let message = format!("`{name}.{has}` is of no use without `{name}.{missing}`");
            add(Severity::Error, has, message, "give both, or none for clients without TLS");
        }
        if endpoint.client_ca.is_some() && endpoint.certificate.is_none() && endpoint.key.is_none() {
            let message = format!("`{name}.client_ca` is of no use without `{name}.certificate`");
            add(Severity::Error, "client_ca", message, "give `certificate` and `key`");
        }
        let Some(listen) = endpoint.listen else {
            if *endpoint != Endpoint::default() {
                let message =
                    format!("the section `{name}` has no effect, because `{name}.listen` is not given");
                let set = ["tokens", "certificate", "key", "client_ca", "public", "connections"];
                let set = set.into_iter().find(|setting| given(&path(setting)).is_some());
                add(Severity::Warning, set.unwrap_or("listen"), message, "give an address to listen on");
            }
            return;
        };
        let others = self.settings.endpoints().into_iter().filter(|(other, _)| *other < name);
        let mut taken: Vec<_> = others.filter_map(|(_, other)| other.listen).collect();
        taken.extend(self.settings.operations);
        if self.url.is_some() {
            taken.extend(&self.settings.listen);
        }
        if taken.iter().any(|other| collide(*other, listen)) {
            let message = format!("two listeners cannot both be at {listen}");
            add(Severity::Error, "listen", message, "give each a port of its own");
        }
        if listen.ip().is_loopback() {
            return;
        }
        if !endpoint.asks_who() && !endpoint.is_public {
            let message = format!("everybody who can reach {listen} could use the endpoint `{name}`");
            let help = format!(
                "give `{name}.tokens` (a file with a token per line) or `{name}.client_ca` (mutual TLS), listen on 127.0.0.1, \
                 or permit it by `{name}.public: true`"
            );
            add(Severity::Error, "listen", message, &help);
        } else if endpoint.tokens.is_some() && endpoint.tls(name).is_none() {
            let message = format!("tokens for {listen} are sent without encryption");
            add(Severity::Warning, "tokens", message, &format!("give `{name}.certificate` and `{name}.key`"));
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
        if self.settings.readiness.upstream && self.url.is_none() {
            problems.push(SettingProblem::about(
                Severity::Warning,
                given("readiness").as_ref(),
                "`upstream` in `readiness` has no effect, because there is no upstream",
                "give `upstream.url`, or leave it out",
            ));
        }
    }
}

/// What does not go together in the limit of the upstream.
fn upstream_limit(limit: &UpstreamLimit, given: SettingSources<'_>, problems: &mut Vec<SettingProblem>) {
    let UpstreamLimit { method, target, min, max, initial } = *limit;
    let error = |path: &str, message: &str, help: &str| {
        SettingProblem::about(Severity::Error, given(path).as_ref(), message, help)
    };
    match (method, target) {
        (Some(MethodName::Aimd), None) => problems.push(error(
            "upstream.adaptive",
            "`aimd` needs `upstream.adaptive_target`, the latency above which the limit shrinks",
            "give it, or take `gradient2`, which finds the latency itself",
        )),
        (Some(MethodName::Aimd), Some(_)) | (_, None) => {}
        (_, Some(_)) => problems.push(error(
            "upstream.adaptive_target",
            "only `upstream.adaptive: aimd` has a target; other methods find the latency themselves",
            "leave it out",
        )),
    }
    if min > initial || initial > max {
        problems.push(error(
            if min > max { "upstream.adaptive_min" } else { "upstream.adaptive_initial" },
            &format!("`upstream.adaptive_min` {min}, `adaptive_initial` {initial} and `adaptive_max` {max} are no range"),
            "give them in this order, the lowest first",
        ));
    }
}

/// Whether two listeners want the same port of one address. Of port 0, each gets its own.
fn collide(one: SocketAddr, other: SocketAddr) -> bool {
    let same = one.ip() == other.ip() || one.ip().is_unspecified() || other.ip().is_unspecified();
    one.port() == other.port() && one.port() != 0 && same
}
