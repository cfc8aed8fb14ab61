//! `INFO`: what clients and operators look for, in the form of Redis.

use std::fmt::Write as _;

use super::arguments::Arguments;
use super::connection_commands::REDIS_VERSION;
use super::dispatch::Done;
use super::session::Session;

impl Session {
    pub(super) fn info(&mut self, mut arguments: Arguments<'_>) -> Done {
        let mut asked = Vec::new();
        while let Some(section) = arguments.next() {
            asked.push(section.to_ascii_lowercase());
        }
        let all = asked.is_empty()
            || asked.iter().any(|section| matches!(section.as_slice(), b"all" | b"default" | b"everything"));
        let mut text = String::new();
        for (name, lines) in self.sections() {
            let is_asked = asked.iter().any(|section| section == name.to_ascii_lowercase().as_bytes());
            if all || is_asked {
                let separator = if text.is_empty() { "" } else { "\r\n" };
                // Writing to a string cannot fail.
                let _ = write!(text, "{separator}# {name}\r\n{lines}");
            }
        }
        self.reply().text(&text);
        Ok(())
    }

    fn sections(&self) -> [(&'static str, String); 5] {
        let (metrics, endpoint, limiter) =
            (&self.shared.metrics, &self.shared.endpoint, &self.shared.limiter);
        let (stats, version) = (limiter.stats(), env!("CARGO_PKG_VERSION"));
        let store = match limiter.store_health() {
            None => "memory",
            Some(_) => "shared",
        };
        [
            (
                "Server",
                format!(
                    "redis_version:{REDIS_VERSION}\r\nredis_mode:standalone\r\ntollgate_version:{version}\r\nprocess_id:{}\r\n",
                    std::process::id()
                ),
            ),
            ("Clients", format!("connected_clients:{}\r\n", endpoint.connections_open.get())),
            ("Persistence", "loading:0\r\n".into()),
            (
                "Stats",
                format!(
                    "total_connections_received:{}\r\ntotal_commands_processed:{}\r\ninvalid:{}\r\ndenied:{}\r\n\
                     granted:{}\r\nrefused:{}\r\nundetermined:{}\r\n",
                    endpoint.connections_total.get(),
                    metrics.commands(),
                    endpoint.invalid.get(),
                    endpoint.denied.get(),
                    endpoint.granted.get(),
                    endpoint.refused.get(),
                    endpoint.undetermined.get()
                ),
            ),
            (
                "Tollgate",
                format!(
                    "store:{store}\r\nstore_keys:{}\r\nstore_bytes:{}\r\nstore_max_bytes:{}\r\n",
                    stats.slots_used, stats.bytes, stats.bytes_max
                ),
            ),
        ]
    }
}
