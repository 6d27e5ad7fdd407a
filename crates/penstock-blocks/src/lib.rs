//! The store of one stream: records in blocks, what is alive, and where each subject is.
//!
//! Strategy: the reference's records in block files (`record`, `scan`, `files`), a small summary
//! of every block always in memory and its content only when needed (`block`, `cache`), a table of
//! subjects (`subjects`), and a `Store` on top of them, with files or without. Loops live here,
//! meaning does not: what is stored, evicted and purged is decided by the caller.
#![forbid(unsafe_code)]

mod block;
mod bloom;
mod cache;
mod checkpoint;
mod compaction;
mod copies;
mod counting;
mod erasing;
mod error;
mod examination;
mod expected;
mod expiry;
mod files;
mod framing;
mod header_column;
mod index;
mod index_file;
mod lifetimes;
mod limits;
mod loading;
mod losses;
mod misplaced;
mod note;
mod outside;
mod pattern;
mod queries;
mod reading;
mod recent_ids;
mod record;
mod recovery;
mod removal;
mod room;
mod saved_ids;
mod scan;
mod sequences;
mod store;
mod subject_order;
mod subject_queries;
mod subjects;
mod walking;
mod writing;

pub use checkpoint::Checkpoint;
pub use copies::{Copies, CopyStop, CopyTerms, Sourced};
pub use counting::CountTerms;
pub use error::{Error, Result};
pub use examination::{BlockSummary, Flaw, FlawKind};
pub use expiry::{LastOf, Over};
pub use header_column::{HeaderColumn, PackedColumn};
pub use lifetimes::Lifetimes;
pub use limits::Limits;
pub use note::Range;
pub use outside::{Sight, Sighted};
pub use pattern::{Filter, is_literal, matches};
pub use recent_ids::RecentIds;
pub use record::{
    BlockKey, Content, RECORD_BYTES_MAX, Record, SEQUENCE_MAX, file_bytes, memory_bytes,
};
pub use recovery::{IndexCondition, Recovery};
pub use removal::Gone;
pub use room::Item;
pub use store::{Message, Options, State, Store};
pub use subject_queries::SubjectState;
pub use walking::{Visit, WalkEnd, Walked};
