//! A real Prometheus scrapes the metrics, and is queried for what it read.

use std::process::{Child, Command, Stdio};

use serde_json::Value;
use tokio::time::sleep;
use tollgate_engine::PolicyLimits;
use tollgate_testing::folder::Folder;
use tollgate_tower::ResponseConfig;

use super::*;

const POLICY: &str = "
tollgate: 1
routes:
  - path: /reports
    rate_limit: { name: reports, algorithm: fixed_window, limit: 5, window: 10 s }
";

/// A Prometheus that ends, with its folder, when it is dropped.
struct Prometheus {
    process: Child,
    // Held: it goes after the process.
    _folder: Folder,
    address: SocketAddr,
}

impl Prometheus {
    async fn scraping(target: SocketAddr) -> Self {
        let folder = Folder::new("prometheus");
        let config = format!(
            "scrape_configs:\n- job_name: tollgate\n  scrape_interval: 200ms\n  scrape_timeout: 200ms\n  \
             static_configs: [{{ targets: ['{target}'] }}]\n"
        );
        folder.put("prometheus.yml", config.as_bytes());
        // It cannot be given a socket; the port is free now, and taken in a moment.
        let address = TcpListener::bind("127.0.0.1:0").await.unwrap().local_addr().unwrap();
        let mut command = Command::new("prometheus");
        command.current_dir(folder.at()).args(["--config.file=prometheus.yml", "--storage.tsdb.path=data"]);
        command.arg(format!("--web.listen-address={address}")).arg("--log.level=error");
        let quiet = command.stdout(Stdio::null()).stderr(Stdio::null());
        let process = quiet.spawn().expect("install the package `prometheus`");
        Self { process, _folder: folder, address }
    }

    /// The value of a query with one result, if there is one by now.
    async fn ask(&self, query: &str) -> Option<String> {
        let mut stream = TcpStream::connect(self.address).await.ok()?;
        // Version 1.0 has no chunks: the body is what is left when it closes.
        let request = format!("GET /api/v1/query?query={query} HTTP/1.0\r\n\r\n");
        stream.write_all(request.as_bytes()).await.ok()?;
        let mut answer = String::new();
        stream.read_to_string(&mut answer).await.ok()?;
        let (_, body) = answer.split_once("\r\n\r\n")?;
        let body: Value = serde_json::from_str(body).ok()?;
        Some(body["data"]["result"][0]["value"][1].as_str()?.to_owned())
    }

    /// Waits until a query has this value.
    async fn until(&self, query: &str, value: &str) {
        let asking = async {
            while self.ask(query).await.as_deref() != Some(value) {
                // Another program scrapes at its own pace, and nothing tells when it has.
                sleep(Duration::from_millis(50)).await;
            }
        };
        assert!(timeout(PATIENCE, asking).await.is_ok(), "{query}: {:?}", self.ask(query).await);
    }
}

impl Drop for Prometheus {
    fn drop(&mut self) {
        // It may have ended by itself.
        let _ = self.process.kill();
        let _ = self.process.wait();
    }
}

#[tokio::test]
async fn a_real_prometheus_reads_the_page() {
    let metrics = Metrics::new();
    let limits =
        PolicyLimits::new(Limiter::new().unwrap(), Arc::new(Policy::parse("t.yaml", POLICY).unwrap()), None);
    let in_force = ActivePolicy::new(limits, ResponseConfig::default(), &metrics, 1);
    (0..3).for_each(|_| in_force.meters[0].refused.inc());
    let worker = metrics.worker();
    (0..5).for_each(|_| worker.decision.record(1_000));
    let running = running(Arc::clone(&metrics)).await;
    let prometheus = Prometheus::scraping(running.address).await;
    prometheus.until("up", "1").await;
    prometheus
        .until(
            "tollgate_decisions_total%7Bpolicy=%22t.yaml%22,limit=%22reports%22,outcome=%22refused%22%7D",
            "3",
        )
        .await;
    prometheus.until("tollgate_decision_seconds_bucket%7Ble=%220.000001024%22%7D", "5").await;
    prometheus.until("tollgate_decision_seconds_bucket%7Ble=%220.000000512%22%7D", "0").await;
    in_force.meters[0].refused.inc();
    prometheus.until("sum(tollgate_decisions_total%7Boutcome=%22refused%22%7D)", "4").await;
}
