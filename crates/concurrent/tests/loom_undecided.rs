//! Model checks of the numbers that are undecided: every interleaving of entering, publishing
//! and deciding with readers that take their points, and every value that the memory model
//! allows.
//!
//! The visible number is a word with the orderings that `Undecided` asks for. What a writer
//! inserts is a mark, which fails the model when a reader looks at it without an order.
//!
//! Run with
//! `RUSTFLAGS="--cfg loom" cargo test -p whitewater-concurrent --release --test loom_undecided`.
#![cfg(loom)]

use loom::sync::atomic::{AtomicU64, Ordering};
use loom::thread;
use std::sync::Arc;
use whitewater_concurrent::sync::PublishedMark;
use whitewater_concurrent::undecided::{NumberRange, Undecided, UndecidedRanges};

fn model(preemptions: usize, check: impl Fn() + Sync + Send + 'static) {
    let mut builder = loom::model::Builder::new();
    builder.preemption_bound.get_or_insert(preemptions);
    builder.check(check);
}

/// Numbers that the models use, with 0.
const NUMBERS: usize = 5;

#[derive(Default)]
struct Store {
    undecided: Undecided,
    visible: AtomicU64,
    /// What has been inserted at each number.
    entries: [PublishedMark; NUMBERS],
    /// Set once the caller of a write was told, for each number.
    told: [AtomicU64; NUMBERS],
}

/// What a read sees.
type Point = (u64, Option<Arc<UndecidedRanges>>);

/// Whether a read at `point` sees the version with `number`.
fn sees((sequence, undecided): &Point, number: u64) -> bool {
    let passed_over = undecided.as_ref().is_some_and(|u| u.contains(number));
    number <= *sequence && !passed_over
}

/// What a read at `point` sees, as bits.
fn seen(point: &Point) -> u64 {
    (1..NUMBERS as u64)
        .filter(|number| sees(point, *number))
        .fold(0, |bits, number| bits | 1 << number)
}

impl Store {
    fn new() -> Arc<Self> {
        Arc::default()
    }

    fn enter(&self, ranges: &[(u64, u64)]) {
        let range = |(first, last): &(u64, u64)| NumberRange {
            first: *first,
            last: *last,
        };
        self.undecided.enter(ranges.iter().map(range));
    }

    fn insert(&self, number: u64) {
        self.entries[number as usize].written();
    }

    fn publish(&self, last: u64) {
        self.visible.store(last, Ordering::Release);
    }

    fn decide(&self, firsts: &[u64]) {
        self.undecided.decide(firsts.iter().copied());
    }

    fn tell(&self, number: u64) {
        self.told[number as usize].store(1, Ordering::Release);
    }

    fn is_told(&self, number: u64) -> bool {
        self.told[number as usize].load(Ordering::Acquire) == 1
    }

    fn point(&self) -> Point {
        self.undecided.at(|| self.visible.load(Ordering::Acquire))
    }

    /// Looks at all that `point` sees, as a read of the database would.
    fn read(&self, point: &Point) -> u64 {
        let seen = seen(point);
        let numbers = (1..NUMBERS).filter(|number| seen >> number & 1 == 1);
        numbers.for_each(|number| self.entries[number].read());
        seen
    }
}

/// A section at the numbers 1, its commit's own operations at 2.
fn prepare_and_commit(store: &Store) {
    store.enter(&[(1, 1)]);
    store.insert(1);
    store.publish(1);
    store.enter(&[(2, 2)]);
    store.insert(2);
    store.publish(2);
    store.decide(&[1, 2]);
    store.tell(2);
}

/// A transaction is prepared and committed: readers see all of it or nothing, and what was
/// seen stays.
#[test]
fn a_prepared_transaction_is_seen_whole() {
    model(5, || {
        let store = Store::new();
        let reader = {
            let store = store.clone();
            thread::spawn(move || {
                let first = store.point();
                let before = store.read(&first);
                assert!([0, 0b110].contains(&before), "a part: {before:b}");
                let told = store.is_told(2);
                let second = store.point();
                let after = store.read(&second);
                assert!([0, 0b110].contains(&after), "a part: {after:b}");
                assert!(before & !after == 0, "seen, and not again");
                assert!(!told || after == 0b110, "told, and not seen");
                assert_eq!(store.read(&first), before, "a point that changes");
            })
        };
        prepare_and_commit(&store);
        reader.join().unwrap();
        assert_eq!(seen(&store.point()), 0b110);
    });
}

/// Unordered commit: a leader enters the ranges of its group and publishes them; each member
/// inserts and decides by itself. Readers see whole batches in the order of decisions, and
/// nothing that is not inserted.
#[test]
fn members_of_a_group_decide_by_themselves() {
    model(4, || {
        let store = Store::new();
        let reader = {
            let store = store.clone();
            thread::spawn(move || {
                let told = [1, 2].map(|number| store.is_told(number));
                let first = store.point();
                let before = store.read(&first);
                for number in [1, 2] {
                    let is_seen = sees(&first, number);
                    assert!(is_seen || !told[number as usize - 1], "told, and not seen");
                }
                let after = store.read(&store.point());
                assert!(before & !after == 0, "seen, and not again");
                assert_eq!(store.read(&first), before, "a point that changes");
            })
        };
        store.enter(&[(1, 1), (2, 2)]);
        store.publish(2);
        let member = {
            let store = store.clone();
            thread::spawn(move || {
                store.insert(2);
                store.decide(&[2]);
                store.tell(2);
            })
        };
        store.insert(1);
        store.decide(&[1]);
        store.tell(1);
        member.join().unwrap();
        reader.join().unwrap();
        assert_eq!(seen(&store.point()), 0b110);
    });
}

/// One write after the other is entered and decided, so that the list is empty in between: a
/// reader does not take the second emptiness for the first.
#[test]
fn a_list_that_is_empty_again_is_not_taken_for_unchanged() {
    model(5, || {
        let store = Store::new();
        let reader = {
            let store = store.clone();
            thread::spawn(move || {
                let point = store.point();
                let seen = store.read(&point);
                let whole = [0, 0b110, 0b1_1110];
                assert!(whole.contains(&seen), "a part: {seen:b}");
            })
        };
        prepare_and_commit(&store);
        store.enter(&[(3, 3)]);
        store.insert(3);
        store.publish(3);
        store.enter(&[(4, 4)]);
        store.insert(4);
        store.publish(4);
        store.decide(&[3, 4]);
        reader.join().unwrap();
    });
}

/// A decision on an older number, and a plain write: two readers do not see them in opposite
/// orders.
#[test]
fn readers_agree_on_the_order_of_a_decision_and_a_plain_write() {
    model(3, || {
        let store = Store::new();
        store.enter(&[(1, 1)]);
        store.insert(1);
        store.publish(1);
        let plain = {
            let store = store.clone();
            thread::spawn(move || {
                store.insert(2);
                store.publish(2);
            })
        };
        let readers = [0, 1].map(|_| {
            let store = store.clone();
            thread::spawn(move || store.read(&store.point()))
        });
        store.decide(&[1]);
        plain.join().unwrap();
        let seen = readers.map(|reader| reader.join().unwrap());
        for pair in [seen, [seen[1], seen[0]]] {
            assert_ne!(pair, [0b10, 0b100], "opposite orders");
        }
    });
}

/// Ranges that a reader has taken are not given to one that comes after a change.
#[test]
fn ranges_taken_before_a_change_are_not_handed_out_after_it() {
    model(5, || {
        let store = Store::new();
        // A transaction that stays prepared meanwhile.
        store.enter(&[(1, 1)]);
        store.insert(1);
        store.publish(1);
        let reader = {
            let store = store.clone();
            thread::spawn(move || {
                let first = store.point();
                let before = store.read(&first);
                let told = store.is_told(2);
                let second = store.point();
                let after = store.read(&second);
                assert!((before | after) & 0b10 == 0, "undecided, and seen");
                assert!(before & !after == 0, "seen, and not again");
                assert!(!told || after == 0b100, "told, and not seen");
                assert_eq!(store.read(&first), before, "a point that changes");
            })
        };
        store.enter(&[(2, 2)]);
        store.publish(2);
        store.insert(2);
        store.decide(&[2]);
        store.tell(2);
        reader.join().unwrap();
    });
}

/// A write is rolled back, with its old value in a second memtable. Who has pinned a view of the
/// memtables sees both or none, whether it pins before it loads the number, while nothing is
/// undecided, or afterwards, having taken a point.
#[test]
fn a_pinned_view_shows_no_write_without_its_rollback() {
    model(4, || {
        let store = Store::new();
        // How many memtables a view has. The second one has number 2.
        let memtables = Arc::new(AtomicU64::new(1));
        let reader = {
            let (store, memtables) = (store.clone(), memtables.clone());
            thread::spawn(move || {
                let pin = || memtables.load(Ordering::Acquire);
                let begun = store.undecided.none_at(|| {
                    let view = pin();
                    (view, store.visible.load(Ordering::Acquire))
                });
                let (view, point) = match begun {
                    Some((view, number)) => (view, (number, None)),
                    None => {
                        let point = store.point();
                        (pin(), point)
                    }
                };
                let seen = store.read(&point);
                assert!([0, 0b110].contains(&seen), "a part: {seen:b}");
                assert!(seen == 0 || view == 2, "the rollback is not in the view");
            })
        };
        store.enter(&[(1, 1)]);
        store.insert(1);
        store.publish(1);
        memtables.store(2, Ordering::Release);
        store.enter(&[(2, 2)]);
        store.insert(2);
        store.publish(2);
        store.decide(&[1, 2]);
        reader.join().unwrap();
    });
}
