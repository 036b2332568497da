//! Power cuts at every sync of parallel writers.
//!
//! At each point where the engine makes something durable, before and after, the file system is
//! cloned as a power cut might leave it. Each clone must open and hold a prefix of all batches in
//! commit order. If a synced write has been acknowledged, the prefix has at least what was
//! acknowledged when that write began. Some clones are written to and cut again.

use super::{open, options};
use crate::harness::parallel::{batch, check, order, progress};
use crate::harness::points::shake;
use crate::harness::{campaign, protocols, watched};
use parking_lot::Mutex;
use rand::rngs::StdRng;
use rand::{Rng, SeedableRng};
use std::sync::{Arc, mpsc};
use std::thread;
use whitewater::fs::mem::{MemFs, SyncPoint};
use whitewater::{CommitProtocol, Options, WriteOptions};

const WRITERS: usize = 6;
/// Batches of each writer. All of them are in one list.
const WRITES: u64 = 30;

/// The number of batches of each writer.
#[derive(Clone, Default)]
struct Counts {
    issued: [u64; WRITERS],
    acked: [u64; WRITERS],
    durable: [u64; WRITERS],
}

struct Cut {
    fs: MemFs,
    at: SyncPoint,
    keep: f64,
    /// From before and from after the cut.
    least: [u64; WRITERS],
    most: [u64; WRITERS],
}

impl Cut {
    fn take(fs: &MemFs, at: &SyncPoint, keep: f64, seed: u64, counts: &Mutex<Counts>) -> Cut {
        let before = counts.lock().clone();
        let fs = fs.crash_clone(keep, seed);
        let most = counts.lock().issued;
        Cut {
            fs,
            at: at.clone(),
            keep,
            // If everything is kept, only the process died.
            least: if keep == 1.0 {
                before.acked
            } else {
                before.durable
            },
            most,
        }
    }

    /// Opens what is left. Returns the batches found and their order.
    fn check(&self, options: &Options) -> Result<(Vec<u64>, String), String> {
        let (at, keep) = (&self.at, self.keep);
        let fail = |e: String| format!("{at:?}, keep {keep}: {e}");
        let mut options = options.clone();
        options.set_fs(Arc::new(self.fs.clone()));
        let db = open(&options);
        let found = check(&db, &self.least).map_err(fail)?;
        if found.iter().zip(&self.most).any(|(f, most)| f > most) {
            return Err(fail(format!("{found:?}, {:?} were issued", self.most)));
        }
        Ok((found, order(&db)))
    }
}

/// Whether `list` is a prefix of `whole`.
fn is_prefix(list: &str, whole: &str) -> bool {
    let rest = whole.strip_prefix(list);
    rest.is_some_and(|rest| list.is_empty() || rest.is_empty() || rest.starts_with(','))
}

/// All writers' batches, up to number `last` of each.
fn write_all(options: &Options, counts: &Mutex<Counts>, seed: u64, last: u64, sync: f64) -> String {
    let db = &open(options);
    let first = progress(db, WRITERS);
    thread::scope(|scope| {
        for (w, first) in first.iter().enumerate() {
            scope.spawn(move || {
                let mut rng = StdRng::seed_from_u64(seed ^ ((w as u64) << 40));
                for n in first + 1..=last {
                    let synced = rng.random_bool(sync);
                    let mut options = WriteOptions::default();
                    options.set_sync(synced);
                    let acked = {
                        let mut counts = counts.lock();
                        counts.issued[w] = n;
                        counts.acked
                    };
                    db.write_opt(batch(db, w, n), &options).expect("writes");
                    let mut counts = counts.lock();
                    counts.acked[w] = n;
                    if synced {
                        for (durable, acked) in counts.durable.iter_mut().zip(acked) {
                            *durable = (*durable).max(acked);
                        }
                        counts.durable[w] = n;
                    }
                }
            });
        }
        scope.spawn(move || {
            let one = db.cf_handle("one").expect("opened");
            for n in 0..6 {
                match n % 3 {
                    0 => db.flush_cf(&one).expect("flushes"),
                    1 => db.flush_wal(true).expect("syncs"),
                    _ => db.flush().expect("flushes"),
                }
            }
        });
    });
    order(db)
}

#[test]
fn a_power_cut_among_parallel_writers_leaves_a_prefix() {
    const TEST: &str = "a_power_cut_among_parallel_writers_leaves_a_prefix";
    campaign(TEST, 1, 3, |seed| {
        for protocol in protocols() {
            let cuts = watched(TEST, 300, move || cut_everywhere(protocol, seed));
            println!("{protocol}, seed {seed}: {cuts} cuts");
            assert!(cuts > 50, "only {cuts} cuts");
        }
    });
}

fn cut_everywhere(protocol: CommitProtocol, seed: u64) -> usize {
    let fs = MemFs::new();
    let mut options = options(protocol, fs.clone());
    options.set_recycle_log_file_num([0, 2][(seed % 2) as usize]);
    let calm = options.clone();
    shake(&mut options, seed, 16);
    drop(open(&options));
    let counts = Arc::new(Mutex::new(Counts::default()));
    let (send, receive) = mpsc::sync_channel::<Cut>(8);
    let (hooked, seen) = (fs.clone(), counts.clone());
    fs.set_sync_hook(Arc::new(move |at| {
        let salt = seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) ^ (at.index * 8 + u64::from(at.done));
        let keeps = [0.0, 0.5, 0.9, 1.0];
        for (keep, salt) in keeps.into_iter().zip(salt..) {
            // If the checker is gone, it has panicked, which is reported.
            let _ = send.send(Cut::take(&hooked, &at, keep, salt, &seen));
        }
    }));
    let checked_options = calm.clone();
    let checker = thread::spawn(move || {
        let mut found = Vec::new();
        for (i, cut) in receive.into_iter().enumerate() {
            let checked = cut.check(&checked_options);
            let again = i % 13 == 0 && checked.is_ok();
            found.push(checked.map(|(_, order)| order));
            if again {
                let again = cut_again(&checked_options, &cut, seed);
                found.push(again.map(|()| String::new()));
            }
        }
        found
    });
    let sync = [0.1, 0.5][(seed / 2 % 2) as usize];
    let whole = write_all(&options, &counts, seed, WRITES, sync);
    // Dropping the hook ends the checker.
    fs.clear_sync_hook();
    let found = checker.join().expect("the checker does not panic");
    let cuts = found.len();
    for found in found {
        let list = found.unwrap_or_else(|e| panic!("{protocol}, seed {seed}: {e}"));
        assert!(
            is_prefix(&list, &whole),
            "{protocol}, seed {seed}: not a prefix of all batches: {list}"
        );
    }
    cuts
}

/// Continues to write where the power was cut, and cuts again.
fn cut_again(options: &Options, cut: &Cut, seed: u64) -> Result<(), String> {
    let mut options = options.clone();
    options.set_fs(Arc::new(cut.fs.clone()));
    let first = progress(&open(&options), WRITERS);
    let first: [u64; WRITERS] = first.try_into().expect("of all writers");
    let counts = Mutex::new(Counts {
        issued: first,
        acked: first,
        durable: first,
    });
    let last = first.iter().max().expect("writers") + 4;
    let whole = write_all(&options, &counts, seed, last.min(WRITES), 0.2);
    for keep in [0.0, 0.5, 1.0] {
        let again = Cut::take(&cut.fs, &cut.at, keep, seed, &counts);
        let (_, list) = again.check(&options).map_err(|e| format!("again: {e}"))?;
        if !is_prefix(&list, &whole) {
            return Err(format!("again, keep {keep}: not a prefix: {list}"));
        }
    }
    Ok(())
}
