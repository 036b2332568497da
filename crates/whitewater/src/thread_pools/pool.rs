//! A pool of threads that work for all databases of an environment.
//!
//! A database is a member while it is open. Whoever makes work for it has the pool
//! look at it ([`Pool::wake`]): it is queued, once at most, and a thread that is free
//! looks whether there is a job, and does it. So what says whether there is work is
//! the database's own state, and the queue only says where to look.
//!
//! * P1: a database that was woken after a thread began to look at it is looked at
//!   again: it leaves the queue before the look.
//! * P2: of the threads at most [`Member::wanted`] work for one database at a time; it
//!   stays queued meanwhile, and others behind it go first.
//! * P3: threads are started by callers only, on their own threads, for a thread
//!   inherits the priority of the one that starts it.
//! * P4: the pool's lock is a leaf. A database's last reference is never dropped
//!   under it.
//! * P5: a pool without members ends for good, and another one takes its place, so
//!   that whoever waits for its threads does not wait for those of others.
//! * P6: whoever queues a database wakes one thread. If that one ends instead, since
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

/// What a thread found when it looked at a database.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Found {
    /// A job, which is done; there may be more.
    Job,
    /// Nothing to do, until the moment if there is one.
    Nothing(Option<Instant>),
}

/// Threads of one kind and one priority.
pub(crate) struct Pool {
    /// What its threads are called, before their numbers.
    name: &'static str,
    /// The niceness of its threads.
    nice: i32,
    /// What its threads look for.
    priority: Priority,
    pools: Weak<Pools>,
    state: Mutex<State>,
    /// Signals threads: there may be a database to look at, or an end.
    wake: Condvar,
    /// Signals those who leave: a thread is done with a database.
    left: Condvar,
}

#[derive(Default)]
struct State {
    /// Nobody is a member any more, and nobody becomes one (P5).
    ended: bool,
    /// How many threads there are to be; `None` is as many as the member that wants
    /// most.
    bound: Option<usize>,
    /// Threads that run.
    threads: usize,
    /// Of these, how many wait for what others do.
    waiting: usize,
    handles: Vec<JoinHandle<()>>,
    members: BTreeMap<u64, Member>,
    /// Members to be looked at, each once (P1).
    queue: VecDeque<u64>,
    next_id: u64,
}

/// A database in a pool.
struct Member {
    client: Arc<dyn PoolClient>,
    /// Threads that may work for it at a time.
    wanted: usize,
    /// Threads that do.
    active: usize,
    queued: bool,
    /// When it is to be looked at at the latest.
    due: Option<Instant>,
    leaving: Leaving,
}

#[derive(PartialEq, Eq)]
enum Leaving {
    No,
    /// The last thread that works for it removes it.
    Alone,
    /// Somebody waits for that and removes it.
    Awaited,
}

thread_local! {
    /// The pool that the thread is of.
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

    /// The first member that a thread may work for (P2).
    fn take(&mut self) -> Option<(u64, Arc<dyn PoolClient>)> {
        let members = &mut self.members;
        self.queue.retain(|id| members.contains_key(id));
        let free = |id: &u64| members.get(id).is_some_and(|m| m.active < m.wanted);
        let at = self.queue.iter().position(free)?;
        let id = self.queue.remove(at)?;
        let member = members.get_mut(&id)?;
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

    /// Makes a database a member, for which `wanted` threads may work at a time, and
    /// has it looked at. Called under the lock of [`Pools`], which ends no pool
    /// meanwhile.
    pub(super) fn add(&self, client: Arc<dyn PoolClient>, wanted: usize) -> u64 {
        let mut state = self.state.lock();
        let id = state.next_id;
        state.next_id += 1;
        let member = Member {
            client,
            wanted,
            active: 0,
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

    /// Starts the threads that are to be and are not (P3).
    ///
    /// # Errors
    /// `Aborted` when one cannot be started.
    pub(super) fn start_threads(self: &Arc<Self>) -> Result<()> {
        self.start_up_to(usize::MAX)
    }

    /// [`Pool::start_threads`], until there are `most`.
    pub(super) fn start_up_to(self: &Arc<Self>, most: usize) -> Result<()> {
        let mut state = self.state.lock();
        // Of those that have ended since there were to be fewer.
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

    /// Whether any thread runs. A pool that is to have some keeps one while it has
    /// members.
    pub(super) fn has_threads(&self) -> bool {
        self.state.lock().threads > 0
    }

    /// How many threads run.
    #[cfg(test)]
    pub fn threads(&self) -> usize {
        self.state.lock().threads
    }

    /// How many threads may work for member `id` at a time; those that are too many
    /// in the pool end.
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

    /// Sets how many threads there are to be, whatever members want.
    pub(super) fn set_bound(&self, bound: Option<usize>) {
        self.state.lock().bound = bound;
        self.wake.notify_all();
    }

    /// Lets no thread look at member `id` any more.
    pub(super) fn stop(&self, id: u64) {
        if let Some(member) = self.state.lock().members.get_mut(&id) {
            member.wanted = 0;
        }
    }

    /// Ends the membership of `id`, which has been [stopped](Self::stop). With `wait`, none
    /// works for it when this returns, and threads of a pool that has ended by this
    /// are over.
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
                    member.leaving = Leaving::Alone;
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

    /// Has threads end that nobody wants since a member has left.
    fn end_surplus(&self) {
        let state = self.state.lock();
        if state.threads > state.limit() {
            self.wake.notify_all();
        }
    }

    fn end_if_empty(self: &Arc<Self>) {
        match self.pools.upgrade() {
            Some(pools) => pools.end_if_empty(self),
            // Nobody can become a member.
            None => _ = self.end(),
        }
    }

    /// Ends the pool if it has no members; returns whether it has ended (P5). Called
    /// under the lock of [`Pools`], if there are any.
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

    /// Waits for the threads of a pool that has ended, but not on one of its own.
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
            // Panics of the work are caught inside.
            let _ = thread.join();
        }
    }

    /// What a thread does until it is one too many.
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

    /// Waits for a member to look at; `None` is the end of the thread.
    fn next(&self) -> Option<(u64, Arc<dyn PoolClient>)> {
        let mut state = self.state.lock();
        loop {
            if state.ended || state.threads > state.limit() {
                state.threads -= 1;
                // It may have been woken for a database (P6).
                if !state.queue.is_empty() {
                    self.wake.notify_one();
                }
                return None;
            }
            state.enqueue_due();
            if let Some(taken) = state.take() {
                // Of several that were due, this is one.
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

/// While this lives, the calling thread is not counted among those of its pool, if it
/// is of one: it waits for what others of them may have to do, in a callback that uses
/// another database.
pub(crate) struct Waiting(Option<Arc<Pool>>);

/// The pool that the calling thread is of, to be handed to threads that it waits for.
pub(crate) fn own_pool() -> Option<Arc<Pool>> {
    OWN.with_borrow(Option::clone)
}

/// The calling thread works for one of another pool, whose [`own_pool`] is given.
pub(crate) fn work_for_pool(pool: Option<Arc<Pool>>) {
    OWN.set(pool);
}

impl Waiting {
    pub fn begin() -> Self {
        let own = own_pool();
        if let Some(pool) = &own {
            pool.state.lock().waiting += 1;
            // It is of the same priority (P3). Without it others do the work, later.
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

/// The niceness of the calling thread; 0 where threads have none.
#[cfg(target_os = "linux")]
pub(super) fn own_niceness() -> i32 {
    rustix::process::getpriority_process(None).unwrap_or(0)
}

#[cfg(not(target_os = "linux"))]
pub(super) fn own_niceness() -> i32 {
    0
}

/// Lowers the priority of the calling thread, and of those that it starts, to
/// `target`; without that a job still does all it has to.
#[cfg(target_os = "linux")]
fn be_nice(target: i32) {
    let steps = target - own_niceness();
    if steps > 0 {
        let _ = rustix::process::nice(steps);
    }
}

/// Other numbers than 0 were refused.
#[cfg(not(target_os = "linux"))]
fn be_nice(_: i32) {}
