//! Damaged files.
//!
//! Small databases are closed, and one file is cut, flipped, zeroed, swapped or removed. Then they
//! are opened and read. The result is an error of kind Corruption that names the file, or what
//! recovery documents (a log cut at its damage: a prefix of the batches). It is never a panic, a
//! hang or a wrong value.

use crate::harness::walk::{Content, collect};
use crate::harness::{DIR, Db, campaign, open_named, tiny, watched};
use rand::rngs::StdRng;
use rand::{Rng, SeedableRng};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use whitewater::fs::{Fs, mem::MemFs, read_file};
use whitewater::{
    BlockBasedOptions, ChecksumType, DBCompressionType, DBRecoveryMode, Error, ErrorKind, Options,
    WriteBatch,
};

const FAMILIES: [&str; 2] = ["default", "one"];

/// What is done to a file.
#[derive(Debug, Clone)]
enum Damage {
    Truncate(usize),
    Flip(usize, u8),
    Zero(usize, usize),
    Remove,
    Replace(PathBuf),
}

impl Damage {
    fn apply(&self, fs: &MemFs, path: &Path) {
        let mut bytes = read_file(fs, path, u64::MAX).unwrap();
        match self {
            Damage::Truncate(len) => bytes.truncate(*len),
            Damage::Flip(at, bit) => bytes[*at] ^= 1 << bit,
            Damage::Zero(at, len) => {
                let end = (at + len).min(bytes.len());
                bytes[*at..end].fill(0);
            }
            Damage::Remove => {
                fs.remove(path).unwrap();
                return;
            }
            Damage::Replace(by) => bytes = read_file(fs, by, u64::MAX).unwrap(),
        }
        fs.create(path).unwrap().append(&bytes).unwrap();
    }
}

/// Both column families' content.
type State = [Content; 2];

/// A closed database and its history.
struct Sample {
    fs: MemFs,
    /// The state after each batch, from the empty one on.
    states: Vec<State>,
    /// Batches that are in tables.
    flushed: usize,
    options: Options,
}

impl Sample {
    fn new(compression: DBCompressionType, checksum: ChecksumType, seed: u64) -> Sample {
        let fs = MemFs::new();
        let mut options = tiny();
        options.set_fs(Arc::new(fs.clone()));
        options.set_compression_type(compression);
        options.set_disable_auto_compactions(true);
        options.set_write_buffer_size(1 << 20);
        let mut table = BlockBasedOptions::default();
        table.set_checksum_type(checksum);
        table.set_bloom_filter(10.0, false);
        table.set_block_size(1024);
        options.set_block_based_table_factory(&table);
        let mut sample = Sample {
            fs,
            states: vec![State::default()],
            flushed: 0,
            options,
        };
        let db = sample
            .open(&sample.fs, DBRecoveryMode::PointInTime)
            .unwrap();
        let mut rng = StdRng::seed_from_u64(seed);
        let cfs = FAMILIES.map(|f| db.cf_handle(f).unwrap());
        for n in 1..=90usize {
            let mut batch = WriteBatch::default();
            let mut state = sample.states[n - 1].clone();
            for _ in 0..4 {
                let cf = rng.random_range(0..2);
                let key = format!("key{:02}", rng.random_range(0..60)).into_bytes();
                if rng.random_bool(0.2) {
                    batch.delete_cf(&cfs[cf], &key);
                    state[cf].remove(&key);
                } else {
                    // The log of the last batches spans several blocks.
                    let len = if n > 75 {
                        rng.random_range(0..4_000)
                    } else {
                        80
                    };
                    let value: Vec<u8> = (0..len).map(|i| (i / 7 * n) as u8).collect();
                    batch.put_cf(&cfs[cf], &key, &value);
                    state[cf].insert(key, value);
                }
            }
            db.write(batch).unwrap();
            sample.states.push(state);
            if [40, 75].contains(&n) {
                for cf in &cfs {
                    db.flush_cf(cf).unwrap();
                    if n == 40 {
                        db.compact_range_cf(cf, None::<&[u8]>, None::<&[u8]>);
                    }
                }
                sample.flushed = n;
            }
        }
        drop(cfs);
        drop(db);
        sample
    }

    fn open(&self, fs: &MemFs, mode: DBRecoveryMode) -> Result<Db, Error> {
        let mut options = self.options.clone();
        options.set_fs(Arc::new(fs.clone()));
        options.set_wal_recovery_mode(mode);
        let names = FAMILIES.map(str::to_owned);
        open_named(&options, Path::new(DIR), &names)
    }

    /// Files whose name passes `filter`, with their sizes.
    fn files(&self, filter: impl Fn(&str) -> bool) -> Vec<(PathBuf, usize)> {
        let names = self.fs.list(Path::new(DIR)).unwrap();
        let paths = names
            .iter()
            .filter(|n| filter(n))
            .map(|n| Path::new(DIR).join(n));
        let sized = paths.map(|p| {
            let size = self.fs.file_size(&p).unwrap() as usize;
            (p, size)
        });
        sized.filter(|(_, size)| *size > 0).collect()
    }

    fn only(&self, filter: impl Fn(&str) -> bool) -> (PathBuf, usize) {
        let mut files = self.files(filter);
        assert_eq!(files.len(), 1, "{files:?}");
        files.remove(0)
    }
}

/// An error that tells the user what is wrong, and where.
fn is_clear(e: &Error, what: &str) {
    assert!(
        matches!(e.kind(), ErrorKind::Corruption | ErrorKind::NotSupported),
        "{what}: {e}"
    );
    assert!(
        e.file().is_some_and(|f| f.starts_with(DIR)),
        "{what}: no file: {e}"
    );
}

fn content(db: &Db) -> Result<State, Error> {
    let mut state = State::default();
    for (i, family) in FAMILIES.iter().enumerate() {
        let cf = db.cf_handle(family).unwrap();
        state[i] = collect(db.raw_iterator_cf(&cf))?;
    }
    Ok(state)
}

/// What became of the damage.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Outcome {
    Refused,
    /// The database opens, but something cannot be read.
    Partial,
    /// The database opens with the state after this batch.
    State(usize),
    /// The database opens with batches missing in the middle.
    Holes,
}

fn attempt(sample: &Sample, path: &Path, damage: &Damage, mode: DBRecoveryMode) -> Outcome {
    let what = format!("{damage:?} of {} ({mode:?})", path.display());
    let fs = sample.fs.crash_clone(1.0, 0);
    damage.apply(&fs, path);
    let db = match sample.open(&fs, mode) {
        Ok(db) => db,
        Err(e) => {
            is_clear(&e, &what);
            // A refused opening changes nothing: the next one is refused, too.
            assert!(sample.open(&fs, mode).is_err(), "{what}: refused once only");
            return Outcome::Refused;
        }
    };
    let found = content(&db);
    let mut unreadable = false;
    let last = sample.states.last().expect("not empty");
    let mut gets = State::default();
    for (i, family) in FAMILIES.iter().enumerate() {
        let cf = db.cf_handle(family).unwrap();
        for n in 0..60 {
            let key = format!("key{n:02}").into_bytes();
            match db.get_cf(&cf, &key) {
                Ok(Some(value)) => _ = gets[i].insert(key, value),
                Ok(None) => {}
                Err(e) => {
                    is_clear(&e, &what);
                    unreadable = true;
                    gets[i].extend(last[i].get(&key).map(|v| (key, v.clone())));
                }
            }
        }
    }
    if unreadable {
        assert_eq!(gets, *last, "{what}: wrong value");
    }
    let found = match found {
        Ok(found) => found,
        Err(e) => {
            is_clear(&e, &what);
            assert_eq!(gets, *last, "{what}: wrong value");
            return Outcome::Partial;
        }
    };
    assert!(unreadable || found == gets, "{what}: scans and gets differ");
    let Some(n) = sample.states.iter().rposition(|s| *s == found) else {
        for (i, family) in found.iter().enumerate() {
            for (key, value) in family {
                let once = sample.states.iter().any(|s| s[i].get(key) == Some(value));
                assert!(once, "{what}: a value that never was");
            }
        }
        return Outcome::Holes;
    };
    // What was recovered stays.
    db.put(b"later", b"1").unwrap();
    drop(db);
    let db = sample
        .open(&fs, mode)
        .unwrap_or_else(|e| panic!("{what}, again: {e}"));
    let mut again = content(&db).unwrap();
    assert_eq!(
        again[0].remove(&b"later"[..]).as_deref(),
        Some(&b"1"[..]),
        "{what}"
    );
    assert_eq!(again, found, "{what}: not the same when opened again");
    Outcome::State(n)
}

/// Offsets to damage in a file of `size` bytes: all offsets of a small file.
fn places(size: usize, most: usize, rng: &mut StdRng) -> Vec<usize> {
    let step = size.div_ceil(most).max(1);
    let places = (0..size).step_by(step);
    places
        .map(|at| (at + rng.random_range(0..step)).min(size - 1))
        .collect()
}

fn all_damage(size: usize, most: usize, rng: &mut StdRng) -> Vec<Damage> {
    let mut all = Vec::new();
    for at in places(size, most, rng) {
        all.push(Damage::Flip(at, rng.random_range(0..8)));
    }
    for len in places(size, most / 2, rng) {
        all.push(Damage::Truncate(len));
    }
    for at in (0..size).step_by(512) {
        all.push(Damage::Zero(at, 512));
    }
    all
}

#[test]
fn damaged_tables_are_errors_and_never_wrong_values() {
    campaign(
        "damaged_tables_are_errors_and_never_wrong_values",
        1,
        1,
        |seed| {
            for (compression, checksum) in [
                (DBCompressionType::None, ChecksumType::CRC32c),
                (DBCompressionType::Snappy, ChecksumType::XXH3),
                (DBCompressionType::Lz4, ChecksumType::XXH3),
                (DBCompressionType::Zstd, ChecksumType::CRC32c),
            ] {
                watched("damaged tables", 300, move || {
                    let sample = Sample::new(compression, checksum, seed);
                    let mut rng = StdRng::seed_from_u64(seed);
                    let tables = sample.files(|n| n.ends_with(".sst"));
                    assert!(tables.len() >= 4, "{tables:?}");
                    for (i, (path, size)) in tables.iter().enumerate() {
                        let mut all = all_damage(*size, 150, &mut rng);
                        // Every byte of the footer and of the blocks before it.
                        all.extend(
                            (size - 120..*size).map(|at| Damage::Flip(at, rng.random_range(0..8))),
                        );
                        all.extend([Damage::Remove, Damage::Truncate(0)]);
                        let (other, other_size) = &tables[(i + 1) % tables.len()];
                        if other_size != size {
                            all.push(Damage::Replace(other.clone()));
                        }
                        for damage in all {
                            let outcome =
                                attempt(&sample, path, &damage, DBRecoveryMode::PointInTime);
                            let harmless = Outcome::State(sample.states.len() - 1);
                            let noticed = matches!(outcome, Outcome::Refused | Outcome::Partial);
                            assert!(
                                noticed || outcome == harmless,
                                "{damage:?} of {}: {outcome:?}",
                                path.display()
                            );
                        }
                    }
                });
            }
        },
    );
}

/// What recovery modes are expected to do, from RocksDB's documentation.
fn check_log(sample: &Sample, damage: &Damage, mode: DBRecoveryMode, outcome: Outcome) {
    let (flushed, last) = (sample.flushed, sample.states.len() - 1);
    let what = format!("log, {damage:?}, {mode:?}: {outcome:?}");
    let prefix = matches!(outcome, Outcome::State(n) if (flushed..=last).contains(&n));
    let refused = outcome == Outcome::Refused;
    let fine = match mode {
        // Cut at the damage: always a prefix.
        DBRecoveryMode::PointInTime => prefix,
        DBRecoveryMode::AbsoluteConsistency => match damage {
            // A log that is cut between two records, or whose end is zero, looks like one that was
            // closed there.
            Damage::Truncate(_) | Damage::Zero(..) | Damage::Remove => refused || prefix,
            _ => refused || outcome == Outcome::State(last),
        },
        DBRecoveryMode::TolerateCorruptedTailRecords => refused || prefix,
        DBRecoveryMode::SkipAnyCorruptedRecord => prefix || outcome == Outcome::Holes,
    };
    assert!(fine, "{what}");
}

#[test]
fn damaged_logs_are_recovered_as_the_mode_says() {
    campaign(
        "damaged_logs_are_recovered_as_the_mode_says",
        1,
        1,
        |seed| {
            for recycled in [0, 2] {
                watched("damaged logs", 300, move || damage_logs(seed, recycled));
            }
        },
    );
}

fn damage_logs(seed: u64, recycled: usize) {
    let mut sample = Sample::new(DBCompressionType::None, ChecksumType::XXH3, seed);
    sample.options.set_recycle_log_file_num(recycled);
    let mut rng = StdRng::seed_from_u64(seed);
    let (path, size) = sample.only(|n| n.ends_with(".log"));
    assert!(size > 70_000, "{size} bytes are no three blocks");
    let mut all = all_damage(size, 100, &mut rng);
    for boundary in [32_768, 65_536] {
        all.extend((boundary - 12..boundary + 12).map(Damage::Truncate));
        all.extend((boundary - 12..boundary + 12).map(|at| Damage::Flip(at, 0)));
    }
    all.extend((0..40).map(|at| Damage::Flip(at, rng.random_range(0..8))));
    all.extend((size - 40..size).map(Damage::Truncate));
    all.push(Damage::Remove);
    for damage in all {
        for mode in [
            DBRecoveryMode::TolerateCorruptedTailRecords,
            DBRecoveryMode::AbsoluteConsistency,
            DBRecoveryMode::PointInTime,
            DBRecoveryMode::SkipAnyCorruptedRecord,
        ] {
            let outcome = attempt(&sample, &path, &damage, mode);
            check_log(&sample, &damage, mode, outcome);
        }
    }
}

#[test]
fn a_log_missing_between_others_is_noticed() {
    let fs = MemFs::new();
    let mut options = tiny();
    options.set_fs(Arc::new(fs.clone()));
    let names = FAMILIES.map(str::to_owned);
    let db = open_named(&options, Path::new(DIR), &names).unwrap();
    let one = db.cf_handle("one").unwrap();
    // "one" keeps all logs alive; flushing "default" switches them.
    for n in 0..4u8 {
        db.put_cf(&one, [n], [n]).unwrap();
        db.put([n], [n]).unwrap();
        db.flush().unwrap();
    }
    drop(one);
    drop(db);
    let mut logs: Vec<String> = fs.list(Path::new(DIR)).unwrap();
    logs.retain(|n| n.ends_with(".log") && fs.file_size(&Path::new(DIR).join(n)).unwrap() > 0);
    logs.sort();
    assert!(logs.len() >= 4, "{logs:?}");
    for (missing, log) in logs.iter().enumerate().take(4) {
        let fs = fs.crash_clone(1.0, 0);
        fs.remove(&Path::new(DIR).join(log)).unwrap();
        let mut options = options.clone();
        options.set_fs(Arc::new(fs));
        options.set_wal_recovery_mode(DBRecoveryMode::AbsoluteConsistency);
        if missing < 3 {
            let e = open_named(&options, Path::new(DIR), &names).unwrap_err();
            is_clear(&e, log);
            assert!(e.to_string().contains(log.trim_end_matches(".log")), "{e}");
        }
        // "default" was flushed past the hole, so no prefix has both families.
        options.set_wal_recovery_mode(DBRecoveryMode::PointInTime);
        if missing < 3 {
            let e = open_named(&options, Path::new(DIR), &names).unwrap_err();
            is_clear(&e, ".log");
            assert!(e.to_string().contains("ahead of a damaged log"), "{e}");
            continue;
        }
        let db = open_named(&options, Path::new(DIR), &names).unwrap();
        let one = db.cf_handle("one").unwrap();
        let found = collect(db.raw_iterator_cf(&one)).unwrap();
        let keys: Vec<u8> = found.keys().map(|k| k[0]).collect();
        let wanted: Vec<u8> = (0..missing as u8).collect();
        assert_eq!(keys, wanted, "without {log}");
    }
}

#[test]
fn a_damaged_manifest_is_refused_or_cut() {
    campaign("a_damaged_manifest_is_refused_or_cut", 1, 1, |seed| {
        watched("damaged manifest", 300, move || {
            let sample = Sample::new(DBCompressionType::Lz4, ChecksumType::XXH3, seed);
            let mut rng = StdRng::seed_from_u64(seed);
            let (path, size) = sample.only(|n| n.starts_with("MANIFEST"));
            let mut all = all_damage(size, 4_000, &mut rng);
            all.push(Damage::Remove);
            for damage in all {
                let outcome = attempt(&sample, &path, &damage, DBRecoveryMode::PointInTime);
                let last = sample.states.len() - 1;
                let fine = match (&damage, outcome) {
                    (_, Outcome::Refused) => true,
                    // A manifest that is cut between two records looks like one that ends there:
                    // each column family has an older version.
                    (Damage::Truncate(_) | Damage::Zero(..), _) => outcome != Outcome::Partial,
                    (_, outcome) => outcome == Outcome::State(last),
                };
                assert!(
                    fine,
                    "{damage:?} of a manifest of {size} bytes: {outcome:?}"
                );
            }
        });
    });
}

#[test]
fn damaged_small_files_are_refused_or_do_not_matter() {
    let sample = Sample::new(DBCompressionType::None, ChecksumType::XXH3, 1);
    let last = Outcome::State(sample.states.len() - 1);
    let mut rng = StdRng::seed_from_u64(1);
    let small = ["CURRENT", "IDENTITY", "LOG", "OPTIONS"];
    let files = sample.files(|n| small.iter().any(|s| n.starts_with(s)));
    assert!(files.len() >= 3, "{files:?}");
    for (path, size) in files {
        let current = path.ends_with("CURRENT");
        let mut all = all_damage(size, 120, &mut rng);
        all.extend([Damage::Remove, Damage::Truncate(0), Damage::Zero(0, 1)]);
        for damage in all {
            let outcome = attempt(&sample, &path, &damage, DBRecoveryMode::PointInTime);
            let fine = if current {
                outcome == Outcome::Refused
            } else {
                outcome == last
            };
            assert!(fine, "{damage:?} of {}: {outcome:?}", path.display());
        }
    }
}
