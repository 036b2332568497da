//! Flushes and compactions between a prepare and its decision, and readers that go on over them.

use super::recovery::get;
use super::{PROTOCOLS, await_purges, commit, open_two, options, prepare, roll_back};
use crate::DB;
use whitewater_storage::fs::mem::MemFs;

/// The keys of the tests.
const KEYS: [&str; 4] = ["a1", "a2", "b1", "b2"];

/// Takes everything to the last level, so that no memtable has anything.
fn compact(db: &DB) {
    db.flush().unwrap();
    db.compact_range(None::<&[u8]>, None::<&[u8]>);
    await_purges(db.engine());
}

fn values(db: &DB) -> [String; 4] {
    KEYS.map(|key| get(db, key).unwrap_or_default())
}

/// Race 20: what is prepared is in no table and hides nothing, before the decision and after.
#[test]
fn what_is_undecided_hides_nothing_in_flushes_and_compactions() {
    for protocol in PROTOCOLS {
        let fs = MemFs::new();
        let db = open_two(&options(&fs, protocol));
        let old = || KEYS.map(|_| "old".to_owned());
        KEYS.iter().for_each(|key| db.put(key, "old").unwrap());
        let a = prepare(db.engine(), "a", &["a1", "a2"]);
        let b = prepare(db.engine(), "b", &["b1", "b2"]);
        compact(&db);
        assert_eq!(values(&db), old(), "{protocol}");
        let before = db.snapshot();
        commit(db.engine(), &a);
        roll_back(db.engine(), &b);
        for _ in 0..2 {
            assert_eq!(values(&db), ["a1", "a2", "old", "old"], "{protocol}");
            let seen = KEYS.map(|key| before.get(key).unwrap());
            assert!(seen.iter().all(|v| v.as_deref() == Some(b"old")));
            compact(&db);
        }
        // The bottom has one version of each once nobody reads the older ones.
        drop(before);
        compact(&db);
        assert_eq!(values(&db), ["a1", "a2", "old", "old"], "{protocol}");
    }
}

/// Race 22: an iterator shows what was committed when it was made, while a commit goes on, and
/// when the memtables that it reads are given up by everybody else.
#[test]
fn an_iterator_outlives_a_commit_and_its_memtable() {
    for protocol in PROTOCOLS {
        let fs = MemFs::new();
        let db = open_two(&options(&fs, protocol));
        KEYS.iter().for_each(|key| db.put(key, "old").unwrap());
        let a = prepare(db.engine(), "a", &["a1", "b1", "c"]);
        let mut before = db.raw_iterator();
        before.seek_to_first();
        assert_eq!(before.key(), Some(&b"a1"[..]));
        commit(db.engine(), &a);
        let mut after = db.raw_iterator();
        after.seek_to_last();
        assert_eq!(after.key(), Some(&b"c"[..]));
        compact(&db);
        for key in KEYS {
            assert_eq!(before.key(), Some(key.as_bytes()), "{protocol}");
            assert_eq!(before.value(), Some(&b"old"[..]), "{protocol}");
            before.next();
        }
        assert!(!before.valid());
        before.status().unwrap();
        before.seek_to_last();
        assert_eq!(before.key(), Some(&b"b2"[..]), "{protocol}");
        after.prev();
        after.prev();
        assert_eq!(after.key(), Some(&b"b1"[..]), "{protocol}");
        assert_eq!(after.value(), Some(&b"b1"[..]), "{protocol}");
    }
}
