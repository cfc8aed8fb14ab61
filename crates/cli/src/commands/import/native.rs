//! A policy in Tollgate's own format, as far as imports need it, and its text.

use std::fmt::Write;

/// What came of a file.
#[derive(Debug, Default)]
pub(super) struct Imported {
    /// Limits of every request.
    pub(super) root: Vec<NativeLimit>,
    /// Limits of some requests.
    pub(super) routes: Vec<NativeRoute>,
    /// What could not be converted.
    pub(super) lost: Vec<String>,
    /// What was assumed.
    pub(super) assumed: Vec<String>,
}

/// One limit.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(super) struct NativeLimit {
    /// Its name, as YAML.
    pub(super) name: String,
    /// Its other fields in order, with their values as YAML.
    pub(super) fields: Vec<(&'static str, String)>,
    /// The headers that a request must have.
    pub(super) when: Vec<(String, String)>,
}

/// Requests that have limits of their own.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub(super) struct NativeRoute {
    pub(super) path: String,
    pub(super) methods: Vec<String>,
    pub(super) host: Option<String>,
    /// Whether the limits of every request apply, too.
    pub(super) inherits: bool,
    pub(super) limits: Vec<NativeLimit>,
}

impl NativeLimit {
    /// Its fields but for its name.
    fn definition(&self) -> String {
        let fields: Vec<_> = self.fields.iter().map(|(name, value)| format!("{name}: {value}")).collect();
        fields.join(", ")
    }

    /// How a list has it: by its name, if it depends on headers.
    fn in_list(&self) -> String {
        let name = &self.name;
        if self.when.is_empty() {
            return format!("{{ name: {name}, {} }}", self.definition());
        }
        let headers = self.when.iter().map(|(name, value)| format!("{}: {}", quoted(name), quoted(value)));
        let headers: Vec<_> = headers.collect();
        format!("{{ use: {name}, when: {{ header: {{ {} }} }} }}", headers.join(", "))
    }
}

impl Imported {
    /// Adds limits to the route that matches the same requests, or adds the route.
    pub(super) fn add(&mut self, route: NativeRoute) {
        let is_same = |known: &&mut NativeRoute| {
            (&known.path, &known.methods, &known.host) == (&route.path, &route.methods, &route.host)
        };
        match self.routes.iter_mut().find(is_same) {
            Some(known) => known.limits.extend(route.limits),
            None => self.routes.push(route),
        }
    }

    /// The policy.
    pub(super) fn text(&self, file: &str) -> String {
        let mut lines = vec![format!("# Imported from {file}.")];
        for (what, notes) in [("Not converted", &self.lost), ("To check", &self.assumed)] {
            lines.extend(notes.iter().map(|note| format!("# {what}: {note}")));
        }
        // Requests without a route pass, as they did before.
        lines.extend(["tollgate: 1".into(), "unmatched: forward".into()]);
        let all = self.root.iter().chain(self.routes.iter().flat_map(|route| &route.limits));
        let mut named: Vec<&NativeLimit> = all.filter(|limit| !limit.when.is_empty()).collect();
        named.sort_by(|one, other| one.name.cmp(&other.name));
        named.dedup_by(|one, other| one.name == other.name);
        lines.extend((!named.is_empty()).then(|| "limits:".to_owned()));
        lines.extend(named.iter().map(|limit| format!("  {}: {{ {} }}", limit.name, limit.definition())));
        list(&self.root, false, "", &mut lines);
        lines.push(if self.routes.is_empty() { "routes: []" } else { "routes:" }.into());
        for route in &self.routes {
            lines.push(format!("  - path: {}", quoted(&route.path)));
            if !route.methods.is_empty() {
                lines.push(format!("    methods: [{}]", route.methods.join(", ")));
            }
            lines.extend(route.host.as_ref().map(|host| format!("    host: {}", quoted(host))));
            list(&route.limits, route.inherits && !self.root.is_empty(), "    ", &mut lines);
        }
        // A note may have a line break of the file in it.
        lines.iter().map(|line| line.replace(['\n', '\r'], " ") + "\n").collect()
    }
}

fn list(limits: &[NativeLimit], inherits: bool, indent: &str, lines: &mut Vec<String>) {
    if limits.is_empty() {
        return;
    }
    lines.push(format!("{indent}rate_limit:"));
    lines.extend(inherits.then(|| format!("{indent}  - {{ use: inherited }}")));
    lines.extend(limits.iter().map(|limit| format!("{indent}  - {}", limit.in_list())));
}

/// A text as YAML, in quotes unless it is a plain word.
pub(super) fn quoted(text: &str) -> String {
    let is_plain = |byte: u8| byte.is_ascii_alphabetic() || b"_-/.".contains(&byte);
    let words = ["true", "false", "null", "yes", "no", "on", "off"];
    let starts_well = text.starts_with(|first: char| first.is_ascii_alphabetic() || first == '/');
    if starts_well && text.bytes().all(is_plain) && !words.contains(&text.to_ascii_lowercase().as_str()) {
        return text.into();
    }
    if text.chars().all(|letter| !letter.is_control()) {
        return format!("'{}'", text.replace('\'', "''"));
    }
    let mut out = String::from("\"");
    for letter in text.chars() {
        match letter {
            '"' | '\\' => out.extend(['\\', letter]),
            letter if letter.is_control() => {
                write!(out, "\\u{:04x}", u32::from(letter)).expect("a string takes what is written");
            }
            letter => out.push(letter),
        }
    }
    out.push('"');
    out
}
