//! Power cuts at every sync of a scripted run.
//!
//! At each point where the engine makes something durable, before and after, the in-memory file
//! system is cloned as a power cut might leave it: all that is synced, and of the rest nothing,
//! some parts, or everything. Each clone must open, hold every batch that was acknowledged as
//! synced, and be a prefix of the batches in commit order over all column families. Then writing
//! goes on, and the power is cut again.

use crate::harness::points::Trap;
use crate::harness::script::{Driver, Journal, SharedJournal, reopen_and_check};
use crate::harness::{
    DIR, Db, open_all, open_named, parallel_campaign, rounds_divided_by, tiny_on, watched,
};
use parking_lot::Mutex;
use std::path::Path;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, mpsc};
use std::thread;
use whitewater::fs::mem::{MemFs, SyncPoint};
use whitewater::{
    BottommostLevelCompaction, CompactOptions, DBPath, FlushOptions, Point, SstFileWriter,
    WriteOptions,
};

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
            if !(at.index + i as u64).is_multiple_of(rounds_divided_by()) {
                continue;
            }
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
    parallel_campaign("a_power_cut_at_any_sync_leaves_a_prefix", 1, 2, |seed| {
        let cuts = watched("power cuts", 300, move || cut_everywhere(seed, 120));
        assert!(cuts * rounds_divided_by() > 100, "only {cuts} cuts");
    });
}

/// The database as a power cut leaves it that keeps only what was synced.
fn cut(fs: &MemFs) -> MemFs {
    fs.crash_clone(0.0, 0)
}

fn open(fs: &MemFs) -> Db {
    open_all(&tiny_on(fs.clone()), Path::new(DIR)).expect("opens")
}

fn synced() -> WriteOptions {
    let mut options = WriteOptions::default();
    options.set_sync(true);
    options
}

/// Those of `keys` that are in the database that was left.
fn left(fs: &MemFs, keys: &[&str]) -> Vec<String> {
    let db = open(fs);
    let mut keys: Vec<String> = keys.iter().map(|&key| key.to_owned()).collect();
    keys.retain(|key| db.get(key).expect("readable").is_some());
    keys
}

#[test]
fn a_synced_write_is_durable() {
    let fs = MemFs::new();
    let db = open(&fs);
    for n in 0..3 {
        db.put_opt(format!("key{n}"), "1", &synced())
            .expect("writes");
        let keys = &["key0", "key1", "key2"][..=n];
        assert_eq!(left(&cut(&fs), keys), keys);
    }
}

/// A database with a write in the log before the current one: its flush is held up.
fn at_a_flush() -> (MemFs, Db, Arc<Trap>) {
    let fs = MemFs::new();
    let mut options = tiny_on(fs.clone());
    let trap = Trap::set(&mut options);
    let db = open_all(&options, Path::new(DIR)).expect("opens");
    db.put("before", "1").expect("writes");
    trap.arm(Point::Flushing);
    let mut nowait = FlushOptions::default();
    nowait.set_wait(false);
    db.flush_opt(&nowait).expect("asked for");
    trap.wait();
    (fs, db, trap)
}

/// This includes writes in the log before its own, just after its own was created.
#[test]
fn a_synced_write_takes_all_before_it_along() {
    let (fs, db, trap) = at_a_flush();
    db.put_opt("synced", "1", &synced()).expect("writes");
    let cut = cut(&fs);
    trap.release();
    assert_eq!(left(&cut, &["before", "synced"]), ["before", "synced"]);
}

/// Of two logs, neither of which was synced, any part may be left. But nothing of the second counts
/// without all of the first.
#[test]
fn a_later_log_counts_only_behind_all_of_the_one_before() {
    let (fs, db, trap) = at_a_flush();
    db.put("behind", "1").expect("writes");
    let cuts: Vec<MemFs> = (0..64).map(|seed| fs.crash_clone(0.5, seed)).collect();
    trap.release();
    let mut seen = [0; 3];
    for cut in cuts {
        let left = left(&cut, &["before", "behind"]);
        assert_ne!(left, ["behind"]);
        seen[left.len()] += 1;
    }
    assert!(seen.iter().all(|&n| n > 0), "{seen:?}");
}

#[test]
fn what_was_flushed_or_compacted_is_durable() {
    let fs = MemFs::new();
    let mut options = tiny_on(fs.clone());
    options.set_disable_auto_compactions(true);
    let db = open_all(&options, Path::new(DIR)).expect("opens");
    for key in ["one", "two"] {
        db.put("each time", key).expect("writes");
        db.put(key, "1").expect("writes");
        db.flush().expect("flushes");
        assert_eq!(left(&cut(&fs), &["each time", key]), ["each time", key]);
    }
    db.compact_range(None::<&[u8]>, None::<&[u8]>);
    let all = ["each time", "one", "two"];
    assert_eq!(left(&cut(&fs), &all), all);
}

#[test]
fn tables_in_every_path_are_durable() {
    let fs = MemFs::new();
    let with_paths = |fs: &MemFs| {
        let mut options = tiny_on(fs.clone());
        options.set_disable_auto_compactions(true);
        let path = |path, size| DBPath::new(path, size).expect("a path");
        options.set_db_paths(&[path("/data/flash", 60 << 10), path("/data/disk", 0)]);
        options
    };
    let db = open_all(&with_paths(&fs), Path::new(DIR)).expect("opens");
    let all = ["one", "two", "three"];
    let has_all = |cut: MemFs, n: usize| {
        let db = open_all(&with_paths(&cut), Path::new(DIR)).expect("opens");
        let found = all
            .iter()
            .filter(|key| db.get(key).expect("readable").is_some());
        assert_eq!(found.count(), n);
    };
    let mut to = CompactOptions::default();
    to.set_bottommost_level_compaction(BottommostLevelCompaction::Force);
    for (n, key) in (1..).zip(all) {
        db.put(key, "1").expect("writes");
        db.flush().expect("flushes");
        has_all(cut(&fs), n);
        to.set_target_path_id(n as u32 % 2);
        db.try_compact_range_opt(None::<&[u8]>, None::<&[u8]>, &to)
            .expect("compacts");
        has_all(cut(&fs), n);
    }
}

/// A table of one column family is newer than what is in the log for another.
#[test]
fn a_flush_makes_what_others_wrote_before_durable() {
    let fs = MemFs::new();
    let names = ["default", "one"].map(str::to_owned);
    let db = open_named(&tiny_on(fs.clone()), Path::new(DIR), &names).expect("opens");
    let one = db.cf_handle("one").expect("opened");
    db.put("before", "1").expect("writes");
    db.put_cf(&one, "flushed", "1").expect("writes");
    db.flush_cf(&one).expect("flushes");
    let cut = open(&cut(&fs));
    let one = cut.cf_handle("one").expect("opened");
    assert!(cut.get_cf(&one, "flushed").expect("readable").is_some());
    assert!(cut.get("before").expect("readable").is_some());
}

/// So is a table that is ingested.
#[test]
fn an_ingestion_makes_what_was_written_before_durable() {
    let fs = MemFs::new();
    let mut options = tiny_on(fs.clone());
    let trap = Trap::set(&mut options);
    let db = open_all(&options, Path::new(DIR)).expect("opens");
    let path = Path::new("/data/outside.sst");
    let mut writer = SstFileWriter::create(&options);
    writer.open(path).expect("created");
    writer.put("ingested", "1").expect("written");
    writer.finish().expect("written");
    db.put("before", "1").expect("writes");
    // The memtable was switched and is to be flushed, but not before the cut.
    trap.arm(Point::Flushing);
    db.ingest_external_file(vec![path]).expect("ingests");
    let cut = cut(&fs);
    trap.release();
    let keys = ["before", "ingested"];
    assert_eq!(left(&cut, &keys), keys);
}

#[test]
fn column_families_come_and_go_durably() {
    let fs = MemFs::new();
    let db = open(&fs);
    db.create_cf("new", &tiny_on(fs.clone())).expect("created");
    assert!(open(&cut(&fs)).cf_handle("new").is_some());
    db.drop_cf("new").expect("dropped");
    assert!(open(&cut(&fs)).cf_handle("new").is_none());
}

/// Opening begins a new manifest, and deletes logs that the old one needs.
#[test]
fn a_new_manifest_is_in_force_before_what_it_does_not_need_is_gone() {
    let fs = MemFs::new();
    let open = |fs: &MemFs| {
        let mut options = tiny_on(fs.clone());
        // A directory of its own is synced separately.
        options.set_wal_dir("/data/logs");
        open_all(&options, Path::new(DIR)).expect("opens")
    };
    let db = open(&fs);
    db.put_opt("kept", "1", &synced()).expect("writes");
    drop(db);
    let db = open(&fs);
    db.put_opt("more", "1", &synced()).expect("writes");
    let cut = open(&cut(&fs));
    for key in ["kept", "more"] {
        assert!(cut.get(key).expect("readable").is_some(), "{key}");
    }
}

/// Names that were not synced may be lost, too.
#[test]
fn an_opening_can_be_cut_at_any_sync() {
    let fs = MemFs::new();
    let db = open(&fs);
    db.put_opt("kept", "1", &synced()).expect("writes");
    drop(db);
    let cuts = Arc::new(Mutex::new(Vec::new()));
    let (taken, cloned) = (cuts.clone(), fs.clone());
    fs.set_sync_hook(Arc::new(move |at| {
        let seeds = (0..12).map(|seed| at.index * 100 + seed);
        let clones = seeds.map(|seed| (at.clone(), cloned.crash_clone(0.5, seed)));
        taken.lock().extend(clones);
    }));
    drop(open(&fs));
    fs.clear_sync_hook();
    let cuts = std::mem::take(&mut *cuts.lock());
    for (at, cut) in cuts {
        let opened = open_all(&tiny_on(cut), Path::new(DIR));
        let db = opened.unwrap_or_else(|e| panic!("cut at {at:?}: {e}"));
        assert!(db.get("kept").expect("readable").is_some(), "cut at {at:?}");
    }
}
