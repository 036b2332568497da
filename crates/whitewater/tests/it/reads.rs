//! Read options: what may be read, for how long, and whether an iterator looks again.

use crate::harness::{Db, MEMTABLES, set_memtable, tiny, until};
use rand::rngs::StdRng;
use rand::seq::IndexedRandom;
use rand::{Rng, SeedableRng};
use std::collections::BTreeMap;
use std::path::Path;
use std::sync::Arc;
use std::time::{SystemTime, UNIX_EPOCH};
use whitewater::fs::Fs;
use whitewater::fs::mem::MemFs;
use whitewater::{
    BlockBasedOptions, Cache, DataBlockIndexType, Direction, ErrorKind, IteratorMode, Options,
    ReadOptions, ReadTier, SstFileWriter, WriteBatch, WriteOptions,
};

const DIR: &str = "/db";

fn options(fs: &MemFs) -> Options {
    let mut o = tiny();
    o.set_fs(Arc::new(fs.clone()));
    o
}

fn kind<T: std::fmt::Debug>(outcome: Result<T, whitewater::Error>) -> ErrorKind {
    outcome.expect_err("the call fails").kind()
}

fn with(set: impl FnOnce(&mut ReadOptions)) -> ReadOptions {
    let mut options = ReadOptions::default();
    set(&mut options);
    options
}

fn tier(tier: ReadTier) -> ReadOptions {
    with(|o| o.set_read_tier(tier))
}

fn delete_range(db: &Db, from: &str, to: &str) {
    let mut batch = WriteBatch::default();
    batch.delete_range(from, to);
    db.write(batch).expect("writes");
}

/// All keys that an iterator shows, and how it ends.
fn keys(db: &Db, options: ReadOptions) -> Result<String, ErrorKind> {
    let mut shown = Vec::new();
    for item in db.iterator_opt(IteratorMode::Start, options) {
        let (key, _) = item.map_err(|e| e.kind())?;
        shown.push(String::from_utf8_lossy(&key).into_owned());
    }
    Ok(shown.join(" "))
}

#[test]
fn the_block_cache_tier_reads_no_file() {
    for max_open_files in [-1, 10] {
        let fs = MemFs::new();
        let mut o = options(&fs);
        let mut table = BlockBasedOptions::default();
        table.set_block_cache(&Cache::new_lru_cache(1 << 20));
        table.set_block_size(64);
        o.set_block_based_table_factory(&table);
        o.set_max_open_files(max_open_files);
        let db = Db::open(&o, DIR).expect("opens");
        for i in 0..50 {
            db.put(format!("k{i:02}"), vec![b'v'; 40]).expect("writes");
        }
        db.flush().expect("flushes");
        drop(db);

        let db = Db::open(&o, DIR).expect("opens");
        let cached = tier(ReadTier::BlockCache);
        // No block was read yet, and perhaps no table opened.
        assert_eq!(kind(db.get_opt("k07", &cached)), ErrorKind::Incomplete);
        assert_eq!(
            keys(&db, tier(ReadTier::BlockCache)),
            Err(ErrorKind::Incomplete)
        );
        // An answer from a memtable needs no file.
        db.put("k08", "new").expect("writes");
        assert_eq!(db.get_opt("k08", &cached).unwrap().unwrap(), b"new");
        db.delete("k08").expect("writes");
        assert_eq!(db.get_opt("k08", &cached), Ok(None));
        // Once the table is open, neither does what a filter or a range excludes.
        assert!(db.get("k07").expect("reads").is_some());
        assert!(db.get_opt("k07", &cached).expect("is cached").is_some());
        assert_eq!(db.get_opt("z", &cached), Ok(None));
        assert_eq!(kind(db.get_opt("k40", &cached)), ErrorKind::Incomplete);
        let many = db.multi_get_opt(["k07", "k40"], &cached);
        assert!(matches!(&many[0], Ok(Some(_))));
        assert_eq!(kind(many[1].clone()), ErrorKind::Incomplete);
        // Once all blocks are in the cache, iterators come to the end.
        let all = keys(&db, ReadOptions::default()).expect("reads");
        assert_eq!(keys(&db, tier(ReadTier::BlockCache)), Ok(all));
    }
}

#[test]
fn the_memtable_tier_sees_no_table() {
    let db = Db::open(&options(&MemFs::new()), DIR).expect("opens");
    db.put("a", "1").expect("writes");
    db.put("b", "1").expect("writes");
    db.flush().expect("flushes");
    db.put("c", "1").expect("writes");
    db.delete("b").expect("writes");
    let memtable = tier(ReadTier::Memtable);
    assert_eq!(db.get_opt("a", &memtable), Ok(None));
    assert_eq!(db.get_opt("c", &memtable), Ok(Some(b"1".to_vec())));
    assert_eq!(keys(&db, tier(ReadTier::Memtable)), Ok("c".into()));
    assert_eq!(keys(&db, ReadOptions::default()), Ok("a c".into()));
}

#[test]
fn the_persisted_tier_leaves_out_what_a_crash_would_lose() {
    let db = Db::open(&options(&MemFs::new()), DIR).expect("opens");
    let persisted = tier(ReadTier::Persisted);
    let get = |key: &str| {
        let value = db.get_opt(key, &persisted).expect("reads");
        let many = db.multi_get_opt([key], &persisted);
        assert_eq!(many[0], Ok(value.clone()));
        value.map(|v| String::from_utf8_lossy(&v).into_owned())
    };
    db.put("a", "1").expect("writes");
    assert_eq!(get("a"), Some("1".into()), "it is in the log");
    let mut unlogged = WriteOptions::default();
    unlogged.disable_wal(true);
    db.put_opt("a", "2", &unlogged).expect("writes");
    assert_eq!(get("a"), None);
    assert_eq!(db.get("a"), Ok(Some(b"2".to_vec())));
    db.flush().expect("flushes");
    assert_eq!(get("a"), Some("2".into()));
    assert_eq!(
        keys(&db, tier(ReadTier::Persisted)),
        Err(ErrorKind::NotSupported)
    );
}

#[test]
#[expect(deprecated, reason = "tests the option")]
fn range_deletions_can_be_ignored() {
    let db = Db::open(&options(&MemFs::new()), DIR).expect("opens");
    for flush in [false, true] {
        for key in ["a", "b", "c"] {
            db.put(key, key).expect("writes");
        }
        delete_range(&db, "a", "c");
        if flush {
            db.flush().expect("flushes");
        }
        let ignoring = || with(|o| o.set_ignore_range_deletions(true));
        assert_eq!(keys(&db, ReadOptions::default()), Ok("c".into()));
        assert_eq!(db.get("b"), Ok(None));
        // A flush removes what a range deletion of the same memtable covers.
        if !flush {
            assert_eq!(keys(&db, ignoring()), Ok("a b c".into()));
            assert_eq!(db.get_opt("b", &ignoring()), Ok(Some(b"b".to_vec())));
            assert!(db.key_may_exist_opt("b", &ignoring()));
            assert!(!db.key_may_exist("b"));
        }
    }
}

#[test]
fn reads_end_at_their_deadline() {
    let fs = MemFs::new();
    let mut o = options(&fs);
    let mut table = BlockBasedOptions::default();
    table.disable_cache();
    o.set_block_based_table_factory(&table);
    let db = Db::open(&o, DIR).expect("opens");
    db.put("a", "1").expect("writes");
    db.flush().expect("flushes");
    db.put("b", "2").expect("writes");
    let past = || with(|o| o.set_deadline(1));
    assert_eq!(kind(db.get_opt("a", &past())), ErrorKind::TimedOut);
    assert_eq!(keys(&db, past()), Err(ErrorKind::TimedOut));
    assert_eq!(db.get_opt("b", &past()), Ok(Some(b"2".to_vec())));
    let many = db.multi_get_opt(["a", "b"], &past());
    for outcome in many {
        assert_eq!(kind(outcome), ErrorKind::TimedOut);
    }
    let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap();
    let tomorrow = now.as_micros() as u64 + 86_400_000_000;
    let patient = || {
        with(|o| {
            o.set_deadline(tomorrow);
            o.set_io_timeout(86_400_000_000);
        })
    };
    assert_eq!(db.get_opt("a", &patient()), Ok(Some(b"1".to_vec())));
    assert_eq!(keys(&db, patient()), Ok("a b".into()));
}

#[test]
fn a_walk_over_deleted_keys_ends_at_the_deadline() {
    let db = Db::open(&options(&MemFs::new()), DIR).expect("opens");
    for i in 0..200 {
        db.put(format!("k{i:03}"), "").expect("writes");
        db.delete(format!("k{i:03}")).expect("writes");
    }
    assert_eq!(keys(&db, ReadOptions::default()), Ok(String::new()));
    let past = with(|o| o.set_deadline(1));
    assert_eq!(keys(&db, past), Err(ErrorKind::TimedOut));
}

#[test]
fn a_walk_over_range_deletions_ends_at_the_deadline() {
    let db = Db::open(&options(&MemFs::new()), DIR).expect("opens");
    for i in 0..200 {
        db.put(format!("k{i:03}"), "").expect("writes");
    }
    db.flush().expect("flushes");
    for i in 0..200 {
        // They are not adjacent: each is skipped by itself.
        delete_range(&db, &format!("k{i:03}"), &format!("k{i:03}\0"));
    }
    for forward in [true, false] {
        let ends = |o| {
            let mut it = db.raw_iterator_opt(o);
            match forward {
                true => it.seek_to_first(),
                false => it.seek_to_last(),
            }
            assert!(!it.valid());
            it.status().map_err(|e| e.kind())
        };
        assert_eq!(ends(ReadOptions::default()), Ok(()));
        let past = with(|o| o.set_deadline(1));
        assert_eq!(ends(past), Err(ErrorKind::TimedOut), "{forward}");
    }
}

#[test]
fn tailing_iterators_see_what_is_written_later() {
    for memtable in MEMTABLES {
        let mut o = options(&MemFs::new());
        set_memtable(&mut o, memtable);
        let db = Db::open(&o, DIR).expect("opens");
        let snapshot = db.snapshot();
        let it = &mut db.raw_iterator_opt(with(|o| {
            o.set_tailing(true);
            o.set_total_order_seek(true);
            o.set_snapshot(&snapshot);
        }));
        it.seek_to_first();
        assert!(!it.valid());
        db.put("a", "1").expect("writes");
        db.put("c", "1").expect("writes");
        assert!(!it.valid());
        it.seek_to_first();
        assert_eq!(it.key(), Some(&b"a"[..]), "{memtable}");
        it.next();
        assert_eq!(it.key(), Some(&b"c"[..]));
        // At its end it looks again: behind the key, also across a flush, and at what was deleted.
        db.put("b", "1").expect("writes");
        db.put("d", "1").expect("writes");
        db.flush().expect("flushes");
        db.delete("c").expect("writes");
        it.next();
        assert_eq!(it.item(), Some((&b"d"[..], &b"1"[..])), "{memtable}");
        db.put("e", "1").expect("writes");
        delete_range(&db, "d", "e");
        it.next();
        assert_eq!(it.key(), Some(&b"e"[..]));
        it.next();
        assert!(!it.valid() && it.status().is_ok());
        // An iterator that has reached its end needs a seek.
        db.put("f", "1").expect("writes");
        it.next();
        assert!(!it.valid());
        it.seek("e");
        it.next();
        assert_eq!(it.key(), Some(&b"f"[..]));
        it.seek_to_last();
        it.prev();
        assert_eq!(it.key(), Some(&b"e"[..]));
        assert_eq!(db.get("d"), Ok(None));
    }
}

#[test]
fn refreshed_iterators_see_the_present_and_stand_nowhere() {
    let db = Db::open(&options(&MemFs::new()), DIR).expect("opens");
    db.put("a", "1").expect("writes");
    let snapshot = db.snapshot();
    let mut it = db.raw_iterator_opt(with(|o| o.set_snapshot(&snapshot)));
    db.put("a", "2").expect("writes");
    db.flush().expect("flushes");
    it.seek("a");
    assert_eq!(it.value(), Some(&b"1"[..]));
    it.refresh().expect("refreshes");
    assert!(!it.valid());
    it.seek("a");
    assert_eq!(it.value(), Some(&b"2"[..]));
}

/// It moves only when the next entry is wanted.
#[test]
fn an_iterator_made_a_raw_one_stands_behind_the_entry_it_returned() {
    let db = Db::open(&options(&MemFs::new()), DIR).expect("opens");
    for key in ["a", "b", "c"] {
        db.put(key, key).unwrap();
    }
    let raw_key = |mode, taken: usize| {
        let mut iterator = db.iterator(mode);
        assert_eq!(iterator.by_ref().take(taken).count(), taken);
        let raw: whitewater::DBRawIteratorWithThreadMode<'_, Db> = iterator.into();
        raw.key().map(|key| key[0] as char)
    };
    for (taken, [up, down]) in [
        (0, [Some('a'), Some('c')]),
        (1, [Some('b'), Some('b')]),
        (3, [None, None]),
    ] {
        assert_eq!(raw_key(IteratorMode::Start, taken), up, "{taken}");
        assert_eq!(raw_key(IteratorMode::End, taken), down, "{taken}");
    }
    let mut ended = db.iterator(IteratorMode::Start);
    assert_eq!(ended.by_ref().count(), 3);
    assert!(!whitewater::DBRawIteratorWithThreadMode::from(ended).valid());
    let mut iterator = db.iterator(IteratorMode::Start);
    let next = |it: &mut whitewater::DBIteratorWithThreadMode<'_, Db>| {
        it.next().map(|item| item.unwrap().0[0] as char)
    };
    assert_eq!(next(&mut iterator), Some('a'));
    iterator.set_mode(IteratorMode::End);
    assert_eq!(next(&mut iterator), Some('c'));
    iterator.refresh(IteratorMode::Start).unwrap();
    assert_eq!(next(&mut iterator), Some('a'));
    assert_eq!(next(&mut iterator), Some('b'));
    let tailing = with(|options| options.set_tailing(true));
    let mut iterator = db.iterator_opt(IteratorMode::From(b"c", Direction::Forward), tailing);
    assert_eq!(next(&mut iterator), Some('c'));
    db.put("d", "d").unwrap();
    assert_eq!(next(&mut iterator), Some('d'), "it has not looked before");
}

/// Its number has no meaning in another opening or another database.
#[test]
fn a_snapshot_of_another_opening_is_refused() {
    let fs = MemFs::new();
    let opts = options(&fs);
    let mut at = ReadOptions::default();
    {
        let db = Db::open(&opts, DIR).unwrap();
        db.put("k", "old").unwrap();
        at.set_snapshot(&db.snapshot());
        db.put("k", "new").unwrap();
        assert_eq!(db.get_opt("k", &at).unwrap().as_deref(), Some(&b"old"[..]));
    }
    let db = Db::open(&opts, DIR).unwrap();
    let e = db.get_opt("k", &at).unwrap_err();
    assert_eq!(e.kind(), ErrorKind::InvalidArgument);
    assert!(e.to_string().contains("snapshot"), "{e}");
    let many = db.multi_get_opt(["k"], &at).pop().unwrap();
    assert_eq!(kind(many), ErrorKind::InvalidArgument);
    let raw = db.raw_iterator_opt(at);
    assert_eq!(kind(raw.status()), ErrorKind::InvalidArgument);
}

/// When an iterator releases files that a compaction has replaced.
#[test]
fn files_go_with_the_iterator_that_kept_them() {
    for (by_read, by_database) in [(false, false), (true, false), (false, true)] {
        let fs = MemFs::new();
        let mut o = options(&fs);
        o.set_disable_auto_compactions(true);
        o.set_avoid_unnecessary_blocking_io(by_database);
        let db = Db::open(&o, DIR).expect("opens");
        let tables = || {
            let names = fs.list(Path::new(DIR)).expect("lists");
            names.iter().filter(|name| name.ends_with(".sst")).count()
        };
        for value in ["old", "new"] {
            db.put("key", value).expect("writes");
            db.flush().expect("flushes");
        }
        let kept = with(|o| o.set_background_purge_on_iterator_cleanup(by_read));
        let mut iterator = db.raw_iterator_opt(kept);
        iterator.seek_to_first();
        db.compact_range(None::<&[u8]>, None::<&[u8]>);
        assert_eq!(tables(), 3, "two for the iterator");
        iterator.next();
        assert!(!iterator.valid());
        drop(iterator);
        // No other job is needed. The thread that compacted may hold the old version for a moment.
        until("deletion", || tables() == 1);
    }
}

#[test]
fn the_timestamp_of_a_key_without_one_is_empty() {
    let dir = tempfile::tempdir().unwrap();
    let db = whitewater::DB::open_default(dir.path()).unwrap();
    db.put("k", "v").unwrap();
    let mut iter = db.raw_iterator();
    assert_eq!(iter.timestamp(), None);
    iter.seek_to_first();
    assert_eq!(iter.timestamp(), Some(&[][..]));
    iter.next();
    assert_eq!(iter.timestamp(), None);
}

/// Steps go through whole blocks, and must end them where another table or the memtable has the
/// next key, at bounds, and where the walk turns.
#[test]
fn walks_in_small_blocks_of_many_tables_match_a_map() {
    for seed in 0..40 {
        let rng = &mut StdRng::seed_from_u64(seed);
        let fs = MemFs::new();
        let mut options = options(&fs);
        let mut table = BlockBasedOptions::default();
        table.set_block_size(*[1, 80, 300, 4096].choose(rng).expect("sizes"));
        options.set_block_based_table_factory(&table);
        options.set_disable_auto_compactions(true);
        let db = Db::open(&options, DIR).expect("opens");
        let mut map = BTreeMap::new();
        // What keys begin with: more than is compared first, almost as much, nothing.
        let begin = *["a long prefix of all: ", "a prefix of: ", ""]
            .choose(rng)
            .expect("some");
        let key_of = |n: u32| format!("{begin}{n:04}");
        for round in 0..rng.random_range(1..6) {
            // Stretches of neighbours, as far as they are from one source, and single keys.
            for _ in 0..rng.random_range(1..6) {
                let start = rng.random_range(0..400);
                for n in start..start + *[1, 60].choose(rng).expect("lengths") {
                    let key = key_of(n);
                    if rng.random_ratio(1, 6) {
                        db.delete(&key).expect("deletes");
                        map.remove(&key);
                    } else {
                        let value = format!("{seed}-{round}-{n}");
                        db.put(&key, &value).expect("writes");
                        map.insert(key, value);
                    }
                }
            }
            match rng.random_range(0..4) {
                0 => {}
                1 => db.compact_range(None::<&str>, None::<&str>),
                _ => db.flush().expect("flushes"),
            }
        }
        let upper = rng.random_ratio(1, 2).then(|| rng.random_range(1..450));
        let upper = upper.map_or_else(|| key_of(9999), key_of);
        let read = with(|o| o.set_iterate_upper_bound(upper.clone()));
        let shown: Vec<_> = map.range(..upper).collect();
        let mut it = db.raw_iterator_opt(read);
        let mut at = None;
        for _ in 0..600 {
            match (rng.random_range(0..60), at) {
                (0, _) => {
                    it.seek_to_first();
                    at = Some(0);
                }
                (1, _) => {
                    it.seek_to_last();
                    at = shown.len().checked_sub(1);
                }
                (2 | 3, _) => {
                    let target = key_of(rng.random_range(0..470));
                    it.seek(&target);
                    at = Some(shown.partition_point(|(key, _)| **key < target));
                }
                (4, _) => {
                    let target = key_of(rng.random_range(0..470));
                    it.seek_for_prev(&target);
                    at = shown
                        .partition_point(|(key, _)| **key <= target)
                        .checked_sub(1);
                }
                (5 | 6, Some(i)) => {
                    it.prev();
                    at = usize::checked_sub(i, 1);
                }
                (_, Some(i)) => {
                    it.next();
                    at = Some(i + 1);
                }
                (_, None) => {}
            }
            at = at.filter(|i| *i < shown.len());
            let expected = at.map(|i| (shown[i].0.as_bytes(), shown[i].1.as_bytes()));
            assert_eq!(it.item(), expected, "seed {seed}");
            assert_eq!(it.status(), Ok(()), "seed {seed}");
        }
    }
}

/// Beside a cached block lie eight bytes of some of its keys, behind what all separators of the
/// table have in common. Here groups of keys agree in all of these, have older versions that a
/// snapshot keeps, or do not begin as the separators do.
#[test]
fn keys_that_begin_alike_are_found_in_cached_blocks() {
    for (interval, hash_index, ingested) in [
        (1, false, false),
        (4, false, true),
        (16, false, false),
        (16, false, true),
        (16, true, false),
    ] {
        let fs = MemFs::new();
        let mut options = options(&fs);
        let mut table = BlockBasedOptions::default();
        table.set_block_size(1024);
        table.set_block_restart_interval(interval);
        table.set_block_cache(&Cache::new_lru_cache(16 << 20));
        table.set_bloom_filter(10.0, false);
        if hash_index {
            table.set_data_block_index_type(DataBlockIndexType::BinaryAndHash);
        }
        options.set_block_based_table_factory(&table);
        options.set_disable_auto_compactions(true);
        let db = Db::open(&options, DIR).expect("opens");
        let key = |n: u32| match n {
            0..5 => format!("a{n}"),
            5..300 => format!("user-{:04}-and-more-{n:04}", n / 20),
            _ => format!("user-other-and-more-{n:04}"),
        };
        let put = |value: &str| {
            for n in 0..400 {
                db.put(key(n), format!("{value} {n}")).expect("writes");
            }
        };
        put("old");
        let old = db.snapshot();
        if ingested {
            // The file gets one sequence number for all of its entries.
            let mut file = SstFileWriter::create(&options);
            file.open("/new.sst").expect("opens");
            for n in 0..400 {
                file.put(key(n), format!("new {n}")).expect("writes");
            }
            file.finish().expect("finishes");
            db.ingest_external_file(vec!["/new.sst"]).expect("ingests");
        } else {
            put("new");
            db.flush().expect("flushes");
        }
        // The first read caches the block, and some later one finds it without the cache.
        for round in 0..4 {
            for n in 0..400 {
                let name = format!("interval {interval}, {ingested}, round {round}, key {n}");
                let value = |value: &str| Some(format!("{value} {n}").into_bytes());
                assert_eq!(db.get(key(n)).expect("reads"), value("new"), "{name}");
                assert_eq!(old.get(key(n)).expect("reads"), value("old"), "{name}");
                let mut it = db.raw_iterator();
                it.seek(key(n));
                assert_eq!(it.key(), Some(key(n).as_bytes()), "{name}");
                it.seek_for_prev(key(n));
                assert_eq!(it.value(), value("new").as_deref(), "{name}");
                let absent = format!("{}x", key(n));
                assert_eq!(db.get(&absent).expect("reads"), None, "{name}");
                it.seek(absent);
                let next = (n < 399).then(|| key(n + 1).into_bytes());
                assert_eq!(it.key(), next.as_deref(), "{name}");
            }
        }
    }
}
