//! What memtables have given back, for the next ones.
//!
//! Three things bound what is kept:
//! * [`pool_limit`], of the whole process;
//! * the [`Claim`]s: what the write buffers of the memtables that live may grow
//!   to. When the last database is closed, nothing is kept;
//! * time: what nobody has taken within [`IDLE`] goes back to the system. A thread
//!   sees to that, which exists as long as there is something in the pool. Where
//!   none can be started, nothing is kept.
//!
//! # Locks
//! The pool's is a leaf: nothing is locked and no system call is made while it
//! is held. It may be taken under any other.

use std::collections::VecDeque;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use parking_lot::Mutex;

use super::{HugePages, Region};

/// Bytes of touched memory the pool keeps unless told otherwise.
const DEFAULT_LIMIT: usize = 256 << 20;

/// How long something may lie in the pool, and how often that is looked at: it is
/// gone after the sum of both.
const IDLE: Duration = Duration::from_secs(2);
const LOOK: Duration = Duration::from_millis(500);

static POOL: Mutex<Pool> = Mutex::new(Pool {
    kept: VecDeque::new(),
    bytes: 0,
    keeper: false,
});

/// The most touched bytes the pool keeps. Written by: [`set_pool_limit`].
/// Read by: threads that give a region back. Publishes nothing (relaxed).
static LIMIT: AtomicUsize = AtomicUsize::new(DEFAULT_LIMIT);

/// The sum of all claims. Written by: threads that make or end a claim. Read by:
/// threads that give a region back. Publishes nothing (relaxed): a thread that ends
/// a claim trims the pool afterwards.
static CLAIMED: AtomicUsize = AtomicUsize::new(0);

struct Pool {
    /// The oldest first.
    kept: VecDeque<Kept>,
    /// Touched bytes of all of them.
    bytes: usize,
    /// Whether the thread runs that lets go what is idle.
    keeper: bool,
}

struct Kept {
    region: Region,
    since: Instant,
}

impl Pool {
    /// Takes out what is over `limit`, the oldest first: it is the least likely
    /// to be taken.
    fn trim(&mut self, limit: usize, out: &mut Vec<Region>) {
        while self.bytes > limit
            && let Some(oldest) = self.kept.pop_front()
        {
            self.bytes -= oldest.region.touched;
            out.push(oldest.region);
        }
    }

    /// Takes out what has lain there since `then` or longer.
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

/// Sets [`pool_limit`] (default: 256 MiB) and gives the system what is over
/// it. Zero turns the pool off.
pub fn set_pool_limit(bytes: usize) {
    LIMIT.store(bytes, Ordering::Relaxed);
    trim();
}

/// Bytes of touched memory in the pool now.
pub fn pool_bytes() -> usize {
    POOL.lock().bytes
}

/// Bytes that the pool may keep as things are.
pub(super) fn room() -> usize {
    pool_limit().min(CLAIMED.load(Ordering::Relaxed))
}

/// Returns to the system what exceeds the pool's limits.
fn trim() {
    let mut over = Vec::new();
    // The system calls happen after the lock is gone.
    POOL.lock().trim(room(), &mut over);
}

/// Says that memory of so many bytes is going to be taken and given back, again
/// and again: as much may be kept for that, as long as this lives.
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

/// A region of exactly so many bytes and such pages, if there is one: the one with
/// most memory.
pub(super) fn take(bytes: usize, huge: HugePages) -> Option<Region> {
    let mut pool = POOL.lock();
    let fitting = (0..pool.kept.len()).filter(|&i| {
        let region = &pool.kept[i].region;
        region.bytes == bytes && region.huge == huge
    });
    let best = fitting.max_by_key(|&i| pool.kept[i].region.touched)?;
    let region = pool.kept.remove(best)?.region;
    pool.bytes -= region.touched;
    Some(region)
}

/// Keeps regions, as far as they may be.
pub(super) fn give(regions: Vec<Region>) {
    let limit = room();
    let since = Instant::now();
    let mut over = Vec::new();
    let mut pool = POOL.lock();
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
    // The system calls happen after the lock is gone.
    drop(pool);
    if start {
        start_keeper();
    }
}

/// Starts the thread that lets go what is idle; without it nothing is kept.
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

/// Lets go what is idle, until there is nothing left.
fn keep() {
    loop {
        thread::sleep(LOOK);
        let mut idle = Vec::new();
        let mut pool = POOL.lock();
        if let Some(then) = Instant::now().checked_sub(IDLE) {
            pool.expire(then, &mut idle);
        }
        pool.keeper = !pool.kept.is_empty();
        let goes_on = pool.keeper;
        drop(pool);
        drop(idle);
        if !goes_on {
            return;
        }
    }
}

/// Touched bytes of each region in the pool of so many bytes.
#[cfg(all(test, unix, not(any(loom, shuttle, miri))))]
pub(super) fn touched(bytes: usize) -> Vec<usize> {
    let pool = POOL.lock();
    let regions = pool.kept.iter().map(|kept| &kept.region);
    let fitting = regions.filter(|region| region.bytes == bytes);
    fitting.map(|region| region.touched).collect()
}
