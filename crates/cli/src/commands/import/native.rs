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

/// One limit: its fields in order, with their values as YAML.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(super) struct NativeLimit(pub(super) Vec<(&'static str, String)>);

/// Requests that have limits of their own.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub(super) struct NativeRoute {
    pub(super) path: String,
    pub(super) methods: Vec<String>,
    pub(super) host: Option<String>,
    pub(super) headers: Vec<(String, String)>,
    /// Whether the limits of every request apply, too.
    pub(super) inherits: bool,
    pub(super) limits: Vec<NativeLimit>,
}

impl Imported {
    /// Adds a limit to the route that matches the same requests, or adds the route.
    pub(super) fn add(&mut self, route: NativeRoute) {
        let is_same = |known: &&mut NativeRoute| {
            (&known.path, &known.methods, &known.host, &known.headers)
                == (&route.path, &route.methods, &route.host, &route.headers)
        };
        match self.routes.iter_mut().find(is_same) {
            Some(known) => known.limits.extend(route.limits),
            None => self.routes.push(route),
        }
    }

    /// The policy.
    pub(super) fn text(&self, file: &str) -> String {
        let mut out = String::new();
        let mut line = |text: &str| {
            out.push_str(text);
            out.push('\n');
        };
        let one_line = |text: &str| text.replace(['\n', '\r'], " ");
        line(&format!("# Imported from {}.", one_line(file)));
        for (what, notes) in [("Not converted", &self.lost), ("To check", &self.assumed)] {
            for note in notes {
                line(&format!("# {what}: {}", one_line(note)));
            }
        }
        line("tollgate: 1");
        // Requests without a route pass, as they did before.
        line("unmatched: forward");
        list("rate_limit", &self.root, "", &mut line);
        if self.routes.is_empty() {
            line("routes: []");
        } else {
            line("routes:");
        }
        for route in &self.routes {
            line(&format!("  - path: {}", quoted(&route.path)));
            if !route.methods.is_empty() {
                line(&format!("    methods: [{}]", route.methods.join(", ")));
            }
            if let Some(host) = &route.host {
                line(&format!("    host: {}", quoted(host)));
            }
            if !route.headers.is_empty() {
                let headers =
                    route.headers.iter().map(|(name, value)| format!("{}: {}", quoted(name), quoted(value)));
                line(&format!("    headers: {{ {} }}", headers.collect::<Vec<_>>().join(", ")));
            }
            let inherited = NativeLimit(vec![("use", "inherited".into())]);
            let mut limits = Vec::new();
            limits.extend((route.inherits && !self.root.is_empty()).then_some(inherited));
            limits.extend(route.limits.iter().cloned());
            if limits.is_empty() {
                line("    rate_limit: none");
            } else {
                list("rate_limit", &limits, "    ", &mut line);
            }
        }
        out
    }
}

fn list(name: &str, limits: &[NativeLimit], indent: &str, line: &mut impl FnMut(&str)) {
    if limits.is_empty() {
        return;
    }
    line(&format!("{indent}{name}:"));
    for NativeLimit(fields) in limits {
        let fields: Vec<_> = fields.iter().map(|(name, value)| format!("{name}: {value}")).collect();
        line(&format!("{indent}  - {{ {} }}", fields.join(", ")));
    }
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
