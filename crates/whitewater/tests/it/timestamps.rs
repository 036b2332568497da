//! Keys with timestamps: what is seen at which time, what is kept, and what is refused.

use crate::harness::{Db, tiny};
use rand::rngs::StdRng;
use rand::{Rng, SeedableRng};
use std::cmp::Ordering;
use std::collections::BTreeMap;
use std::path::Path;
use std::sync::Arc;
use whitewater::fs::Fs;
use whitewater::fs::mem::MemFs;
use whitewater::{
    BlockBasedOptions, Cache, ColumnFamilyDescriptor, CompactOptions, Error, ErrorKind,
    IngestExternalFileOptions, Options, ReadOptions, SliceTransform, SstFileWriter, WriteBatch,
};
use whitewater_storage::coding::{get_varint64, put_varint64};
use whitewater_storage::fs::os::OsFs;
use whitewater_storage::sst::TableProperties;

const DIR: &str = "/db";

fn options(fs: &MemFs) -> Options {
    let mut o = tiny();
    o.set_fs(Arc::new(fs.clone()));
    o.set_u64_timestamp_comparator();
    let mut table = BlockBasedOptions::default();
    table.set_bloom_filter(10.0, false);
    table.set_block_size(128);
    o.set_block_based_table_factory(&table);
    o.set_memtable_prefix_bloom_ratio(0.1);
    o.set_memtable_whole_key_filtering(true);
    o
}

fn split(key: &[u8]) -> (&[u8], &[u8]) {
    key.split_at(key.len() - 4)
}

/// Keys in reverse order and times of four bytes, the greatest first bytewise.
fn odd_options(fs: &MemFs) -> Options {
    let mut o = options(fs);
    o.set_comparator_with_ts(
        "odd",
        4,
        Box::new(|a, b| {
            let ((a, time_a), (b, time_b)) = (split(a), split(b));
            b.cmp(a).then(time_b.cmp(time_a))
        }),
        Box::new(|a, b| a.cmp(b)),
        Box::new(|a, a_has, b, b_has| -> Ordering {
            let key = |key, has| if has { split(key).0 } else { key };
            key(b, b_has).cmp(key(a, a_has))
        }),
    );
    o
}

fn at(time: impl Into<Vec<u8>>) -> ReadOptions {
    let mut o = ReadOptions::default();
    o.set_timestamp(time);
    o
}

fn le(time: u64) -> Vec<u8> {
    time.to_le_bytes().to_vec()
}

fn kind<T>(outcome: Result<T, Error>) -> ErrorKind {
    outcome.err().expect("the call fails").kind()
}

/// Appends operands to what is there, with commas.
pub fn add_merge_operator(o: &mut Options) {
    o.set_merge_operator_associative("append", |key, existing, operands| {
        assert_eq!(key.first(), Some(&b'k'), "a key without its timestamp");
        assert_eq!(key.len(), key.escape_ascii().count(), "{key:?}");
        let parts: Vec<&[u8]> = existing.into_iter().chain(operands).collect();
        Some(parts.join(&b','))
    });
}

fn open(o: &Options) -> Db {
    let default = ColumnFamilyDescriptor::new("default", o.clone());
    Db::open_cf_descriptors(o, DIR, [default]).expect("opens")
}

/// What a key has from a time on.
#[derive(Clone)]
struct Version {
    time: u32,
    /// `None` is a deletion.
    value: Option<Vec<u8>>,
    /// Whether a range deletion made it. It is not shown, nor is what it deletes.
    by_range: bool,
}

/// What was written, by key and time. Keys in the database's order are in the map's order, or in
/// reverse.
#[derive(Clone)]
pub struct Model {
    versions: BTreeMap<Vec<u8>, Vec<Version>>,
    reverse: bool,
    encode: fn(u32) -> Vec<u8>,
}

impl Model {
    /// Nothing, of keys that ascend.
    pub fn ascending() -> Model {
        Model {
            versions: BTreeMap::new(),
            reverse: false,
            encode: |time| le(u64::from(time)),
        }
    }

    pub fn get(&self, key: &[u8], time: u32) -> Option<Vec<u8>> {
        self.version(key, time)?.value
    }

    fn version(&self, key: &[u8], time: u32) -> Option<Version> {
        let versions = self.versions.get(key)?;
        versions.iter().rev().find(|v| v.time <= time).cloned()
    }

    pub fn write(&mut self, key: &[u8], time: u32, value: Option<Vec<u8>>) {
        let versions = self.versions.entry(key.to_vec()).or_default();
        versions.retain(|v| v.time != time || v.by_range);
        versions.push(Version {
            time,
            value,
            by_range: false,
        });
    }

    /// Merges with what readers at `time` see.
    pub fn merge(&mut self, key: &[u8], time: u32, operand: &[u8]) {
        let parts: Vec<Vec<u8>> = self
            .get(key, time)
            .into_iter()
            .chain([operand.to_vec()])
            .collect();
        self.write(key, time, Some(parts.join(&b',')));
    }

    pub fn delete_range(&mut self, from: &[u8], to: &[u8], time: u32) {
        let reverse = self.reverse;
        let before = |a: &[u8], b: &[u8]| if reverse { b < a } else { a < b };
        for (key, versions) in &mut self.versions {
            if !before(key, from) && before(key, to) {
                versions.retain(|v| v.time != time);
                versions.push(Version {
                    time,
                    value: None,
                    by_range: true,
                });
            }
        }
    }

    /// Keys, timestamps and values at `time`, in order.
    pub fn at(&self, time: u32) -> Vec<(Vec<u8>, Vec<u8>, Vec<u8>)> {
        let entry = |key: &Vec<u8>| match self.version(key, time)? {
            Version {
                time,
                value: Some(value),
                ..
            } => Some((key.clone(), (self.encode)(time), value)),
            _ => None,
        };
        let mut all: Vec<_> = self.versions.keys().filter_map(entry).collect();
        if self.reverse {
            all.reverse();
        }
        all
    }

    /// Versions from one time to another: key, timestamp, value, in order.
    fn between(&self, from: u32, upto: u32) -> Vec<(Vec<u8>, Vec<u8>, Vec<u8>)> {
        let mut keys: Vec<_> = self.versions.iter().collect();
        if self.reverse {
            keys.reverse();
        }
        let mut all = Vec::new();
        for (key, versions) in keys {
            let seen = versions.iter().rev().filter(|v| v.time <= upto);
            for v in seen.take_while(|v| !v.by_range).filter(|v| v.time >= from) {
                let value = v.value.clone().unwrap_or_default();
                all.push((key.clone(), (self.encode)(v.time), value));
            }
        }
        all
    }

    fn before(&self, a: &[u8], b: &[u8]) -> bool {
        if self.reverse { b < a } else { a < b }
    }
}

fn check_walk(db: &Db, model: &Model, rng: &mut StdRng, time: u32) {
    let random = |rng: &mut StdRng| format!("k{}", rng.random_range(0..14)).into_bytes();
    let mut options = at((model.encode)(time));
    let mut expected = model.at(time);
    if rng.random_bool(0.3) {
        let lower = random(rng);
        expected.retain(|(key, ..)| !model.before(key, &lower));
        options.set_iterate_lower_bound(lower);
    }
    if rng.random_bool(0.3) {
        let upper = random(rng);
        expected.retain(|(key, ..)| model.before(key, &upper));
        options.set_iterate_upper_bound(upper);
    }
    let it = &mut db.raw_iterator_opt(options);
    let mut place: Option<usize> = None;
    for _ in 0..40 {
        match rng.random_range(0..10) {
            0 => {
                it.seek_to_first();
                place = (!expected.is_empty()).then_some(0);
            }
            1 => {
                it.seek_to_last();
                place = expected.len().checked_sub(1);
            }
            2 => {
                let target = random(rng);
                it.seek(&target);
                place = expected
                    .iter()
                    .position(|(key, ..)| !model.before(key, &target));
            }
            3 => {
                let target = random(rng);
                it.seek_for_prev(&target);
                place = expected
                    .iter()
                    .rposition(|(key, ..)| !model.before(&target, key));
            }
            4..7 => {
                it.next();
                place = place.map(|i| i + 1).filter(|i| *i < expected.len());
            }
            _ => {
                it.prev();
                place = place.and_then(|i| i.checked_sub(1));
            }
        }
        it.status().expect("no failure");
        let found = it.item().map(|(key, value)| {
            let time = it.timestamp().expect("keys have timestamps");
            (key.to_vec(), time.to_vec(), value.to_vec())
        });
        assert_eq!(found, place.map(|i| expected[i].clone()));
    }
}

fn check_versions(db: &Db, model: &Model, from: u32, upto: u32) {
    let mut options = at((model.encode)(upto));
    options.set_iter_start_ts((model.encode)(from));
    let it = &mut db.raw_iterator_opt(options);
    let entry = |it: &crate::harness::walk::RawIter<'_>| {
        let (internal, value) = it.item()?;
        let time = it.timestamp()?;
        let user = &internal[..internal.len() - 8];
        let (key, stamp) = user.split_at(user.len() - time.len());
        assert_eq!(stamp, time);
        Some((key.to_vec(), time.to_vec(), value.to_vec()))
    };
    let expected = model.between(from, upto);
    let mut shown = Vec::new();
    it.seek_to_first();
    while let Some(found) = entry(it) {
        shown.push(found);
        it.next();
    }
    it.status().expect("no failure");
    assert_eq!(shown, expected);
    shown.clear();
    it.seek_to_last();
    while let Some(found) = entry(it) {
        shown.push(found);
        it.prev();
    }
    it.status().expect("no failure");
    shown.reverse();
    assert_eq!(shown, expected);
}

fn run_model(seed: u64, fs: &MemFs, options: fn(&MemFs) -> Options, model: Model) {
    let rng = &mut StdRng::seed_from_u64(seed);
    let mut model = model;
    let mut o = options(fs);
    if rng.random_bool(0.3) {
        o.set_memtable_protection_bytes_per_key(8);
    }
    if rng.random_bool(0.3) {
        o.set_max_subcompactions(3);
    }
    if rng.random_bool(0.3) {
        let mut table = BlockBasedOptions::default();
        table.set_block_size(100);
        table.set_index_type(whitewater::BlockBasedIndexType::TwoLevelIndexSearch);
        table.set_partition_filters(true);
        table.set_metadata_block_size(64);
        table.set_bloom_filter(10.0, false);
        o.set_block_based_table_factory(&table);
    }
    add_merge_operator(&mut o);
    if rng.random_bool(0.3) {
        o.set_row_cache(&Cache::new_lru_cache(20_000));
    }
    let mut db = open(&o);
    let (mut now, mut low) = (1, 0);
    for _ in 0..250 {
        now += rng.random_range(0..2);
        let key = format!("k{}", rng.random_range(0..14)).into_bytes();
        let time = (model.encode)(now);
        let value = rng
            .random_bool(0.7)
            .then(|| vec![b'v'; rng.random_range(0..60)]);
        match rng.random_range(0..40) {
            0..2 => db.flush().expect("flushes"),
            2 => db.compact_range(None::<&[u8]>, None::<&[u8]>),
            3 => {
                let to = [&key[..], b"z"].concat();
                db.compact_range(Some(&key), Some(&to));
            }
            4 if now > low + 20 => {
                low = rng.random_range(low..now);
                let mut compact = CompactOptions::default();
                compact.set_full_history_ts_low((model.encode)(low));
                compact
                    .set_bottommost_level_compaction(whitewater::BottommostLevelCompaction::Force);
                db.compact_range_opt(None::<&[u8]>, None::<&[u8]>, &compact);
            }
            5 => {
                drop(db);
                db = open(&o);
            }
            6..9 => {
                let cf = db.cf_handle("default").expect("is there");
                let to = format!("k{}", rng.random_range(0..14)).into_bytes();
                model.delete_range(&key, &to, now);
                if rng.random() {
                    db.delete_range_cf_with_ts(&cf, &key, &to, &time)
                } else {
                    let mut batch = WriteBatch::default();
                    batch.delete_range_cf_with_ts(&cf, &key, &to, &time);
                    db.write(batch)
                }
                .expect("writes");
            }
            9..18 => {
                let cf = db.cf_handle("default").expect("is there");
                let operand = vec![b'm'; rng.random_range(0..9)];
                model.merge(&key, now, &operand);
                if rng.random() {
                    db.merge_cf_with_ts(&cf, &key, &time, &operand)
                } else {
                    let mut batch = WriteBatch::default();
                    batch.merge_cf_with_ts(&cf, &key, &time, &operand);
                    db.write(batch)
                }
                .expect("writes");
            }
            _ => {
                match &value {
                    Some(value) => db.put_with_ts(&key, &time, value),
                    None => db.delete_with_ts(&key, &time),
                }
                .expect("writes");
                model.write(&key, now, value);
            }
        }
        let then = rng.random_range(low..now + 2);
        let read = at((model.encode)(then));
        assert_eq!(
            db.get_opt(&key, &read),
            Ok(model.get(&key, then)),
            "seed {seed}"
        );
        let may_exist = db.key_may_exist_opt(&key, &read);
        assert!(may_exist || model.get(&key, then).is_none());
        if rng.random_bool(0.1) {
            let keys: Vec<_> = model.versions.keys().cloned().collect();
            let found = db.multi_get_opt(&keys, &read);
            for (key, found) in keys.iter().zip(found) {
                assert_eq!(found, Ok(model.get(key, then)), "seed {seed}");
            }
            check_walk(&db, &model, rng, then);
        }
        if rng.random_bool(0.05) {
            let from = rng.random_range(low..now + 1);
            check_versions(&db, &model, from, rng.random_range(from..now + 2));
        }
        if low > 0 && rng.random_bool(0.1) {
            let below = at((model.encode)(low - 1));
            assert_eq!(kind(db.get_opt(&key, &below)), ErrorKind::InvalidArgument);
        }
    }
    db.compact_range(None::<&[u8]>, None::<&[u8]>);
    for then in low..now + 2 {
        let all = model.at(then);
        for key in model.versions.keys() {
            let read = at((model.encode)(then));
            assert_eq!(db.get_opt(key, &read), Ok(model.get(key, then)));
        }
        let it = &mut db.raw_iterator_opt(at((model.encode)(then)));
        it.seek_to_first();
        for (key, _, value) in &all {
            assert_eq!(it.item(), Some((&key[..], &value[..])), "seed {seed}");
            it.next();
        }
        assert!(!it.valid() && it.status().is_ok());
    }
}

#[test]
fn reads_agree_with_a_model() {
    for seed in 0..40 {
        run_model(seed, &MemFs::new(), options, Model::ascending());
    }
}

#[test]
fn an_odd_order_agrees_with_a_model() {
    for seed in 0..40 {
        let model = Model {
            versions: BTreeMap::new(),
            reverse: true,
            encode: |time| time.to_be_bytes().to_vec(),
        };
        run_model(seed, &MemFs::new(), odd_options, model);
    }
}

/// Entries in tables, memtables included.
fn entries(db: &Db) -> u64 {
    db.flush().expect("flushes");
    db.live_files()
        .expect("lists")
        .iter()
        .map(|f| f.num_entries)
        .sum()
}

#[test]
fn compactions_keep_the_history_down_to_its_limit() {
    let fs = MemFs::new();
    let o = options(&fs);
    let open = || {
        let default = ColumnFamilyDescriptor::new("default", options(&fs));
        Db::open_cf_descriptors(&o, DIR, [default]).expect("opens")
    };
    let db = open();
    let cf = db.cf_handle("default").expect("is there");
    for time in 1..=5 {
        db.put_with_ts("a", le(time), format!("{time}")).unwrap();
    }
    db.put_with_ts("b", le(6), "6").unwrap();
    db.delete_with_ts("b", le(7)).unwrap();
    db.flush().expect("flushes");
    db.compact_range(None::<&[u8]>, None::<&[u8]>);
    assert_eq!(entries(&db), 7, "without a limit all is kept");
    assert_eq!(db.get_full_history_ts_low(&cf), Ok(Vec::new()));
    db.increase_full_history_ts_low(&cf, le(4)).unwrap();
    assert_eq!(
        kind(db.increase_full_history_ts_low(&cf, le(3))),
        ErrorKind::InvalidArgument
    );
    assert_eq!(
        kind(db.increase_full_history_ts_low(&cf, [1, 2])),
        ErrorKind::InvalidArgument
    );
    let mut force = CompactOptions::default();
    force.set_bottommost_level_compaction(whitewater::BottommostLevelCompaction::Force);
    db.compact_range_opt(None::<&[u8]>, None::<&[u8]>, &force);
    // Versions 3 to 5 of "a", both of "b".
    assert_eq!(entries(&db), 5);
    assert_eq!(
        kind(db.get_opt("a", &at(le(3)))),
        ErrorKind::InvalidArgument
    );
    assert_eq!(db.get_opt("a", &at(le(4))), Ok(Some(b"4".to_vec())));
    drop(cf);
    drop(db);

    // The limit is recorded, and kept by another manifest.
    let db = open();
    let cf = db.cf_handle("default").expect("is there");
    assert_eq!(db.get_full_history_ts_low(&cf), Ok(le(4)));
    assert_eq!(
        kind(db.get_opt("a", &at(le(3)))),
        ErrorKind::InvalidArgument
    );
    force.set_full_history_ts_low(le(9));
    db.compact_range_opt(None::<&[u8]>, None::<&[u8]>, &force);
    // The last version of "a"; "b" was deleted.
    assert_eq!(entries(&db), 1);
    assert_eq!(db.get_opt("a", &at(le(9))), Ok(Some(b"5".to_vec())));
    assert_eq!(db.get_opt("b", &at(le(9))), Ok(None));
}

#[test]
fn snapshots_keep_versions_below_the_limit() {
    let db = Db::open(&options(&MemFs::new()), DIR).expect("opens");
    db.put_with_ts("a", le(1), "1").unwrap();
    let snapshot = db.snapshot();
    db.delete_with_ts("a", le(2)).unwrap();
    let mut force = CompactOptions::default();
    force.set_bottommost_level_compaction(whitewater::BottommostLevelCompaction::Force);
    force.set_full_history_ts_low(le(5));
    db.compact_range_opt(None::<&[u8]>, None::<&[u8]>, &force);
    let mut before = at(le(5));
    before.set_snapshot(&snapshot);
    assert_eq!(db.get_opt("a", &before), Ok(Some(b"1".to_vec())));
    assert_eq!(db.get_opt("a", &at(le(5))), Ok(None));
    let it = &mut db.raw_iterator_opt(before);
    it.seek_to_first();
    assert_eq!(it.item(), Some((&b"a"[..], &b"1"[..])));
    it.seek_to_last();
    assert_eq!(it.item(), Some((&b"a"[..], &b"1"[..])));
}

#[test]
fn misuse_is_refused() {
    let fs = MemFs::new();
    let mut plain = tiny();
    plain.set_fs(Arc::new(fs.clone()));
    plain.create_missing_column_families(true);
    let stamped = ColumnFamilyDescriptor::new("stamped", options(&fs));
    let db = Db::open_cf_descriptors(&plain, DIR, [stamped]).expect("opens");
    let stamped = &db.cf_handle("stamped").expect("is there");
    let default = &db.cf_handle("default").expect("is there");
    let invalid = ErrorKind::InvalidArgument;
    // Without a timestamp where one is required.
    assert_eq!(kind(db.put_cf(stamped, "long enough", "v")), invalid);
    assert_eq!(kind(db.delete_cf(stamped, "long enough")), invalid);
    assert_eq!(kind(db.get_cf(stamped, "k")), invalid);
    let it = db.raw_iterator_cf(stamped);
    assert_eq!(kind(it.status()), invalid);
    let mut batch = WriteBatch::default();
    batch.put_cf_with_ts(stamped, "a", le(1), "v");
    batch.put_cf(stamped, "long enough", "v");
    assert_eq!(kind(db.write(batch)), invalid);
    // With a timestamp where none is allowed, or of another size.
    assert_eq!(kind(db.put_with_ts("a", le(1), "v")), invalid);
    assert_eq!(kind(db.get_opt("a", &at(le(1)))), invalid);
    assert_eq!(kind(db.put_cf_with_ts(stamped, "a", [1], "v")), invalid);
    assert_eq!(kind(db.get_cf_opt(stamped, "a", &at([1]))), invalid);
    assert_eq!(
        kind(db.increase_full_history_ts_low(default, le(1))),
        invalid
    );
    assert_eq!(kind(db.get_full_history_ts_low(default)), invalid);
    let mut batch = WriteBatch::default();
    batch.put_cf_with_ts(default, "a", le(1), "v");
    assert_eq!(kind(db.write(batch)), invalid);
    let mut batch = WriteBatch::default();
    batch.delete_range_cf(stamped, "aaaaaaaaaaaa", "bbbbbbbbbbbbb");
    assert_eq!(kind(db.write(batch)), invalid);
    let mut batch = WriteBatch::default();
    batch.delete_range_cf_with_ts(default, "a", "b", le(1));
    assert_eq!(kind(db.write(batch)), invalid);
    let delete = |cf, ts: &[u8]| kind(db.delete_range_cf_with_ts(cf, "a", "b", ts));
    assert_eq!(delete(default, &le(1)), invalid);
    assert_eq!(delete(stamped, &[1]), invalid);
    assert_eq!(kind(db.merge_cf_with_ts(stamped, "a", [1], "v")), invalid);
    // An operation that has no form with timestamps.
    let unsupported = ErrorKind::NotSupported;
    let mut batch = WriteBatch::default();
    batch.single_delete_cf(stamped, "aaaaaaaaaaaa");
    assert_eq!(kind(db.write(batch)), unsupported);
    // None of it was written, and both families accept what they should.
    let mut batch = WriteBatch::default();
    batch.put_cf_with_ts(stamped, "a", le(2), "2");
    batch.delete_cf_with_ts(stamped, "a", le(3));
    batch.put("a", "plain");
    let again = WriteBatch::from_data(batch.data());
    db.write(batch).expect("writes");
    assert_eq!(db.get("a"), Ok(Some(b"plain".to_vec())));
    let get = |time| db.get_cf_opt(stamped, "a", &at(le(time))).expect("reads");
    assert_eq!([get(1), get(2), get(3)], [None, Some(b"2".to_vec()), None]);
    db.write(again).expect("writes what it wrote before");

    let refused = |change: fn(&mut Options)| {
        let fs = MemFs::new();
        let mut o = options(&fs);
        change(&mut o);
        kind(Db::open(&o, DIR))
    };
    let extractor = |o: &mut Options| {
        o.set_prefix_extractor(SliceTransform::create_fixed_prefix(1));
    };
    assert_eq!(refused(extractor), unsupported);
    let folding = |o: &mut Options| o.set_max_successive_merges(2);
    assert_eq!(refused(folding), unsupported);
}

#[test]
fn the_order_is_recorded_and_checked() {
    let fs = MemFs::new();
    let o = options(&fs);
    let db = Db::open(&o, DIR).expect("opens");
    db.put_with_ts("a", le(1), "1").unwrap();
    drop(db);
    let mut plain = tiny();
    plain.set_fs(Arc::new(fs.clone()));
    assert_eq!(kind(Db::open(&plain, DIR)), ErrorKind::InvalidArgument);
    let db = Db::open(&o, DIR).expect("opens");
    assert_eq!(db.get_opt("a", &at(le(1))), Ok(Some(b"1".to_vec())));
}

#[test]
fn tables_with_timestamps_are_written_and_ingested() {
    let dir = tempfile::tempdir().expect("a directory");
    let mut o = tiny();
    o.set_u64_timestamp_comparator();
    let path = dir.path().join("table.sst");
    let mut writer = SstFileWriter::create(&o);
    writer.open(&path).expect("opens");
    writer.put_with_ts("a", le(3), "3").expect("adds");
    writer.put_with_ts("a", le(1), "1").expect("adds");
    assert_eq!(
        kind(writer.put_with_ts("a", le(2), "2")),
        ErrorKind::InvalidArgument,
        "out of order"
    );
    writer.delete_with_ts("b", le(2)).expect("adds");
    writer.put_with_ts("b", le(1), "1").expect("adds");
    assert_eq!(kind(writer.put("c", "v")), ErrorKind::InvalidArgument);
    assert_eq!(
        kind(writer.put_with_ts("c", [1], "v")),
        ErrorKind::InvalidArgument
    );
    assert_eq!(
        kind(writer.delete_range("c", "d")),
        ErrorKind::InvalidArgument
    );
    assert_eq!(
        kind(writer.delete_range_with_ts("c", "d", [1])),
        ErrorKind::InvalidArgument
    );
    assert_eq!(
        kind(writer.delete_range_with_ts("d", "c", le(1))),
        ErrorKind::InvalidArgument
    );
    writer.delete_range_with_ts("c", "d", le(5)).expect("adds");
    writer.finish().expect("finishes");

    let db = Db::open(&o, dir.path().join("db")).expect("opens");
    let options = IngestExternalFileOptions::default();
    db.ingest_external_file_opts(&options, vec![&path])
        .expect("takes it in");
    let get = |key: &str, time| db.get_opt(key, &at(le(time))).expect("reads");
    assert_eq!(get("a", 2), Some(b"1".to_vec()));
    assert_eq!(get("a", 3), Some(b"3".to_vec()));
    assert_eq!(get("b", 1), Some(b"1".to_vec()));
    assert_eq!(get("b", 2), None);
    // Its range deletion counts for what the database gets later.
    let path = dir.path().join("later.sst");
    let mut writer = SstFileWriter::create(&o);
    writer.open(&path).expect("opens");
    writer.delete_range_with_ts("x", "z", le(7)).expect("adds");
    writer.finish().expect("finishes");
    db.ingest_external_file_opts(&options, vec![&path])
        .expect("takes it in");
    db.put_with_ts("y", le(8), "8").expect("writes");
    assert_eq!([get("y", 7), get("y", 8)], [None, Some(b"8".to_vec())]);
    // What would delete older versions is refused as what would add them is.
    let path = dir.path().join("overlapping.sst");
    let mut writer = SstFileWriter::create(&o);
    writer.open(&path).expect("opens");
    writer.delete_range_with_ts("0", "zz", le(9)).expect("adds");
    writer.finish().expect("finishes");
    let overlaps = db.ingest_external_file_opts(&options, vec![&path]);
    assert_eq!(kind(overlaps), ErrorKind::InvalidArgument);
}

/// The table at `path` with one more property, as RocksDB writes it for tables of
/// column families with `persist_user_defined_timestamps=false` (0); without
/// checksums.
fn say_whether_persisted(path: &Path, persisted: u8) {
    const NAME: &str = "rocksdb.user.defined.timestamps.persisted";
    let block = |entries: &[(&[u8], &[u8])]| {
        let mut block = Vec::new();
        for (key, value) in entries {
            for n in [0, key.len(), value.len()] {
                put_varint64(&mut block, n as u64);
            }
            block.extend_from_slice(key);
            block.extend_from_slice(value);
        }
        // One restart point, and the number of them.
        block.extend_from_slice(&[0, 0, 0, 0, 1, 0, 0, 0]);
        block
    };
    let file = OsFs.open_random(path).expect("opens");
    let mut bytes = std::fs::read(path).expect("readable");
    let properties = TableProperties::read(file, bytes.len() as u64).expect("a table");
    let mut properties = properties.raw;
    properties.insert(NAME.to_owned(), vec![persisted]);
    let properties: Vec<(&[u8], &[u8])> = properties
        .iter()
        .map(|(name, value)| (name.as_bytes(), &value[..]))
        .collect();
    let footer = bytes.split_off(bytes.len() - 53);
    let mut append = |block: &[u8]| {
        let mut handle = Vec::new();
        put_varint64(&mut handle, bytes.len() as u64);
        put_varint64(&mut handle, block.len() as u64);
        bytes.extend_from_slice(block);
        bytes.extend_from_slice(&[0; 5]); // not compressed, no checksum
        handle
    };
    let properties = append(&block(&properties));
    let metaindex = append(&block(&[(b"rocksdb.properties", &properties)]));
    let mut handles = &footer[1..];
    (0..2).for_each(|_| _ = get_varint64(&mut handles).expect("the old metaindex"));
    bytes.push(0); // the kind of checksums
    bytes.extend_from_slice(&metaindex);
    // The handle of the index, and zeros.
    bytes.extend_from_slice(&handles[..40 - metaindex.len()]);
    bytes.extend_from_slice(&footer[41..]);
    std::fs::write(path, bytes).expect("writes");
}

#[test]
fn tables_that_lack_the_timestamps_of_their_keys_are_not_ingested() {
    let dir = tempfile::tempdir().expect("a directory");
    let mut o = tiny();
    o.set_u64_timestamp_comparator();
    let path = dir.path().join("table.sst");
    let db = Db::open(&o, dir.path().join("db")).expect("opens");
    for persisted in [0, 1] {
        let mut writer = SstFileWriter::create(&o);
        writer.open(&path).expect("opens");
        writer.put_with_ts("a", le(3), "3").expect("adds");
        writer.finish().expect("finishes");
        say_whether_persisted(&path, persisted);
        let options = IngestExternalFileOptions::default();
        let ingested = db.ingest_external_file_opts(&options, vec![&path]);
        let found = db.get_opt("a", &at(le(3))).expect("reads");
        if persisted == 0 {
            let e = ingested.expect_err("refused");
            assert_eq!(e.kind(), ErrorKind::NotSupported, "{e}");
            assert_eq!(e.file(), Some(&*path), "{e}");
            assert_eq!(found, None);
        } else {
            ingested.expect("takes it in");
            assert_eq!(found, Some(b"3".to_vec()));
        }
    }
}

/// A look-up stops where it finds the key, so an older version must not be ingested above a newer
/// one.
#[test]
fn older_versions_of_keys_that_are_there_are_not_ingested() {
    let dir = tempfile::tempdir().expect("a directory");
    let mut o = tiny();
    o.set_u64_timestamp_comparator();
    let table = |name: &str, key: &str, time| {
        let path = dir.path().join(name);
        let mut writer = SstFileWriter::create(&o);
        writer.open(&path).expect("opens");
        writer.put_with_ts(key, le(time), "in").expect("adds");
        writer.finish().expect("finishes");
        path
    };
    let (old, new, other) = (
        table("1", "k", 5),
        table("2", "k", 12),
        table("3", "other", 5),
    );
    let db = Db::open(&o, dir.path().join("db")).expect("opens");
    let options = IngestExternalFileOptions::default();
    let ingest = |paths| db.ingest_external_file_opts(&options, paths);
    assert_eq!(kind(ingest(vec![&old, &new])), ErrorKind::NotSupported);
    db.put_with_ts("k", le(9), "written").expect("writes");
    for place in ["memory", "level 0", "the last level"] {
        for path in [&old, &new] {
            assert_eq!(kind(ingest(vec![path])), ErrorKind::InvalidArgument);
            let found = db.get_opt("k", &at(le(20))).expect("reads");
            assert_eq!(found, Some(b"written".to_vec()), "{place}");
        }
        match place {
            "memory" => db.flush().expect("flushes"),
            _ => db.compact_range(None::<&[u8]>, None::<&[u8]>),
        }
    }
    ingest(vec![&other]).expect("takes it in");
}

/// When a secondary catches up, it takes over the tables that it has open, and with them how far
/// back keys can be read.
#[test]
fn a_secondary_knows_how_far_back_it_can_read() {
    let fs = MemFs::new();
    let o = options(&fs);
    let default = ColumnFamilyDescriptor::new("default", options(&fs));
    let db = Db::open_cf_descriptors(&o, DIR, [default]).unwrap();
    let cf = db.cf_handle("default").unwrap();
    for time in 1..=6 {
        db.put_with_ts("key", le(time), format!("{time}")).unwrap();
    }
    db.flush().unwrap();
    let secondary = Db::open_as_secondary(&o, DIR, "/own").unwrap();
    let read = |time| secondary.get_opt("key", &at(le(time)));
    assert_eq!(read(3), Ok(Some(b"3".to_vec())));
    db.increase_full_history_ts_low(&cf, le(4)).unwrap();
    for round in 0..2 {
        secondary.try_catch_up_with_primary().unwrap();
        assert_eq!(kind(read(3)), ErrorKind::InvalidArgument, "round {round}");
        assert_eq!(read(4), Ok(Some(b"4".to_vec())));
        db.put_with_ts("other", le(9), "new").unwrap();
        db.flush().unwrap();
    }
}

/// A range deletion hides older versions from readers at its time and later, wherever it is, and
/// goes with them once nobody reads before it.
#[test]
fn range_deletions_count_from_their_time_on() {
    let db = open(&options(&MemFs::new()));
    let cf = db.cf_handle("default").expect("is there");
    for key in ["a", "b", "c"] {
        db.put_with_ts(key, le(1), "1").unwrap();
    }
    db.delete_range_cf_with_ts(&cf, "a", "c", le(5)).unwrap();
    db.put_with_ts("b", le(7), "7").unwrap();
    let seen = |key: &str, time| db.get_opt(key, &at(le(time))).unwrap().is_some();
    let keys = |time| {
        let it = &mut db.raw_iterator_opt(at(le(time)));
        let mut found = Vec::new();
        it.seek_to_first();
        while let Some(key) = it.key() {
            found.push(String::from_utf8(key.to_vec()).unwrap());
            it.next();
        }
        found.concat()
    };
    let mut force = CompactOptions::default();
    force.set_bottommost_level_compaction(whitewater::BottommostLevelCompaction::Force);
    for place in ["memory", "level 0", "the last level"] {
        assert!(seen("a", 4) && !seen("a", 5) && !seen("b", 6), "{place}");
        assert!(seen("b", 7) && seen("c", 9), "{place}");
        assert_eq!([keys(4), keys(5), keys(7)], ["abc", "c", "bc"], "{place}");
        match place {
            "memory" => db.flush().expect("flushes"),
            _ => db.compact_range_opt(None::<&[u8]>, None::<&[u8]>, &force),
        }
    }
    assert_eq!(entries(&db), 5, "without a limit all is kept");
    force.set_full_history_ts_low(le(4));
    db.compact_range_opt(None::<&[u8]>, None::<&[u8]>, &force);
    assert_eq!([keys(4), keys(5)], ["abc", "c"]);
    force.set_full_history_ts_low(le(6));
    db.compact_range_opt(None::<&[u8]>, None::<&[u8]>, &force);
    assert_eq!(entries(&db), 2);
    assert_eq!([keys(6), keys(7)], ["c", "bc"]);
}

/// Operands are merged by compactions only where all readers see all of them.
#[test]
fn merges_keep_their_history_down_to_its_limit() {
    let mut o = options(&MemFs::new());
    add_merge_operator(&mut o);
    let db = open(&o);
    let cf = db.cf_handle("default").expect("is there");
    db.put_with_ts("k", le(1), "1").unwrap();
    for time in 2..=5 {
        let operand = time.to_string();
        db.merge_cf_with_ts(&cf, "k", le(time), operand).unwrap();
    }
    let read = |time| {
        let found = db.get_opt("k", &at(le(time))).unwrap();
        String::from_utf8(found.unwrap()).unwrap()
    };
    let mut force = CompactOptions::default();
    force.set_bottommost_level_compaction(whitewater::BottommostLevelCompaction::Force);
    db.compact_range_opt(None::<&[u8]>, None::<&[u8]>, &force);
    assert_eq!(entries(&db), 5);
    assert_eq!([read(1), read(3), read(9)], ["1", "1,2,3", "1,2,3,4,5"]);
    force.set_full_history_ts_low(le(4));
    db.compact_range_opt(None::<&[u8]>, None::<&[u8]>, &force);
    // 1 to 3 in one, 4, 5.
    assert_eq!(entries(&db), 3);
    assert_eq!([read(4), read(5)], ["1,2,3,4", "1,2,3,4,5"]);
}

/// The value of `key` at `time`.
fn value_at(db: &Db, key: &str, time: u64) -> Option<Vec<u8>> {
    db.get_opt(key, &at(le(time))).unwrap()
}

#[test]
fn a_batch_is_given_a_timestamp_whatever_its_keys_had() {
    let db = open(&options(&MemFs::new()));
    db.put_with_ts("gone", le(1), "old").unwrap();
    let cf = db.cf_handle("default").unwrap();
    let mut batch = WriteBatch::default();
    batch.put("bare", "1");
    batch.put_log_data("data");
    batch.put_cf_with_ts(&cf, "stamped", le(3), "2");
    batch.delete_range_cf_with_ts(&cf, "g", "h", le(3));
    batch.set_savepoint();
    batch.put("later", "3");

    // The wrong size changes nothing.
    let before = batch.data().to_vec();
    let e = batch.update_timestamps(b"abcd", |_| 8).unwrap_err();
    assert_eq!(e.kind(), ErrorKind::InvalidArgument);
    let e = batch.update_timestamps(le(5), |_| 4).unwrap_err();
    assert_eq!(e.kind(), ErrorKind::InvalidArgument);
    assert_eq!(batch.data(), before);

    batch.update_timestamps(le(9), |_| 8).unwrap();
    // Once more, with a key that has none yet.
    batch.put("last", "4");
    batch.update_timestamps(le(5), |_| 8).unwrap();
    let whole = batch.clone();
    let of_bytes = {
        let mut bytes = batch.data().to_vec();
        bytes[..8].copy_from_slice(&le(11)); // a sequence number
        let mut batch = WriteBatch::from_data(&bytes);
        batch.update_timestamps(le(7), |_| 8).unwrap();
        assert_eq!(batch.data()[..8], le(11));
        batch
    };
    batch.rollback_to_savepoint().unwrap();
    db.write(batch).unwrap();
    assert_eq!(value_at(&db, "bare", 5).as_deref(), Some(&b"1"[..]));
    assert_eq!(value_at(&db, "bare", 4), None);
    assert_eq!(value_at(&db, "stamped", 5).as_deref(), Some(&b"2"[..]));
    assert_eq!(value_at(&db, "stamped", 4), None);
    assert_eq!(value_at(&db, "gone", 4).as_deref(), Some(&b"old"[..]));
    assert_eq!(value_at(&db, "gone", 5), None);
    assert_eq!(value_at(&db, "later", 9), None, "taken back");

    db.write(whole).unwrap();
    for (key, value) in [("later", "3"), ("last", "4")] {
        assert_eq!(value_at(&db, key, 5).as_deref(), Some(value.as_bytes()));
        assert_eq!(value_at(&db, key, 4), None);
    }
    db.delete_with_ts("last", le(6)).unwrap();
    db.write(of_bytes).unwrap();
    assert_eq!(value_at(&db, "last", 6), None);
    assert_eq!(value_at(&db, "last", 7).as_deref(), Some(&b"4"[..]));
}

#[test]
fn keys_that_are_added_after_the_timestamp_have_none() {
    let db = open(&options(&MemFs::new()));
    let mut batch = WriteBatch::default();
    batch.put("a", "1");
    batch.update_timestamps(le(5), |_| 8).unwrap();
    batch.put("a key of more than eight bytes", "2");
    let e = db.write(batch.clone()).unwrap_err();
    assert_eq!(e.kind(), ErrorKind::InvalidArgument);
    // A family whose size is said to be 0 keeps its keys as they are.
    batch.update_timestamps(le(5), |_| 0).unwrap();
    let e = db.write(batch.clone()).unwrap_err();
    assert_eq!(e.kind(), ErrorKind::InvalidArgument);
    batch.update_timestamps(le(5), |_| 8).unwrap();
    db.write(batch).unwrap();
    assert_eq!(value_at(&db, "a", 5).as_deref(), Some(&b"1"[..]));
}
