//! A real cluster of Redis or Valkey servers on this host, and real Sentinels, with the commands that tests give them.

use std::fs;
use std::io::{BufRead, BufReader, Write};
use std::net::{TcpListener, TcpStream};
use std::time::{Duration, Instant};

use crate::make::Make;
use crate::patience::PATIENCE;
use crate::server::{Server, free_port};

/// A server on a port, which can be given commands.
#[derive(Debug)]
pub struct Node {
    /// The server.
    pub server: Server,
    /// Its port on 127.0.0.1.
    pub port: u16,
}

/// The servers of a cluster. The first ones are primaries.
#[derive(Debug)]
pub struct Cluster {
    /// Primaries, then their replicas, in the same order.
    pub nodes: Vec<Node>,
}

/// A primary, a replica, and Sentinels that monitor them as `main`.
#[derive(Debug)]
pub struct Monitored {
    /// The servers with data: first the one that was the primary in the beginning.
    pub nodes: Vec<Node>,
    /// The Sentinels.
    pub sentinels: Vec<Node>,
}

/// How long a node may be silent before others take it for dead.
const NODE_TIMEOUT: &str = "1000";

impl Node {
    /// A server with these settings on a free port.
    ///
    /// # Errors
    /// As [`Server::spawn`].
    pub fn start(make: Make, settings: &[&str]) -> Result<Self, String> {
        let port = port();
        let mut server = Server::new(make, &["--port", &port.to_string(), "--repl-diskless-sync-delay", "0"]);
        server.add(settings.iter().map(|setting| (*setting).to_owned()));
        server.spawn()?;
        server.ready_on(port)?;
        Ok(Self { server, port })
    }

    /// Gives it a command, and returns its reply: the lines of a bulk string, or the items of a list, one per line.
    ///
    /// # Errors
    /// If it cannot be reached, or replies with an error.
    pub fn command(&self, words: &[&str]) -> Result<String, String> {
        let io = |error: std::io::Error| format!("{words:?} on port {}: {error}", self.port);
        let mut stream = TcpStream::connect(("127.0.0.1", self.port)).map_err(io)?;
        stream.set_read_timeout(Some(Duration::from_secs(5))).map_err(io)?;
        let mut bytes = format!("*{}\r\n", words.len());
        words.iter().for_each(|word| bytes.push_str(&format!("${}\r\n{word}\r\n", word.len())));
        stream.write_all(bytes.as_bytes()).map_err(io)?;
        reply(&mut BufReader::new(stream)).map_err(|why| format!("{words:?} on port {}: {why}", self.port))
    }

    /// Whether a reply has this line or part of a line by now.
    fn says(&self, words: &[&str], part: &str) -> bool {
        self.command(words).is_ok_and(|reply| reply.contains(part))
    }
}

impl Cluster {
    /// A cluster that serves all slots, with so many replicas of each primary.
    ///
    /// # Errors
    /// If a server does not start, or the cluster does not form.
    pub fn start(make: Make, primaries: usize, replicas: usize) -> Result<Self, String> {
        let settings = ["--cluster-enabled", "yes", "--cluster-node-timeout", NODE_TIMEOUT];
        let count = primaries * (1 + replicas);
        let nodes: Result<Vec<Node>, String> = (0..count).map(|_| Node::start(make, &settings)).collect();
        let cluster = Self { nodes: nodes? };
        for (at, node) in cluster.nodes.iter().enumerate() {
            node.command(&["CLUSTER", "SET-CONFIG-EPOCH", &(at + 1).to_string()])?;
            if at < primaries {
                let slots = (16_384 * at / primaries)..(16_384 * (at + 1) / primaries);
                let slots: Vec<String> = slots.map(|slot| slot.to_string()).collect();
                let words = ["CLUSTER", "ADDSLOTS"].into_iter().chain(slots.iter().map(String::as_str));
                node.command(&words.collect::<Vec<_>>())?;
            }
            node.command(&["CLUSTER", "MEET", "127.0.0.1", &cluster.nodes[0].port.to_string()])?;
        }
        let known = format!("cluster_known_nodes:{count}");
        cluster.wait(|node| node.says(&["CLUSTER", "INFO"], &known))?;
        for (at, node) in cluster.nodes.iter().enumerate().skip(primaries) {
            let id = cluster.nodes[at % primaries].command(&["CLUSTER", "MYID"])?;
            until(|| node.command(&["CLUSTER", "REPLICATE", id.trim()]).is_ok())?;
            until(|| node.says(&["INFO", "replication"], "master_link_status:up"))?;
        }
        cluster.wait(|node| node.says(&["CLUSTER", "INFO"], "cluster_state:ok"))?;
        // Every node has to know which others are replicas, or it sends clients to them.
        let slaves = count - primaries;
        cluster.wait(|node| {
            node.command(&["CLUSTER", "NODES"]).is_ok_and(|nodes| nodes.matches("slave").count() >= slaves)
        })?;
        Ok(cluster)
    }

    /// The hosts of all nodes, as an address lists them.
    #[must_use]
    pub fn hosts(&self) -> String {
        hosts(&self.nodes)
    }

    /// Moves a slot with all its keys from one node to another. `during` runs when the keys have been moved and the slot has not.
    ///
    /// # Errors
    /// If a command fails.
    pub fn move_slot(&self, slot: u16, from: usize, to: usize, during: impl FnOnce()) -> Result<(), String> {
        let slot = slot.to_string();
        let id = |at: usize| self.nodes[at].command(&["CLUSTER", "MYID"]).map(|id| id.trim().to_owned());
        let (from_id, to_id) = (id(from)?, id(to)?);
        self.nodes[to].command(&["CLUSTER", "SETSLOT", &slot, "IMPORTING", &from_id])?;
        self.nodes[from].command(&["CLUSTER", "SETSLOT", &slot, "MIGRATING", &to_id])?;
        let port = self.nodes[to].port.to_string();
        loop {
            let keys = self.nodes[from].command(&["CLUSTER", "GETKEYSINSLOT", &slot, "100"])?;
            if keys.trim().is_empty() {
                break;
            }
            for key in keys.lines() {
                self.nodes[from].command(&["MIGRATE", "127.0.0.1", &port, key, "0", "5000"])?;
            }
        }
        during();
        for at in [to, from] {
            self.nodes[at].command(&["CLUSTER", "SETSLOT", &slot, "NODE", &to_id])?;
        }
        Ok(())
    }

    /// Waits until something is so on all nodes.
    ///
    /// # Errors
    /// If it never is.
    pub fn wait(&self, so: impl Fn(&Node) -> bool) -> Result<(), String> {
        until(|| self.nodes.iter().all(&so))
    }
}

impl Monitored {
    /// A primary with one replica, and three Sentinels.
    ///
    /// # Errors
    /// If a server does not start, or the Sentinels do not agree.
    pub fn start(make: Make) -> Result<Self, String> {
        let primary = Node::start(make, &[])?;
        let port = primary.port.to_string();
        let replica = Node::start(make, &["--replicaof", "127.0.0.1", &port])?;
        until(|| replica.says(&["INFO", "replication"], "master_link_status:up"))?;
        let sentinels: Result<Vec<Node>, String> = (0..3).map(|_| sentinel(make, primary.port)).collect();
        let monitored = Self { nodes: vec![primary, replica], sentinels: sentinels? };
        until(|| {
            let agrees = |sentinel: &Node| {
                sentinel.command(&["SENTINEL", "MASTER", "main"]).is_ok_and(|said| {
                    let fields: Vec<&str> = said.lines().collect();
                    let is = |name, value| fields.windows(2).any(|pair| pair == [name, value]);
                    is("num-other-sentinels", "2") && is("num-slaves", "1")
                })
            };
            monitored.sentinels.iter().all(agrees)
        })?;
        Ok(monitored)
    }

    /// The hosts of the Sentinels, as an address lists them.
    #[must_use]
    pub fn hosts(&self) -> String {
        hosts(&self.sentinels)
    }
}

fn sentinel(make: Make, primary: u16) -> Result<Node, String> {
    let port = port();
    let settings = format!(
        "port {port}\nsentinel monitor main 127.0.0.1 {primary} 2\nsentinel down-after-milliseconds main 500\n\
         sentinel failover-timeout main 2000\n"
    );
    let mut failed = None;
    let mut server = Server::custom(make, |command| {
        let folder = command.get_current_dir().map(std::path::Path::to_path_buf).unwrap_or_default();
        let file = folder.join("sentinel.conf");
        failed = fs::write(&file, settings).err();
        command.arg(file).arg("--sentinel");
    })?;
    if let Some(error) = failed {
        return Err(error.to_string());
    }
    server.ready_on(port)?;
    Ok(Node { server, port })
}

fn hosts(nodes: &[Node]) -> String {
    let hosts: Vec<String> = nodes.iter().map(|node| format!("127.0.0.1:{}", node.port)).collect();
    hosts.join(",")
}

/// A free port whose bus port, 10,000 higher, is free, too.
fn port() -> u16 {
    loop {
        let port = free_port("127.0.0.1");
        if port < 55_000 && TcpListener::bind(("127.0.0.1", port + 10_000)).is_ok() {
            return port;
        }
    }
}

/// Waits until something is so.
#[expect(clippy::disallowed_methods, reason = "patience has an end")]
fn until(mut so: impl FnMut() -> bool) -> Result<(), String> {
    let end = Instant::now() + PATIENCE;
    while !so() {
        if Instant::now() > end {
            return Err(format!("the servers did not agree within {PATIENCE:?}"));
        }
        std::thread::yield_now();
    }
    Ok(())
}

/// One reply, flattened to lines.
fn reply(reader: &mut impl BufRead) -> Result<String, String> {
    let io = |error: std::io::Error| error.to_string();
    let mut line = String::new();
    reader.read_line(&mut line).map_err(io)?;
    let (sign, rest) = line.trim_end().split_at_checked(1).ok_or("no reply")?;
    match sign {
        "+" | ":" => Ok(rest.to_owned()),
        "-" => Err(rest.to_owned()),
        "$" => {
            let Ok(length) = rest.parse::<usize>() else { return Ok(String::new()) };
            let mut bytes = vec![0; length + 2];
            reader.read_exact(&mut bytes).map_err(io)?;
            bytes.truncate(length);
            String::from_utf8(bytes).map_err(|error| error.to_string())
        }
        "*" => {
            let count = rest.parse::<usize>().unwrap_or(0);
            let items: Result<Vec<String>, String> = (0..count).map(|_| reply(reader)).collect();
            Ok(items?.join("\n"))
        }
        _ => Err(format!("not a reply: {line}")),
    }
}
