//! What an opening does with prepared sections and decisions in the logs: those of this engine, by
//! killing it, and those of logs made by hand.

use super::{PROTOCOLS, await_purges, commit, open_two, outstanding, prepare, roll_back};
use crate::{CommitProtocol, DB, DBRecoveryMode, Options};
use std::path::Path;
use std::sync::Arc;
use whitewater_storage::ErrorKind;
use whitewater_storage::batch::{Batch, Op, PrepareKind};
use whitewater_storage::filename;
use whitewater_storage::fs::fault::{FaultFs, OpSet, Rule};
use whitewater_storage::fs::mem::MemFs;
use whitewater_storage::fs::{Fs, read_file};
use whitewater_storage::key::{SequenceNumber, ValueType};
use whitewater_storage::wal::LogWriter;

const REFUSED: &str = "Not implemented: WAL contains prepared transactions. Open with \
                       TransactionDB::Open().";

/// Options of an opening that keeps what is prepared, on what `fs` is when the process is killed.
pub(super) fn killed(fs: &MemFs) -> (MemFs, Options) {
    let fs = fs.crash_clone(1.0, 1);
    let options = keeping(&fs);
    (fs, options)
}

pub(super) fn keeping(fs: &MemFs) -> Options {
    let mut options = super::options(fs, CommitProtocol::Ordered);
    options.set_allow_2pc(true);
    options
}

/// The names of the prepared transactions of `db`.
pub(super) fn names(db: &DB) -> Vec<String> {
    let sections = db.engine().prepared_sections().into_iter();
    let name = |name: &[u8]| String::from_utf8(name.to_vec()).unwrap();
    sections.map(|section| name(section.name())).collect()
}

pub(super) fn get(db: &DB, key: &str) -> Option<String> {
    let value = db.get(key).unwrap();
    value.map(|value| String::from_utf8(value.to_vec()).unwrap())
}

pub(super) fn decide(db: &DB, name: &str, commits: bool) {
    let sections = db.engine().prepared_sections().into_iter();
    let section = sections.into_iter().find(|s| s.name() == name.as_bytes());
    let section = section.unwrap_or_else(|| panic!("{name} is not prepared"));
    match commits {
        true => commit(db.engine(), &section),
        false => roll_back(db.engine(), &section),
    }
}

/// Every file of the database but its info logs.
fn files(fs: &MemFs) -> Vec<(String, Vec<u8>)> {
    let dir = Path::new("/db");
    let mut names = fs.list(dir).unwrap();
    names.retain(|name| !name.starts_with("LOG"));
    names.sort();
    let read = |name: String| {
        let bytes = read_file(fs, &dir.join(&name), u64::MAX).unwrap();
        (name, bytes)
    };
    names.into_iter().map(read).collect()
}

/// An opening without `allow_2pc` fails, and changes nothing.
fn assert_refused(fs: &MemFs, what: &str) {
    let before = files(fs);
    let options = super::options(fs, CommitProtocol::Ordered);
    let families = DB::list_cf(&options, "/db").unwrap();
    let e = DB::open_cf(&options, "/db", families).unwrap_err();
    assert_eq!(e.kind(), ErrorKind::NotSupported, "{what}");
    assert_eq!(e.to_string(), REFUSED, "{what}");
    assert!(files(fs) == before, "{what}: files changed");
}

pub(super) fn log(fs: &MemFs, number: u64, records: &[(SequenceNumber, &[Op<'_>])]) {
    let path = filename::wal(Path::new("/db"), number);
    let mut writer = LogWriter::new(fs.create(&path).unwrap(), number, false);
    for (first, ops) in records {
        let mut batch = Batch::default();
        ops.iter().for_each(|op| batch.push_op(op));
        writer
            .add_record(&[&first.to_le_bytes(), &batch.bytes()[8..]])
            .unwrap();
    }
}

pub(super) fn put<'a>(cf: u32, key: &'a str, value: &'a str) -> Op<'a> {
    Op::Entry {
        cf,
        ty: ValueType::Value,
        key: key.as_bytes(),
        value: value.as_bytes(),
    }
}

pub(super) const BEGIN: Op<'_> = Op::BeginPrepare(PrepareKind::Committed);

/// A database with the families "default" (0) and "other" (1), without logs. The first log after
/// this has number 100.
pub(super) fn empty() -> MemFs {
    let fs = MemFs::new();
    let options = super::options(&fs, CommitProtocol::Ordered);
    drop(open_two(&options));
    for number in super::logs(&fs) {
        fs.remove(&filename::wal(Path::new("/db"), number)).unwrap();
    }
    fs
}

/// Flushes both families past the current log.
pub(super) fn flush_both(db: &DB) {
    for cf in ["default", "other"] {
        let cf = db.cf_handle(cf).unwrap();
        db.put_cf(&cf, "flushed", "1").unwrap();
        db.flush_cf(&cf).unwrap();
    }
}

fn open_killed(fs: &MemFs) -> DB {
    let (_, options) = killed(fs);
    DB::open_cf(&options, "/db", ["default", "other"]).unwrap()
}

/// Pitfall 2: a plain opening skipped the log that only the section kept, and deleted it.
#[test]
fn a_plain_opening_does_not_lose_a_prepared_transaction() {
    for protocol in PROTOCOLS {
        for flushes in [false, true] {
            let what = format!("{protocol}, flushed: {flushes}");
            let fs = MemFs::new();
            let db = DB::open(&super::options(&fs, protocol), "/db").unwrap();
            let x = prepare(db.engine(), "x", &["a", "b"]);
            db.put("k", "1").unwrap();
            if flushes {
                // Now nothing but the section needs the log.
                db.flush().unwrap();
                db.put("k", "2").unwrap();
                await_purges(db.engine());
            }
            drop(x);
            let (fs, options) = killed(&fs);
            drop(db);
            assert_refused(&fs, &what);
            assert_refused(&fs, &what);
            for round in 0..3 {
                let db = DB::open(&options, "/db").unwrap();
                assert_eq!(names(&db), ["x"], "{what}: round {round}");
                assert_eq!(get(&db, "a"), None, "{what}");
                let value = if flushes { "2" } else { "1" };
                assert_eq!(get(&db, "k").as_deref(), Some(value), "{what}");
                if round == 1 {
                    db.flush().unwrap();
                }
                drop(db);
                assert_refused(&fs, &what);
            }
            let db = DB::open(&options, "/db").unwrap();
            decide(&db, "x", true);
            assert_eq!(get(&db, "a").as_deref(), Some("a"), "{what}");
            drop(db);
            let plain = super::options(&fs, protocol);
            let db = DB::open(&plain, "/db").unwrap();
            assert_eq!(get(&db, "b").as_deref(), Some("b"), "{what}");
            assert!(names(&db).is_empty(), "{what}");
        }
    }
}

/// The crash table: what was prepared and decided before the process was killed.
#[test]
fn what_was_prepared_and_decided_survives_the_process() {
    for protocol in PROTOCOLS {
        let fs = MemFs::new();
        let db = open_two(&super::options(&fs, protocol));
        let engine = db.engine();
        let [a, b, c] = ["a", "b", "c"].map(|name| prepare(engine, name, &[name]));
        let open = |fs: &MemFs| {
            let db = open_killed(fs);
            let keys = ["a", "b", "c"].map(|key| get(&db, key).is_some());
            (names(&db), keys)
        };
        assert_eq!(open(&fs).1, [false; 3], "{protocol}");
        assert_eq!(open(&fs).0, ["a", "b", "c"], "{protocol}");
        commit(engine, &a);
        assert_eq!(
            open(&fs),
            (vec!["b".into(), "c".into()], [true, false, false])
        );
        db.flush().unwrap();
        assert_eq!(
            open(&fs),
            (vec!["b".into(), "c".into()], [true, false, false])
        );
        roll_back(engine, &b);
        assert_eq!(open(&fs), (vec!["c".into()], [true, false, false]));
        // The commit's log needs the section, which is in an older one.
        commit(engine, &c);
        assert_eq!(open(&fs), (vec![], [true, false, true]));
        db.flush().unwrap();
        assert_eq!(open(&fs), (vec![], [true, false, true]));
    }
}

/// A commit is at its own place in the order, after the writes before it.
#[test]
fn a_commit_takes_its_place_in_the_order_of_writes() {
    let fs = MemFs::new();
    let db = open_two(&super::options(&fs, CommitProtocol::Ordered));
    let early = prepare(db.engine(), "early", &["k"]);
    db.put("k", "between").unwrap();
    commit(db.engine(), &early);
    let late = prepare(db.engine(), "late", &["l"]);
    commit(db.engine(), &late);
    db.put("l", "after").unwrap();
    let numbers = db.latest_sequence_number();
    let db = open_killed(&fs);
    assert_eq!(get(&db, "k").as_deref(), Some("k"));
    assert_eq!(get(&db, "l").as_deref(), Some("after"));
    assert_eq!(db.latest_sequence_number(), numbers);
}

#[test]
fn a_torn_prepare_leaves_no_trace_and_a_torn_commit_leaves_it_prepared() {
    let fs = MemFs::new();
    let db = open_two(&super::options(&fs, CommitProtocol::Ordered));
    db.put("k", "1").unwrap();
    let path = filename::wal(Path::new("/db"), super::logs(&fs)[0]);
    let size = |fs: &MemFs| read_file(fs, &path, u64::MAX).unwrap().len();
    let written = |db: &DB| db.engine().commit.generations.load().end().unwrap().offset as usize;
    let before = written(&db);
    let x = prepare(db.engine(), "x", &["x"]);
    let prepared = written(&db);
    commit(db.engine(), &x);
    let committed = written(&db);
    assert!(size(&fs) >= committed);
    for end in before..=committed {
        let (fs, options) = killed(&fs);
        let bytes = read_file(&fs, &path, u64::MAX).unwrap();
        let mut file = fs.create(&path).unwrap();
        file.append(&bytes[..end]).unwrap();
        drop(file);
        let db = DB::open_cf(&options, "/db", ["default", "other"]).unwrap();
        let is_prepared = (prepared..committed).contains(&end);
        assert_eq!(names(&db).len(), usize::from(is_prepared), "cut at {end}");
        let value = get(&db, "x");
        assert_eq!(value.is_some(), end == committed, "cut at {end}");
        assert_eq!(get(&db, "k").as_deref(), Some("1"));
    }
}

/// An opening that fails anywhere, or is killed, leaves the sections to the next one.
#[test]
fn no_failure_of_an_opening_loses_a_section() {
    let fs = MemFs::new();
    let db = open_two(&super::options(&fs, CommitProtocol::Ordered));
    let x = prepare(db.engine(), "x", &["x"]);
    db.put("k", "1").unwrap();
    db.flush().unwrap();
    let y = prepare(db.engine(), "y", &["y"]);
    db.put("k", "2").unwrap();
    drop((x, y));
    let mut failures = 0;
    for n in 1.. {
        let (mem, _) = killed(&fs);
        let faulty = FaultFs::new(Arc::new(mem.clone()));
        faulty.add_rule(Rule::nth(OpSet::WRITES, n));
        let mut options = Options::default();
        options.set_allow_2pc(true);
        options.set_fs(Arc::new(faulty.clone()));
        let opened = DB::open_cf(&options, "/db", ["default", "other"]);
        let injected = !faulty.injected().is_empty();
        failures += u32::from(opened.is_err());
        for keep in [0.0, 1.0] {
            let (_, options) = killed(&mem.crash_clone(keep, n));
            let db = DB::open_cf(&options, "/db", ["default", "other"]).unwrap();
            assert_eq!(names(&db), ["x", "y"], "write {n}, keep {keep}");
            assert_eq!(
                get(&db, "k").as_deref(),
                Some("2"),
                "write {n}, keep {keep}"
            );
            decide(&db, "x", true);
            decide(&db, "y", false);
            drop(db);
            let plain = DB::open_cf(&options, "/db", ["default", "other"]).unwrap();
            assert!(names(&plain).is_empty(), "write {n}, keep {keep}");
            let found = ["x", "y"].map(|key| get(&plain, key).is_some());
            assert_eq!(found, [true, false], "write {n}, keep {keep}");
        }
        if !injected {
            break;
        }
    }
    assert!(failures > 3, "{failures}");
}

/// Records of a group, as RocksDB's leader merges them, with RocksDB's numbers.
#[test]
fn the_batches_of_a_group_are_told_apart_in_one_record() {
    let fs = empty();
    let group = [
        put(0, "a", "1"),
        BEGIN,
        put(0, "a", "x"),
        put(1, "b", "x"),
        Op::EndPrepare(b"x"),
        put(0, "c", "1"),
        Op::Commit(b"x"),
        put(1, "b", "after"),
        BEGIN,
        put(0, "c", "y"),
        Op::EndPrepare(b"y"),
    ];
    let next = [put(0, "d", "1")];
    log(&fs, 100, &[(10, &group), (15, &next)]);
    let db = open_killed(&fs);
    assert_eq!(names(&db), ["y"]);
    assert_eq!(get(&db, "a").as_deref(), Some("x"));
    assert_eq!(get(&db, "c").as_deref(), Some("1"));
    let other = db.cf_handle("other").unwrap();
    assert_eq!(db.get_cf(&other, "b"), Ok(Some(b"after".into())));
    // The section that was logged again took a number.
    assert_eq!(db.latest_sequence_number(), 16);
}

/// Pitfall 4: the log that holds the commit says whether a family still needs the entries.
#[test]
fn the_commits_log_decides_which_families_get_the_entries() {
    for flushes in [false, true] {
        let fs = MemFs::new();
        let db = open_two(&super::options(&fs, CommitProtocol::Ordered));
        let mut batch = super::puts(&["a"]);
        let id = super::id_of(db.engine(), "other");
        batch.push(id, ValueType::Value, b"b", b"b");
        let x = db
            .engine()
            .prepare_section(b"x", &batch, &Default::default());
        let x = x.unwrap();
        flush_both(&db);
        commit(db.engine(), &x);
        if flushes {
            // One family is flushed past the commit's log, too.
            db.delete("a").unwrap();
            db.flush_cf(&db.cf_handle("default").unwrap()).unwrap();
        }
        let db2 = open_killed(&fs);
        assert_eq!(get(&db2, "a").is_some(), !flushes);
        let there = db2.cf_handle("other").unwrap();
        assert_eq!(db2.get_cf(&there, "b"), Ok(Some(b"b".into())));
        assert!(names(&db2).is_empty());
    }
}

#[test]
fn decisions_on_unknown_names_are_passed_over() {
    let fs = empty();
    let decisions = [Op::Commit(b"gone"), Op::Rollback(b"gone too")];
    log(
        &fs,
        100,
        &[
            (5, &decisions[..1]),
            (9, &decisions[1..]),
            (9, &[put(0, "a", "1")]),
        ],
    );
    let db = open_killed(&fs);
    assert_eq!(get(&db, "a").as_deref(), Some("1"));
    assert!(names(&db).is_empty());
}

/// A resumption logs sections again, with their numbers, while the logs before may still be
/// needed: there they may have been decided.
#[test]
fn a_section_that_is_logged_again_does_not_come_back() {
    let fs = empty();
    let section = |name: &'static [u8]| [BEGIN, put(0, "k", "v"), Op::EndPrepare(name)];
    let (x, y, z) = (section(b"x"), section(b"y"), section(b"z"));
    let old = [
        (5, &x[..]),
        (6, &y[..]),
        (7, &z[..]),
        (8, &[Op::Commit(b"x")][..]),
        (9, &[Op::Rollback(b"y")][..]),
    ];
    log(&fs, 100, &old);
    log(
        &fs,
        101,
        &[(5, &x), (7, &z), (6, &y), (10, &[put(0, "a", "1")])],
    );
    let db = open_killed(&fs);
    assert_eq!(names(&db), ["z"]);
    assert_eq!(get(&db, "k").as_deref(), Some("v"));
    assert_eq!(get(&db, "a").as_deref(), Some("1"));
    // Without the log before, all of them count, in whatever order they stand.
    fs.remove(&filename::wal(Path::new("/db"), 100)).unwrap();
    assert_eq!(names(&open_killed(&fs)), ["x", "y", "z"]);
}

#[test]
fn sections_of_another_write_policy_are_refused() {
    for (kind, text) in [
        (
            PrepareKind::Persisted,
            "Not implemented: WritePrepared/WriteUnprepared txn tag when write_after_commit_ is \
             enabled (in default WriteCommitted mode)",
        ),
        (
            PrepareKind::Unprepared,
            "Not implemented: WriteUnprepared txn tag when write_after_commit_ is enabled (in \
             default WriteCommitted mode)",
        ),
    ] {
        let fs = empty();
        let section = [
            Op::BeginPrepare(kind),
            put(0, "k", "v"),
            Op::EndPrepare(b"x"),
        ];
        // Even if it was decided.
        log(&fs, 100, &[(5, &section), (6, &[Op::Commit(b"x")])]);
        for allow in [false, true] {
            let before = files(&fs);
            let mut options = super::options(&fs, CommitProtocol::Ordered);
            options.set_allow_2pc(allow);
            let e = DB::open_cf(&options, "/db", ["default", "other"]).unwrap_err();
            assert_eq!(e.kind(), ErrorKind::NotSupported);
            assert!(e.to_string().starts_with(text), "{e}");
            assert!(files(&fs) == before, "files changed");
        }
    }
}

/// A log that only sections need may have lost its end to a power cut, if it had none.
#[test]
fn a_kept_log_may_end_anywhere() {
    for mode in [
        DBRecoveryMode::PointInTime,
        DBRecoveryMode::AbsoluteConsistency,
        DBRecoveryMode::TolerateCorruptedTailRecords,
    ] {
        let fs = MemFs::new();
        let db = open_two(&super::options(&fs, CommitProtocol::Ordered));
        let x = prepare(db.engine(), "x", &["x"]);
        db.put("k", "lost with the end of its log, and in a table")
            .unwrap();
        let kept = filename::wal(Path::new("/db"), super::logs(&fs)[0]);
        let end = db.engine().commit.generations.load().end().unwrap().offset;
        flush_both(&db);
        db.put("l", "1").unwrap();
        drop(x);
        let (fs, mut options) = killed(&fs);
        options.set_wal_recovery_mode(mode);
        let bytes = read_file(&fs, &kept, u64::MAX).unwrap();
        let mut file = fs.create(&kept).unwrap();
        file.append(&bytes[..end as usize - 3]).unwrap();
        drop(file);
        let db = DB::open_cf(&options, "/db", ["default", "other"]).unwrap();
        assert_eq!(names(&db), ["x"]);
        assert!(["k", "l"].iter().all(|key| get(&db, key).is_some()));
    }
}

/// Logs that a later one was needed for are missing: the decision may have been there.
#[test]
fn a_section_without_the_logs_behind_it_is_refused() {
    let fs = MemFs::new();
    let db = open_two(&super::options(&fs, CommitProtocol::Ordered));
    let x = prepare(db.engine(), "x", &["x"]);
    flush_both(&db);
    commit(db.engine(), &x);
    let (fs, options) = killed(&fs);
    for number in super::logs(&fs).split_off(1) {
        fs.remove(&filename::wal(Path::new("/db"), number)).unwrap();
    }
    let before = files(&fs);
    let e = DB::open_cf(&options, "/db", ["default", "other"]).unwrap_err();
    assert_eq!(e.kind(), ErrorKind::InvalidArgument, "{e}");
    assert!(e.to_string().contains("the prepared transaction x"), "{e}");
    assert!(files(&fs) == before, "files changed");
}

/// The logs of an opening with many sections: each is in the new log once, the old logs go.
#[test]
fn an_opening_needs_no_log_of_before() {
    let fs = MemFs::new();
    let db = open_two(&super::options(&fs, CommitProtocol::Ordered));
    for n in 0..10 {
        prepare(db.engine(), &format!("x{n}"), &["k"]);
        db.put("k", "1").unwrap();
        db.flush().unwrap();
    }
    let (fs, options) = killed(&fs);
    let old = super::logs(&fs);
    assert_eq!(old.len(), 11);
    for _ in 0..2 {
        let db = DB::open_cf(&options, "/db", ["default", "other"]).unwrap();
        let new = super::logs(&fs);
        assert_eq!(new.len(), 1);
        assert!(new[0] > old[10]);
        assert_eq!(names(&db).len(), 10);
        assert_eq!(outstanding(&fs, db.engine()).len(), 10);
        assert_eq!(db.engine().files.versions.min_log_number_to_keep(), new[0]);
    }
}
