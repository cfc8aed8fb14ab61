//! Nothing yet, to be replaced by the tests.
