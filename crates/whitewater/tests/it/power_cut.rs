//! Power cuts at every sync of a scripted run.
//!
//! At each point where the engine makes something durable, before and after,
//! the in-memory file system is cloned as a power cut might leave it: all that
//! is synced, and of the rest nothing, some parts, or everything. Each clone
//! must open, hold every batch that was acknowledged as synced, and be a prefix
//! of the batches in commit order over all column families. Then writing goes
//! on, and the power is cut again.

use crate::harness::script::{Driver, Journal, SharedJournal, reopen_and_check};
use crate::harness::{campaign, watched};
use parking_lot::Mutex;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, mpsc};
use std::thread;
use whitewater::fs::mem::{MemFs, SyncPoint};

/// What a cut left, and what may be expected of it.
struct Cut {
    fs: MemFs,
    at: SyncPoint,
    keep: f64,
    before: Journal,
    after: Journal,
    seed: u64,
}

impl Cut {
    fn take(fs: &MemFs, at: &SyncPoint, keep: f64, seed: u64, journal: &SharedJournal) -> Cut {
        let before = journal.lock().clone();
        let fs = fs.crash_clone(keep, seed);
        let after = journal.lock().clone();
        Cut {
            fs,
            at: at.clone(),
            keep,
            before,
            after,
            seed,
        }
    }

    /// Batches that must have survived.
    fn least(&self) -> usize {
        if self.keep == 1.0 {
            // Only the process died.
            self.before.acked
        } else {
            self.before.durable
        }
    }

    fn describe(&self) -> String {
        format!(
            "cut at sync {} of {} (done: {}), keep {}, clone seed {}",
            self.at.index,
            self.at.path.display(),
            self.at.done,
            self.keep,
            self.seed
        )
    }

    /// Checks the clone, then writes on and cuts again.
    fn check(self, again: bool) -> Result<(), String> {
        let what = self.describe();
        let fail = |e: String| format!("{what}: {e}");
        if again {
            self.cut_recovery().map_err(fail)?;
        }
        let (db, names, n) = reopen_and_check(
            Arc::new(self.fs.clone()),
            &self.before,
            &self.after,
            self.least(),
        )
        .map_err(fail)?;
        drop(db);
        if !again {
            return Ok(());
        }
        let mut journal = self.after.clone();
        journal.continue_from(n, &names);
        let journal = Arc::new(Mutex::new(journal));
        let mut driver = Driver::new(Arc::new(self.fs.clone()), journal.clone(), self.seed);
        if driver.open() {
            for _ in 0..8 {
                driver.write();
            }
        }
        if let Some((what, e)) = driver.errors.first() {
            return Err(fail(format!("going on, {what}: {e}")));
        }
        for keep in [0.0, 0.5, 1.0] {
            let second = Cut::take(&self.fs, &self.at, keep, self.seed, &journal);
            let least = second.least();
            reopen_and_check(Arc::new(second.fs), &second.before, &second.after, least)
                .map_err(|e| fail(format!("second cut, keep {keep}: {e}")))?;
        }
        Ok(())
    }

    /// Cuts the power at every sync of the recovery from this cut.
    fn cut_recovery(&self) -> Result<(), String> {
        let fs = self.fs.crash_clone(1.0, 0);
        let cuts = Arc::new(Mutex::new(Vec::new()));
        let (seen, cloned, seed) = (cuts.clone(), fs.clone(), self.seed);
        fs.set_sync_hook(Arc::new(move |at| {
            let keep = [0.0, 0.5, 1.0][(at.index + u64::from(at.done)) as usize % 3];
            seen.lock().push(cloned.crash_clone(keep, seed ^ at.index));
        }));
        let first = reopen_and_check(
            Arc::new(fs.clone()),
            &self.before,
            &self.after,
            self.least(),
        );
        fs.clear_sync_hook();
        drop(first?);
        let cuts = std::mem::take(&mut *cuts.lock());
        for (i, fs) in cuts.into_iter().enumerate() {
            reopen_and_check(Arc::new(fs), &self.before, &self.after, self.least())
                .map_err(|e| format!("cut during recovery, point {i}: {e}"))?;
        }
        Ok(())
    }
}

/// Runs a script and checks cuts at its syncs. Returns their number.
fn cut_everywhere(seed: u64, length: usize) -> u64 {
    let fs = MemFs::new();
    let journal = SharedJournal::default();
    let (send, receive) = mpsc::sync_channel::<Cut>(8);
    let count = Arc::new(AtomicU64::new(0));
    let (hooked, seen, counted) = (fs.clone(), journal.clone(), count.clone());
    fs.set_sync_hook(Arc::new(move |at| {
        let salt = seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) ^ (at.index * 8 + u64::from(at.done));
        for (i, keep) in [0.0, 0.5, 0.5, 0.9, 1.0].into_iter().enumerate() {
            counted.fetch_add(1, Ordering::Relaxed);
            let cut = Cut::take(
                &hooked,
                &at,
                keep,
                salt.wrapping_add(i as u64 * 1_000),
                &seen,
            );
            // The checker is gone only if it has panicked, which is reported.
            let _ = send.send(cut);
        }
    }));
    let checker = thread::spawn(move || {
        let mut failures = Vec::new();
        for (i, cut) in receive.into_iter().enumerate() {
            if let Err(e) = cut.check(i % 11 == 0) {
                failures.push(e);
            }
        }
        failures
    });
    let mut driver = Driver::new(Arc::new(fs.clone()), journal, seed);
    driver.run(length);
    let errors: Vec<String> = driver
        .errors
        .iter()
        .map(|(w, e)| format!("{w}: {e}"))
        .collect();
    let visible = driver.check_visible();
    driver.close();
    // Dropping the hook ends the checker.
    fs.clear_sync_hook();
    let failures = checker.join().expect("the checker does not panic");
    assert!(errors.is_empty(), "seed {seed}: {errors:?}");
    assert_eq!(visible, Ok(()), "seed {seed}");
    assert!(
        failures.is_empty(),
        "seed {seed}: {} of {} cuts failed, the first:\n{}",
        failures.len(),
        count.load(Ordering::Relaxed),
        failures[..failures.len().min(8)].join("\n")
    );
    count.load(Ordering::Relaxed)
}

#[test]
fn a_power_cut_at_any_sync_leaves_a_prefix() {
    campaign("a_power_cut_at_any_sync_leaves_a_prefix", 1, 4, |seed| {
        let cuts = watched("power cuts", 300, move || cut_everywhere(seed, 120));
        assert!(cuts > 100, "only {cuts} cuts");
    });
}
