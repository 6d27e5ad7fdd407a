//! The NATS client protocol as bytes: a decoder without I/O and without state, and the few
//! renderings that happen once for each delivered message.
//!
//! Strategy: `decode` looks at the front of a buffer and says one of three things: here is a
//! frame, I need more bytes, or this can never become a frame. It keeps nothing between calls,
//! so the same code serves server, tests and simulator. Every size and digit of the wire passes
//! through `number`, every bound through `Limits`. What a frame *means* is decided in Python.
#![forbid(unsafe_code)]

mod decode;
mod delivered;
mod encode;
mod frame;
pub mod lifetime;
pub mod number;

pub use decode::{Limits, Step, decode};
pub use delivered::{Delivery, Sent, sent};
pub use encode::{Message, render};
pub use frame::{Fault, Frame, Span, Verb};
