//! The tests of the simulations, in one binary.
