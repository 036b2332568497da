//! RocksDB's WRITE_PREPARED over `unordered_write`, as far as a model of its
//! way through the queues goes: a write is logged and inserted as in unordered
//! commit, under locks of its keys, and then walks a second queue in which its
//! commit is numbered, noted in the commit cache, and published.

use super::group::Queue;
use super::{World, Write, steps, unordered};
use crate::sim::{Sim, Thread, Word};

/// Stripes of the table of key locks: RocksDB's default.
const STRIPES: usize = 16;
/// Lines of the commit cache that the model tells apart.
const CACHE_LINES: usize = 1024;

/// What commits share.
#[derive(Debug)]
pub struct Commits {
    queue: Queue,
    stripes: Vec<Word>,
    cache: Vec<Word>,
    /// Keeps the order of prepared numbers (a mutex).
    heap: Word,
}

impl Commits {
    pub(super) fn new(sim: &Sim, threads: usize) -> Self {
        let words = |name, count: usize| (0..count).map(|_| Word::new(sim, name, 0)).collect();
        Commits {
            queue: Queue::new(sim, "second queue", threads),
            stripes: words("key locks", STRIPES),
            cache: words("commit cache", CACHE_LINES),
            heap: Word::new(sim, "prepared heap", 0),
        }
    }
}

/// Commits one write.
pub async fn commit(world: &World, thread: &Thread, write: Write) {
    let commits = &world.prepared;
    steps::enter(world, thread, write).await;
    for _ in 0..write.entries {
        lock_stripe(commits, thread).await;
    }
    let (first, last) = unordered::through_queue(world, thread, &world.queue, write).await;
    // It is among the prepared while it is not committed.
    thread.rmw(&commits.heap, |heap| heap + 1).await;
    steps::insert(world, thread, write, false).await;
    thread.rmw(&world.pending, |pending| pending - 1).await;
    // A commit: a record without entries that takes a number.
    let record = Write {
        entries: 1,
        bytes: 32,
        sync: false,
    };
    let lead = async |chain: super::group::Chain| {
        let (first, last) = super::group::log_group(world, thread, &commits.queue, &chain).await;
        for _ in 0..chain.len() {
            let line = thread.sim().random() as usize % CACHE_LINES;
            thread.rmw(&commits.cache[line], |entry| entry + 1).await;
        }
        world.publication.finish(thread, first, last).await;
        commits.queue.hand_over(thread, &chain).await;
        commits.queue.tell_all(world, thread, &chain).await;
    };
    commits.queue.join(world, thread, record, lead).await;
    thread.rmw(&commits.heap, |heap| heap - 1).await;
    for _ in 0..write.entries {
        lock_stripe(commits, thread).await;
    }
    world.note_acknowledged(first, last);
}

/// Takes and leaves the lock of a key's stripe: two read-modify-writes, and a
/// look-up in its table.
async fn lock_stripe(commits: &Commits, thread: &Thread) {
    let stripe = &commits.stripes[thread.sim().random() as usize % STRIPES];
    thread.rmw(stripe, |n| n + 1).await;
    thread.compute(thread.sim().machine().memory).await;
    thread.rmw(stripe, |n| n + 1).await;
}
