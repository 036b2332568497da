//! Model checks of append lists and hash tables of lists: see `loom.rs`.
#![cfg(loom)]

use std::cmp::Ordering;
use std::sync::Arc;

use loom::thread;
use whitewater_concurrent::append_list::AppendList;
use whitewater_concurrent::hash_buckets::{
    HashLinkList, HashSkipList, LinkListOptions, SkipListOptions,
};
use whitewater_concurrent::skiplist::KeyOrder;
use whitewater_concurrent::sorted_snapshot::{SortedIter, Visit};

struct Bytewise;

impl KeyOrder for Bytewise {
    fn compare(&self, a: (&[u8], u64), b: (&[u8], u64)) -> Ordering {
        a.0.cmp(b.0).then(b.1.cmp(&a.1))
    }
}

fn model(check: impl Fn() + Sync + Send + 'static) {
    let mut builder = loom::model::Builder::new();
    builder.preemption_bound.get_or_insert(4);
    builder.check(check);
}

/// All keys go into one bucket.
const HASH: u64 = 0;

fn links(threshold: u32) -> Arc<HashLinkList<Bytewise>> {
    Arc::new(HashLinkList::new(
        Bytewise,
        LinkListOptions {
            buckets: 1,
            threshold,
            arena: 4096.into(),
        },
    ))
}

fn skips() -> Arc<HashSkipList<Bytewise>> {
    Arc::new(HashSkipList::new(
        Bytewise,
        SkipListOptions {
            buckets: 1,
            height: 1,
            branching: 4,
            arena: 4096.into(),
        },
    ))
}

/// The keys that `scan` visits; checks their order and each value.
fn keys(scan: impl FnOnce(&mut Visit<'_>)) -> Vec<u8> {
    let mut keys = Vec::new();
    scan(&mut |key, tag, value| {
        assert_eq!((tag, value), (1, &[key[0], key[0]][..]));
        assert!(keys.last().is_none_or(|&last| last < key[0]), "unsorted");
        keys.push(key[0]);
        true
    });
    keys
}

fn sorted_keys(mut it: SortedIter<Bytewise>) -> Vec<u8> {
    let mut keys = Vec::new();
    it.seek_to_first();
    while it.valid() {
        assert_eq!(it.value(), [it.key()[0]; 2]);
        keys.push(it.key()[0]);
        it.next();
    }
    keys
}

fn link_keys(table: &HashLinkList<Bytewise>) -> Vec<u8> {
    keys(|visit| table.scan_from(HASH, &[], u64::MAX, visit))
}

fn put(table: &HashLinkList<Bytewise>, key: u8) {
    assert!(table.insert(HASH, &[key], 1, &[key, key]));
}

/// Two first inserters into a bucket both make it, and one of them wins; a reader sees
/// the bucket empty or complete.
#[test]
fn a_bucket_is_published_whole_and_once() {
    model(|| {
        let table = skips();
        let reader = table.clone();
        let reader = thread::spawn(move || {
            let seen = keys(|visit| reader.scan_from(HASH, &[], u64::MAX, visit));
            assert!(seen.iter().all(|key| [10, 20].contains(key)));
        });
        let other = table.clone();
        let writer = thread::spawn(move || {
            assert!(other.insert(HASH, &[20], 1, &[20, 20]));
            assert!(keys(|visit| other.scan_from(HASH, &[20], 1, visit)).contains(&20));
        });
        assert!(table.insert(HASH, &[10], 1, &[10, 10]));
        reader.join().unwrap();
        writer.join().unwrap();
        assert_eq!(
            keys(|visit| table.scan_from(HASH, &[], u64::MAX, visit)),
            [10, 20]
        );
        assert_eq!(sorted_keys(table.sorted()), [10, 20]);
    });
}

/// Inserts at the front, in the middle and at the end beside a reader.
#[test]
fn a_reader_sees_a_whole_linked_list() {
    model(|| {
        let table = links(100);
        put(&table, 20);
        let reader = table.clone();
        let reader = thread::spawn(move || {
            let mut last = 0;
            for _ in 0..2 {
                let seen = link_keys(&reader);
                assert!(seen.contains(&20), "earlier entries stay");
                assert!(seen.len() >= last, "seen once but not again");
                last = seen.len();
            }
        });
        let other = table.clone();
        let writer = thread::spawn(move || put(&other, 10));
        put(&table, 30);
        reader.join().unwrap();
        writer.join().unwrap();
        assert_eq!(link_keys(&table), [10, 20, 30]);
    });
}

/// A list becomes a skip list while another thread inserts and a third reads.
#[test]
fn a_conversion_loses_nothing() {
    model(|| {
        let table = links(1);
        put(&table, 20);
        let reader = table.clone();
        let reader = thread::spawn(move || {
            let mut cursor = reader.bucket_iter();
            cursor.seek(HASH, &[], u64::MAX);
            let mut seen = Vec::new();
            while cursor.valid() {
                seen.push(cursor.key()[0]);
                cursor.next();
            }
            assert!(seen.is_sorted() && seen.contains(&20), "{seen:?}");
        });
        let other = table.clone();
        let writer = thread::spawn(move || put(&other, 10));
        put(&table, 30);
        reader.join().unwrap();
        writer.join().unwrap();
        assert_eq!(table.converted(), 1);
        assert_eq!(link_keys(&table), [10, 20, 30]);
        assert_eq!(sorted_keys(table.sorted()), [10, 20, 30]);
    });
}

/// Two threads add to one shard, one of them two entries at once, beside a
/// reader.
#[test]
fn an_append_list_shows_what_was_pushed() {
    model(|| {
        let list = Arc::new(AppendList::new(Bytewise, 4096));
        let reader = list.clone();
        let reader = thread::spawn(move || {
            let seen = sorted_keys(reader.iter());
            assert_eq!(seen.contains(&10), seen.contains(&30), "pushed at once");
        });
        let other = list.clone();
        let writer = thread::spawn(move || {
            other.extend_shard(0, [(&[20][..], 1, &[20, 20][..])]);
        });
        let both = [30, 10].map(|key| [key, key]);
        list.extend_shard(0, both.iter().map(|both| (&both[..1], 1, &both[..])));
        reader.join().unwrap();
        writer.join().unwrap();
        assert_eq!(sorted_keys(list.iter()), [10, 20, 30]);
    });
}

/// A thread that sees a list sealed sees everything that was added before.
#[test]
fn a_sealed_list_is_complete() {
    model(|| {
        let list = Arc::new(AppendList::new(Bytewise, 4096));
        let reader = list.clone();
        let reader = thread::spawn(move || {
            let mut found = 0;
            reader.get(&[10], 9, &mut |_, value| {
                assert_eq!(value, [10, 10]);
                found += 1;
                true
            });
            // The sorted snapshot is kept now, if the list was sealed.
            (found, sorted_keys(reader.iter()))
        });
        list.extend_shard(0, [(&[10][..], 1, &[10, 10][..])]);
        list.seal();
        let (found, seen) = reader.join().unwrap();
        assert!(found <= seen.len());
        assert_eq!(sorted_keys(list.iter()), [10]);
    });
}
