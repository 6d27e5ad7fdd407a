//! What requests ask for: pages and single messages of direct gets, and requests in the same words.

use crate::hub::Hub;
use crate::store::{Store, filter_of};
use penstock_consumers::{PageTerms, SingleTerms};
use pyo3::prelude::*;
use pyo3::types::PyBytes;

/// Why it ended, where to go on, messages and bytes sent, how many are left, and the last one sent.
type PageSent = (u8, u64, u64, u64, u64, u64);

/// Messages from a sequence up to another, to whoever listens to an inbox.
#[pyfunction]
#[allow(clippy::too_many_arguments)] // columns of a call from Python
#[pyo3(signature = (
    hub, store, account, inbox, stream, pattern, *, sequence, up_to, messages_max, bytes_max,
    pending, before
))]
pub fn send_page(
    hub: &mut Hub,
    store: &mut Store,
    account: u32,
    inbox: &[u8],
    stream: &[u8],
    pattern: Vec<u8>,
    sequence: u64,
    up_to: u64,
    messages_max: u64,
    bytes_max: u64,
    pending: u64,
    before: u64,
) -> PageSent {
    let filter = filter_of(&[pattern]);
    let terms = PageTerms {
        account,
        inbox,
        stream,
        filter: &filter,
        from: sequence,
        up_to,
        messages_max,
        bytes_max,
        pending,
        before,
    };
    let sent = penstock_consumers::send_page(&mut hub.hub, &mut store.store, &terms);
    (
        sent.stop as u8,
        sent.next,
        sent.messages,
        sent.bytes,
        sent.pending,
        sent.before,
    )
}

/// Answers requests of a run for one message; the first that is left, or the end of the run.
#[pyfunction]
#[allow(clippy::too_many_arguments)] // columns of a call from Python
#[pyo3(signature = (hub, store, account, stream, start, end, *, dots, missing))]
pub fn send_singles(
    hub: &mut Hub,
    store: &mut Store,
    account: u32,
    stream: &[u8],
    start: usize,
    end: usize,
    dots: usize,
    missing: &[u8],
) -> usize {
    let terms = SingleTerms {
        account,
        stream,
        dots,
        missing,
    };
    penstock_consumers::send_singles(&mut hub.hub, &mut store.store, &terms, start, end)
}

/// Where the answers to requests in the same words go, from the first of a run on, and the words.
#[pyfunction]
pub fn alike<'py>(
    py: Python<'py>,
    hub: &Hub,
    start: usize,
    end: usize,
) -> (Vec<Bound<'py, PyBytes>>, Bound<'py, PyBytes>) {
    let (inboxes, body) = hub.hub.alike(start, end);
    let inboxes = inboxes.iter().map(|inbox| PyBytes::new(py, inbox));
    (inboxes.collect(), PyBytes::new(py, body))
}
