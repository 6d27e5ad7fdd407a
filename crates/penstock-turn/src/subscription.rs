//! Subscriptions: a client's interest in a pattern under its own sid, with an optional maximum.
//!
//! Invariant: a number is not reused before the next turn begins, so routes that were resolved
//! in this turn never name somebody else's subscription.

use crate::connection::ConnectionId;
use crate::hub::Hub;
use crate::interest::Watched;
use penstock_subjects::{Listener, Matches, Router, is_valid_pattern};

pub(crate) struct Subscription {
    pub slot: u32,
    pub account: u32,
    pub live: bool,
    pub sid: Box<[u8]>,
    pub pattern: Box<[u8]>,
    pub queue: Option<Box<[u8]>>,
    pub delivered: u64,
    /// Ends after this many deliveries; 0 for never.
    pub delivered_max: u64,
}

#[derive(Default)]
pub(crate) struct Subscriptions {
    pub table: Vec<Subscription>,
    free: Vec<u32>,
    retired: Vec<u32>,
    /// Dead, but still in the routes: a connection with a million subscriptions leaves in steps.
    leaving: Vec<u32>,
    pub watched: Watched,
}

const LEAVING_MAX: usize = 4096; // taken out of the routes in one turn

impl Subscriptions {
    #[allow(clippy::cast_possible_truncation)] // 4 G subscriptions do not fit into memory
    fn add(&mut self, accounts: &mut [Router], subscription: Subscription) -> u32 {
        let number = self.free.pop().unwrap_or(self.table.len() as u32);
        self.watched.mark(&subscription.pattern);
        if let Some(router) = accounts.get_mut(subscription.account as usize) {
            let queue = subscription.queue.as_deref();
            router.insert(&subscription.pattern, queue, Listener::Plain(number));
        }
        match self.table.get_mut(number as usize) {
            Some(place) => *place = subscription,
            None => self.table.push(subscription),
        }
        number
    }

    /// Ends a subscription: nothing is delivered to it from now on. The caller removes its sid.
    pub fn remove(&mut self, accounts: &mut [Router], number: u32) {
        if self.leave(number) {
            self.leaving.pop();
            self.take_out(accounts, number);
        }
    }

    /// Ends a subscription, but takes it out of the routes later. False if it had ended already.
    pub fn leave(&mut self, number: u32) -> bool {
        let subscription = &mut self.table[number as usize];
        let was_live = std::mem::take(&mut subscription.live);
        if was_live {
            self.watched.mark(&subscription.pattern);
            self.leaving.push(number);
        }
        was_live
    }

    fn take_out(&mut self, accounts: &mut [Router], number: u32) {
        let subscription = &self.table[number as usize];
        if let Some(router) = accounts.get_mut(subscription.account as usize) {
            let queue = subscription.queue.as_deref();
            router.remove(&subscription.pattern, queue, Listener::Plain(number));
        }
        self.retired.push(number);
    }

    /// Takes some of those that left out of the routes.
    pub fn sweep(&mut self, accounts: &mut [Router]) {
        for _ in 0..LEAVING_MAX {
            let Some(number) = self.leaving.pop() else {
                break;
            };
            self.take_out(accounts, number);
        }
    }

    pub fn is_swept(&self) -> bool {
        self.leaving.is_empty()
    }

    /// Numbers retired in the turn that ended may be used again.
    pub fn begin_turn(&mut self) {
        for number in self.retired.drain(..) {
            let subscription = &mut self.table[number as usize];
            subscription.sid = Box::default();
            subscription.pattern = Box::default();
            subscription.queue = None;
            self.free.push(number);
        }
    }
}

/// A subscription as the monitoring pages show it.
pub struct Interest<'a> {
    pub pattern: &'a [u8],
    pub queue: Option<&'a [u8]>,
    pub sid: &'a [u8],
    pub delivered: u64,
    pub delivered_max: u64,
}

impl Hub {
    /// Adds a subscription. False if the pattern is not valid, the connection is gone or the sid
    /// is taken (the first one stays).
    pub fn subscribe(
        &mut self,
        id: ConnectionId,
        pattern: &[u8],
        queue: Option<&[u8]>,
        sid: &[u8],
    ) -> bool {
        let Some(connection) = self.find(id) else {
            return false;
        };
        if !is_valid_pattern(pattern) || connection.subscriptions.contains_key(sid) {
            return false;
        }
        let subscription = Subscription {
            slot: id.slot(),
            account: connection.switches.account,
            live: true,
            sid: sid.into(),
            pattern: pattern.into(),
            queue: queue.map(Into::into),
            delivered: 0,
            delivered_max: 0,
        };
        let number = self.subscriptions.add(&mut self.accounts, subscription);
        if let Some(connection) = self.find_mut(id) {
            connection.subscriptions.insert(sid.into(), number);
        }
        true
    }

    /// Ends a subscription, at once or after `delivered_max` deliveries in all. False if there
    /// is none.
    pub fn unsubscribe(&mut self, id: ConnectionId, sid: &[u8], delivered_max: u64) -> bool {
        let Some(number) = self
            .find(id)
            .and_then(|connection| connection.subscriptions.get(sid).copied())
        else {
            return false;
        };
        let subscription = &mut self.subscriptions.table[number as usize];
        if delivered_max > subscription.delivered {
            subscription.delivered_max = delivered_max;
        } else {
            self.end_subscription(number);
        }
        true
    }

    pub(crate) fn end_subscription(&mut self, number: u32) {
        let subscription = &self.subscriptions.table[number as usize];
        if let Some(Some(connection)) = self.connections.get_mut(subscription.slot as usize) {
            connection.subscriptions.remove(&subscription.sid);
        }
        self.subscriptions.remove(&mut self.accounts, number);
    }

    /// Lets a part of the server listen to a pattern: its frames appear as runs for `target`.
    pub fn add_target(&mut self, account: u32, pattern: &[u8], target: u32) -> bool {
        let valid = is_valid_pattern(pattern);
        if let Some(router) = self.accounts.get_mut(account as usize).filter(|_| valid) {
            router.insert(pattern, None, Listener::Target(target));
            self.subscriptions.watched.mark(pattern);
            return true;
        }
        false
    }

    pub fn remove_target(&mut self, account: u32, pattern: &[u8], target: u32) -> bool {
        self.subscriptions.watched.mark(pattern);
        self.accounts
            .get_mut(account as usize)
            .is_some_and(|router| router.remove(pattern, None, Listener::Target(target)))
    }

    /// The sids under which a connection itself listens to a subject, queue groups aside.
    #[must_use]
    pub fn own_sids(&mut self, id: ConnectionId, subject: &[u8]) -> Vec<Vec<u8>> {
        let Some(account) = self.find(id).map(|found| found.switches.account) else {
            return Vec::new();
        };
        let matches = self.find_routes(account, subject);
        matches
            .plain
            .iter()
            .map(|number| &self.subscriptions.table[*number as usize])
            .filter(|subscription| subscription.live && subscription.slot == id.slot())
            .map(|subscription| subscription.sid.to_vec())
            .collect()
    }

    /// Who listens to `prefix` and one more token, if that token does not matter.
    pub fn find_below(&self, account: u32, prefix: &[u8]) -> Option<Matches> {
        self.accounts.get(account as usize)?.find_below(prefix, 1)
    }

    /// Who listens to a subject, by number.
    pub fn find_routes(&mut self, account: u32, subject: &[u8]) -> std::sync::Arc<Matches> {
        match self.accounts.get_mut(account as usize) {
            Some(router) => router.find(subject),
            None => std::sync::Arc::default(),
        }
    }

    /// True if a message to a subject would be heard, by a subscriber or by a target.
    pub fn listens(&mut self, account: u32, subject: &[u8]) -> bool {
        let matches = self.find_routes(account, subject);
        let in_groups = matches.groups.iter().flat_map(|group| &group.members);
        let mut subscribers = matches.plain.iter().chain(in_groups);
        !matches.targets.is_empty()
            || subscribers.any(|number| self.subscriptions.table[*number as usize].live)
    }

    /// How many listeners an account has.
    #[must_use]
    pub fn listeners(&self, account: u32) -> usize {
        self.accounts.get(account as usize).map_or(0, Router::len)
    }

    /// The subscriptions of one connection.
    #[must_use]
    pub fn interests(&self, id: ConnectionId) -> Vec<Interest<'_>> {
        let Some(connection) = self.find(id) else {
            return Vec::new();
        };
        let numbers = connection.subscriptions.values();
        numbers
            .map(|number| &self.subscriptions.table[*number as usize])
            .map(|subscription| Interest {
                pattern: &subscription.pattern,
                queue: subscription.queue.as_deref(),
                sid: &subscription.sid,
                delivered: subscription.delivered,
                delivered_max: subscription.delivered_max,
            })
            .collect()
    }
}
