//! Many threads on small structures, for ThreadSanitizer; `.ci/sanitize` builds
//! and runs it.
//!
//! `sanitize_stress rounds N` must run without reports. Each canary has a bug that must
//! be reported, or the sanitizer does not work: a data race (`canary plain`, `canary
//! relaxed`), a read past the end (`canary overflow`), a leak (`canary leak`).
//!
//! The standard library is not instrumented, so threads share data here only through this
//! crate, parking_lot and plain atomics.
#![cfg(not(any(loom, shuttle)))]

use std::cell::UnsafeCell;
use std::env;
use std::hint::black_box;
use std::marker::PhantomData;
use std::process::ExitCode;
use std::ptr;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicPtr, AtomicUsize, Ordering};
use std::thread;

use parking_lot::Mutex;
use whitewater_concurrent::append_list::AppendList;
use whitewater_concurrent::arena::ConcurrentArena;
use whitewater_concurrent::hash_buckets::{
    HashLinkList, HashSkipList, LinkListOptions, SkipListOptions,
};
use whitewater_concurrent::skiplist::SkipList;
use whitewater_concurrent::slab::{self, Piece};
use whitewater_concurrent::sorted_snapshot::SortedIter;

#[path = "../tests/support/mod.rs"]
mod support;

use support::keys::{two_letters, value};
use support::order::{By, Bytewise, EntryKey};
use support::set::{Cursor, Set, Tree};

const WRITERS: usize = 4;
const READERS: usize = 2;

fn main() -> ExitCode {
    let words: Vec<String> = env::args().skip(1).collect();
    let words: Vec<&str> = words.iter().map(String::as_str).collect();
    match words[..] {
        ["rounds", number] => rounds(number.parse().expect("a number of rounds")),
        ["canary", "plain"] => plain_race(),
        ["canary", "relaxed"] => relaxed_publication(),
        ["canary", "overflow"] => overflow(),
        ["canary", "leak"] => leak(),
        _ => {
            eprintln!("usage: sanitize_stress rounds N | canary plain|relaxed|overflow|leak");
            return ExitCode::from(2);
        }
    }
    ExitCode::SUCCESS
}

fn rounds(number: usize) {
    for round in 0..number {
        stress::<SkipList<By<Bytewise>>>(round);
        stress::<Tree<false>>(round);
        stress::<Tree<true>>(round);
        stress_append();
        stress_skip_buckets();
        stress_link_buckets();
        stress_slabs();
    }
    println!("{number} rounds");
}

/// All keys over two letters, single bytes for wide nodes, and versions of some keys.
fn entries() -> Vec<(Vec<u8>, u64)> {
    let letters = two_letters(*b"ab", 6).into_iter();
    let wide = (0..=255).map(|byte| vec![b'w', byte]);
    let once = letters.chain(wide).map(|key| (key, 1));
    let versions = (8..208).map(|tag| (vec![b'a'; (tag % 3) as usize], tag ^ 5));
    once.chain(versions).collect()
}

fn stress<S: Set>(round: usize) {
    let set = S::create();
    let entries = Arc::new(entries());
    let done = Arc::new(AtomicBool::new(false));
    let inserted = Arc::new(AtomicUsize::new(0));
    let writers: Vec<_> = (0..WRITERS)
        .map(|writer| {
            let (set, entries, inserted) = (set.clone(), entries.clone(), inserted.clone());
            thread::spawn(move || {
                for i in (writer..entries.len()).step_by(WRITERS) {
                    // Each round has another order.
                    let (key, tag) = &entries[(i * 397 + round * 31) % entries.len()];
                    assert!(set.insert_by(i, key, *tag, &value(key, *tag)));
                    inserted.fetch_add(1, Ordering::Release);
                }
            })
        })
        .collect();
    let readers: Vec<_> = (0..READERS)
        .map(|reader| {
            let (set, done, inserted) = (set.clone(), done.clone(), inserted.clone());
            thread::spawn(move || {
                let mut up = reader % 2 == 0;
                loop {
                    let last = done.load(Ordering::Acquire);
                    let there = inserted.load(Ordering::Acquire);
                    assert!(walk(&set, up) >= there, "entries are missing");
                    up = !up;
                    if last {
                        return;
                    }
                }
            })
        })
        .collect();
    for writer in writers {
        writer.join().unwrap();
    }
    done.store(true, Ordering::Release);
    for reader in readers {
        reader.join().unwrap();
    }
    assert_eq!(set.check(), Ok(entries.len()));
}

/// Runs `insert` for all of `entries` on several threads, and `read` beside them on
/// others; its argument is the least number of entries that there are.
fn beside(
    insert: impl Fn(&[u8], u64, &[u8]) + Send + Sync + 'static,
    read: impl Fn(usize) + Send + Sync + 'static,
) {
    let work = Arc::new((insert, read, entries()));
    let (left, inserted) = (
        Arc::new(AtomicUsize::new(WRITERS)),
        Arc::new(AtomicUsize::new(0)),
    );
    let writers = (0..WRITERS).map(|writer| {
        let (work, left, inserted) = (work.clone(), left.clone(), inserted.clone());
        thread::spawn(move || {
            for (key, tag) in work.2.iter().skip(writer).step_by(WRITERS) {
                (work.0)(key, *tag, &value(key, *tag));
                inserted.fetch_add(1, Ordering::Release);
            }
            left.fetch_sub(1, Ordering::Release);
        })
    });
    let mut threads: Vec<_> = writers.collect();
    threads.extend((0..READERS).map(|_| {
        let (work, left, inserted) = (work.clone(), left.clone(), inserted.clone());
        thread::spawn(move || {
            while left.load(Ordering::Acquire) > 0 {
                (work.1)(inserted.load(Ordering::Acquire));
            }
        })
    }));
    for thread in threads {
        thread.join().unwrap();
    }
    (work.1)(entries().len());
}

/// Walks a sorted snapshot; returns the number of entries.
fn walk_sorted(mut cursor: SortedIter<By<Bytewise>>) -> usize {
    let mut last: Option<EntryKey<Bytewise>> = None;
    let mut count = 0;
    cursor.seek_to_first();
    while cursor.valid() {
        let here = EntryKey::of(cursor.key());
        assert_eq!(cursor.value(), value(&here.key, here.tag));
        assert!(last.is_none_or(|last| last < here), "unsorted");
        last = Some(here);
        count += 1;
        cursor.next();
    }
    count
}

/// One bucket for each first byte.
fn hash(key: &[u8]) -> u64 {
    key.first().map_or(0, |byte| u64::from(*byte) << 56)
}

fn stress_append() {
    let list = Arc::new(AppendList::new(By::<Bytewise>(PhantomData), 4096));
    let writer = list.clone();
    beside(
        move |key, tag, value| writer.extend([(key, tag, value)]),
        move |least| assert!(walk_sorted(list.iter()) >= least, "entries are missing"),
    );
}

fn stress_skip_buckets() {
    let options = SkipListOptions {
        buckets: 5,
        height: 4,
        branching: 4,
        arena: 4096.into(),
    };
    let table = Arc::new(HashSkipList::new(By::<Bytewise>(PhantomData), options));
    let writer = table.clone();
    beside(
        move |key, tag, value| assert!(writer.insert(hash(key), key, tag, value)),
        move |least| assert!(walk_sorted(table.sorted()) >= least, "entries are missing"),
    );
}

fn stress_link_buckets() {
    let options = LinkListOptions {
        buckets: 5,
        threshold: 50,
        arena: 4096.into(),
    };
    let table = Arc::new(HashLinkList::new(By::<Bytewise>(PhantomData), options));
    let writer = table.clone();
    beside(
        move |key, tag, value| assert!(writer.insert(hash(key), key, tag, value)),
        move |least| {
            let mut cursor = table.bucket_iter();
            cursor.seek(hash(b"a"), b"a", u64::MAX);
            while cursor.valid() {
                let here = EntryKey::<Bytewise>::of(cursor.key());
                assert_eq!(cursor.value(), value(&here.key, here.tag));
                cursor.next();
            }
            assert!(walk_sorted(table.sorted()) >= least, "entries are missing");
        },
    );
}

/// Threads copy bytes into pieces of slabs and drop those that others have made.
fn stress_slabs() {
    let shelf: Arc<Vec<Mutex<Option<Piece>>>> =
        Arc::new((0..64).map(|_| Mutex::default()).collect());
    let threads = (0..WRITERS).map(|thread| {
        let shelf = shelf.clone();
        thread::spawn(move || {
            for step in 0..1_000 {
                let number = thread * 7_919 + step * 104_729;
                let bytes = vec![number as u8; 1_100 + number % 6_000];
                let piece = slab::copy(&bytes).expect("there is memory");
                let before = shelf[number % shelf.len()].lock().replace(piece);
                let is_whole = |piece: &Piece| piece.iter().all(|byte| *byte == piece[0]);
                assert!(
                    before.as_ref().is_none_or(is_whole),
                    "a piece was overwritten"
                );
            }
        })
    });
    let threads: Vec<_> = threads.collect();
    for thread in threads {
        thread.join().unwrap();
    }
}

/// A whole walk; checks order and values, and returns the number of entries.
fn walk<S: Set>(set: &Arc<S>, up: bool) -> usize {
    let mut cursor = set.cursor();
    if up {
        cursor.seek_to_first();
    } else {
        cursor.seek_to_last();
    }
    let mut last: Option<EntryKey<S::Order>> = None;
    let mut count = 0;
    while let Some((here, found)) = cursor.entry::<S::Order>() {
        assert_eq!(found, value(&here.key, here.tag));
        let sorted = last.is_none_or(|last| if up { last < here } else { here < last });
        assert!(sorted, "unsorted");
        last = Some(here);
        count += 1;
        if up { cursor.next() } else { cursor.prev() }
    }
    count
}

struct Shared(UnsafeCell<u64>);

// SAFETY: none of this is sound; the race is intended.
unsafe impl Sync for Shared {}

/// Two threads add to a plain number.
fn plain_race() {
    static NUMBER: Shared = Shared(UnsafeCell::new(0));
    let threads = [1, 2].map(|add| {
        thread::spawn(move || {
            for _ in 0..10_000 {
                // SAFETY: a data race, on purpose.
                unsafe { *NUMBER.0.get() += add };
                thread::yield_now();
            }
        })
    });
    for thread in threads {
        thread.join().unwrap();
    }
    // SAFETY: the threads have ended.
    println!("{}", unsafe { *NUMBER.0.get() });
}

/// A number is published by a pointer, as the structures do, but Relaxed.
fn relaxed_publication() {
    static POINTER: AtomicPtr<u64> = AtomicPtr::new(ptr::null_mut());
    let reader = thread::spawn(|| {
        let mut sum = 0;
        for _ in 0..10_000 {
            let pointer = POINTER.load(Ordering::Acquire);
            if !pointer.is_null() {
                // SAFETY: never freed; but not ordered, on purpose.
                sum += unsafe { *pointer };
            }
            thread::yield_now();
        }
        println!("{sum}");
    });
    for i in 0..10_000 {
        let number = Box::leak(Box::new(i));
        POINTER.store(number, Ordering::Relaxed);
        thread::yield_now();
    }
    reader.join().unwrap();
}

/// Reads past the end of an allocation that has a block of its own in an arena.
fn overflow() {
    let arena = ConcurrentArena::new(4096);
    let allocation = arena.allocate(2048).as_ptr();
    let beyond = allocation.wrapping_add(2048 + black_box(8));
    // SAFETY: none; it is past the end, on purpose.
    println!("{}", unsafe { *beyond });
}

/// A list that is never dropped.
fn leak() {
    let list = <SkipList<By<Bytewise>> as Set>::create();
    assert!(list.insert(b"key", 1, b"value"));
    black_box(Arc::into_raw(list).addr());
}
