//! How long a large OpenAPI document takes to become a policy. A stopwatch, not a test.

use std::time::Instant;
use tollgate_policy::Policy;

#[expect(clippy::disallowed_methods, reason = "a stopwatch for the report")]
#[expect(clippy::print_stdout, reason = "it is a report")]
fn main() {
    let file = std::env::args().nth(1).unwrap_or_default();
    let text = std::fs::read_to_string(&file).unwrap_or_default();
    for _ in 0..3 {
        let start = Instant::now();
        match Policy::parse(&file, &text) {
            Ok(policy) => println!("{} bytes, {} operations, {} limits: {:?}", text.len(), policy.operations().len(), policy.limits().len(), start.elapsed()),
            Err(refused) => println!("{:?} {}", start.elapsed(), refused.to_string().lines().take(5).collect::<Vec<_>>().join("\n")),
        }
    }
}
