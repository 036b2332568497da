//! Model checks: every interleaving, up to a number of preemptions, of small runs of the
//! real structures, with every value that the memory model allows.
//!
//! Run with `RUSTFLAGS="--cfg loom" cargo test -p whitewater-concurrent --release --test
//! loom`; `LOOM_MAX_PREEMPTIONS=100` in front lifts the bound (then it takes minutes, not
//! seconds).
#![cfg(loom)]

use std::cmp::Ordering;
use std::collections::BTreeSet;
use std::sync::Arc;

use loom::thread;
use whitewater_concurrent::arena::ConcurrentArena;
use whitewater_concurrent::skiplist::{KeyOrder, SkipList, Splice};

struct Bytewise;

impl KeyOrder for Bytewise {
    fn compare(&self, a: (&[u8], u64), b: (&[u8], u64)) -> Ordering {
        a.0.cmp(b.0).then(b.1.cmp(&a.1))
    }
}

type List = SkipList<Bytewise>;

fn model(check: impl Fn() + Sync + Send + 'static) {
    let mut builder = loom::model::Builder::new();
    builder.preemption_bound.get_or_insert(5);
    builder.check(check);
}

fn insert(list: &List, height: usize, key: u8) -> bool {
    list.insert_with_height(height, &[key], 1, &[key, key])
}

/// All keys in order; checks each value and the order.
fn keys(list: &List) -> Vec<u8> {
    let mut keys = Vec::new();
    list.scan_from(&[], u64::MAX, &mut |key, tag, value| {
        assert_eq!(tag, 1);
        assert_eq!(value, [key[0], key[0]]);
        assert!(keys.last().is_none_or(|&last| last < key[0]), "unsorted");
        keys.push(key[0]);
        true
    });
    keys
}

/// Two writers insert adjacent keys in both levels while a reader walks.
fn two_writers_and_a_reader(heights: [usize; 2]) {
    model(move || {
        let list = Arc::new(List::new(Bytewise, 4096));
        assert!(insert(&list, 2, 10));
        let writers = [(heights[0], 20), (heights[1], 30)].map(|(height, key)| {
            let list = list.clone();
            thread::spawn(move || assert!(insert(&list, height, key)))
        });
        // Reads the whole list twice.
        let seen = keys(&list);
        assert_eq!(seen.first(), Some(&10), "earlier entries stay");
        let again: BTreeSet<u8> = keys(&list).into_iter().collect();
        assert!(
            seen.iter().all(|key| again.contains(key)),
            "seen once but not again"
        );
        for writer in writers {
            writer.join().unwrap();
        }
        assert_sound(&list, &[10, 20, 30]);
    });
}

/// Checks all links, and finds every key through them.
fn assert_sound(list: &Arc<List>, all: &[u8]) {
    assert_eq!(keys(list), all);
    assert_eq!(list.check(), Ok(all.len()));
    assert_eq!(list.len(), all.len());
    let mut cursor = list.iter();
    for key in all.iter().rev() {
        cursor.seek(&[*key], 1);
        assert_eq!(cursor.key()[0], *key);
    }
}

#[test]
fn neighbours_in_the_bottom_level() {
    two_writers_and_a_reader([1, 1]);
}

#[test]
fn neighbours_one_high_one_low() {
    two_writers_and_a_reader([2, 1]);
    two_writers_and_a_reader([1, 2]);
}

#[test]
fn neighbours_in_both_levels() {
    two_writers_and_a_reader([2, 2]);
}

/// The first high node raises the list while the other writer inserts.
#[test]
fn the_list_grows_while_others_insert() {
    model(|| {
        let list = Arc::new(List::new(Bytewise, 4096));
        let other = list.clone();
        let writer = thread::spawn(move || assert!(insert(&other, 2, 20)));
        assert!(insert(&list, 2, 10));
        assert!(keys(&list).contains(&10), "a thread sees its own write");
        writer.join().unwrap();
        assert_sound(&list, &[10, 20]);
    });
}

#[test]
fn one_of_two_equal_keys_wins() {
    model(|| {
        let list = Arc::new(List::new(Bytewise, 4096));
        let other = list.clone();
        let writer = thread::spawn(move || insert(&other, 2, 10));
        let here = insert(&list, 1, 10);
        assert_eq!(keys(&list), [10], "the key is there, whichever insert won");
        let there = writer.join().unwrap();
        assert!(here != there, "exactly one insert succeeds");
        assert_sound(&list, &[10]);
    });
}

/// A splice becomes stale by another thread's insert and is used again.
fn stale_splice(own: [u8; 2], heights: [usize; 2], others: u8) {
    model(move || {
        let list = Arc::new(List::new(Bytewise, 4096));
        let other = list.clone();
        let writer = thread::spawn(move || assert!(insert(&other, 2, others)));
        let mut splice = Splice::default();
        for (key, height) in own.into_iter().zip(heights) {
            let value = [key, key];
            assert!(list.insert_spliced_with_height(&mut splice, height, &[key], 1, &value));
        }
        writer.join().unwrap();
        let mut all = [own[0], own[1], others];
        all.sort_unstable();
        assert_sound(&list, &all);
    });
}

#[test]
fn stale_splices_lose_nothing_between() {
    stale_splice([10, 30], [2, 2], 20);
    stale_splice([30, 10], [2, 1], 20);
}

#[test]
fn stale_splices_lose_nothing_beside() {
    stale_splice([10, 15], [2, 2], 20);
    stale_splice([30, 25], [2, 1], 20);
}

/// A cursor walks in one direction, from a key or from an end, beside an insert. The
/// reader is the thread spawned: see `loom_art.rs`.
fn a_cursor(height: usize, new: u8, up: bool, from: Option<u8>) {
    const BEFORE: [u8; 3] = [10, 20, 30];
    model(move || {
        let list = Arc::new(List::new(Bytewise, 4096));
        for (key, height) in BEFORE.into_iter().zip([1, 2, 1]) {
            assert!(insert(&list, height, key));
        }
        let other = list.clone();
        let reader = thread::spawn(move || {
            let mut cursor = other.iter();
            match (from, up) {
                (None, true) => cursor.seek_to_first(),
                (None, false) => cursor.seek_to_last(),
                (Some(from), true) => cursor.seek(&[from], 1),
                (Some(from), false) => cursor.seek_for_prev(&[from], 1),
            }
            let in_range = |key| from.is_none_or(|from| if up { key >= from } else { key <= from });
            let mut seen: Vec<u8> = Vec::new();
            while cursor.valid() {
                let key = cursor.key()[0];
                assert_eq!(cursor.value(), [key, key]);
                assert!(in_range(key), "{key} is beyond {from:?}");
                let sorted = seen
                    .last()
                    .is_none_or(|&last| if up { last < key } else { key < last });
                assert!(sorted, "{key} after {seen:?}");
                seen.push(key);
                if up { cursor.next() } else { cursor.prev() }
            }
            let expected = BEFORE.into_iter().filter(|&key| in_range(key));
            assert!(
                expected.into_iter().all(|key| seen.contains(&key)),
                "{seen:?}"
            );
        });
        assert!(insert(&list, height, new));
        reader.join().unwrap();
    });
}

#[test]
fn cursors_in_both_directions() {
    for up in [true, false] {
        for height in [1, 2] {
            for new in [5, 15, 25, 35] {
                a_cursor(height, new, up, None);
                a_cursor(height, new, up, Some(20));
                a_cursor(height, new, up, Some(27));
            }
        }
    }
}

/// A reader searches for a key through both levels while it is inserted.
#[test]
fn a_key_is_found_once_it_is_there() {
    for height in [1, 2] {
        model(move || {
            let list = Arc::new(List::new(Bytewise, 4096));
            assert!(insert(&list, 1, 10));
            assert!(insert(&list, 2, 30));
            let other = list.clone();
            let reader = thread::spawn(move || {
                let find = || {
                    let mut found = false;
                    other.scan_from(&[20], 1, &mut |key, _, value| {
                        assert_eq!(value, [key[0], key[0]]);
                        found = key == [20];
                        assert!(found || key == [30]);
                        false
                    });
                    found
                };
                let first = find();
                assert!(find() || !first, "seen once but not again");
            });
            assert!(insert(&list, height, 20));
            reader.join().unwrap();
        });
    }
}

/// Two threads allocate; with two shards, collisions lead to both of them.
#[test]
fn allocations_are_disjoint_and_counted() {
    model(|| {
        let arena = Arc::new(ConcurrentArena::new(4096));
        let other = arena.clone();
        let worker =
            thread::spawn(move || [24, 100].map(|n| (other.allocate(n).as_ptr() as usize, n)));
        let mut allocations = [16, 40]
            .map(|n| (arena.allocate(n).as_ptr() as usize, n))
            .to_vec();
        allocations.extend(worker.join().unwrap());
        allocations.sort_unstable();
        for pair in allocations.windows(2) {
            assert!(pair[0].0 + pair[0].1 <= pair[1].0, "overlap");
        }
        assert_eq!(arena.used_bytes(), 16 + 40 + 24 + 104);
        assert_eq!(arena.allocations(), 4);
    });
}

/// Leader and followers: every interleaving of two commits, and of three up to few
/// preemptions. A group of three is started and notified by a helper.
mod groups {
    use loom::sync::Arc;
    use loom::sync::atomic::{AtomicU64, Ordering};
    use loom::thread;
    use std::time::Duration;
    use whitewater_concurrent::group::{GroupQueue, Members, Prepare, Steps};
    use whitewater_concurrent::sync::PublishedMark;
    use whitewater_concurrent::waiter::YieldPolicy;

    type Queue = GroupQueue<u64, u64, (u64, bool)>;

    /// Tickets count up, and one group follows another. What was applied is visible to
    /// the finisher and to every acknowledged member.
    struct Check {
        parallel: bool,
        pipelined: bool,
        fail: Option<u64>,
        next: loom::cell::Cell<u64>,
        applied: AtomicU64,
        published: AtomicU64,
        /// What applying each request writes, and publishing reads.
        marks: [PublishedMark; 3],
    }

    // SAFETY: only the holder of the right to build a group accesses `next`; the model
    // fails if that is not so.
    unsafe impl Sync for Check {}

    impl Prepare for Check {
        type Request = u64;
        type Group = (u64, bool);
        type Error = u64;

        fn admits(&self, leader: &u64, candidate: &u64, _: usize) -> bool {
            leader / 10 == candidate / 10
        }
        fn size(&self, _: &u64) -> usize {
            1
        }
        fn prepare(&self, members: &mut Members<'_, u64>) -> Result<(u64, bool), u64> {
            let mut next = self.next.get();
            assert!(
                self.pipelined || self.published.load(Ordering::Relaxed) == next,
                "groups follow one another"
            );
            let mut failing = None;
            members.for_each(|request, ticket| {
                *ticket = next;
                next += 1;
                failing = failing.or(self.fail.filter(|f| f == request));
            });
            if let Some(f) = failing {
                return Err(f);
            }
            self.next.set(next);
            Ok((next, self.parallel))
        }
    }

    impl Steps for Check {
        fn pipelined(&self) -> bool {
            self.pipelined
        }
        fn parallel(&self, group: &(u64, bool)) -> bool {
            group.1
        }
        fn apply(&self, group: &(u64, bool), _: &u64, ticket: u64) -> Result<(), u64> {
            assert!(ticket < group.0);
            self.marks[ticket as usize].written();
            self.applied.fetch_add(1, Ordering::Relaxed);
            Ok(())
        }
        fn publish(&self, group: &(u64, bool), _: Option<&u64>) {
            if self.pipelined {
                // Groups end in any order here; restoring the order is up to publication.
                self.published.fetch_add(1, Ordering::Relaxed);
                return;
            }
            self.marks[..group.0 as usize].iter().for_each(|m| m.read());
            assert_eq!(
                self.applied.load(Ordering::Relaxed),
                group.0,
                "all are applied"
            );
            self.published.store(group.0, Ordering::Relaxed);
        }
    }

    impl Check {
        const fn waits() -> YieldPolicy {
            YieldPolicy {
                max_yield: Duration::ZERO,
                slow_yield: Duration::ZERO,
            }
        }

        fn new(parallel: bool, pipelined: bool, fail: Option<u64>) -> Self {
            Check {
                parallel,
                pipelined,
                fail,
                next: loom::cell::Cell::new(0),
                applied: AtomicU64::new(0),
                published: AtomicU64::new(0),
                marks: [(); 3].map(|()| PublishedMark::new()),
            }
        }
    }

    /// Calls `commit` with each request on a thread of its own, and returns all results.
    fn concurrently<T: Send + 'static>(
        shared: &Arc<(Queue, Check)>,
        requests: &'static [u64],
        commit: fn(&(Queue, Check), u64) -> T,
    ) -> Vec<T> {
        let others: Vec<_> = requests[1..]
            .iter()
            .map(|&request| {
                let shared = shared.clone();
                thread::spawn(move || commit(&shared, request))
            })
            .collect();
        let mut all = vec![commit(shared, requests[0])];
        all.extend(others.into_iter().map(|other| other.join().unwrap()));
        all
    }

    fn model(preemptions: usize, check: impl Fn() + Sync + Send + 'static) {
        let mut builder = loom::model::Builder::new();
        builder.preemption_bound.get_or_insert(preemptions);
        // Waiting is a loop for the checker.
        builder.max_branches = 20_000;
        builder.check(check);
    }

    /// The least number with which a helper, a member and a leader meet.
    const THREE: usize = 2;

    fn run(requests: &'static [u64], parallel: bool, fail: Option<u64>) {
        let preemptions = if requests.len() > 2 { THREE } else { 5 };
        model(preemptions, move || {
            let check = Check::new(parallel, false, fail);
            let shared = Arc::new((Queue::new(Check::waits()), check));
            let outcomes = concurrently(&shared, requests, |(queue, check), request| {
                let outcome = queue.commit(check, &request);
                if check.fail.is_none() {
                    let ticket = outcome.expect("nothing fails");
                    check.marks[ticket as usize].read();
                    assert!(check.published.load(Ordering::Relaxed) > ticket);
                } else if Some(request) == check.fail {
                    assert_eq!(outcome, Err(request));
                }
                u64::from(outcome.is_ok())
            });
            let committed: u64 = outcomes.into_iter().sum();
            assert_eq!(shared.1.published.load(Ordering::Relaxed), committed);
        });
    }

    #[test]
    fn two_members_apply_by_themselves() {
        run(&[1, 2], true, None);
    }

    #[test]
    fn a_leader_applies_for_two() {
        run(&[1, 2], false, None);
    }

    #[test]
    fn members_that_may_not_share_a_group() {
        run(&[1, 11], true, None);
    }

    #[test]
    fn a_failed_group_gets_its_error() {
        run(&[1, 2], true, Some(2));
    }

    #[test]
    fn three_members_are_started_and_notified_by_a_helper() {
        run(&[1, 2, 3], true, None);
    }

    /// Groups that overlap: each member's own effect is there when it returns.
    fn pipelined(requests: &'static [u64], preemptions: usize) {
        model(preemptions, move || {
            let shared = Arc::new((Queue::new(Check::waits()), Check::new(true, true, None)));
            let mut tickets = concurrently(&shared, requests, |(queue, check), request| {
                let ticket = queue.commit(check, &request).expect("nothing fails");
                check.marks[ticket as usize].read();
                ticket
            });
            tickets.sort_unstable();
            assert!(tickets.into_iter().eq(0..requests.len() as u64));
            assert!(shared.1.published.load(Ordering::Relaxed) > 0);
        });
    }

    #[test]
    fn a_group_is_prepared_beside_one_that_is_applied() {
        pipelined(&[1, 11], 5);
        pipelined(&[1, 2], 5);
    }

    #[test]
    fn three_members_of_groups_that_overlap() {
        pipelined(&[1, 2, 3], 1);
    }

    /// Members that get their tickets and continue on their own.
    fn prepared(requests: &'static [u64]) {
        let preemptions = if requests.len() > 2 { THREE } else { 5 };
        model(preemptions, move || {
            let shared = Arc::new((Queue::new(Check::waits()), Check::new(true, true, None)));
            let mut tickets = concurrently(&shared, requests, |(queue, check), request| {
                let (ticket, group) = queue.prepare(check, &request).expect("nothing fails");
                assert!(ticket < group.0);
                ticket
            });
            tickets.sort_unstable();
            assert!(tickets.into_iter().eq(0..requests.len() as u64));
        });
    }

    #[test]
    fn two_members_go_their_own_way() {
        prepared(&[1, 2]);
        prepared(&[1, 11]);
    }

    #[test]
    fn three_members_go_their_own_way() {
        prepared(&[1, 2, 3]);
    }
}

/// Wait groups.
mod wait_groups {
    use super::model;
    use loom::sync::Arc;
    use loom::thread;
    use whitewater_concurrent::sync::PublishedMark;
    use whitewater_concurrent::wait_group::{Failed, WaitGroup};

    fn work(fails: bool) {
        model(move || {
            let shared = Arc::new((WaitGroup::new(), [(); 2].map(|()| PublishedMark::new())));
            shared.0.begin(2);
            let workers = [0, 1].map(|n: usize| {
                let shared = shared.clone();
                thread::spawn(move || {
                    shared.1[n].written();
                    if fails && n == 0 {
                        shared.0.fail(1);
                    } else {
                        shared.0.end(1);
                    }
                })
            });
            let outcome = shared.0.wait();
            shared.1.iter().for_each(|mark| mark.read());
            assert_eq!(outcome, if fails { Err(Failed) } else { Ok(()) });
            for worker in workers {
                worker.join().unwrap();
            }
            assert_eq!(shared.0.is_settled(), !fails);
        });
    }

    #[test]
    fn a_waiter_sees_what_was_done() {
        work(false);
    }

    #[test]
    fn a_waiter_gets_a_failure() {
        work(true);
    }

    #[test]
    fn an_idle_group_shows_what_was_done() {
        model(|| {
            let shared = Arc::new((WaitGroup::new(), PublishedMark::new()));
            shared.0.begin(1);
            let worker = {
                let shared = shared.clone();
                thread::spawn(move || {
                    shared.1.written();
                    shared.0.end(1);
                })
            };
            if shared.0.is_settled() {
                shared.1.read();
            }
            worker.join().unwrap();
        });
    }
}

/// The Bloom filter of a memtable, whose bits are set before the sequence
/// number is published (F1 of `memtable::filter`), beside the entries themselves.
mod bloom {
    use super::{Bytewise, model};
    use crate::{List, insert};
    use loom::sync::Arc;
    use loom::sync::atomic::{AtomicU64, Ordering};
    use loom::thread;
    use whitewater_concurrent::dynamic_bloom::DynamicBloom;

    /// Hashes whose bits are in the same three words.
    const HASHES: [u64; 2] = [0, 1 << 31];

    struct Memtable {
        filter: DynamicBloom,
        list: Arc<List>,
        /// How many writers have ended; the last publishes.
        applied: AtomicU64,
        visible: AtomicU64,
    }

    impl Memtable {
        fn new() -> Arc<Self> {
            Arc::new(Memtable {
                filter: DynamicBloom::new(64),
                list: Arc::new(List::new(Bytewise, 4096)),
                applied: AtomicU64::new(0),
                visible: AtomicU64::new(0),
            })
        }

        /// A point look-up at a published number.
        fn get(&self, key: u8, hash: u64) -> bool {
            let mut found = false;
            if self.filter.may_contain(hash) {
                self.list.scan_from(&[key], u64::MAX, &mut |k, _, _| {
                    found = k == [key];
                    false
                });
            }
            found
        }
    }

    /// One writer, one reader: what is published is found, whether the bits are set or
    /// the entry is inserted first.
    fn published(bits_first: bool) {
        model(move || {
            let memtable = Memtable::new();
            let reader = {
                let memtable = memtable.clone();
                thread::spawn(move || {
                    if memtable.visible.load(Ordering::Acquire) > 0 {
                        assert!(memtable.get(1, HASHES[1]), "published and not found");
                    }
                })
            };
            if bits_first {
                memtable.filter.add(HASHES[1]);
            }
            assert!(insert(&memtable.list, 1, 1));
            if !bits_first {
                memtable.filter.add(HASHES[1]);
            }
            memtable.visible.store(1, Ordering::Release);
            reader.join().unwrap();
        });
    }

    #[test]
    fn what_is_published_passes_the_filter() {
        published(true);
        published(false);
    }

    /// Two members of a group add keys; the last to end publishes both. With equal
    /// hashes, one of them does not write bits that the other has set but not published.
    fn group(hashes: [u64; 2]) {
        model(move || {
            let memtable = Memtable::new();
            let write = |memtable: &Memtable, hash| {
                memtable.filter.add(hash);
                // As the group queue counts down.
                if memtable.applied.fetch_add(1, Ordering::AcqRel) == 1 {
                    memtable.visible.store(2, Ordering::Release);
                }
            };
            let other = {
                let memtable = memtable.clone();
                thread::spawn(move || write(&memtable, hashes[0]))
            };
            let reader = {
                let memtable = memtable.clone();
                thread::spawn(move || {
                    if memtable.visible.load(Ordering::Acquire) == 2 {
                        assert!(hashes.iter().all(|&h| memtable.filter.may_contain(h)));
                    }
                })
            };
            write(&memtable, hashes[1]);
            other.join().unwrap();
            reader.join().unwrap();
            assert!(hashes.iter().all(|&h| memtable.filter.may_contain(h)));
        });
    }

    #[test]
    fn members_of_a_group_lose_no_bits() {
        group(HASHES);
    }

    #[test]
    fn a_bit_that_another_member_has_set_counts() {
        group([HASHES[1]; 2]);
    }

    /// The same without a group: a writer that found its bits set publishes before the
    /// writer that set them does.
    #[test]
    fn a_bit_set_by_a_writer_that_has_not_published_counts() {
        model(|| {
            let memtable = Memtable::new();
            let slow = {
                let memtable = memtable.clone();
                thread::spawn(move || memtable.filter.add(HASHES[1]))
            };
            let reader = {
                let memtable = memtable.clone();
                thread::spawn(move || {
                    if memtable.visible.load(Ordering::Acquire) == 1 {
                        assert!(memtable.filter.may_contain(HASHES[1]));
                    }
                })
            };
            memtable.filter.add(HASHES[1]);
            memtable.visible.store(1, Ordering::Release);
            slow.join().unwrap();
            reader.join().unwrap();
        });
    }
}
