//! The turn: everything that arrived on all connections becomes one vector, the vector goes
//! through in groups, and what each destination gets is gathered for one write.
//!
//! Strategy: the hub is pure. It owns connections, subscriptions, the vector and the outputs, but
//! no socket and no clock: bytes come in through `receive`, time comes in as a number, and output
//! leaves through whatever can be written to. The socket driver and the tests use the same doors.
#![forbid(unsafe_code)]

mod asked;
mod batch_runs;
mod columns;
mod connection;
mod delivery;
mod fanout;
mod groups;
mod held;
mod hub;
mod intake;
mod interest;
mod loopback;
mod output;
pub mod replacement;
mod rows;
pub mod run_bytes;
mod subscription;
mod vector;

pub use asked::Asked;
pub use batch_runs::{BatchNames, BatchRun};
pub use columns::{Lane, Marks};
pub use connection::{ConnectionId, Ending, Switches, Traffic};
pub use delivery::{Delivery, Route};
pub use groups::{Group, Run};
pub use hub::{Bounds, Hub};
pub use intake::{Received, Source};
pub use output::Flushed;
pub use subscription::Interest;
pub use vector::Entry;
