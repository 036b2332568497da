//! Model checks of the radix tree: every interleaving of small runs of the
//! real structure, with the memory model's freedoms. Nodes have room for 2, 3 and 6 children here.
//!
//! Run with
//! `RUSTFLAGS="--cfg loom" cargo test -p whitewater-concurrent --release --test loom_art`.
#![cfg(loom)]

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use loom::thread;
use whitewater_concurrent::art::{Art, Options};

fn model(check: impl Fn() + Sync + Send + 'static) {
    // No bound: the models are small.
    loom::model(check);
}

fn tree(keys: &[&str]) -> Arc<Art> {
    let tree = Arc::new(Art::new(Options {
        capacity: 0,
        ..Options::default()
    }));
    for key in keys {
        assert!(insert(&tree, key));
    }
    tree
}

fn insert(tree: &Art, key: &str) -> bool {
    tree.insert(key.as_bytes(), 1, key.as_bytes())
}

/// All keys in order; checks each value.
fn keys(tree: &Art) -> Vec<String> {
    let mut keys = Vec::new();
    tree.scan_from(&[], u64::MAX, &mut |key, tag, value| {
        assert_eq!(tag, 1);
        assert_eq!(value, key);
        keys.push(String::from_utf8(key.to_vec()).unwrap());
        true
    });
    assert!(keys.is_sorted(), "{keys:?}");
    keys
}

fn has(tree: &Art, key: &str) -> bool {
    let mut found = false;
    tree.get(key.as_bytes(), u64::MAX, &mut |_, value| {
        assert_eq!(value, key.as_bytes());
        found = true;
        false
    });
    found
}

/// Two threads insert a key each into a tree of some keys. Each sees its own
/// key and all that were there; in the end all are there.
fn two_writers(before: &'static [&'static str], new: [&'static str; 2]) {
    model(move || {
        let tree = tree(before);
        let other = tree.clone();
        let writer = thread::spawn(move || {
            assert!(insert(&other, new[1]));
            assert!(has(&other, new[1]), "an own write is seen");
        });
        assert!(insert(&tree, new[0]));
        assert!(has(&tree, new[0]), "an own write is seen");
        writer.join().unwrap();
        assert_all(&tree, before, &new);
    });
}

/// One thread inserts beside one that reads everything, and then the new key.
///
/// The reader is the thread spawned. The checker remembers only the last access
/// to an atomic, and the last write: the other way round, the writer's own load
/// before a write would hide the reader's, and nothing would be tried.
fn a_writer_and_a_reader(before: &'static [&'static str], new: &'static str) {
    let seen = Arc::new([const { AtomicBool::new(false) }; 2]);
    let outcomes = seen.clone();
    model(move || {
        let tree = tree(before);
        let other = tree.clone();
        let outcomes = outcomes.clone();
        let reader = thread::spawn(move || {
            let first = keys(&other);
            assert!(before.iter().all(|key| first.iter().any(|k| k == key)));
            let there = first.iter().any(|key| key == new);
            let found = has(&other, new);
            assert!(found || !there, "seen and lost");
            outcomes[usize::from(there)].store(true, Ordering::Relaxed);
        });
        assert!(insert(&tree, new));
        reader.join().unwrap();
        assert_all(&tree, before, &[new]);
    });
    let seen = seen.each_ref().map(|seen| seen.load(Ordering::Relaxed));
    assert_eq!(seen, [true; 2], "read both before and after");
}

fn assert_all(tree: &Arc<Art>, before: &[&str], new: &[&str]) {
    let mut all: Vec<&str> = before.iter().chain(new).copied().collect();
    all.sort_unstable();
    all.dedup();
    assert_eq!(keys(tree), all);
    assert_eq!(tree.check(), Ok(all.len()));
    assert_eq!(tree.len(), all.len());
}

#[test]
fn two_first_keys() {
    two_writers(&[], ["a", "b"]);
}

#[test]
fn append_beside_append() {
    // A node of six with four children.
    two_writers(&["a", "b", "c", "d"], ["e", "f"]);
}

#[test]
fn append_beside_growth() {
    // The node has room for one of both.
    two_writers(&["k", "ka"], ["kb", "kc"]);
    two_writers(&["xa", "xb"], ["xc", "xd"]);
}

#[test]
fn growth_to_the_middle_sizes() {
    two_writers(&["a", "b", "c"], ["d", "e"]);
}

#[test]
fn growth_beside_an_insert_below_it() {
    // The root's node is replaced while a leaf in it is split.
    two_writers(&["a1", "b"], ["c", "a2"]);
}

#[test]
fn split_beside_an_insert_into_the_same_node() {
    two_writers(&["prefix1", "prefix2"], ["prex", "prefix3"]);
}

#[test]
fn split_beside_a_split() {
    two_writers(&["prefix1", "prefix2"], ["prex", "pry"]);
}

#[test]
fn two_leaves_split_in_one_place() {
    two_writers(&["abc", "b"], ["abd", "ab"]);
}

#[test]
fn a_key_ends_where_another_is_added() {
    two_writers(&["ka", "kb"], ["k", "kc"]);
}

#[test]
fn a_reader_beside_appends_and_growth() {
    a_writer_and_a_reader(&["k", "ka"], "kb");
    a_writer_and_a_reader(&["xa", "xb"], "xc");
    a_writer_and_a_reader(&["a", "b", "c"], "d");
    a_writer_and_a_reader(&["a", "b", "c", "d"], "e");
}

#[test]
fn a_reader_beside_splits() {
    a_writer_and_a_reader(&["prefix1", "prefix2"], "prex");
    a_writer_and_a_reader(&["abc"], "ab");
    a_writer_and_a_reader(&["abc", "b"], "abd");
}

#[test]
fn a_reader_beside_a_key_that_ends() {
    a_writer_and_a_reader(&["ka", "kb"], "k");
}

#[test]
fn one_of_two_equal_entries_wins() {
    // As a leaf split, an appended child (into a node with room for one, and
    // for two), a growth, and the end of a key.
    for (before, key) in [
        (&["b"][..], "a"),
        (&["a", "b", "c", "d"], "e"),
        (&["k", "ka"], "kb"),
        (&["ka", "kb"], "kc"),
        (&["ka", "kb"], "k"),
    ] {
        model(move || {
            let tree = tree(before);
            let other = tree.clone();
            let writer = thread::spawn(move || insert(&other, key));
            let here = insert(&tree, key);
            let there = writer.join().unwrap();
            assert!(here != there, "exactly one is told so");
            assert_all(&tree, before, &[key]);
        });
    }
}

/// Tags of one key, newest first; each value tells its tag.
fn tags(tree: &Art) -> Vec<u64> {
    let mut tags = Vec::new();
    tree.get(b"k", u64::MAX, &mut |tag, value| {
        assert_eq!(value, [tag as u8]);
        tags.push(tag);
        true
    });
    assert!(tags.is_sorted_by(|a, b| a > b), "{tags:?}");
    tags
}

/// Two threads add versions of one key that has some, beside a reader.
fn two_versions(before: &'static [u64], new: [u64; 2]) {
    model(move || {
        let tree = tree(&[]);
        for tag in before {
            assert!(tree.insert(b"k", *tag, &[*tag as u8]));
        }
        let writers = new.map(|tag| {
            let tree = tree.clone();
            thread::spawn(move || assert!(tree.insert(b"k", tag, &[tag as u8])))
        });
        let reader = tree.clone();
        let reader = thread::spawn(move || {
            let seen = tags(&reader);
            assert!(before.iter().all(|tag| seen.contains(tag)), "versions stay");
        });
        reader.join().unwrap();
        for writer in writers {
            writer.join().unwrap();
        }
        let mut all = [before, &new].concat();
        all.sort_unstable_by(|a, b| b.cmp(a));
        assert_eq!(tags(&tree), all);
        assert_eq!(tree.check(), Ok(all.len()));
    });
}

#[test]
fn versions_on_top() {
    two_versions(&[1], [2, 3]);
}

#[test]
fn versions_between_and_below() {
    two_versions(&[3], [2, 4]);
    two_versions(&[3], [1, 2]);
    two_versions(&[1, 5], [2, 3]);
}

/// A version arrives between the one that a reader at an older sequence looks
/// for and a newer one: the reader does not see it, and sees what it should.
#[test]
fn a_reader_at_an_old_sequence_beside_a_version_in_between() {
    model(|| {
        let tree = tree(&[]);
        for tag in [1, 4] {
            assert!(tree.insert(b"k", tag, &[tag as u8]));
        }
        let other = tree.clone();
        let reader = thread::spawn(move || {
            let at = |sequence| {
                let mut found = 0;
                other.get(b"k", sequence, &mut |tag, _| {
                    found = tag;
                    false
                });
                found
            };
            assert_eq!(at(2), 1, "a version above the sequence asked for");
            assert!([1, 3].contains(&at(3)));
        });
        assert!(tree.insert(b"k", 3, &[3]));
        reader.join().unwrap();
        assert_eq!(tags(&tree), [4, 3, 1]);
    });
}

/// Both threads prepare the same key; tags come in either order.
#[test]
fn prepared_versions() {
    for own in [1, 2] {
        model(move || {
            let tree = tree(&[]);
            let other = tree.clone();
            let writer = thread::spawn(move || {
                let tag = 3 - own;
                let prepared = other.prepare(b"k", &[tag as u8]);
                assert!(other.publish(prepared, tag));
            });
            let prepared = tree.prepare(b"k", &[own as u8]);
            assert!(!tags(&tree).contains(&own), "not published yet");
            assert!(tree.publish(prepared, own));
            assert!(tags(&tree).contains(&own), "published");
            writer.join().unwrap();
            assert_eq!(tags(&tree), [2, 1]);
        });
    }
}

/// A cursor in a wide node, beside an insert before its place: what it stands
/// on does not come again, and a seek does not land before what was sought.
fn a_cursor_beside(before: &'static [&'static str], new: &'static str, sought: &'static str) {
    model(move || {
        let tree = tree(before);
        let other = tree.clone();
        let reader = thread::spawn(move || {
            let mut iter = other.iter();
            let mut last = String::new();
            iter.seek(sought.as_bytes(), 1);
            assert!(iter.valid());
            while iter.valid() {
                let key = iter.key().split_last_chunk::<8>().unwrap().0;
                let key = String::from_utf8(key.to_vec()).unwrap();
                assert!(key.as_str() >= sought, "{key} is before {sought}");
                assert!(key > last, "{key} after {last}");
                last = key;
                iter.next();
            }
            assert_eq!(Some(&last.as_str()), before.last());
        });
        assert!(insert(&tree, new));
        reader.join().unwrap();
    });
}

/// In a node of 256, which is read a window at a time.
#[test]
fn a_cursor_in_a_wide_node_beside_an_insert_before_it() {
    const WIDE: &[&str] = &["a", "c", "e", "g", "i", "k", "m"];
    a_cursor_beside(WIDE, "b", "k");
    a_cursor_beside(WIDE, "b", "j");
}

/// The child whose place a seek has found empty arrives, with a key before the
/// one sought.
#[test]
fn a_seek_beside_the_child_it_misses() {
    a_cursor_beside(&["xa", "xc"], "xba", "xbc");
    a_cursor_beside(&["a", "c", "e", "g", "i", "k", "m"], "ba", "bc");
}
