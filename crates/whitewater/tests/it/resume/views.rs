//! What was pinned before a failure never shows anything of it.

use super::{FAMILIES, PROTOCOLS, Told, batches, open, options, rule};
use crate::harness::points::shake;
use crate::harness::{Db, watched};
use std::collections::BTreeSet;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use whitewater::fs::fault::{Fault, FaultFs, FaultOp};
use whitewater::fs::mem::MemFs;
use whitewater::{CommitProtocol, DBRawIteratorWithThreadMode as DBRawIterator};

/// Views from before a resumption do not show failed writes after it.
#[test]
fn old_views_and_snapshots_keep_to_what_they_saw() {
    let faulty = FaultFs::new(Arc::new(MemFs::new()));
    let db = open(&options(Arc::new(faulty.clone()), CommitProtocol::Ordered));
    let told = Told::default();
    for _ in 0..10 {
        told.write(&db, false).unwrap();
    }
    faulty.add_rule(rule(FaultOp::Append, ".log", 50, Fault::Eio, false));
    told.storm(&db, |_, _| false);
    let acked = told.acked.lock().unwrap().clone();
    let snapshot = db.snapshot();
    let mut it = db.raw_iterator();
    it.seek_to_first();
    db.resume().unwrap();
    for _ in 0..100 {
        told.write(&db, false).unwrap();
    }
    db.flush().unwrap();
    db.compact_range(None::<&[u8]>, None::<&[u8]>);
    let mut found = BTreeSet::new();
    while it.valid() {
        found.insert(u64::from_be_bytes(it.key().unwrap().try_into().unwrap()));
        it.next();
    }
    assert_eq!(found, acked);
    let keys = snapshot.iterator(whitewater::IteratorMode::Start);
    let seen: BTreeSet<u64> = keys
        .map(|kv| u64::from_be_bytes((*kv.unwrap().0).try_into().unwrap()))
        .collect();
    assert_eq!(seen, acked);
}

/// What a reader saw, and what had been acknowledged before it looked.
struct Seen {
    before: BTreeSet<u64>,
    found: BTreeSet<u64>,
}

/// The batches that an iterator shows from its position on.
fn rest(it: &mut DBRawIterator<'_, Db>) -> BTreeSet<u64> {
    let mut found = BTreeSet::new();
    while it.valid() {
        found.insert(u64::from_be_bytes(it.key().unwrap().try_into().unwrap()));
        it.next();
    }
    it.status().unwrap();
    found
}

/// Readers pin views all the time while writes fail, are hidden and given up, and later writes take
/// higher numbers. Some use their views only then. No view shows a failed write or lacks an earlier
/// one.
#[test]
fn no_view_from_before_a_failure_shows_it_later() {
    for protocol in PROTOCOLS {
        // Half an unordered batch may be seen while it is written.
        let whole = protocol != CommitProtocol::Unordered;
        for seed in 0..3 {
            watched("views", 120, move || views(protocol, seed, whole));
        }
    }
}

fn views(protocol: CommitProtocol, seed: u64, whole: bool) {
    const ROUNDS: u64 = 5;
    let what = format!("{protocol}, seed {seed}");
    let faulty = FaultFs::new(Arc::new(MemFs::new()));
    let mut options = options(Arc::new(faulty.clone()), protocol);
    shake(&mut options, seed, 16);
    let db = &open(&options);
    let told = &Told::default();
    let over = &AtomicBool::new(false);
    let looks: Vec<Seen> = std::thread::scope(|scope| {
        let acked = || told.acked.lock().unwrap().clone();
        let reader = move |n: u64| {
            let mut seen = Vec::new();
            let mut held = Vec::new();
            while !over.load(Ordering::SeqCst) {
                let before = acked();
                match n {
                    // Kept for later, each over one of the families.
                    0 | 1 if held.len() < 60 => {
                        let family = FAMILIES[held.len() % 3];
                        let cf = db.cf_handle(family).unwrap();
                        let mut it = db.raw_iterator_cf(&cf);
                        it.seek_to_first();
                        let snapshot = (n == 1).then(|| db.snapshot());
                        held.push((before, it, snapshot));
                    }
                    2 if whole => {
                        let found = batches(db);
                        seen.push(Seen { before, found });
                    }
                    // The newest ones, failed or not: pinned, then looked for.
                    _ => {
                        let next = told.next.load(Ordering::Relaxed);
                        let newest = next.saturating_sub(20)..next;
                        let before = newest.clone().filter(|n| before.contains(n)).collect();
                        let found = newest.filter(|n| db.get(n.to_be_bytes()).unwrap().is_some());
                        let found = found.collect();
                        seen.push(Seen { before, found });
                    }
                }
            }
            for (before, mut it, snapshot) in held {
                if let Some(snapshot) = snapshot {
                    let mut later = snapshot.raw_iterator();
                    later.seek_to_first();
                    let found = rest(&mut later);
                    let before = before.clone();
                    seen.push(Seen { before, found });
                }
                let found = rest(&mut it);
                seen.push(Seen { before, found });
            }
            seen
        };
        let readers: Vec<_> = (0..4).map(|n| scope.spawn(move || reader(n))).collect();
        for round in 0..ROUNDS {
            let n = 20 + (seed * 41 + round * 67) % 150;
            faulty.add_rule(rule(FaultOp::Append, ".log", n, Fault::Eio, true));
            told.storm(db, |_, _| false);
            faulty.clear_rules();
            db.resume().unwrap_or_else(|e| panic!("{what}: {e}"));
            for _ in 0..50 {
                told.write(db, false).unwrap();
            }
        }
        over.store(true, Ordering::SeqCst);
        let looks = readers.into_iter().map(|r| r.join().unwrap());
        looks.flatten().collect()
    });
    let failed = told.failed.lock().unwrap();
    assert!(failed.len() as u64 >= ROUNDS, "{what}");
    assert!(looks.len() > 100, "{what}: {} looks", looks.len());
    for Seen { before, found } in &looks {
        let ghosts: Vec<_> = found.intersection(&failed).collect();
        assert!(ghosts.is_empty(), "{what}: failed {ghosts:?} are seen");
        let lost: Vec<_> = before.difference(found).collect();
        assert!(lost.is_empty(), "{what}: {lost:?} are not seen");
    }
    told.check(db, &what);
}
