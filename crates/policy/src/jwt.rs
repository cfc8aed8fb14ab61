//! Verified claims: to come with the next change, and empty until then.
