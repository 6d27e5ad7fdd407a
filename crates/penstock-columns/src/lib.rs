//! Messages and the columns of Arrow, both ways.
//!
//! Strategy: whoever reads many messages wants no object for each of them. `Rows` appends a message
//! to the buffers of its columns. `Answers` fills it from the bytes of a connection on which a
//! server answers direct gets, `BlockRows` from the bytes of block files; so both give the same
//! rows. The buffers are in the layout that Arrow prescribes, little endian. The other way, `given`
//! reads columns in place, `publishes` renders their rows as frames, and `acks` counts the answers.
#![forbid(unsafe_code)]

pub mod acks;
mod answers;
mod block_rows;
mod column;
mod described;
pub mod given;
mod header_lines;
mod moment;
pub mod publishes;
mod rows;

pub use answers::{Answers, Outcome};
pub use block_rows::{BlockRows, Taken};
pub use column::{Column, Numbers, Texts};
pub use rows::{Kind, Row, Rows};
