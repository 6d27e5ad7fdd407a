//! The commit log: one for each server, the only file synced on the way to an acknowledgement.
//!
//! Strategy: entries are numbered without gaps and copied once, into the buffer of the current
//! group. A commit hands the group to a writer thread, which joins whatever waits into one group
//! on disk: one write, one sync, one announcement through a pipe that the event loop watches.
//!
//! Invariant: a group is written only after everything before it is durable. So a power cut can
//! damage the last group and nothing else, and damage with a whole group behind it is real.
//! Invariant: a segment has its final name only after its header is durable, and holds a group
//! only after its name is.
//! Invariant: where entries are to be forgotten, no file that is used again has a byte of them: the
//! segments that had them, and the spare, are set aside, and overwritten before they go (`remains`).
//! Invariant: after the first failed write or sync nothing becomes durable any more. The way on is
//! to drop the log and open it again, which makes what it finds durable before reporting it.

mod announce;
mod checks;
mod format;
mod log;
mod reader;
mod remains;
mod replay;
mod segment;
mod writer;

pub use log::{Damage, Log, Options};
pub use remains::Remains;
pub use replay::{Entry, Lost, Replay};
