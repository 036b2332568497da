//! Model checks of the lock table and of validation latches: every interleaving of locking,
//! waiting, giving up, granting, stealing and looking for deadlocks.
//!
//! What a lock or latch guards is a cell of loom's, which fails the model when two threads use it
//! at once or without an order. No time passes in a model: a wait that may time out does so at
//! every moment at which it can.
//!
//! Run with
//! `RUSTFLAGS="--cfg loom" cargo test -p whitewater-concurrent --release --test loom_locks`.
#![cfg(loom)]

use loom::cell::UnsafeCell;
use loom::sync::Arc;
use loom::sync::atomic::{AtomicU64, Ordering::Relaxed};
use loom::thread::{self, JoinHandle};
use std::time::{Duration, Instant};
use whitewater_concurrent::key_locks::LockMode::{self, Exclusive, Shared};
use whitewater_concurrent::key_locks::{
    KeyLocks, KeyLocksConfig, LockError, LockOwner, OwnerState, Timeout, Wait,
};
use whitewater_concurrent::validation_latches::{Buckets, ValidationLatches};

const FOREVER: Wait = Wait {
    timeout: Timeout::Forever,
    deadlock_depth: None,
};
const TIMED: Wait = Wait {
    timeout: Timeout::For(Duration::from_secs(7200)),
    deadlock_depth: None,
};
const DETECT: Wait = Wait {
    timeout: Timeout::Forever,
    deadlock_depth: Some(50),
};

fn model(check: impl Fn() + Sync + Send + 'static) {
    model_within(5, check);
}

fn model_within(preemptions: usize, check: impl Fn() + Sync + Send + 'static) {
    let mut builder = loom::model::Builder::new();
    builder.preemption_bound.get_or_insert(preemptions);
    builder.check(check);
}

struct Store {
    locks: KeyLocks,
    /// What the keys 0 and 1 guard.
    guarded: [UnsafeCell<u32>; 2],
}

// SAFETY: the models check that the cells are used in order.
unsafe impl Sync for Store {}
// SAFETY: a cell is a number.
unsafe impl Send for Store {}

impl Store {
    fn new() -> Arc<Self> {
        Self::with_shards(1)
    }

    fn with_shards(stripes: usize) -> Arc<Self> {
        let locks = KeyLocks::new(KeyLocksConfig {
            stripes,
            max_locks: Some(2),
        });
        locks.add_family(0);
        Arc::new(Store {
            locks,
            guarded: std::array::from_fn(|_| UnsafeCell::new(0)),
        })
    }

    fn lock(
        &self,
        owner: &Arc<LockOwner>,
        key: u8,
        mode: LockMode,
        wait: &Wait,
    ) -> Result<(), LockError> {
        self.locks.lock(owner, 0, &[key], mode, wait)
    }

    fn unlock(&self, owner: &LockOwner, key: u8) {
        self.locks.unlock(owner, 0, &[key]);
    }

    /// What the holder of an exclusive lock does.
    fn write(&self, key: u8) {
        // SAFETY: loom fails the model if another thread uses the cell.
        self.guarded[usize::from(key)].with_mut(|guarded| unsafe { *guarded += 1 });
    }

    /// What the holder of a shared lock does.
    fn read(&self, key: u8) -> u32 {
        // SAFETY: loom fails the model if another thread writes the cell.
        self.guarded[usize::from(key)].with(|guarded| unsafe { *guarded })
    }

    /// Checks that nobody holds a lock.
    fn check_free(&self) {
        assert_eq!(self.locks.lock_status(), []);
        let owner = owner(99);
        for key in [7, 8] {
            // The limit counts locks exactly (K5).
            self.lock(&owner, key, Exclusive, &TIMED).unwrap();
        }
        let refused = self.lock(&owner, 9, Exclusive, &TIMED);
        assert_eq!(refused, Err(LockError::Limit));
    }
}

fn owner(id: u64) -> Arc<LockOwner> {
    Arc::new(LockOwner::new(id, None))
}

/// An owner that expires in each wait. (Never at once: each run of a model must make the
/// same choices.)
fn expiring(id: u64) -> Arc<LockOwner> {
    let later = Instant::now() + Duration::from_secs(3600);
    Arc::new(LockOwner::new(id, Some(later)))
}

/// Starts a thread that locks key 0, uses what it guards and unlocks it. It returns whether
/// it had the lock.
fn user(store: &Arc<Store>, id: u64, mode: LockMode, wait: Wait) -> JoinHandle<bool> {
    let store = store.clone();
    thread::spawn(move || {
        let owner = owner(id);
        let locked = store.lock(&owner, 0, mode, &wait);
        if let Err(error) = locked {
            assert_eq!(error, LockError::TimedOut);
            return false;
        }
        match mode {
            Exclusive => store.write(0),
            Shared => _ = store.read(0),
        }
        store.unlock(&owner, 0);
        true
    })
}

/// One releases the lock while two come for it.
#[test]
fn a_lock_goes_from_one_to_the_next() {
    model(|| {
        let (store, holder) = (Store::new(), owner(1));
        store.lock(&holder, 0, Exclusive, &FOREVER).unwrap();
        let users = [2, 3].map(|id| user(&store, id, Exclusive, FOREVER));
        store.write(0);
        store.unlock(&holder, 0);
        for user in users {
            assert!(user.join().unwrap());
        }
        assert_eq!(store.read(0), 3);
        store.check_free();
    });
}

/// The same with a reader and a writer.
#[test]
fn a_reader_and_a_writer_exclude_each_other() {
    model(|| {
        let (store, holder) = (Store::new(), owner(1));
        store.lock(&holder, 0, Shared, &FOREVER).unwrap();
        let users = [(2, Exclusive), (3, Shared)].map(|(id, mode)| user(&store, id, mode, FOREVER));
        store.read(0);
        store.unlock(&holder, 0);
        for user in users {
            assert!(user.join().unwrap());
        }
        assert_eq!(store.read(0), 1);
        store.check_free();
    });
}

/// A wait times out while the lock is granted, and another waits behind.
#[test]
fn a_time_out_and_a_grant_are_told_apart() {
    model(|| {
        let (store, holder) = (Store::new(), owner(1));
        store.lock(&holder, 0, Exclusive, &FOREVER).unwrap();
        let timed = user(&store, 2, Exclusive, TIMED);
        let other = user(&store, 3, Exclusive, FOREVER);
        store.write(0);
        store.unlock(&holder, 0);
        let had = timed.join().unwrap();
        assert!(other.join().unwrap());
        assert_eq!(store.read(0), 2 + u32::from(had));
        store.check_free();
    });
}

/// A writer gives up between a reader and another that waits behind the writer.
#[test]
fn one_in_the_middle_passes_the_baton_on() {
    model(|| {
        let (store, holder) = (Store::new(), owner(1));
        store.lock(&holder, 0, Shared, &FOREVER).unwrap();
        let writer = user(&store, 2, Exclusive, TIMED);
        let reader = user(&store, 3, Shared, FOREVER);
        store.read(0);
        assert!(reader.join().unwrap());
        assert!(!writer.join().unwrap());
        store.unlock(&holder, 0);
        store.check_free();
    });
}

/// A sharer wants the lock exclusively while a writer waits.
#[test]
fn an_upgrade_overtakes_a_writer() {
    model(|| {
        let (store, holder, sharer) = (Store::new(), owner(1), owner(2));
        store.lock(&holder, 0, Shared, &FOREVER).unwrap();
        store.lock(&sharer, 0, Shared, &FOREVER).unwrap();
        let writer = user(&store, 3, Exclusive, FOREVER);
        let upgrade = {
            let store = store.clone();
            thread::spawn(move || {
                let read = store.read(0);
                store.lock(&sharer, 0, Exclusive, &FOREVER).unwrap();
                store.write(0);
                assert_eq!(store.read(0), read + 1, "written between");
                store.unlock(&sharer, 0);
            })
        };
        store.read(0);
        store.unlock(&holder, 0);
        upgrade.join().unwrap();
        assert!(writer.join().unwrap());
        assert_eq!(store.read(0), 2);
        store.check_free();
    });
}

/// An upgrade that fails leaves the shared lock as it was.
#[test]
fn an_upgrade_that_fails_keeps_the_shared_lock() {
    model(|| {
        let (store, holder, sharer) = (Store::new(), owner(1), owner(2));
        store.lock(&holder, 0, Shared, &FOREVER).unwrap();
        store.lock(&sharer, 0, Shared, &FOREVER).unwrap();
        let writer = user(&store, 3, Exclusive, FOREVER);
        let upgrade = {
            let store = store.clone();
            thread::spawn(move || {
                let read = store.read(0);
                match store.lock(&sharer, 0, Exclusive, &TIMED) {
                    Ok(()) => store.write(0),
                    Err(_) => assert_eq!(store.read(0), read, "written beside a shared lock"),
                }
                store.unlock(&sharer, 0);
            })
        };
        store.unlock(&holder, 0);
        upgrade.join().unwrap();
        assert!(writer.join().unwrap());
        store.check_free();
    });
}

/// A reader that comes while a writer waits does not pass it.
#[test]
fn a_reader_waits_behind_a_writer() {
    model(|| {
        let (store, holder, late) = (Store::new(), owner(1), owner(3));
        store.lock(&holder, 0, Shared, &FOREVER).unwrap();
        let writer = user(&store, 2, Exclusive, FOREVER);
        let waits = store.locks.waiting_for(2).is_some();
        let passes = store.lock(&late, 0, Shared, &TIMED).is_ok();
        assert!(!waits || !passes);
        if passes {
            store.unlock(&late, 0);
        }
        store.unlock(&holder, 0);
        assert!(writer.join().unwrap());
        store.check_free();
    });
}

/// A writer becomes a reader while others wait. All of them are let in.
#[test]
fn a_downgrade_lets_readers_in() {
    model(|| {
        let (store, holder) = (Store::new(), owner(1));
        store.lock(&holder, 0, Exclusive, &FOREVER).unwrap();
        let readers = [2, 3].map(|id| {
            let (store, reader) = (store.clone(), owner(id));
            thread::spawn(move || {
                store.lock(&reader, 0, Shared, &FOREVER).unwrap();
                assert_eq!(store.read(0), 1);
            })
        });
        store.write(0);
        store.locks.downgrade(&holder, 0, &[0]);
        for reader in readers {
            reader.join().unwrap();
        }
        assert_eq!(store.locks.lock_status()[0].holders.len(), 3);
    });
}

/// The family is removed while one waits.
#[test]
fn a_removed_family_lets_nobody_wait() {
    model(|| {
        let (store, holder) = (Store::new(), owner(1));
        store.lock(&holder, 0, Exclusive, &FOREVER).unwrap();
        let waiters = [Exclusive, Shared].map(|mode| {
            let store = store.clone();
            thread::spawn(move || {
                let owner = owner(2 + mode as u64);
                let gone = store.lock(&owner, 0, mode, &FOREVER);
                assert_eq!(gone, Err(LockError::NoFamily));
            })
        });
        store.locks.remove_family(0);
        for waiter in waiters {
            waiter.join().unwrap();
        }
        store.unlock(&holder, 0);
        assert_eq!(store.locks.lock_status(), []);
    });
}

/// Two take two locks in opposite orders. Who fails gives its lock back.
#[test]
fn one_of_a_deadlock_fails() {
    model(|| {
        let store = Store::new();
        let take = |store: &Store, id, first: u8, second: u8| {
            let owner = owner(id);
            store.lock(&owner, first, Exclusive, &FOREVER).unwrap();
            let both = store.lock(&owner, second, Exclusive, &DETECT);
            if let Err(error) = both {
                assert_eq!(error, LockError::Deadlock);
            } else {
                store.write(second);
                store.unlock(&owner, second);
            }
            store.write(first);
            store.unlock(&owner, first);
            both.is_ok()
        };
        let other = store.clone();
        let thread = thread::spawn(move || take(&other, 2, 1, 0));
        let first = take(&store, 1, 0, 1);
        let second = thread.join().unwrap();
        assert!(first || second, "both have failed");
        let deadlocks = store.locks.deadlocks();
        assert_eq!(deadlocks.len(), usize::from(!(first && second)));
        for path in deadlocks {
            assert_eq!(path.steps.len(), 2);
        }
        store.check_free();
    });
}

/// One waits for a writer that only waits itself, before it in a queue.
#[test]
fn a_cycle_through_a_queue_is_found() {
    model_within(3, || {
        let (store, reader, last) = (Store::new(), owner(1), owner(3));
        store.lock(&reader, 0, Shared, &FOREVER).unwrap();
        store.lock(&last, 1, Exclusive, &FOREVER).unwrap();
        let writer = {
            let (store, writer) = (store.clone(), owner(2));
            thread::spawn(move || {
                let locked = store.lock(&writer, 0, Exclusive, &DETECT);
                locked.inspect(|()| store.unlock(&writer, 0))
            })
        };
        let behind = {
            let store = store.clone();
            thread::spawn(move || {
                let locked = store.lock(&last, 0, Shared, &DETECT);
                store.unlock(&last, 1);
                locked.inspect(|()| store.unlock(&last, 0))
            })
        };
        let locked = store.lock(&reader, 1, Exclusive, &DETECT);
        let locked = locked.inspect(|()| store.unlock(&reader, 1));
        store.unlock(&reader, 0);
        let failed = [locked, writer.join().unwrap(), behind.join().unwrap()];
        let failed = failed.iter().filter(|locked| locked.is_err()).count();
        assert_eq!(failed, store.locks.deadlocks().len());
        assert!(failed <= 1, "one is enough to break the cycle");
        store.check_free();
    });
}

/// An owner begins to write while another steals its lock.
#[test]
fn a_robbed_owner_does_not_write() {
    model(|| {
        let (store, holder) = (Store::new(), expiring(1));
        store.lock(&holder, 0, Exclusive, &FOREVER).unwrap();
        let thief = user(&store, 2, Exclusive, FOREVER);
        let wrote = holder.protect();
        if wrote {
            store.write(0);
        }
        store.unlock(&holder, 0);
        assert!(thief.join().unwrap());
        assert_eq!(wrote, holder.state() == OwnerState::Busy);
        assert_eq!(store.read(0), 1 + u32::from(wrote));
        store.check_free();
    });
}

/// Two thieves rob an owner whose write has failed; they see what it did.
#[test]
fn thieves_see_what_the_owner_did_before() {
    model(|| {
        // The keys have different shards, so the mutex of a shard does not order the thieves.
        let (store, holder) = (Store::with_shards(16), expiring(1));
        let [first, second] = [0, 1].map(|key| store.locks.hash(0, &[key]) >> 60);
        assert_ne!(first, second);
        for key in [0, 1] {
            store.lock(&holder, key, Exclusive, &FOREVER).unwrap();
        }
        let thieves = [0, 1].map(|key| {
            let store = store.clone();
            thread::spawn(move || {
                let owner = owner(2 + u64::from(key));
                if store.lock(&owner, key, Exclusive, &TIMED).is_ok() {
                    store.write(key);
                    store.unlock(&owner, key);
                }
            })
        });
        if holder.protect() {
            store.write(0);
            store.write(1);
            holder.unprotect();
        }
        for thief in thieves {
            thief.join().unwrap();
        }
        for key in [0, 1] {
            store.unlock(&holder, key);
        }
        store.check_free();
    });
}

/// The lock is granted to one that expires and keeps it, while another waits.
#[test]
fn the_next_in_the_queue_robs_a_new_holder() {
    model(|| {
        let (store, holder) = (Store::new(), owner(1));
        store.lock(&holder, 0, Exclusive, &FOREVER).unwrap();
        let keeps = {
            let store = store.clone();
            thread::spawn(move || store.lock(&expiring(2), 0, Exclusive, &FOREVER).unwrap())
        };
        let thief = user(&store, 3, Exclusive, FOREVER);
        store.unlock(&holder, 0);
        keeps.join().unwrap();
        assert!(thief.join().unwrap());
    });
}

/// Two buckets with a key each, and the numbers of writes.
struct Validated {
    latches: ValidationLatches,
    /// What two plain writers insert in bucket 0, each its own, and what one inserts in
    /// bucket 1. Transactions look at and write all that is in the buckets they latch.
    inserted: [UnsafeCell<u32>; 3],
    last: AtomicU64,
    newest: AtomicU64,
}

// SAFETY: the models check that the cells are used in order.
unsafe impl Sync for Validated {}
// SAFETY: a cell is a number.
unsafe impl Send for Validated {}

impl Validated {
    fn new() -> Arc<Self> {
        Arc::new(Validated {
            latches: ValidationLatches::new(2),
            inserted: std::array::from_fn(|_| UnsafeCell::new(0)),
            last: AtomicU64::new(0),
            newest: AtomicU64::new(0),
        })
    }

    fn insert(&self, cell: usize) {
        // SAFETY: loom fails the model if another thread uses the cell.
        self.inserted[cell].with_mut(|inserted| unsafe { *inserted += 1 });
    }

    fn put(&self, cell: usize) {
        let _in_flight = self.latches.enter_one(0);
        self.insert(cell);
    }

    /// Writes both buckets, as a batch or as a transaction.
    fn write_both(&self, latch: bool) {
        let named = if latch { [1, 0] } else { [0, 1] };
        let buckets: Buckets = named.into_iter().collect();
        if latch {
            let _latched = self.latches.latch(&buckets);
            (0..3).for_each(|cell| self.insert(cell));
        } else {
            let _in_flight = self.latches.enter(&buckets);
            [0, 2].into_iter().for_each(|cell| self.insert(cell));
        }
    }

    fn commit(&self) {
        let bucket: Buckets = [0].into_iter().collect();
        let _latched = self.latches.latch(&bucket);
        [0, 1].into_iter().for_each(|cell| self.insert(cell));
    }
}

fn all(validated: &Arc<Validated>, work: [fn(&Validated); 2], own: fn(&Validated)) {
    let threads = work.map(|work| {
        let validated = validated.clone();
        thread::spawn(move || work(&validated))
    });
    own(validated);
    threads
        .into_iter()
        .for_each(|thread| thread.join().unwrap());
}

/// Two writers in flight, which may meet each other, and a transaction, which meets none.
#[test]
fn a_latch_waits_for_writers_in_flight() {
    model_within(3, || {
        let validated = Validated::new();
        all(&validated, [|v| v.put(1), |v| v.commit()], |v| v.put(0));
        // SAFETY: all threads have ended.
        let counts = [0, 1].map(|i| validated.inserted[i].with(|n| unsafe { *n }));
        assert_eq!(counts, [2, 2]);
    });
}

/// Two transactions and a writer.
#[test]
fn latches_exclude_each_other() {
    model_within(3, || {
        let validated = Validated::new();
        all(&validated, [|v| v.commit(), |v| v.put(0)], |v| v.commit());
        // SAFETY: all threads have ended.
        let counts = [0, 1].map(|i| validated.inserted[i].with(|n| unsafe { *n }));
        assert_eq!(counts, [3, 2]);
    });
}

/// A batch and a transaction over two buckets, and a writer in one of them.
#[test]
fn batches_and_transactions_over_two_buckets_come_to_an_end() {
    model_within(3, || {
        let validated = Validated::new();
        let work: [fn(&Validated); 2] = [|v| v.write_both(false), |v| v.put(1)];
        all(&validated, work, |v| v.write_both(true));
        // SAFETY: all threads have ended.
        let counts = [0, 1, 2].map(|i| validated.inserted[i].with(|n| unsafe { *n }));
        assert_eq!(counts, [2, 2, 2]);
    });
}

/// A plain write is before validation, which then refuses, or after the insert.
#[test]
fn no_write_comes_between_validation_and_insert() {
    model(|| {
        let validated = Validated::new();
        let insert = |v: &Validated| {
            let number = v.last.fetch_add(1, Relaxed) + 1;
            v.newest.store(number, Relaxed);
            number
        };
        let other = validated.clone();
        let writer = thread::spawn(move || {
            let _in_flight = other.latches.enter_one(0);
            insert(&other)
        });
        let bucket: Buckets = [0].into_iter().collect();
        let latched = validated.latches.latch(&bucket);
        let committed = (validated.newest.load(Relaxed) == 0).then(|| insert(&validated));
        drop(latched);
        let written = writer.join().unwrap();
        let expected = if committed.is_some() { 2 } else { 1 };
        assert_eq!((written, committed.is_some()), (expected, expected == 2));
        assert_eq!(validated.newest.load(Relaxed), written, "O1");
    });
}
