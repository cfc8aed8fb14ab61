//! Builds and runs the program on the layer's front page as a newcomer does: a package with only the dependencies that the page
//! prints. Then it asks the service until it is refused.

use std::fs;
use std::io::{Read, Write};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::path::Path;
use std::process::{Child, Stdio};

use tollgate_testing::patience::until;

use crate::deadline::Deadline;
use crate::run::{command, root};

/// Where the program is printed, and how its block begins there. It is the same in both.
const PAGES: [(&str, &str); 2] =
    [("crates/tower/README.md", "```rust,no_run"), ("crates/tower/src/docs/front.md", "```no_run")];
/// Where the program listens, as printed. The port may be taken here.
const PRINTED_ADDRESS: &str = "127.0.0.1:3000";
/// Where the package is, relative to the root of the repository.
const FOLDER: &str = "target/five-lines/service";

/// Builds without warnings, runs, and asks. Returns how many programs ran.
///
/// # Errors
/// When a page has no such program, or when it fails or answers otherwise than the page says.
pub(crate) fn run(deadline: &Deadline) -> Result<u64, String> {
    let [readme, front] = PAGES.map(|(page, fence)| printed(page, fence));
    let (dependencies, program) = readme?;
    if (dependencies.as_str(), program.as_str()) != front.as_ref().map(|(toml, rust)| (&**toml, &**rust))? {
        return Err(format!("{} and {} print different programs", PAGES[0].0, PAGES[1].0));
    }
    let address = free_address().map_err(|error| format!("no free port: {error}"))?;
    let program = program.replace(PRINTED_ADDRESS, &address.to_string());
    write(&root().join(FOLDER), &dependencies, &program).map_err(|error| format!("{FOLDER}: {error}"))?;
    let mut cargo = command(&format!(
        "cargo build --quiet --offline --manifest-path {FOLDER}/Cargo.toml --target-dir {FOLDER}/target"
    ));
    cargo.env("RUSTFLAGS", "-D warnings");
    deadline.captured(cargo)?;
    let mut service = command(&format!("{FOLDER}/target/debug/service"));
    let service = service.stdin(Stdio::null()).stdout(Stdio::null()).spawn();
    let _service = Service(service.map_err(|error| format!("cannot start the service: {error}"))?);
    until("the service listens", || TcpStream::connect(address).is_ok());
    ask(address)
}

/// A service that ends with the test.
struct Service(Child);

impl Drop for Service {
    fn drop(&mut self) {
        // If it has ended by itself, there is nothing to end.
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

/// Asks until it is refused, as somebody is who asks more often than the limit allows.
fn ask(address: SocketAddr) -> Result<u64, String> {
    let get = || get(address).map_err(|error| format!("the service does not answer: {error}"));
    let first = get()?;
    if !first.starts_with("HTTP/1.1 200 ") || !first.ends_with("hello") {
        return Err(format!("the first request is not granted:\n{first}"));
    }
    for _ in 0..100 {
        let response = get()?;
        if response.starts_with("HTTP/1.1 429 ") && response.contains("\r\nretry-after: 1\r\n") {
            return Ok(1);
        }
        if !response.starts_with("HTTP/1.1 200 ") {
            return Err(format!("neither granted nor refused:\n{response}"));
        }
    }
    Err("a hundred requests are granted by a limit of five".into())
}

fn get(address: SocketAddr) -> std::io::Result<String> {
    let mut stream = TcpStream::connect(address)?;
    stream.write_all(b"GET / HTTP/1.1\r\nhost: localhost\r\nconnection: close\r\n\r\n")?;
    let mut response = String::new();
    stream.read_to_string(&mut response)?;
    Ok(response)
}

/// An address that is free now.
fn free_address() -> std::io::Result<SocketAddr> {
    TcpListener::bind("127.0.0.1:0")?.local_addr()
}

/// The dependencies and the program that a page prints first.
fn printed(page: &str, fence: &str) -> Result<(String, String), String> {
    let text = fs::read_to_string(root().join(page)).map_err(|error| format!("{page}: {error}"))?;
    let block = |fence: &str| {
        let (_, rest) = text.split_once(&format!("\n{fence}\n"))?;
        Some(rest.split_once("\n```")?.0.to_owned())
    };
    let blocks = block("```toml").zip(block(fence).filter(|program| program.contains(PRINTED_ADDRESS)));
    blocks.ok_or_else(|| {
        format!("{page} prints no dependencies, or no program that listens on {PRINTED_ADDRESS}")
    })
}

/// Writes the package. The crate of this repository stands for the one on the registry.
fn write(folder: &Path, dependencies: &str, program: &str) -> std::io::Result<()> {
    fs::create_dir_all(folder.join("src"))?;
    let root = root();
    let patches = format!("tollgate-tower = {{ path = {:?} }}\n", root.join("crates/tower"));
    let package = "[package]\nname = \"service\"\nedition = \"2024\"\n\n[workspace]\n";
    let manifest = format!("{package}\n{dependencies}\n\n[patch.crates-io]\n{patches}");
    fs::write(folder.join("Cargo.toml"), manifest)?;
    fs::write(folder.join("src/main.rs"), program)?;
    // The versions that everything else is tested with.
    fs::copy(root.join("Cargo.lock"), folder.join("Cargo.lock")).map(|_| ())
}

#[test]
fn the_readme_and_the_front_page_print_the_same_program() {
    let [readme, front] = PAGES.map(|(page, fence)| printed(page, fence).unwrap());
    assert_eq!(readme, front);
    assert!(readme.0.starts_with("[dependencies]\n") && readme.1.ends_with('}'));
    assert!(printed(PAGES[0].0, "```python").is_err());
}
