//! The thread pools of an environment, which its databases share, as in RocksDB.
//!
//! Flushes have high priority and compactions low priority. Compactions to the last level have
//! the lowest, if there are threads for them. Databases that ask for another niceness of these
//! threads have other pools, because the system lets no thread become less nice. A pool has as
//! many threads as the database that wants most of them, or as [`Env`](crate::Env) was told.
//! Two more pools have a single thread each: one runs read-triggered compactions and is less nice,
//! because reads are slower until these end; the other does what is due by time. A pool knows a
//! database as a [`PoolClient`], which looks for jobs itself.
//!
//! The threads of a pool end with the last database that uses the pool.
//!
//! * [`pool`]: the threads of one priority, and the databases they work for.
//! * [`owner`]: the database for which a thread works.

pub(crate) mod owner;
pub(crate) mod pool;

use pool::{Found, Pool, own_niceness};
use std::collections::HashMap;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, LazyLock, OnceLock};
use whitewater_concurrent::system::Mutex;
use whitewater_storage::Result;

/// A database, as the threads of the pools see it.
pub(crate) trait PoolClient: Send + Sync {
    /// Looks whether there is a job of this priority, and does it if there is one.
    fn run_one(self: Arc<Self>, priority: Priority) -> Found;
    /// Records that a look at the database panicked.
    fn note_panic(&self);
}

/// The kind of work that a pool does.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(crate) enum Priority {
    /// Flushes.
    High,
    /// Compactions.
    Low,
    /// Compactions to the last level, if the pool has any threads. Otherwise they are compactions
    /// like all others.
    Bottom,
    /// Read-triggered compactions, where the threads that compact are nice. A database without such
    /// a thread has its other ones run them.
    Reads,
    /// Statistics that are due from time to time.
    Timer,
}

impl Priority {
    const ALL: [Priority; 5] = [
        Priority::High,
        Priority::Low,
        Priority::Bottom,
        Priority::Reads,
        Priority::Timer,
    ];

    fn name(self) -> &'static str {
        match self {
            Priority::High => "ww-flush",
            Priority::Low => "ww-compact",
            Priority::Bottom => "ww-bottom",
            Priority::Reads => "ww-reads",
            Priority::Timer => "ww-stats",
        }
    }
}

/// The highest possible niceness.
const NICEST: i32 = 19;

/// The largest number of threads that a pool can be told to have: as many as one database can
/// want.
const MOST: usize = 1024;

/// The pools of the process. They serve databases whose options name no environment, or one
/// made by `Env::new`.
static OF_PROCESS: LazyLock<Arc<Pools>> = LazyLock::new(Arc::default);

/// The thread pools of an environment; see the [module](self).
#[derive(Debug, Default)]
pub(crate) struct Pools {
    /// The pools and their bounds. This lock is taken before the lock of a pool.
    registry: Mutex<Registry>,
    /// Whether compactions to the last level are left to a pool of their own.
    /// Written by: [`Pools::set_threads`]. Read by: threads that compact (relaxed; either way the
    /// compaction is run). Publishes nothing.
    has_bottom: AtomicBool,
}

#[derive(Debug, Default)]
struct Registry {
    pools: HashMap<(Priority, i32), Arc<Pool>>,
    /// The number of threads that a pool was told to have. A database that wants more raises it.
    bounds: HashMap<Priority, usize>,
}

impl Pools {
    /// The pools of the process.
    pub fn of_process() -> Arc<Self> {
        OF_PROCESS.clone()
    }

    /// Makes `client` a member of the pool for `priority` whose threads are `nice` steps nicer than
    /// the calling thread. The caller must still start the threads.
    fn join(
        self: &Arc<Self>,
        client: &Arc<dyn PoolClient>,
        priority: Priority,
        nice: i32,
        wanted: usize,
    ) -> Membership {
        let nice = (own_niceness() + nice).min(NICEST);
        let mut registry = self.registry.lock();
        registry.raise(priority, wanted);
        let bound = registry.bound(priority);
        let pools = Arc::downgrade(self);
        let new = || Pool::new(priority.name(), nice, priority, bound, pools);
        let pool = registry.pools.entry((priority, nice)).or_insert_with(new);
        Membership {
            id: pool.add(client.clone(), wanted),
            pool: pool.clone(),
            priority,
            pools: self.clone(),
        }
    }

    /// Gives each pool for `priority` `threads` threads: at most [`MOST`] and, except for
    /// [`Priority::Bottom`], at least one. Starts the missing ones in pools with open databases, as
    /// far as the system allows.
    pub fn set_threads(&self, priority: Priority, threads: i32) {
        let mut threads = usize::try_from(threads).unwrap_or(0).min(MOST);
        if priority == Priority::Bottom {
            // Relaxed: see the notes on the field.
            self.has_bottom.store(threads > 0, Ordering::Relaxed);
        }
        if priority != Priority::Bottom || self.registry.lock().bounds.contains_key(&priority) {
            // The work that was left to the pool must still be done.
            threads = threads.max(1);
        }
        let mut registry = self.registry.lock();
        registry.bounds.insert(priority, threads);
        registry.tell(priority);
        let pools: Vec<_> = registry.of(priority).cloned().collect();
        drop(registry);
        for pool in pools {
            // There is at least one thread already, and the callers of this function expect no
            // error.
            let _ = pool.start_threads();
        }
    }

    /// Ends `pool` if it has no members.
    pub(super) fn end_if_empty(&self, pool: &Arc<Pool>) {
        let mut registry = self.registry.lock();
        if pool.end() {
            registry.pools.retain(|_, other| !Arc::ptr_eq(other, pool));
        }
    }

    /// The number of running threads.
    #[cfg(test)]
    pub fn threads(&self, priority: Priority) -> usize {
        let registry = self.registry.lock();
        registry.of(priority).map(|pool| pool.threads()).sum()
    }

    /// Whether there is a pool whose threads are `nice` steps nicer than the caller.
    #[cfg(test)]
    pub fn has_nice(&self, priority: Priority, nice: i32) -> bool {
        let nice = (own_niceness() + nice).min(NICEST);
        self.registry.lock().pools.contains_key(&(priority, nice))
    }

    /// Whether a thread works for a database, or is to look at one.
    #[cfg(test)]
    pub fn is_at_work(&self, priority: Priority) -> bool {
        let registry = self.registry.lock();
        registry.of(priority).any(|pool| !pool.is_idle())
    }

    /// Whether a caller waits for the threads that work for a database that leaves.
    #[cfg(test)]
    pub fn is_awaited(&self, priority: Priority) -> bool {
        let registry = self.registry.lock();
        registry.of(priority).any(|pool| pool.is_awaited())
    }
}

impl Registry {
    fn of(&self, priority: Priority) -> impl Iterator<Item = &Arc<Pool>> {
        let all = self.pools.iter();
        all.filter(move |((of, _), _)| *of == priority)
            .map(|(_, pool)| pool)
    }

    /// A database wants `wanted` threads. As in RocksDB, a bound that is lower is raised.
    fn raise(&mut self, priority: Priority, wanted: usize) {
        if let Some(bound) = self.bounds.get_mut(&priority)
            && priority != Priority::Bottom
            && *bound < wanted
        {
            *bound = wanted;
            self.tell(priority);
        }
    }

    /// The number of threads that a pool is to have, unless that depends on its members.
    fn bound(&self, priority: Priority) -> Option<usize> {
        let none = (priority == Priority::Bottom).then_some(0);
        self.bounds.get(&priority).copied().or(none)
    }

    fn tell(&self, priority: Priority) {
        let bound = self.bound(priority);
        self.of(priority).for_each(|pool| pool.set_bound(bound));
    }
}

/// The membership of a database in a pool.
#[derive(Debug)]
struct Membership {
    pool: Arc<Pool>,
    id: u64,
    priority: Priority,
    pools: Arc<Pools>,
}

/// The memberships of an open database in the pools.
#[derive(Debug, Default)]
pub(crate) struct BackgroundWork {
    /// The memberships by priority, set at the end of opening. Before that, there are no threads to
    /// wake.
    memberships: [OnceLock<Membership>; 5],
}

impl BackgroundWork {
    /// Makes the database a member of the pools from which it wants threads, and starts these. At
    /// least one thread in each pool is needed, but for [`Priority::Reads`]. If there are fewer
    /// than wanted, `warn` is called. `wanted` has the niceness and the number of threads of each
    /// pool, in the order of [`Priority`].
    ///
    /// # Errors
    /// `Aborted` if a pool has no thread and none can be started.
    pub fn start(
        &self,
        client: &Arc<dyn PoolClient>,
        wanted: [(i32, usize); 5],
        pools: &Arc<Pools>,
        warn: impl Fn(&str),
    ) -> Result<()> {
        let slots = self.memberships.iter().zip(Priority::ALL);
        for ((slot, priority), (nice, wanted)) in slots.zip(wanted).filter(|(_, w)| w.1 > 0) {
            let member = slot.get_or_init(|| pools.join(client, priority, nice, wanted));
            if priority != Priority::Reads {
                member.pool.start_up_to(1)?;
            }
        }
        for member in self.all() {
            if let Err(e) = member.pool.start_threads() {
                warn(&format!("{e}; the database does without"));
            }
        }
        Ok(())
    }

    /// Raises the numbers of threads that may work for the database at a time to at least `flushes`
    /// and `compactions`, and starts threads where the pools have fewer.
    ///
    /// # Errors
    /// `Aborted` if a thread cannot be started. The numbers are then as before.
    pub fn raise(&self, flushes: usize, compactions: usize) -> Result<()> {
        let before = self.wanted();
        let at_least = (before.0.max(flushes), before.1.max(compactions));
        self.set_wanted(at_least);
        for member in self.all() {
            if let Err(e) = member.pool.start_threads() {
                self.set_wanted(before);
                return Err(e);
            }
        }
        Ok(())
    }

    /// The numbers of threads that may flush and compact for the database at a time.
    fn wanted(&self) -> (usize, usize) {
        let of = |priority| self.get(priority).map_or(0, |m| m.pool.wanted(m.id));
        (of(Priority::High), of(Priority::Low))
    }

    /// Sets the numbers of threads that may flush and compact for the database at a time.
    /// [`BackgroundWork::raise`] starts threads.
    pub fn set_wanted(&self, (flushes, compactions): (usize, usize)) {
        for (priority, wanted) in [(Priority::High, flushes), (Priority::Low, compactions)] {
            if let Some(member) = self.get(priority) {
                member.pools.registry.lock().raise(priority, wanted);
                member.pool.set_wanted(member.id, wanted);
            }
        }
    }

    /// Has threads look at the database, which may have something to flush or to compact.
    pub fn notify_all(&self) {
        self.wake(Priority::High);
        self.wake(Priority::Low);
    }

    /// Has a thread look at the database, which may have work of this priority.
    pub fn wake(&self, priority: Priority) {
        if let Some(member) = self.get(priority) {
            member.pool.wake(member.id);
        }
    }

    /// After this, no thread looks for work in the database any longer. With `wait`, no thread
    /// works for the database when this returns. Idempotent.
    pub fn end(&self, wait: bool) {
        // All are stopped first, so that no pool begins a job while the threads of another are
        // waited for.
        self.all().for_each(|member| member.pool.stop(member.id));
        self.all()
            .for_each(|member| member.pool.leave(member.id, wait));
    }

    /// Whether compactions to the last level are left to a pool of their own.
    pub fn has_bottom(&self) -> bool {
        // Relaxed: see the notes on the field.
        let asked_for = |m: &&Membership| m.pools.has_bottom.load(Ordering::Relaxed);
        let member = self.get(Priority::Bottom).filter(asked_for);
        // The system may not have allowed a thread to start.
        member.is_some_and(|m| m.pool.has_threads())
    }

    /// Has the thread for read-triggered compactions look at the database, if it is idle; returns
    /// whether it is. It then counts among the threads that compact for the database, until
    /// what [`BackgroundWork::lent`] returns is dropped.
    pub fn wake_for_reads(&self) -> bool {
        let (reads, low) = (self.get(Priority::Reads), self.get(Priority::Low));
        let (Some(reads), Some(low)) = (reads, low) else {
            return false;
        };
        let is_idle = reads.pool.wake_if_idle(reads.id);
        if is_idle {
            low.pool.lend(low.id);
        }
        is_idle
    }

    /// Lives while the compaction runs that [`BackgroundWork::wake_for_reads`] was called for.
    pub fn lent(&self) -> Lent<'_> {
        Lent(self)
    }

    /// Whether the threads were started.
    pub fn is_started(&self) -> bool {
        self.get(Priority::Timer).is_some()
    }

    fn get(&self, priority: Priority) -> Option<&Membership> {
        self.all().find(|member| member.priority == priority)
    }

    fn all(&self) -> impl Iterator<Item = &Membership> {
        self.memberships.iter().filter_map(OnceLock::get)
    }
}

/// The place of a thread that compacts, which the one for read-triggered compactions has.
pub(crate) struct Lent<'a>(&'a BackgroundWork);

impl Drop for Lent<'_> {
    fn drop(&mut self) {
        if let Some(low) = self.0.get(Priority::Low) {
            low.pool.take_back(low.id);
        }
    }
}
