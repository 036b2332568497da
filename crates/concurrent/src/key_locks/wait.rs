//! Waiting for a lock: until it is granted or stolen, or the waiter gives up.

use super::entry::{Entry, Waiter};
use super::owner::LockOwner;
use super::table::{Place, Shard};
use super::{KeyLocks, LockError, LockMode, Timeout, Wait};
use crate::sync::Arc;
use crate::sync::blocking::{MutexGuard, now};
use std::time::{Duration, Instant};

/// How long an owner waits before it looks for deadlocks: most locks are held for less. Owners that
/// do not ask for that look, too: a deadlock holds up all that want its keys until a time-out.
const SEARCH_AFTER: Duration = Duration::from_micros(500);

impl KeyLocks {
    /// Waits for a lock that others hold. `shard` is the lock of the key's shard.
    pub(super) fn wait(
        &self,
        mut shard: MutexGuard<'_, Shard>,
        owner: &Arc<LockOwner>,
        place: Place<'_>,
        mode: LockMode,
        wait: &Wait,
    ) -> Result<(), LockError> {
        let begun = now();
        if wait.timeout == Timeout::No && wait.deadlock_depth.is_none() {
            return try_steal(&mut shard, owner, place, mode, begun);
        }
        let waiter = Arc::new(Waiter::new(owner, mode));
        entry_of(&mut shard, place).enqueue(Arc::clone(&waiter));
        let ended = self.wait_in_queue(shard, &waiter, place, wait, begun);
        owner.add_wait(now().saturating_duration_since(begun));
        ended
    }

    fn wait_in_queue<'a>(
        &'a self,
        mut shard: MutexGuard<'a, Shard>,
        waiter: &Arc<Waiter>,
        place: Place<'_>,
        wait: &Wait,
        begun: Instant,
    ) -> Result<(), LockError> {
        let id = waiter.holder.id;
        let deadline = match wait.timeout {
            Timeout::No => Some(begun),
            // A time that cannot be told never comes.
            Timeout::For(time) => begun.checked_add(time),
            Timeout::Forever => None,
        };
        let later = begun + SEARCH_AFTER;
        let soon = deadline.is_some_and(|deadline| deadline < later);
        let mut search = wait.deadlock_depth.is_some() || !soon;
        let search_at = if soon { begun } else { later };
        let mut in_graph = false;
        let mut time = begun;
        let ended = loop {
            if let Some(ended) = waiter.outcome() {
                break ended;
            }
            let entry = entry_of(&mut shard, place);
            let steals = entry.queue.front().is_some_and(|w| Arc::ptr_eq(w, waiter));
            if steals && entry.steal(id, time) {
                entry.settle();
            } else if search && search_at <= time {
                search = false;
                drop(shard);
                let added = self.graph.add(self, id, place, waiter.mode, wait);
                in_graph = added.is_ok();
                shard = self.shard(place.hash).lock();
                time = now().max(time);
                if let (Err(e), None) = (added, waiter.outcome()) {
                    entry_of(&mut shard, place).leave(waiter);
                    break Err(e);
                }
            } else if deadline.is_some_and(|deadline| deadline <= time) {
                entry.leave(waiter);
                break Err(LockError::TimedOut);
            } else {
                let search_at = search.then_some(search_at);
                let times = [deadline, search_at, entry.may_steal_at(waiter, time)];
                time = waiter.park(&mut shard, times.into_iter().flatten().min());
            }
        };
        drop(shard);
        if in_graph {
            self.graph.remove(id);
        }
        ended
    }
}

/// The entry of a lock that somebody holds or waits for.
fn entry_of<'a>(shard: &'a mut Shard, place: Place<'_>) -> &'a mut Entry {
    shard.get_mut(place).expect("a lock in use has an entry")
}

/// Takes the lock without waiting, if its holders have expired.
fn try_steal(
    shard: &mut Shard,
    owner: &Arc<LockOwner>,
    place: Place<'_>,
    mode: LockMode,
    time: Instant,
) -> Result<(), LockError> {
    let entry = entry_of(shard, place);
    if entry.queue.is_empty() && entry.steal(owner.id(), time) && entry.try_take(owner, mode) {
        return Ok(());
    }
    Err(LockError::TimedOut)
}
