//! placeholder for the build of what the tests need
