//! Whether to stay awake for a moment behind a turn, for the bytes that are about to come.
//!
//! Strategy: a client that waits for each answer sends its next request some tens of microseconds
//! after it, less than it takes to wake a sleeping thread. So when turns have followed one another
//! that closely for a while, the driver looks for the next bytes itself, for a bounded time, before
//! it goes to sleep. A look in vain makes it rest for turns to come, each time for longer: a client
//! in this same thread, which cannot send while we look, costs next to nothing.

use std::time::{Duration, Instant};

const LOOKS_FOR: Duration = Duration::from_micros(60); // a prompt client's own share of a round trip
const PROMPT: Duration = Duration::from_micros(150); // the same with being woken up
const PROMPT_TURNS_MIN: u32 = 16; // in a row, before the first look
const RESTS_MIN: u32 = 16; // turns, after a look in vain
const RESTS_MAX: u32 = 1 << 14;

/// What the last turns have shown.
#[derive(Debug)]
pub(crate) struct Linger {
    ended: Option<Instant>,
    prompt: u32,
    resting: u32,
    rests: u32,
}

impl Linger {
    pub fn new() -> Linger {
        Linger {
            ended: None,
            prompt: 0,
            resting: 0,
            rests: RESTS_MIN,
        }
    }

    /// A turn has something to read, and did not find it by looking.
    pub fn woken(&mut self, now: Instant) {
        match self.ended.take() {
            Some(ended) if now.duration_since(ended) <= PROMPT => {
                self.prompt = self.prompt.saturating_add(1)
            }
            _ => self.prompt = 0,
        }
        self.resting = self.resting.saturating_sub(1);
    }

    /// A turn is over, and nothing is left to do: until when to look for the next bytes, if at all.
    pub fn until(&mut self, now: Instant) -> Option<Instant> {
        self.ended = Some(now);
        (self.prompt >= PROMPT_TURNS_MIN && self.resting == 0).then(|| now + LOOKS_FOR)
    }

    pub fn looked(&mut self, found: bool) {
        if found {
            self.rests = RESTS_MIN.max(self.rests / 2);
        } else {
            self.resting = self.rests;
            self.rests = RESTS_MAX.min(self.rests * 2);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const SOON: Duration = Duration::from_micros(50);

    /// Whether it looks at the end of a turn that came so long after the last.
    fn looks_after(linger: &mut Linger, now: &mut Instant, pause: Duration) -> bool {
        *now += pause;
        linger.woken(*now);
        linger.until(*now).is_some()
    }

    #[test]
    fn it_looks_once_turns_have_followed_closely() {
        let (mut linger, mut now) = (Linger::new(), Instant::now());
        let mut looks = (0..=PROMPT_TURNS_MIN).map(|_| looks_after(&mut linger, &mut now, SOON));
        assert_eq!(
            looks.position(|found| found),
            Some(PROMPT_TURNS_MIN as usize)
        );
    }

    #[test]
    fn one_late_turn_ends_it() {
        let (mut linger, mut now) = (Linger::new(), Instant::now());
        for _ in 0..100 {
            looks_after(&mut linger, &mut now, SOON);
        }
        assert!(looks_after(&mut linger, &mut now, SOON));
        assert!(!looks_after(&mut linger, &mut now, PROMPT * 2));
    }

    #[test]
    fn looks_in_vain_become_rare_and_one_that_finds_makes_them_less_so() {
        let (mut linger, mut now) = (Linger::new(), Instant::now());
        let mut looks = 0;
        for _ in 0..1_000_000 {
            if looks_after(&mut linger, &mut now, SOON) {
                looks += 1;
                linger.looked(false);
            }
        }
        assert!(looks < 80, "{looks}");
        let rests = linger.rests;
        linger.looked(true);
        assert!(linger.rests < rests);
    }
}
