//! What an opening does with sections that were inserted when they were prepared, and with parts of
//! transactions that never were.

use super::super::recovery::{decide, empty, flush_both, get, log, names, put};
use super::super::{await_purges, commit, id_of, logs, prepare, puts, roll_back};
use super::readers::families;
use super::{options, undecided};
use crate::options::write_policy::WritePolicy;
use crate::{CommitProtocol, DB, DBRecoveryMode, ErrorKind, Options};
use std::path::Path;
use std::sync::Arc;
use whitewater_storage::batch::{Op, PrepareKind};
use whitewater_storage::filename;
use whitewater_storage::fs::fault::{FaultFs, OpSet, Rule};
use whitewater_storage::fs::mem::MemFs;
use whitewater_storage::fs::{Fs, read_file};
use whitewater_storage::key::ValueType;

const PERSISTED: Op<'_> = Op::BeginPrepare(PrepareKind::Persisted);
const UNPREPARED: Op<'_> = Op::BeginPrepare(PrepareKind::Unprepared);

pub(super) fn keeping(fs: &MemFs) -> Options {
    let mut options = options(fs, CommitProtocol::Ordered);
    options.set_allow_2pc(true);
    options
}

pub(super) fn open(options: &Options) -> DB {
    DB::open_cf(options, "/db", ["default", "other"]).unwrap()
}

/// The same files, as they are when the process is killed.
pub(super) fn killed(fs: &MemFs) -> (MemFs, Options) {
    let fs = fs.crash_clone(1.0, 1);
    let options = keeping(&fs);
    (fs, options)
}

fn values<const N: usize>(db: &DB, keys: [&str; N]) -> [Option<String>; N] {
    keys.map(|key| get(db, key))
}

fn some(text: &str) -> Option<String> {
    Some(text.to_owned())
}

/// The value of `key` in the family `other`.
fn other(db: &DB, key: &str) -> Option<String> {
    let value = db.get_cf(&db.cf_handle("other").unwrap(), key).unwrap();
    value.map(|value| String::from_utf8(value.to_vec()).unwrap())
}

/// The crash table: what was prepared and decided before the process was killed.
#[test]
fn what_was_prepared_and_decided_survives_the_process() {
    let fs = MemFs::new();
    let db = open(&keeping(&fs));
    let engine = db.engine();
    for key in ["a", "b", "c"] {
        db.put(key, "old").unwrap();
    }
    let [a, b, c] = ["a", "b", "c"].map(|name| prepare(engine, name, &[name, name]));
    let found = |fs: &MemFs| {
        let (fs, options) = killed(fs);
        let mut all = Vec::new();
        for round in 0..3 {
            let db = open(&options);
            if round == 1 {
                flush_both(&db);
            }
            all.push((names(&db), values(&db, ["a", "b", "c"])));
        }
        assert!(all.windows(2).all(|two| two[0] == two[1]), "{all:?}");
        drop(fs);
        all.swap_remove(0)
    };
    let old = || some("old");
    let names = |all: &[&str]| {
        all.iter()
            .map(|name| (*name).to_owned())
            .collect::<Vec<_>>()
    };
    assert_eq!(found(&fs), (names(&["a", "b", "c"]), [old(), old(), old()]));
    commit(engine, &a);
    assert_eq!(found(&fs), (names(&["b", "c"]), [some("a"), old(), old()]));
    flush_both(&db);
    assert_eq!(found(&fs), (names(&["b", "c"]), [some("a"), old(), old()]));
    roll_back(engine, &b);
    assert_eq!(found(&fs), (names(&["c"]), [some("a"), old(), old()]));
    flush_both(&db);
    assert_eq!(found(&fs), (names(&["c"]), [some("a"), old(), old()]));
    // The commit's log has nothing of the section.
    commit(engine, &c);
    assert_eq!(found(&fs), (names(&[]), [some("a"), old(), some("c")]));
    flush_both(&db);
    assert_eq!(found(&fs), (names(&[]), [some("a"), old(), some("c")]));
}

/// The log is cut at each byte from before the prepare to behind the decision.
#[test]
fn a_torn_record_leaves_a_transaction_as_it_was_before_it() {
    for commits in [true, false] {
        let fs = MemFs::new();
        let db = open(&keeping(&fs));
        db.put("x", "old").unwrap();
        let path = filename::wal(Path::new("/db"), logs(&fs)[0]);
        let written = || db.engine().commit.generations.load().end().unwrap().offset as usize;
        let before = written();
        let x = prepare(db.engine(), "x", &["x", "y"]);
        let prepared = written();
        match commits {
            true => commit(db.engine(), &x),
            false => roll_back(db.engine(), &x),
        }
        let decided = written();
        for end in before..=decided {
            let (fs, options) = killed(&fs);
            let bytes = read_file(&fs, &path, u64::MAX).unwrap();
            fs.create(&path).unwrap().append(&bytes[..end]).unwrap();
            for round in 0..2 {
                let what = format!("{commits}, cut at {end}, opening {round}");
                let db = open(&options);
                let is_prepared = (prepared..decided).contains(&end);
                assert_eq!(names(&db).len(), usize::from(is_prepared), "{what}");
                let expected = match commits && end == decided {
                    true => [some("x"), some("y")],
                    false => [some("old"), None],
                };
                assert_eq!(values(&db, ["x", "y"]), expected, "{what}");
            }
        }
    }
}

/// Some families were flushed past the section's log. The entries of the others are only there.
#[test]
fn a_section_is_inserted_into_the_families_that_need_its_log() {
    for flushed in ["none", "default", "other", "both"] {
        let fs = MemFs::new();
        let db = open(&keeping(&fs));
        let id = id_of(db.engine(), "other");
        let there = db.cf_handle("other").unwrap();
        db.put("a", "old").unwrap();
        db.put_cf(&there, "b", "old").unwrap();
        let mut batch = puts(&["a"]);
        batch.push(id, ValueType::Value, b"b", b"b");
        let x = (db.engine()).prepare_section(b"x", &batch, &Default::default());
        drop(x.unwrap());
        for cf in ["default", "other"] {
            if flushed == cf || flushed == "both" {
                db.flush_cf(&db.cf_handle(cf).unwrap()).unwrap();
            }
        }
        for commits in [true, false] {
            let (_fs, options) = killed(&fs);
            for _ in 0..3 {
                let db = open(&options);
                assert_eq!(names(&db), ["x"], "{flushed}");
                let found = (get(&db, "a"), other(&db, "b"));
                assert_eq!(found, (some("old"), some("old")), "{flushed}");
            }
            let db = open(&options);
            decide(&db, "x", commits);
            drop(db);
            let db = open(&options);
            let expected = match commits {
                true => (some("a"), some("b")),
                false => (some("old"), some("old")),
            };
            assert_eq!((get(&db, "a"), other(&db, "b")), expected, "{flushed}");
        }
    }
}

/// A section keeps its number through openings, in a log of its own, until it is decided.
#[test]
fn the_log_of_a_section_goes_once_it_is_decided() {
    let fs = MemFs::new();
    let db = open(&keeping(&fs));
    db.put("k", "1").unwrap();
    drop(prepare(db.engine(), "x", &["x", "y", "x"]));
    assert_eq!(undecided(db.engine()), [(2, 3)]);
    drop(db);
    let mut before = Vec::new();
    for round in 0..3 {
        let db = open(&keeping(&fs));
        assert_eq!(undecided(db.engine()), [(2, 3)], "round {round}");
        let now = logs(&fs);
        assert_eq!(now.len(), 2, "{now:?}");
        assert!(now.iter().all(|log| !before.contains(log)), "{now:?}");
        let versions = &db.engine().files.versions;
        assert_eq!(versions.min_log_number_to_keep(), now[0]);
        flush_both(&db);
        await_purges(db.engine());
        assert_eq!(logs(&fs)[0], now[0], "kept");
        before = now;
    }
    let db = open(&keeping(&fs));
    let kept = logs(&fs)[0];
    decide(&db, "x", true);
    flush_both(&db);
    await_purges(db.engine());
    assert!(logs(&fs)[0] > kept, "{:?}", logs(&fs));
    drop(db);
    let plain = super::super::options(&fs, CommitProtocol::Ordered);
    // The logs no longer have a section.
    let db = open(&plain);
    assert_eq!(values(&db, ["x", "y"]), [some("x"), some("y")]);
}

/// In memory, batches use up more numbers than their records tell. None is used again.
#[test]
fn numbers_that_only_memory_knew_are_not_used_again() {
    let fs = MemFs::new();
    let db = open(&keeping(&fs));
    let mut batch = crate::WriteBatch::default();
    for n in 0..10 {
        batch.put(format!("{n}"), "v");
    }
    drop(prepare(db.engine(), "x", &["x"]));
    db.write(batch).unwrap();
    let last = db.latest_sequence_number();
    assert_eq!(last, 11);
    let (_fs, options) = killed(&fs);
    let db = open(&options);
    assert_eq!(db.latest_sequence_number(), last);
    assert_eq!(get(&db, "9"), some("v"));
    let x = prepare(db.engine(), "z", &["z"]);
    assert_eq!(undecided(db.engine()), [(1, 1), (12, 12)]);
    commit(db.engine(), &x);
    assert_eq!(get(&db, "z"), some("z"));
}

/// A torn log, and a log behind it that goes on where it ends, in the numbers of either engine.
#[test]
fn a_later_log_counts_if_it_goes_on_in_the_numbers_of_either_engine() {
    for (next, goes_on) in [(2, true), (4, true), (3, false), (5, false)] {
        let fs = empty();
        let plain = [
            put(0, "a", "1"),
            put(0, "b", "1"),
            put(0, "c", "1"),
            Op::Noop,
        ];
        log(&fs, 100, &[(1, &plain)]);
        let path = filename::wal(Path::new("/db"), 100);
        let mut bytes = read_file(&fs, &path, u64::MAX).unwrap();
        // The beginning of a record that was torn off.
        bytes.extend_from_slice(&[1, 2, 3, 4, 40]);
        fs.create(&path).unwrap().append(&bytes).unwrap();
        log(&fs, 101, &[(next, &[put(0, "d", "1"), Op::Noop])]);
        let mut options = keeping(&fs);
        options.set_wal_recovery_mode(DBRecoveryMode::PointInTime);
        let db = open(&options);
        assert_eq!(get(&db, "c"), some("1"), "{next}");
        assert_eq!(get(&db, "d").is_some(), goes_on, "{next}");
    }
}

/// What damages the log of the sections would show them to everyone.
#[test]
fn damage_in_the_log_of_sections_stops_every_opening() {
    let fs = MemFs::new();
    let db = open(&keeping(&fs));
    db.put("x", "old").unwrap();
    drop(prepare(db.engine(), "x", &["x"]));
    drop(db);
    drop(open(&keeping(&fs)));
    let path = filename::wal(Path::new("/db"), logs(&fs)[0]);
    let mut bytes = read_file(&fs, &path, u64::MAX).unwrap();
    let at = bytes.len() - 1;
    bytes[at] ^= 1;
    fs.create(&path).unwrap().append(&bytes).unwrap();
    let modes = [
        DBRecoveryMode::PointInTime,
        DBRecoveryMode::AbsoluteConsistency,
        DBRecoveryMode::TolerateCorruptedTailRecords,
    ];
    for mode in modes {
        let mut options = keeping(&fs);
        options.set_wal_recovery_mode(mode);
        for _ in 0..2 {
            let e = DB::open_cf(&options, "/db", ["default", "other"]).unwrap_err();
            assert_eq!(e.kind(), ErrorKind::Corruption, "{mode:?}: {e}");
        }
        let reader = DB::open_cf_for_read_only(&options, "/db", ["default", "other"], false);
        assert_eq!(
            reader.unwrap_err().kind(),
            ErrorKind::Corruption,
            "{mode:?}"
        );
    }
    bytes[at] ^= 1;
    fs.create(&path).unwrap().append(&bytes).unwrap();
    let db = open(&keeping(&fs));
    assert_eq!((names(&db), get(&db, "x")), (vec!["x".into()], some("old")));
}

/// Who opens the database is not told the policy, and the section that would tell it is damaged.
#[test]
fn damage_in_the_only_section_stops_an_opening_that_knows_no_policy() {
    for reopens in [false, true] {
        for decides in [false, true] {
            let what = format!("logged again: {reopens}, decided: {decides}");
            let fs = MemFs::new();
            let mut db = open(&keeping(&fs));
            db.put("x", "old").unwrap();
            drop(prepare(db.engine(), "x", &["x"]));
            if reopens {
                drop(db);
                db = open(&keeping(&fs));
            }
            let kept = logs(&fs)[0];
            flush_both(&db);
            if decides {
                decide(&db, "x", false);
                // The log of the decision is the current one until it is switched, too.
                flush_both(&db);
                flush_both(&db);
                await_purges(db.engine());
                assert!(!logs(&fs).contains(&kept), "{what}");
            }
            let (fs, _) = killed(&fs);
            drop(db);
            let path = filename::wal(Path::new("/db"), logs(&fs)[0]);
            let mut bytes = read_file(&fs, &path, u64::MAX).unwrap();
            let end_prepare = bytes.windows(3).position(|bytes| bytes == [0x0a, 1, b'x']);
            assert_eq!(end_prepare.is_some(), !decides, "{what}");
            let at = end_prepare.unwrap_or(0);
            bytes[at] ^= u8::from(!decides);
            fs.create(&path).unwrap().append(&bytes).unwrap();
            let plain = super::super::options(&fs, CommitProtocol::Ordered);
            let families = ["default", "other"];
            let reader = DB::open_cf_for_read_only(&plain, "/db", families, false);
            if decides {
                assert_eq!(get(&reader.unwrap(), "x"), some("old"), "{what}");
                let db = DB::open_cf(&plain, "/db", families).unwrap();
                assert_eq!(get(&db, "x"), some("old"), "{what}");
                continue;
            }
            let e = reader.unwrap_err();
            assert_eq!(e.kind(), ErrorKind::Corruption, "{what}: {e}");
            let e = DB::open_cf(&plain, "/db", families).unwrap_err();
            assert_eq!(e.kind(), ErrorKind::Corruption, "{what}: {e}");
            bytes[at] ^= 1;
            fs.create(&path).unwrap().append(&bytes).unwrap();
            let db = open(&keeping(&fs));
            assert_eq!((names(&db), get(&db, "x")), (vec!["x".into()], some("old")));
        }
    }
}

/// A compaction that knows of a commit drops what the transaction hides. Recovery that cuts the log
/// before the commit would find the transaction prepared, and nothing to restore.
#[test]
fn damage_before_a_decision_that_a_compaction_went_by_is_told() {
    for compacts in [false, true] {
        let fs = MemFs::new();
        let db = open(&keeping(&fs));
        db.put("x", "old").unwrap();
        db.flush().unwrap();
        let x = prepare(db.engine(), "x", &["x"]);
        db.flush().unwrap();
        commit(db.engine(), &x);
        if compacts {
            db.compact_range(None::<&[u8]>, None::<&[u8]>);
        }
        let (fs, mut options) = killed(&fs);
        options.set_wal_recovery_mode(DBRecoveryMode::PointInTime);
        let path = filename::wal(Path::new("/db"), *logs(&fs).last().unwrap());
        let mut bytes = read_file(&fs, &path, u64::MAX).unwrap();
        let at = bytes.iter().rposition(|byte| *byte != 0).unwrap();
        bytes[at] ^= 1;
        fs.create(&path).unwrap().append(&bytes).unwrap();
        let opened = DB::open_cf(&options, "/db", ["default", "other"]);
        if compacts {
            let e = opened.unwrap_err();
            assert_eq!(e.kind(), ErrorKind::Corruption, "{e}");
            assert!(e.to_string().contains("go by a decision"), "{e}");
            let reader = DB::open_cf_for_read_only(&options, "/db", ["default", "other"], false);
            assert_eq!(reader.unwrap_err().kind(), ErrorKind::Corruption);
            bytes[at] ^= 1;
            fs.create(&path).unwrap().append(&bytes).unwrap();
            let db = DB::open_cf(&options, "/db", ["default", "other"]).unwrap();
            assert_eq!((names(&db).len(), get(&db, "x")), (0, some("x")));
            // Known from manifest to manifest, and of no importance for later logs.
            drop(db);
            let db = open(&options);
            assert_eq!(get(&db, "x"), some("x"));
        } else {
            let db = opened.unwrap();
            assert_eq!((names(&db), get(&db, "x")), (vec!["x".into()], some("old")));
            decide(&db, "x", false);
            assert_eq!(get(&db, "x"), some("old"));
        }
    }
}

/// Transactions that RocksDB wrote in parts: `x` was never prepared, `y` was, and `z` is
/// committed.
fn with_parts() -> MemFs {
    let fs = empty();
    fn part<'a>(key: &'a str, value: &'a str, name: &'static str) -> [Op<'a>; 3] {
        [
            UNPREPARED,
            put(0, key, value),
            Op::EndPrepare(name.as_bytes()),
        ]
    }
    let old = [put(0, "a", "old"), put(0, "b", "old"), Op::Noop];
    let (x1, y1, z1) = (
        part("a", "x1", "x"),
        part("b", "y1", "y"),
        part("c", "z1", "z"),
    );
    log(&fs, 100, &[(1, &old), (2, &x1), (3, &y1), (4, &z1)]);
    let (x2, x3) = (part("a", "x2", "x"), part("d", "x3", "x"));
    let y2 = [
        PERSISTED,
        put(0, "e", "y2"),
        put(1, "b", "y2"),
        Op::EndPrepare(b"y"),
    ];
    let z2 = [PERSISTED, put(0, "f", "z2"), Op::EndPrepare(b"z")];
    let records: [(u64, &[Op<'_>]); 5] = [
        (5, &x2),
        (6, &y2),
        (7, &z2),
        (8, &[Op::Commit(b"z")]),
        (9, &x3),
    ];
    log(&fs, 101, &records);
    fs.crash_clone(1.0, 1) // all of it is durable
}

const KEYS: [&str; 6] = ["a", "b", "c", "d", "e", "f"];

fn without_x(y: bool) -> [Option<String>; 6] {
    let (b, e) = if y { ("y1", some("y2")) } else { ("old", None) };
    [some("old"), some(b), some("z1"), None, e, some("z2")]
}

fn unprepared(fs: &MemFs) -> Options {
    let mut options = keeping(fs);
    options.set_write_policy(WritePolicy::WriteUnprepared);
    options
}

#[test]
fn parts_that_were_never_prepared_are_rolled_back_by_the_opening() {
    for commits in [true, false] {
        let fs = with_parts();
        for round in 0..3 {
            let db = open(&unprepared(&fs));
            assert_eq!(names(&db), ["y"], "round {round}");
            assert_eq!(values(&db, KEYS), without_x(false), "round {round}");
            assert_eq!(other(&db, "b"), None, "round {round}");
            assert_eq!(undecided(db.engine()), [(3, 3), (6, 6)], "round {round}");
            if round == 1 {
                flush_both(&db);
            }
        }
        let db = open(&unprepared(&fs));
        decide(&db, "y", commits);
        assert_eq!(values(&db, KEYS), without_x(commits));
        drop(db);
        let db = open(&unprepared(&fs));
        assert!(names(&db).is_empty());
        assert_eq!(values(&db, KEYS), without_x(commits));
        assert_eq!(other(&db, "b"), commits.then(|| "y2".to_owned()));
        assert_eq!(undecided(db.engine()), []);
    }
}

/// The opening finds as many tables in level 0 as stop writes. No thread is there yet that would
/// compact them.
#[test]
fn a_rollback_by_the_opening_waits_in_no_stall() {
    let fs = with_parts();
    let mut options = unprepared(&fs);
    options.set_level_zero_file_num_compaction_trigger(1);
    options.set_level_zero_slowdown_writes_trigger(1);
    options.set_level_zero_stop_writes_trigger(1);
    let db = DB::open_cf_descriptors(&options, "/db", families(&options)).unwrap();
    assert_eq!(values(&db, KEYS), without_x(false));
    // The compaction ends the stall.
    db.put("k", "1").unwrap();
}

/// An opening that fails anywhere, or is killed there, leaves the same to the next one.
#[test]
fn no_failure_of_an_opening_shows_parts_or_loses_a_section() {
    let mut failures = 0;
    for n in 1.. {
        let mem = with_parts();
        let faulty = FaultFs::new(Arc::new(mem.clone()));
        faulty.add_rule(Rule::nth(OpSet::WRITES, n));
        let mut options = unprepared(&mem);
        options.set_fs(Arc::new(faulty.clone()));
        let opened = DB::open_cf(&options, "/db", ["default", "other"]);
        let injected = !faulty.injected().is_empty();
        failures += u32::from(opened.is_err());
        if let Ok(db) = &opened {
            assert_eq!(values(db, KEYS), without_x(false), "write {n}");
        }
        for keep in [0.0, 1.0] {
            let what = format!("write {n}, keep {keep}");
            let fs = mem.crash_clone(keep, n);
            let db = open(&unprepared(&fs));
            assert_eq!(names(&db), ["y"], "{what}");
            assert_eq!(values(&db, KEYS), without_x(false), "{what}");
            decide(&db, "y", n % 2 == 0);
            drop(db);
            let db = open(&unprepared(&fs));
            assert!(names(&db).is_empty(), "{what}");
            assert_eq!(values(&db, KEYS), without_x(n % 2 == 0), "{what}");
        }
        if !injected {
            break;
        }
    }
    assert!(failures > 3, "{failures}");
}
