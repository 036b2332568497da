//! Unordered writes that are visible and not inserted yet, beside a switch, a flush and the
//! deletion of logs; with `WRITE_PREPARED`, beside readers, who pass over what is `undecided`.

mod undecided;

use crate::options::write_policy::WritePolicy;
use crate::{
    ColumnFamilyDescriptor, CommitProtocol, DBWithThreadMode, FlushOptions, MultiThreaded, Options,
    Severity, SliceTransform, WriteOptions,
};
use std::sync::Arc;
use std::thread;
use std::time::Duration;
use whitewater_concurrent::system::{Condvar, Mutex, MutexGuard};
use whitewater_storage::fs::mem::MemFs;

type Db = DBWithThreadMode<MultiThreaded>;

/// Makes the first insert of a key that begins with "held" wait in the prefix extractor,
/// which an insert calls before anything else.
struct Hold {
    /// How many inserts have arrived, and whether the first may continue.
    state: Mutex<(usize, bool)>,
    changed: Condvar,
}

/// A static, because function pointers have no other access to it; tests take turns.
static HOLD: Hold = Hold {
    state: Mutex::new((0, true)),
    changed: Condvar::new(),
};
static TURN: Mutex<()> = Mutex::new(());

fn prefix(key: &[u8]) -> &[u8] {
    if key.starts_with(b"held") {
        let mut state = HOLD.state.lock();
        state.0 += 1;
        if state.0 == 1 {
            HOLD.changed.notify_all();
            HOLD.changed.wait_while(&mut state, |state| !state.1);
        }
    }
    if key == b"held and bad" {
        panic!("planted");
    }
    &key[..1]
}

/// Holds the first insert that arrives from now on.
fn hold() -> MutexGuard<'static, ()> {
    let turn = TURN.lock();
    *HOLD.state.lock() = (0, false);
    turn
}

/// The same once more, by the holder of the turn.
fn hold_again() {
    *HOLD.state.lock() = (0, false);
}

/// Waits until an insert is held.
fn await_held() {
    let mut state = HOLD.state.lock();
    HOLD.changed.wait_while(&mut state, |state| state.0 == 0);
}

fn let_go() {
    HOLD.state.lock().1 = true;
    HOLD.changed.notify_all();
}

fn open(fs: &MemFs) -> Db {
    open_with(fs, WritePolicy::WriteCommitted, |_| {})
}

fn open_with(fs: &MemFs, policy: WritePolicy, change: impl Fn(&mut Options)) -> Db {
    let mut options = Options::default();
    options.set_write_policy(policy);
    options.create_if_missing(true);
    options.stay_stopped();
    options.create_missing_column_families(true);
    options.set_fs(Arc::new(fs.clone()));
    options.set_commit_protocol(CommitProtocol::Unordered);
    options.set_prefix_extractor(SliceTransform::create("gate", prefix, None));
    options.set_memtable_prefix_bloom_ratio(0.05);
    options.set_merge_operator_associative("append", |_, existing, operands| {
        let mut merged = existing.unwrap_or_default().to_vec();
        operands
            .iter()
            .for_each(|operand| merged.extend_from_slice(operand));
        Some(merged)
    });
    change(&mut options);
    let families = ["default", "other"];
    let families = families.map(|name| ColumnFamilyDescriptor::new(name, options.clone()));
    Db::open_cf_descriptors(&options, "/db", families).unwrap()
}

/// The number of the oldest log of each memtable.
fn wal_numbers(db: &Db) -> Vec<u64> {
    let state = db.engine().state.lock();
    state.cfs.values().map(|cf| cf.mem.wal_number()).collect()
}

/// A flush of a memtable waits for the inserts that are pending in it, and lets later
/// writers continue.
#[test]
fn a_flush_waits_for_pending_inserts() {
    let _turn = hold();
    let db = open(&MemFs::new());
    let mut unlogged = WriteOptions::default();
    unlogged.disable_wal(true);
    db.put_opt("a", "1", &unlogged).unwrap();
    thread::scope(|s| {
        let writer = s.spawn(|| db.put_opt("held", "2", &unlogged));
        await_held();
        assert_eq!(db.latest_sequence_number(), 2, "visible, not inserted");
        let flush = s.spawn(|| db.flush());
        // The switch does not wait, nor do writers after it.
        while db.engine().state.lock().cfs[&0].imm.is_empty() && !flush.is_finished() {
            thread::yield_now();
        }
        db.put_opt("b", "3", &unlogged).unwrap();
        assert_eq!(db.get("b").unwrap().unwrap(), b"3");
        // Gives a flush that does not wait time to show itself.
        thread::sleep(Duration::from_millis(50));
        assert!(!flush.is_finished(), "flushed what is not complete");
        assert_eq!(db.engine().state.lock().cfs[&0].version.num_files(0), 0);
        let_go();
        writer.join().unwrap().unwrap();
        flush.join().unwrap().unwrap();
    });
    let state = db.engine().state.lock();
    let tables = state.cfs[&0].version.levels[0].clone();
    assert_eq!(tables.len(), 1);
    assert_eq!(tables[0].meta.largest[..4], *b"held");
    drop(state);
    assert_eq!(db.get("held").unwrap().unwrap(), b"2");
}

/// What `docs/design/write-path.md` says is given up for merges: an older write of the key
/// can appear below an operand that was already read. A put never does that, since it hides
/// what is below it.
#[test]
fn an_older_write_of_a_merged_key_can_appear_after_a_newer_operand_was_read() {
    let _turn = hold();
    let db = open(&MemFs::new());
    thread::scope(|s| {
        let writer = s.spawn(|| db.merge("held", "1"));
        await_held();
        db.merge("held", "2").unwrap();
        assert_eq!(db.get("held").unwrap().unwrap(), b"2");
        let_go();
        writer.join().unwrap().unwrap();
    });
    // The value is in the order of sequence numbers once all writers have returned.
    assert_eq!(db.get("held").unwrap().unwrap(), b"12");
}

#[test]
fn an_older_write_of_a_key_never_appears_over_a_newer_value() {
    let _turn = hold();
    let db = open(&MemFs::new());
    thread::scope(|s| {
        let writer = s.spawn(|| db.merge("held", "1"));
        await_held();
        db.put("held", "2").unwrap();
        assert_eq!(db.get("held").unwrap().unwrap(), b"2");
        let_go();
        writer.join().unwrap().unwrap();
    });
    assert_eq!(db.get("held").unwrap().unwrap(), b"2");
}

/// A memtable that is empty except for an insert on its way keeps its log.
#[test]
fn a_memtable_with_a_pending_insert_keeps_its_log() {
    let _turn = hold();
    let fs = MemFs::new();
    let db = open(&fs);
    let other = db.cf_handle("other").unwrap();
    let log = wal_numbers(&db);
    let mut now = FlushOptions::default();
    now.set_wait(false);
    thread::scope(|s| {
        let writer = s.spawn(|| db.put_cf(&other, "held", "1"));
        await_held();
        db.put("a", "2").unwrap();
        db.flush_opt(&now).unwrap();
        assert!(wal_numbers(&db)[0] > log[0], "a new log was begun");
        assert_eq!(wal_numbers(&db)[1], log[1], "needed for what is pending");
        // The log is not released by this switch, nor by a later one.
        db.put("b", "3").unwrap();
        db.flush_opt(&now).unwrap();
        assert_eq!(wal_numbers(&db)[1], log[1]);
        let_go();
        writer.join().unwrap().unwrap();
    });
    db.flush().unwrap();
    assert_eq!(wal_numbers(&db)[1], log[1], "and for what is in it now");
    assert_eq!(db.get_cf(&other, "held").unwrap().unwrap(), b"1");
    drop(other);
    // The files as a killed process leaves them.
    let left = fs.crash_clone(1.0, 1);
    let db = open(&left);
    let other = db.cf_handle("other").unwrap();
    assert_eq!(db.get_cf(&other, "held").unwrap().unwrap(), b"1");
}

/// An insert fails after it was published: reads continue, nothing else does, and what the
/// memtable lacks is in the log.
#[test]
fn a_pending_insert_that_fails_is_never_flushed_over() {
    let _turn = hold();
    let fs = MemFs::new();
    let db = open(&fs);
    db.put("a", "1").unwrap();
    thread::scope(|s| {
        let writer = s.spawn(|| db.put("held and bad", "2"));
        await_held();
        let flush = s.spawn(|| db.flush());
        while db.engine().state.lock().cfs[&0].imm.is_empty() && !flush.is_finished() {
            thread::yield_now();
        }
        let_go();
        assert!(writer.join().unwrap().is_err());
        assert!(flush.join().unwrap().is_err());
    });
    assert!(db.put("c", "3").is_err());
    assert_eq!(db.get("a").unwrap().unwrap(), b"1");
    assert_eq!(db.live_files().unwrap().len(), 0);
    // A resumption does not pass over it either, however often it is tried.
    for _ in 0..2 {
        let e = db.resume().unwrap_err();
        assert_eq!(e.severity(), Severity::FatalError, "{e}");
        assert!(e.to_string().contains("panicked during an insert"), "{e}");
        let refused = db.put("c", "3").unwrap_err();
        assert_eq!(refused.severity(), Severity::FatalError, "{refused}");
        assert_eq!(db.get("a").unwrap().unwrap(), b"1", "reads go on");
    }
}
