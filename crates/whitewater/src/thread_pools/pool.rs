//! A pool of threads that work for all databases of an environment.
//!
//! A database is a member while it is open. A thread that makes work for a database has the
//! pool look at it ([`Pool::wake`]). The database is queued, at most once, and a free thread of
//! the pool looks whether there is a job, and does it. So the database's own state says whether
//! there is work, and the queue only says where to look.
//!
//! * P1: a database that was woken after a thread began to look at it is looked at again,
//!   because it leaves the queue before the look.
//! * P2: at most [`Member::wanted`] threads of the pool work for one database at a time, less
//!   those whose place a thread of another pool has ([`Member::lent`]). Meanwhile it stays queued,
//!   and others behind it go first.
//! * P3: only callers start threads, from their own threads, because a thread inherits the
//!   priority of the thread that starts it.
//! * P4: the pool's lock is a leaf. A database's last reference is never dropped under it.
//! * P5: a pool without members ends for good, and another one takes its place, so that a
//!   caller that waits for its threads does not wait for those of others.
//! * P6: a thread that queues a database wakes one thread. If that one ends instead, because
//!   there are too many, it wakes another.

use super::{PoolClient, Pools, Priority};
use std::cell::RefCell;
use std::collections::{BTreeMap, VecDeque};
use std::fmt;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::{Arc, Weak};
use std::time::Instant;
use whitewater_concurrent::system::{self, Condvar, JoinHandle, Mutex};
use whitewater_storage::{Error, ErrorKind, Result};

/// The outcome of a thread's look at a database.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Found {
    /// There was a job, which is done. There may be more.
    Job,
    /// There is nothing to do, until the given time if there is one.
    Nothing(Option<Instant>),
}

/// Threads of one kind and one priority.
pub(crate) struct Pool {
    /// The beginning of the threads' names, before their numbers.
    name: &'static str,
    /// The niceness of its threads.
    nice: i32,
    /// The priority of the jobs that its threads look for.
    priority: Priority,
    pools: Weak<Pools>,
    state: Mutex<State>,
    /// Signals threads that there may be a database to look at, or that they should end.
    wake: Condvar,
    /// Signals callers that leave the pool that a thread is done with a database.
    left: Condvar,
}

#[derive(Default)]
struct State {
    /// Whether the pool has ended: it has no members, and never gets any (P5).
    ended: bool,
    /// The number of threads to have; `None` is as many as the member that wants most.
    bound: Option<usize>,
    /// The number of running threads.
    threads: usize,
    /// The number of running threads that wait for the work of others.
    waiting: usize,
    handles: Vec<JoinHandle<()>>,
    members: BTreeMap<u64, Member>,
    /// The members to look at, each at most once (P1).
    queue: VecDeque<u64>,
    next_id: u64,
}

/// A database in a pool.
struct Member {
    client: Arc<dyn PoolClient>,
    /// The number of threads that may work for the database at a time.
    wanted: usize,
    /// The number of threads that work for it.
    active: usize,
    /// The number of threads of another pool that work for it in place of threads of this one.
    lent: usize,
    queued: bool,
    /// The latest time at which to look at the database.
    due: Option<Instant>,
    leaving: Leaving,
}

#[derive(PartialEq, Eq)]
enum Leaving {
    No,
    /// The last thread that works for the database removes it.
    Alone,
    /// A caller waits for the last thread and removes the database.
    Awaited,
}

thread_local! {
    /// The pool that the thread belongs to.
    static OWN: RefCell<Option<Arc<Pool>>> = const { RefCell::new(None) };
}

impl State {
    fn limit(&self) -> usize {
        let most = || self.members.values().map(|m| m.wanted).max().unwrap_or(0);
        self.bound.unwrap_or_else(most).saturating_add(self.waiting)
    }

    fn enqueue(&mut self, id: u64) -> bool {
        match self.members.get_mut(&id) {
            Some(member) if !member.queued => {
                member.queued = true;
                self.queue.push_back(id);
                true
            }
            _ => false,
        }
    }

    fn enqueue_due(&mut self) {
        let Some(first) = self.next_due() else {
            return;
        };
        let now = system::now();
        if first > now {
            return;
        }
        for (id, member) in &mut self.members {
            if member.due.is_some_and(|due| due <= now) {
                member.due = None;
                if !std::mem::replace(&mut member.queued, true) {
                    self.queue.push_back(*id);
                }
            }
        }
    }

    fn next_due(&self) -> Option<Instant> {
        self.members.values().filter_map(|m| m.due).min()
    }

    /// Whether one more thread may work for member `id` (P2).
    fn is_free(&self, id: u64) -> bool {
        let member = self.members.get(&id);
        member.is_some_and(|m| m.active + m.lent < m.wanted)
    }

    /// Whether a thread has nothing to do: more of them run than work for members or are to.
    fn is_idle(&self) -> bool {
        let active: usize = self.members.values().map(|m| m.active).sum();
        let next = self.queue.iter().filter(|id| self.is_free(**id)).count();
        self.threads > active + next
    }

    /// Takes the first member that a thread may work for (P2).
    fn take(&mut self) -> Option<(u64, Arc<dyn PoolClient>)> {
        let members = &self.members;
        self.queue.retain(|id| members.contains_key(id));
        let at = self.queue.iter().position(|id| self.is_free(*id))?;
        let id = self.queue.remove(at)?;
        let member = self.members.get_mut(&id)?;
        member.queued = false;
        member.due = None;
        member.active += 1;
        Some((id, member.client.clone()))
    }
}

impl Pool {
    pub(super) fn new(
        name: &'static str,
        nice: i32,
        priority: Priority,
        bound: Option<usize>,
        pools: Weak<Pools>,
    ) -> Arc<Self> {
        Arc::new(Pool {
            name,
            nice,
            priority,
            pools,
            state: Mutex::new(State {
                bound,
                ..State::default()
            }),
            wake: Condvar::new(),
            left: Condvar::new(),
        })
    }

    /// Makes a database a member for which `wanted` threads may work at a time, and has a thread
    /// look at it. Called under the lock of [`Pools`], so that the pool is not ended meanwhile.
    pub(super) fn add(&self, client: Arc<dyn PoolClient>, wanted: usize) -> u64 {
        let mut state = self.state.lock();
        let id = state.next_id;
        state.next_id += 1;
        let member = Member {
            client,
            wanted,
            active: 0,
            lent: 0,
            queued: false,
            due: None,
            leaving: Leaving::No,
        };
        state.members.insert(id, member);
        state.enqueue(id);
        drop(state);
        self.wake.notify_one();
        id
    }

    /// Has a thread look at member `id`.
    pub(super) fn wake(&self, id: u64) {
        let queued = self.state.lock().enqueue(id);
        if queued {
            self.wake.notify_one();
        }
    }

    /// Starts the threads that are missing (P3).
    ///
    /// # Errors
    /// `Aborted` if a thread cannot be started.
    pub(super) fn start_threads(self: &Arc<Self>) -> Result<()> {
        self.start_up_to(usize::MAX)
    }

    /// The same as [`Pool::start_threads`], but only until there are `most` threads.
    pub(super) fn start_up_to(self: &Arc<Self>, most: usize) -> Result<()> {
        let mut state = self.state.lock();
        // Some threads may have ended since their number was lowered.
        state.handles.retain(|thread| !thread.is_finished());
        while !state.ended && state.threads < state.limit().min(most) {
            let (number, limit) = (state.threads, state.limit());
            let pool = self.clone();
            let name = format!("{}{number}", self.name);
            let thread = system::spawn(name.clone(), move || pool.run()).map_err(|e| {
                let what = format!("starting background thread {name} of {limit}: {e}");
                Error::new(ErrorKind::Aborted, what)
            })?;
            state.threads += 1;
            state.handles.push(thread);
        }
        Ok(())
    }

    /// Whether any thread runs. A pool that is to have threads keeps one while it has members.
    pub(super) fn has_threads(&self) -> bool {
        self.state.lock().threads > 0
    }

    /// Has a thread look at member `id` if one has nothing else to do, and may work for it; returns
    /// whether that is so.
    pub(super) fn wake_if_idle(&self, id: u64) -> bool {
        let mut state = self.state.lock();
        let woken = state.is_idle() && state.is_free(id) && state.enqueue(id);
        drop(state);
        if woken {
            self.wake.notify_one();
        }
        woken
    }

    /// A thread of another pool works for member `id` from now on, in place of one of this pool.
    pub(super) fn lend(&self, id: u64) {
        if let Some(member) = self.state.lock().members.get_mut(&id) {
            member.lent += 1;
        }
    }

    /// The work that [`Pool::lend`] was called for is done.
    pub(super) fn take_back(&self, id: u64) {
        if let Some(member) = self.state.lock().members.get_mut(&id) {
            member.lent = member.lent.saturating_sub(1);
        }
        // The member may have been queued meanwhile.
        self.wake.notify_one();
    }

    /// Whether a thread has nothing to do.
    #[cfg(test)]
    pub fn is_idle(&self) -> bool {
        self.state.lock().is_idle()
    }

    /// The number of running threads.
    #[cfg(test)]
    pub fn threads(&self) -> usize {
        self.state.lock().threads
    }

    /// Whether a caller waits for the last thread that works for a member.
    #[cfg(test)]
    pub fn is_awaited(&self) -> bool {
        let state = self.state.lock();
        let mut members = state.members.values();
        members.any(|member| member.leaving == Leaving::Awaited)
    }

    /// Sets the number of threads that may work for member `id` at a time. If the pool then has too
    /// many threads, those end.
    pub(super) fn set_wanted(&self, id: u64, wanted: usize) {
        if let Some(member) = self.state.lock().members.get_mut(&id) {
            member.wanted = wanted;
        }
        self.wake.notify_all();
    }

    pub(super) fn wanted(&self, id: u64) -> usize {
        let state = self.state.lock();
        state.members.get(&id).map_or(0, |member| member.wanted)
    }

    /// Sets the number of threads to have, regardless of what members want.
    pub(super) fn set_bound(&self, bound: Option<usize>) {
        self.state.lock().bound = bound;
        self.wake.notify_all();
    }

    /// Prevents threads from looking at member `id` from now on.
    pub(super) fn stop(&self, id: u64) {
        if let Some(member) = self.state.lock().members.get_mut(&id) {
            member.wanted = 0;
        }
    }

    /// Ends the membership of `id`, which has been [stopped](Self::stop). With `wait`, no thread
    /// works for the member when this returns and, if this has ended the pool, its threads have
    /// ended.
    pub(super) fn leave(self: &Arc<Self>, id: u64, wait: bool) {
        let gone = {
            let mut state = self.state.lock();
            loop {
                let Some(member) = state.members.get_mut(&id) else {
                    break None;
                };
                if member.active == 0 {
                    break state.members.remove(&id);
                }
                if !wait {
                    // A caller that waits already removes the member itself.
                    if member.leaving == Leaving::No {
                        member.leaving = Leaving::Alone;
                    }
                    break None;
                }
                member.leaving = Leaving::Awaited;
                self.left.wait(&mut state);
            }
        };
        drop(gone);
        self.end_if_empty();
        self.end_surplus();
        if wait {
            self.join();
        }
    }

    /// Makes threads end that are no longer wanted after a member has left.
    fn end_surplus(&self) {
        let state = self.state.lock();
        if state.threads > state.limit() {
            self.wake.notify_all();
        }
    }

    fn end_if_empty(self: &Arc<Self>) {
        match self.pools.upgrade() {
            Some(pools) => pools.end_if_empty(self),
            // Without `Pools`, no database can become a member.
            None => _ = self.end(),
        }
    }

    /// Ends the pool if it has no members. Returns whether it has ended (P5). Called under the lock
    /// of [`Pools`], if they still exist.
    pub(super) fn end(&self) -> bool {
        let mut state = self.state.lock();
        state.ended |= state.members.is_empty();
        let ended = state.ended;
        drop(state);
        if ended {
            self.wake.notify_all();
        }
        ended
    }

    /// Waits for the threads of a pool that has ended, unless called on one of them.
    fn join(self: &Arc<Self>) {
        let own = OWN.with_borrow(|own| own.as_ref().is_some_and(|own| Arc::ptr_eq(own, self)));
        if own {
            return;
        }
        let handles = {
            let mut state = self.state.lock();
            if state.ended {
                std::mem::take(&mut state.handles)
            } else {
                return;
            }
        };
        for thread in handles {
            // Panics of the work are caught inside the thread.
            let _ = thread.join();
        }
    }

    /// The body of a thread, which runs until there is a thread too many.
    fn run(self: Arc<Self>) {
        be_nice(self.nice);
        OWN.set(Some(self.clone()));
        while let Some((id, client)) = self.next() {
            let look = || client.clone().run_one(self.priority);
            let found = catch_unwind(AssertUnwindSafe(look)).unwrap_or_else(|_| {
                client.note_panic();
                Found::Nothing(None)
            });
            drop(client);
            self.done_with(id, found);
        }
        OWN.set(None);
    }

    /// Waits for a member to look at; `None` ends the thread.
    fn next(&self) -> Option<(u64, Arc<dyn PoolClient>)> {
        let mut state = self.state.lock();
        loop {
            if state.ended || state.threads > state.limit() {
                state.threads -= 1;
                // The thread may have been woken for a database (P6).
                if !state.queue.is_empty() {
                    self.wake.notify_one();
                }
                return None;
            }
            state.enqueue_due();
            if let Some(taken) = state.take() {
                // Several members may have been due, and this is only one of them.
                if !state.queue.is_empty() {
                    self.wake.notify_one();
                }
                return Some(taken);
            }
            match state.next_due() {
                None => self.wake.wait(&mut state),
                Some(due) => drop(self.wake.wait_until(&mut state, due)),
            }
        }
    }

    fn done_with(self: &Arc<Self>, id: u64, found: Found) {
        let mut state = self.state.lock();
        let mut gone = None;
        if let Some(member) = state.members.get_mut(&id) {
            member.active -= 1;
            if let Found::Nothing(Some(due)) = found {
                member.due = Some(member.due.map_or(due, |earlier| earlier.min(due)));
            }
            let is_last = member.active == 0;
            match member.leaving {
                Leaving::No => {}
                Leaving::Alone if is_last => gone = state.members.remove(&id),
                Leaving::Alone => {}
                Leaving::Awaited => {
                    self.left.notify_all();
                }
            }
        }
        if found == Found::Job {
            state.enqueue(id);
        }
        drop(state);
        if gone.is_some() {
            drop(gone);
            self.end_if_empty();
            self.end_surplus();
        }
    }
}

impl fmt::Debug for Pool {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let state = self.state.lock();
        f.debug_struct("Pool")
            .field("name", &self.name)
            .field("nice", &self.nice)
            .field("threads", &state.threads)
            .field("members", &state.members.len())
            .finish_non_exhaustive()
    }
}

/// While this lives, the calling thread does not count as a thread of its pool, if it belongs
/// to one. It is in a callback that uses another database, and waits for work that other
/// threads of the pool may have to do.
pub(crate) struct Waiting(Option<Arc<Pool>>);

/// The pool that the calling thread belongs to, to be passed to threads that it waits for.
pub(crate) fn own_pool() -> Option<Arc<Pool>> {
    OWN.with_borrow(Option::clone)
}

/// Makes the calling thread work for a thread of another pool, whose [`own_pool`] is given.
pub(crate) fn work_for_pool(pool: Option<Arc<Pool>>) {
    OWN.set(pool);
}

impl Waiting {
    pub fn begin() -> Self {
        let own = own_pool();
        if let Some(pool) = &own {
            pool.state.lock().waiting += 1;
            // The new thread inherits the right priority (P3). If it cannot be started, other
            // threads do the work later.
            let _ = pool.start_threads();
        }
        Waiting(own)
    }
}

impl Drop for Waiting {
    fn drop(&mut self) {
        if let Some(pool) = &self.0 {
            pool.state.lock().waiting -= 1;
            pool.wake.notify_all();
        }
    }
}

/// The niceness of the calling thread; 0 on systems where threads have none.
#[cfg(target_os = "linux")]
pub(super) fn own_niceness() -> i32 {
    rustix::process::getpriority_process(None).unwrap_or(0)
}

#[cfg(not(target_os = "linux"))]
pub(super) fn own_niceness() -> i32 {
    0
}

/// Raises the niceness of the calling thread, and of those that it starts, to `target`. If that
/// fails, jobs still do all their work.
#[cfg(target_os = "linux")]
fn be_nice(target: i32) {
    let steps = target - own_niceness();
    if steps > 0 {
        let _ = rustix::process::nice(steps);
    }
}

/// Options other than 0 were refused, so there is nothing to do.
#[cfg(not(target_os = "linux"))]
fn be_nice(_: i32) {}
