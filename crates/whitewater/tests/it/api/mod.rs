//! The public API in both thread modes: what users of the `rocksdb` crate rely on.
//!
//! `column_families` has what is tested in one mode: handles of dropped families, and names.

mod column_families;

use crate::harness::set_protocol;
use rand::prelude::*;
use rand::rngs::StdRng;
use std::collections::BTreeMap;
use std::path::Path;
use std::time::Duration;
use tempfile::TempDir;
use whitewater::{
    AsColumnFamilyRef, BlockBasedOptions, BottommostLevelCompaction, Cache, ColumnFamilyDescriptor,
    CompactOptions, DB, DBCompressionType, DBRecoveryMode, DBWithThreadMode, Direction, Error,
    ErrorKind, FlushOptions, IteratorMode, MemtableFactory, MergeOperands, MultiThreaded, Options,
    PrefixRange, Range, ReadOptions, SingleThreaded, ThreadMode, WaitForCompactOptions, WriteBatch,
    WriteOptions, properties,
};

type Db<T> = DBWithThreadMode<T>;

/// What differs between the thread modes.
trait Mode: ThreadMode + Send + Sync + Sized + 'static {
    fn cf<'a>(db: &'a Db<Self>, name: &str) -> Option<impl AsColumnFamilyRef + use<'a, Self>>;
    fn create(db: &mut Db<Self>, name: &str, opts: &Options) -> Result<(), Error>;
    fn drop(db: &mut Db<Self>, name: &str) -> Result<(), Error>;
}

impl Mode for SingleThreaded {
    fn cf<'a>(db: &'a Db<Self>, name: &str) -> Option<impl AsColumnFamilyRef + use<'a>> {
        db.cf_handle(name)
    }
    fn create(db: &mut Db<Self>, name: &str, opts: &Options) -> Result<(), Error> {
        db.create_cf(name, opts)
    }
    fn drop(db: &mut Db<Self>, name: &str) -> Result<(), Error> {
        db.drop_cf(name)
    }
}

impl Mode for MultiThreaded {
    fn cf<'a>(db: &'a Db<Self>, name: &str) -> Option<impl AsColumnFamilyRef + use<'a>> {
        db.cf_handle(name)
    }
    fn create(db: &mut Db<Self>, name: &str, opts: &Options) -> Result<(), Error> {
        db.create_cf(name, opts)
    }
    fn drop(db: &mut Db<Self>, name: &str) -> Result<(), Error> {
        db.drop_cf(name)
    }
}

/// Makes a test of each function for each thread mode.
macro_rules! in_both_modes {
    ($($name:ident),* $(,)?) => {
        mod single_threaded {
            $(#[test] fn $name() { super::$name::<super::SingleThreaded>(); })*
        }
        mod multi_threaded {
            $(#[test] fn $name() { super::$name::<super::MultiThreaded>(); })*
        }
    };
}

in_both_modes!(
    keys_are_put_read_overwritten_and_deleted,
    batches_are_atomic_and_ordered,
    column_families_are_created_listed_and_dropped,
    column_families_are_apart,
    a_dropped_column_family_leaves_no_files,
    iterators_go_both_ways,
    iterators_keep_bounds,
    raw_iterators_seek_and_refresh,
    snapshots_do_not_move,
    merges_combine_operands,
    a_merge_function_that_fails_fails_the_read,
    many_keys_are_read_in_their_order,
    pinned_values_stay,
    ranges_are_deleted,
    content_survives_flush_compaction_and_reopening,
    opening_fails_as_it_should,
    bad_calls_fail_as_they_should,
    options_are_refused_at_open_by_name,
    an_open_database_is_locked,
    the_order_of_keys_can_be_chosen,
    reverse_bytewise_order_holds_in_every_memtable,
    properties_and_files_are_listed,
    threads_share_the_database,
);

fn dir() -> TempDir {
    tempfile::tempdir().expect("a temporary directory")
}

fn creating() -> Options {
    let mut opts = Options::default();
    opts.create_if_missing(true);
    opts.create_missing_column_families(true);
    set_protocol(&mut opts);
    opts
}

fn open<T: Mode>(path: &Path) -> Db<T> {
    Db::open(&creating(), path).unwrap()
}

fn open_two<T: Mode>(path: &Path) -> Db<T> {
    Db::open_cf(&creating(), path, ["one", "two"]).unwrap()
}

fn fails<V>(result: Result<V, Error>, kind: ErrorKind, text: &str) {
    let Err(error) = result else {
        panic!("no error where {text:?} is expected");
    };
    assert_eq!(error.kind(), kind, "{error}");
    assert!(error.to_string().contains(text), "{error}");
}

/// The keys an iterator gives, joined.
fn keys<K: AsRef<[u8]>, V>(iterator: impl Iterator<Item = Result<(K, V), Error>>) -> String {
    let keys = iterator.map(|item| {
        let (key, _) = item.unwrap();
        String::from_utf8(key.as_ref().to_vec()).unwrap()
    });
    keys.collect::<Vec<_>>().join(" ")
}

fn keys_are_put_read_overwritten_and_deleted<T: Mode>() {
    let dir = dir();
    let db = Db::<T>::open_default(dir.path()).unwrap();
    assert_eq!(db.path(), dir.path());
    assert_eq!(db.get(b"k").unwrap(), None);
    db.put(b"k", b"1").unwrap();
    db.put("k", String::from("2")).unwrap();
    db.put(b"", b"empty key").unwrap();
    db.put(b"empty value", b"").unwrap();
    assert_eq!(db.get(b"k").unwrap().as_deref(), Some(&b"2"[..]));
    assert_eq!(db.get(b"").unwrap().as_deref(), Some(&b"empty key"[..]));
    assert_eq!(db.get("empty value").unwrap().as_deref(), Some(&b""[..]));
    assert!(db.key_may_exist(b"k"));
    assert_eq!(db.latest_sequence_number(), 4);

    db.delete(b"k").unwrap();
    db.delete(b"never there").unwrap();
    assert_eq!(db.get(b"k").unwrap(), None);

    let mut synced = WriteOptions::default();
    synced.set_sync(true);
    db.put_opt(b"s", b"v", &synced).unwrap();
    assert_eq!(db.get(b"s").unwrap().as_deref(), Some(&b"v"[..]));
    db.flush_wal(true).unwrap();
}

fn batches_are_atomic_and_ordered<T: Mode>() {
    let dir = dir();
    let db = open_two::<T>(dir.path());
    let one = T::cf(&db, "one").unwrap();
    let mut batch = WriteBatch::default();
    batch.put(b"k", b"first");
    batch.put(b"k", b"second");
    batch.put(b"gone", b"");
    batch.delete(b"gone");
    batch.put(b"single", b"");
    batch.single_delete(b"single");
    batch.put_cf(&one, b"k", b"in one");
    batch.put_log_data(b"a note");
    assert_eq!((batch.len(), batch.is_empty()), (7, false));
    db.write(batch).unwrap();
    assert_eq!(db.get(b"k").unwrap().as_deref(), Some(&b"second"[..]));
    assert_eq!(db.get(b"gone").unwrap(), None);
    assert_eq!(db.get(b"single").unwrap(), None);
    let in_one = db.get_cf(&one, b"k").unwrap();
    assert_eq!(in_one.as_deref(), Some(&b"in one"[..]));
    assert_eq!(db.latest_sequence_number(), 7);

    let mut batch = WriteBatch::new();
    batch.put(b"unlogged", b"v");
    db.write_without_wal(batch).unwrap();
    assert!(db.get(b"unlogged").unwrap().is_some());

    // A batch that fails leaves nothing behind.
    let torn = WriteBatch::from_data(b"no batch at all");
    fails(db.write(torn), ErrorKind::Corruption, "Corruption: ");
    assert_eq!(db.latest_sequence_number(), 8);
    db.write(WriteBatch::default()).unwrap();
    assert_eq!(db.latest_sequence_number(), 8);
}

fn column_families_are_created_listed_and_dropped<T: Mode>() {
    let dir = dir();
    let mut db = open::<T>(dir.path());
    // Handles are kept for families that were named at open or created since.
    assert!(T::cf(&db, "default").is_none());
    T::create(&mut db, "a", &Options::default()).unwrap();
    T::create(&mut db, "b", &Options::default()).unwrap();
    fails(
        T::create(&mut db, "a", &Options::default()),
        ErrorKind::InvalidArgument,
        "Column family already exists",
    );
    {
        let a = T::cf(&db, "a").unwrap();
        db.put_cf(&a, b"k", b"v").unwrap();
    }
    T::drop(&mut db, "b").unwrap();
    assert!(T::cf(&db, "b").is_none());
    fails(
        T::drop(&mut db, "b"),
        ErrorKind::InvalidArgument,
        "Invalid column family: b",
    );
    drop(db);

    let mut names = Db::<T>::list_cf(&Options::default(), dir.path()).unwrap();
    names.sort();
    assert_eq!(names, ["a", "default"]);

    let cfs = ["default", "a"].map(|name| ColumnFamilyDescriptor::new(name, Options::default()));
    let mut db = Db::<T>::open_cf_descriptors(&Options::default(), dir.path(), cfs).unwrap();
    {
        let a = T::cf(&db, "a").unwrap();
        assert_eq!(db.get_cf(&a, b"k").unwrap().as_deref(), Some(&b"v"[..]));
    }
    fails(
        T::drop(&mut db, "default"),
        ErrorKind::InvalidArgument,
        "default column family",
    );
    assert!(T::cf(&db, "default").is_some());
    // A dropped name can be used again and starts empty.
    T::drop(&mut db, "a").unwrap();
    T::create(&mut db, "a", &Options::default()).unwrap();
    let a = T::cf(&db, "a").unwrap();
    assert_eq!(db.get_cf(&a, b"k").unwrap(), None);
}

fn a_dropped_column_family_leaves_no_files<T: Mode>() {
    let dir = dir();
    let mut db = open_two::<T>(dir.path());
    {
        let cf = T::cf(&db, "one").unwrap();
        db.put_cf(&cf, "k", "v").unwrap();
        db.flush_cf(&cf).unwrap();
        // Until the flush has let go of the column family.
        db.wait_for_compact(&Default::default()).unwrap();
    }
    let tables = || {
        let names = std::fs::read_dir(dir.path()).unwrap();
        let names = names.map(|entry| entry.unwrap().path());
        names
            .filter(|path| path.extension() == Some("sst".as_ref()))
            .count()
    };
    assert_eq!(tables(), 1);
    T::drop(&mut db, "one").unwrap();
    assert_eq!(tables(), 0);
}

fn column_families_are_apart<T: Mode>() {
    let dir = dir();
    let with_opts = [("one", Options::default()), ("two", Options::default())];
    let db = Db::<T>::open_cf_with_opts(&creating(), dir.path(), with_opts).unwrap();
    let one = T::cf(&db, "one").unwrap();
    let two = T::cf(&db, "two").unwrap();
    db.put(b"k", b"0").unwrap();
    db.put_cf(&one, b"k", b"1").unwrap();
    db.put_cf(&two, b"k", b"2").unwrap();
    db.delete_cf(&one, b"k").unwrap();
    assert_eq!(db.get(b"k").unwrap().as_deref(), Some(&b"0"[..]));
    assert_eq!(db.get_cf(&one, b"k").unwrap(), None);
    assert_eq!(db.get_cf(&two, b"k").unwrap().as_deref(), Some(&b"2"[..]));
    assert_eq!(keys(db.iterator_cf(&one, IteratorMode::Start)), "");
    assert_eq!(keys(db.iterator_cf(&two, IteratorMode::Start)), "k");
    db.flush_cfs_opt(&[&one, &two], &FlushOptions::default())
        .unwrap();
    let (may, _) = db.key_may_exist_cf_opt_value(&two, b"k", &ReadOptions::default());
    assert!(may);
    assert_eq!(db.get_column_family_metadata_cf(&two).name, "two");
}

fn iterators_go_both_ways<T: Mode>() {
    let dir = dir();
    let db = open::<T>(dir.path());
    for key in ["a", "b", "d", "e"] {
        db.put(key, key).unwrap();
    }
    db.flush().unwrap();
    db.put("c", "").unwrap();
    db.delete("d").unwrap();
    let at = |mode| keys(db.iterator(mode));
    assert_eq!(at(IteratorMode::Start), "a b c e");
    assert_eq!(at(IteratorMode::End), "e c b a");
    assert_eq!(at(IteratorMode::From(b"b", Direction::Forward)), "b c e");
    assert_eq!(at(IteratorMode::From(b"bb", Direction::Forward)), "c e");
    assert_eq!(at(IteratorMode::From(b"d", Direction::Reverse)), "c b a");
    assert_eq!(at(IteratorMode::From(b"f", Direction::Forward)), "");
    assert_eq!(at(IteratorMode::From(b"A", Direction::Reverse)), "");
    assert_eq!(keys(db.full_iterator(IteratorMode::Start)), "a b c e");
    // Without a prefix extractor, a prefix is only where to begin.
    assert_eq!(keys(db.prefix_iterator("b")), "b c e");

    let mut it = db.iterator(IteratorMode::End);
    let (key, value) = it.next().unwrap().unwrap();
    assert_eq!((&*key, &*value), (&b"e"[..], &b"e"[..]));
    it.set_mode(IteratorMode::From(b"b", Direction::Reverse));
    assert_eq!(keys(it.by_ref()), "b a");
    assert!(it.next().is_none());
    db.put("z", "").unwrap();
    it.refresh(IteratorMode::End).unwrap();
    assert_eq!(keys(it), "z e c b a");
}

fn iterators_keep_bounds<T: Mode>() {
    let dir = dir();
    let db = open::<T>(dir.path());
    for key in ["a", "b1", "b2", "b3", "c"] {
        db.put(key, "").unwrap();
    }
    let within = |mode, lower: Option<&str>, upper: Option<&str>| {
        let mut readopts = ReadOptions::default();
        if let Some(lower) = lower {
            readopts.set_iterate_lower_bound(lower);
        }
        if let Some(upper) = upper {
            readopts.set_iterate_upper_bound(upper);
        }
        keys(db.iterator_opt(mode, readopts))
    };
    let (start, end) = (IteratorMode::Start, IteratorMode::End);
    assert_eq!(within(start, Some("b1"), Some("b3")), "b1 b2");
    assert_eq!(within(end, Some("b1"), Some("b3")), "b2 b1");
    assert_eq!(within(start, Some("b2"), None), "b2 b3 c");
    assert_eq!(within(end, None, Some("b2")), "b1 a");
    let before = IteratorMode::From(b"a", Direction::Forward);
    assert_eq!(within(before, Some("b2"), None), "b2 b3 c");
    let after = IteratorMode::From(b"c", Direction::Reverse);
    assert_eq!(within(after, None, Some("b3")), "b2 b1 a");
    assert_eq!(within(start, Some("x"), None), "");

    let mut readopts = ReadOptions::default();
    readopts.set_iterate_range(PrefixRange("b"));
    assert_eq!(keys(db.iterator_opt(end, readopts)), "b3 b2 b1");
}

fn raw_iterators_seek_and_refresh<T: Mode>() {
    let dir = dir();
    let db = open::<T>(dir.path());
    for key in ["a", "c", "e"] {
        db.put(key, key.to_uppercase()).unwrap();
    }
    let mut it = db.raw_iterator();
    assert!(!it.valid());
    assert_eq!((it.key(), it.value(), it.item()), (None, None, None));
    it.next(); // no effect
    it.seek("b");
    assert_eq!(it.item(), Some((&b"c"[..], &b"C"[..])));
    it.prev();
    assert_eq!(it.key(), Some(&b"a"[..]));
    it.next();
    it.next();
    assert_eq!(it.value(), Some(&b"E"[..]));
    it.next();
    assert!(!it.valid());
    it.status().unwrap();
    it.seek_for_prev("d");
    assert_eq!(it.key(), Some(&b"c"[..]));
    it.seek_to_first();
    it.prev();
    assert!(!it.valid());
    it.seek_to_last();
    assert_eq!(it.key(), Some(&b"e"[..]));

    db.put("f", "").unwrap();
    it.seek_to_last();
    assert_eq!(
        it.key(),
        Some(&b"e"[..]),
        "an iterator does not see later writes"
    );
    it.refresh().unwrap();
    it.seek_to_last();
    assert_eq!(it.key(), Some(&b"f"[..]));
}

fn snapshots_do_not_move<T: Mode>() {
    let dir = dir();
    let db = open_two::<T>(dir.path());
    let one = T::cf(&db, "one").unwrap();
    db.put("a", "1").unwrap();
    db.put("b", "1").unwrap();
    db.put_cf(&one, "c", "1").unwrap();
    let snapshot = db.snapshot();
    assert_eq!(snapshot.sequence_number(), 3);
    db.put("a", "2").unwrap();
    db.delete("b").unwrap();
    db.put_cf(&one, "d", "2").unwrap();
    db.flush().unwrap();
    db.compact_range(None::<&[u8]>, None::<&[u8]>);

    assert_eq!(snapshot.get("a").unwrap().as_deref(), Some(&b"1"[..]));
    assert_eq!(
        snapshot.get_pinned("b").unwrap().as_deref(),
        Some(&b"1"[..])
    );
    assert_eq!(snapshot.get_cf(&one, "d").unwrap(), None);
    assert_eq!(keys(snapshot.iterator(IteratorMode::Start)), "a b");
    assert_eq!(keys(snapshot.iterator_cf(&one, IteratorMode::End)), "c");
    let read: Result<Vec<_>, _> = snapshot.multi_get(["b", "a"]).into_iter().collect();
    assert_eq!(read.unwrap(), [Some(b"1".to_vec()), Some(b"1".to_vec())]);

    let mut readopts = ReadOptions::default();
    readopts.set_snapshot(&snapshot);
    let old = db.get_opt("a", &readopts).unwrap();
    assert_eq!(old.as_deref(), Some(&b"1"[..]));
    assert_eq!(db.get("a").unwrap().as_deref(), Some(&b"2"[..]));
    // The options keep the snapshot alive.
    drop(snapshot);
    db.compact_range(None::<&[u8]>, None::<&[u8]>);
    assert!(db.get_opt("b", &readopts).unwrap().is_some());
}

fn append(_: &[u8], existing: Option<&[u8]>, operands: &MergeOperands) -> Option<Vec<u8>> {
    let mut value = existing.unwrap_or_default().to_vec();
    for operand in operands {
        value.extend_from_slice(operand);
    }
    Some(value)
}

fn merges_combine_operands<T: Mode>() {
    let dir = dir();
    let mut opts = creating();
    opts.set_merge_operator_associative("append", append);
    let db = Db::<T>::open(&opts, dir.path()).unwrap();
    db.merge("new", "a").unwrap();
    db.merge("new", "b").unwrap();
    db.put("old", "x").unwrap();
    db.flush().unwrap();
    db.merge("old", "y").unwrap();
    db.flush().unwrap();
    let mut batch = WriteBatch::default();
    batch.merge("old", "z");
    db.write(batch).unwrap();
    let check = |db: &Db<T>| {
        assert_eq!(db.get("new").unwrap().as_deref(), Some(&b"ab"[..]));
        assert_eq!(db.get("old").unwrap().as_deref(), Some(&b"xyz"[..]));
        let values: Vec<_> = db
            .iterator(IteratorMode::End)
            .map(|i| i.unwrap().1)
            .collect();
        assert_eq!(values, [Box::from(&b"xyz"[..]), Box::from(&b"ab"[..])]);
    };
    check(&db);
    db.compact_range(None::<&[u8]>, None::<&[u8]>);
    check(&db);
    db.delete("old").unwrap();
    db.merge("old", "!").unwrap();
    assert_eq!(db.get("old").unwrap().as_deref(), Some(&b"!"[..]));
}

fn a_merge_function_that_fails_fails_the_read<T: Mode>() {
    let dir = dir();
    let mut opts = creating();
    opts.set_merge_operator("refuse", |_, _, _| None, |_, _, _| None);
    let db = Db::<T>::open(&opts, dir.path()).unwrap();
    db.put("good", "1").unwrap();
    db.merge("bad", "1").unwrap();
    fails(db.get("bad"), ErrorKind::Corruption, "");
    let read: Vec<_> = db.multi_get(["good", "bad"]);
    assert!(matches!((&read[0], &read[1]), (Ok(Some(_)), Err(_))));
    let mut it = db.iterator(IteratorMode::Start);
    let error = it.next().unwrap().unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Corruption);
    assert!(
        it.next().is_none(),
        "an iterator ends with its first failure"
    );
    assert_eq!(db.get("good").unwrap().as_deref(), Some(&b"1"[..]));
}

fn many_keys_are_read_in_their_order<T: Mode>() {
    let dir = dir();
    let db = open_two::<T>(dir.path());
    let one = T::cf(&db, "one").unwrap();
    let two = T::cf(&db, "two").unwrap();
    for (key, value) in [("a", "1"), ("b", "2"), ("c", "3")] {
        db.put(key, value).unwrap();
        db.put_cf(&one, key, format!("one {value}")).unwrap();
    }
    let read = |values: Vec<Result<Option<Vec<u8>>, Error>>| -> Vec<String> {
        let text = |v: Option<Vec<u8>>| String::from_utf8(v.unwrap_or(b"-".to_vec())).unwrap();
        values.into_iter().map(|v| text(v.unwrap())).collect()
    };
    assert_eq!(
        read(db.multi_get(["c", "x", "a", "c"])),
        ["3", "-", "1", "3"]
    );
    assert!(db.multi_get(Vec::<&[u8]>::new()).is_empty());
    assert_eq!(
        read(db.multi_get_cf([(&one, "b"), (&one, "z"), (&one, "a")])),
        ["one 2", "-", "one 1"]
    );
    assert_eq!(read(db.multi_get_cf([(&two, "b")])), ["-"]);
    assert_eq!(
        read(db.multi_get_cf([(&two, "a"), (&one, "a"), (&two, "b"), (&one, "b")])),
        ["-", "one 1", "-", "one 2"]
    );
    let batched: Vec<_> = db
        .batched_multi_get_cf(&one, ["c", "-", "a"], false)
        .into_iter()
        .map(|v| v.unwrap().map(|v| v.to_vec()))
        .collect();
    assert_eq!(
        batched,
        [Some(b"one 3".to_vec()), None, Some(b"one 1".to_vec())]
    );
}

fn pinned_values_stay<T: Mode>() {
    let dir = dir();
    let db = open::<T>(dir.path());
    let big = vec![7u8; 100_000];
    db.put("k", &big).unwrap();
    let in_memory = db.get_pinned("k").unwrap().unwrap();
    db.flush().unwrap();
    let in_file = db.get_pinned("k").unwrap().unwrap();
    db.put("k", "other").unwrap();
    db.flush().unwrap();
    db.compact_range(None::<&[u8]>, None::<&[u8]>);
    assert_eq!(&*in_memory, &big[..]);
    assert_eq!(in_file.as_ref(), &big[..]);
    let now = db.get_pinned("k").unwrap().unwrap();
    assert_eq!(&*now, b"other");
    assert!(db.get_pinned("none").unwrap().is_none());
}

fn ranges_are_deleted<T: Mode>() {
    let dir = dir();
    let db = open_two::<T>(dir.path());
    let one = T::cf(&db, "one").unwrap();
    for key in ["a", "b", "c", "d"] {
        db.put(key, "").unwrap();
        db.put_cf(&one, key, "").unwrap();
    }
    db.flush().unwrap();
    let mut batch = WriteBatch::default();
    batch.delete_range("b", "d");
    batch.put("c", "again");
    db.write(batch).unwrap();
    db.delete_range_cf(&one, "a", "c").unwrap();
    let check = || {
        assert_eq!(keys(db.iterator(IteratorMode::Start)), "a c d");
        assert_eq!(keys(db.iterator_cf(&one, IteratorMode::End)), "d c");
        assert_eq!(db.get("b").unwrap(), None);
        assert!(db.get("c").unwrap().is_some());
    };
    check();
    db.flush().unwrap();
    db.flush_cf(&one).unwrap();
    check();
    db.compact_range(None::<&[u8]>, None::<&[u8]>);
    db.compact_range_cf(&one, None::<&[u8]>, None::<&[u8]>);
    check();
}

fn content_survives_flush_compaction_and_reopening<T: Mode>() {
    let dir = dir();
    let key = |i: u32| format!("key{i:06}");
    let cache = Cache::new_lru_cache(1 << 20);
    let mut table = BlockBasedOptions::default();
    table.set_block_cache(&cache);
    table.set_bloom_filter(10.0, false);
    for (round, codec) in [
        DBCompressionType::None,
        DBCompressionType::Snappy,
        DBCompressionType::Lz4,
        DBCompressionType::Zstd,
    ]
    .into_iter()
    .enumerate()
    {
        let mut opts = creating();
        opts.set_compression_type(codec);
        opts.set_block_based_table_factory(&table);
        opts.set_wal_recovery_mode(DBRecoveryMode::AbsoluteConsistency);
        let db = Db::<T>::open(&opts, dir.path()).unwrap();
        for i in 0..2000 {
            let expected = (round > 0).then(|| format!("{}-{i}", round - 1).into_bytes());
            assert_eq!(db.get(key(i)).unwrap(), expected, "{codec:?} {i}");
            db.put(key(i), format!("{round}-{i}")).unwrap();
        }
        match round {
            0 => db.flush().unwrap(),
            1 => {
                let mut compact = CompactOptions::default();
                compact.set_bottommost_level_compaction(BottommostLevelCompaction::Force);
                db.try_compact_range_opt(Some("key"), None::<&str>, &compact)
                    .unwrap();
            }
            2 => {
                let mut wait = WaitForCompactOptions::default();
                wait.set_flush(true);
                db.wait_for_compact(&wait).unwrap();
            }
            _ => {} // only in the log
        }
    }
    let db = open::<T>(dir.path());
    assert_eq!(db.iterator(IteratorMode::Start).count(), 2000);
    let last = db.get(key(1999)).unwrap();
    assert_eq!(last.as_deref(), Some(&b"3-1999"[..]));
    db.cancel_all_background_work(true);
}

fn opening_fails_as_it_should<T: Mode>() {
    let dir = dir();
    let missing = dir.path().join("missing");
    let plain = Options::default();
    fails(
        Db::<T>::open(&plain, &missing),
        ErrorKind::InvalidArgument,
        "does not exist (create_if_missing is false)",
    );
    assert!(Db::<T>::list_cf(&plain, dir.path().join("none")).is_err());

    let path = dir.path().join("db");
    drop(open_two::<T>(&path));
    let mut fresh = creating();
    fresh.set_error_if_exists(true);
    fails(
        Db::<T>::open(&fresh, &path),
        ErrorKind::InvalidArgument,
        "exists (error_if_exists is true)",
    );
    fails(
        Db::<T>::open(&plain, &path),
        ErrorKind::InvalidArgument,
        "Column families not opened: ",
    );
    fails(
        Db::<T>::open_cf(&plain, &path, ["one", "two", "three"]),
        ErrorKind::InvalidArgument,
        "Column family not found: three",
    );
    let db = Db::<T>::open_cf(&plain, &path, ["one", "two"]).unwrap();
    assert!(T::cf(&db, "default").is_some());
    drop(db);
    Db::<T>::destroy(&plain, &path).unwrap();
    assert!(Db::<T>::list_cf(&plain, &path).is_err());
}

fn bad_calls_fail_as_they_should<T: Mode>() {
    let dir = dir();
    let db = open::<T>(dir.path());
    let mut contrary = WriteOptions::default();
    contrary.set_sync(true);
    contrary.disable_wal(true);
    fails(
        db.put_opt("k", "v", &contrary),
        ErrorKind::InvalidArgument,
        "Sync writes has to enable WAL.",
    );
    assert_eq!(db.get("k").unwrap(), None);
    // Without an operator, the merge or at the latest the read fails and says so.
    let merged = db.merge("k", "1").and_then(|()| db.get("k"));
    let error = merged.unwrap_err();
    assert!(
        matches!(
            error.kind(),
            ErrorKind::NotSupported | ErrorKind::InvalidArgument
        ),
        "{error}"
    );
    fails(
        db.property_value("rocksdb.\0stats"),
        ErrorKind::InvalidArgument,
        "Failed to convert property name",
    );
    let error = db.put_opt("k", "v", &contrary).unwrap_err();
    assert!(error.as_ref().starts_with("Invalid argument: "), "{error}");
    assert_eq!(error.clone().into_string(), error.to_string());
}

fn options_are_refused_at_open_by_name<T: Mode>() {
    let dir = dir();
    let mut zlib = creating();
    zlib.set_compression_type(DBCompressionType::Zlib);
    zlib.set_compression_options(15, 6, 0, 0);
    fails(
        Db::<T>::open(&zlib, dir.path()),
        ErrorKind::NotSupported,
        "option compression_opts: window_bits = 15",
    );
    let mut both = creating();
    both.set_unordered_write(true);
    both.set_enable_pipelined_write(true);
    fails(
        Db::<T>::open(&both, dir.path()),
        ErrorKind::InvalidArgument,
        "unordered_write is incompatible with enable_pipelined_write",
    );
    let mut db = open::<T>(dir.path());
    fails(
        T::create(&mut db, "a", &zlib),
        ErrorKind::NotSupported,
        "option compression_opts: window_bits = 15",
    );
    assert!(T::cf(&db, "a").is_none());
}

fn an_open_database_is_locked<T: Mode>() {
    let dir = dir();
    let db = open::<T>(dir.path());
    db.put("k", "v").unwrap();
    fails(
        Db::<T>::open(&creating(), dir.path()),
        ErrorKind::IOError,
        "LOCK",
    );
    fails(
        Db::<T>::destroy(&Options::default(), dir.path()),
        ErrorKind::IOError,
        "LOCK",
    );
    assert_eq!(db.get("k").unwrap().as_deref(), Some(&b"v"[..]));
    assert_eq!(
        Db::<T>::list_cf(&Options::default(), dir.path()).unwrap(),
        ["default"]
    );
    drop(db);
    drop(open::<T>(dir.path()));
    Db::<T>::destroy(&Options::default(), dir.path()).unwrap();
    let db = open::<T>(dir.path());
    assert_eq!(db.get("k").unwrap(), None);
}

fn the_order_of_keys_can_be_chosen<T: Mode>() {
    let dir = dir();
    let mut opts = creating();
    opts.set_comparator("backwards", Box::new(|a, b| b.cmp(a)));
    let db = Db::<T>::open(&opts, dir.path()).unwrap();
    for key in ["a", "c", "b"] {
        db.put(key, "").unwrap();
    }
    assert_eq!(keys(db.iterator(IteratorMode::Start)), "c b a");
    db.flush().unwrap();
    assert_eq!(keys(db.iterator(IteratorMode::End)), "a b c");
    let from = IteratorMode::From(b"b", Direction::Forward);
    assert_eq!(keys(db.iterator(from)), "b a");
    drop(db);
    fails(
        Db::<T>::open(&creating(), dir.path()),
        ErrorKind::InvalidArgument,
        "does not match existing comparator",
    );
}

/// Keys of few letters, so that many are prefixes of others, over several flushes and a reopening,
/// against a map.
fn reverse_bytewise_order_holds_in_every_memtable<T: Mode>() {
    for memtable in [None, Some(MemtableFactory::SkipList)] {
        let dir = dir();
        let mut opts = creating();
        opts.set_reverse_bytewise_comparator();
        if let Some(memtable) = memtable {
            opts.set_memtable_factory(memtable);
        }
        let mut model = BTreeMap::new();
        let mut db = Db::<T>::open(&opts, dir.path()).unwrap();
        let mut rng = StdRng::seed_from_u64(17);
        for step in 0..3_000u32 {
            let len = rng.random_range(0..6);
            let key: Vec<u8> = (0..len)
                .map(|_| *b"\0a\xff".choose(&mut rng).unwrap())
                .collect();
            if rng.random_bool(0.3) {
                db.delete(&key).unwrap();
                model.remove(&key);
            } else {
                db.put(&key, step.to_le_bytes()).unwrap();
                model.insert(key, step.to_le_bytes().to_vec());
            }
            if step == 1_000 {
                db.flush().unwrap();
            }
            if step == 2_000 {
                drop(db);
                db = Db::open(&opts, dir.path()).unwrap();
            }
        }
        type Pairs = Vec<(Vec<u8>, Vec<u8>)>;
        let read = |mode: IteratorMode<'_>| -> Pairs {
            let pairs = db.iterator(mode).map(Result::unwrap);
            pairs.map(|(k, v)| (k.into(), v.into())).collect()
        };
        let rising: Pairs = model.clone().into_iter().collect();
        let falling: Pairs = rising.iter().rev().cloned().collect();
        assert_eq!(read(IteratorMode::Start), falling);
        assert_eq!(read(IteratorMode::End), rising);
        for key in [&b""[..], b"a", b"aa\0", b"\xff\xff", b"b"] {
            let at = |d| read(IteratorMode::From(key, d));
            let below = falling.iter().filter(|(k, _)| &k[..] <= key).cloned();
            assert_eq!(at(Direction::Forward), below.collect::<Pairs>());
            let above = rising.iter().filter(|(k, _)| &k[..] >= key).cloned();
            assert_eq!(at(Direction::Reverse), above.collect::<Pairs>());
        }
        for (key, value) in &model {
            assert_eq!(db.get(key).unwrap().as_ref(), Some(value));
        }
    }
}

fn properties_and_files_are_listed<T: Mode>() {
    let dir = dir();
    let db = open::<T>(dir.path());
    assert!(db.live_files().unwrap().is_empty());
    for i in 0..1000 {
        db.put(format!("k{i:04}"), [b'v'; 100]).unwrap();
    }
    db.delete("k0000").unwrap();
    db.flush().unwrap();
    let files = db.live_files().unwrap();
    assert_eq!(files.len(), 1);
    let file = &files[0];
    assert_eq!(file.column_family_name, "default");
    assert!(file.name.ends_with(".sst"), "{}", file.name);
    assert_eq!(file.level, 0);
    assert_eq!(file.start_key.as_deref(), Some(&b"k0000"[..]));
    assert_eq!(file.end_key.as_deref(), Some(&b"k0999"[..]));
    let size = file.size as u64;
    let metadata = db.get_column_family_metadata();
    assert_eq!((metadata.size, metadata.file_count), (size, 1));
    assert_eq!(metadata.name, "default");

    let all = Range::new(b"k", b"l");
    let none = Range::new(b"x", b"y");
    let sizes = db.get_approximate_sizes(&[all, none]);
    assert!(sizes[0] > 0 && sizes[0] <= size, "{sizes:?} of {size}");
    assert_eq!(sizes[1], 0);

    let at_level_0 = db.property_int_value(properties::num_files_at_level(0));
    assert_eq!(at_level_0.unwrap(), Some(1));
    assert_eq!(
        db.property_int_value(properties::NUM_SNAPSHOTS).unwrap(),
        Some(0)
    );
    let snapshot = db.snapshot();
    assert_eq!(
        db.property_int_value(properties::NUM_SNAPSHOTS).unwrap(),
        Some(1)
    );
    drop(snapshot);
    assert!(db.property_value(properties::STATS).unwrap().is_some());
    assert_eq!(db.property_value("rocksdb.nonsense").unwrap(), None);
    assert!(db.property_int_value(properties::STATS).is_err());
    let identity = std::fs::read(dir.path().join("IDENTITY")).unwrap();
    assert_eq!(db.get_db_identity().unwrap(), identity.trim_ascii());
}

fn threads_share_the_database<T: Mode>() {
    const THREADS: usize = 4;
    const KEYS: usize = 500;
    let dir = dir();
    let db = open_two::<T>(dir.path());
    std::thread::scope(|scope| {
        for thread in 0..THREADS {
            let db = &db;
            scope.spawn(move || {
                let one = T::cf(db, "one").unwrap();
                for i in 0..KEYS {
                    let key = format!("{thread}-{i}");
                    db.put_cf(&one, &key, &key).unwrap();
                    let own = db.get_cf(&one, &key).unwrap();
                    assert_eq!(own.as_deref(), Some(key.as_bytes()));
                }
            });
        }
    });
    let one = T::cf(&db, "one").unwrap();
    let found = db.iterator_cf(&one, IteratorMode::Start).count();
    assert_eq!(found, THREADS * KEYS);
    assert_eq!(db.latest_sequence_number(), (THREADS * KEYS) as u64);
}

#[test]
fn an_empty_path_is_refused_before_anything_is_made_in_the_working_directory() {
    let here = || -> Vec<_> {
        let entries = std::fs::read_dir(".").unwrap();
        let mut names: Vec<_> = entries.map(|entry| entry.unwrap().file_name()).collect();
        names.sort();
        names
    };
    let before = here();
    let opts = creating();
    let other = dir();
    let refusals = [
        ("open", Db::<MultiThreaded>::open(&opts, "").map(drop)),
        (
            "open_cf",
            Db::<MultiThreaded>::open_cf(&opts, "", ["cf"]).map(drop),
        ),
        (
            "open_with_ttl",
            Db::<MultiThreaded>::open_with_ttl(&opts, "", Duration::from_secs(1)).map(drop),
        ),
        (
            "open_for_read_only",
            Db::<MultiThreaded>::open_for_read_only(&opts, "", false).map(drop),
        ),
        (
            "open_as_secondary",
            Db::<MultiThreaded>::open_as_secondary(&opts, Path::new(""), other.path()).map(drop),
        ),
        (
            "open_as_secondary in nothing",
            Db::<MultiThreaded>::open_as_secondary(&opts, other.path(), Path::new("")).map(drop),
        ),
        ("list_cf", Db::<MultiThreaded>::list_cf(&opts, "").map(drop)),
        ("repair", DB::repair(&opts, "")),
        ("destroy", DB::destroy(&opts, "")),
    ];
    for (call, refused) in refusals {
        let e = refused.unwrap_err();
        assert_eq!(e.kind(), ErrorKind::InvalidArgument, "{call}: {e}");
        assert!(e.to_string().contains("path"), "{call}: {e}");
    }
    assert_eq!(here(), before);
}

#[test]
fn the_default_database_has_the_mode_of_the_feature() {
    let dir = dir();
    let db: DB = DB::open_cf(&creating(), dir.path(), ["cf"]).unwrap();
    let cf: whitewater::ColumnFamilyRef<'_> = db.cf_handle("cf").unwrap();
    db.put_cf(&cf, "k", "v").unwrap();
    assert!(db.get_cf(&cf, "k").unwrap().is_some());
    assert!(format!("{db:?}").contains(&*dir.path().to_string_lossy()));
}
