//! What a gateway says when it has started, word by word. Which settings are in force is `--print-config`'s.

use std::io;

use tollgate_cli::serve::{banner, start};
use tollgate_cli::settings::{Protocol, Settings, Upstream, UpstreamLimit};

use crate::support::folder;

/// A limit of each kind that is said in another way.
const POLICY: &str = "
tollgate: 1
routes:
  - path: /reports
    rate_limit:
      - { name: reports, algorithm: token_bucket, capacity: 5, refill_rate: 0.1, consumer_key: api_key }
      - { name: tried, algorithm: fixed_window, limit: 100, window: 1 h, consumer_key: everyone, mode: shadow }
  - path: /slow
    rate_limit:
      - { name: at once, algorithm: concurrency, limit: 3 }
      - { name: in turn, algorithm: leaky_bucket_queue, capacity: 10, refill_rate: 2 }
  - path: /free
    rate_limit: none
";

const SAID: &str = "\
tollgate VERSION on http://ADDRESS
  forwards to  http://127.0.0.1:9
  policy       FOLDER/limits.yaml: 3 operations, 2 limited; anything else is 404
    reports  5 at once, then 1 per 10 s, by api_key, else ip
    tried    100 per 1 h, by everyone (only counted)
    at once  3 at the same time, by api_key, else ip
    in turn  10 may wait, leaving at 2 per second, by api_key, else ip
  metrics      http://OPERATIONS/metrics, /readyz, /healthz
  stop         Ctrl-C or SIGTERM; saving the policy (or SIGHUP) reloads it
";

#[test]
fn it_says_what_is_limited_and_what_is_not_yet() {
    let folder = folder();
    let file = folder.join("limits.yaml");
    std::fs::write(&file, POLICY).expect("a temporary folder can be written");
    let upstream = Upstream {
        tls: false,
        host: "127.0.0.1".into(),
        port: 9,
        protocol: Protocol::Auto,
        ca: None,
        idle_max: 1,
        lookup: None,
        adaptive: UpstreamLimit::default(),
    };
    let mut settings = Settings::new(file.to_str().expect("it is UTF-8"), upstream);
    settings.listen = vec![([127, 0, 0, 1], 0).into()];
    settings.operations = Some(([127, 0, 0, 1], 0).into());
    settings.workers = Some(1);
    let running = start(settings, io::sink()).unwrap_or_else(|why| panic!("it starts: {why:?}"));
    let mut said = Vec::new();
    banner(&running, &mut said).expect("memory takes all");
    let said = String::from_utf8(said).expect("it is text");
    let named = [
        (running.addresses()[0].to_string(), "ADDRESS"),
        (running.operations().expect("it has one").to_string(), "OPERATIONS"),
        (folder.display().to_string(), "FOLDER"),
        (env!("CARGO_PKG_VERSION").into(), "VERSION"),
    ];
    let said = named.iter().fold(said, |said, (value, name)| said.replace(value, name));
    assert_eq!(said, SAID);
    let stopper = running.stopper();
    stopper.stop();
    assert_eq!(running.run(), Ok(()));
    std::fs::remove_dir_all(folder).expect("it is there");
}
