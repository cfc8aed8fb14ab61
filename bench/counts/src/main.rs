//! Runs one kind of decision n times and prints what it did. Callgrind counts the instructions of two such runs, and
//! their difference is the cost of the decisions alone. It measures nothing itself.

mod in_progress;
mod memory;
mod ours;
mod peers;

/// What a run did: granted, refused.
type Done = (u64, u64);

fn main() -> Result<(), String> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let [who, what, limit, n] = arguments.as_slice() else {
        return Err("usage: counts WHO granted|refused|whole LIMIT N".into());
    };
    let number =
        |text: &str| text.parse::<u64>().map_err(|error| format!("`{text}` is not a number: {error}"));
    let (limit, n) = (number(limit)?, number(n)?);
    let (granting, cost) = match what.as_str() {
        "granted" => (true, 1),
        "refused" => (false, 1),
        // The whole limit at once, on a key that is exhausted.
        "whole" => (false, limit),
        other => return Err(format!("`{other}` is none of `granted`, `refused` and `whole`")),
    };
    let (granted, refused) = match who.as_str() {
        "governor" => peers::governor(false, granting, limit, n)?,
        "governor+remaining" => peers::governor(true, granting, limit, n)?,
        "concurrency" => in_progress::concurrency(granting, limit, n)?,
        "adaptive" => in_progress::adaptive(granting, limit, n)?,
        "memory" => memory::run("one", granting, limit, n)?,
        "memory+receipt" => memory::run("receipt", granting, limit, n)?,
        "memory+three" => memory::run("three", granting, limit, n)?,
        algorithm => ours::run(algorithm, granting, (limit, cost), n)?,
    };
    println!("granted {granted} refused {refused}");
    if (granting && granted < n) || (!granting && refused != n) {
        return Err(format!("{n} decisions were to be {what}"));
    }
    Ok(())
}
