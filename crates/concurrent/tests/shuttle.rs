//! Longer runs than loom can explore, under random schedules: the structures with three
//! or four threads. They run with sequential consistency only, so they find errors in the
//! interleaving of steps, not missing orderings.
//!
//! Run with
//! `RUSTFLAGS="--cfg shuttle" cargo test -p whitewater-concurrent --release --test shuttle`;
//! `SCHEDULES=100000` in front tries more than the default of each kind, and
//! `SEED=7` others. A failure prints its schedule, and how to replay it.
#![cfg(shuttle)]

mod support;

use std::collections::{BTreeMap, BTreeSet};
use std::env;
// Schedules switch threads only within the crate's own operations, so the notes of the
// tests need no checked lock.
use std::sync::{Arc, Mutex};
use std::time::Duration;

use shuttle::scheduler::{PctScheduler, RandomScheduler};
use shuttle::sync::atomic::{AtomicU64, Ordering};
use shuttle::{Config, Runner, thread};
use support::keys::value;
use support::order::{By, Bytewise, EntryKey, ReverseBytewise};
use support::set::{Cursor, Set, Tree};
use whitewater_concurrent::arena::ConcurrentArena;
use whitewater_concurrent::art::{Art, Options};
use whitewater_concurrent::group::{GroupQueue, Members, Prepare, Steps};
use whitewater_concurrent::key_locks::{
    KeyLocks, KeyLocksConfig, LockError, LockMode, LockOwner, Timeout, Wait,
};
use whitewater_concurrent::publish::Publication;
use whitewater_concurrent::skiplist::{SkipList, Splice};
use whitewater_concurrent::undecided::{NumberRange, Undecided, UndecidedRanges};
use whitewater_concurrent::waiter::YieldPolicy;

fn number(variable: &str, default: u64) -> u64 {
    match env::var(variable) {
        Ok(text) => text.parse().expect("a number"),
        Err(_) => default,
    }
}

/// Runs `check` under as many schedules of either kind: uniformly random ones,
/// and ones that delay threads at a few chosen points.
fn model(check: impl Fn() + Send + Sync + Clone + 'static) {
    let schedules = number("SCHEDULES", 1_000) as usize;
    let seed = number("SEED", 1);
    let mut config = Config::new();
    config.silence_warnings = true;
    config.stack_size = 256 << 10;
    let random = RandomScheduler::new_from_seed(seed, schedules);
    Runner::new(random, config.clone()).run(check.clone());
    let pct = PctScheduler::new_from_seed(seed, 4, schedules);
    Runner::new(pct, config).run(check);
}

#[test]
fn arena_allocations_are_disjoint_and_counted() {
    model(|| {
        let arena = Arc::new(ConcurrentArena::new(4096));
        let workers = [0, 1, 2, 3].map(|worker: usize| {
            let arena = arena.clone();
            thread::spawn(move || {
                let sizes = (0..6).map(|i| [1, 24, 100, 300, 1200, 8][(i + worker) % 6]);
                sizes
                    .map(|size| (arena.allocate(size).as_ptr().addr(), size))
                    .collect::<Vec<_>>()
            })
        });
        let mut allocations: Vec<_> = workers
            .into_iter()
            .flat_map(|w| w.join().unwrap())
            .collect();
        allocations.sort_unstable();
        for pair in allocations.windows(2) {
            assert!(pair[0].0 + pair[0].1 <= pair[1].0, "overlap");
        }
        let rounded = allocations.iter().map(|(_, size)| size.next_multiple_of(8));
        assert_eq!(arena.used_bytes(), rounded.sum());
        assert_eq!(arena.allocations(), allocations.len());
    });
}

/// The entries whose insert has returned.
type Noted<S> = Mutex<BTreeMap<EntryKey<<S as Set>::Order>, Vec<u8>>>;

/// One walk in a direction, from an end or from a key: sorted, without repetitions,
/// inside the range, and with all entries that were there when it began.
fn walk<S: Set>(set: &Arc<S>, noted: &Noted<S>, up: bool, from: Option<(&[u8], u64)>) {
    let there = noted.lock().unwrap().clone();
    let start = from.map(|(key, tag)| EntryKey::<S::Order>::new(key, tag));
    let mut cursor = set.cursor();
    match (from, up) {
        (None, true) => cursor.seek_to_first(),
        (None, false) => cursor.seek_to_last(),
        (Some((key, tag)), true) => cursor.seek(key, tag),
        (Some((key, tag)), false) => cursor.seek_for_prev(key, tag),
    }
    let mut seen: BTreeMap<EntryKey<S::Order>, Vec<u8>> = BTreeMap::new();
    let mut last = None;
    while let Some((here, found)) = cursor.entry::<S::Order>() {
        assert_eq!(found, value(&here.key, here.tag));
        let in_range = start
            .as_ref()
            .is_none_or(|start| if up { *start <= here } else { here <= *start });
        assert!(in_range, "{here:?} is beyond {start:?}");
        let sorted = last
            .as_ref()
            .is_none_or(|last| if up { *last < here } else { here < *last });
        assert!(sorted, "{here:?} after {last:?}");
        last = Some(here.clone());
        seen.insert(here, found);
        if up { cursor.next() } else { cursor.prev() }
    }
    let expected: Vec<_> = match (&start, up) {
        (None, _) => there.iter().collect(),
        (Some(start), true) => there.range(start..).collect(),
        (Some(start), false) => there.range(..=start).collect(),
    };
    for (place, _) in expected {
        assert!(seen.contains_key(place), "{place:?} is missing");
    }
}

/// Threads insert shares of `entries` in different ways beside a reader.
fn writers_and_a_reader<S: Set>(entries: &'static [(&'static [u8], u64)], writers: usize) {
    model(move || {
        let set = S::create();
        let noted = Arc::new(Noted::<S>::default());
        let writing: Vec<_> = (0..writers)
            .map(|writer| {
                let (set, noted) = (set.clone(), noted.clone());
                thread::spawn(move || {
                    for (i, (key, tag)) in entries.iter().enumerate().skip(writer).step_by(writers)
                    {
                        let value = value(key, *tag);
                        assert!(
                            set.insert_by(i, key, *tag, &value),
                            "no other thread inserts it"
                        );
                        let place = EntryKey::new(key, *tag);
                        noted.lock().unwrap().insert(place, value);
                    }
                })
            })
            .collect();
        let reader = {
            let (set, noted) = (set.clone(), noted.clone());
            thread::spawn(move || {
                let (key, tag) = entries[entries.len() / 2];
                for up in [true, false] {
                    walk(&set, &noted, up, None);
                    walk(&set, &noted, up, Some((key, tag)));
                }
            })
        };
        for thread in writing.into_iter().chain([reader]) {
            thread.join().unwrap();
        }
        assert_eq!(set.check(), Ok(entries.len()));
        assert_eq!(set.len(), entries.len());
        assert_eq!(noted.lock().unwrap().len(), entries.len());
        walk(&set, &noted, true, None);
        walk(&set, &noted, false, None);
    });
}

/// Keys that are prefixes of each other, a node that grows through all sizes, splits.
const KEYS: &[(&[u8], u64)] = &[
    (b"abc", 1),
    (b"abd", 1),
    (b"ab", 1),
    (b"", 1),
    (b"b", 1),
    (b"abcd", 1),
    (b"c", 1),
    (b"d", 1),
    (b"abcde1", 1),
    (b"abcde2", 1),
    (b"e", 1),
    (b"f", 1),
    (b"a", 1),
    (b"g", 1),
];

/// Many versions of two keys, not in order.
const VERSIONS: &[(&[u8], u64)] = &[
    (b"k", 5),
    (b"k", 4),
    (b"kk", 6),
    (b"k", 9),
    (b"k", 7),
    (b"kk", 2),
    (b"k", 1),
    (b"k", 8),
    (b"kk", 3),
    (b"k", 12),
];

#[test]
fn art_keys() {
    writers_and_a_reader::<Tree<false>>(KEYS, 3);
    writers_and_a_reader::<Tree<true>>(KEYS, 2);
}

#[test]
fn art_versions() {
    writers_and_a_reader::<Tree<false>>(VERSIONS, 3);
}

#[test]
fn skip_list_keys() {
    writers_and_a_reader::<SkipList<By<Bytewise>>>(KEYS, 3);
    writers_and_a_reader::<SkipList<By<ReverseBytewise>>>(KEYS, 2);
}

#[test]
fn skip_list_versions() {
    writers_and_a_reader::<SkipList<By<Bytewise>>>(VERSIONS, 3);
}

/// A cursor changes its direction at every step, in a node that grows to the widest kind.
fn to_and_fro<S: Set>() {
    model(|| {
        let set = S::create();
        for key in *b"acegikmo" {
            assert!(set.insert(&[key], 1, &value(&[key], 1)));
        }
        let writer = {
            let set = set.clone();
            thread::spawn(move || {
                for key in *b"bdfhjln" {
                    assert!(set.insert(&[key], 1, &value(&[key], 1)));
                }
            })
        };
        let readers = [b'g', b'h'].map(|from| {
            let set = set.clone();
            thread::spawn(move || {
                let mut cursor = set.cursor();
                cursor.seek(&[from], 1);
                for up in [true, false, false, true, true, true, false] {
                    let (before, _) = cursor.entry::<S::Order>().unwrap();
                    if up {
                        cursor.next()
                    } else {
                        cursor.prev()
                    }
                    let (here, found) = cursor.entry::<S::Order>().unwrap();
                    assert_eq!(found, value(&here.key, here.tag));
                    assert!(if up { before < here } else { here < before });
                    // Only new entries are passed over.
                    assert!(before.key[0].abs_diff(here.key[0]) <= 2);
                }
            })
        });
        for thread in readers.into_iter().chain([writer]) {
            thread.join().unwrap();
        }
        assert_eq!(set.check(), Ok(15));
    });
}

#[test]
fn art_to_and_fro() {
    to_and_fro::<Tree<false>>();
    to_and_fro::<Tree<true>>();
}

#[test]
fn skip_list_to_and_fro() {
    to_and_fro::<SkipList<By<Bytewise>>>();
}

/// Writers take sequence numbers and publish in order. A reader at a published number
/// sees exactly the entries up to it, whatever arrives meanwhile.
fn snapshots<S: Set>() {
    const WRITERS: u64 = 3;
    const ALL: u64 = WRITERS * 4;
    fn key(sequence: u64) -> &'static [u8] {
        [&b"k"[..], b"ka", b"k", b""][(sequence % 4) as usize]
    }
    model(|| {
        let set = S::create();
        let next = Arc::new(AtomicU64::new(1));
        let visible = Arc::new(AtomicU64::new(0));
        let mut threads = Vec::new();
        for _ in 0..WRITERS {
            let (set, next, visible) = (set.clone(), next.clone(), visible.clone());
            threads.push(thread::spawn(move || {
                for _ in 0..ALL / WRITERS {
                    // The sequence number decides the key, so it is taken first; other
                    // threads may overtake.
                    let sequence = next.fetch_add(1, Ordering::SeqCst);
                    let (key, tag) = (key(sequence), || sequence);
                    assert!(set.insert_late(key, &value(key, sequence), tag));
                    while visible.load(Ordering::SeqCst) != sequence - 1 {
                        thread::yield_now();
                    }
                    visible.store(sequence, Ordering::SeqCst);
                }
            }));
        }
        for up in [true, false] {
            let (set, visible) = (set.clone(), visible.clone());
            threads.push(thread::spawn(move || {
                for _ in 0..2 {
                    let at = visible.load(Ordering::SeqCst);
                    let expected: BTreeSet<EntryKey<S::Order>> =
                        (1..=at).map(|s| EntryKey::new(key(s), s)).collect();
                    let mut seen = BTreeSet::new();
                    let mut cursor = set.cursor();
                    if up {
                        cursor.seek_to_first()
                    } else {
                        cursor.seek_to_last()
                    }
                    while let Some((here, found)) = cursor.entry::<S::Order>() {
                        assert_eq!(found, value(&here.key, here.tag));
                        if here.tag <= at {
                            assert!(seen.insert(here), "twice");
                        }
                        if up { cursor.next() } else { cursor.prev() }
                    }
                    assert_eq!(seen, expected);
                    for old in [at, at / 2] {
                        let newest = (1..=old).rev().find(|&s| key(s) == b"k");
                        let mut found = None;
                        set.get(b"k", old, &mut |tag, _| {
                            found = Some(tag);
                            false
                        });
                        assert_eq!(found, newest);
                    }
                }
            }));
        }
        for thread in threads {
            thread.join().unwrap();
        }
        assert_eq!(set.check(), Ok(ALL as usize));
    });
}

#[test]
fn art_snapshots() {
    snapshots::<Tree<false>>();
}

#[test]
fn skip_list_snapshots() {
    snapshots::<SkipList<By<Bytewise>>>();
}

/// All threads insert the same entries; each insert succeeds in one of them.
fn equal_entries<S: Set>() {
    const ENTRIES: [(&[u8], u64); 5] = [(b"x", 1), (b"xy", 1), (b"x", 2), (b"xyz", 1), (b"x", 1)];
    model(|| {
        let set = S::create();
        let threads = [0, 1, 2].map(|thread: usize| {
            let set = set.clone();
            thread::spawn(move || {
                let mine = ENTRIES.iter().enumerate();
                let won = mine.filter(|(i, (key, tag))| {
                    set.insert_by(i + thread, key, *tag, &value(key, *tag))
                });
                won.count()
            })
        });
        let won: usize = threads.into_iter().map(|t| t.join().unwrap()).sum();
        assert_eq!((won, set.check(), set.len()), (4, Ok(4), 4));
    });
}

#[test]
fn art_equal_entries() {
    equal_entries::<Tree<false>>();
}

#[test]
fn skip_list_equal_entries() {
    equal_entries::<SkipList<By<Bytewise>>>();
}

/// The keys of a batch descend together, and their positions become stale: other threads
/// insert, and prepare entries that they publish late or never.
#[test]
fn art_batches_beside_prepared_entries() {
    model(|| {
        let tree = Arc::new(Art::new(Options {
            capacity: 0,
            ..Options::default()
        }));
        let batch: Vec<(&[u8], u64)> = KEYS.iter().step_by(2).copied().collect();
        let mut threads = Vec::new();
        let batches = tree.clone();
        threads.push(thread::spawn(move || {
            let values: Vec<_> = batch.iter().map(|(key, tag)| value(key, *tag)).collect();
            let entries = batch.iter().zip(&values);
            let entries = entries.map(|((key, tag), value)| (*key, *tag, &value[..]));
            assert_eq!(batches.insert_batch(entries), values.len());
        }));
        for tag in [2, 3] {
            let tree = tree.clone();
            threads.push(thread::spawn(move || {
                let keys = KEYS.iter().skip(tag as usize % 2).step_by(3);
                let prepared: Vec<_> = keys
                    .clone()
                    .map(|(key, _)| tree.prepare(key, &value(key, tag)))
                    .collect();
                drop(tree.prepare(b"abx", b"never"));
                for (prepared, (key, _)) in prepared.into_iter().zip(keys) {
                    assert!(tree.publish(prepared, tag));
                    let mut newest = 0;
                    tree.get(key, tag, &mut |tag, found| {
                        assert_eq!(found, value(key, tag));
                        newest = tag;
                        false
                    });
                    assert_eq!(newest, tag, "a thread sees its own write");
                }
            }));
        }
        for thread in threads {
            thread.join().unwrap();
        }
        let third = |skip| KEYS.iter().skip(skip).step_by(3).count();
        let all = KEYS.len().div_ceil(2) + third(0) + third(1);
        assert_eq!(tree.check(), Ok(all));
        tree.get(b"abx", u64::MAX, &mut |_, _| panic!("never published"));
    });
}

/// Splices become stale by each other's inserts and are used again.
#[test]
fn skip_list_splices() {
    type List = SkipList<By<Bytewise>>;
    // Ascending, and then descending between the existing keys.
    const STEPS: [u8; 6] = [0, 8, 16, 24, 19, 3];
    model(|| {
        let list = <List as Set>::create();
        let threads = [0, 1, 2].map(|thread: u8| {
            let list = list.clone();
            thread::spawn(move || {
                let mut splice = Splice::default();
                for step in STEPS {
                    let key = [step + thread];
                    let height = 1 + usize::from(step / 8 ^ thread) % 3;
                    let mut insert = || {
                        let value = value(&key, 1);
                        list.insert_spliced_with_height(&mut splice, height, &key, 1, &value)
                    };
                    assert!(insert());
                    assert!(!insert(), "the key exists now");
                }
            })
        });
        for thread in threads {
            thread.join().unwrap();
        }
        assert_eq!((list.check(), list.len()), (Ok(18), 18));
    });
}

/// Tickets count up; groups are prepared one at a time.
struct Commits {
    pipelined: bool,
    preparing: AtomicU64,
    next: AtomicU64,
    applied: AtomicU64,
    published: AtomicU64,
}

impl Commits {
    fn new(pipelined: bool) -> Self {
        Commits {
            pipelined,
            preparing: AtomicU64::new(0),
            next: AtomicU64::new(0),
            applied: AtomicU64::new(0),
            published: AtomicU64::new(0),
        }
    }
}

impl Prepare for Commits {
    type Request = u64;
    /// The first ticket, and the number of tickets.
    type Group = (u64, u64);
    type Error = ();

    fn admits(&self, leader: &u64, candidate: &u64, _: usize) -> bool {
        // Some groups end before the newest member.
        *leader < 100 && *candidate < 100
    }
    fn size(&self, _: &u64) -> usize {
        1
    }
    fn prepare(&self, members: &mut Members<'_, u64>) -> Result<(u64, u64), ()> {
        assert_eq!(self.preparing.fetch_add(1, Ordering::SeqCst), 0);
        let first = self.next.load(Ordering::SeqCst);
        let published = self.published.load(Ordering::SeqCst);
        assert!(
            self.pipelined || published == first,
            "one group after the other"
        );
        let mut len = 0;
        members.for_each(|_, ticket| {
            *ticket = first + len;
            len += 1;
        });
        self.next.store(first + len, Ordering::SeqCst);
        self.preparing.fetch_sub(1, Ordering::SeqCst);
        Ok((first, len))
    }
}

impl Steps for Commits {
    fn pipelined(&self) -> bool {
        self.pipelined
    }
    fn parallel(&self, group: &(u64, u64)) -> bool {
        !group.0.is_multiple_of(4)
    }
    fn apply(&self, group: &(u64, u64), _: &u64, ticket: u64) -> Result<(), ()> {
        assert!((group.0..group.0 + group.1).contains(&ticket));
        self.applied.fetch_add(1, Ordering::SeqCst);
        Ok(())
    }
    fn publish(&self, group: &(u64, u64), _: Option<&()>) {
        let published = self.published.fetch_add(group.1, Ordering::SeqCst) + group.1;
        assert!(self.applied.load(Ordering::SeqCst) >= published);
    }
}

/// Five callers, so that groups have helpers and subtrees of several members.
fn commit_many(
    commits: fn() -> Commits,
    commit: fn(&GroupQueue<u64, (), (u64, u64)>, &Commits, u64) -> u64,
) {
    model(move || {
        let no_yield = YieldPolicy {
            max_yield: Duration::ZERO,
            slow_yield: Duration::ZERO,
        };
        let shared = Arc::new((GroupQueue::new(no_yield), commits()));
        let threads = [0, 1, 2, 3, 4].map(|thread: u64| {
            let shared = shared.clone();
            thread::spawn(move || {
                let requests = [thread, 10 + thread, 99 + thread];
                requests.map(|request| commit(&shared.0, &shared.1, request))
            })
        });
        let mut tickets = threads
            .into_iter()
            .flat_map(|thread| thread.join().unwrap())
            .collect::<Vec<_>>();
        tickets.sort_unstable();
        assert!(tickets.into_iter().eq(0..15));
    });
}

#[test]
fn groups_of_many_members() {
    for commits in [|| Commits::new(false), || Commits::new(true)] {
        commit_many(commits, |queue, commits, request| {
            let ticket = queue.commit(commits, &request).unwrap();
            let published = commits.published.load(Ordering::SeqCst);
            assert!(commits.pipelined || published > ticket);
            ticket
        });
    }
}

#[test]
fn groups_whose_members_go_their_own_way() {
    commit_many(
        || Commits::new(true),
        |queue, commits, request| {
            let (ticket, group) = queue.prepare(commits, &request).unwrap();
            assert!((group.0..group.0 + group.1).contains(&ticket));
            ticket
        },
    );
}

/// Transactions of two key locks each, which share, upgrade, time out and deadlock: nobody
/// uses a key that another has locked, and everybody comes to an end.
#[test]
fn key_locks_exclude_each_other() {
    const KEYS: usize = 3;
    model(|| {
        let locks = Arc::new(KeyLocks::new(KeyLocksConfig {
            stripes: 2,
            max_locks: Some(KEYS as u64),
        }));
        locks.add_family(0);
        // Who uses a key; a writer counts as 100.
        let users: Arc<[AtomicU64; KEYS]> = Arc::new(std::array::from_fn(|_| AtomicU64::new(0)));
        let workers = [0_usize, 1, 2, 3, 4].map(|worker| {
            let (locks, users) = (locks.clone(), users.clone());
            thread::spawn(move || {
                for round in 0..3 {
                    let owner = Arc::new(LockOwner::new((worker * 10 + round) as u64, None));
                    let wait = Wait {
                        timeout: [Timeout::Forever, Timeout::For(Duration::from_secs(1))]
                            [(worker + round) % 2],
                        deadlock_depth: Some(50),
                    };
                    let mut held = BTreeMap::new();
                    for i in 0..2 {
                        let key = (worker + round + i * (1 + worker % 3)) % KEYS;
                        let exclusive = (worker * 3 + round + i) % 3 > 0;
                        let mode = [LockMode::Shared, LockMode::Exclusive][usize::from(exclusive)];
                        match locks.lock(&owner, 0, &[key as u8], mode, &wait) {
                            Ok(()) => *held.entry(key).or_insert(false) |= exclusive,
                            Err(error) => assert!(
                                matches!(error, LockError::TimedOut | LockError::Deadlock),
                                "{error:?}"
                            ),
                        }
                    }
                    let share = |exclusive| if exclusive { 100 } else { 1 };
                    for (key, exclusive) in &held {
                        let before = users[*key].fetch_add(share(*exclusive), Ordering::SeqCst);
                        assert!(before < if *exclusive { 1 } else { 100 }, "K1");
                    }
                    for (key, exclusive) in &held {
                        users[*key].fetch_sub(share(*exclusive), Ordering::SeqCst);
                        locks.unlock(&owner, 0, &[*key as u8]);
                    }
                }
            })
        });
        for worker in workers {
            worker.join().unwrap();
        }
        assert_eq!(locks.lock_status(), []);
    });
}

/// What is known of transactions from outside, for the test below.
#[derive(Default)]
struct Decisions {
    next: u64,
    /// By the first number of each transaction: its numbers, and how far it is.
    all: BTreeMap<u64, (Vec<u64>, Stage)>,
}

#[derive(Debug, Clone, Copy, PartialEq)]
enum Stage {
    /// Nobody may see it.
    Undecided,
    /// It may be seen from now on, or not.
    Deciding,
    /// Whoever looks from now on sees it.
    Decided,
}

struct Database {
    undecided: Undecided,
    publication: Publication,
    decisions: Mutex<Decisions>,
}

/// A snapshot, and what a read at it has seen.
type Taken = (u64, Option<Arc<UndecidedRanges>>, Vec<u64>);

impl Database {
    /// Allocates `len` numbers, enters them if they are not decided with their publication, and
    /// publishes them.
    fn write(&self, len: u64, enters: bool) -> u64 {
        let first = {
            let mut decisions = self.decisions.lock().unwrap();
            let first = decisions.next + 1;
            decisions.next += len;
            let numbers = (first..first + len).collect();
            let stage = if enters {
                Stage::Undecided
            } else {
                Stage::Deciding
            };
            decisions.all.insert(first, (numbers, stage));
            first
        };
        let last = first + len - 1;
        if enters {
            self.undecided.enter([NumberRange { first, last }]);
        }
        self.publication.finish(first, last).unwrap();
        self.publication.wait(last).unwrap();
        first
    }

    fn at_stage(&self, first: u64, stage: Stage) {
        self.decisions
            .lock()
            .unwrap()
            .all
            .get_mut(&first)
            .unwrap()
            .1 = stage;
    }

    /// A write that counts with its publication.
    fn plain(&self, len: u64) {
        let first = self.write(len, false);
        self.at_stage(first, Stage::Decided);
    }

    /// A transaction whose commit has operations of its own, decided at one instant.
    fn transaction(&self, len: u64) {
        let section = self.write(len, true);
        thread::yield_now();
        let end = self.write(1, true);
        {
            let mut decisions = self.decisions.lock().unwrap();
            let (numbers, _) = decisions.all.remove(&end).unwrap();
            let whole = decisions.all.get_mut(&section).unwrap();
            whole.0.extend(numbers);
            whole.1 = Stage::Deciding;
        }
        self.undecided.decide([end, section]);
        self.at_stage(section, Stage::Decided);
    }

    /// Takes a snapshot, which must show what the model allows.
    fn snapshot(&self) -> Taken {
        let stages = || {
            let decisions = self.decisions.lock().unwrap();
            decisions.all.values().cloned().collect::<Vec<_>>()
        };
        let before = stages();
        let (sequence, undecided) = self.undecided.at(|| self.publication.visible());
        let shown = (1..=sequence)
            .filter(|number| !undecided.as_ref().is_some_and(|u| u.contains(*number)))
            .collect::<Vec<_>>();
        let is_shown = |number: &u64| shown.binary_search(number).is_ok();
        for (numbers, _) in before.iter().filter(|(_, stage)| *stage == Stage::Decided) {
            assert!(numbers.iter().all(is_shown), "decided, and not seen");
        }
        for (numbers, stage) in stages() {
            let some = numbers.iter().any(is_shown);
            assert!(!some || stage != Stage::Undecided, "undecided, and seen");
            assert!(!some || numbers.iter().all(is_shown), "a part is seen");
        }
        (sequence, undecided, shown)
    }
}

/// Transactions and plain writes beside readers that take snapshots, keep some of them and
/// release others: each shows whole transactions, those that a sequential order of decisions
/// gives, and what two of them show is in the order in which they were taken.
#[test]
fn snapshots_beside_decisions_are_those_of_the_model() {
    model(|| {
        let no_yield = YieldPolicy {
            max_yield: Duration::ZERO,
            slow_yield: Duration::ZERO,
        };
        let database = Arc::new(Database {
            undecided: Undecided::new(),
            publication: Publication::new(0, no_yield),
            decisions: Mutex::default(),
        });
        let mut threads = Vec::new();
        for writer in 0..2 {
            let database = database.clone();
            threads.push(thread::spawn(move || {
                for i in 0..3 {
                    database.transaction(1 + (i + writer) % 2);
                }
            }));
        }
        let plain = database.clone();
        threads.push(thread::spawn(move || {
            (1..4).for_each(|len| plain.plain(len))
        }));
        for _ in 0..2 {
            let database = database.clone();
            threads.push(thread::spawn(move || {
                let mut kept: Vec<Taken> = Vec::new();
                for i in 0..6 {
                    let taken = database.snapshot();
                    if let Some((_, _, before)) = kept.last() {
                        let mut stay = before.iter();
                        assert!(stay.all(|number| taken.2.contains(number)), "seen no more");
                    }
                    kept.push(taken);
                    if i % 3 == 2 {
                        kept.remove(0);
                    }
                }
                for (sequence, undecided, shown) in kept {
                    let now = (1..=sequence)
                        .filter(|n| !undecided.as_ref().is_some_and(|u| u.contains(*n)));
                    assert!(now.eq(shown), "a snapshot that changes");
                }
            }));
        }
        for thread in threads {
            thread.join().unwrap();
        }
        let (last, undecided, shown) = database.snapshot();
        assert_eq!((undecided, shown.len() as u64), (None, last));
    });
}
