//! Documents that were made to hurt.
