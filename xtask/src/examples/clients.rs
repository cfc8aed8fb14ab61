//! Runs the examples in other languages against the command itself, which serves Redis clients on a free port.

use std::io::{BufRead as _, BufReader};
use std::process::{Child, Command, Stdio};

use crate::deadline::Deadline;
use crate::run::{command, root};

const PYTHON: &str = "target/tools/python/bin/python";

/// Every example that runs: its folder, its command, and what it prints at the end.
const CLIENTS: [(&str, &str, &str); 4] = [
    ("python", "try_django.py", "django: ok"),
    ("python", "try_fastapi.py", "fastapi: ok"),
    ("node", "try.js", "express: ok"),
    ("java", "Tollgate.java", "java: ok"),
];

/// Runs them; returns how many.
///
/// # Errors
/// With what the first one that fails printed.
pub(crate) fn run(deadline: &Deadline) -> Result<u64, String> {
    deadline.result_of(command("cargo build --quiet --locked --workspace --all-features --bin tollgate"))?;
    let served = Served::start()?;
    let mut count = 0;
    for (folder, file, expected) in CLIENTS {
        let printed = deadline.result_of(client(folder, file, &served.port))?;
        if !printed.lines().any(|line| line == expected) {
            return Err(format!("examples/clients/{folder}/{file} printed:\n{printed}"));
        }
        count += 1;
    }
    Ok(count)
}

fn client(folder: &str, file: &str, port: &str) -> Command {
    let mut client = match folder {
        "python" => Command::new(root().join(PYTHON)),
        "node" => Command::new("node"),
        _ => Command::new("java"),
    };
    client.current_dir(root().join("examples/clients").join(folder)).args([file, port]);
    client
        .env("NODE_PATH", root().join("target/tools/node/node_modules"))
        .env("PYTHONDONTWRITEBYTECODE", "1");
    client
}

/// The command, until it is dropped.
struct Served {
    child: Child,
    port: String,
}

impl Served {
    fn start() -> Result<Self, String> {
        let mut serve = Command::new(root().join("target/debug/tollgate"));
        serve
            .args(["serve", "--config", "none", "--resp", "127.0.0.1:0"])
            .env("TOLLGATE_OPERATIONS_LISTEN", "none");
        let mut child =
            serve.stdout(Stdio::piped()).stderr(Stdio::null()).spawn().map_err(|error| error.to_string())?;
        let lines = child.stdout.take().map(|stdout| BufReader::new(stdout).lines());
        let mut lines = lines.into_iter().flatten().map_while(Result::ok);
        let port = lines
            .find_map(|line| line.split_once("redis://127.0.0.1:").map(|(_, port)| port.trim().to_owned()));
        match port {
            Some(port) => Ok(Self { child, port }),
            None => Err("tollgate does not say where it listens for Redis clients".into()),
        }
    }
}

impl Drop for Served {
    fn drop(&mut self) {
        // It may have ended by itself.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}
