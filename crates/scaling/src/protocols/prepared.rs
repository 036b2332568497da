//! RocksDB's WRITE_PREPARED over `unordered_write`, as far as its path through the
//! queues goes. A write is logged and inserted as in unordered commit, while it holds
//! locks of its keys. Then it goes through a second queue, in which its commit gets a
//! number, is entered into the commit cache, and is published.

use super::group::Queue;
use super::{World, Write, steps, unordered};
use crate::sim::{Sim, Thread, Word};

/// The number of stripes of the table of key locks; RocksDB's default.
const STRIPES: usize = 16;
/// The number of lines of the commit cache that the model distinguishes.
const CACHE_LINES: usize = 1024;

/// The state that commits share.
#[derive(Debug)]
pub struct Commits {
    queue: Queue,
    stripes: Vec<Word>,
    cache: Vec<Word>,
    /// The heap of prepared numbers, protected by a mutex.
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
    // The write is among the prepared ones until it is committed.
    thread.rmw(&commits.heap, |heap| heap + 1).await;
    steps::insert(world, thread, write, false).await;
    thread.rmw(&world.pending, |pending| pending - 1).await;
    // A commit is a record without entries that takes a number.
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

/// Locks and unlocks a key's stripe: two read-modify-write operations, and a look-up in
/// its table.
async fn lock_stripe(commits: &Commits, thread: &Thread) {
    let stripe = &commits.stripes[thread.sim().random() as usize % STRIPES];
    thread.rmw(stripe, |n| n + 1).await;
    thread.compute(thread.sim().machine().memory).await;
    thread.rmw(stripe, |n| n + 1).await;
}
