//! Sections that are inserted when they are prepared (`WRITE_PREPARED`): what is logged, numbered
//! and undecided (here), `failures` and resumptions, `retention` of logs, what a rollback has to
//! `undo`, what `tables` have, what goes on `beside` a decision, `threads` that write and read
//! beside each other, what an opening does with sections (`recovery`), `fixtures` of RocksDB,
//! `readers` of logs.

mod beside;
mod failures;
mod fixtures;
mod readers;
mod recovery;
mod retention;
mod tables;
mod threads;
mod undo;

use super::{PROTOCOLS, commit, prepare, puts, records};
use crate::db::Engine;
use crate::options::read::WriteSpec;
use crate::options::write_policy::WritePolicy;
use crate::{CommitProtocol, DB, ErrorKind, Options, WriteBatch};
use whitewater_concurrent::undecided::Undecided;
use whitewater_storage::batch::Batch;
use whitewater_storage::fs::mem::MemFs;
use whitewater_storage::key::ValueType;

/// Options of a database on `fs` whose sections are inserted early.
fn options(fs: &MemFs, protocol: CommitProtocol) -> Options {
    let mut options = super::options(fs, protocol);
    options.set_write_policy(WritePolicy::WritePrepared);
    options
}

/// The ranges that are undecided.
fn undecided(engine: &Engine) -> Vec<(u64, u64)> {
    let undecided = engine.commit.undecided.as_deref().and_then(Undecided::now);
    let ranges = undecided.iter().flat_map(|all| all.ranges());
    ranges.map(|range| (range.first, range.last)).collect()
}

/// The numbers of the versions of `key` in the newest memtable of the default family.
fn versions(engine: &Engine, key: &str) -> Vec<u64> {
    let view = engine.default_cf().pin_owned();
    let mut entries = view.mem.iter();
    let mut found = Vec::new();
    entries.seek_to_first();
    while entries.valid() {
        let parsed = whitewater_storage::key::parse_internal_key(entries.key()).unwrap();
        if parsed.user_key == key.as_bytes() {
            found.push(parsed.seq);
        }
        entries.next();
    }
    found
}

/// The same calls as under `WRITE_COMMITTED`, with the records that RocksDB has under
/// `WRITE_PREPARED` but for the numbers: an entry outside of sections takes one for itself.
#[test]
fn records_are_those_of_write_prepared() {
    for protocol in PROTOCOLS {
        let fs = MemFs::new();
        let db = DB::open(&options(&fs, protocol), "/db").unwrap();
        let engine = db.engine();
        db.put("k0", "k0").unwrap();
        let xa = prepare(engine, "xa", &["k1", "k2"]);
        assert_eq!(undecided(engine), [(2, 2)], "{protocol}");
        assert_eq!(versions(engine, "k1"), [2], "{protocol}");
        assert_eq!(versions(engine, "k2"), [2], "{protocol}");
        let mut batch = WriteBatch::default();
        batch.put("k3", "1");
        batch.delete("k0");
        batch.put("k3", "k3");
        db.write(batch).unwrap();
        commit(engine, &xa);
        assert_eq!(undecided(engine), [], "{protocol}");
        let mut log_data = WriteBatch::default();
        log_data.put_log_data("data");
        db.write(log_data).unwrap();
        let xe = prepare(engine, "xe", &["k5", "k6", "k5"]);
        assert_eq!(undecided(engine), [(8, 9)], "{protocol}");
        assert_eq!(versions(engine, "k5"), [9, 8], "{protocol}");
        assert_eq!(versions(engine, "k6"), [8], "{protocol}");
        let mut at_commit = Batch::default();
        at_commit.push(0, ValueType::Value, b"k8", b"k8");
        at_commit.push(0, ValueType::Value, b"k5", b"higher");
        let spec = WriteSpec::default();
        engine.commit_section(&xe, Some(&at_commit), &spec).unwrap();
        assert_eq!(undecided(engine), [], "{protocol}");
        db.put("last", "last").unwrap();
        let expected = [
            "1,1 Value(k0) NOOP",
            "2,2 BEGIN Value(k1) Value(k2) END(xa)",
            "3,3 Value(k3) Deletion(k0) Value(k3) NOOP",
            "6,0 COMMIT(xa)",
            "7,0 DATA NOOP",
            "8,3 BEGIN Value(k5) Value(k6) Value(k5) END(xe)",
            "10,2 Value(k8) Value(k5) COMMIT(xe)",
            "12,1 Value(last) NOOP",
        ];
        assert_eq!(records(&fs), expected, "{protocol}");
        assert_eq!(db.latest_sequence_number(), 12, "{protocol}");
        for key in ["k1", "k2", "k3", "k6", "k8"] {
            assert_eq!(db.get(key), Ok(Some(key.into())), "{protocol}");
        }
        assert_eq!(db.get("k5"), Ok(Some(b"higher".into())), "{protocol}");
        assert_eq!(db.get("k0"), Ok(None), "{protocol}");
    }
}

/// The log numbers operations by the bytes of their keys, so a key has one form in a batch.
#[test]
fn equal_keys_of_different_bytes_are_refused_in_a_batch() {
    let fs = MemFs::new();
    let mut options = options(&fs, CommitProtocol::Ordered);
    options.set_comparator(
        "caseless",
        Box::new(|a: &[u8], b: &[u8]| a.to_ascii_lowercase().cmp(&b.to_ascii_lowercase())),
    );
    let db = DB::open(&options, "/db").unwrap();
    let mut batch = WriteBatch::default();
    for key in ["b", "a", "B"] {
        batch.put(key, "1");
    }
    let e = db.write(batch).unwrap_err();
    assert_eq!(e.kind(), ErrorKind::NotSupported);
    let refused = db
        .engine()
        .prepare_section(b"x", &puts(&["a", "A"]), &WriteSpec::default());
    assert!(refused.is_err());
    assert_eq!(db.latest_sequence_number(), 0, "nothing was taken");
    let x = prepare(db.engine(), "x", &["a", "b", "a"]);
    commit(db.engine(), &x);
    assert_eq!(db.get("A"), Ok(Some(b"a".into())));
}

/// A batch of the caller may use up no more numbers in the log than it takes.
#[test]
fn a_noop_behind_log_data_is_refused() {
    let fs = MemFs::new();
    let db = DB::open(&options(&fs, CommitProtocol::Ordered), "/db").unwrap();
    let mut batch = Batch::default();
    batch.push_noop();
    batch.push_log_data(b"data");
    batch.push(0, ValueType::Value, b"a", b"1");
    let (engine, spec) = (db.engine(), WriteSpec::default());
    engine.write_and_return(batch.clone(), &spec).1.unwrap();
    let (back, outcome) = engine.write_and_return(batch.clone(), &spec);
    assert_eq!((&back, outcome), (&batch, Ok(())), "as it was");
    batch.push_noop();
    let (back, refused) = engine.write_and_return(batch.clone(), &spec);
    assert_eq!(refused.unwrap_err().kind(), ErrorKind::InvalidArgument);
    assert_eq!(back, batch);
    let expected = ["1,1 NOOP DATA Value(a) NOOP", "2,1 NOOP DATA Value(a) NOOP"];
    assert_eq!(records(&fs), expected);
}
