//! Many inserters and readers at once, on real threads.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::thread;

use whitewater_concurrent::skiplist::{SkipList, Splice};

use crate::OnDrop;
use crate::order::{Bytewise, split};

const THREADS: usize = 8;
const PER_THREAD: usize = 4_000;
const ALL: usize = THREADS * PER_THREAD;

/// The `i`-th key. These are all keys of `0..ALL`, in an order far from sorted, and
/// neighbours belong to different threads.
fn key(i: usize) -> [u8; 8] {
    (i * 7_919 % ALL).to_be_bytes()
}

/// A value of varying length that contains its key.
fn value(key: &[u8]) -> Vec<u8> {
    key.repeat(1 + usize::from(key[7] % 16))
}

/// Reads in every way until it is told to stop; returns the number of walks.
fn read_until(list: &Arc<SkipList<Bytewise>>, done: &AtomicBool) -> usize {
    let mut walks = 0;
    let mut last_count = 0;
    while !done.load(Ordering::Acquire) || walks == 0 {
        let mut count = 0;
        let mut last: Option<Vec<u8>> = None;
        list.scan_from(b"", u64::MAX, &mut |key, tag, entry_value| {
            assert!(last.as_deref().is_none_or(|last| last < key), "unsorted");
            assert_eq!(tag, 1);
            assert_eq!(entry_value, value(key));
            last = Some(key.to_vec());
            count += 1;
            true
        });
        assert!(count >= last_count, "entries vanished");
        last_count = count;
        // The same with a cursor, which prefetches on such a walk.
        let mut cursor = list.iter();
        cursor.seek_to_first();
        let (mut count, mut last) = (0, None);
        while cursor.valid() {
            let (here, _) = split(cursor.key());
            assert!(last.is_none_or(|last| last < here), "unsorted");
            assert_eq!(cursor.value(), value(&here));
            last = Some(here);
            count += 1;
            cursor.next();
        }
        assert!(count >= last_count, "entries vanished");
        last_count = count;
        // Backward from some key, for some steps.
        cursor.seek_for_prev(&key(walks * 31), 1);
        let mut above: Option<Vec<u8>> = None;
        for _ in 0..200 {
            if !cursor.valid() {
                break;
            }
            let (here, _) = split(cursor.key());
            assert!(above.is_none_or(|above| here < above), "unsorted");
            assert_eq!(cursor.value(), value(&here));
            above = Some(here);
            cursor.prev();
        }
        walks += 1;
    }
    walks
}

fn fill(list: &SkipList<Bytewise>, thread: usize) {
    let mut splice = Splice::default();
    for i in (thread..ALL).step_by(THREADS) {
        let key = key(i);
        let value = value(&key);
        // Half of the threads use splices.
        let inserted = if thread.is_multiple_of(2) {
            list.insert(&key, 1, &value)
        } else {
            list.insert_with_splice(&mut splice, &key, 1, &value)
        };
        assert!(inserted, "no other thread has this key");
        if i % 64 == thread {
            let mut found = false;
            list.scan_from(&key, 1, &mut |seen, _, _| {
                found = seen == key;
                false
            });
            assert!(found, "a thread sees its own write");
        }
    }
}

#[test]
fn inserters_lose_nothing_and_readers_see_a_sorted_list() {
    let list = Arc::new(SkipList::new(Bytewise, 64 << 10));
    let done = AtomicBool::new(false);
    thread::scope(|scope| {
        let readers: Vec<_> = (0..2)
            .map(|_| scope.spawn(|| read_until(&list, &done)))
            .collect();
        let writers: Vec<_> = (0..THREADS)
            .map(|thread| {
                let list = &list;
                scope.spawn(move || fill(list, thread))
            })
            .collect();
        // Readers stop even if a writer has failed.
        let end = OnDrop(|| done.store(true, Ordering::Release));
        for writer in writers {
            writer.join().unwrap();
        }
        drop(end);
        for reader in readers {
            assert!(reader.join().unwrap() > 0);
        }
    });
    assert_eq!((list.check(), list.len()), (Ok(ALL), ALL));
    let mut expected = 0;
    list.scan_from(b"", u64::MAX, &mut |key, _, entry_value| {
        assert_eq!(key, usize::to_be_bytes(expected));
        assert_eq!(entry_value, value(key));
        expected += 1;
        true
    });
    assert_eq!(expected, ALL);
    let mut cursor = list.iter();
    cursor.seek_to_last();
    for expected in (0..ALL).rev() {
        assert_eq!(split(cursor.key()).0, usize::to_be_bytes(expected));
        cursor.prev();
    }
    assert!(!cursor.valid());
}

#[test]
fn nearly_sorted_splices_of_many_threads_interleave() {
    // All threads move through the same range, so splices become stale at once.
    let list = SkipList::new(Bytewise, 64 << 10);
    thread::scope(|scope| {
        for thread in 0..THREADS {
            let list = &list;
            scope.spawn(move || {
                let mut splice = Splice::default();
                for i in (thread..ALL).step_by(THREADS) {
                    let key = i.to_be_bytes();
                    assert!(list.insert_with_splice(&mut splice, &key, 1, &value(&key)));
                }
            });
        }
    });
    let mut expected = 0;
    list.scan_from(b"", u64::MAX, &mut |key, _, entry_value| {
        assert_eq!(key, usize::to_be_bytes(expected));
        assert_eq!(entry_value, value(key));
        expected += 1;
        true
    });
    assert_eq!((expected, list.check(), list.len()), (ALL, Ok(ALL), ALL));
}

#[test]
fn of_equal_keys_one_wins() {
    const KEYS: usize = 4_000;
    let list = SkipList::new(Bytewise, 64 << 10);
    let wins = AtomicUsize::new(0);
    thread::scope(|scope| {
        for thread in 0..THREADS {
            let (list, wins) = (&list, &wins);
            scope.spawn(move || {
                let mut splice = Splice::default();
                for i in 0..KEYS {
                    let key = i.to_be_bytes();
                    let inserted = if thread.is_multiple_of(2) {
                        list.insert(&key, 1, &value(&key))
                    } else {
                        list.insert_with_splice(&mut splice, &key, 1, &value(&key))
                    };
                    wins.fetch_add(usize::from(inserted), Ordering::Relaxed);
                }
            });
        }
    });
    assert_eq!((wins.into_inner(), list.len()), (KEYS, KEYS));
    assert_eq!(list.check(), Ok(KEYS));
}

#[test]
fn lists_and_cursors_go_to_other_threads() {
    fn is_send_and_sync<T: Send + Sync>() {}
    is_send_and_sync::<SkipList<Bytewise>>();
    is_send_and_sync::<whitewater_concurrent::skiplist::Iter<Bytewise>>();
    let list = Arc::new(SkipList::new(Bytewise, 4096));
    assert!(list.insert(b"a", 1, b"b"));
    let mut cursor = list.iter();
    cursor.seek_to_first();
    drop(list);
    let key = thread::spawn(move || cursor.key().to_vec()).join().unwrap();
    assert_eq!(split(&key).0, b"a");
}

/// One thread inserts in order, with the list's own splice; others insert their keys
/// right where it is about to insert, or just has.
#[test]
fn others_insert_where_the_own_splice_is() {
    const PER_THREAD: u64 = 20_000;
    const OTHERS: u64 = 3;
    let list = Arc::new(SkipList::new(Bytewise, 64 << 10));
    // The position of the first thread. Publishes nothing.
    let at = AtomicUsize::new(0);
    thread::scope(|scope| {
        let (list, at) = (&list, &at);
        scope.spawn(move || {
            for i in 0..PER_THREAD {
                at.store(i as usize, Ordering::Relaxed);
                assert!(list.insert(&(i * 4).to_be_bytes(), 1, b"in order"));
            }
        });
        for other in 1..=OTHERS {
            scope.spawn(move || {
                let mut splice = Splice::default();
                for n in 0..PER_THREAD {
                    // Alternately ahead of the first thread's key and behind it.
                    let near = at.load(Ordering::Relaxed) as u64 + n % 2;
                    let key = (near * 4 + other).to_be_bytes();
                    if n % 3 == 0 {
                        list.insert_concurrently(&key, n, b"beside");
                    } else {
                        list.insert_with_splice(&mut splice, &key, n, b"beside");
                    }
                }
            });
        }
    });
    // Tags differ within a thread, so no insert was refused.
    let all = (PER_THREAD * (1 + OTHERS)) as usize;
    assert_eq!((list.check(), list.len()), (Ok(all), all));
    for i in 0..PER_THREAD {
        let mut found = false;
        list.scan_from(&(i * 4).to_be_bytes(), u64::MAX, &mut |key, _, value| {
            found = key == (i * 4).to_be_bytes() && value == b"in order";
            false
        });
        assert!(found, "{i} is lost");
    }
}
