//! Values that are overwritten in place (`inplace_update_support`).

use crate::memtable::Memtable;
use crate::{
    ColumnFamilyDescriptor, CommitProtocol, DBWithThreadMode, IteratorMode, MemtableFactory,
    MergeOperands, MultiThreaded, Options, ReadOptions, SliceTransform, WriteBatch,
};
use rand::rngs::StdRng;
use rand::{Rng, SeedableRng};
use std::collections::BTreeMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::thread;
use whitewater_storage::ErrorKind;
use whitewater_storage::fs::mem::MemFs;

type Db = DBWithThreadMode<MultiThreaded>;
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

const PROTOCOLS: [CommitProtocol; 2] = [CommitProtocol::Grouped, CommitProtocol::Pipelined];

fn append(_: &[u8], existing: Option<&[u8]>, operands: &MergeOperands<'_>) -> Option<Vec<u8>> {
    let parts: Vec<&[u8]> = existing.into_iter().chain(operands.iter()).collect();
    Some(parts.join(&b','))
}

fn options(fs: &MemFs, protocol: CommitProtocol) -> Options {
    let mut options = Options::default();
    options.create_if_missing(true);
    options.create_missing_column_families(true);
    options.set_fs(Arc::new(fs.clone()));
    options.set_commit_protocol(protocol);
    options.set_allow_concurrent_memtable_write(false);
    options.set_merge_operator_associative("append", append);
    options.set_prefix_extractor(SliceTransform::create_fixed_prefix(1));
    options.set_inplace_update_support(true);
    options.set_inplace_update_locks(3);
    options
}

fn active(db: &Db) -> Arc<Memtable> {
    db.engine().state.lock().cfs[&0].mem.clone()
}

fn content(db: &Db, mode: IteratorMode<'_>) -> Content {
    let mut all = ReadOptions::default();
    all.set_total_order_seek(true);
    db.iterator_opt(mode, all)
        .map(|entry| {
            let (key, value) = entry.unwrap();
            (key.to_vec(), value.to_vec())
        })
        .collect()
}

/// Applies 1 to 8 operations to a batch and to the model.
fn random_batch(rng: &mut StdRng, model: &mut Content) -> WriteBatch {
    let mut batch = WriteBatch::default();
    for _ in 0..rng.random_range(1..=8) {
        let key = ["a1", "a2", "a3", "b1", "b2", "c"][rng.random_range(0..6)];
        let value = vec![rng.random_range(b'a'..=b'z'); rng.random_range(0..30)];
        let bytes = key.as_bytes().to_vec();
        match rng.random_range(0..16) {
            0 => {
                batch.delete(key);
                model.remove(&bytes);
            }
            1 => {
                batch.delete_range("a2", "b2");
                model.retain(|k, _| k[..] < b"a2"[..] || k[..] >= b"b2"[..]);
            }
            2 | 3 => {
                batch.merge(key, &value);
                match model.get_mut(&bytes) {
                    None => _ = model.insert(bytes, value),
                    Some(old) => {
                        old.push(b',');
                        old.extend_from_slice(&value);
                    }
                }
            }
            _ => {
                batch.put(key, &value);
                model.insert(bytes, value);
            }
        }
    }
    batch
}

/// Random operations against a model, over flushes and openings after a crash.
fn matches_a_model(options: &Options, fs: &MemFs, what: &str) {
    let mut rng = StdRng::seed_from_u64(7);
    let mut model = Content::new();
    let mut fs = fs.clone();
    for round in 0..3 {
        let mut options = options.clone();
        options.set_fs(Arc::new(fs.clone()));
        let db = Db::open(&options, "/db").unwrap();
        for i in 0..150 {
            db.write(random_batch(&mut rng, &mut model)).unwrap();
            if i % 10 == 0 {
                assert_eq!(content(&db, IteratorMode::Start), model, "{what}");
                assert_eq!(content(&db, IteratorMode::End), model, "{what}");
            }
            for (key, value) in &model {
                let found = db.get(key).unwrap();
                assert_eq!(found.as_deref(), Some(&value[..]), "{what}");
            }
            if round == 1 && i % 40 == 0 {
                db.flush().unwrap();
            }
        }
        drop(db);
        fs = fs.crash_clone(1.0, round);
    }
}

#[test]
fn every_memtable_matches_a_model() {
    for factory in FACTORIES {
        for protocol in PROTOCOLS {
            for (bytes, most) in [(0, 0), (8, 2)] {
                let fs = MemFs::new();
                let mut options = options(&fs, protocol);
                options.set_memtable_factory(factory);
                options.set_memtable_protection_bytes_per_key(bytes);
                options.set_memtable_prefix_bloom_ratio(f64::from(bytes) / 80.0);
                options.set_memtable_whole_key_filtering(true);
                options.set_max_successive_merges(most);
                let what = format!("{factory:?}, {protocol}, {bytes}, {most}");
                matches_a_model(&options, &fs, &what);
            }
        }
    }
}

#[test]
fn a_value_that_is_not_longer_takes_the_place_of_the_one_before() {
    for bytes in [0, 4] {
        let mut options = options(&MemFs::new(), CommitProtocol::Grouped);
        options.set_memtable_protection_bytes_per_key(bytes);
        let default = ColumnFamilyDescriptor::new("default", options.clone());
        let db = Db::open_cf_descriptors(&options, "/db", [default]).unwrap();
        let step = |entries: u64, value: &str| {
            assert_eq!(active(&db).num_entries(), entries, "{value}");
            let found = db.get("k").unwrap();
            assert_eq!(found.as_deref(), Some(value.as_bytes()), "{entries}");
        };
        db.put("k", "four").unwrap();
        step(1, "four");
        db.put("k", "4444").unwrap();
        step(1, "4444");
        db.put("k", "2").unwrap();
        step(1, "2");
        // The limit is the current length, as in RocksDB.
        db.put("k", "22").unwrap();
        step(2, "22");
        db.merge("k", "m").unwrap();
        step(3, "22,m");
        db.put("k", "x").unwrap();
        step(4, "x");
        db.delete("k").unwrap();
        assert_eq!(db.get("k").unwrap(), None);
        db.put("k", "y").unwrap();
        step(6, "y");
        db.put("k", "").unwrap();
        step(6, "");
        // A value that a range tombstone hides must not be written to.
        let default = db.cf_handle("default").unwrap();
        db.put("k", "hidden").unwrap();
        db.delete_range_cf(&default, "j", "l").unwrap();
        db.put("k", "shown").unwrap();
        step(9, "shown");
        db.put("k", "SHOWN").unwrap();
        step(9, "SHOWN");
        assert_eq!(db.latest_sequence_number(), 13, "every write has a number");
        db.flush().unwrap();
        step(0, "SHOWN");
        db.put("k", "again").unwrap();
        step(1, "again");
    }
}

#[test]
fn a_memtable_of_values_put_again_does_not_grow() {
    let mut options = options(&MemFs::new(), CommitProtocol::Grouped);
    options.set_write_buffer_size(64 << 10);
    options.set_max_total_wal_size(1 << 30);
    options.set_arena_block_size(4 << 10);
    options.set_memtable_factory(MemtableFactory::SkipList);
    let db = Db::open(&options, "/db").unwrap();
    let first = active(&db);
    for i in 0..2_000u32 {
        db.put((i % 16).to_be_bytes(), [i as u8; 1000]).unwrap();
    }
    assert!(Arc::ptr_eq(&first, &active(&db)), "it was not switched out");
    assert_eq!(first.num_entries(), 16);
    assert!(first.memory_usage() > 16_000, "values count");
    for i in 0..200u32 {
        db.put(i.to_be_bytes(), [1; 1000]).unwrap();
    }
    assert!(!Arc::ptr_eq(&first, &active(&db)), "values fill a memtable");
}

/// Writers overwrite values with values of one repeated letter each; no reader ever reads a
/// value of two letters.
// Long: readers and writers of one scenario.
#[test]
fn values_are_read_whole_while_they_are_overwritten() {
    for factory in FACTORIES {
        for protocol in PROTOCOLS {
            let mut options = options(&MemFs::new(), protocol);
            options.set_memtable_factory(factory);
            options.set_memtable_protection_bytes_per_key(4);
            let db = &Db::open(&options, "/db").unwrap();
            for key in 0..4u8 {
                db.put([key], [b'-'; 300]).unwrap();
            }
            let (stop, reads) = (&AtomicBool::new(false), &AtomicU64::new(0));
            let whole = |value: &[u8]| {
                assert!(value.iter().all(|b| *b == value[0]), "{factory:?}: torn");
                reads.fetch_add(1, Ordering::Relaxed);
            };
            thread::scope(|scope| {
                let writers: Vec<_> = (0..3u8)
                    .map(|t| {
                        scope.spawn(move || {
                            let mut i = 0u64;
                            // Until there was something to read meanwhile.
                            while i < 300 || reads.load(Ordering::Relaxed) < 100 {
                                let letter = b'a' + (i % 26) as u8;
                                let value = [letter; 300];
                                db.put([(i % 4) as u8], value).unwrap();
                                db.put([t], [letter; 300]).unwrap();
                                i += 1;
                            }
                        })
                    })
                    .collect();
                let readers: Vec<_> = (0..2usize)
                    .map(|r| {
                        scope.spawn(move || {
                            while !stop.load(Ordering::Relaxed) {
                                for key in 0..4u8 {
                                    whole(&db.get([key]).unwrap().unwrap());
                                }
                                if r == 0 {
                                    continue;
                                }
                                for value in content(db, IteratorMode::Start).values() {
                                    whole(value);
                                }
                            }
                        })
                    })
                    .collect();
                let written: Vec<_> = writers.into_iter().map(|w| w.join()).collect();
                stop.store(true, Ordering::Relaxed);
                for thread in written
                    .into_iter()
                    .chain(readers.into_iter().map(|r| r.join()))
                {
                    thread.unwrap();
                }
            });
            assert_eq!(active(db).num_entries(), 4, "{factory:?}, {protocol}");
            // An iterator shows what is there when it arrives.
            let mut cursor = db.raw_iterator();
            cursor.seek([0]);
            db.put([1], [b'!'; 300]).unwrap();
            let mut all = ReadOptions::default();
            all.set_total_order_seek(true);
            let mut walk = db.raw_iterator_opt(all);
            walk.seek_to_first();
            db.put([0], [b'?'; 300]).unwrap();
            let stood_on = walk.value().unwrap().to_vec();
            walk.next();
            assert_eq!(walk.value(), Some(&[b'!'; 300][..]));
            whole(&stood_on);
            assert!(cursor.valid());
        }
    }
}

#[test]
fn what_does_not_go_together_is_refused() {
    use CommitProtocol::{Grouped, Ordered, Pipelined, Unordered};
    let refused = |protocol: Option<CommitProtocol>, why: &str| {
        let mut options = Options::default();
        options.create_if_missing(true);
        options.set_fs(Arc::new(MemFs::new()));
        options.set_inplace_update_support(true);
        if let Some(protocol) = protocol {
            options.set_commit_protocol(protocol);
        }
        let e = Db::open(&options, "/db").unwrap_err();
        assert_eq!(e.kind(), ErrorKind::InvalidArgument);
        assert!(e.to_string().contains(why), "{e}");
        // Without concurrent inserts two protocols and the default remain.
        options.set_allow_concurrent_memtable_write(false);
        let left = !matches!(protocol, Some(Ordered | Unordered));
        assert_eq!(Db::open(&options, "/db").is_ok(), left, "{protocol:?}");
    };
    refused(None, "inplace_update_support");
    for protocol in [Ordered, Grouped, Pipelined, Unordered] {
        refused(Some(protocol), "allow_concurrent_memtable_write");
    }

    let mut fine = Options::default();
    fine.create_if_missing(true);
    fine.set_fs(Arc::new(MemFs::new()));
    let db = Db::open(&fine, "/db").unwrap();
    let e = db.create_cf("later", &options(&MemFs::new(), Grouped));
    assert_eq!(e.unwrap_err().kind(), ErrorKind::InvalidArgument);

    let mut options = options(&MemFs::new(), Grouped);
    options.set_inplace_update_locks(0);
    let e = Db::open(&options, "/db").unwrap_err();
    assert_eq!(e.kind(), ErrorKind::InvalidArgument);
    assert!(e.to_string().contains("inplace_update_num_locks"), "{e}");
}

#[test]
fn snapshots_are_refused_where_values_do_not_stay() {
    let options = options(&MemFs::new(), CommitProtocol::Grouped);
    let mut plain = options.clone();
    plain.set_inplace_update_support(false);
    let families = [
        ColumnFamilyDescriptor::new("default", options.clone()),
        ColumnFamilyDescriptor::new("plain", plain),
    ];
    let db = Db::open_cf_descriptors(&options, "/db", families).unwrap();
    let plain = db.cf_handle("plain").unwrap();
    let default = db.cf_handle("default").unwrap();
    db.put("k", "1").unwrap();
    db.put_cf(&plain, "k", "1").unwrap();
    let snapshot = db.snapshot();
    db.put("k", "2").unwrap();
    db.put_cf(&plain, "k", "2").unwrap();

    let found = snapshot.get_cf(&plain, "k").unwrap().unwrap();
    assert_eq!(found, b"1", "other families have snapshots");
    let e = snapshot.get("k").unwrap_err();
    assert_eq!(e.kind(), ErrorKind::NotSupported);
    assert!(e.to_string().contains("inplace_update_support"), "{e}");
    let mut first = snapshot.iterator(IteratorMode::Start);
    assert_eq!(
        first.next().unwrap().unwrap_err().kind(),
        ErrorKind::NotSupported
    );
    let mut at = ReadOptions::default();
    at.set_snapshot(&snapshot);
    let both = db.multi_get_cf_opt([(&plain, "k"), (&default, "k")], &at);
    assert_eq!(both[0].as_ref().unwrap().as_deref(), Some(&b"1"[..]));
    let e = both[1].as_ref().unwrap_err();
    assert_eq!(e.kind(), ErrorKind::NotSupported);
    assert!(db.key_may_exist_opt("k", &at));
    // Without a snapshot, both column families are read at once.
    let both = db.multi_get_cf([(&plain, "k"), (&default, "k")]);
    for found in both {
        assert_eq!(found.unwrap().unwrap(), b"2");
    }
}
