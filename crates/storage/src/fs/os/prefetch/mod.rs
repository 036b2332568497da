//! Prefetching blocks of files that bypass the system's page cache.
//!
//! Such a file has no cache that a prefetch could fill. Threads of the process read the block into
//! memory instead, and the read of the same block takes it from there. So the reads of a
//! `multi_get`, and those of a seek in several tables, overlap as they do with the page cache,
//! where the system reads in the background. (`io_uring` would do without threads, but containers
//! often forbid it, so that these would be needed as well.)
//!
//! A prefetch is a hint. It is ignored while [`MOST_BLOCKS`] or [`MOST_BYTES`] are wanted, being
//! read, or read and not taken yet, and where no thread can be started. Blocks that nobody takes
//! are dropped after a while by threads without work, and by prefetches without room. A read that
//! has failed is made again by the reader of the block, and fails there. A rate limiter charges a
//! block when it is taken. The threads have the priority of those that start them: the first ones
//! that prefetch.
//!
//! # Locks
//! The lock of the blocks is a leaf. No file is read or closed under it.

#[cfg(test)]
mod tests;

use crate::error::Result;
use bytes::Bytes;
use parking_lot::{Condvar, Mutex, MutexGuard};
use std::collections::{BTreeMap, VecDeque};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread;
use std::time::{Duration, Instant};
use whitewater_concurrent::system;

/// The most threads that read.
const MOST_THREADS: usize = 16;

/// The most blocks at a time.
const MOST_BLOCKS: usize = 1024;

/// The most bytes of memory for blocks at a time.
const MOST_BYTES: usize = 16 << 20;

/// The memory that a block takes besides its own bytes: a direct read begins and ends with a page,
/// in memory that begins with one.
const OVERHEAD: usize = 12 << 10;

/// A file whose blocks can be prefetched.
pub(super) trait Prefetched: Send + Sync + 'static {
    /// Reads exactly `len` bytes at `offset`.
    fn read(&self, offset: u64, len: usize) -> Result<Bytes>;

    /// How many of the file's blocks are among the prefetched ones.
    ///
    /// Written by: threads that add or remove a block, under the lock. Read by: readers of the
    /// file, which take no lock if there is none. Publishes nothing (relaxed): a reader that misses
    /// a block reads it from the file.
    fn count(&self) -> &AtomicUsize;
}

/// How far a prefetch is.
enum Step {
    /// No thread reads the block yet.
    Waiting,
    Reading,
    Read {
        bytes: Bytes,
        at: Instant,
    },
}

struct Block<F> {
    /// Tells it apart from later ones at the same place.
    id: u64,
    file: Arc<F>,
    len: usize,
    /// How many readers wait for it.
    readers: usize,
    step: Step,
}

/// The address of a file, which the block keeps, and an offset.
type Place = (usize, u64);

fn place<F>(file: &Arc<F>, offset: u64) -> Place {
    (Arc::as_ptr(file).addr(), offset)
}

struct State<F> {
    blocks: BTreeMap<Place, Block<F>>,
    /// The memory that the blocks take.
    bytes: usize,
    /// Where blocks may wait for a thread, in the order in which they were asked for.
    wanted: VecDeque<Place>,
    next_id: u64,
    threads: usize,
    /// Threads that wait for work.
    idle: usize,
    /// How long a block that was read is kept for its reader.
    stale: Duration,
    /// When stale blocks were looked for last.
    swept: Option<Instant>,
    /// When a thread could not be started.
    failed: Option<Instant>,
}

impl<F: Prefetched> State<F> {
    fn has_room(&self, len: usize) -> bool {
        let most = MOST_BLOCKS;
        self.blocks.len() < most && self.wanted.len() < most && self.bytes + len <= MOST_BYTES
    }

    /// Removes the blocks that are stale `now`. Looks for them at intervals only, since it looks at
    /// all blocks.
    fn remove_stale(&mut self, now: Instant) -> Vec<Block<F>> {
        let age = |at| now.saturating_duration_since(at);
        if self.swept.is_some_and(|at| age(at) < self.stale / 4) {
            return Vec::new();
        }
        self.swept = Some(now);
        let stale = self.stale;
        self.remove_all(|block| matches!(block.step, Step::Read { at, .. } if age(at) > stale))
    }

    fn remove(&mut self, place: Place) -> Option<Block<F>> {
        let block = self.blocks.remove(&place)?;
        self.bytes -= block.len + OVERHEAD;
        block.file.count().fetch_sub(1, Ordering::Relaxed);
        Some(block)
    }

    fn remove_all(&mut self, which: impl Fn(&Block<F>) -> bool) -> Vec<Block<F>> {
        let blocks = self.blocks.iter().filter(|(_, block)| which(block));
        let places: Vec<_> = blocks.map(|(place, _)| *place).collect();
        places
            .into_iter()
            .filter_map(|at| self.remove(at))
            .collect()
    }

    /// The next block for a thread to read.
    fn next_wanted(&mut self) -> Option<(Place, &mut Block<F>)> {
        while let Some(place) = self.wanted.pop_front() {
            // It may have been taken, and asked for again, meanwhile.
            let waits = |block: &Block<F>| matches!(block.step, Step::Waiting);
            if self.blocks.get(&place).is_some_and(waits) {
                return self.blocks.get_mut(&place).map(|block| (place, block));
            }
        }
        None
    }
}

/// The prefetched blocks of all files, and the threads that read them.
pub(super) struct Prefetches<F: 'static> {
    state: Mutex<State<F>>,
    /// Tells threads of work.
    work: Condvar,
    /// Tells readers that a block was read.
    done: Condvar,
    /// How long a thread waits for work before it ends, and after how long one is started again
    /// when that has failed.
    idle: Duration,
}

impl<F: Prefetched> Prefetches<F> {
    /// None yet. A block that was read is kept for its reader for `stale`, and threads end when
    /// they had no work for `idle`.
    pub const fn new(stale: Duration, idle: Duration) -> Self {
        Prefetches {
            state: Mutex::new(State {
                blocks: BTreeMap::new(),
                bytes: 0,
                wanted: VecDeque::new(),
                next_id: 0,
                threads: 0,
                idle: 0,
                stale,
                swept: None,
                failed: None,
            }),
            work: Condvar::new(),
            done: Condvar::new(),
            idle,
        }
    }

    /// Has a thread read `len` bytes at `offset` of `file`, which are within the file. A hint.
    pub fn prefetch(&'static self, file: &Arc<F>, offset: u64, len: usize) {
        let (place, memory) = (place(file, offset), len.saturating_add(OVERHEAD));
        let now = system::now();
        let mut state = self.state.lock();
        if state.blocks.contains_key(&place) {
            return;
        }
        let dropped = match state.has_room(memory) {
            true => Vec::new(),
            false => state.remove_stale(now),
        };
        let recently = |at| now.saturating_duration_since(at) < self.idle;
        let can_start = state.threads < MOST_THREADS && !state.failed.is_some_and(recently);
        if !state.has_room(memory) || (state.threads == 0 && !can_start) {
            drop(state);
            return;
        }
        let id = state.next_id;
        state.next_id += 1;
        state.bytes += memory;
        file.count().fetch_add(1, Ordering::Relaxed);
        let block = Block {
            id,
            file: file.clone(),
            len,
            readers: 0,
            step: Step::Waiting,
        };
        state.blocks.insert(place, block);
        state.wanted.push_back(place);
        let starts = can_start && state.wanted.len() > state.idle;
        state.threads += usize::from(starts);
        // System calls are made after the lock is released.
        drop(state);
        drop(dropped);
        if !starts {
            self.work.notify_one();
            return;
        }
        let thread = thread::Builder::new().name("ww-prefetch".to_owned());
        if thread.spawn(|| self.work()).is_err() {
            let mut state = self.state.lock();
            state.failed = Some(now);
            state.threads -= 1;
            let in_vain = match state.threads {
                0 => {
                    state.wanted.clear();
                    state.remove_all(|_| true)
                }
                _ => Vec::new(),
            };
            drop(state);
            drop(in_vain);
        }
    }

    /// Takes `len` bytes at `offset` of `file` that were prefetched, and waits if a thread is
    /// reading them. `None` if the caller has to read them.
    pub fn take(&self, file: &Arc<F>, offset: u64, len: usize) -> Option<Bytes> {
        if file.count().load(Ordering::Relaxed) == 0 {
            return None;
        }
        let place = place(file, offset);
        let mut state = self.state.lock();
        let mut waited_for = None;
        loop {
            let block = state.blocks.get_mut(&place)?;
            if waited_for.take() == Some(block.id) {
                block.readers -= 1;
            }
            let taken = match &block.step {
                Step::Reading if block.len == len => {
                    block.readers += 1;
                    waited_for = Some(block.id);
                    self.done.wait(&mut state);
                    continue;
                }
                Step::Read { bytes, .. } if block.len == len => Some(bytes.clone()),
                // The caller reads more, or is faster than threads that are busy with others.
                _ => None,
            };
            // Readers that wait for it take it as well.
            let removed = match block.readers {
                0 => state.remove(place),
                _ => None,
            };
            drop(state);
            drop(removed);
            return taken;
        }
    }

    /// Drops what was prefetched of `file`. The file must have no readers any more. Threads that
    /// read it now keep it open until they are done.
    pub fn forget(&self, file: &Arc<F>) {
        if file.count().load(Ordering::Relaxed) == 0 {
            return;
        }
        let removed = (self.state.lock()).remove_all(|block| Arc::ptr_eq(&block.file, file));
        // Freed without the lock.
        drop(removed);
    }

    /// Reads what is wanted, until nothing has been for as long as threads may be idle. Drops what
    /// nobody takes.
    fn work(&self) {
        let mut state = self.state.lock();
        loop {
            if let Some((place, block)) = state.next_wanted() {
                block.step = Step::Reading;
                let (id, len, file) = (block.id, block.len, block.file.clone());
                let read = MutexGuard::unlocked(&mut state, move || {
                    let read = AssertUnwindSafe(|| file.read(place.1, len));
                    let bytes = catch_unwind(read).ok().and_then(Result::ok)?;
                    Some((bytes, system::now()))
                });
                let removed = Self::finish(&mut state, (place, id), read);
                MutexGuard::unlocked(&mut state, || {
                    self.done.notify_all();
                    drop(removed);
                });
                continue;
            }
            let has_blocks = !state.blocks.is_empty();
            let patience = if has_blocks { state.stale } else { self.idle };
            state.idle += 1;
            let waited = self.work.wait_for(&mut state, patience);
            state.idle -= 1;
            if !waited.timed_out() || !state.wanted.is_empty() {
                continue;
            }
            if !has_blocks {
                state.threads -= 1;
                return;
            }
            let now = MutexGuard::unlocked(&mut state, system::now);
            let stale = state.remove_stale(now);
            MutexGuard::unlocked(&mut state, || drop(stale));
        }
    }

    /// Records what was read of a block and when, unless it was dropped meanwhile. `None` if the
    /// read has failed.
    fn finish(
        state: &mut State<F>,
        (place, id): (Place, u64),
        read: Option<(Bytes, Instant)>,
    ) -> Option<Block<F>> {
        let block = state.blocks.get_mut(&place).filter(|b| b.id == id)?;
        match read {
            Some((bytes, at)) => {
                block.step = Step::Read { bytes, at };
                None
            }
            None => state.remove(place),
        }
    }
}
