//! Walks through the blocks of a configuration: zones of `http`, limits of `http`, `server` and `location`.

use super::super::native::{Imported, NativeLimit, NativeRoute, quoted};
use super::parser::Directive;
use super::zone::Zone;

/// Directives about limits that a policy has no counterpart for.
const LOST: [&str; 6] = [
    "limit_req_dry_run",
    "limit_conn_dry_run",
    "limit_rate",
    "limit_rate_after",
    "limit_req_log_level",
    "limit_conn_log_level",
];

/// Converts a configuration.
pub(super) fn convert(directives: &[Directive]) -> Imported {
    let mut walk = Walk { zones: Vec::new(), imported: Imported::default(), host: None };
    let http = directives.iter().filter(|directive| directive.name() == "http");
    let blocks: Vec<&[Directive]> = http.map(|http| http.block.as_slice()).collect();
    // A file that is included in `http` has no such block.
    let blocks = if blocks.is_empty() { vec![directives] } else { blocks };
    for block in blocks {
        walk.zones(block);
        walk.http(block);
    }
    walk.imported.assumed.sort();
    walk.imported.assumed.dedup();
    walk.imported
}

struct Walk {
    zones: Vec<Zone>,
    imported: Imported,
    host: Option<String>,
}

/// The limits of a block, which hold within it unless it has others of the kind.
#[derive(Clone, Default)]
struct Limits {
    requests: Vec<NativeLimit>,
    connections: Vec<NativeLimit>,
}

impl Limits {
    fn all(&self) -> Vec<NativeLimit> {
        self.requests.iter().chain(&self.connections).cloned().collect()
    }
}

impl Walk {
    fn lose(&mut self, directive: &Directive, why: &str) {
        self.imported.lost.push(format!("line {}: {}: {why}", directive.line, directive.words.join(" ")));
    }

    fn zones(&mut self, block: &[Directive]) {
        for directive in block {
            match directive.name() {
                "limit_req_zone" | "limit_conn_zone" => match Zone::read(directive) {
                    Ok(zone) => self.zones.push(zone),
                    Err(why) => self.lose(directive, &why),
                },
                "include" => self.lose(directive, "included files are not read: import them one by one"),
                _ => {}
            }
        }
    }

    fn http(&mut self, block: &[Directive]) {
        let limits = self.limits(block, &Limits::default());
        let servers: Vec<_> = block.iter().filter(|directive| directive.name() == "server").collect();
        let several = servers.len() > 1;
        for server in &servers {
            let names = server.block.iter().find(|directive| directive.name() == "server_name");
            let name = names.and_then(|names| names.arguments().first()).filter(|_| several);
            self.host = name.filter(|name| !name.starts_with(['_', '~'])).cloned();
            self.server(&server.block, &limits);
        }
        if servers.is_empty() {
            // A file with locations only.
            self.server(block, &Limits::default());
        }
    }

    fn server(&mut self, block: &[Directive], above: &Limits) {
        let limits = self.limits(block, above);
        match &self.host {
            None => self.imported.root = limits.all(),
            Some(host) if !limits.all().is_empty() => {
                let host = Some(host.clone());
                let path = "/{rest*}".into();
                self.imported.add(NativeRoute { path, host, limits: limits.all(), ..NativeRoute::default() });
            }
            Some(_) => {}
        }
        self.locations(block, &limits);
    }

    fn locations(&mut self, block: &[Directive], above: &Limits) {
        for location in block.iter().filter(|directive| directive.name() == "location") {
            let limits = self.limits(&location.block, above);
            let has_own =
                location.block.iter().any(|inner| matches!(inner.name(), "limit_req" | "limit_conn"));
            if has_own {
                match paths(location.arguments()) {
                    Ok(paths) => {
                        for path in paths {
                            let (host, limits) = (self.host.clone(), limits.all());
                            self.imported.add(NativeRoute { path, host, limits, ..NativeRoute::default() });
                        }
                    }
                    Err(why) => self.lose(location, &why),
                }
            }
            self.locations(&location.block, &limits);
        }
    }

    /// The limits of a block. Those of one kind replace all of that kind above.
    fn limits(&mut self, block: &[Directive], above: &Limits) -> Limits {
        let mut limits = above.clone();
        let (mut requests, mut connections) = (Vec::new(), Vec::new());
        let mut has = (false, false);
        for directive in block {
            let converted = match directive.name() {
                "limit_req" => {
                    has.0 = true;
                    self.requests(directive).map(|limit| requests.push(limit))
                }
                "limit_conn" => {
                    has.1 = true;
                    self.connections(directive).map(|limit| connections.push(limit))
                }
                "limit_req_status" | "limit_conn_status" => {
                    let status = directive.arguments().join(" ");
                    let note = format!("refusals have the status 429, and not {status}");
                    self.imported.assumed.extend((status != "429").then_some(note));
                    Ok(())
                }
                "if" if block_has_limits(&directive.block) => {
                    Err("limits within `if` have no counterpart".into())
                }
                name if LOST.contains(&name) => Err("it has no counterpart".into()),
                _ => Ok(()),
            };
            if let Err(why) = converted {
                self.lose(directive, &why);
            }
        }
        if has.0 {
            limits.requests = requests;
        }
        if has.1 {
            limits.connections = connections;
        }
        limits
    }

    fn zone(&self, name: &str) -> Result<&Zone, String> {
        let zone = self.zones.iter().find(|zone| zone.name == name);
        zone.ok_or_else(|| format!("the zone `{name}` is not defined here, or could not be converted"))
    }

    /// nginx lets `burst` requests wait, those beyond `delay` for their turn, and with `nodelay` none.
    fn requests(&mut self, directive: &Directive) -> Result<NativeLimit, String> {
        let (mut zone, mut burst, mut at_once) = (None, 0_u64, Some(0_u64));
        for argument in directive.arguments() {
            let number = |text: &str| text.parse().map_err(|_| format!("`{argument}` is no number"));
            match argument.split_once('=') {
                Some(("zone", name)) => zone = Some(self.zone(name)?),
                Some(("burst", text)) => burst = number(text)?,
                Some(("delay", text)) => at_once = Some(number(text)?),
                None if argument == "nodelay" => at_once = None,
                _ => return Err(format!("`{argument}` has no counterpart")),
            }
        }
        let zone = zone.ok_or("`zone=` is missing")?;
        let (count, unit) = zone.rate.ok_or("the zone has no rate")?;
        let at_once = at_once.unwrap_or(burst).min(burst);
        // One request, and those that do not wait.
        let capacity = at_once.saturating_add(1);
        let waiting = burst.saturating_sub(at_once);
        let name = match (burst, waiting) {
            (0, _) => zone.name.clone(),
            (_, 0) => format!("{} burst {burst} nodelay", zone.name),
            _ => format!("{} burst {burst} delay {at_once}", zone.name),
        };
        let mut fields = vec![
            ("algorithm", "gcra".into()),
            ("capacity", capacity.to_string()),
            ("refill_rate", format!("{count} per {unit}")),
            ("consumer_key", quoted(&zone.key)),
        ];
        if waiting > 0 {
            let seconds = if unit == "minute" { 60_000_u64 } else { 1_000 };
            fields.push(("wait", format!("{}ms", waiting.saturating_mul(seconds).div_ceil(count))));
        }
        let shared = "locations that use one zone with different bursts have budgets of their own";
        self.imported.assumed.push(shared.into());
        Ok(NativeLimit { name: quoted(&name), fields, when: Vec::new() })
    }

    fn connections(&mut self, directive: &Directive) -> Result<NativeLimit, String> {
        let [zone, count] = directive.arguments() else { return Err("it has a zone and a number".into()) };
        let count: u64 = count.parse().map_err(|_| format!("`{count}` is no number"))?;
        let zone = self.zone(zone)?;
        let name = quoted(&format!("{} connections", zone.name));
        let fields = vec![
            ("algorithm", "concurrency".into()),
            ("limit", count.to_string()),
            ("consumer_key", quoted(&zone.key)),
            ("scope", "local".into()),
        ];
        self.imported.assumed.push("`limit_conn` becomes a limit on requests in progress".into());
        Ok(NativeLimit { name, fields, when: Vec::new() })
    }
}

fn block_has_limits(block: &[Directive]) -> bool {
    block.iter().any(|inner| matches!(inner.name(), "limit_req" | "limit_conn"))
}

/// The templates of what a location matches.
fn paths(arguments: &[String]) -> Result<Vec<String>, String> {
    let template = |path: &str| {
        let is_plain = path.starts_with('/') && !path.contains(['{', '}', '*', '$']);
        if is_plain { Ok(path.to_owned()) } else { Err(format!("`{path}` has no template")) }
    };
    match arguments {
        [sign, path] if sign == "=" => Ok(vec![template(path)?]),
        [path] => prefix(&template(path)?),
        [sign, path] if sign == "^~" => prefix(&template(path)?),
        [sign, ..] if sign.starts_with('~') => {
            Err("regular expressions have no template: write routes".into())
        }
        _ => Err("this location has no template".into()),
    }
}

fn prefix(path: &str) -> Result<Vec<String>, String> {
    let start = path.trim_end_matches('/');
    let below = format!("{start}/{{rest*}}");
    Ok(if start.is_empty() { vec!["/".into(), below] } else { vec![start.into(), below] })
}
