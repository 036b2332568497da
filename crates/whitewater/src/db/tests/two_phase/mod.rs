//! Prepared sections and decisions on them: what is logged, numbered and seen (here),
//! `retention` of logs, `races`, `jobs` in between, `failures` and resumptions, `crashes`,
//! `recovery`, `damage`, sections that are `logged_again`, whose `repetitions` readers meet,
//! `readers` of logs, `fixtures` of RocksDB; sections that are `inserted_early`, by their prepare.

mod crashes;
mod damage;
mod failures;
mod fixtures;
mod inserted_early;
mod jobs;
mod logged_again;
mod races;
mod readers;
mod recovery;
mod repetitions;
mod retention;

use crate::db::Engine;
use crate::db::two_phase::PreparedSection;
use crate::options::read::WriteSpec;
use crate::{CommitProtocol, DB, Options, WriteBatch};
use std::collections::BTreeSet;
use std::fmt::Write;
use std::path::Path;
use std::sync::Arc;
use whitewater_storage::ErrorKind;
use whitewater_storage::batch::{self, Batch, Op};
use whitewater_storage::filename::{self, FileType};
use whitewater_storage::fs::Fs;
use whitewater_storage::fs::mem::MemFs;
use whitewater_storage::key::ValueType;
use whitewater_storage::wal::{LogReader, ReadOutcome};

/// The protocols that take prepared sections.
const PROTOCOLS: [CommitProtocol; 3] = [
    CommitProtocol::Ordered,
    CommitProtocol::Grouped,
    CommitProtocol::Pipelined,
];

/// Options of a database on `fs`.
fn options(fs: &MemFs, protocol: CommitProtocol) -> Options {
    let mut options = Options::default();
    options.create_if_missing(true);
    options.stay_stopped();
    options.create_missing_column_families(true);
    options.set_fs(Arc::new(fs.clone()));
    options.set_commit_protocol(protocol);
    options
}

/// Opens a database with a second column family, `other`.
fn open_two(options: &Options) -> DB {
    DB::open_cf(options, "/db", ["default", "other"]).unwrap()
}

/// A transaction's batch that puts each of `keys`, with the key as value.
fn puts(keys: &[&str]) -> Batch {
    let mut batch = Batch::default();
    batch.push_noop();
    for key in keys {
        batch.push(0, ValueType::Value, key.as_bytes(), key.as_bytes());
    }
    batch
}

/// Prepares a section that puts `keys`.
fn prepare(engine: &Engine, name: &str, keys: &[&str]) -> PreparedSection {
    let section = engine.prepare_section(name.as_bytes(), &puts(keys), &WriteSpec::default());
    section.unwrap_or_else(|e| panic!("prepare of {name}: {e}"))
}

fn commit(engine: &Engine, section: &PreparedSection) {
    let done = engine.commit_section(section, None, &WriteSpec::default());
    done.unwrap_or_else(|e| panic!("commit: {e}"));
}

fn roll_back(engine: &Engine, section: &PreparedSection) {
    let done = engine.rollback_section(section, &WriteSpec::default());
    done.unwrap_or_else(|e| panic!("rollback: {e}"));
}

/// The id of the column family `name`.
fn id_of(engine: &Engine, name: &str) -> u32 {
    let families = engine.column_families();
    families.iter().find(|cf| cf.name == *name).unwrap().id
}

/// Waits until the flush that has ended has deleted the logs that it made obsolete.
fn await_purges(engine: &Engine) {
    let mut state = engine.lock_state();
    while state.running_flushes + state.purges > 0 {
        engine.background.wait_for_job(&mut state, None);
    }
}

/// The numbers of the logs in `/db`.
fn logs(fs: &MemFs) -> Vec<u64> {
    let names = fs.list(Path::new("/db")).unwrap();
    let mut numbers: Vec<u64> = (names.iter())
        .filter_map(|name| match filename::parse(name) {
            Some(FileType::Wal(number)) => Some(number),
            _ => None,
        })
        .collect();
    numbers.sort_unstable();
    numbers
}

/// The records of all logs in `/db`: `number,count` and the operations. Links between logs
/// are left out.
fn records(fs: &MemFs) -> Vec<String> {
    let mut all = Vec::new();
    for number in logs(fs) {
        let path = filename::wal(Path::new("/db"), number);
        let mut reader = LogReader::new(fs.open_sequential(&path).unwrap(), number);
        let mut record = Vec::new();
        while let ReadOutcome::Record = reader.read_record(&mut record).unwrap() {
            batch::check_logged(&record).expect("a whole batch");
            let ops: Vec<_> = batch::ops(&record).map(Result::unwrap).collect();
            if !matches!(ops[..], [Op::LogData(_)]) {
                all.push(text(&record, &ops));
            }
        }
    }
    all
}

/// The names of the sections that an opening would find, if the process was killed now:
/// those in the logs that are needed, without a decision behind them.
fn outstanding(fs: &MemFs, engine: &Engine) -> Vec<String> {
    // The manifest's number before the files, and both of one moment or older.
    let first = engine.files.versions.min_log_number_to_keep();
    let fs = fs.crash_clone(1.0, 1);
    let mut found = BTreeSet::new();
    for number in logs(&fs).into_iter().filter(|number| *number >= first) {
        let path = filename::wal(Path::new("/db"), number);
        let mut reader = LogReader::new(fs.open_sequential(&path).unwrap(), number);
        let mut record = Vec::new();
        while let ReadOutcome::Record = reader.read_record(&mut record).unwrap() {
            for op in batch::ops(&record) {
                match op.unwrap() {
                    Op::EndPrepare(xid) => found.insert(xid.to_vec()),
                    Op::Commit(xid) | Op::Rollback(xid) => found.remove(xid),
                    _ => false,
                };
            }
        }
    }
    let names = found.into_iter().map(String::from_utf8);
    names.map(Result::unwrap).collect()
}

fn text(record: &[u8], ops: &[Op<'_>]) -> String {
    let mut out = format!("{},{}", batch::sequence(record), batch::count(record));
    let name = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
    for op in ops {
        let op = match op {
            Op::Entry { ty, key, .. } => format!("{ty:?}({})", name(key)),
            Op::LogData(_) => "DATA".to_owned(),
            Op::Noop => "NOOP".to_owned(),
            Op::BeginPrepare(_) => "BEGIN".to_owned(),
            Op::EndPrepare(xid) => format!("END({})", name(xid)),
            Op::Commit(xid) | Op::CommitAt { xid, .. } => format!("COMMIT({})", name(xid)),
            Op::Rollback(xid) => format!("ROLLBACK({})", name(xid)),
        };
        write!(out, " {op}").unwrap();
    }
    out
}

/// The same calls as in RocksDB's log, with the same records but for the numbers: a section
/// takes one, a decision at least one.
#[test]
fn sections_and_decisions_are_logged_as_rocksdb_does() {
    for protocol in PROTOCOLS {
        let fs = MemFs::new();
        let db = DB::open(&options(&fs, protocol), "/db").unwrap();
        let engine = db.engine();
        db.put("k0", "k0").unwrap();
        let xa = prepare(engine, "xa", &["k1", "k2"]);
        assert_eq!(db.get("k1"), Ok(None), "{protocol}: prepared only");
        let mut batch = WriteBatch::default();
        batch.put("k3", "1");
        batch.delete("k0");
        batch.put("k3", "k3");
        db.write(batch).unwrap();
        commit(engine, &xa);
        let xc = prepare(engine, "xc", &["k1", "k9"]);
        roll_back(engine, &xc);
        let xe = prepare(engine, "xe", &["k5"]);
        let mut batch = WriteBatch::default();
        batch.put("k6", "k6");
        batch.put("k7", "k7");
        db.write(batch).unwrap();
        let mut at_commit = Batch::default();
        at_commit.push(0, ValueType::Value, b"k8", b"k8");
        at_commit.push(0, ValueType::Value, b"k5", b"lower");
        let spec = WriteSpec::default();
        engine.commit_section(&xe, Some(&at_commit), &spec).unwrap();
        db.put("last", "last").unwrap();
        let expected = [
            "1,1 Value(k0)",
            "2,2 BEGIN Value(k1) Value(k2) END(xa)",
            "3,3 Value(k3) Deletion(k0) Value(k3)",
            "6,0 COMMIT(xa)",
            "8,2 BEGIN Value(k1) Value(k9) END(xc)",
            "9,0 ROLLBACK(xc)",
            "10,1 BEGIN Value(k5) END(xe)",
            "11,2 Value(k6) Value(k7)",
            "13,2 Value(k8) Value(k5) COMMIT(xe)",
            "16,1 Value(last)",
        ];
        assert_eq!(records(&fs), expected, "{protocol}");
        assert_eq!(db.latest_sequence_number(), 16, "{protocol}");
        for key in ["k1", "k2", "k3", "k5", "k6", "k7", "k8"] {
            assert_eq!(db.get(key), Ok(Some(key.into())), "{protocol}");
        }
        for key in ["k0", "k9"] {
            assert_eq!(db.get(key), Ok(None), "{protocol}");
        }
    }
}

#[test]
fn a_name_is_taken_until_its_section_is_decided() {
    let fs = MemFs::new();
    let db = DB::open(&options(&fs, CommitProtocol::Ordered), "/db").unwrap();
    let engine = db.engine();
    let spec = WriteSpec::default();
    let section = prepare(engine, "x", &["a"]);
    let taken = engine.prepare_section(b"x", &puts(&["b"]), &spec);
    let e = taken.unwrap_err();
    assert_eq!(e.to_string(), "Invalid argument: Duplicate txn name x");
    assert_eq!(engine.prepared_sections().len(), 1);
    commit(engine, &section);
    assert_eq!(engine.prepared_sections().len(), 0);
    for again in [
        engine.commit_section(&section, None, &spec),
        engine.rollback_section(&section, &spec),
    ] {
        assert_eq!(again.unwrap_err().kind(), ErrorKind::InvalidArgument);
    }
    let other = prepare(engine, "x", &["b"]);
    let stale = engine.commit_section(&section, None, &spec);
    assert!(stale.is_err(), "another section of that name");
    roll_back(engine, &other);
    assert_eq!(records(&fs).len(), 4);
    assert_eq!(db.get("b"), Ok(None));
}

#[test]
fn what_a_section_cannot_have_is_refused() {
    let fs = MemFs::new();
    let db = DB::open(&options(&fs, CommitProtocol::Ordered), "/db").unwrap();
    let (engine, spec) = (db.engine(), WriteSpec::default());
    let refused = |batch: &Batch, spec: &WriteSpec| {
        let e = engine.prepare_section(b"x", batch, spec).unwrap_err();
        assert_eq!(engine.prepared_sections().len(), 0);
        e.to_string()
    };
    let mut ranges = puts(&["a"]);
    ranges.push(0, ValueType::RangeDeletion, b"a", b"b");
    let text = refused(&ranges, &spec);
    assert_eq!(text, "Invalid argument: DeleteRangeCF not implemented");
    let mut missing = puts(&["a"]);
    missing.push(7, ValueType::Value, b"a", b"b");
    assert!(refused(&missing, &spec).contains("Invalid column family"));
    let mut merges = puts(&[]);
    merges.push(0, ValueType::Merge, b"a", b"b");
    assert!(refused(&merges, &spec).contains("Merge requires"));
    let unlogged = WriteSpec {
        sync: true,
        disable_wal: true,
        ..WriteSpec::default()
    };
    assert!(refused(&puts(&["a"]), &unlogged).contains("has to enable WAL"));
    assert_eq!(db.latest_sequence_number(), 0, "nothing was taken");
    drop(db);

    let db = DB::open(&options(&fs, CommitProtocol::Unordered), "/db").unwrap();
    let e = db.engine().prepare_section(b"x", &puts(&["a"]), &spec);
    assert_eq!(
        e.unwrap_err().to_string(),
        "Not implemented: WRITE_COMMITTED is incompatible with unordered_writes"
    );
}

/// Unlogged decisions would let a committed section come back.
#[test]
fn sections_and_decisions_are_logged_without_a_log_too() {
    for protocol in PROTOCOLS {
        let fs = MemFs::new();
        let db = DB::open(&options(&fs, protocol), "/db").unwrap();
        let engine = db.engine();
        let unlogged = WriteSpec {
            disable_wal: true,
            ..WriteSpec::default()
        };
        let x = engine.prepare_section(b"x", &puts(&["a"]), &unlogged);
        let x = x.unwrap();
        engine.commit_section(&x, None, &unlogged).unwrap();
        let expected = ["1,1 BEGIN Value(a) END(x)", "2,0 COMMIT(x)"];
        assert_eq!(records(&fs), expected, "{protocol}");
    }
}

/// The entries of a family that was dropped meanwhile take their numbers.
#[test]
fn a_family_may_be_dropped_before_the_commit() {
    for protocol in PROTOCOLS {
        let fs = MemFs::new();
        let db = open_two(&options(&fs, protocol));
        let id = id_of(db.engine(), "other");
        let mut batch = Batch::default();
        batch.push(id, ValueType::Value, b"a", b"1");
        batch.push(0, ValueType::Value, b"b", b"2");
        let spec = WriteSpec::default();
        let x = db.engine().prepare_section(b"x", &batch, &spec).unwrap();
        let other = db.engine().column_families().pop().unwrap();
        db.engine().drop_cf(&other).unwrap();
        commit(db.engine(), &x);
        assert_eq!(db.latest_sequence_number(), 3, "{protocol}");
        assert_eq!(db.get("b"), Ok(Some(b"2".into())), "{protocol}");
        db.flush().unwrap();
        assert_eq!(db.get("b"), Ok(Some(b"2".into())), "{protocol}");
    }
}

/// Sections, decisions and writes from several threads: each record is whole, and a group
/// has no section beside other writes.
#[test]
fn sections_have_records_of_their_own() {
    for protocol in PROTOCOLS {
        let fs = MemFs::new();
        let db = &DB::open(&options(&fs, protocol), "/db").unwrap();
        let engine = db.engine();
        std::thread::scope(|s| {
            for t in 0..4 {
                s.spawn(move || {
                    for n in 0..100 {
                        let name = format!("{t}.{n}");
                        let x = prepare(engine, &name, &[&name, "shared"]);
                        db.put(format!("p{name}"), "v").unwrap();
                        if n % 3 == 0 {
                            roll_back(engine, &x);
                        } else {
                            commit(engine, &x);
                        }
                    }
                });
            }
        });
        let records = records(&fs);
        let decided = |kind| records.iter().filter(|r| r.contains(kind)).count();
        assert_eq!((decided("ROLLBACK"), decided("COMMIT")), (136, 264));
        for record in &records {
            let whole = match record.split(' ').nth(1) {
                Some("BEGIN") => record.matches(' ').count() == 4,
                Some(op) if op.contains("COMMIT") => record.matches(' ').count() == 1,
                Some(op) if op.contains("ROLLBACK") => record.matches(' ').count() == 1,
                _ => !record.contains("BEGIN") && !record.contains("COMMIT"),
            };
            assert!(whole, "{protocol}: {record}");
        }
        // 400 sections, 400 puts, 136 rollbacks, and two entries of each commit.
        assert_eq!(db.latest_sequence_number(), 400 + 400 + 136 + 2 * 264);
        for t in 0..4 {
            for n in 0..100 {
                let name = format!("{t}.{n}");
                assert_eq!(db.get(&name).unwrap().is_some(), n % 3 != 0, "{name}");
            }
        }
    }
}
