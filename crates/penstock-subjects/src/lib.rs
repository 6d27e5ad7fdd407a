//! Subjects: which are valid, and who listens to one.
//!
//! Strategy: a trie of tokens answers "who matches this subject" (`trie`); a bounded memo in
//! front of it remembers the answers for subjects that come again (`memo`); `Router` is both
//! together and the only thing the rest of the kernel uses.
#![forbid(unsafe_code)]

mod matches;
mod members;
mod memo;
mod router;
mod subject;
mod trie;

pub use matches::{Group, Listener, Matches};
pub use memo::Memo;
pub use router::Router;
pub use subject::{is_valid_literal, is_valid_pattern};
pub use trie::Trie;
