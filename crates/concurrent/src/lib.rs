//! Lock-free structures of the Whitewater storage engine.
//!
//! * [`arena`]: a bump allocator for memtables, sharded when it sees contention.
//! * [`art`]: an adaptive radix tree of keys and their versions.
//! * [`single_flight`]: work that one thread does for all that wait for it.
//! * [`skiplist`]: the inline skip list (RocksDB's `InlineSkipList`): concurrent inserts
//!   and lock-free readers.
//! * [`slab`]: the memory of cached blocks, with huge pages.
//! * [`wait_group`]: a count of work in flight that other threads can wait for.
//! * [`object_pool`]: objects that are kept for reuse, in a place for each core.
//! * [`prefetch`]: asking the processor for memory before it is needed.
//! * [`publish`]: a number that moves over a finished prefix, without a leader.
//! * [`region`]: the memory of memtables, with huge pages and a pool.
//! * [`append_list`]: unordered entries, sorted when read.
//! * [`hash_buckets`]: hash tables of linked lists and skip lists.
//! * [`sorted_snapshot`]: snapshots of entries that are sorted after they were collected.
//! * [`group`]: leader and followers, the mechanism of grouped commit.
//! * [`scratch`]: values that a thread keeps for its next call.
//! * [`dynamic_bloom`]: a Bloom filter that is added to while it is queried.
//! * [`counter`]: statistics that promise no ordering.
//! * [`key_locks`]: the lock table of transactions: queues of waiters, deadlocks.
//! * [`heap`]: a global allocator that can count, for benchmarks.
//! * [`heap_trim`]: freed memory of the heap goes back to the system.
//! * [`tail`]: the word that hands out reservations.
//! * [`undecided`]: numbers that are visible by their order, but not decided yet.
//! * [`validation_latches`]: keeps plain writes away from the keys that a committing
//!   optimistic transaction validates.
//! * [`watched_ranges`]: ranges that hold nothing until a writer puts something into them.
//! * [`waiter`]: waiting by spinning, yielding if that has paid off before, and sleeping.
//! * [`sync`]: the atomics and locks that the others use; loom's or shuttle's in models.
//! * [`system`]: locks, threads and time: the operating system's or a simulation's.
//!
//! There is no I/O and there are no engine types here. This crate is the home of `unsafe`
//! code: each block states the invariant that it relies on, and each atomic states which
//! threads write and read it and what it publishes.

#[cfg(any(
    all(loom, not(feature = "loom")),
    all(shuttle, not(feature = "shuttle"))
))]
compile_error!(
    "a model also needs the feature of its checker: --features loom or --features shuttle"
);

pub mod append_list;
pub mod arena;
pub mod art;
mod cores;
pub mod counter;
pub mod dynamic_bloom;
pub mod group;
pub mod hash_buckets;
pub mod heap;
pub mod heap_trim;
pub mod key_hash;
pub mod key_locks;
pub mod object_pool;
mod once;
pub mod prefetch;
pub mod publish;
pub mod region;
pub mod scratch;
pub mod single_flight;
pub mod skiplist;
pub mod slab;
pub mod sorted_snapshot;
pub mod sync;
pub mod system;
pub mod tail;
pub mod undecided;
pub mod validation_latches;
pub mod wait_group;
pub mod waiter;
pub mod watched_ranges;
