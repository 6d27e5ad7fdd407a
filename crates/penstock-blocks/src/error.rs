//! What can go wrong in a store, told apart by whose business it is: the disk's, the caller's, or
//! that of a record which no longer is what was written.

use std::fmt;
use std::io;

#[derive(Debug)]
pub enum Error {
    /// The disk refused; the text names operation and path.
    Disk(io::Error),
    /// The record would be longer than the format allows.
    TooLarge { bytes: usize },
    /// Sequences only go up.
    Order { sequence: u64, last: u64 },
    /// The record was stored, and is damaged on the disk.
    Damaged { path: String, sequence: u64 },
}

pub type Result<T> = std::result::Result<T, Error>;

impl From<io::Error> for Error {
    fn from(error: io::Error) -> Error {
        Error::Disk(error)
    }
}

impl fmt::Display for Error {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Error::Disk(error) => write!(formatter, "{error}"),
            Error::TooLarge { bytes } => write!(formatter, "record of {bytes} bytes is too large"),
            Error::Order { sequence, last } => {
                write!(formatter, "sequence {sequence} does not follow {last}")
            }
            Error::Damaged { path, sequence } => {
                write!(
                    formatter,
                    "{path}: the record of sequence {sequence} is damaged"
                )
            }
        }
    }
}

impl std::error::Error for Error {}
