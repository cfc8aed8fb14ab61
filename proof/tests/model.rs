//! Every algorithm against its model: every promise of every answer, on random traces.
use tollgate_core::Algorithm;
use tollgate_proof::{compare, engine::Core};

#[test]
fn every_answer_keeps_every_promise() {
    for algorithm in Algorithm::ALL {
        let start = std::time::Instant::now();
        let done = compare::run::<Core>(algorithm, 20_261_115, 3_000_000).unwrap_or_else(|e| panic!("{e}"));
        println!("{} {:?}", algorithm.name(), start.elapsed() / done as u32);
    }
}
