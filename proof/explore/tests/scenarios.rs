//! Every scenario on the table as it ships: in no order does anything go wrong.
#![cfg(test)]

use tollgate_explore::scenarios::{ALL, ORDERS_IN_CI};

#[test]
fn nothing_goes_wrong_in_any_order() {
    for scenario in ALL {
        let (orders, _) = scenario.explore(ORDERS_IN_CI);
        println!("{:40} {orders} orders", scenario.name);
        assert!(orders > 1, "{}: there is more than one order", scenario.name);
    }
}
