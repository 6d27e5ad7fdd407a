//! penstock-wire.
