//! A partition: a server in a network of its own, and a wire to it on which packets get lost without a word. Nothing is mocked.

use std::process::Command;
use std::sync::atomic::{AtomicU32, Ordering};

use tokio::time::Instant;
use tollgate_redis::{Address, Cause};

use crate::figures::{Figures, Play, Stage};
use crate::server::Server;

/// A network namespace with one wire into it. Dropped, both are gone.
pub(crate) struct Network {
    /// The namespace, and its end of the wire; ours has another last letter.
    name: String,
    /// Four addresses begin here: the second is ours, the third the server's.
    first: u32,
}

/// The port of the server, which is alone in its network.
const PORT: &str = "6379";

/// Networks for tests of networks (RFC 2544): nobody else is there.
const FIRST: u32 = 0xC612_0000;
const NETWORKS: u32 = 1 << 15;

static COUNT: AtomicU32 = AtomicU32::new(0);

impl Network {
    /// A network, and a wire on which everything goes well.
    pub(crate) fn new() -> Self {
        let (pid, number) = (std::process::id(), COUNT.fetch_add(1, Ordering::Relaxed));
        let place = (pid.wrapping_mul(8) + number) % NETWORKS;
        let network = Self { name: format!("tg{pid}n{number}"), first: FIRST + 4 * place };
        let (name, ours) = (&network.name, network.ours());
        let [our_address, address] = [1, 2].map(|host| network.address(host));
        needed(&format!("ip netns add {name}"));
        needed(&format!("ip link add {ours} type veth peer name {name} netns {name}"));
        needed(&format!("ip address add {our_address}/30 dev {ours}"));
        needed(&format!("ip -n {name} address add {address}/30 dev {name}"));
        needed(&format!("ip -n {name} link set {name} up"));
        needed(&format!("ip link set {ours} up"));
        network
    }

    /// What the namespace is called, and how the names of both ends of the wire begin.
    pub(crate) fn name(&self) -> &str {
        &self.name
    }

    fn ours(&self) -> String {
        format!("{}x", self.name)
    }

    fn address(&self, host: u32) -> String {
        std::net::Ipv4Addr::from_bits(self.first + host).to_string()
    }

    /// A server inside. Its socket is in a directory, which no network hides: an operator still reaches it.
    async fn server(&self, play: &Play) -> Server {
        let mut server = Server::of(play.make, &["--protected-mode", "no"]);
        server.add(["--port", PORT, "--bind", &self.address(2)].map(ToOwned::to_owned));
        server.run_within(["ip", "netns", "exec", &self.name].map(ToOwned::to_owned));
        server.start().await;
        server
    }

    fn to_server(&self) -> Address {
        format!("redis://{}:{PORT}", self.address(2)).parse().expect("an address")
    }

    /// Packets get lost, in both directions. The wire stays up: nobody is told.
    fn part(&self) {
        needed(&format!("tc qdisc add dev {} root blackhole", self.ours()));
        needed(&format!("tc -n {0} qdisc add dev {0} root blackhole", self.name));
    }

    /// Packets arrive again.
    fn heal(&self) {
        needed(&format!("tc qdisc del dev {} root", self.ours()));
        needed(&format!("tc -n {0} qdisc del dev {0} root", self.name));
    }
}

impl Drop for Network {
    fn drop(&mut self) {
        // The other end of the wire goes with ours. What was never made cannot be removed.
        drop(said(&format!("ip link del {}", self.ours())));
        drop(said(&format!("ip netns del {}", self.name)));
    }
}

/// Runs a command that the test cannot do without.
fn needed(line: &str) {
    if let Err(why) = said(line) {
        panic!(
            "a partition needs network namespaces: run the test as root (CAP_NET_ADMIN and CAP_SYS_ADMIN), with \
             iproute2 installed. `{line}` failed: {why}"
        );
    }
}

fn said(line: &str) -> Result<(), String> {
    let mut words = line.split(' ');
    let output = Command::new(words.next().unwrap_or_default()).args(words).output();
    let output = output.map_err(|error| error.to_string())?;
    if output.status.success() { Ok(()) } else { Err(String::from_utf8_lossy(&output.stderr).into_owned()) }
}

/// Packets get lost in both directions, and then they do not any more. By then the old connection waits long before it
/// tries again: the link must have left it.
pub(crate) async fn parted(play: &Play) -> Figures {
    let network = Network::new();
    let server = network.server(play).await;
    let stage = Stage::set_at(network.to_server(), server, play).await;
    let began = Instant::now();
    network.part();
    stage.load.failed(began, &[Cause::Open, Cause::ConnectTimeout], 200).await;
    stage.hold(began, play).await;
    let ended = Instant::now();
    network.heal();
    let store = stage.store.clone();
    let figures = stage.figures("partition", began, ended).await;
    assert!(store.health().connections > 1, "the old connection was kept: {figures}");
    figures
}
