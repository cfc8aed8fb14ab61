//! Limits in configuration files: read and written as text, and wrong ones refused with the place.
#![cfg(feature = "serde")]

use std::collections::BTreeMap;

use tollgate::serde::LimitText;
use tollgate::{Limit, Micros, Window};

#[test]
fn every_limit_is_written_as_text_and_read_back() {
    let limits = [
        Limit::Unlimited,
        Limit::per_second(10).burst(20).unwrap(),
        Limit::gcra(3, 7, Micros::from_secs(11)).unwrap(),
        Limit::fixed_window(5, Window::Every(Micros::HOUR)).unwrap(),
        Limit::sliding_window_log(100, Micros::MINUTE).unwrap(),
    ];
    for limit in limits {
        let text = serde_json::to_string(&LimitText(limit)).unwrap();
        assert_eq!(text, format!("\"{limit}\""));
        let read: LimitText = serde_json::from_str(&text).unwrap();
        assert_eq!(Limit::from(read), limit);
        let mut read = serde_json::Deserializer::from_str(&text);
        assert_eq!(tollgate::serde::deserialize(&mut read).unwrap(), limit);
    }
    let options: BTreeMap<String, Option<LimitText>> =
        serde_json::from_str(r#"{"a": null, "b": "10 per second"}"#).unwrap();
    assert_eq!(options["a"], None);
    assert_eq!(options["b"], Some(Limit::per_second(10).burst(10).unwrap().into()));
}

#[test]
fn what_is_not_a_limit_is_an_error_that_says_what_was_expected() {
    let error = |text: &str| serde_json::from_str::<LimitText>(text).unwrap_err().to_string();
    assert_eq!(
        error("\"ten per second\""),
        "`ten per second` is not a limit: expected a whole number at byte 0, as in `10 per second, burst 20` \
         at line 1 column 16"
    );
    assert_eq!(
        error("10"),
        "invalid type: integer `10`, expected a limit as text, such as `10 per second, burst 20` at line 1 column 2"
    );
}
