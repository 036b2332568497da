//! Model checks of the radix tree: every interleaving of small runs of the real
//! structure, with every value that the memory model allows. Nodes have room for 2, 3 and
//! 6 children here.
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

/// For longer models: at most `most` switches away from a thread that could go on.
fn model_with_preemptions(most: usize, check: impl Fn() + Sync + Send + 'static) {
    let mut builder = loom::model::Builder::new();
    builder.preemption_bound.get_or_insert(most);
    builder.check(check);
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

/// Two threads insert a key each into a tree of some keys. Each sees its own key and all
/// earlier ones; in the end all keys are there.
///
/// In both roles, since the checker does not try the same for the spawning and for the
/// spawned thread: see [`a_writer_and_a_reader`].
fn two_writers(before: &'static [&'static str], new: [&'static str; 2]) {
    two_writers_in_roles(before, new);
    two_writers_in_roles(before, [new[1], new[0]]);
}

fn two_writers_in_roles(before: &'static [&'static str], new: [&'static str; 2]) {
    model(move || {
        let tree = tree(before);
        let other = tree.clone();
        let writer = thread::spawn(move || {
            assert!(insert(&other, new[1]));
            assert!(has(&other, new[1]), "a thread sees its own write");
        });
        assert!(insert(&tree, new[0]));
        assert!(has(&tree, new[0]), "a thread sees its own write");
        writer.join().unwrap();
        assert_all(&tree, before, &new);
    });
}

/// One thread inserts beside another that reads everything, and then the new key.
///
/// The reader is the spawned thread. The checker remembers only the last access to an
/// atomic, and the last write. With exchanged roles the writer's own load before a write
/// would hide the reader's load, and nothing would be tried.
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
            assert!(found || !there, "seen once but not again");
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
    // The node has room for one of the two keys.
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

/// Into a node with room, so that only its obsolete mark tells the appending thread that
/// it was replaced.
#[test]
fn append_beside_a_split() {
    const BEFORE: &[&str] = &["prefix1", "prefix2", "prefix3", "prefix4"];
    two_writers(BEFORE, ["prefix5", "prex"]);
    two_writers(&["prefix1", "prefix2"], ["prefix", "prex"]);
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
    // By a leaf split, an appended child (into a node with room for one, and for two),
    // growth, and the end of a key.
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
            assert!(here != there, "exactly one insert succeeds");
            assert_all(&tree, before, &[key]);
        });
    }
}

/// The tags of one key, newest first; each value contains its tag.
fn tags(tree: &Art) -> Vec<u64> {
    tags_and(tree, |tag, value| assert_eq!(value, [tag as u8]))
}

/// As [`tags`]; `see` gets tag and value of each version.
fn tags_and(tree: &Art, see: impl Fn(u64, &[u8])) -> Vec<u64> {
    let mut tags = Vec::new();
    tree.get(b"k", u64::MAX, &mut |tag, value| {
        see(tag, value);
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
    two_versions(&[2, 4], [1, 3]);
    two_versions(&[2, 4], [3, 1]);
}

/// A version arrives between a newer one and the one that a reader at an older sequence
/// number looks for: the reader finds the right version.
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
            assert_eq!(at(2), 1, "a version above the sequence number");
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

/// Both threads push a version as the newest, with tags that are given out after it was
/// prepared, and then link its skip pointer; a thread that is late takes the slow path.
#[test]
fn versions_pushed_as_the_newest() {
    use loom::sync::atomic::AtomicU64;
    fn write(tree: &Art, tags: &AtomicU64) {
        let prepared = tree.prepare(b"k", b"v");
        let tag = tags.fetch_add(1, loom::sync::atomic::Ordering::AcqRel);
        match tree.publish_newest(prepared, tag) {
            Ok(pending) => tree.link_skip_pointer(pending),
            Err(prepared) => assert!(tree.publish(prepared, tag)),
        }
        assert!(all(tree).contains(&tag), "published");
    }
    fn all(tree: &Art) -> Vec<u64> {
        tags_and(tree, |_, value| assert_eq!(value, b"v"))
    }
    for before in [1, 2] {
        model(move || {
            let tree = tree(&[]);
            for tag in 1..=before {
                assert!(tree.insert(b"k", tag, b"v"));
            }
            let next = Arc::new(AtomicU64::new(before + 1));
            let (other, others) = (tree.clone(), next.clone());
            let writer = thread::spawn(move || write(&other, &others));
            write(&tree, &next);
            writer.join().unwrap();
            let descending: Vec<u64> = (1..=before + 2).rev().collect();
            assert_eq!(all(&tree), descending);
            // By their skip pointers, too.
            for at in 1..=before + 2 {
                let mut found = 0;
                tree.get(b"k", at, &mut |tag, _| {
                    found = tag;
                    false
                });
                assert_eq!(found, at);
            }
        });
    }
}

/// A version gets its skip pointer when other threads know it already, and it jumps to a
/// version that was inserted in between: a reader that follows the jump sees that version
/// complete.
#[test]
fn a_skip_pointer_linked_later_beside_a_reader() {
    model_with_preemptions(3, || {
        let tree = tree(&[]);
        assert!(tree.insert(b"k", 1, &[1]));
        let prepared = tree.prepare(b"k", &[9]);
        let pending = tree.publish_newest(prepared, 9).unwrap();
        let other = tree.clone();
        let writer = thread::spawn(move || other.link_skip_pointer(pending));
        let other = tree.clone();
        let reader = thread::spawn(move || {
            let mut found = 0;
            other.get(b"k", 3, &mut |tag, value| {
                assert_eq!(value, [tag as u8]);
                found = tag;
                false
            });
            assert_eq!(found, 1);
        });
        assert!(tree.insert(b"k", 5, &[5]));
        writer.join().unwrap();
        reader.join().unwrap();
        assert_eq!(tags(&tree), [9, 5, 1]);
    });
}

/// A cursor walks in one direction, from a key or from an end, beside an insert: sorted,
/// without repetitions, inside the range, and with all earlier entries.
fn a_cursor(
    before: &'static [&'static str],
    new: &'static str,
    up: bool,
    from: Option<&'static str>,
) {
    model(move || {
        let tree = tree(before);
        let other = tree.clone();
        let reader = thread::spawn(move || {
            let mut iter = other.iter();
            match (from, up) {
                (None, true) => iter.seek_to_first(),
                (None, false) => iter.seek_to_last(),
                (Some(from), true) => iter.seek(from.as_bytes(), 1),
                (Some(from), false) => iter.seek_for_prev(from.as_bytes(), 1),
            }
            let in_range =
                |key: &str| from.is_none_or(|from| if up { key >= from } else { key <= from });
            let mut seen: Vec<String> = Vec::new();
            while iter.valid() {
                let key = iter.key().split_last_chunk::<8>().unwrap().0;
                let key = String::from_utf8(key.to_vec()).unwrap();
                assert_eq!(iter.value(), key.as_bytes());
                assert!(in_range(&key), "{key} is beyond {from:?}");
                let sorted = seen
                    .last()
                    .is_none_or(|last| if up { *last < key } else { key < *last });
                assert!(sorted, "{key} after {seen:?}");
                seen.push(key);
                if up { iter.next() } else { iter.prev() }
            }
            for key in before.iter().filter(|key| in_range(key)) {
                assert!(seen.iter().any(|k| k == key), "{key} is not in {seen:?}");
            }
        });
        assert!(insert(&tree, new));
        reader.join().unwrap();
    });
}

fn cursors(before: &'static [&'static str], new: &'static str, from: &'static str) {
    for up in [true, false] {
        a_cursor(before, new, up, None);
        a_cursor(before, new, up, Some(from));
    }
}

#[test]
fn cursors_beside_appends_and_growth() {
    cursors(&["k", "ka"], "kb", "ka");
    cursors(&["xa", "xc"], "xb", "xb");
    cursors(&["a", "b", "d"], "c", "d");
}

#[test]
fn cursors_beside_splits() {
    cursors(&["prefix1", "prefix2"], "prex", "prefix2");
    cursors(&["abc", "b"], "abd", "abc");
    cursors(&["abc", "b"], "ab", "abb");
}

#[test]
fn cursors_beside_a_key_that_ends() {
    cursors(&["ka", "kb"], "k", "k");
    cursors(&["ka", "kb"], "k", "ka");
}

#[test]
fn cursors_beside_a_new_root() {
    cursors(&["b"], "a", "b");
    cursors(&[], "a", "a");
}

/// In a node of 256, which is read a window at a time.
const WIDE: &[&str] = &["a", "c", "e", "g", "i", "k", "m"];

#[test]
fn cursors_in_a_wide_node_beside_an_insert_before_them() {
    for up in [true, false] {
        a_cursor(WIDE, "b", up, Some("k"));
        a_cursor(WIDE, "b", up, Some("j"));
        a_cursor(WIDE, "l", up, Some("c"));
        a_cursor(WIDE, "", up, Some("c"));
    }
}

#[test]
fn cursors_in_a_wide_node_from_the_key_that_is_inserted() {
    for up in [true, false] {
        a_cursor(WIDE, "b", up, Some("b"));
        a_cursor(WIDE, "f", up, Some("f"));
    }
}

#[test]
fn cursors_beside_the_growth_to_a_wide_node() {
    cursors(&["a", "c", "e", "g", "i", "k"], "f", "g");
}

/// A child arrives where a seek has found none, with a key before or after the one
/// sought.
#[test]
fn a_seek_beside_the_child_it_misses() {
    for up in [true, false] {
        for new in ["xba", "xbz"] {
            a_cursor(&["xa", "xc"], new, up, Some("xbc"));
        }
        for new in ["ba", "bz"] {
            a_cursor(WIDE, new, up, Some("bc"));
        }
    }
}

/// A cursor walks the versions of a key while another version arrives: above, between or
/// below.
fn a_cursor_among_versions(before: &'static [u64], new: u64, up: bool) {
    model(move || {
        let tree = tree(&["j", "l"]);
        for tag in before {
            assert!(tree.insert(b"k", *tag, &[*tag as u8]));
        }
        let other = tree.clone();
        let reader = thread::spawn(move || {
            let mut iter = other.iter();
            if up {
                iter.seek(b"k", u64::MAX);
            } else {
                iter.seek_for_prev(b"k", 0);
            }
            let mut seen: Vec<u64> = Vec::new();
            loop {
                let (key, tag) = iter.key().split_last_chunk::<8>().unwrap();
                if key != b"k" {
                    assert_eq!(key, if up { b"l" } else { b"j" });
                    break;
                }
                let tag = u64::from_le_bytes(*tag);
                assert_eq!(iter.value(), [tag as u8]);
                let sorted = seen
                    .last()
                    .is_none_or(|last| if up { *last > tag } else { *last < tag });
                assert!(sorted, "{tag} after {seen:?}");
                seen.push(tag);
                if up { iter.next() } else { iter.prev() }
            }
            assert!(before.iter().all(|tag| seen.contains(tag)), "{seen:?}");
        });
        assert!(tree.insert(b"k", new, &[new as u8]));
        reader.join().unwrap();
    });
}

#[test]
fn cursors_among_versions() {
    for up in [true, false] {
        a_cursor_among_versions(&[2], 3, up);
        a_cursor_among_versions(&[2], 1, up);
        a_cursor_among_versions(&[2, 6, 4], 5, up);
        a_cursor_among_versions(&[2, 6, 4], 3, up);
        a_cursor_among_versions(&[2, 6, 4], 1, up);
        a_cursor_among_versions(&[2, 3, 4, 5], 6, up);
    }
}

/// A flush iterator beside an insert: sorted, without repetitions, and with all earlier
/// entries.
fn a_flush_iterator(before: &'static [(&'static str, u64)], new: (&'static str, u64)) {
    model(move || {
        let tree = tree(&[]);
        for (key, tag) in before {
            assert!(tree.insert(key.as_bytes(), *tag, &[*tag as u8]));
        }
        let other = tree.clone();
        let reader = thread::spawn(move || {
            let mut iter = other.flush_iter();
            iter.seek_to_first();
            let mut seen: Vec<(String, u64)> = Vec::new();
            while iter.valid() {
                let (key, tag) = iter.key().split_last_chunk::<8>().unwrap();
                let key = String::from_utf8(key.to_vec()).unwrap();
                let tag = u64::from_le_bytes(*tag);
                assert_eq!(iter.value(), [tag as u8]);
                let sorted = seen
                    .last()
                    .is_none_or(|last| last.0 < key || (last.0 == key && last.1 > tag));
                assert!(sorted, "{key} at {tag} after {seen:?}");
                seen.push((key, tag));
                iter.next();
            }
            for (key, tag) in before {
                let same = |(k, t): &(String, u64)| k == key && t == tag;
                assert!(seen.iter().any(same), "{key} at {tag} is not in {seen:?}");
            }
        });
        assert!(tree.insert(new.0.as_bytes(), new.1, &[new.1 as u8]));
        reader.join().unwrap();
    });
}

#[test]
fn flush_iterators_beside_inserts() {
    a_flush_iterator(&[("a", 1), ("c", 1)], ("b", 1));
    a_flush_iterator(&[("a", 1), ("b", 1), ("b", 2)], ("b", 3));
    a_flush_iterator(&[("a", 1), ("b", 1), ("b", 3)], ("b", 2));
}

/// Reads at a sequence number in every way, beside a version that arrives.
fn reads_at(before: &'static [u64], new: u64, sequence: u64) {
    let newest = before.iter().copied().filter(|tag| *tag <= sequence).max();
    let oldest_above = before.iter().copied().filter(|tag| *tag > sequence).min();
    model(move || {
        let tree = tree(&[]);
        for tag in before {
            assert!(tree.insert(b"k", *tag, &[*tag as u8]));
        }
        let other = tree.clone();
        let reader = thread::spawn(move || {
            // The new version is seen or not; otherwise the earlier ones are.
            let new_below = (new <= sequence).then_some(new).max(newest);
            let mut found = None;
            other.get(b"k", sequence, &mut |tag, value| {
                assert_eq!(value, [tag as u8]);
                found = Some(tag);
                false
            });
            assert!(found == newest || found == new_below, "{found:?}");
            let tag_at = |iter: &whitewater_concurrent::art::Iter| {
                let tag = || *iter.key().last_chunk::<8>().unwrap();
                iter.valid().then(|| u64::from_le_bytes(tag()))
            };
            let mut iter = other.iter();
            iter.seek(b"k", sequence);
            let found = tag_at(&iter);
            assert!(found == newest || found == new_below, "{found:?}");
            // The last entry at or before the next number: the oldest version above.
            iter.seek_for_prev(b"k", sequence + 1);
            let new_above = [oldest_above, (new > sequence).then_some(new)];
            let new_above = new_above.into_iter().flatten().min();
            let found = tag_at(&iter);
            assert!(found == oldest_above || found == new_above, "{found:?}");
        });
        assert!(tree.insert(b"k", new, &[new as u8]));
        reader.join().unwrap();
    });
}

#[test]
fn reads_at_an_old_sequence_beside_versions_anywhere() {
    for sequence in [2, 4] {
        for new in [1, 3, 5, 7] {
            reads_at(&[2, 4, 6], new, sequence);
            // Versions that arrived out of order: behind a proxy, and without jumps.
            reads_at(&[6, 2, 4], new, sequence);
        }
    }
}

/// A writer publishes a version by raising a number. A thread that has read the number
/// sees exactly the newest version up to it, whatever else arrives.
#[test]
fn a_reader_at_a_published_number() {
    use loom::sync::atomic::AtomicU64;
    for late in [1, 3] {
        model_with_preemptions(3, move || {
            let tree = tree(&[]);
            let visible = Arc::new(AtomicU64::new(0));
            let (other, number) = (tree.clone(), visible.clone());
            let reader = thread::spawn(move || {
                let at = number.load(loom::sync::atomic::Ordering::Acquire);
                let mut found = 0;
                other.get(b"k", at, &mut |tag, value| {
                    assert_eq!(value, [tag as u8]);
                    found = tag;
                    false
                });
                assert_eq!(found, if at == 2 { 2 } else { 0 });
            });
            let another = tree.clone();
            let writer = thread::spawn(move || assert!(another.insert(b"k", late, &[late as u8])));
            let prepared = tree.prepare(b"k", &[2]);
            if late == 1 {
                // Numbers are published in order.
                writer.join().unwrap();
                assert!(tree.publish(prepared, 2));
                visible.store(2, loom::sync::atomic::Ordering::Release);
            } else {
                assert!(tree.publish(prepared, 2));
                visible.store(2, loom::sync::atomic::Ordering::Release);
                writer.join().unwrap();
            }
            reader.join().unwrap();
        });
    }
}

/// An entry is prepared and published beside a reader: it is seen complete or not at all,
/// and an empty leaf is no entry.
#[test]
fn preparing_and_publishing_beside_a_reader() {
    for (before, key) in [(&["j"][..], "k"), (&["k", "l"], "k"), (&["ka", "kb"], "k")] {
        model(move || {
            let tree = tree(before);
            let other = tree.clone();
            let reader = thread::spawn(move || {
                let mut count = 0;
                let mut iter = other.iter();
                iter.seek_to_first();
                while iter.valid() {
                    let (user_key, tag) = iter.key().split_last_chunk::<8>().unwrap();
                    let expected = if u64::from_le_bytes(*tag) == 1 {
                        user_key
                    } else {
                        b"new"
                    };
                    assert_eq!(iter.value(), expected);
                    count += 1;
                    iter.next();
                }
                assert!(count == before.len() || count == before.len() + 1);
                other.get(key.as_bytes(), u64::MAX, &mut |tag, value| {
                    assert_eq!(value, if tag == 1 { key.as_bytes() } else { b"new" });
                    true
                });
            });
            let prepared = tree.prepare(key.as_bytes(), b"new");
            assert!(tree.publish(prepared, 2));
            reader.join().unwrap();
            assert_eq!(tree.check(), Ok(before.len() + 1));
        });
    }
}

/// An entry whose position was located before, beside an insert that makes the position
/// stale.
fn a_located_entry_beside(before: &'static [&'static str], key: &'static str, new: &'static str) {
    model_with_preemptions(3, move || {
        let tree = tree(before);
        let other = tree.clone();
        let writer = thread::spawn(move || assert!(insert(&other, new)));
        let hint = tree.locate(key.as_bytes());
        let prepared = tree.prepare_with_hint(hint, key.as_bytes());
        assert!(tree.publish(prepared, if key == new { 2 } else { 1 }));
        writer.join().unwrap();
        if key == new {
            let mut tags = Vec::new();
            tree.get(key.as_bytes(), u64::MAX, &mut |tag, value| {
                assert_eq!(value, key.as_bytes());
                tags.push(tag);
                true
            });
            assert_eq!(tags, [2, 1]);
            assert_eq!(tree.check(), Ok(before.len() + 2));
        } else {
            assert_all(&tree, before, &[key, new]);
        }
    });
}

#[test]
fn a_located_entry_beside_growth_splits_and_the_same_key() {
    a_located_entry_beside(&[], "a", "b"); // a root
    a_located_entry_beside(&["a", "b"], "c", "d"); // growth
    a_located_entry_beside(&["a", "ba"], "bb", "bc"); // a leaf becomes a node
    let with_room = &["prefix1", "prefix2", "prefix3", "prefix4"];
    a_located_entry_beside(with_room, "prefix5", "prex"); // a node that is replaced
    a_located_entry_beside(&["a", "b"], "ab", "ab"); // the leaf itself
}

/// A batch, whose positions were found together, beside an insert that makes them stale.
fn a_batch_beside(
    before: &'static [&'static str],
    batch: [&'static str; 2],
    new: &'static str,
    prepared: bool,
) {
    model_with_preemptions(2, move || {
        let tree = tree(before);
        let other = tree.clone();
        let writer = thread::spawn(move || {
            if prepared {
                let prepared = other.prepare(new.as_bytes(), new.as_bytes());
                assert!(other.publish(prepared, 1));
            } else {
                assert!(insert(&other, new));
            }
        });
        let entries = batch.map(|key| (key.as_bytes(), 1, key.as_bytes()));
        assert_eq!(tree.insert_batch(entries), 2);
        writer.join().unwrap();
        assert_all(&tree, before, &[batch[0], batch[1], new]);
    });
}

#[test]
fn a_batch_beside_growth_splits_and_prepared_entries() {
    for prepared in [false, true] {
        a_batch_beside(&["a", "b"], ["c", "d"], "e", prepared);
        a_batch_beside(
            &["prefix1", "prefix2"],
            ["prefix3", "prefix4"],
            "prex",
            prepared,
        );
        a_batch_beside(&["abc", "b"], ["abd", "abe"], "ab", prepared);
        a_batch_beside(&[], ["a", "b"], "c", prepared);
    }
}
