//! With `WRITE_PREPARED`, the numbers of unordered writes are undecided until they are inserted.

use super::{Db, await_held, hold, hold_again, let_go, open_with};
use crate::db::Engine;
use crate::options::read::WriteSpec;
use crate::options::write_policy::WritePolicy;
use crate::{
    IteratorMode, MemtableFactory, Options, ReadOptions, Severity, SliceTransform,
    SnapshotWithThreadMode, WriteBatch,
};
use std::thread;
use whitewater_concurrent::undecided::Undecided;
use whitewater_storage::batch::Batch;
use whitewater_storage::fs::mem::MemFs;
use whitewater_storage::key::ValueType;

const KINDS: [MemtableFactory; 5] = [
    MemtableFactory::SkipList,
    MemtableFactory::Art,
    MemtableFactory::Vector,
    MemtableFactory::HashSkipList {
        bucket_count: 64,
        height: 4,
        branching_factor: 4,
    },
    MemtableFactory::HashLinkList { bucket_count: 64 },
];

fn open(fs: &MemFs, policy: WritePolicy, kind: &MemtableFactory) -> Db {
    open_with(fs, policy, |options: &mut Options| {
        options.set_memtable_factory(*kind);
    })
}

fn prepared(fs: &MemFs) -> Db {
    open(fs, WritePolicy::WritePrepared, &MemtableFactory::Art)
}

/// The ranges that are undecided.
fn undecided(engine: &Engine) -> Vec<(u64, u64)> {
    let now = engine.commit.undecided.as_deref().and_then(Undecided::now);
    let ranges = now.iter().flat_map(|all| all.ranges());
    ranges.map(|range| (range.first, range.last)).collect()
}

/// What `snapshot` shows of both column families, by an iterator and by look-ups.
fn shown(db: &Db, snapshot: &SnapshotWithThreadMode<'_, Db>) -> Vec<String> {
    let mut all = Vec::new();
    for family in ["default", "other"] {
        let cf = db.cf_handle(family).unwrap();
        let mut options = ReadOptions::default();
        options.set_total_order_seek(true);
        let entries = snapshot.iterator_cf_opt(&cf, options, IteratorMode::Start);
        for entry in entries {
            let (key, value) = entry.unwrap();
            let found = snapshot.get_cf(&cf, &key).unwrap();
            assert_eq!(found.as_deref(), Some(&*value), "{key:?}");
            let text = |bytes: &[u8]| String::from_utf8(bytes.to_vec()).unwrap();
            all.push(format!("{}={}", text(&key), text(&value)));
        }
    }
    all
}

/// A batch over two column families that is held when it has inserted into one of them.
fn held_batch(db: &Db) -> WriteBatch {
    let other = db.cf_handle("other").unwrap();
    let mut batch = WriteBatch::default();
    batch.put("a", "2");
    batch.merge("m", "2");
    batch.delete("o");
    batch.put_cf(&other, "held", "2");
    batch
}

/// Reads while a batch is held in the middle of its insert: what a snapshot shows then and once
/// the batch is inserted.
fn around_a_held_batch(policy: WritePolicy, kind: &MemtableFactory) -> [Vec<String>; 2] {
    let fs = MemFs::new();
    let db = open(&fs, policy, kind);
    db.put("a", "1").unwrap();
    db.merge("m", "1").unwrap();
    db.put("o", "1").unwrap();
    let _turn = hold();
    let (mut then, mut later) = (Vec::new(), Vec::new());
    thread::scope(|s| {
        let writer = s.spawn(|| db.write(held_batch(&db)));
        await_held();
        assert_eq!(db.latest_sequence_number(), 7, "visible by its number");
        db.put("z", "3").unwrap();
        assert_eq!(db.get("z").unwrap().unwrap(), b"3", "what was acknowledged");
        let snapshot = db.snapshot();
        then = shown(&db, &snapshot);
        assert_eq!(shown(&db, &db.snapshot()), then);
        let_go();
        writer.join().unwrap().unwrap();
        later = shown(&db, &snapshot);
    });
    let all = ["a=2", "m=12", "z=3", "held=2"];
    assert_eq!(shown(&db, &db.snapshot()), all, "{kind:?}");
    assert_eq!(undecided(db.engine()), [], "{kind:?}");
    [then, later]
}

#[test]
fn a_snapshot_over_a_batch_under_way_shows_nothing_of_it_then_and_later() {
    for kind in &KINDS {
        let [then, later] = around_a_held_batch(WritePolicy::WritePrepared, kind);
        assert_eq!(then, ["a=1", "m=1", "o=1", "z=3"], "{kind:?}");
        assert_eq!(later, then, "{kind:?}");
    }
}

/// That the test above can see it: without undecided numbers, half of the batch is seen, and
/// then the snapshot changes.
#[test]
fn a_snapshot_of_plain_unordered_writes_shows_half_a_batch_and_changes() {
    for kind in [MemtableFactory::SkipList, MemtableFactory::Art] {
        let [then, later] = around_a_held_batch(WritePolicy::WriteCommitted, &kind);
        assert_eq!(then, ["a=2", "m=12", "z=3"], "{kind:?}");
        assert_eq!(later, ["a=2", "m=12", "z=3", "held=2"], "{kind:?}");
    }
}

/// Nothing keeps these two apart, as no key is locked: the operand with the lower number comes
/// under the other when that was read already. A snapshot keeps what it saw.
#[test]
fn an_operand_that_is_decided_late_comes_under_a_newer_one_but_not_into_a_snapshot() {
    let _turn = hold();
    let db = prepared(&MemFs::new());
    thread::scope(|s| {
        let writer = s.spawn(|| db.merge("held", "1"));
        await_held();
        db.merge("held", "2").unwrap();
        let snapshot = db.snapshot();
        assert_eq!(snapshot.get("held").unwrap().unwrap(), b"2");
        let_go();
        writer.join().unwrap().unwrap();
        assert_eq!(snapshot.get("held").unwrap().unwrap(), b"2");
    });
    assert_eq!(db.get("held").unwrap().unwrap(), b"12");
}

/// Nor these two batches with a key in common: what readers see of them, first and at last, is in
/// no order. In a database with transactions each would lock its keys.
#[test]
fn batches_of_one_key_that_nothing_keeps_apart_are_seen_in_no_order() {
    let _turn = hold();
    let db = prepared(&MemFs::new());
    let other = db.cf_handle("other").unwrap();
    let (mut first, mut second) = (WriteBatch::default(), WriteBatch::default());
    first.put("both", "1");
    first.put_cf(&other, "held", "1");
    second.put("both", "2");
    thread::scope(|s| {
        let writer = s.spawn(|| db.write(first));
        await_held();
        db.write(second).unwrap();
        assert_eq!(shown(&db, &db.snapshot()), ["both=2"], "the second alone");
        let_go();
        writer.join().unwrap().unwrap();
    });
    let last = shown(&db, &db.snapshot());
    assert_eq!(last, ["both=2", "held=1"], "as if the first had come first");
}

/// The numbers of a failed insert stay undecided: readers see nothing of the batch, and the next
/// opening finds all of it in the log.
#[test]
fn nothing_is_seen_of_a_batch_whose_insert_failed() {
    let _turn = hold();
    let fs = MemFs::new();
    let db = prepared(&fs);
    db.put("a", "1").unwrap();
    let other = db.cf_handle("other").unwrap();
    let mut batch = WriteBatch::default();
    batch.put("a", "2");
    batch.put_cf(&other, "held and bad", "2");
    batch.put("z", "2");
    thread::scope(|s| {
        let writer = s.spawn(|| db.write(batch));
        await_held();
        let snapshot = db.snapshot();
        let_go();
        assert!(writer.join().unwrap().is_err());
        assert_eq!(shown(&db, &snapshot), ["a=1"]);
    });
    assert_eq!(shown(&db, &db.snapshot()), ["a=1"]);
    assert_eq!(db.get("a").unwrap().unwrap(), b"1");
    assert_eq!(
        undecided(db.engine()),
        [(2, 4)],
        "for as long as it is open"
    );
    assert_eq!(db.resume().unwrap_err().severity(), Severity::FatalError);
    assert!(db.put("b", "3").is_err());
    assert_eq!(shown(&db, &db.snapshot()), ["a=1"]);
    let left = fs.crash_clone(1.0, 1);
    let db = open_with(&left, WritePolicy::WritePrepared, |options| {
        options.set_prefix_extractor(SliceTransform::create_fixed_prefix(1));
    });
    let all = ["a=2", "z=2", "held and bad=2"];
    assert_eq!(shown(&db, &db.snapshot()), all);
    assert_eq!(undecided(db.engine()), []);
}

/// Puts `keys`, those that are held into the second column family.
fn puts(keys: &[&str]) -> Batch {
    let mut batch = Batch::default();
    batch.push_noop();
    for key in keys {
        let cf = u32::from(key.starts_with("held"));
        batch.push(cf, ValueType::Value, key.as_bytes(), b"2");
    }
    batch
}

/// A section is prepared, and committed with an operation of its own, each held in its insert:
/// all of it is seen from one instant on.
#[test]
fn a_section_over_unordered_commit_is_seen_whole_when_it_is_committed() {
    let db = prepared(&MemFs::new());
    let engine = db.engine();
    let spec = WriteSpec::default();
    db.put("a", "1").unwrap();
    let _turn = hold();
    let section = thread::scope(|s| {
        let preparing = s.spawn(|| {
            let batch = puts(&["a", "held"]);
            engine.prepare_section(b"x", &batch, &spec).unwrap()
        });
        await_held();
        assert_eq!(undecided(engine), [(2, 2)]);
        let oldest = engine.commit.sections.oldest_log();
        assert!(oldest.is_some(), "X1: before it is inserted");
        assert_eq!(shown(&db, &db.snapshot()), ["a=1"]);
        let_go();
        preparing.join().unwrap()
    });
    assert_eq!(shown(&db, &db.snapshot()), ["a=1"]);
    let before = db.snapshot();
    hold_again();
    thread::scope(|s| {
        let at_commit = puts(&["b", "held at commit"]);
        let committing = {
            let (section, spec) = (&section, &spec);
            s.spawn(move || engine.commit_section(section, Some(&at_commit), spec))
        };
        await_held();
        assert_eq!(undecided(engine), [(2, 2), (3, 4)]);
        assert_eq!(shown(&db, &db.snapshot()), ["a=1"]);
        let_go();
        committing.join().unwrap().unwrap();
    });
    assert_eq!(undecided(engine), []);
    assert_eq!(shown(&db, &before), ["a=1"]);
    let all = ["a=2", "b=2", "held=2", "held at commit=2"];
    assert_eq!(shown(&db, &db.snapshot()), all);
}

#[test]
fn a_section_that_is_rolled_back_over_unordered_commit_is_never_seen() {
    let db = prepared(&MemFs::new());
    let engine = db.engine();
    let spec = WriteSpec::default();
    db.put("a", "1").unwrap();
    let section = engine.prepare_section(b"x", &puts(&["a", "n"]), &spec);
    let before = db.snapshot();
    engine.rollback_section(&section.unwrap(), &spec).unwrap();
    assert_eq!(undecided(engine), []);
    for snapshot in [before, db.snapshot()] {
        assert_eq!(shown(&db, &snapshot), ["a=1"]);
    }
    assert_eq!(db.latest_sequence_number(), 4, "the restored values");
}

/// The numbers of a prepare or of a decision whose insert failed stay undecided, too.
#[test]
fn nothing_is_seen_of_a_section_whose_insert_failed() {
    let spec = WriteSpec::default();
    for at_prepare in [true, false] {
        let db = prepared(&MemFs::new());
        let engine = db.engine();
        db.put("a", "1").unwrap();
        let keys: &[&str] = if at_prepare {
            &["a", "held and bad"]
        } else {
            &["a"]
        };
        let turn = hold();
        let_go();
        let section = engine.prepare_section(b"x", &puts(keys), &spec);
        if at_prepare {
            assert!(section.is_err());
            assert_eq!(undecided(engine), [(2, 2)]);
        } else {
            let section = section.unwrap();
            let at_commit = puts(&["b", "held and bad"]);
            let done = engine.commit_section(&section, Some(&at_commit), &spec);
            assert!(done.is_err());
            assert_eq!(undecided(engine), [(2, 2), (3, 4)]);
        }
        drop(turn);
        assert_eq!(shown(&db, &db.snapshot()), ["a=1"]);
        assert!(db.put("c", "3").is_err());
    }
}

/// Many writers of batches over two column families, and readers that read everything twice.
#[test]
fn snapshots_of_many_unordered_writers_show_whole_batches_and_do_not_change() {
    const WRITERS: u8 = 4;
    const ROUNDS: u32 = 60;
    for kind in &KINDS {
        let fs = MemFs::new();
        let db = open_with(&fs, WritePolicy::WritePrepared, |options| {
            options.set_memtable_factory(*kind);
            options.set_failpoints(|_, number| {
                if number.is_multiple_of(3) {
                    thread::yield_now();
                }
            });
        });
        let other = db.cf_handle("other").unwrap();
        thread::scope(|s| {
            let writers: Vec<_> = (0..WRITERS)
                .map(|writer| {
                    let (db, other) = (&db, &other);
                    s.spawn(move || {
                        for round in 0..ROUNDS {
                            let mut batch = WriteBatch::default();
                            let value = format!("{round}");
                            for key in 0..3 {
                                batch.put_cf(other, format!("{key}-{writer}"), &value);
                                batch.put(format!("{key}-{writer}"), &value);
                            }
                            db.write(batch).unwrap();
                            let read = db.get_cf(other, format!("0-{writer}")).unwrap();
                            assert_eq!(read.unwrap(), value.as_bytes(), "its own");
                        }
                    })
                })
                .collect();
            let mut taken = Vec::new();
            while !writers.iter().all(thread::ScopedJoinHandle::is_finished) {
                let snapshot = db.snapshot();
                let shown = shown(&db, &snapshot);
                for writer in 0..WRITERS {
                    let mine = |entry: &&String| entry.contains(&format!("-{writer}="));
                    let value = |entry: &String| entry.split_once('=').unwrap().1.to_owned();
                    let values: Vec<_> = shown.iter().filter(mine).map(value).collect();
                    assert!(values.len() == 6 || values.is_empty(), "a part: {shown:?}");
                    assert!(values.windows(2).all(|two| two[0] == two[1]), "{shown:?}");
                }
                taken.push((snapshot, shown));
            }
            for (snapshot, before) in &taken {
                assert_eq!(shown(&db, snapshot), *before, "{kind:?}");
            }
        });
        assert_eq!(undecided(db.engine()), [], "{kind:?}");
    }
}

/// A flush waits for the batch. Then its tables keep what a snapshot sees that was taken before.
#[test]
fn flushes_and_compactions_keep_what_a_snapshot_over_a_batch_under_way_sees() {
    for kind in &KINDS {
        let db = open(&MemFs::new(), WritePolicy::WritePrepared, kind);
        let other = db.cf_handle("other").unwrap();
        let seen = ["a=1", "m=1", "o=1"];
        db.put("a", "1").unwrap();
        db.merge("m", "1").unwrap();
        db.put("o", "1").unwrap();
        let _turn = hold();
        let mut snapshot = None;
        thread::scope(|s| {
            let writer = s.spawn(|| db.write(held_batch(&db)));
            await_held();
            snapshot = Some(db.snapshot());
            let flush = s.spawn(|| db.flush());
            while db.engine().state.lock().cfs[&0].imm.is_empty() && !flush.is_finished() {
                thread::yield_now();
            }
            assert!(!flush.is_finished(), "flushed what is not complete");
            let_go();
            writer.join().unwrap().unwrap();
            flush.join().unwrap().unwrap();
        });
        let snapshot = snapshot.unwrap();
        assert_eq!(shown(&db, &snapshot), seen, "{kind:?}");
        db.put("a", "3").unwrap();
        for cf in [&db.cf_handle("default").unwrap(), &other] {
            db.flush_cf(cf).unwrap();
            db.compact_range_cf(cf, None::<&[u8]>, None::<&[u8]>);
        }
        assert_eq!(shown(&db, &snapshot), seen, "{kind:?}");
        let now = ["a=3", "m=12", "held=2"];
        assert_eq!(shown(&db, &db.snapshot()), now, "{kind:?}");
    }
}
