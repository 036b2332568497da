//! Lock-free structures of the Whitewater storage engine.
//!
//! * [`arena`]: a bump allocator for memtables, sharded when it sees contention.
//! * [`art`]: an adaptive radix tree of keys and their versions.
//! * [`single_flight`]: work that one thread does for all who wait for it.
//! * [`skiplist`]: the inline skip list, concurrent inserts beside lock-free
//!   readers (seed: RocksDB's `InlineSkipList`).
//! * [`wait_group`]: work under way that somebody may have to wait out.
//! * [`prefetch`]: asking the processor for memory before it is needed.
//! * [`publish`]: a number that moves over a finished prefix, without a leader.
//! * [`region`]: the memory of memtables, huge pages, and what is kept of it.
//! * [`append_list`]: entries without order, sorted when read.
//! * [`hash_buckets`]: hash tables of linked lists and skip lists.
//! * [`sorted_snapshot`]: snapshots of entries, sorted after the fact.
//! * [`group`]: leader and followers, the mechanism of grouped commits.
//! * [`scratch`]: what a thread keeps for its next call.
//! * [`dynamic_bloom`]: a Bloom filter that is added to while it is asked.
//! * [`counter`]: statistics that promise no ordering.
//! * [`heap`]: a global allocator that benchmarks can ask to count.
//! * [`waiter`]: spin, yield, then sleep, by what has paid off before.
//! * [`sync`]: the atomics all of them use; loom's under `cfg(loom)` and feature
//!   `loom`.
//! * [`system`]: locks, threads and time, the system's or a simulation's.
//!
//! No I/O and no engine types here. This is the one crate whose business is
//! `unsafe`; each block states the invariant it relies on, each atomic who
//! writes it, who reads it and what it publishes.

#[cfg(any(
    all(loom, not(feature = "loom")),
    all(shuttle, not(feature = "shuttle"))
))]
compile_error!("models need the feature of their checker, too: --features loom or shuttle");

pub mod append_list;
pub mod arena;
pub mod art;
mod cores;
pub mod counter;
pub mod dynamic_bloom;
pub mod group;
pub mod hash_buckets;
pub mod heap;
mod once;
pub mod prefetch;
pub mod publish;
pub mod region;
pub mod scratch;
pub mod single_flight;
pub mod skiplist;
pub mod sorted_snapshot;
pub mod sync;
pub mod system;
pub mod wait_group;
pub mod waiter;
