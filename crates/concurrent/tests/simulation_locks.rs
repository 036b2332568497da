//! The lock table in simulations: against a sequential model, and under threads that a
//! seed schedules. Time-outs take no time there. And validation latches.

use rand::rngs::StdRng;
use rand::seq::IndexedRandom;
use rand::{Rng, SeedableRng};
use std::collections::BTreeMap;
use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
use std::thread;
use std::time::Duration;
use whitewater_concurrent::key_locks::LockMode::{self, Exclusive, Shared};
use whitewater_concurrent::key_locks::{
    KeyLocks, KeyLocksConfig, LockError, LockOwner, Timeout, Wait,
};
use whitewater_concurrent::system::simulation::{note, point, run};
use whitewater_concurrent::system::{self, Condvar, Mutex};
use whitewater_concurrent::validation_latches::{Buckets, ValidationLatches};

const WORKERS: usize = 6;
const KEYS: u8 = 4;

fn table() -> KeyLocks {
    let locks = KeyLocks::new(KeyLocksConfig::default());
    locks.add_family(0);
    locks
}

/// Runs `count` threads to their end. If one panics, it calls `let_others_end`, and the panic
/// is passed on when all have ended. (A scope waits for its threads, but not as a simulation
/// does.)
fn run_threads(count: u64, let_others_end: impl Fn() + Sync, work: impl Fn(u64) + Sync) {
    thread::scope(|scope| {
        let (work, let_others_end) = (&work, &let_others_end);
        let threads: Vec<_> = (0..count)
            .map(|worker| {
                let body = move || {
                    let outcome = catch_unwind(AssertUnwindSafe(|| work(worker)));
                    if outcome.is_err() {
                        let_others_end();
                    }
                    outcome
                };
                system::spawn_scoped(scope, format!("worker {worker}"), body).expect("it starts")
            })
            .collect();
        let joined = threads.into_iter().map(|thread| thread.join());
        let outcomes: Vec<_> = joined
            .map(|outcome| outcome.expect("it is caught"))
            .collect();
        if let Some(panic) = outcomes.into_iter().find_map(Result::err) {
            resume_unwind(panic);
        }
    });
}

#[derive(Debug, Clone, Copy)]
enum Call {
    Lock(u8, LockMode, Wait),
    Unlock(u8),
    Downgrade(u8),
    Stop,
}

type Outcome = Result<(), LockError>;

/// A thread that makes one call at a time.
#[derive(Default)]
struct Desk {
    call: Mutex<Option<Call>>,
    called: Condvar,
}

impl Desk {
    fn ask(&self, call: Call) {
        *self.call.lock() = Some(call);
        self.called.notify_one();
    }

    fn work(&self, id: usize, locks: &KeyLocks, done: &Mutex<BTreeMap<usize, Outcome>>) {
        let owner = Arc::new(LockOwner::new(id as u64, None));
        loop {
            let mut desk = self.call.lock();
            self.called.wait_while(&mut desk, |call| call.is_none());
            let call = desk.take().expect("there is a call");
            drop(desk);
            let outcome = match call {
                Call::Lock(key, mode, wait) => locks.lock(&owner, 0, &[key], mode, &wait),
                Call::Unlock(key) => {
                    locks.unlock(&owner, 0, &[key]);
                    Ok(())
                }
                Call::Downgrade(key) => {
                    locks.downgrade(&owner, 0, &[key]);
                    Ok(())
                }
                Call::Stop => break,
            };
            done.lock().insert(id, outcome);
        }
    }
}

/// A waiter of the model: its id, how it wants the lock and waits for it, and the step in which it
/// times out.
#[derive(Debug, Clone, Copy)]
struct Waits {
    id: usize,
    mode: LockMode,
    wait: Wait,
    ends: Option<usize>,
}

impl Waits {
    fn is_as_patient_as(&self, other: &Waits) -> bool {
        match (self.wait.timeout, other.wait.timeout) {
            (Timeout::For(own), Timeout::For(others)) => own >= others,
            (Timeout::Forever, _) => true,
            _ => false,
        }
    }
}

#[derive(Debug, Default)]
struct Key {
    exclusive: bool,
    holders: Vec<usize>,
    queue: Vec<Waits>,
}

/// What the lock table should do, one call after the other.
#[derive(Debug, Default)]
struct Model {
    keys: BTreeMap<u8, Key>,
    /// What has ended in this step.
    ended: BTreeMap<usize, Outcome>,
    /// How many waits that do not look for deadlocks have ended by one before their time-outs.
    given_up_early: u32,
}

impl Key {
    fn fits(&self, id: usize, mode: LockMode) -> bool {
        let others = self.holders.iter().filter(|holder| **holder != id).count();
        others == 0 || (mode == Shared && !self.exclusive)
    }

    fn take(&mut self, id: usize, mode: LockMode) {
        if !self.holders.contains(&id) {
            self.holders.push(id);
        }
        self.exclusive = mode == Exclusive;
    }
}

impl Model {
    /// Hands `key` to the first in its queue, as long as they can have it.
    fn hand_on(&mut self, key: u8) {
        let at = self.keys.entry(key).or_default();
        while !at.queue.is_empty() && at.fits(at.queue[0].id, at.queue[0].mode) {
            let first = at.queue.remove(0);
            at.take(first.id, first.mode);
            self.ended.insert(first.id, Ok(()));
        }
    }

    fn waits_at(&self, id: usize) -> Option<u8> {
        let waits = |key: &Key| key.queue.iter().any(|waits| waits.id == id);
        self.keys
            .iter()
            .find(|(_, key)| waits(key))
            .map(|(k, _)| *k)
    }

    fn give_up(&mut self, id: usize, error: LockError) {
        if let Some(key) = self.waits_at(id) {
            let at = self.keys.get_mut(&key).expect("it waits there");
            at.queue.retain(|waits| waits.id != id);
            self.ended.insert(id, Err(error));
            self.hand_on(key);
        }
    }

    /// The owners with which the wait of `id` conflicts.
    fn waits_for(&self, id: usize) -> Vec<usize> {
        let Some(key) = self.waits_at(id) else {
            return Vec::new();
        };
        let at = &self.keys[&key];
        let own = at
            .queue
            .iter()
            .position(|waits| waits.id == id)
            .expect("it waits");
        let mode = at.queue[own].mode;
        let conflicts = |other| mode == Exclusive || other == Exclusive;
        let held = if at.exclusive { Exclusive } else { Shared };
        let holders = at.holders.iter().filter(|_| conflicts(held));
        let ahead = at.queue[..own].iter().filter(|w| conflicts(w.mode));
        let all = holders.copied().chain(ahead.map(|waits| waits.id));
        all.filter(|other| *other != id).collect()
    }

    /// Whether `id` waits, over others that `counts` is true for, for itself.
    fn is_in_a_cycle(&self, id: usize, counts: impl Fn(usize) -> bool) -> bool {
        let mut reached = vec![id];
        let mut next = 0;
        while next < reached.len() {
            let here = reached[next];
            let waits_for = counts(here).then(|| self.waits_for(here));
            for other in waits_for.into_iter().flatten() {
                if other == id {
                    return true;
                }
                if !reached.contains(&other) {
                    reached.push(other);
                }
            }
            next += 1;
        }
        false
    }

    /// Whether neither `id` nor one that waits before it, which it may have to wait for, gives up
    /// before `least` does.
    fn is_as_patient(&self, id: usize, least: &Waits) -> bool {
        let Some(key) = self.waits_at(id) else {
            return true;
        };
        let queue = &self.keys[&key].queue;
        let own = queue.iter().position(|w| w.id == id).expect("it waits");
        let ahead = match queue[own].mode {
            Exclusive => own,
            Shared => {
                let last = queue[..own].iter().rposition(|w| w.mode == Exclusive);
                last.map_or(0, |last| last + 1)
            }
        };
        let mut them = queue[..ahead].iter().chain([&queue[own]]);
        them.all(|waits| waits.is_as_patient_as(least))
    }

    fn call(&mut self, step: usize, id: usize, call: Call) {
        let (key, mode, wait) = match call {
            Call::Lock(key, mode, wait) => (key, mode, wait),
            Call::Unlock(key) => {
                let at = self.keys.entry(key).or_default();
                at.holders.retain(|holder| *holder != id);
                self.ended.insert(id, Ok(()));
                return self.hand_on(key);
            }
            Call::Downgrade(key) => {
                let at = self.keys.entry(key).or_default();
                at.exclusive &= !at.holders.contains(&id);
                self.ended.insert(id, Ok(()));
                return self.hand_on(key);
            }
            Call::Stop => return,
        };
        let at = self.keys.entry(key).or_default();
        let holds = at.holders.contains(&id);
        if holds && (mode == Shared || at.exclusive) {
            self.ended.insert(id, Ok(()));
        } else if (holds || at.queue.is_empty()) && at.fits(id, mode) {
            at.take(id, mode);
            self.ended.insert(id, Ok(()));
        } else if wait.timeout == Timeout::No {
            self.ended.insert(id, Err(LockError::TimedOut));
        } else {
            let first_writer = at.queue.iter().position(|w| holds && w.mode == Exclusive);
            let ends = match wait.timeout {
                Timeout::For(time) => Some(step + (time.as_millis() / STEP.as_millis()) as usize),
                _ => None,
            };
            let place = first_writer.unwrap_or(at.queue.len());
            let waits = Waits {
                id,
                mode,
                wait,
                ends,
            };
            at.queue.insert(place, waits);
            if wait.deadlock_depth.is_some() {
                if self.is_in_a_cycle(id, |_| true) {
                    self.give_up(id, LockError::Deadlock);
                }
            } else if wait.timeout != Timeout::Forever
                && self.is_in_a_cycle(id, |other| self.is_as_patient(other, &waits))
            {
                // It would time out.
                self.given_up_early += 1;
                self.give_up(id, LockError::TimedOut);
            }
        }
    }

    /// Ends the waits that time out in this step, in the order of the owners' numbers.
    fn time_out(&mut self, step: usize) {
        for id in 0..WORKERS {
            let mut waits = self.keys.values().flat_map(|key| &key.queue);
            if waits.any(|waits| waits.id == id && waits.ends == Some(step)) {
                self.give_up(id, LockError::TimedOut);
            }
        }
    }
}

/// The time from one call to the next. All that a call leads to, but time-outs of later
/// steps, has happened then.
const STEP: Duration = Duration::from_millis(10);

/// A wait that times out in this step or the next two, at a moment that is its owner's own
/// and after deadlocks are looked for.
fn wait(rng: &mut StdRng, id: usize) -> Wait {
    let own = Duration::from_millis(1 + id as u64);
    match rng.random_range(0..8) {
        0 => Wait {
            timeout: Timeout::No,
            deadlock_depth: None,
        },
        steps @ 1..4 => Wait {
            timeout: Timeout::For(STEP * (steps - 1) + own),
            deadlock_depth: rng.random::<bool>().then_some(50),
        },
        _ => Wait {
            timeout: Timeout::Forever,
            deadlock_depth: rng.random_ratio(3, 4).then_some(50),
        },
    }
}

fn next_call(rng: &mut StdRng, id: usize, model: &Model) -> Call {
    let held = model
        .keys
        .iter()
        .filter(|(_, key)| key.holders.contains(&id));
    let held: Vec<u8> = held.map(|(key, _)| *key).collect();
    match (rng.random_range(0..10), held.choose(rng)) {
        (0..3, Some(key)) => Call::Unlock(*key),
        (3, Some(key)) => Call::Downgrade(*key),
        _ => {
            let mode = *[Shared, Exclusive].choose(rng).expect("two modes");
            Call::Lock(rng.random_range(0..KEYS), mode, wait(rng, id))
        }
    }
}

/// How often each outcome was seen.
#[derive(Debug, Default)]
struct Seen {
    granted_later: u32,
    timed_out: u32,
    deadlocks: u32,
    given_up_early: u32,
}

/// Worker threads, and what their last calls have returned.
struct Office {
    locks: KeyLocks,
    desks: [Desk; WORKERS],
    done: Mutex<BTreeMap<usize, Outcome>>,
}

impl Office {
    /// Ends all waits and all workers.
    fn close(&self) {
        self.locks.remove_family(0);
        self.desks.iter().for_each(|desk| desk.ask(Call::Stop));
    }

    /// Checks what calls have ended in a step of the model, and who holds which lock.
    fn check(&self, model: &mut Model, asked: Option<usize>, seen: &mut Seen) {
        let ended = std::mem::take(&mut *self.done.lock());
        assert_eq!(ended, model.ended, "{model:?}");
        model.ended.clear();
        for (id, outcome) in ended {
            match outcome {
                Ok(()) => seen.granted_later += u32::from(Some(id) != asked),
                Err(LockError::TimedOut) => seen.timed_out += 1,
                Err(LockError::Deadlock) => seen.deadlocks += 1,
                Err(error) => panic!("{error:?}"),
            }
        }
        let status = self.locks.lock_status();
        let held = status.into_iter().map(|lock| {
            let holders = lock.holders.iter().map(|id| *id as usize).collect();
            (lock.key[0], (lock.mode == Exclusive, holders))
        });
        let held: BTreeMap<_, (bool, Vec<usize>)> = held.collect();
        let expected = model.keys.iter().filter(|(_, key)| !key.holders.is_empty());
        let expected = expected.map(|(k, key)| (*k, (key.exclusive, key.holders.clone())));
        assert_eq!(held, expected.collect(), "{model:?}");
    }

    /// Makes random calls, one in each step.
    fn make_calls(&self, seed: u64) -> Seen {
        let mut rng = StdRng::seed_from_u64(seed);
        let (mut model, mut seen) = (Model::default(), Seen::default());
        let begun = system::now();
        for step in 0..80 {
            let idle: Vec<_> = (0..WORKERS)
                .filter(|id| model.waits_at(*id).is_none())
                .collect();
            let asked = idle.choose(&mut rng).copied();
            if let Some(id) = asked {
                let call = next_call(&mut rng, id, &model);
                self.desks[id].ask(call);
                model.call(step, id, call);
            }
            model.time_out(step);
            let next = begun + STEP * (step as u32 + 1);
            system::sleep(next.saturating_duration_since(system::now()));
            self.check(&mut model, asked, &mut seen);
        }
        seen.given_up_early = model.given_up_early;
        seen
    }
}

fn against_the_model(seed: u64) -> Seen {
    let office = Office {
        locks: table(),
        desks: Default::default(),
        done: Mutex::default(),
    };
    let seen = Mutex::new(Seen::default());
    let close = || office.close();
    run_threads(WORKERS as u64 + 1, close, |thread| {
        let id = thread as usize;
        if let Some(desk) = office.desks.get(id) {
            return desk.work(id, &office.locks, &office.done);
        }
        *seen.lock() = office.make_calls(seed);
        office.close();
    });
    seen.into_inner()
}

/// Grants in order, upgrades, time-outs and deadlocks, at each step what the model says.
#[test]
fn the_lock_table_does_what_the_model_does() {
    let mut seen = Seen::default();
    for seed in 0..60 {
        let (more, _) = run(seed, || against_the_model(seed));
        seen.granted_later += more.granted_later;
        seen.timed_out += more.timed_out;
        seen.deadlocks += more.deadlocks;
        seen.given_up_early += more.given_up_early;
    }
    assert!(seen.granted_later > 100, "{seen:?}");
    assert!(seen.timed_out > 100, "{seen:?}");
    assert!(seen.deadlocks > 50, "{seen:?}");
    assert!(seen.given_up_early > 10, "{seen:?}");
}

/// Who uses a key: writers are counted by 1000.
type Users = [AtomicU64; KEYS as usize];

/// A transaction of a few locks. Returns whether it could use its keys.
fn transaction(rng: &mut StdRng, locks: &KeyLocks, users: &Users, id: u64) -> bool {
    let lives = Duration::from_micros(rng.random_range(0..3_000));
    let expiration = rng.random_bool(0.5).then(|| system::now() + lives);
    let owner = Arc::new(LockOwner::new(id, expiration));
    let mut held: BTreeMap<u8, LockMode> = BTreeMap::new();
    let all = (0..rng.random_range(1..4)).all(|_| {
        let key = rng.random_range(0..KEYS);
        let mode = *[Shared, Exclusive].choose(rng).expect("two modes");
        let timeout = [
            Timeout::No,
            Timeout::For(Duration::from_micros(rng.random_range(0..2_000))),
            Timeout::Forever,
        ];
        let wait = Wait {
            timeout: *timeout.choose(rng).expect("three kinds"),
            deadlock_depth: Some(50),
        };
        let locked = locks.lock(&owner, 0, &[key], mode, &wait);
        if locked.is_ok() {
            let before = held.get(&key).copied();
            let stronger = before == Some(Exclusive) || mode == Exclusive;
            held.insert(key, if stronger { Exclusive } else { Shared });
        }
        if rng.random_bool(0.3) {
            system::sleep(Duration::from_micros(rng.random_range(0..1_000)));
        }
        locked.is_ok()
    });
    let uses = owner.protect();
    if uses {
        let share = |mode: LockMode| if mode == Exclusive { 1_000 } else { 1 };
        for (key, mode) in &held {
            let before = users[usize::from(*key)].fetch_add(share(*mode), Relaxed);
            let beside = if *mode == Exclusive { 0 } else { 999 };
            assert!(before <= beside, "{mode:?} beside {before}");
        }
        point();
        for (key, mode) in &held {
            users[usize::from(*key)].fetch_sub(share(*mode), Relaxed);
        }
    }
    held.keys().for_each(|key| locks.unlock(&owner, 0, &[*key]));
    all && uses
}

/// Threads whose owners expire, deadlock, time out and upgrade: nobody uses a key that
/// somebody else has locked, and everybody comes to an end.
#[test]
fn nobody_uses_what_another_has_locked() {
    let mut fingerprints = std::collections::BTreeSet::new();
    for seed in 0..150 {
        let (used, report) = run(seed, || {
            let (locks, users) = (table(), Users::default());
            let used = AtomicU64::new(0);
            let end_waits = || locks.remove_family(0);
            run_threads(5, end_waits, |worker| {
                let mut rng = StdRng::seed_from_u64(seed << 8 | worker);
                for round in 0..20 {
                    let id = worker * 100 + round;
                    let could = transaction(&mut rng, &locks, &users, id);
                    used.fetch_add(u64::from(could), Relaxed);
                    note(id);
                }
            });
            assert_eq!(locks.lock_status(), []);
            used.into_inner()
        });
        assert!(used > 10, "seed {seed}: only {used}");
        fingerprints.insert(report.fingerprint);
    }
    assert!(
        fingerprints.len() > 140,
        "{} different runs",
        fingerprints.len()
    );
}

/// Keys with the numbers of their newest versions.
struct Numbers {
    latches: ValidationLatches,
    last: AtomicU64,
    newest: [AtomicU64; KEYS as usize],
}

impl Numbers {
    /// Inserts a version of each key under one number, which it returns.
    fn insert(&self, keys: &[usize]) -> u64 {
        let number = self.last.fetch_add(1, Relaxed) + 1;
        for key in keys {
            point();
            self.newest[*key].fetch_max(number, Relaxed);
        }
        number
    }

    fn put(&self, keys: &[usize]) {
        let buckets: Buckets = keys.iter().map(|key| *key as u32).collect();
        let _in_flight = self.latches.enter(&buckets);
        point();
        self.insert(keys);
    }

    /// Returns whether nobody has written the keys since they were noted.
    fn commit(&self, keys: &[usize]) -> bool {
        let noted = self.last.load(Relaxed);
        point();
        let buckets: Buckets = keys.iter().map(|key| *key as u32).collect();
        let _latched = self.latches.latch(&buckets);
        let newest = |key: &usize| self.newest[*key].load(Relaxed);
        if keys.iter().any(|key| newest(key) > noted) {
            return false;
        }
        point();
        let number = self.insert(keys);
        point();
        // Nobody has come between, nor is about to insert what was numbered before.
        assert!(keys.iter().all(|key| newest(key) == number), "O1");
        true
    }
}

/// Plain writes and transactions over the same keys.
#[test]
fn plain_writes_keep_away_from_validated_keys() {
    let (mut committed, mut refused) = (0, 0);
    for seed in 0..100 {
        let (counts, _) = run(seed, || {
            let numbers = Numbers {
                latches: ValidationLatches::new(0),
                last: AtomicU64::new(0),
                newest: Default::default(),
            };
            let counts = Mutex::new((0, 0));
            let nothing = || ();
            run_threads(5, nothing, |worker| {
                let mut rng = StdRng::seed_from_u64(seed << 8 | worker);
                for _ in 0..15 {
                    let keys: Vec<usize> = (0..rng.random_range(1..4))
                        .map(|_| rng.random_range(0..KEYS.into()))
                        .collect();
                    if worker < 2 {
                        numbers.put(&keys);
                    } else if numbers.commit(&keys) {
                        counts.lock().0 += 1;
                    } else {
                        counts.lock().1 += 1;
                    }
                }
            });
            counts.into_inner()
        });
        committed += counts.0;
        refused += counts.1;
    }
    assert!(committed > 500 && refused > 500, "{committed}, {refused}");
}
