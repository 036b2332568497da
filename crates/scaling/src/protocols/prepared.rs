//! WRITE_PREPARED over unordered commit: snapshots do not change, although writes are visible
//! before they are inserted. Both programs skip the locks of keys, as
//! `db_bench --transaction_db --unordered_write` does.
//!
//! In this tree a group's leader enters the numbers of its members as undecided before it publishes
//! them, and each member decides its own once it has inserted. Models `write::unordered` with
//! `concurrent::undecided`.
//!
//! In RocksDB a write goes through a second queue when it is inserted. Its commit gets a number
//! there, is entered into the commit cache, and is published.

use super::group::{self, Chain, Queue};
use super::lock::Lock;
use super::{Dialect, World, Write, steps, unordered};
use crate::sim::{NS, Sim, Thread, Time, Word};

/// The number of lines of the commit cache that the model distinguishes.
const CACHE_LINES: usize = 1024;
/// The time to change the list of undecided numbers or the heap of prepared ones.
const CHANGE: Time = 30 * NS;
/// How long a thread of this tree looks at a lock before it sleeps.
const SPIN: Time = 2_000 * NS;
/// What a write costs one thread of RocksDB more than an unordered one, and each entry of its
/// batch: the transaction, and the search for keys that are twice in the batch. Measured with one
/// thread and batches of 1, 8 and 32.
const WRITE: Time = 350 * NS;
const ENTRY: Time = 140 * NS;

/// What writes share beside the queue of unordered commit.
#[derive(Debug)]
pub struct Commits {
    /// The numbers that are not decided.
    undecided: Lock,
    /// RocksDB's second queue.
    queue: Queue,
    cache: Vec<Word>,
    /// RocksDB's heap of prepared numbers is changed under one mutex, and taken from under two.
    heap: Lock,
    removal: Lock,
}

impl Commits {
    pub(super) fn new(sim: &Sim, threads: usize) -> Self {
        let line = |_| Word::new(sim, "commit cache", 0);
        Commits {
            undecided: Lock::new(sim, "undecided", SPIN),
            queue: Queue::new(sim, "second queue", threads),
            cache: (0..CACHE_LINES).map(line).collect(),
            heap: Lock::new(sim, "prepared heap", 0),
            removal: Lock::new(sim, "prepared mutex", 0),
        }
    }
}

/// Commits one write.
pub async fn commit(world: &World, thread: &Thread, write: Write) {
    match world.dialect {
        Dialect::Own => decide_after_insert(world, thread, write).await,
        Dialect::RocksDb | Dialect::RocksDbSerial => {
            through_second_queue(world, thread, write).await
        }
    }
}

async fn decide_after_insert(world: &World, thread: &Thread, write: Write) {
    let undecided = &world.prepared.undecided;
    steps::enter(world, thread, write).await;
    let enter = async |chain: &Chain| undecided.work(thread, CHANGE * chain.len() as Time).await;
    let (first, last) = unordered::through_queue(world, thread, write, enter).await;
    steps::insert(world, thread, write, false).await;
    undecided.work(thread, CHANGE).await;
    thread.rmw(&world.pending, |pending| pending - 1).await;
    world.note_acknowledged(first, last);
}

async fn through_second_queue(world: &World, thread: &Thread, write: Write) {
    let commits = &world.prepared;
    steps::enter(world, thread, write).await;
    thread.compute(WRITE + ENTRY * write.entries).await;
    let enter = async |chain: &Chain| {
        for _ in chain {
            commits.heap.work(thread, CHANGE).await;
        }
    };
    let (first, last) = unordered::through_queue(world, thread, write, enter).await;
    steps::insert(world, thread, write, false).await;
    thread.rmw(&world.pending, |pending| pending - 1).await;
    // A commit is a record without entries that takes a number.
    let record = Write {
        entries: 1,
        bytes: 32,
        sync: false,
    };
    let lead = async |chain: Chain| {
        let (first, last) = group::log_group(world, thread, &commits.queue, &chain).await;
        for _ in &chain {
            let line = thread.sim().random() as usize % CACHE_LINES;
            thread.rmw(&commits.cache[line], |entry| entry + 1).await;
        }
        world.publication.finish(thread, first, last).await;
        commits.queue.hand_over(thread, &chain).await;
        commits.queue.tell_all(world, thread, &chain).await;
    };
    commits.queue.join(world, thread, record, lead).await;
    commits.removal.work(thread, CHANGE).await;
    commits.heap.work(thread, CHANGE).await;
    world.note_acknowledged(first, last);
}
