//! Model checks of ranges that are known to be empty: every interleaving of readers that propose,
//! watch and use a range with writers that put something into it, and every value that the memory
//! model allows.
//!
//! Nothing is stored: which numbers put something into the range is fixed, so that what a reader
//! sees at a point follows from the point. Numbers are handed out by a `Tail`, as in the engine.
//!
//! Run with
//! `RUSTFLAGS="--cfg loom" cargo test -p whitewater-concurrent --features loom --profile models
//! --test loom_ranges`.
#![cfg(loom)]

use loom::sync::atomic::{AtomicU64, AtomicUsize, Ordering};
use loom::thread;
use std::sync::{Arc, OnceLock};
use whitewater_concurrent::tail::Tail;
use whitewater_concurrent::watched_ranges::{Effect, List, Lists, WatchedRanges};

fn model(preemptions: usize, check: impl Fn() + Sync + Send + 'static) {
    let mut builder = loom::model::Builder::new();
    builder.preemption_bound.get_or_insert(preemptions);
    builder.check(check);
}

/// The place that writers put something into.
const PLACE: u64 = 5;
/// A range with that place.
const REACH: Reach = Reach {
    end: PLACE + 1,
    behind: None,
};
/// A range before that place.
const SHORT: Reach = Reach {
    end: PLACE,
    behind: None,
};

/// The places before `end`.
#[derive(Clone, Copy, Debug)]
struct Reach {
    end: u64,
    /// A place that something was put into.
    behind: Option<u64>,
}

impl Reach {
    /// What becomes of the range when something is put into the place.
    fn put(&self) -> Effect<Reach> {
        if PLACE < self.end {
            return Effect::Ends;
        }
        if self.behind.is_some() {
            return Effect::None;
        }
        Effect::Narrows(Reach {
            behind: Some(PLACE),
            ..*self
        })
    }

    /// The range with the place.
    fn extended(&self) -> Option<Reach> {
        (self.end < REACH.end && self.behind.is_none()).then_some(REACH)
    }
}

/// The most lists of one model, with the empty one.
const LISTS: usize = 8;
/// The tail of a closed generation.
const CLOSED: u64 = u64::MAX;

/// Lists that are published as the engine's are: a load acquires what the store has released.
/// Slots are std's, which order nothing in a model.
struct Slots {
    lists: [OnceLock<Arc<List<Reach>>>; LISTS],
    present: AtomicUsize,
}

impl Default for Slots {
    fn default() -> Self {
        let slots = Slots {
            lists: Default::default(),
            present: AtomicUsize::new(0),
        };
        slots.lists[0].get_or_init(Arc::default);
        slots
    }
}

impl Lists<Reach> for Slots {
    type Borrowed<'a> = &'a Arc<List<Reach>>;

    fn load(&self) -> &Arc<List<Reach>> {
        let at = self.present.load(Ordering::Acquire);
        self.lists[at].get().expect("it was filled before")
    }

    fn load_full(&self) -> Arc<List<Reach>> {
        self.load().clone()
    }

    fn store(&self, list: Arc<List<Reach>>) {
        let free = self.lists.iter().position(|slot| slot.get().is_none());
        let free = free.expect("a model stores few lists");
        self.lists[free]
            .set(list)
            .expect("changes are under a lock");
        self.present.store(free, Ordering::Release);
    }
}

struct Store {
    ranges: WatchedRanges<Reach, Slots>,
    /// Of two generations.
    tails: [Tail; 2],
    generation: AtomicUsize,
    /// A bit for each number that is finished.
    finished: AtomicU64,
    /// Whether something was ingested into the range.
    ingested: AtomicU64,
}

impl Store {
    fn new() -> Arc<Self> {
        Arc::new(Store {
            ranges: WatchedRanges::default(),
            tails: [Tail::new(0), Tail::new(0)],
            generation: AtomicUsize::new(0),
            finished: AtomicU64::new(0),
            ingested: AtomicU64::new(0),
        })
    }

    /// A store with one range, which is known from number 0 on, and the list that it is in.
    fn with_known_range(reach: Reach) -> (Arc<Self>, Arc<List<Reach>>) {
        let store = Store::new();
        store.ranges.propose(reach, |_| None);
        let list = store.begin().expect("there is a range");
        assert!(list[0].is_watched_at(0));
        list[0].know_from(0);
        (store, list)
    }

    /// Hands out a number. The generation stays open.
    fn reserve(&self, generation: usize) -> u64 {
        let tail = &self.tails[generation];
        let mut last = tail.load();
        loop {
            assert_ne!(last, CLOSED);
            match tail.take(last, last + 1) {
                Ok(_) => return last + 1,
                Err(now) => last = now,
            }
        }
    }

    /// Writes something into the place, as the engine does: reserve, end, publish.
    fn put(&self, generation: usize) {
        let number = self.reserve(generation);
        self.finish(number);
    }

    /// Writes something into the place at a number that was handed out before.
    fn finish(&self, number: u64) {
        if self.ranges.any() {
            self.ranges.put(Reach::put);
        }
        self.finished.fetch_or(1 << (number - 1), Ordering::Release);
    }

    fn begin(&self) -> Option<Arc<List<Reach>>> {
        self.ranges.begin(|| {
            let generation = self.generation.load(Ordering::Acquire);
            let last = self.tails[generation].reserved();
            (last != CLOSED).then_some(last)
        })
    }

    /// The point of a read: all numbers up to it are finished.
    fn point(&self) -> u64 {
        u64::from(self.finished.load(Ordering::Acquire).trailing_ones())
    }

    /// A reader that walks over the range, in which every number from 1 on has put something.
    /// Returns whether it has found it empty.
    fn walk(&self) -> bool {
        let list = self.begin();
        let point = self.point();
        for range in list.iter().flat_map(|list| list.iter()) {
            if point == 0 && range.is_watched_at(point) {
                range.know_from(point);
            }
        }
        point == 0
    }

    /// A reader that walks over the place. Extends ranges over it if it has found nothing there.
    fn walk_beyond(&self) {
        let list = self.begin();
        let point = self.point();
        for range in list.iter().flat_map(|list| list.iter()) {
            if point == 0 && range.is_watched_at(point) {
                self.ranges.extend(range, point, Reach::extended);
            }
        }
    }

    /// A reader that passes over ranges of `list` that are known to be empty.
    fn check(&self, list: &List<Reach>) {
        let point = self.point();
        let mut with_place = list.iter().filter(|range| PLACE < range.end);
        let passes = with_place.any(|range| range.is_empty_at(point));
        assert!(!passes || point == 0, "number {point} was passed over");
    }

    /// A reader that begins with `list`, and concludes from a range in it that there is nothing
    /// behind that either.
    fn check_behind(&self, list: &List<Reach>) {
        let point = self.point();
        let known = list.iter().filter(|range| range.is_empty_at(point));
        let present = known.filter_map(|range| self.ranges.present(range));
        let is_last = present.filter(|range| range.behind.is_none()).count() > 0;
        assert!(!is_last || point == 0, "number {point} is behind the range");
    }
}

/// A range that is proposed, watched and known beside a write into it: nobody passes over the
/// write.
#[test]
fn a_write_ends_a_range_that_is_being_watched() {
    model(4, || {
        let store = Store::new();
        let writer = {
            let store = store.clone();
            thread::spawn(move || store.put(0))
        };
        store.ranges.propose(REACH, |_| None);
        store.walk();
        if let Some(list) = store.begin() {
            store.check(&list);
        }
        writer.join().unwrap();
    });
}

/// The same, if the reader that makes the range known has not proposed it.
#[test]
fn a_write_ends_a_range_that_another_reader_proposes() {
    model(4, || {
        let store = Store::new();
        let proposer = {
            let store = store.clone();
            thread::spawn(move || store.ranges.propose(REACH, |_| None))
        };
        let writer = {
            let store = store.clone();
            thread::spawn(move || store.put(0))
        };
        store.walk();
        if let Some(list) = store.begin() {
            store.check(&list);
        }
        proposer.join().unwrap();
        writer.join().unwrap();
    });
}

/// The same, if the write goes to the next generation.
#[test]
fn a_write_to_the_next_generation_ends_a_range() {
    model(4, || {
        let store = Store::new();
        let writer = {
            let store = store.clone();
            thread::spawn(move || {
                let last = store.tails[0].close(CLOSED);
                assert_eq!(last, 0);
                store.generation.store(1, Ordering::Release);
                store.put(1);
            })
        };
        store.ranges.propose(REACH, |_| None);
        store.walk();
        if let Some(list) = store.begin() {
            store.check(&list);
        }
        writer.join().unwrap();
    });
}

/// Two writers into the place, and a reader beside them. It has begun with a list that has `reach`,
/// which is known. Returns that list.
fn beside_two_writers(reach: Reach, read: fn(&Store, &List<Reach>)) -> Arc<List<Reach>> {
    let (store, list) = Store::with_known_range(reach);
    let first = store.reserve(0);
    let writer = {
        let store = store.clone();
        thread::spawn(move || store.finish(first))
    };
    let reader = {
        let (store, list) = (store.clone(), list.clone());
        thread::spawn(move || read(&store, &list))
    };
    store.put(0);
    reader.join().unwrap();
    writer.join().unwrap();
    read(&store, &list);
    list
}

/// Of two writers into a range one finds it ended or gone by the other, and may be visible first.
#[test]
fn a_write_that_finds_no_range_has_seen_that_it_ended() {
    model(3, || {
        let list = beside_two_writers(REACH, Store::check);
        assert!(list[0].has_ended());
    });
}

/// A reader finds out whether one of two writers has put something behind a range that it knows.
#[test]
fn what_is_put_behind_a_range_is_told_to_readers_that_see_it() {
    model(3, || drop(beside_two_writers(SHORT, Store::check_behind)));
}

/// A reader that finds nothing beyond a range extends it over a place that a writer puts something
/// into. Nobody passes over that.
#[test]
fn a_range_is_not_extended_over_a_write() {
    model(4, || {
        let (store, _) = Store::with_known_range(SHORT);
        let writer = {
            let store = store.clone();
            thread::spawn(move || store.put(0))
        };
        store.walk_beyond();
        if let Some(list) = store.begin() {
            store.check(&list);
        }
        writer.join().unwrap();
    });
}

/// The same beside another writer, which has put something there before.
#[test]
fn a_range_is_not_extended_over_the_second_of_two_writes() {
    model(3, || {
        let (store, _) = Store::with_known_range(SHORT);
        let first = store.reserve(0);
        let writer = {
            let store = store.clone();
            thread::spawn(move || store.finish(first))
        };
        let reader = {
            let store = store.clone();
            thread::spawn(move || {
                store.walk_beyond();
                if let Some(list) = store.begin() {
                    store.check(&list);
                }
            })
        };
        store.put(0);
        reader.join().unwrap();
        writer.join().unwrap();
    });
}

/// Files are ingested into what a range is extended over.
#[test]
fn a_range_is_not_extended_over_what_is_ingested() {
    model(4, || {
        let (store, _) = Store::with_known_range(SHORT);
        let ingestion = {
            let store = store.clone();
            thread::spawn(move || {
                let suspended = store.ranges.suspend();
                store.ingested.store(1, Ordering::Release);
                drop(suspended);
            })
        };
        for _ in 0..2 {
            let list = store.begin();
            let finds = store.ingested.load(Ordering::Acquire) == 1;
            for range in list.iter().flat_map(|list| list.iter()) {
                let passes = PLACE < range.end && range.is_empty_at(0);
                assert!(!finds || !passes, "a file was passed over");
                if !finds && range.is_watched_at(0) {
                    store.ranges.extend(range, 0, Reach::extended);
                }
            }
        }
        ingestion.join().unwrap();
    });
}

/// A range makes room for another, while a reader has it.
#[test]
fn a_range_that_is_replaced_has_ended() {
    model(4, || {
        let (store, list) = Store::with_known_range(REACH);
        let proposer = {
            let store = store.clone();
            thread::spawn(move || {
                let oldest = |ranges: &[_]| (!ranges.is_empty()).then_some(0);
                store.ranges.propose(REACH, oldest);
            })
        };
        let writer = {
            let store = store.clone();
            thread::spawn(move || store.put(0))
        };
        store.check(&list);
        proposer.join().unwrap();
        writer.join().unwrap();
    });
}

/// Files are ingested into a range, with numbers that were visible before. No reader that pins
/// the files passes over them, even if a range was proposed meanwhile.
#[test]
fn what_is_ingested_is_not_passed_over() {
    model(4, || {
        let store = Store::new();
        let ingestion = {
            let store = store.clone();
            thread::spawn(move || {
                let suspended = store.ranges.suspend();
                store.ingested.store(1, Ordering::Release);
                drop(suspended);
            })
        };
        for _ in 0..3 {
            let list = store.begin();
            let finds = store.ingested.load(Ordering::Acquire) == 1;
            for range in list.iter().flat_map(|list| list.iter()) {
                assert!(!finds || !range.is_empty_at(0), "a file was passed over");
                if !finds && range.is_watched_at(0) {
                    range.know_from(0);
                }
            }
            if !finds && list.is_none() {
                store.ranges.propose(REACH, |_| None);
            }
        }
        ingestion.join().unwrap();
    });
}
