//! The lock table of pessimistic transactions: shared and exclusive locks on keys.
//!
//! Keys are exact: two keys never share a lock. A lock that nobody holds takes no memory.
//! Locking and unlocking a key that nobody else wants takes the mutex of one shard each,
//! and neither wakes a thread nor reads the clock.
//!
//! An owner that cannot have a lock waits in a queue of the key, on a condition variable of
//! its own. The one that releases the lock hands it to the first waiter, or to all readers
//! up to the first waiter that wants it exclusively. A holder that wants to turn its shared
//! lock into an exclusive one overtakes the others.
//!
//! Owners may expire ([`LockOwner`]). The first in the queue then steals the lock, unless
//! the owner has begun to write.
//!
//! `owner` is the owner of locks, `entry` a locked key with its queue, `table` a shard of
//! the hash table of entries, `wait` how an owner waits, and `wait_for` the wait-for graph,
//! in which deadlocks are found.
//!
//! Invariants:
//! * K1: an exclusive lock has one holder. Beside the holder of a shared lock there is none
//!   that has it exclusively. Only owners whose locks were [restored](KeyLocks::restore) may
//!   have one key exclusively together. They lock nothing more on it, and nobody else has it
//!   before the last of them has given it up.
//! * K2: no lost wake-up. When the mutex of a shard is released, no first waiter of a queue
//!   could have its lock. Who changes the holders or the head of a queue grants what can be
//!   granted (`Entry::settle`), also who gives up. Locks are
//!   granted in the order of arrival, but for upgrades.
//! * K4: locks are stolen only from owners that are expired and not protected, and
//!   [`LockOwner::protect`] tells a robbed owner. (K3 is the callers': a lock is given back
//!   after what was written under it is visible.)
//! * K5: with a limit, a family's count of locked keys is the number of its entries.
//!
//! The mutexes of shards are leaves. That of the wait-for graph is taken before them.

mod entry;
mod owner;
mod table;
mod wait;
mod wait_for;

#[cfg(all(test, not(any(loom, shuttle))))]
mod tests;

pub use owner::{LockOwner, OwnerState};
pub use wait_for::{DeadlockPath, DeadlockStep};

use crate::key_hash::KeyHasher;
use crate::sync::unmodelled::AtomicU64;
use crate::sync::{Arc, MODELLED, blocking};
use blocking::Mutex;
use crossbeam_utils::CachePadded;
use std::time::Duration;
use table::{Attempt, Family, Place, Shard};
use wait_for::WaitForGraph;

/// What a lock table is like.
#[derive(Debug, Clone, Copy, Default)]
pub struct KeyLocksConfig {
    /// The least number of shards: 64 are made, or the next power of two, up to 65536.
    pub stripes: usize,
    /// How many keys of a column family may be locked at once; `None` for any number. Each
    /// counts once, whoever shares it.
    pub max_locks: Option<u64>,
}

/// How a key is locked.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum LockMode {
    /// Others may share it.
    Shared,
    /// Nobody else has it.
    Exclusive,
}

/// Why a key could not be locked.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum LockError {
    /// Others hold it, and the time to wait is over, or would come to its end for sure: the holder
    /// waits, perhaps over others, for this owner, and none of them has a shorter time-out.
    TimedOut,
    /// The holder waits, perhaps over others, for this owner.
    Deadlock,
    /// [`KeyLocksConfig::max_locks`] keys are locked.
    Limit,
    /// There is no such column family, or it was removed meanwhile.
    NoFamily,
}

/// How long to wait for a lock.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Timeout {
    /// Not at all.
    No,
    /// At most that long.
    For(Duration),
    /// Without end.
    Forever,
}

/// How to wait for a lock.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Wait {
    /// How long.
    pub timeout: Timeout,
    /// Whether deadlocks are looked for, and over how many waits at most. A search that
    /// does not come to an end counts as a deadlock if somebody waits for the owner.
    pub deadlock_depth: Option<u32>,
}

/// A locked key.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LockStatus {
    /// Its column family.
    pub family: u32,
    /// The key.
    pub key: Vec<u8>,
    /// How it is locked.
    pub mode: LockMode,
    /// The ids of the owners that hold it, in the order in which they got it.
    pub holders: Vec<u64>,
}

/// What an owner waits for.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct WaitingFor {
    /// The ids of the owners that hold the lock, then of those that get it before.
    pub owners: Vec<u64>,
    /// The key's column family.
    pub family: u32,
    /// The key.
    pub key: Vec<u8>,
}

/// The number of shards at least and at most.
const FEWEST_SHARDS: usize = if MODELLED { 1 } else { 64 };
const MOST_SHARDS: usize = 1 << 16;

/// See the [module](self).
#[derive(Debug)]
pub struct KeyLocks {
    /// A power of two.
    shards: Box<[CachePadded<Mutex<Shard>>]>,
    /// By how much a hash is shifted to get the number of a shard.
    shift: u32,
    hasher: KeyHasher,
    max_locks: Option<u64>,
    graph: WaitForGraph,
}

impl KeyLocks {
    /// A table without column families.
    pub fn new(config: KeyLocksConfig) -> Self {
        let count = config.stripes.clamp(FEWEST_SHARDS, MOST_SHARDS);
        let count = count.next_power_of_two();
        let shard = |_| CachePadded::new(Mutex::new(Shard::new()));
        KeyLocks {
            shards: (0..count).map(shard).collect(),
            shift: 64 - count.ilog2(),
            hasher: KeyHasher::new(),
            max_locks: config.max_locks,
            graph: WaitForGraph::new(),
        }
    }

    /// Lets keys of the column family `id` be locked. Does nothing if they can be.
    pub fn add_family(&self, id: u32) {
        let locked = Arc::new(AtomicU64::new(0));
        for shard in &self.shards {
            shard.lock().add_family(Family {
                id,
                locked: Arc::clone(&locked),
            });
        }
    }

    /// Forgets all locks of the column family `id`. Those that wait for one of them fail
    /// with [`LockError::NoFamily`].
    pub fn remove_family(&self, id: u32) {
        for shard in &self.shards {
            shard.lock().remove_family(id);
        }
    }

    /// The hash of a key, for the functions that take one.
    #[inline]
    pub fn hash(&self, family: u32, key: &[u8]) -> u64 {
        self.hasher.hash(family, key)
    }

    #[inline]
    fn shard(&self, hash: u64) -> &Mutex<Shard> {
        // A shift by 64 is one by 0, with one shard.
        let number = hash.wrapping_shr(self.shift) as usize & (self.shards.len() - 1);
        &self.shards[number]
    }

    /// Locks a key for `owner`. A holder may lock it again, which changes nothing, or
    /// exclusively instead of shared. If that fails, it has its shared lock still.
    ///
    /// # Errors
    /// See [`LockError`].
    pub fn lock(
        &self,
        owner: &Arc<LockOwner>,
        family: u32,
        key: &[u8],
        mode: LockMode,
        wait: &Wait,
    ) -> Result<(), LockError> {
        self.lock_hashed(owner, family, key, self.hash(family, key), mode, wait)
    }

    /// As [`KeyLocks::lock`], with the key's [`hash`](KeyLocks::hash).
    ///
    /// # Errors
    /// See [`LockError`].
    pub fn lock_hashed(
        &self,
        owner: &Arc<LockOwner>,
        family: u32,
        key: &[u8],
        hash: u64,
        mode: LockMode,
        wait: &Wait,
    ) -> Result<(), LockError> {
        let place = Place { hash, family, key };
        let mut shard = self.shard(hash).lock();
        match shard.try_lock(place, owner, mode, self.max_locks) {
            Attempt::Locked => Ok(()),
            Attempt::Failed(error) => Err(error),
            Attempt::Conflict => self.wait(shard, owner, place, mode, wait),
        }
    }

    /// Locks a key exclusively for an `owner` that had the lock before this table was made, as a
    /// prepared transaction of an earlier process had. It does not wait: others whose locks were
    /// restored may have the key, too. It counts for the limit, and does not ask for it. To be
    /// called before anybody [locks](KeyLocks::lock) a key. Returns whether the column family is
    /// there.
    pub fn restore(&self, owner: &Arc<LockOwner>, family: u32, key: &[u8]) -> bool {
        let hash = self.hash(family, key);
        let place = Place { hash, family, key };
        let mut shard = self.shard(hash).lock();
        shard.restore(place, owner, self.max_locks.is_some())
    }

    /// Turns an exclusive lock of `owner` into a shared one. Does nothing if it has none.
    pub fn downgrade(&self, owner: &LockOwner, family: u32, key: &[u8]) {
        self.downgrade_hashed(owner, family, key, self.hash(family, key));
    }

    /// As [`KeyLocks::downgrade`], with the key's [`hash`](KeyLocks::hash).
    pub fn downgrade_hashed(&self, owner: &LockOwner, family: u32, key: &[u8], hash: u64) {
        let place = Place { hash, family, key };
        let mut shard = self.shard(hash).lock();
        if let Some(entry) = shard.get_mut(place) {
            entry.downgrade(owner.id());
            entry.settle();
        }
    }

    /// Gives up a lock of `owner`, and hands it to those that wait for it. Does nothing if
    /// the owner has none, because it was stolen or its family was removed.
    pub fn unlock(&self, owner: &LockOwner, family: u32, key: &[u8]) {
        self.unlock_hashed(owner, family, key, self.hash(family, key));
    }

    /// As [`KeyLocks::unlock`], with the key's [`hash`](KeyLocks::hash).
    pub fn unlock_hashed(&self, owner: &LockOwner, family: u32, key: &[u8], hash: u64) {
        let place = Place { hash, family, key };
        let mut shard = self.shard(hash).lock();
        shard.unlock(place, owner.id(), self.max_locks.is_some());
    }

    /// All locks, by family and key. Those of different shards are looked at one after the
    /// other.
    pub fn lock_status(&self) -> Vec<LockStatus> {
        let mut found = Vec::new();
        for shard in &self.shards {
            found.extend(shard.lock().entries().map(|entry| LockStatus {
                family: entry.family,
                key: entry.key.clone(),
                mode: entry.mode(),
                holders: entry.holders.iter().map(|holder| holder.id).collect(),
            }));
        }
        found.sort_unstable_by(|a, b| (a.family, &a.key).cmp(&(b.family, &b.key)));
        found
    }

    /// The last five deadlocks, the newest first.
    pub fn deadlocks(&self) -> Vec<DeadlockPath> {
        self.graph.deadlocks()
    }

    /// What the owner of this id waits for, if it waits. Looks at all locks.
    pub fn waiting_for(&self, owner: u64) -> Option<WaitingFor> {
        self.shards.iter().find_map(|shard| {
            shard.lock().entries().find_map(|entry| {
                let blockers = entry.blockers(owner)?;
                Some(WaitingFor {
                    owners: [blockers.holders, blockers.ahead].concat(),
                    family: entry.family,
                    key: entry.key.clone(),
                })
            })
        })
    }
}
