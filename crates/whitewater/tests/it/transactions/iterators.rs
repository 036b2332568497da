//! Iterators over the database with a transaction's writes.

use super::{Txn, open, open_with, options, with_snapshot};
use whitewater::{Direction, IteratorMode, PrefixRange, ReadOptions, SliceTransform};

/// The keys and values that an iterator shows, as text.
fn entries<'a, D: whitewater::DBAccess>(
    iterator: whitewater::DBIteratorWithThreadMode<'a, D>,
) -> String {
    let entry = |e: Result<_, _>| {
        let (k, v): (Box<[u8]>, Box<[u8]>) = e.unwrap();
        format!("{}={}", k.escape_ascii(), v.escape_ascii())
    };
    iterator.map(entry).collect::<Vec<_>>().join(" ")
}

fn all(txn: &Txn<'_>) -> String {
    entries(txn.iterator(IteratorMode::Start))
}

#[test]
fn an_iterator_shows_the_writes_before_it_and_none_after() {
    let db = open();
    db.put("a", "db").unwrap();
    db.put("c", "db").unwrap();
    let txn = db.transaction();
    txn.put("b", "1").unwrap();
    let before = txn.iterator(IteratorMode::Start);
    txn.put("b", "2").unwrap();
    txn.put("d", "2").unwrap();
    txn.delete("c").unwrap();
    assert_eq!(entries(before), "a=db b=1 c=db");
    assert_eq!(all(&txn), "a=db b=2 d=2");
    // One lives on after the batch is gone.
    let of_batch = txn.iterator(IteratorMode::Start);
    txn.rollback().unwrap();
    assert_eq!(entries(of_batch), "a=db b=2 d=2");
    assert_eq!(all(&txn), "a=db c=db");
}

#[test]
fn iterators_go_both_ways_from_everywhere() {
    let db = open();
    for key in ["b", "d", "f"] {
        db.put(key, "db").unwrap();
    }
    let txn = db.transaction();
    for key in ["a", "d", "e"] {
        txn.put(key, "own").unwrap();
    }
    txn.delete("f").unwrap();
    txn.merge("b", "m").unwrap();
    assert_eq!(all(&txn), "a=own b=db,m d=own e=own");
    let reverse = txn.iterator(IteratorMode::End);
    assert_eq!(entries(reverse), "e=own d=own b=db,m a=own");
    let from = |key, direction| entries(txn.iterator(IteratorMode::From(key, direction)));
    assert_eq!(from(b"c", Direction::Forward), "d=own e=own");
    assert_eq!(from(b"c", Direction::Reverse), "b=db,m a=own");
    assert_eq!(from(b"f", Direction::Reverse), "e=own d=own b=db,m a=own");
    assert_eq!(from(b"f", Direction::Forward), "");
    let mut raw = txn.raw_iterator();
    raw.seek("d");
    raw.prev();
    assert_eq!(raw.item(), Some((&b"b"[..], &b"db,m"[..])));
    raw.next();
    raw.next();
    assert_eq!(raw.key(), Some(&b"e"[..]));
    raw.next();
    assert!(!raw.valid() && raw.status().is_ok());
    assert_eq!(entries(db.iterator(IteratorMode::Start)), "b=db d=db f=db");
}

#[test]
fn bounds_hold_for_own_writes_too() {
    let db = open();
    for key in ["a1", "b1", "c1"] {
        db.put(key, "db").unwrap();
    }
    let txn = db.transaction();
    for key in ["a2", "b2", "c2"] {
        txn.put(key, "own").unwrap();
    }
    let range = || {
        let mut o = ReadOptions::default();
        o.set_iterate_range(PrefixRange("b"));
        o
    };
    let forward = txn.iterator_opt(IteratorMode::Start, range());
    assert_eq!(entries(forward), "b1=db b2=own");
    let backward = txn.iterator_opt(IteratorMode::End, range());
    assert_eq!(entries(backward), "b2=own b1=db");
    let from = IteratorMode::From(b"c2", Direction::Reverse);
    assert_eq!(entries(txn.iterator_opt(from, range())), "b2=own b1=db");
    // RocksDB's TestUpperBoundUponDeletion: a deletion at the bound is not passed.
    txn.delete("b2").unwrap();
    txn.delete("c1").unwrap();
    let forward = txn.iterator_opt(IteratorMode::Start, range());
    assert_eq!(entries(forward), "b1=db");
}

#[test]
fn prefixes_hold_for_own_writes_too() {
    let mut o = options();
    o.set_prefix_extractor(SliceTransform::create_fixed_prefix(1));
    let db = open_with(&o);
    for key in ["a1", "b1", "c1"] {
        db.put(key, "db").unwrap();
    }
    let txn = db.transaction();
    for key in ["a2", "b0", "b2", "c0"] {
        txn.put(key, "own").unwrap();
    }
    assert_eq!(entries(txn.prefix_iterator("b")), "b0=own b1=db b2=own");
    assert_eq!(entries(txn.prefix_iterator("d")), "");
    let full = entries(txn.full_iterator(IteratorMode::From(b"b2", Direction::Forward)));
    assert_eq!(full, "b2=own c0=own c1=db");
}

#[test]
fn an_iterator_at_a_snapshot_shows_its_state_with_own_writes() {
    let db = open();
    db.put("a", "0").unwrap();
    let txn = with_snapshot(&db);
    db.put("a", "1").unwrap();
    db.put("b", "1").unwrap();
    txn.put("own", "1").unwrap();
    let snapshot = txn.snapshot();
    let at_snapshot = entries(snapshot.iterator(IteratorMode::Start));
    assert_eq!(at_snapshot, "a=0 own=1");
    assert_eq!(all(&txn), "a=1 b=1 own=1");
    let mut raw = snapshot.raw_iterator();
    raw.seek_to_last();
    assert_eq!(raw.key(), Some(&b"own"[..]));
}

#[test]
fn a_refreshed_iterator_sees_later_writes_of_both() {
    let db = open();
    db.put("a", "0").unwrap();
    let txn = db.transaction();
    let mut raw = txn.raw_iterator();
    raw.seek_to_first();
    txn.put("b", "own").unwrap();
    db.put("c", "1").unwrap();
    raw.next();
    assert!(!raw.valid());
    raw.refresh().unwrap();
    raw.seek_to_first();
    let mut seen = Vec::new();
    while let Some(key) = raw.key() {
        seen.push(String::from_utf8(key.to_vec()).unwrap());
        raw.next();
    }
    raw.status().unwrap();
    assert_eq!(seen, ["a", "b", "c"]);
}

with_write_prepared!(
    an_iterator_shows_the_writes_before_it_and_none_after,
    iterators_go_both_ways_from_everywhere,
    bounds_hold_for_own_writes_too,
    prefixes_hold_for_own_writes_too,
    an_iterator_at_a_snapshot_shows_its_state_with_own_writes,
    a_refreshed_iterator_sees_later_writes_of_both,
);
