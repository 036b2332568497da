//! Merges that are stored as values (`max_successive_merges`).

use crate::memtable::Memtable;
use crate::read::testing::quietly;
use crate::{
    BlockBasedOptions, ColumnFamilyDescriptor, CommitProtocol, DBWithThreadMode, IteratorMode,
    MemtableFactory, MergeOperands, MultiThreaded, Options, ReadOptions, SliceTransform,
    WriteBatch, WriteOptions,
};
use rand::rngs::StdRng;
use rand::{Rng, SeedableRng};
use std::collections::{BTreeMap, BTreeSet};
use std::sync::{Arc, Mutex};
use std::thread;
use whitewater_storage::ErrorKind;
use whitewater_storage::batch::{self, Op};
use whitewater_storage::filename;
use whitewater_storage::fs::Fs;
use whitewater_storage::fs::fault::{Fault, FaultFs, FaultOp, OpSet, PathMatch, Rule, When};
use whitewater_storage::fs::mem::MemFs;
use whitewater_storage::key::{ValueType, tag, user_key};
use whitewater_storage::wal::{LogReader, ReadOutcome};

type Db = DBWithThreadMode<MultiThreaded>;

/// The content of a database.
type Content = BTreeMap<Vec<u8>, Vec<u8>>;

const FACTORIES: [MemtableFactory; 5] = [
    MemtableFactory::SkipList,
    MemtableFactory::Art,
    MemtableFactory::Vector,
    MemtableFactory::HashSkipList {
        bucket_count: 3,
        height: 4,
        branching_factor: 4,
    },
    MemtableFactory::HashLinkList { bucket_count: 3 },
];

/// A merge operator that joins with commas, so that the order shows. Fails at "bad", panics
/// at "worse".
fn append(_: &[u8], existing: Option<&[u8]>, operands: &MergeOperands<'_>) -> Option<Vec<u8>> {
    let parts: Vec<&[u8]> = existing.into_iter().chain(operands.iter()).collect();
    assert!(!parts.contains(&&b"worse"[..]), "planted");
    (!parts.contains(&&b"bad"[..])).then(|| parts.join(&b','))
}

fn options(fs: &MemFs, protocol: CommitProtocol, most: usize) -> Options {
    let mut options = Options::default();
    options.create_if_missing(true);
    options.create_missing_column_families(true);
    options.set_fs(Arc::new(fs.clone()));
    options.set_commit_protocol(protocol);
    options.set_merge_operator_associative("append", append);
    options.set_prefix_extractor(SliceTransform::create_fixed_prefix(1));
    options.set_max_successive_merges(most);
    options
}

/// Opens a database with a column family "free" that limits nothing.
fn open(options: &Options) -> Db {
    let mut free = options.clone();
    free.set_max_successive_merges(0);
    let families = [
        ColumnFamilyDescriptor::new("default", options.clone()),
        ColumnFamilyDescriptor::new("free", free),
    ];
    Db::open_cf_descriptors(options, "/db", families).unwrap()
}

fn active(db: &Db, cf: u32) -> Arc<Memtable> {
    db.engine().state.lock().cfs[&cf].mem.clone()
}

/// The number of merges that are the newest entries of `key` in the active memtable.
fn merges_on_top(db: &Db, key: &str) -> usize {
    active(db, 0).successive_merges(key.as_bytes(), 1 << 50, usize::MAX)
}

/// The largest number of merges of a key in a row in `memtable`, and the number of values
/// in it.
fn longest_run(memtable: &Memtable) -> (usize, usize) {
    let mut cursor = memtable.iter();
    cursor.seek_to_first();
    let (mut longest, mut run, mut values) = (0, 0, 0);
    let mut last = Vec::new();
    while cursor.valid() {
        let key = user_key(cursor.key());
        if key != last {
            (run, last) = (0, key.to_vec());
        }
        let ty = tag(cursor.key()) as u8;
        run = if ty == ValueType::Merge as u8 {
            run + 1
        } else {
            0
        };
        values += usize::from(ty == ValueType::Value as u8);
        longest = longest.max(run);
        cursor.next();
    }
    (longest, values)
}

/// An operation in the log, with what the model of the database needs.
struct Logged {
    cf: u32,
    ty: ValueType,
    key: Vec<u8>,
    value: Vec<u8>,
}

/// The operations in the log, by sequence number.
fn logged(fs: &MemFs, number: u64) -> BTreeMap<u64, Logged> {
    let file = fs
        .open_sequential(&filename::wal("/db".as_ref(), number))
        .unwrap();
    let mut reader = LogReader::new(file, number);
    let mut record = Vec::new();
    let mut all = BTreeMap::new();
    while matches!(
        reader.read_record(&mut record).unwrap(),
        ReadOutcome::Record
    ) {
        let mut seq = batch::sequence(&record);
        for op in batch::ops(&record) {
            let Op::Entry { cf, ty, key, value } = op.unwrap() else {
                continue;
            };
            let (key, value) = (key.to_vec(), value.to_vec());
            all.insert(seq, Logged { cf, ty, key, value });
            seq += 1;
        }
    }
    all
}

/// The content of column family `cf` at `seq`, according to the log.
fn model(log: &BTreeMap<u64, Logged>, cf: u32, seq: u64) -> Content {
    let mut content = Content::new();
    for op in log.range(..=seq).map(|(_, op)| op).filter(|op| op.cf == cf) {
        match op.ty {
            ValueType::Value => _ = content.insert(op.key.clone(), op.value.clone()),
            ValueType::Deletion => _ = content.remove(&op.key),
            ValueType::RangeDeletion => content.retain(|k, _| *k < op.key || *k >= op.value),
            ValueType::Merge => match content.get_mut(&op.key) {
                None => _ = content.insert(op.key.clone(), op.value.clone()),
                Some(value) => {
                    value.push(b',');
                    value.extend_from_slice(&op.value);
                }
            },
            other => panic!("{other:?} was not written"),
        }
    }
    content
}

fn content(db: &Db, family: &str, options: ReadOptions) -> Content {
    let cf = db.cf_handle(family).unwrap();
    let all = db.iterator_cf_opt(&cf, options, IteratorMode::Start);
    all.map(|entry| {
        let (key, value) = entry.unwrap();
        (key.to_vec(), value.to_vec())
    })
    .collect()
}

/// Puts 1 to 6 operations on few keys into a batch.
fn random_batch(rng: &mut StdRng, db: &Db, token: &str) -> WriteBatch {
    let free = db.cf_handle("free").unwrap();
    let mut batch = WriteBatch::default();
    for i in 0..rng.random_range(1..=6) {
        let key = ["a1", "a2", "b1", "c"][rng.random_range(0..4)];
        let value = format!("{token}{i}");
        match rng.random_range(0..20) {
            0 => batch.delete(key),
            1 => batch.put(key, value),
            2 => batch.delete_range("a2", "b2"),
            3..6 => batch.merge_cf(&free, key, value),
            _ => batch.merge(key, value),
        }
    }
    batch
}

/// Writers merge, put and delete on few keys. Every snapshot taken meanwhile sees what the
/// log says, and so does the reopened database. No memtable has more successive merges than
/// allowed.
fn merges_are_folded(options: &Options, fs: &MemFs, most: usize, what: &str) {
    let db = open(options);
    let number = active(&db, 0).wal_number();
    let snapshots = Mutex::new(Vec::new());
    thread::scope(|scope| {
        for t in 0..4u64 {
            let (db, snapshots) = (&db, &snapshots);
            scope.spawn(move || {
                let mut rng = StdRng::seed_from_u64(t);
                for i in 0..60 {
                    let batch = random_batch(&mut rng, db, &format!("{t}.{i}."));
                    let mut how = WriteOptions::default();
                    how.set_sync(rng.random_range(0..10) == 0);
                    db.write_opt(batch, &how).unwrap();
                    if i % 9 == 0 {
                        snapshots.lock().unwrap().push(db.snapshot());
                    }
                }
            });
        }
    });
    let log = logged(fs, number);
    let last = db.latest_sequence_number();
    assert_eq!(log.len() as u64, last, "{what}: all is in one log");
    for snapshot in snapshots.into_inner().unwrap() {
        for (id, family) in ["default", "free"].into_iter().enumerate() {
            let mut at = ReadOptions::default();
            at.set_total_order_seek(true);
            at.set_snapshot(&snapshot);
            let expected = model(&log, id as u32, snapshot.sequence_number());
            for (key, value) in &expected {
                if id == 0 {
                    let found = snapshot.get(key).unwrap();
                    assert_eq!(found.as_deref(), Some(&value[..]), "{what}");
                }
            }
            assert_eq!(content(&db, family, at), expected, "{what}");
        }
    }
    let (longest, values) = longest_run(&active(&db, 0));
    assert!(
        longest <= most,
        "{what}: {longest} merges lie on each other"
    );
    let puts = log.values().filter(|op| op.cf == 0);
    let puts = puts.filter(|op| op.ty == ValueType::Value).count();
    assert!(values > puts, "{what}: {values} values of {puts} puts");
    let (longest, _) = longest_run(&active(&db, 1));
    assert!(
        longest > 3,
        "{what}: nothing is limited in the other family"
    );
    drop(db);

    let mut all = ReadOptions::default();
    all.set_total_order_seek(true);
    let left = fs.crash_clone(1.0, 1);
    let mut options = options.clone();
    options.set_fs(Arc::new(left));
    let db = open(&options);
    assert_eq!(content(&db, "default", all), model(&log, 0, last), "{what}");
    assert_eq!(db.latest_sequence_number(), last);
}

#[test]
fn merges_are_folded_in_every_memtable_and_with_every_strict_protocol() {
    use CommitProtocol::{Grouped, Ordered, Pipelined};
    for factory in FACTORIES {
        for (protocol, concurrent) in [
            (Ordered, true),
            (Grouped, true),
            (Grouped, false),
            (Pipelined, true),
            (Pipelined, false),
        ] {
            for most in [1, 3] {
                let fs = MemFs::new();
                let mut options = options(&fs, protocol, most);
                options.set_memtable_factory(factory);
                options.set_allow_concurrent_memtable_write(concurrent);
                // Also with the parts that surround a memtable.
                let around = most == 3;
                options.set_memtable_protection_bytes_per_key(if around { 8 } else { 0 });
                options.set_memtable_whole_key_filtering(around);
                options.set_memtable_prefix_bloom_ratio(if around { 0.1 } else { 0.0 });
                let what = format!("{factory:?}, {protocol}, {concurrent}, {most}");
                merges_are_folded(&options, &fs, most, &what);
            }
        }
    }
}

/// Writes that skip the log still have the memtable's order.
#[test]
fn concurrent_appends_lose_nothing() {
    for protocol in [
        CommitProtocol::Ordered,
        CommitProtocol::Grouped,
        CommitProtocol::Pipelined,
    ] {
        let db = open(&options(&MemFs::new(), protocol, 2));
        let mut unlogged = WriteOptions::default();
        unlogged.disable_wal(true);
        thread::scope(|scope| {
            for t in 0..8 {
                let (db, unlogged) = (&db, &unlogged);
                scope.spawn(move || {
                    for i in 0..50 {
                        db.merge_opt("k", format!("{t}:{i}"), unlogged).unwrap();
                    }
                });
            }
        });
        let value = db.get("k").unwrap().unwrap();
        let text = String::from_utf8(value).unwrap();
        let mut next = [0; 8];
        for token in text.split(',') {
            let (t, i) = token.split_once(':').unwrap();
            let t: usize = t.parse().unwrap();
            assert_eq!(i.parse(), Ok(next[t]), "{protocol}: a writer's own order");
            next[t] += 1;
        }
        assert_eq!(next, [50; 8], "{protocol}");
        assert!(merges_on_top(&db, "k") <= 2);
    }
}

#[test]
fn an_operand_that_cannot_be_applied_is_kept() {
    for (operand, kind) in [
        ("bad", ErrorKind::Corruption),
        ("worse", ErrorKind::Corruption),
    ] {
        quietly(|| {
            let db = open(&options(&MemFs::new(), CommitProtocol::Ordered, 1));
            db.put("k", "a").unwrap();
            db.merge("k", operand).unwrap();
            for i in 0..3 {
                db.merge("k", "b").unwrap();
                assert_eq!(merges_on_top(&db, "k"), 2 + i);
            }
            assert_eq!(db.get("k").unwrap_err().kind(), kind);
            db.put("k", "c").unwrap();
            db.merge("k", "d").unwrap();
            db.merge("k", "e").unwrap();
            assert_eq!(db.get("k").unwrap().unwrap(), b"c,d,e");
            assert_eq!(merges_on_top(&db, "k"), 0, "the second one is a value");
        });
    }
}

#[test]
fn recovery_without_an_operator_keeps_operands() {
    let fs = MemFs::new();
    let open = |operator, most| {
        let mut options = Options::default();
        options.create_if_missing(true);
        options.set_fs(Arc::new(fs.clone()));
        options.set_max_successive_merges(most);
        if operator {
            options.set_merge_operator_associative("append", append);
        }
        Db::open(&options, "/db").unwrap()
    };
    let db = open(true, 0);
    for operand in ["a", "b", "c", "d"] {
        db.merge("k", operand).unwrap();
    }
    drop(db);
    let db = open(false, 1);
    assert!(db.get("k").is_err());
    assert!(db.merge("k", "e").is_err());
    drop(db);
    let db = open(true, 1);
    assert_eq!(db.get("k").unwrap().as_deref(), Some(&b"a,b,c,d"[..]));
}

#[test]
fn only_memory_is_asked_for_the_value() {
    let mut options = options(&MemFs::new(), CommitProtocol::Ordered, 2);
    let mut tables = BlockBasedOptions::default();
    tables.set_bloom_filter(20.0, false);
    options.set_block_based_table_factory(&tables);
    let db = open(&options);
    db.put("k", "a").unwrap();
    db.put("z", "a").unwrap();
    db.flush().unwrap();
    for i in 0..5 {
        db.merge("k", i.to_string()).unwrap();
        db.merge("kk", i.to_string()).unwrap();
    }
    assert_eq!(merges_on_top(&db, "k"), 5, "a table has the value");
    assert_eq!(db.get("k").unwrap().unwrap(), b"a,0,1,2,3,4");
    assert_eq!(db.get("kk").unwrap().unwrap(), b"0,1,2,3,4");
    assert_eq!(
        merges_on_top(&db, "kk"),
        2,
        "its filter knows that it has not"
    );
    // Nothing older than a deletion in memory must be known.
    let default = db.cf_handle("default").unwrap();
    db.delete_range_cf(&default, "k", "kkk").unwrap();
    for i in 5..8 {
        db.merge("k", i.to_string()).unwrap();
    }
    assert_eq!(db.get("k").unwrap().unwrap(), b"5,6,7");
    assert_eq!(merges_on_top(&db, "k"), 2, "the first one is a value");
}

#[test]
fn a_value_in_an_older_memtable_is_found() {
    let mut options = options(&MemFs::new(), CommitProtocol::Ordered, 2);
    options.set_write_buffer_size(64 << 10);
    options.set_max_write_buffer_number(6);
    options.set_min_write_buffer_number_to_merge(5);
    let db = open(&options);
    db.put("k", "a").unwrap();
    let mut i = 0;
    while db.engine().state.lock().cfs[&0].imm.is_empty() {
        db.put(format!("z{i}"), [0; 1000]).unwrap();
        i += 1;
    }
    for i in 0..5 {
        db.merge("k", i.to_string()).unwrap();
    }
    assert!(!db.engine().state.lock().cfs[&0].imm.is_empty());
    assert_eq!(db.get("k").unwrap().unwrap(), b"a,0,1,2,3,4");
    assert_eq!(merges_on_top(&db, "k"), 2, "the third one was a value");
    db.flush().unwrap();
    assert_eq!(db.get("k").unwrap().unwrap(), b"a,0,1,2,3,4");
}

#[test]
fn unordered_commit_is_refused() {
    let refused = options(&MemFs::new(), CommitProtocol::Unordered, 1);
    let e = Db::open(&refused, "/db").unwrap_err();
    assert_eq!(e.kind(), ErrorKind::InvalidArgument);
    assert!(e.to_string().contains("max_successive_merges"), "{e}");
    let fine = options(&MemFs::new(), CommitProtocol::Unordered, 0);
    let db = Db::open(&fine, "/db").unwrap();
    let e = db.create_cf("later", &refused).unwrap_err();
    assert_eq!(e.kind(), ErrorKind::InvalidArgument);
    db.create_cf("later", &fine).unwrap();
}

/// The tokens of the writers in the value of "k".
fn tokens(db: &Db) -> BTreeSet<String> {
    let value = db.get("k").unwrap().unwrap_or_default();
    let text = String::from_utf8(value).unwrap();
    let tokens: Vec<String> = text.split(',').map(str::to_owned).collect();
    let set: BTreeSet<String> = tokens.iter().cloned().collect();
    assert_eq!(set.len(), tokens.len(), "nothing is applied twice");
    set
}

/// A merge after a write that fails also fails, however far it had come. A merge after a
/// resumption is applied to what was acknowledged.
#[test]
fn nothing_is_folded_onto_a_write_that_failed() {
    for protocol in [
        CommitProtocol::Ordered,
        CommitProtocol::Grouped,
        CommitProtocol::Pipelined,
    ] {
        for (op, n) in [
            (FaultOp::Sync, 3),
            (FaultOp::Sync, 8),
            (FaultOp::Append, 30),
        ] {
            let what = &format!("{protocol}, {op:?} {n}");
            let mem = MemFs::new();
            let faulty = FaultFs::new(Arc::new(mem.clone()));
            let mut options = options(&mem, protocol, 2);
            options.set_fs(Arc::new(faulty.clone()));
            let db = open(&options);
            db.put("k", "first").unwrap();
            let acked = &Mutex::new(BTreeSet::from(["first".to_owned()]));
            for round in 0..2 {
                faulty.add_rule(Rule {
                    ops: OpSet::of(&[op]),
                    path: PathMatch::EndsWith(".log".to_owned()),
                    when: When::Nth(n),
                    fault: Fault::Eio,
                    sticky: true,
                });
                thread::scope(|scope| {
                    for t in 0..6 {
                        let db = &db;
                        scope.spawn(move || {
                            let mut how = WriteOptions::default();
                            how.set_sync(t < 3 && op == FaultOp::Sync);
                            for i in 0..1_000 {
                                let token = format!("{round}.{t}.{i}");
                                if db.merge_opt("k", &token, &how).is_err() {
                                    break;
                                }
                                acked.lock().unwrap().insert(token);
                            }
                        });
                    }
                });
                assert!(!faulty.injected().is_empty(), "{what}");
                assert_eq!(tokens(&db), *acked.lock().unwrap(), "{what}: failed");
                faulty.clear_rules();
                db.resume().unwrap_or_else(|e| panic!("{what}: {e}"));
                assert_eq!(tokens(&db), *acked.lock().unwrap(), "{what}: resumed");
                for i in 0..4 {
                    let token = format!("{round}.after.{i}");
                    db.merge("k", &token).unwrap();
                    acked.lock().unwrap().insert(token);
                }
                assert_eq!(tokens(&db), *acked.lock().unwrap(), "{what}: went on");
            }
            drop(db);
            let db = open(&options);
            assert_eq!(tokens(&db), *acked.lock().unwrap(), "{what}: reopened");
        }
    }
}
