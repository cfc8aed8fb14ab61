//! `cargo xtask bench gateway`: the gateway and the layer beside their peers. It builds what is measured, runs the
//! program that measures, and writes what it found; it measures nothing itself.

use std::process::{Command, Stdio};

use crate::bench::machine;
use crate::deadline::Deadline;
use crate::install::{INSTALL_MAX, packages};
use crate::marked;
use crate::run::{captured, command, result_of, root};
use crate::targets;

/// What is run against nginx, and for how long.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Kind {
    /// Our gateway, in full. Only these figures are written down.
    Full,
    /// Our gateway, for a second here and there.
    Quick,
    /// nginx against itself, in full: what then differs is noise.
    Noise,
}

/// Our command, as it is shipped.
const TOLLGATE: &str = "bench/target/dist/tollgate";
const PROGRAM: &str = "bench/target/release/gateway";

/// Measures and shows, and writes if it is in full.
///
/// # Errors
/// When something cannot be built, started or measured, with what it said; or when a target is missed.
pub(crate) fn run(kind: Kind) -> Result<(), String> {
    let cores = std::thread::available_parallelism().map_or(1, usize::from);
    if cores < 2 {
        return Err("the gateway is measured on one core and loaded from another: this takes two".into());
    }
    // `wrk -v` prints its version and fails, so `which` has to do.
    let needed = [("nginx -v", "nginx-light"), ("which wrk", "wrk")];
    packages(&needed, &Deadline::after(INSTALL_MAX))?;
    captured(command(
        "cargo build --release --locked --manifest-path bench/Cargo.toml --target-dir bench/target -p gateway",
    ))?;
    if kind != Kind::Noise {
        captured(command("cargo build --profile dist --locked --target-dir bench/target -p tollgate-cli"))?;
    }
    let length = if kind == Kind::Quick { "quick" } else { "full" };
    let tollgate = root().join(TOLLGATE);
    let mut program = Command::new(root().join(PROGRAM));
    program.args(["measure", length]).current_dir(root()).stderr(Stdio::inherit());
    if kind == Kind::Noise {
        program.arg("nginx")
    } else {
        program.arg(tollgate)
    };
    let tables = result_of(program)?;
    println!("{tables}");
    if kind != Kind::Full {
        return Ok(());
    }
    let versions = [nginx_version()?, wrk_version()?].join(", ");
    let head = format!("`cargo xtask bench gateway` on {}, with {versions}.", machine()?);
    marked::write("docs/benchmarks/APPENDIX.md", "gateway", &format!("{head}\n\n{tables}"))?;
    targets::judge("gateway", &tables)
}

fn nginx_version() -> Result<String, String> {
    let said = captured(command("nginx -v"))?;
    said.split_once("nginx/").map(|(_, version)| format!("nginx {}", version.trim())).ok_or(said)
}

/// From the package, because wrk itself ends as if it had failed.
fn wrk_version() -> Result<String, String> {
    let said = result_of(command("dpkg-query --show wrk"))?;
    Ok(said.split_whitespace().collect::<Vec<_>>().join(" "))
}
