//! The pool of memory that memtables have given back, for later memtables.
//!
//! Four things limit what is kept:
//! * [`pool_limit`], for the whole process;
//! * the [`Claim`]s: the sizes that the write buffers of live memtables may grow to. When
//!   the last database is closed, nothing is kept;
//! * need (`demand`): what is in use and what is kept are together little more than what
//!   was in use at once within the last seconds. So a limit to the memory of memtables is
//!   one to what is kept, too;
//! * time: memory that was not taken within [`IDLE`] goes back to the system. A thread
//!   does this, which exists as long as the pool is not empty. If the thread cannot be
//!   started, nothing is kept.
//!
//! # Locks
//! The pool's lock is a leaf: while it is held, no lock is taken and no system call is
//! made. It may be taken under any other lock.

use std::collections::VecDeque;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use parking_lot::Mutex;

use super::demand::Demand;
use super::{HugePages, Region};

/// The default of [`pool_limit`]: bytes of touched memory that the pool keeps.
const DEFAULT_LIMIT: usize = 256 << 20;

/// How long memory may stay in the pool, and how often that is checked. It is gone after
/// the sum of both.
pub(super) const IDLE: Duration = Duration::from_secs(2);
const LOOK: Duration = Duration::from_millis(500);

static POOL: Mutex<Pool> = Mutex::new(Pool {
    kept: VecDeque::new(),
    bytes: 0,
    demand: Demand::NONE,
    keeper: false,
});

/// The most touched bytes that the pool keeps.
/// Written by: [`set_pool_limit`]. Read by: threads that give a region back, or have one
/// prepared. Publishes nothing (relaxed).
static LIMIT: AtomicUsize = AtomicUsize::new(DEFAULT_LIMIT);

/// The sum of all claims.
/// Written by: threads that make or drop a claim. Read by: threads that give a region
/// back. Publishes nothing (relaxed): a thread that drops a claim trims the pool
/// afterwards.
static CLAIMED: AtomicUsize = AtomicUsize::new(0);

struct Pool {
    /// The regions in the pool, oldest first.
    kept: VecDeque<Kept>,
    /// Touched bytes of all regions in the pool.
    bytes: usize,
    /// What owners use, and have used.
    demand: Demand,
    /// Whether the thread runs that frees idle memory.
    keeper: bool,
}

struct Kept {
    region: Region,
    since: Instant,
}

impl Pool {
    /// The bytes that the pool may keep at `now`.
    fn room(&mut self, now: Instant) -> usize {
        let claimed = CLAIMED.load(Ordering::Relaxed);
        pool_limit().min(claimed).min(self.demand.room(now))
    }

    /// Takes out the regions over `limit`, oldest first, since these are the least likely
    /// to be taken.
    fn trim(&mut self, limit: usize, out: &mut Vec<Region>) {
        while self.bytes > limit
            && let Some(oldest) = self.kept.pop_front()
        {
            self.bytes -= oldest.region.touched;
            out.push(oldest.region);
        }
    }

    /// Takes out the regions that have been in the pool since `then` or longer.
    fn expire(&mut self, then: Instant, out: &mut Vec<Region>) {
        let idle = self.kept.iter().take_while(|kept| kept.since <= then);
        let idle = idle.count();
        for kept in self.kept.drain(..idle) {
            self.bytes -= kept.region.touched;
            out.push(kept.region);
        }
    }
}

/// The most bytes of touched memory that the process keeps for later
/// memtables.
pub fn pool_limit() -> usize {
    LIMIT.load(Ordering::Relaxed)
}

/// Sets [`pool_limit`] (default: 256 MiB) and gives memory over the limit back to the
/// system. Zero turns the pool off.
pub fn set_pool_limit(bytes: usize) {
    LIMIT.store(bytes, Ordering::Relaxed);
    trim();
}

/// Bytes of touched memory in the pool now, which no memtable uses.
pub fn pool_bytes() -> usize {
    POOL.lock().bytes
}

/// The bytes that the pool may keep at present.
#[cfg(all(target_os = "linux", not(any(loom, shuttle, miri))))]
pub(super) fn room() -> usize {
    let now = Instant::now();
    POOL.lock().room(now)
}

/// Gives memory over the pool's limits back to the system.
fn trim() {
    let (now, mut over) = (Instant::now(), Vec::new());
    let mut pool = POOL.lock();
    let limit = pool.room(now);
    pool.trim(limit, &mut over);
    // The system calls are made after the lock is released.
    drop(pool);
}

/// A claim on the pool: its owner will take and give back this many bytes again and
/// again, so the pool may keep as much while the claim lives.
#[derive(Debug)]
pub struct Claim(usize);

impl Claim {
    /// A claim of `bytes` bytes.
    #[must_use]
    pub fn new(bytes: usize) -> Claim {
        CLAIMED.fetch_add(bytes, Ordering::Relaxed);
        Claim(bytes)
    }
}

impl Drop for Claim {
    fn drop(&mut self) {
        CLAIMED.fetch_sub(self.0, Ordering::Relaxed);
        trim();
    }
}

/// Counts the end of the use of bytes that [`take`] has counted.
pub(super) fn end_use(bytes: usize) {
    if bytes > 0 {
        let now = Instant::now();
        POOL.lock().demand.end_use(bytes, now);
    }
}

/// Counts `bytes` bytes as used, and takes a region of exactly this size and kind of
/// pages, if there is one: the one with the most touched memory.
pub(super) fn take(bytes: usize, huge: HugePages) -> Option<Region> {
    let now = Instant::now();
    let mut pool = POOL.lock();
    pool.demand.begin_use(bytes, now);
    let fitting = (0..pool.kept.len()).filter(|&i| {
        let region = &pool.kept[i].region;
        region.bytes == bytes && region.huge == huge
    });
    let best = fitting.max_by_key(|&i| pool.kept[i].region.touched)?;
    let region = pool.kept.remove(best)?.region;
    pool.bytes -= region.touched;
    Some(region)
}

/// Puts regions into the pool, as far as its limits allow.
pub(super) fn give(regions: Vec<Region>) {
    let since = Instant::now();
    let mut over = Vec::new();
    let mut pool = POOL.lock();
    let limit = pool.room(since);
    for region in regions {
        if region.touched > limit {
            over.push(region);
            continue;
        }
        pool.bytes += region.touched;
        pool.kept.push_back(Kept { region, since });
    }
    pool.trim(limit, &mut over);
    let start = !pool.keeper && !pool.kept.is_empty();
    pool.keeper |= start;
    // The system calls are made after the lock is released.
    drop(pool);
    if start {
        start_keeper();
    }
}

/// Starts the thread that frees idle memory. If that fails, empties the pool.
fn start_keeper() {
    let keeper = thread::Builder::new().name("ww-idle-memory".to_string());
    if keeper.spawn(keep).is_err() {
        let mut over = Vec::new();
        let mut pool = POOL.lock();
        pool.keeper = false;
        pool.trim(0, &mut over);
        drop(pool);
    }
}

/// Frees idle memory until the pool is empty.
fn keep() {
    loop {
        thread::sleep(LOOK);
        let (now, mut idle) = (Instant::now(), Vec::new());
        let mut pool = POOL.lock();
        if let Some(then) = now.checked_sub(IDLE) {
            pool.expire(then, &mut idle);
        }
        let limit = pool.room(now);
        pool.trim(limit, &mut idle);
        pool.keeper = !pool.kept.is_empty();
        let goes_on = pool.keeper;
        drop(pool);
        drop(idle);
        if !goes_on {
            return;
        }
    }
}

/// The touched bytes of each region of this size in the pool.
#[cfg(all(test, unix, not(any(loom, shuttle, miri))))]
pub(super) fn touched(bytes: usize) -> Vec<usize> {
    let pool = POOL.lock();
    let regions = pool.kept.iter().map(|kept| &kept.region);
    let fitting = regions.filter(|region| region.bytes == bytes);
    fitting.map(|region| region.touched).collect()
}
