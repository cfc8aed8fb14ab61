//! Every law on every algorithm.
use tollgate_core::Algorithm;
use tollgate_proof::{engine::Core, laws::Law};

#[test]
fn every_law_holds_for_every_algorithm() {
    let mut bad = 0;
    for law in Law::ALL {
        for algorithm in Algorithm::ALL {
            let start = std::time::Instant::now();
            match law.check::<Core>(algorithm, 1, 20000) {
                Ok(_) => println!("{:?}", start.elapsed() / 20000),
                Err(e) => {
                    bad += 1;
                    println!("{e}")
                }
            }
        }
    }
    assert_eq!(bad, 0);
}
