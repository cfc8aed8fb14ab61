//! Measures permits and queues beside semaphores: time per acquisition and departure, memory per key and waiter.

mod memory;
mod permits;
mod queues;
mod stopwatch;

/// Prints the tables.
fn main() -> Result<(), Box<dyn std::error::Error>> {
    permits::unkeyed()?;
    permits::keyed()?;
    queues::departures()
}
