//! What a consumer was delivered, and the loops that touch every delivery and acknowledgement.
//!
//! Strategy: a `Ledger` for one consumer keeps sequences, times and counts, and no rules: what an
//! acknowledgement means and when a message is given up is decided by the caller. A pull of a
//! thousand messages is one call that renders them from the store's bytes into the output of
//! whoever listens; so is a run of plain acknowledgements. A `FilterIndex` for one stream says
//! which consumers a run of new messages concerns. What direct gets ask for, who have no consumer, goes
//! the same way: pages (`page`), and single messages (`singles`).
#![forbid(unsafe_code)]

mod ack_run;
mod ack_subject;
mod changes;
mod count;
mod deliver;
mod filter_index;
mod headers;
mod ledger;
mod page;
mod pending;
mod place;
mod removal;
mod replay;
mod settling;
mod singles;
mod varint;
mod waiting;

pub use ack_run::Acked;
pub use count::Arrived;
pub use deliver::{Outcome, Request, Stop, Terms};
pub use filter_index::FilterIndex;
pub use ledger::{AckPolicy, Entry, Figures, Ledger, Position, Range};
pub use page::{PageSent, PageStop, PageTerms, send_page};
pub use removal::Terminated;
pub use replay::Damaged;
pub use settling::Settled;
pub use singles::{SingleTerms, send_singles};
pub use waiting::Expired;
