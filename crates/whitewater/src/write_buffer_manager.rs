//! A budget of memory that the memtables of several column families and databases share:
//! RocksDB's write buffer manager.
//!
//! A [`Budget`] has [`BudgetClient`]s, one for each database. A client has
//! [`MemoryCharge`]s, one for each memtable. A charge grows in steps as the memtable
//! takes memory, so that writers do not contend for the counters. The first steps are 4 KiB,
//! so that little is charged for a memtable of few entries. Later steps are a sixteenth
//! of the charge, up to 256 KiB. A charge is *active* until the memtable is sealed (gets no
//! more entries), and ends when the memtable is freed, which may be long after its flush if a
//! reader holds it. Memtables without entries are not charged.
//!
//! With limit `s`, a memtable is to be flushed when more than 7/8 of `s` is active, or when `s`
//! is used and half of it is active (RocksDB's rule). The database with the most active memory
//! does the flush, whether it is the one that writes or another. If writers may be stalled,
//! they wait while `s` is used, and a memtable is flushed whenever the memory that is already
//! being freed is not enough to let them continue.
//!
//! Memory that is kept for later memtables (`art::pool_bytes`) is not charged: it belongs to no
//! database, and is charged again when a memtable takes it. The budget bounds it all the same:
//! it is kept for seconds, and together with the memtables' it is at most an eighth more than
//! what memtables have used at once in that time. It is also no more than the write buffers of
//! live memtables may grow to, and no more than `art::pool_limit`.
//!
//! Invariants:
//! * B1: `used` is the sum of all charges, `active` that of the active ones; a client's
//!   `active` is its part of it.
//! * B2: a stalled writer holds no lock and no place in a queue.
//! * B3: every change that may end a stall (memory freed, another limit, the end of a database)
//!   increments the epoch after it has taken effect. So does the end of a flush that has freed
//!   nothing, because a reader holds what was flushed or because the flush failed: another
//!   database must be asked then.
//!
//! Locks: `clients`, `epoch` and a cache's charge are leaves. [`Flusher::flush_soon`] takes the
//! engine's own lock, so it must not be called with a lock of the engine, or of this module,
//! held.

use std::fmt;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, OnceLock, Weak};
use std::time::Duration;
use whitewater_concurrent::system::{self, Condvar, Mutex};
use whitewater_storage::cache::BlockCache;
use whitewater_storage::{Error, ErrorKind, Result};

use crossbeam_utils::CachePadded;

/// The first step by which a charge grows: a page. Bytes.
const FIRST_STEP: usize = 4 << 10;

/// The step in which a cache is charged: the size of RocksDB's dummy entries. Bytes.
const CACHE_STEP: usize = 256 << 10;

/// An object that can free a client's memory.
pub(crate) trait Flusher: Send + Sync {
    /// Requests the flush of a memtable, if that helps the budget. Does not wait for it.
    fn flush_soon(&self);
}

/// A limit on the memory of memtables, and how much of it is used.
pub(crate) struct Budget {
    /// The limit, in bytes; 0 is none.
    /// Written by: [`Budget::set_limit`]. Read by: writers. Publishes nothing.
    limit: AtomicUsize,
    /// Whether writers wait while the limit is used.
    /// Written by: [`Budget::set_allow_stall`]. Read by: writers. Publishes
    /// nothing.
    allow_stall: AtomicBool,
    /// See B1.
    /// Written by: writers, once per step, and threads that seal or free a memtable (relaxed). Read
    /// by: every writer. Publish nothing.
    used: CachePadded<AtomicUsize>,
    active: AtomicUsize,
    cache: Option<CacheCharge>,
    clients: Mutex<Vec<Weak<BudgetClient>>>,
    /// The number of changes so far that may have ended a stall (B3).
    epoch: Mutex<u64>,
    changed: Condvar,
}

/// The amount that a cache is charged: `used`, rounded up to steps.
struct CacheCharge {
    cache: BlockCache,
    charged: Mutex<usize>,
}

impl Budget {
    /// A budget of `limit` bytes, 0 for no limit, charged to `cache`.
    pub fn new(limit: usize, allow_stall: bool, cache: Option<BlockCache>) -> Arc<Self> {
        Arc::new(Budget {
            limit: AtomicUsize::new(limit),
            allow_stall: AtomicBool::new(allow_stall),
            used: CachePadded::default(),
            active: AtomicUsize::new(0),
            cache: cache.map(|cache| CacheCharge {
                cache,
                charged: Mutex::new(0),
            }),
            clients: Mutex::default(),
            epoch: Mutex::new(0),
            changed: Condvar::new(),
        })
    }

    /// The limit in bytes; 0 is none.
    pub fn limit(&self) -> usize {
        self.limit.load(Ordering::Relaxed)
    }

    /// The cache that is charged, and how much. Bytes.
    pub fn cache_charge(&self) -> Option<(&BlockCache, usize)> {
        let CacheCharge { cache, charged } = self.cache.as_ref()?;
        Some((cache, *charged.lock()))
    }

    /// Changes the limit.
    pub fn set_limit(&self, bytes: usize) {
        self.limit.store(bytes, Ordering::Relaxed);
        self.wake();
    }

    /// Whether writers wait while the limit is used.
    pub fn set_allow_stall(&self, allow: bool) {
        self.allow_stall.store(allow, Ordering::Relaxed);
        self.wake();
    }

    /// The memory of all memtables. Bytes.
    pub fn used(&self) -> usize {
        self.used.load(Ordering::Relaxed)
    }

    /// The memory of memtables that still get entries. Bytes.
    pub fn active(&self) -> usize {
        self.active.load(Ordering::Relaxed)
    }

    /// Whether a memtable should be flushed.
    #[inline]
    pub fn should_flush(&self) -> bool {
        let limit = self.limit();
        if limit == 0 {
            return false;
        }
        let active = self.active();
        active > limit / 8 * 7 || (self.used() >= limit && active >= limit / 2)
    }

    /// Whether writers should wait.
    #[inline]
    pub fn should_stall(&self) -> bool {
        let limit = self.limit();
        limit > 0 && self.used() >= limit && self.allow_stall.load(Ordering::Relaxed)
    }

    /// The client with the most active memory, among the databases that still flush.
    pub fn heaviest(&self) -> Option<Arc<BudgetClient>> {
        let mut clients = self.clients.lock();
        clients.retain(|client| client.strong_count() > 0);
        let live = clients.iter().filter_map(Weak::upgrade);
        live.filter(|client| !client.out.load(Ordering::Relaxed))
            .max_by_key(|client| client.active.load(Ordering::Relaxed))
    }

    /// Makes stalled writers check again (B3).
    pub fn wake(&self) {
        *self.epoch.lock() += 1;
        self.changed.notify_all();
    }

    fn take(&self, bytes: usize) {
        self.used.fetch_add(bytes, Ordering::Relaxed);
        self.active.fetch_add(bytes, Ordering::Relaxed);
        self.charge_cache();
    }

    fn give_back(&self, bytes: usize) {
        self.used.fetch_sub(bytes, Ordering::Relaxed);
        self.charge_cache();
        self.wake();
    }

    fn charge_cache(&self) {
        let Some(CacheCharge { cache, charged }) = &self.cache else {
            return;
        };
        let mut charged = charged.lock();
        // `used` is read under the lock, so the last thread to take the lock sees all earlier
        // changes.
        let wanted = self.used().next_multiple_of(CACHE_STEP);
        if wanted != *charged {
            cache.charge(wanted, *charged);
            *charged = wanted;
        }
    }
}

impl fmt::Debug for Budget {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Budget")
            .field("limit", &self.limit())
            .field("allow_stall", &self.allow_stall)
            .field("used", &self.used())
            .field("active", &self.active())
            .finish_non_exhaustive()
    }
}

/// A database's part of a budget.
pub(crate) struct BudgetClient {
    budget: Arc<Budget>,
    /// The client's part of the active memory; see B1.
    /// Written by: writers, once per step, and threads that seal or free a memtable. Read by:
    /// [`Budget::heaviest`]. Publishes nothing.
    active: AtomicUsize,
    /// Whether the database has failed or is closing, and so flushes nothing more.
    /// Written by: [`BudgetClient::set_out`]. Read by: [`Budget::heaviest`] and stalled writers,
    /// which look again after the epoch has changed. Publishes nothing.
    out: AtomicBool,
    flusher: OnceLock<Weak<dyn Flusher>>,
}

impl BudgetClient {
    /// A new client of `budget`.
    pub fn new(budget: Arc<Budget>) -> Arc<Self> {
        let client = Arc::new(BudgetClient {
            budget: budget.clone(),
            active: AtomicUsize::new(0),
            out: AtomicBool::new(false),
            flusher: OnceLock::new(),
        });
        budget.clients.lock().push(Arc::downgrade(&client));
        client
    }

    /// Sets the object that flushes. Only the first call has an effect.
    pub fn set_flusher(&self, flusher: Weak<dyn Flusher>) {
        // There is no second call: a client belongs to one database.
        let _ = self.flusher.set(flusher);
    }

    /// The budget.
    pub fn budget(&self) -> &Budget {
        &self.budget
    }

    /// With `out`, the database has failed or is closing, or its flushes fail again and again: none
    /// of its writers waits, and it is not asked to flush. Without `out`, it takes part again.
    pub fn set_out(&self, out: bool) {
        self.out.store(out, Ordering::Relaxed);
        self.budget.wake();
    }

    /// Whether the database flushes nothing more.
    pub fn is_out(&self) -> bool {
        self.out.load(Ordering::Relaxed)
    }

    /// Requests that the database flush a memtable.
    pub fn flush_soon(&self) {
        if let Some(flusher) = self.flusher.get().and_then(Weak::upgrade) {
            flusher.flush_soon();
        }
    }

    /// Whether this database should flush a memtable for the budget. If another database should,
    /// that one is asked to.
    pub fn is_to_flush(self: &Arc<Self>) -> bool {
        if !self.budget.should_flush() {
            return false;
        }
        match self.budget.heaviest() {
            Some(other) if !Arc::ptr_eq(&other, self) => {
                other.flush_soon();
                false
            }
            _ => true,
        }
    }

    /// Waits while writers are stalled, and returns for how long. The wait ends when the client is
    /// out.
    ///
    /// # Errors
    /// `Incomplete` at once with `no_slowdown`, if it would have to wait.
    #[inline]
    pub fn pass(&self, no_slowdown: bool) -> Result<Duration> {
        if !self.budget.should_stall() {
            return Ok(Duration::ZERO);
        }
        self.pass_slowly(no_slowdown)
    }

    #[cold]
    fn pass_slowly(&self, no_slowdown: bool) -> Result<Duration> {
        if no_slowdown {
            return Err(Error::new(ErrorKind::Incomplete, "Write stall"));
        }
        let start = system::now();
        let budget = &self.budget;
        let mut seen = *budget.epoch.lock();
        while budget.should_stall() && !self.out.load(Ordering::Relaxed) {
            // Whatever is freed or changed from here on changes the epoch (B3).
            if let Some(heaviest) = budget.heaviest() {
                heaviest.flush_soon();
            }
            let mut epoch = budget.epoch.lock();
            while *epoch == seen {
                budget.changed.wait(&mut epoch);
            }
            seen = *epoch;
        }
        Ok(system::since(start))
    }
}

impl fmt::Debug for BudgetClient {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("BudgetClient")
            .field("active", &self.active)
            .finish_non_exhaustive()
    }
}

/// A memtable's part of a budget.
#[derive(Debug)]
pub(super) struct MemoryCharge {
    client: Arc<BudgetClient>,
    /// The largest step by which the charge grows. Bytes.
    step: usize,
    /// The charge, in bytes.
    /// Written by: writers, once per step (relaxed). Read by: writers, and threads that seal the
    /// memtable, or that free it when it has no more writers. Publishes nothing.
    bytes: AtomicUsize,
    /// Whether the charge no longer counts as active. Locked while the charge grows, so that a late
    /// increase does not stay active forever.
    sealed: Mutex<bool>,
}

impl MemoryCharge {
    /// An empty charge, for a memtable of about `size` bytes.
    pub fn new(client: Arc<BudgetClient>, size: usize) -> Self {
        MemoryCharge {
            client,
            step: (size / 256)
                .next_power_of_two()
                .clamp(FIRST_STEP, 256 << 10),
            bytes: AtomicUsize::new(0),
            sealed: Mutex::new(false),
        }
    }

    /// The charge. Bytes.
    pub fn bytes(&self) -> usize {
        self.bytes.load(Ordering::Relaxed)
    }

    /// Makes the charge cover `bytes`, rounded up to a step.
    #[inline]
    pub fn cover(&self, bytes: usize) {
        if bytes > self.bytes() {
            self.grow(bytes);
        }
    }

    #[cold]
    fn grow(&self, bytes: usize) {
        let step = (bytes / 16).next_power_of_two();
        let wanted = bytes.next_multiple_of(step.clamp(FIRST_STEP, self.step));
        let sealed = self.sealed.lock();
        let before = self.bytes.fetch_max(wanted, Ordering::Relaxed);
        let more = wanted.saturating_sub(before);
        if more > 0 {
            self.client.active.fetch_add(more, Ordering::Relaxed);
            self.client.budget.take(more);
            if *sealed {
                self.deactivate(more);
            }
        }
    }

    /// Removes `bytes` from the active memory: a switch would no longer turn them into tables.
    fn deactivate(&self, bytes: usize) {
        let BudgetClient { budget, active, .. } = &*self.client;
        // The order matters: no other client is taken for the heaviest because the heaviest one has
        // just done its part.
        budget.active.fetch_sub(bytes, Ordering::Relaxed);
        active.fetch_sub(bytes, Ordering::Relaxed);
    }

    /// Records that the memtable was switched out. Writers in it may still take memory.
    pub fn seal(&self) {
        let mut sealed = self.sealed.lock();
        if !std::mem::replace(&mut sealed, true) {
            self.deactivate(self.bytes());
        }
    }
}

impl Drop for MemoryCharge {
    fn drop(&mut self) {
        self.seal();
        self.client.budget.give_back(self.bytes());
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    struct Bell(AtomicUsize);

    impl Flusher for Bell {
        fn flush_soon(&self) {
            self.0.fetch_add(1, Ordering::Relaxed);
        }
    }

    fn client(budget: &Arc<Budget>) -> (Arc<BudgetClient>, Arc<Bell>) {
        let bell = Arc::new(Bell(AtomicUsize::new(0)));
        let client = BudgetClient::new(budget.clone());
        let flusher: Arc<dyn Flusher> = bell.clone();
        client.set_flusher(Arc::downgrade(&flusher));
        (client, bell)
    }

    fn charge(client: &Arc<BudgetClient>, bytes: usize) -> MemoryCharge {
        let charge = MemoryCharge::new(client.clone(), 0);
        charge.cover(bytes);
        charge
    }

    const KIB: usize = 1 << 10;

    #[test]
    fn charges_add_up_and_end() {
        let budget = Budget::new(0, false, None);
        let (one, _) = client(&budget);
        let (two, _) = client(&budget);
        let a = charge(&one, 5000);
        let b = charge(&two, 100 * KIB);
        assert_eq!((a.bytes(), b.bytes()), (8 * KIB, 100 * KIB), "whole steps");
        a.cover(8 * KIB);
        a.cover(1);
        assert_eq!((budget.used(), budget.active()), (108 * KIB, 108 * KIB));
        b.seal();
        b.seal();
        assert_eq!((budget.used(), budget.active()), (108 * KIB, 8 * KIB));
        drop(b);
        assert_eq!((budget.used(), budget.active()), (8 * KIB, 8 * KIB));
        drop(a);
        assert_eq!((budget.used(), budget.active()), (0, 0));
    }

    #[test]
    fn a_memtable_of_few_entries_is_charged_little_whatever_its_size_may_become() {
        let budget = Budget::new(0, false, None);
        let (client, _) = client(&budget);
        let charge = MemoryCharge::new(client.clone(), 64 << 20);
        for (taken, charged) in [
            (1, 4 * KIB),
            (5 * KIB, 8 * KIB),
            (150 * KIB, 160 * KIB),
            (10 << 20, 10 << 20),
            ((10 << 20) + 1, (10 << 20) + 256 * KIB),
        ] {
            charge.cover(taken);
            assert_eq!((charge.bytes(), budget.used()), (charged, charged));
        }
    }

    #[test]
    fn flushes_are_due_by_rocksdbs_rule() {
        let budget = Budget::new(800 * KIB, true, None);
        let (client, _) = client(&budget);
        let a = charge(&client, 400 * KIB);
        let b = charge(&client, 300 * KIB);
        assert!(!budget.should_flush(), "7/8 exactly");
        let c = charge(&client, 4 * KIB);
        assert!(budget.should_flush() && !budget.should_stall());
        a.seal();
        assert!(!budget.should_flush());
        let d = charge(&client, 92 * KIB);
        assert!(!budget.should_flush(), "less than half is active");
        let e = charge(&client, 4 * KIB);
        assert!(budget.should_flush() && budget.should_stall());
        budget.set_allow_stall(false);
        assert!(!budget.should_stall());
        budget.set_limit(0);
        assert!(!budget.should_flush());
        drop((a, b, c, d, e));
    }

    #[test]
    fn a_cache_is_charged_in_steps() {
        let cache = BlockCache::new(8 << 20);
        let budget = Budget::new(0, false, Some(cache.clone()));
        let (client, _) = client(&budget);
        let a = charge(&client, 1);
        assert_eq!(cache.charged(), CACHE_STEP);
        let b = charge(&client, CACHE_STEP);
        assert_eq!(cache.charged(), 2 * CACHE_STEP);
        drop(a);
        assert_eq!(cache.charged(), CACHE_STEP);
        b.seal();
        assert_eq!(cache.charged(), CACHE_STEP);
        drop(b);
        assert_eq!(cache.charged(), 0);
    }

    #[test]
    fn the_heaviest_is_one_that_lives() {
        let budget = Budget::new(0, false, None);
        let (one, _) = client(&budget);
        let (two, _) = client(&budget);
        let a = charge(&one, 4 * KIB);
        let b = charge(&two, 8 * KIB);
        assert!(Arc::ptr_eq(&budget.heaviest().unwrap(), &two));
        b.seal();
        assert!(Arc::ptr_eq(&budget.heaviest().unwrap(), &one));
        one.set_out(true);
        assert!(Arc::ptr_eq(&budget.heaviest().unwrap(), &two));
        drop((b, two));
        assert!(budget.heaviest().is_none());
        drop(a);
    }

    /// Runs `end` once a writer of `client` is stalled, and expects the writer to continue.
    fn stalled(client: &Arc<BudgetClient>, bell: &Bell, end: impl FnOnce()) {
        assert_eq!(client.pass(true).unwrap_err().kind(), ErrorKind::Incomplete);
        let rung = bell.0.load(Ordering::Relaxed);
        let writer = {
            let client = client.clone();
            std::thread::spawn(move || client.pass(false))
        };
        while bell.0.load(Ordering::Relaxed) == rung {
            std::thread::yield_now();
        }
        end();
        assert!(writer.join().unwrap().is_ok());
    }

    #[test]
    fn everything_that_may_end_a_stall_does() {
        let budget = Budget::new(8 * KIB, true, None);
        let (one, bell) = client(&budget);
        assert_eq!(one.pass(false).unwrap(), Duration::ZERO);
        let a = charge(&one, 8 * KIB);
        stalled(&one, &bell, || drop(a));
        let a = charge(&one, 8 * KIB);
        stalled(&one, &bell, || budget.set_limit(9 * KIB));
        budget.set_limit(8 * KIB);
        stalled(&one, &bell, || budget.set_limit(0));
        budget.set_limit(KIB);
        stalled(&one, &bell, || budget.set_allow_stall(false));
        budget.set_allow_stall(true);
        stalled(&one, &bell, || one.set_out(true));
        assert!(one.pass(false).is_ok(), "nobody waits in its name");
        drop(a);
    }

    #[test]
    fn threads_add_up() {
        let budget = Budget::new(0, false, None);
        let (client, _) = client(&budget);
        let shared = MemoryCharge::new(client.clone(), 0);
        std::thread::scope(|scope| {
            for thread in 0..4 {
                let (client, shared) = (&client, &shared);
                scope.spawn(move || {
                    for i in 0..500 {
                        shared.cover(i * 100 + thread);
                        drop(charge(client, i));
                    }
                });
            }
        });
        assert_eq!(budget.used(), shared.bytes());
        assert_eq!(shared.bytes(), 49_903usize.next_multiple_of(4 * KIB));
        shared.seal();
        assert_eq!(budget.active(), 0);
    }
}
