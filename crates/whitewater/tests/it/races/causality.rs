//! An acknowledged write is seen by its writer, by any thread that learns of it, and by snapshots
//! taken afterwards.

use super::{open, options};
use crate::harness::points::shake;
use crate::harness::{campaign, protocols, watched};
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::thread;
use whitewater::CommitProtocol;
use whitewater::fs::mem::MemFs;

const PAIRS: u64 = 4;

/// The number of writes of all pairs together in a round, with each protocol.
const WRITES: u64 = 100_000;

#[test]
fn what_was_told_is_seen() {
    campaign("what_was_told_is_seen", 1, 1, |seed| {
        for protocol in protocols() {
            watched("causality", 300, move || tell(protocol, seed));
        }
    });
}

fn tell(protocol: CommitProtocol, seed: u64) {
    let mut options = options(protocol, MemFs::new());
    options.set_write_buffer_size(1 << 20);
    shake(&mut options, seed, 256);
    let db = &open(&options);
    let heard = &AtomicU64::new(0);
    let number = |bytes: Vec<u8>| u64::from_be_bytes(bytes.try_into().expect("eight bytes"));
    thread::scope(|scope| {
        for w in 0..PAIRS {
            let told: &(AtomicU64, AtomicBool) = Box::leak(Box::default());
            let (told, ended) = (&told.0, &told.1);
            let key = move |n: u64| format!("{w}-{}", n % 32);
            scope.spawn(move || {
                for n in 1..=WRITES / PAIRS {
                    db.put(key(n), n.to_be_bytes()).expect("writes");
                    // Release: pairs with the reader's load, which then must
                    // see the write.
                    told.store(n, Ordering::Release);
                    let seen = match n % 4 {
                        0 => db.snapshot().get(key(n)),
                        _ => db.get(key(n)),
                    };
                    let seen = seen.expect("readable").map(number);
                    assert_eq!(seen, Some(n), "own write");
                }
                ended.store(true, Ordering::Release);
            });
            scope.spawn(move || {
                while !ended.load(Ordering::Acquire) {
                    let n = told.load(Ordering::Acquire);
                    if n == 0 {
                        thread::yield_now();
                        continue;
                    }
                    let seen = match n % 4 {
                        1 => db.snapshot().get(key(n)),
                        _ => db.get(key(n)),
                    };
                    let seen = seen.expect("readable").map(number);
                    assert!(seen >= Some(n), "{protocol}: told {n}, seen {seen:?}");
                    heard.fetch_add(1, Ordering::Relaxed);
                    thread::yield_now();
                }
            });
        }
    });
    assert_eq!(db.latest_sequence_number(), WRITES);
    let heard = heard.load(Ordering::Relaxed);
    assert!(heard > 0, "nobody heard anything");
    println!("{protocol}: {WRITES} writes, {heard} reads of what was told");
}
