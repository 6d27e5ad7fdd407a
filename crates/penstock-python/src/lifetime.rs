//! `Nats-TTL`, read as the kernel reads it.

use penstock_wire::lifetime::{self, Lifetime};
use pyo3::prelude::*;

/// How long a message lives that says so: in seconds, -1 for ever, none if it is no lifetime.
#[pyfunction]
pub fn parse_lifetime(text: &[u8]) -> Option<i64> {
    match lifetime::parse(text)? {
        Lifetime::Endless => Some(-1),
        Lifetime::Seconds(seconds) => i64::try_from(seconds).ok(),
    }
}
