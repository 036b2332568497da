use super::LockMode::{Exclusive, Shared};
use super::*;
use crate::system;
use std::sync::atomic::{AtomicU64 as Number, Ordering::Relaxed};
use std::thread::{self, Scope, ScopedJoinHandle};

const NO: Wait = Wait {
    timeout: Timeout::No,
    deadlock_depth: None,
};
const FOREVER: Wait = Wait {
    timeout: Timeout::Forever,
    deadlock_depth: None,
};
const SHORT: Wait = Wait {
    timeout: Timeout::For(Duration::from_millis(2)),
    deadlock_depth: None,
};
const DETECT: Wait = Wait {
    timeout: Timeout::Forever,
    deadlock_depth: Some(50),
};

fn table(max_locks: Option<u64>) -> KeyLocks {
    let locks = KeyLocks::new(KeyLocksConfig {
        stripes: 16,
        max_locks,
    });
    locks.add_family(0);
    locks
}

fn owners<const N: usize>() -> [Arc<LockOwner>; N] {
    std::array::from_fn(|i| Arc::new(LockOwner::new(i as u64 + 1, None)))
}

type Waits<'scope> = ScopedJoinHandle<'scope, Result<(), LockError>>;

/// Starts a thread that locks `key`, and returns when it waits, or has not had to.
fn waiting<'scope, 'env>(
    scope: &'scope Scope<'scope, 'env>,
    locks: &'env KeyLocks,
    owner: &'env Arc<LockOwner>,
    key: &'env [u8],
    mode: LockMode,
    wait: &'env Wait,
) -> Waits<'scope> {
    let thread = scope.spawn(move || locks.lock(owner, 0, key, mode, wait));
    while locks.waiting_for(owner.id()).is_none() && !thread.is_finished() {
        thread::yield_now();
    }
    thread
}

fn holders(locks: &KeyLocks, key: &[u8]) -> Vec<u64> {
    let status = locks.lock_status();
    let found = status.into_iter().find(|status| status.key == key);
    found.map(|status| status.holders).unwrap_or_default()
}

#[test]
fn exclusive_locks_exclude_and_shared_ones_do_not() {
    let (locks, [a, b, c]) = (table(None), owners());
    locks.lock(&a, 0, b"k", Exclusive, &NO).unwrap();
    locks.lock(&a, 0, b"k", Exclusive, &NO).unwrap();
    locks.lock(&a, 0, b"k", Shared, &NO).unwrap();
    for mode in [Exclusive, Shared] {
        let refused = locks.lock(&b, 0, b"k", mode, &NO);
        assert_eq!(refused, Err(LockError::TimedOut));
        let refused = locks.lock(&b, 0, b"k", mode, &SHORT);
        assert_eq!(refused, Err(LockError::TimedOut));
    }
    assert_eq!(a.waits().0 + b.waits().0, 2);
    assert_eq!(locks.lock_status()[0].mode, Exclusive);
    locks.downgrade(&a, 0, b"k");
    locks.lock(&b, 0, b"k", Shared, &NO).unwrap();
    locks.lock(&c, 0, b"k", Shared, &NO).unwrap();
    assert_eq!(
        locks.lock_status(),
        [LockStatus {
            family: 0,
            key: b"k".to_vec(),
            mode: Shared,
            holders: vec![1, 2, 3],
        }]
    );
    // An upgrade is for the only holder. One that fails leaves the shared lock.
    let refused = locks.lock(&a, 0, b"k", Exclusive, &SHORT);
    assert_eq!(refused, Err(LockError::TimedOut));
    locks.unlock(&b, 0, b"k");
    locks.unlock(&c, 0, b"k");
    assert_eq!(holders(&locks, b"k"), [1]);
    locks.lock(&a, 0, b"k", Exclusive, &NO).unwrap();
    assert_eq!(locks.lock_status()[0].mode, Exclusive);
    locks.unlock(&b, 0, b"k"); // of no lock
    locks.unlock(&a, 0, b"k");
    assert_eq!(locks.lock_status(), []);
}

#[test]
fn families_and_keys_are_told_apart_and_their_memory_is_used_again() {
    let (locks, [a, b]) = (table(None), owners());
    locks.add_family(7);
    let keys: Vec<_> = (0..20_000_u32)
        .map(|i| format!("{i}").repeat(i as usize % 9))
        .collect();
    let keys: std::collections::BTreeSet<_> = keys.iter().map(|key| key.as_bytes()).collect();
    for _ in 0..2 {
        for &key in &keys {
            locks.lock(&a, 0, key, Exclusive, &NO).unwrap();
            locks.lock(&b, 7, key, Exclusive, &NO).unwrap();
        }
        assert_eq!(locks.lock_status().len(), keys.len() * 2);
        for &key in keys.iter().rev() {
            assert!(locks.lock(&b, 0, key, Shared, &NO).is_err());
            locks.unlock(&a, 0, key);
            locks.lock(&b, 0, key, Shared, &NO).unwrap();
            locks.unlock(&b, 0, key);
        }
        assert_eq!(locks.lock_status().len(), keys.len());
        keys.iter().for_each(|key| locks.unlock(&b, 7, key));
        assert_eq!(locks.lock_status(), []);
    }
    let unknown = locks.lock(&a, 3, b"k", Shared, &NO);
    assert_eq!(unknown, Err(LockError::NoFamily));
    locks.add_family(3);
    locks.lock(&a, 3, b"k", Shared, &NO).unwrap();
}

#[test]
fn a_limit_counts_each_key_of_a_family_once() {
    let (locks, [a, b]) = (table(Some(2)), owners());
    locks.add_family(1);
    locks.lock(&a, 0, b"1", Shared, &NO).unwrap();
    locks.lock(&b, 0, b"1", Shared, &NO).unwrap();
    locks.lock(&b, 0, b"2", Exclusive, &NO).unwrap();
    let third = locks.lock(&a, 0, b"3", Shared, &FOREVER);
    assert_eq!(third, Err(LockError::Limit));
    locks.lock(&a, 1, b"3", Shared, &NO).unwrap();
    locks.unlock(&a, 0, b"1");
    assert!(locks.lock(&a, 0, b"3", Shared, &NO).is_err());
    locks.unlock(&b, 0, b"1");
    locks.lock(&a, 0, b"3", Shared, &NO).unwrap();
    assert!(locks.lock(&a, 0, b"4", Shared, &NO).is_err());
}

#[test]
fn restored_locks_are_held_together_until_the_last_is_given_up() {
    let (locks, [a, b, c, d]) = (table(Some(1)), owners());
    for (owner, key) in [(&a, b"1"), (&b, b"1"), (&a, b"2")] {
        assert!(locks.restore(owner, 0, key));
    }
    assert!(!locks.restore(&a, 1, b"1"), "there is no such family");
    assert_eq!(
        (holders(&locks, b"1"), holders(&locks, b"2")),
        (vec![1, 2], vec![1])
    );
    // A holder has its key already. Who is new waits, whatever it wants.
    locks.lock(&a, 0, b"1", Exclusive, &NO).unwrap();
    for mode in [Exclusive, Shared] {
        let refused = locks.lock(&c, 0, b"1", mode, &NO);
        assert_eq!(refused, Err(LockError::TimedOut));
        let refused = locks.lock(&c, 0, b"3", mode, &FOREVER);
        assert_eq!(refused, Err(LockError::Limit));
    }
    thread::scope(|scope| {
        let c_waits = waiting(scope, &locks, &c, b"1", Shared, &FOREVER);
        let d_waits = waiting(scope, &locks, &d, b"1", Shared, &FOREVER);
        assert_eq!(locks.waiting_for(c.id()).unwrap().owners, [1, 2]);
        locks.unlock(&a, 0, b"1");
        assert_eq!(holders(&locks, b"1"), [2]);
        assert!(locks.waiting_for(c.id()).is_some());
        locks.unlock(&b, 0, b"1");
        c_waits.join().unwrap().unwrap();
        d_waits.join().unwrap().unwrap();
    });
    assert_eq!(locks.lock_status()[0].mode, Shared);
    locks.unlock(&c, 0, b"1");
    locks.unlock(&d, 0, b"1");
    // The limit counts what was restored.
    let refused = locks.lock(&c, 0, b"3", Shared, &NO);
    assert_eq!(refused, Err(LockError::Limit));
    locks.unlock(&a, 0, b"2");
    locks.lock(&c, 0, b"3", Shared, &NO).unwrap();
}

#[test]
fn locks_are_handed_on_in_order_and_to_all_readers_at_the_head() {
    let (locks, [a, b, c, d, e]) = (table(None), owners());
    locks.lock(&a, 0, b"k", Exclusive, &NO).unwrap();
    thread::scope(|scope| {
        let b_waits = waiting(scope, &locks, &b, b"k", Shared, &FOREVER);
        let c_waits = waiting(scope, &locks, &c, b"k", Shared, &FOREVER);
        let d_waits = waiting(scope, &locks, &d, b"k", Exclusive, &FOREVER);
        let e_waits = waiting(scope, &locks, &e, b"k", Shared, &FOREVER);
        let d_for = locks.waiting_for(d.id()).unwrap();
        assert_eq!(d_for.owners, [1, 2, 3]);
        assert_eq!((d_for.family, &d_for.key[..]), (0, &b"k"[..]));
        assert_eq!(locks.waiting_for(b.id()).unwrap().owners, [1]);
        locks.unlock(&a, 0, b"k");
        b_waits.join().unwrap().unwrap();
        c_waits.join().unwrap().unwrap();
        assert_eq!(holders(&locks, b"k"), [2, 3]);
        // A new reader is not let pass.
        let refused = locks.lock(&a, 0, b"k", Shared, &NO);
        assert_eq!(refused, Err(LockError::TimedOut));
        locks.unlock(&b, 0, b"k");
        // An upgrade is.
        locks.lock(&c, 0, b"k", Exclusive, &NO).unwrap();
        locks.unlock(&c, 0, b"k");
        d_waits.join().unwrap().unwrap();
        assert_eq!(holders(&locks, b"k"), [4]);
        locks.downgrade(&d, 0, b"k");
        e_waits.join().unwrap().unwrap();
        assert_eq!(holders(&locks, b"k"), [4, 5]);
    });
}

#[test]
fn one_that_gives_up_passes_the_baton_on() {
    let (locks, [a, b, c, d]) = (table(None), owners());
    locks.lock(&a, 0, b"k", Shared, &NO).unwrap();
    let wait = Wait {
        timeout: Timeout::For(Duration::from_millis(20)),
        deadlock_depth: None,
    };
    let (locks, wait) = (&locks, &wait);
    thread::scope(|scope| {
        let b_waits = scope.spawn(|| locks.lock(&b, 0, b"k", Exclusive, wait));
        let mut readers = Vec::new();
        for reader in [&c, &d] {
            readers.push(scope.spawn(move || locks.lock(reader, 0, b"k", Shared, &FOREVER)));
        }
        assert_eq!(b_waits.join().unwrap(), Err(LockError::TimedOut));
        for reader in readers {
            reader.join().unwrap().unwrap();
        }
        let mut held = holders(locks, b"k");
        held.sort_unstable();
        assert_eq!(held, [1, 3, 4]);
    });
}

#[test]
fn an_upgrade_overtakes_those_that_wait() {
    let (locks, [a, b, c]) = (table(None), owners());
    locks.lock(&a, 0, b"k", Shared, &NO).unwrap();
    locks.lock(&b, 0, b"k", Shared, &NO).unwrap();
    thread::scope(|scope| {
        let c_waits = waiting(scope, &locks, &c, b"k", Exclusive, &FOREVER);
        let b_waits = waiting(scope, &locks, &b, b"k", Exclusive, &FOREVER);
        assert_eq!(locks.waiting_for(c.id()).unwrap().owners, [1, 2, 2]);
        locks.unlock(&a, 0, b"k");
        b_waits.join().unwrap().unwrap();
        assert_eq!(locks.lock_status()[0].mode, Exclusive);
        assert_eq!(holders(&locks, b"k"), [2]);
        locks.unlock(&b, 0, b"k");
        c_waits.join().unwrap().unwrap();
    });
}

#[test]
fn a_removed_family_ends_its_waits() {
    let (locks, [a, b, c]) = (table(Some(1)), owners());
    locks.add_family(1);
    locks.lock(&c, 1, b"k", Exclusive, &NO).unwrap();
    locks.lock(&a, 0, b"k", Exclusive, &NO).unwrap();
    thread::scope(|scope| {
        let b_waits = waiting(scope, &locks, &b, b"k", Shared, &DETECT);
        locks.remove_family(0);
        assert_eq!(b_waits.join().unwrap(), Err(LockError::NoFamily));
    });
    locks.unlock(&a, 0, b"k");
    let gone = locks.lock(&a, 0, b"k", Shared, &NO);
    assert_eq!(gone, Err(LockError::NoFamily));
    assert_eq!(locks.lock_status()[0].family, 1);
    locks.add_family(0);
    locks.lock(&b, 0, b"k", Exclusive, &NO).unwrap();
}

fn expired(id: u64) -> Arc<LockOwner> {
    Arc::new(LockOwner::new(id, Some(system::now())))
}

#[test]
fn locks_of_expired_owners_are_stolen_unless_they_are_protected() {
    let locks = table(None);
    let [never] = owners();
    let (busy, robbed, failed) = (expired(2), expired(3), expired(4));
    assert!(busy.is_expired() && !never.is_expired());
    for (key, owner) in [(b"b", &busy), (b"r", &robbed), (b"f", &failed)] {
        locks.lock(owner, 0, key, Exclusive, &NO).unwrap();
    }
    assert!(busy.protect() && busy.protect());
    let refused = locks.lock(&never, 0, b"b", Exclusive, &SHORT);
    assert_eq!(refused, Err(LockError::TimedOut));
    assert_eq!(busy.state(), OwnerState::Busy);
    for (wait, key) in [(&NO, b"r"), (&FOREVER, b"f")] {
        locks.lock(&never, 0, key, Exclusive, wait).unwrap();
        assert_eq!(holders(&locks, key), [1]);
    }
    assert_eq!(robbed.state(), OwnerState::Stolen);
    assert!(!robbed.protect());
    locks.unlock(&robbed, 0, b"r"); // of a lock that it has no more
    assert_eq!(holders(&locks, b"r"), [1]);
    busy.unprotect();
    assert_eq!(busy.state(), OwnerState::Started);
    locks.lock(&never, 0, b"b", Shared, &NO).unwrap();
    assert!(!busy.protect());
}

#[test]
fn shared_locks_are_stolen_when_all_others_have_expired() {
    let locks = table(None);
    let [a, b] = owners();
    let later = system::now() + Duration::from_secs(3600);
    let (first, second) = (expired(3), Arc::new(LockOwner::new(4, Some(later))));
    for owner in [&first, &second, &b] {
        locks.lock(owner, 0, b"k", Shared, &NO).unwrap();
    }
    assert!(locks.lock(&a, 0, b"k", Exclusive, &SHORT).is_err());
    assert_eq!(first.state(), OwnerState::Started);
    locks.unlock(&second, 0, b"k");
    // b's upgrade robs the first.
    locks.lock(&b, 0, b"k", Exclusive, &SHORT).unwrap();
    assert_eq!(holders(&locks, b"k"), [2]);
    assert_eq!(first.state(), OwnerState::Stolen);
    // Another lock of a robbed owner.
    locks.unlock(&b, 0, b"k");
    locks.lock(&first, 0, b"k", Shared, &NO).unwrap();
    locks.lock(&a, 0, b"k", Exclusive, &NO).unwrap();
}

#[test]
fn a_waiter_steals_when_the_holder_expires() {
    let locks = table(None);
    let [a, b] = owners();
    let soon: [_; 2] = [10, 20].map(|ms| system::now() + Duration::from_millis(ms));
    let [c, d] =
        [(3, soon[0]), (4, soon[1])].map(|(id, at)| Arc::new(LockOwner::new(id, Some(at))));
    locks.lock(&c, 0, b"k", Exclusive, &NO).unwrap();
    thread::scope(|scope| {
        // d steals from c; a, which has waited behind d, steals from d.
        let d_waits = scope.spawn(|| locks.lock(&d, 0, b"k", Exclusive, &FOREVER));
        d_waits.join().unwrap().unwrap();
        let a_waits = scope.spawn(|| locks.lock(&a, 0, b"k", Exclusive, &FOREVER));
        a_waits.join().unwrap().unwrap();
    });
    assert_eq!(holders(&locks, b"k"), [1]);
    assert_eq!([c.state(), d.state()], [OwnerState::Stolen; 2]);
    assert!(locks.lock(&b, 0, b"k", Shared, &NO).is_err());
}

fn step(owner: u64, key: &[u8], mode: LockMode) -> DeadlockStep {
    DeadlockStep {
        owner,
        family: 0,
        key: key.to_vec(),
        mode,
    }
}

#[test]
fn the_newest_waiter_of_a_cycle_fails_and_the_last_five_are_kept() {
    let (locks, [a, b, c]) = (table(None), owners());
    for (owner, key) in [(&a, b"a"), (&b, b"b"), (&c, b"c")] {
        locks.lock(owner, 0, key, Exclusive, &NO).unwrap();
    }
    thread::scope(|scope| {
        let a_waits = waiting(scope, &locks, &a, b"b", Exclusive, &DETECT);
        let b_waits = waiting(scope, &locks, &b, b"c", Shared, &DETECT);
        let wait_until_in_graph = || {
            while locks.graph.waiting() < 2 {
                thread::yield_now();
            }
        };
        wait_until_in_graph();
        let mut steps = vec![
            step(1, b"b", Exclusive),
            step(2, b"c", Shared),
            step(3, b"a", Exclusive),
        ];
        let at_once = Wait {
            timeout: Timeout::No,
            deadlock_depth: Some(50),
        };
        for round in 0..7 {
            let wait = if round % 2 == 0 { &DETECT } else { &at_once };
            let failed = locks.lock(&c, 0, b"a", Exclusive, wait);
            assert_eq!(failed, Err(LockError::Deadlock));
        }
        let found = locks.deadlocks();
        assert_eq!(found.len(), 5);
        assert!(found.iter().all(|path| path.steps == steps));
        steps[2].mode = Shared;
        let failed = locks.lock(&c, 0, b"a", Shared, &DETECT);
        assert_eq!(failed, Err(LockError::Deadlock));
        let found = locks.deadlocks();
        assert_eq!((found.len(), &found[0].steps), (5, &steps));
        assert!(!found[0].limit_exceeded);
        // A search of too little depth.
        let shallow = Wait {
            timeout: Timeout::Forever,
            deadlock_depth: Some(2),
        };
        let failed = locks.lock(&c, 0, b"a", Shared, &shallow);
        assert_eq!(failed, Err(LockError::Deadlock));
        assert!(locks.deadlocks()[0].limit_exceeded && locks.deadlocks()[0].steps.is_empty());
        locks.unlock(&c, 0, b"c");
        b_waits.join().unwrap().unwrap();
        locks.unlock(&b, 0, b"b");
        a_waits.join().unwrap().unwrap();
    });
    assert_eq!(locks.graph.waiting(), 0);
}

#[test]
fn two_upgrades_of_one_key_are_a_deadlock() {
    let (locks, [a, b]) = (table(None), owners());
    locks.lock(&a, 0, b"k", Shared, &NO).unwrap();
    locks.lock(&b, 0, b"k", Shared, &NO).unwrap();
    thread::scope(|scope| {
        let a_waits = waiting(scope, &locks, &a, b"k", Exclusive, &DETECT);
        while locks.graph.waiting() < 1 {
            thread::yield_now();
        }
        let failed = locks.lock(&b, 0, b"k", Exclusive, &DETECT);
        assert_eq!(failed, Err(LockError::Deadlock));
        let steps = &locks.deadlocks()[0].steps;
        assert_eq!(
            steps[..],
            [step(1, b"k", Exclusive), step(2, b"k", Exclusive)]
        );
        assert_eq!(holders(&locks, b"k"), [1, 2]);
        locks.unlock(&b, 0, b"k");
        a_waits.join().unwrap().unwrap();
    });
}

/// Threads move amounts between accounts under exclusive locks and add them up under
/// shared ones; deadlocks make them start again.
#[test]
fn what_is_written_under_locks_is_seen_under_locks() {
    const ACCOUNTS: usize = 6;
    let locks = table(Some(ACCOUNTS as u64));
    let accounts: [Number; ACCOUNTS] = std::array::from_fn(|_| Number::new(1_000));
    let next_id = Number::new(1);
    let begin = || {
        let id = next_id.fetch_add(1, Relaxed);
        let expiration = id
            .is_multiple_of(3)
            .then(|| system::now() + Duration::from_secs(600));
        Arc::new(LockOwner::new(id, expiration))
    };
    let detect: Wait = Wait {
        timeout: Timeout::For(Duration::from_secs(3600)),
        deadlock_depth: Some(50),
    };
    let wait = &detect;
    let transaction = |keys: &[usize], mode, work: &dyn Fn()| loop {
        let owner = begin();
        let mut had = 0;
        let taken = keys.iter().try_for_each(|&key| {
            locks.lock(&owner, 0, &[key as u8], mode, wait)?;
            had += 1;
            Ok::<_, LockError>(())
        });
        if taken.is_ok() {
            work();
        }
        keys[..had]
            .iter()
            .for_each(|&key| locks.unlock(&owner, 0, &[key as u8]));
        match taken {
            Ok(()) => break,
            Err(error) => assert_eq!(error, LockError::Deadlock),
        }
    };
    let (transaction, accounts) = (&transaction, &accounts);
    thread::scope(|scope| {
        for worker in 0..6_usize {
            scope.spawn(move || {
                for round in 0..300 {
                    if worker == 0 {
                        let all: [usize; ACCOUNTS] =
                            std::array::from_fn(|i| (i + round) % ACCOUNTS);
                        transaction(&all, Shared, &|| {
                            let sum: u64 = accounts.iter().map(|a| a.load(Relaxed)).sum();
                            assert_eq!(sum, 1_000 * ACCOUNTS as u64);
                        });
                        continue;
                    }
                    let from = (round * worker + worker) % ACCOUNTS;
                    let to = (from + 1 + (round + worker) % (ACCOUNTS - 1)) % ACCOUNTS;
                    transaction(&[from, to], Exclusive, &|| {
                        for (account, by) in [(from, u64::MAX), (to, 1)] {
                            let had = accounts[account].load(Relaxed);
                            thread::yield_now();
                            accounts[account].store(had.wrapping_add(by), Relaxed);
                        }
                    });
                }
            });
        }
    });
    assert_eq!(locks.lock_status(), []);
    assert_eq!(locks.graph.waiting(), 0);
    let sum: u64 = accounts.iter().map(|a| a.load(Relaxed)).sum();
    assert_eq!(sum, 1_000 * ACCOUNTS as u64);
}

/// RocksDB's would wait for their time-outs, and hold up all that want their keys until then.
#[test]
fn a_deadlock_that_nobody_looks_for_ends_before_its_time_outs() {
    let (locks, [a, b]) = (table(None), owners());
    let hour = Wait {
        timeout: Timeout::For(Duration::from_secs(3600)),
        deadlock_depth: None,
    };
    locks.lock(&a, 0, b"1", Exclusive, &NO).unwrap();
    locks.lock(&b, 0, b"2", Exclusive, &NO).unwrap();
    thread::scope(|scope| {
        // The last one to search gives up, and its lock.
        let first = scope.spawn(|| {
            let got = locks.lock(&a, 0, b"2", Exclusive, &hour);
            locks.unlock(&a, 0, b"1");
            got
        });
        let second = locks.lock(&b, 0, b"1", Exclusive, &hour);
        locks.unlock(&b, 0, b"2");
        let both = [first.join().unwrap(), second];
        assert!(both.contains(&Ok(())) && both.contains(&Err(LockError::TimedOut)));
    });
    assert_eq!(locks.deadlocks(), [], "nobody has asked");
    assert_eq!(locks.graph.waiting(), 0);
}

#[test]
fn of_a_deadlock_that_nobody_looks_for_the_most_patient_gets_its_lock() {
    let (locks, [a, b]) = (table(None), owners());
    let [long, short] = [3_600_000, 50].map(|ms| Wait {
        timeout: Timeout::For(Duration::from_millis(ms)),
        deadlock_depth: None,
    });
    for (of_a, of_b) in [(&long, &short), (&short, &long), (&FOREVER, &short)] {
        locks.lock(&a, 0, b"1", Exclusive, &NO).unwrap();
        locks.lock(&b, 0, b"2", Exclusive, &NO).unwrap();
        thread::scope(|scope| {
            let a_waits = scope.spawn(|| {
                let got = locks.lock(&a, 0, b"2", Exclusive, of_a);
                locks.unlock(&a, 0, b"1");
                got
            });
            let b_got = locks.lock(&b, 0, b"1", Exclusive, of_b);
            locks.unlock(&b, 0, b"2");
            let a_got = a_waits.join().unwrap();
            let (patient, other) = match of_b == &short {
                true => (a_got, b_got),
                false => (b_got, a_got),
            };
            assert_eq!((patient, other), (Ok(()), Err(LockError::TimedOut)));
        });
        for key in [b"1", b"2"] {
            locks.unlock(&a, 0, key);
            locks.unlock(&b, 0, key);
        }
    }
}

#[test]
fn a_wait_for_holders_that_expire_is_not_given_up_early() {
    let locks = table(None);
    let expiring = |id| {
        Arc::new(LockOwner::new(
            id,
            Some(system::now() + Duration::from_millis(100)),
        ))
    };
    let (a, b) = (expiring(1), expiring(2));
    locks.lock(&a, 0, b"1", Exclusive, &NO).unwrap();
    locks.lock(&b, 0, b"2", Exclusive, &NO).unwrap();
    let hour = Wait {
        timeout: Timeout::For(Duration::from_secs(3600)),
        deadlock_depth: None,
    };
    thread::scope(|scope| {
        // On a busy machine b may have expired before a waits.
        let first = waiting(scope, &locks, &a, b"2", Exclusive, &hour);
        assert_eq!(locks.lock(&b, 0, b"1", Exclusive, &hour), Ok(()));
        assert_eq!(first.join().unwrap(), Ok(()));
    });
}
