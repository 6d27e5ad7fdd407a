//! Interest: whether anybody listens to a subject, and notice of changes for some subjects.
//!
//! Strategy: a subscription that begins or ends under a watched subject only marks it; what that
//! means is found out when somebody asks, once in a turn.

use crate::hub::Hub;
use ahash::AHashMap;

struct Watch {
    account: u32,
    subject: Box<[u8]>,
    queue: Option<Box<[u8]>>,
    /// What was told last.
    listened: bool,
}

/// Subjects somebody wants to hear about, under numbers of the caller's.
#[derive(Default)]
pub(crate) struct Watched {
    watches: AHashMap<u32, Watch>,
    by_subject: AHashMap<Box<[u8]>, Vec<u32>>,
    marked: Vec<u32>,
}

impl Watched {
    /// A subscription to this pattern began or ended.
    pub fn mark(&mut self, pattern: &[u8]) {
        if self.by_subject.is_empty() {
            return;
        }
        if let Some(numbers) = self.by_subject.get(pattern) {
            self.marked.extend_from_slice(numbers);
        }
    }
}

impl Hub {
    /// Whether there is a subscription to exactly this subject: a plain one or a target, or one in
    /// a group.
    #[must_use]
    pub fn listens_exactly(&self, account: u32, subject: &[u8], queue: Option<&[u8]>) -> bool {
        let Some(router) = self.accounts.get(account as usize) else {
            return false;
        };
        let mut members = router.members(subject, queue).iter();
        queue.is_none() && router.has_target(subject)
            || members.any(|number| self.receiver(*number).is_some())
    }

    /// Watches `listens_exactly`; answers with how it is now.
    pub fn watch(
        &mut self,
        number: u32,
        account: u32,
        subject: &[u8],
        queue: Option<&[u8]>,
    ) -> bool {
        self.unwatch(number);
        let listened = self.listens_exactly(account, subject, queue);
        let watched = &mut self.subscriptions.watched;
        let numbers = watched.by_subject.entry(subject.into()).or_default();
        numbers.push(number);
        let watch = Watch {
            account,
            subject: subject.into(),
            queue: queue.map(Into::into),
            listened,
        };
        watched.watches.insert(number, watch);
        listened
    }

    pub fn unwatch(&mut self, number: u32) {
        let watched = &mut self.subscriptions.watched;
        let Some(watch) = watched.watches.remove(&number) else {
            return;
        };
        watched.marked.retain(|other| *other != number);
        if let Some(numbers) = watched.by_subject.get_mut(&watch.subject) {
            numbers.retain(|other| *other != number);
            if numbers.is_empty() {
                watched.by_subject.remove(&watch.subject);
            }
        }
    }

    /// The watched subjects with another answer than was last told.
    pub fn take_interest_changes(&mut self) -> Vec<(u32, bool)> {
        let mut marked = std::mem::take(&mut self.subscriptions.watched.marked);
        marked.sort_unstable();
        marked.dedup();
        let mut changes = Vec::new();
        for number in marked {
            let Some(watch) = self.subscriptions.watched.watches.get(&number) else {
                continue;
            };
            let queue = watch.queue.as_deref();
            let listened = self.listens_exactly(watch.account, &watch.subject, queue);
            if listened != watch.listened {
                changes.push((number, listened));
            }
        }
        for (number, listened) in &changes {
            if let Some(watch) = self.subscriptions.watched.watches.get_mut(number) {
                watch.listened = *listened;
            }
        }
        changes
    }
}
