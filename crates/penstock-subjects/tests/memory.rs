//! What comes and goes leaves nothing behind: the bytes allocated are counted, so a node that
//! prune forgot, or a table that only grows, shows as a number.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, unsafe_code)]

use penstock_subjects::{Listener, Router, Trie};
use std::alloc::{GlobalAlloc, Layout, System};
use std::sync::atomic::{AtomicUsize, Ordering};

struct Counting;

static LIVE_BYTES: AtomicUsize = AtomicUsize::new(0);

// SAFETY: every call goes to the system's allocator unchanged; only a counter is added.
unsafe impl GlobalAlloc for Counting {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        LIVE_BYTES.fetch_add(layout.size(), Ordering::Relaxed);
        // SAFETY: the caller's contract is passed on.
        unsafe { System.alloc(layout) }
    }

    unsafe fn dealloc(&self, pointer: *mut u8, layout: Layout) {
        LIVE_BYTES.fetch_sub(layout.size(), Ordering::Relaxed);
        // SAFETY: the caller's contract is passed on.
        unsafe { System.dealloc(pointer, layout) }
    }
}

#[global_allocator]
static ALLOCATOR: Counting = Counting;

fn pattern(round: usize, number: usize) -> Vec<u8> {
    match number % 4 {
        0 => format!("a.{round}.{number}.*.b.>").into_bytes(),
        1 => format!("*.{number}.x{round}").into_bytes(),
        2 => format!("a.{round}.{number}").into_bytes(),
        _ => format!("t{round}.{number}.>").into_bytes(),
    }
}

fn come_and_go(trie: &mut Trie, router: &mut Router, round: usize) {
    for number in 0..200u32 {
        let pattern = pattern(round, number as usize);
        let queue = (number % 3 == 0).then_some(&b"q"[..]);
        trie.insert(&pattern, queue, Listener::Plain(number));
        router.insert(&pattern, queue, Listener::Plain(number));
        router.find(&pattern);
    }
    for number in (0..200u32).rev() {
        let pattern = pattern(round, number as usize);
        let queue = (number % 3 == 0).then_some(&b"q"[..]);
        assert!(trie.remove(&pattern, queue, Listener::Plain(number)));
        assert!(router.remove(&pattern, queue, Listener::Plain(number)));
    }
}

/// One test in this file: the counter belongs to the whole process.
#[test]
fn a_table_that_emptied_is_as_small_as_after_its_first_use() {
    let (mut trie, mut router) = (Trie::default(), Router::default());
    for round in 0..3 {
        come_and_go(&mut trie, &mut router, round);
    }
    let before = LIVE_BYTES.load(Ordering::Relaxed);
    for round in 3..103 {
        come_and_go(&mut trie, &mut router, round);
    }
    let grown = LIVE_BYTES.load(Ordering::Relaxed).saturating_sub(before);
    assert!(grown < 64 * 1024, "{grown} bytes stayed after 100 rounds");
}
