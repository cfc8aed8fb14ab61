//! Security schemes: where the keys of a document's operations stand. What a key means is decided elsewhere.

use std::collections::{HashMap, HashSet};

use http::header::AUTHORIZATION;

use crate::document::diagnostic::Diagnostic;
use crate::document::suggest;
use crate::document::tree::{Entry, Value};
use crate::model::KeyPlace;
use crate::parse::context::Context;
use crate::parse::identity::key_place;

/// What `security` asks for: one of these alternatives, all schemes of it.
pub(crate) type SecurityRequirement = Vec<Vec<String>>;

/// A document's security schemes, and what it asks for unless an operation says otherwise.
#[derive(Debug, Default)]
pub(crate) struct Security {
    /// Where their keys stand, by the name of the scheme.
    places: HashMap<String, KeyPlace>,
    /// The names of those that have a key, in the order of the document.
    names: Vec<String>,
    /// Every scheme's name.
    declared: HashSet<String>,
    asked: SecurityRequirement,
}

/// The place of a key that is in the `Authorization` header, by a security scheme's type and its HTTP scheme.
fn credentials(kind: Option<&str>, scheme: Option<&str>) -> Option<KeyPlace> {
    let is = |known: &str| scheme.is_some_and(|scheme| scheme.eq_ignore_ascii_case(known));
    match kind {
        Some("http") if is("bearer") => Some(KeyPlace::Bearer),
        Some("http") if is("basic") => Some(KeyPlace::Basic),
        // Their access tokens are bearer tokens (RFC 6750).
        Some("oauth2" | "openIdConnect") => Some(KeyPlace::Bearer),
        _ => None,
    }
}

impl Security {
    /// Reads the schemes of a document.
    pub(crate) fn read<'t>(root: Value<'t>, context: &mut Context<'t>) -> Self {
        let mut security = Self::default();
        let schemes = root.get("components").and_then(|components| components.get("securitySchemes"));
        for entry in schemes.into_iter().flat_map(Value::entries) {
            security.declare(entry.key, entry.value, context);
        }
        security.asked = security.required(root, context).unwrap_or_default();
        security
    }

    fn declare<'t>(&mut self, name: &str, scheme: Value<'t>, context: &mut Context<'t>) {
        self.declared.insert(name.to_owned());
        let Some(scheme) = context.resolve(scheme) else { return };
        let text = |field: &str| scheme.get(field).and_then(Value::text);
        let found = match credentials(text("type"), text("scheme")) {
            Some(found) => found,
            None => {
                let (Some("apiKey"), Some(place), Some(key)) = (text("type"), text("in"), text("name"))
                else {
                    return;
                };
                let Ok(found) = key_place(&format!("{place}:{key}")) else {
                    let message = format!(
                        "an API key cannot stand in `{}: {}`",
                        tollgate_http::text::shown(place),
                        tollgate_http::text::shown(key)
                    );
                    let help = "`in` is one of header, query and cookie, and `name` is its name";
                    let finding = Diagnostic::error("security-scheme", scheme.place(), message);
                    context.findings.push(finding.help(help));
                    return;
                };
                found
            }
        };
        self.places.insert(name.to_owned(), found);
        self.names.push(name.to_owned());
    }

    /// The schemes that a map's `security` asks for. One that nobody declares is an error: its key would never be found.
    pub(crate) fn required<'t>(
        &mut self,
        map: Value<'t>,
        context: &mut Context<'t>,
    ) -> Option<SecurityRequirement> {
        let mut asked = Vec::new();
        for alternative in map.get("security")?.items() {
            let mut schemes = Vec::new();
            for entry in alternative.entries() {
                self.check(entry, context);
                schemes.push(entry.key.to_owned());
            }
            asked.push(schemes);
        }
        Some(asked)
    }

    fn check<'t>(&mut self, asked: Entry<'t>, context: &mut Context<'t>) {
        if self.declared.contains(asked.key) {
            return;
        }
        // Since OpenAPI 3.2 a scheme can be named by where it stands.
        if asked.key.contains(['#', '/']) {
            if let Some(scheme) = context.follow(asked.value, asked.key, asked.key_at) {
                self.declare(asked.key, scheme, context);
            }
            return;
        }
        let shown = tollgate_http::text::shown(asked.key);
        let finding = Diagnostic::error(
            "unknown-scheme",
            asked.key_at,
            format!("there is no security scheme `{shown}`"),
        );
        let known = self.declared.iter().map(String::as_str);
        context.findings.push(finding.help(suggest::did_you_mean(asked.key, known).unwrap_or_else(|| {
            "declare it under `components.securitySchemes`: it does not say where the key is sent".to_owned()
        })));
    }

    /// Where the API key of an operation stands: where its own schemes say, else where any scheme of the document says. The
    /// first place of a request's that has a key counts.
    pub(crate) fn places(&self, own: Option<&SecurityRequirement>) -> Vec<KeyPlace> {
        without_doubles(self.all_places(own))
    }

    /// Whether credentials are asked for, and none of them yields a key.
    pub(crate) fn is_keyless(&self, own: Option<&SecurityRequirement>) -> bool {
        let asked = own.unwrap_or(&self.asked);
        let mut schemes = asked.iter().flatten().peekable();
        schemes.peek().is_some() && !schemes.any(|name| self.places.contains_key(name))
    }

    fn all_places(&self, own: Option<&SecurityRequirement>) -> Vec<KeyPlace> {
        let asked = own.unwrap_or(&self.asked);
        let mut places: Vec<KeyPlace> = Vec::new();
        let mut add = |place: KeyPlace| {
            if !places.contains(&place) {
                places.push(place);
            }
        };
        for alternative in asked {
            let known: Vec<_> =
                alternative.iter().filter_map(|name| self.places.get(name)).cloned().collect();
            match known.len() {
                0 => {}
                1 => known.into_iter().for_each(&mut add),
                _ => {
                    let mut known = without_doubles(known);
                    known.dedup();
                    add(if known.len() == 1 { known.remove(0) } else { KeyPlace::Together(known) });
                }
            }
        }
        if places.is_empty() {
            let all = self.names.iter().filter_map(|name| self.places.get(name));
            for place in all.cloned() {
                if !places.contains(&place) {
                    places.push(place);
                }
            }
        }
        places
    }
}

/// A place that reads the whole `Authorization` header reads its bearer token and its user name, too: the same key would be
/// found twice.
pub(crate) fn without_doubles(mut places: Vec<KeyPlace>) -> Vec<KeyPlace> {
    if places.contains(&KeyPlace::Header(AUTHORIZATION)) {
        places.retain(|place| !matches!(place, KeyPlace::Bearer | KeyPlace::Basic));
    }
    places
}
